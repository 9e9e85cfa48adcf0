//! A block as a unit.

use super::{Block, BlockFacts};
use crate::fault::{Cause, UnitFault};
use crate::state_stream::{StateStream, Stored};
use crate::unit::read_state;
use crate::unit::{
    Capabilities, Causality, Feedthrough, Handle, Period, SavedState, StepOutcome, Unit,
    UnitDescription, UnitResult, Variable, own_state, set_inputs,
};

pub(super) struct BlockUnit {
    description: UnitDescription,
    block: Box<dyn Block>,
    inputs: Vec<f64>,
    time: f64,
}

/// Most numbers that a block remembers. A choice: 128 MB, a delay of hours in steps of a millisecond.
const MOST_MEMORY: usize = 1 << 24;

/// Time, inputs and memory.
type Saved = (f64, Vec<f64>, Vec<f64>);

impl BlockUnit {
    pub(super) fn new(block: Box<dyn Block>, facts: BlockFacts) -> Self {
        let (inputs, outputs) = (block.inputs(), block.outputs());
        let count = inputs.len();
        let named =
            |names: Vec<String>, causality| names.into_iter().map(move |name| (name, causality));
        let variables = named(inputs, Causality::Input).chain(named(outputs, Causality::Output));
        let variables: Vec<_> = variables
            .zip(0..)
            .map(|((name, causality), handle)| Variable {
                is_discrete: facts.is_discrete && causality == Causality::Output,
                is_switch: (handle as usize)
                    .checked_sub(count)
                    .is_some_and(|output| block.is_switch(output)),
                ..Variable::real(name, handle, causality)
            })
            .collect();
        let of_all = |depends: bool| -> Feedthrough {
            let inputs: Vec<usize> = (0..count).collect();
            let outputs = count..if depends { variables.len() } else { count };
            outputs.map(|output| (output, inputs.clone())).collect()
        };
        let (between, at_start) = (
            of_all(facts.feeds_through),
            of_all(facts.feeds_through_at_start),
        );
        let mut description = UnitDescription::new(variables, between, Capabilities::OF_VALUES);
        description.initial_feedthrough = at_start;
        Self {
            description,
            block,
            inputs: vec![0.0; count],
            time: 0.0,
        }
    }
}

impl Unit for BlockUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.time = period.start;
        Ok(())
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        Ok(())
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.block.begin(self.time, &self.inputs);
        Ok(())
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        set_inputs(&mut self.inputs, handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (&handle, value) in handles.iter().zip(values) {
            let index = handle as usize;
            *value = match index.checked_sub(self.inputs.len()) {
                None => self.inputs[index],
                Some(output) => {
                    let found = self.block.output(output, self.time, &self.inputs);
                    found.map_err(|reason| UnitFault::new("output", Cause::Error, reason))?
                }
            };
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.block.step(time, step, &self.inputs);
        self.time = time + step;
        Ok(StepOutcome::Done)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        for (&unknown, value) in unknowns.iter().zip(values) {
            let output = unknown as usize - self.inputs.len();
            let gain = |input: Handle| self.block.gain(output, input as usize, &self.inputs);
            *value = knowns
                .iter()
                .zip(seed)
                .map(|(&known, seed)| gain(known) * seed)
                .sum();
        }
        Ok(())
    }

    fn save(&mut self, _previous: Option<SavedState>) -> UnitResult<SavedState> {
        let saved: Saved = (self.time, self.inputs.clone(), self.block.memory());
        Ok(Box::new(saved))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let (time, inputs, memory): &Saved = own_state("restore", state)?;
        self.time = *time;
        self.inputs.clone_from(inputs);
        self.block.set_memory(memory);
        Ok(())
    }

    fn serialize(&mut self) -> UnitResult<Vec<u8>> {
        let mut stream = StateStream::to_write();
        self.transfer(&mut stream);
        Ok(stream.finish().unwrap_or_default())
    }

    fn deserialize(&mut self, bytes: &[u8]) -> UnitResult {
        read_state(bytes, |stream| self.transfer(stream))
    }
}

impl Stored for BlockUnit {
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(&mut self.time);
        stream.keep(&mut self.inputs);
        let mut memory = self.block.memory();
        stream.list(&mut memory, MOST_MEMORY);
        if stream.is_reading() {
            self.block.set_memory(&memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use gyrator_system::Choice;

    use super::*;
    use crate::block::{BLOCKS, Block};
    use crate::registry::Entry;

    fn unit(entry: &Entry<dyn Block>) -> Option<BlockUnit> {
        let chosen = entry.chosen(&Choice::new(entry.name)).ok()?;
        let block = chosen.build().unwrap();
        Some(BlockUnit::new(block, chosen.usual_facts()))
    }

    #[test]
    fn every_block_goes_back_to_a_saved_state() {
        for entry in BLOCKS {
            // A table needs a file, and has no memory.
            let Some(mut unit) = unit(entry) else {
                assert_eq!(entry.name, "table");
                continue;
            };
            let inputs: Vec<Handle> = (0..unit.inputs.len() as Handle).collect();
            let output = [inputs.len() as Handle];
            unit.exit_initialization_mode().unwrap();
            let walk = |unit: &mut BlockUnit, steps: std::ops::Range<u32>| {
                let mut seen = [0.0];
                for step in steps {
                    let values = vec![f64::from(step * step); inputs.len()];
                    unit.set_reals(&inputs, &values).unwrap();
                    unit.step(f64::from(step), 1.0).unwrap();
                    unit.get_reals(&output, &mut seen).unwrap();
                }
                seen[0].to_bits()
            };
            walk(&mut unit, 0..5);
            let saved = unit.save(None).unwrap();
            let first = walk(&mut unit, 5..8);
            unit.restore(&saved).unwrap();
            assert_eq!(walk(&mut unit, 5..8), first, "{}", entry.name);
        }
    }

    #[test]
    fn facts_are_those_of_what_is_built() {
        for entry in BLOCKS {
            let Some(mut unit) = unit(entry) else {
                continue;
            };
            let (inputs, facts) = (unit.inputs.len(), entry.chosen(&Choice::new(entry.name)));
            let facts = facts.unwrap().usual_facts();
            let read = |unit: &mut BlockUnit, value: f64| {
                unit.inputs.fill(value);
                let mut seen = [0.0];
                unit.get_reals(&[inputs as Handle], &mut seen).unwrap();
                seen[0]
            };
            let at_start = read(&mut unit, 0.0) != read(&mut unit, 1.0);
            assert_eq!(at_start, facts.feeds_through_at_start, "{}", entry.name);
            unit.inputs.fill(0.0);
            unit.exit_initialization_mode().unwrap();
            unit.step(0.0, 0.25).unwrap();
            let between = read(&mut unit, 0.0) != read(&mut unit, 1.0);
            assert_eq!(between, facts.feeds_through, "{}", entry.name);
        }
    }
}
