//! Outputs of a component at its own communication steps, between the points where it publishes.

use super::{InputState, Member, Plant, Slot, Step};
use crate::unit::{Handle, UnitResult};

/// What was read within a macro-step, row by row.
pub(crate) struct Trace {
    /// Outputs of the plant, with their handles.
    outputs: Box<[usize]>,
    handles: Box<[Handle]>,
    values: Box<[f64]>,
    rows: usize,
}

impl Trace {
    /// For these outputs of a member, at all its communication steps but the last of a macro-step.
    fn new(member: &Member, outputs: Vec<usize>) -> Self {
        let handle = |output: &usize| member.output_handles[output - member.outputs.start];
        Self {
            handles: outputs.iter().map(handle).collect(),
            values: vec![0.0; outputs.len() * (member.substeps as usize - 1)].into(),
            outputs: outputs.into(),
            rows: 0,
        }
    }

    /// Begins a macro-step.
    pub(super) fn begin(&mut self) {
        self.rows = 0;
    }

    /// Reads the outputs after a communication step; after the last one they are published.
    pub(super) fn read(&mut self, slot: &mut Slot) -> UnitResult {
        let width = self.outputs.len();
        let row = self.values.chunks_exact_mut(width).nth(self.rows);
        if let Some(row) = row {
            slot.get_reals(&self.handles, row)?;
            self.rows += 1;
        }
        Ok(())
    }

    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The values of an output, in their order.
    pub(super) fn values_of(&self, output: usize) -> impl Iterator<Item = f64> {
        let column = self.outputs.iter().position(|known| *known == output);
        let rows = self.values.chunks_exact(self.outputs.len()).take(self.rows);
        rows.filter_map(move |row| Some(row[column?]))
    }
}

impl Plant {
    /// Lets the members read what extrapolations want to see at each communication step, and what
    /// turns pass on as means.
    pub(super) fn find_traces(&mut self) {
        let turns = self.turns.as_ref();
        let takes_mean = |input: usize| turns.is_some_and(|turns| turns.passes_mean_to(input));
        let wanted = self.states.iter().enumerate();
        let wanted: Vec<usize> = wanted
            .filter(|(input, state)| state.wants_substeps || takes_mean(*input))
            .map(|(_, state)| state.source)
            .collect();
        self.wants_substeps = self.states.iter().any(|state| state.wants_substeps);
        for member in &mut self.members {
            let mut outputs = wanted.clone();
            outputs.retain(|output| member.outputs.contains(output));
            outputs.sort_unstable();
            outputs.dedup();
            let is_traced = member.substeps > 1 && !outputs.is_empty();
            member.trace = is_traced.then(|| Box::new(Trace::new(member, outputs)));
        }
    }

    /// Tells the extrapolations that want it the outputs within the step, and those at its end,
    /// which [`observe`](Self::observe) tells again once they agree with the new inputs.
    #[cold]
    pub(super) fn observe_substeps(&mut self, components: &[usize], step: &Step) {
        let clock = self.graph.clock;
        let now = clock.duration(step.from + step.length);
        for state in self.states.iter_mut().filter(|state| state.wants_substeps) {
            let member = &self.members[state.source_component];
            if !components.contains(&state.source_component) || !member.is_due(step.index + 1) {
                continue;
            }
            let source = state.source;
            let ticks = step.length / i64::from(member.substeps);
            let values = member
                .trace
                .iter()
                .flat_map(|trace| trace.values_of(source));
            for (part, value) in (1..).zip(values) {
                state.observe_substep(value, clock.duration(step.from + ticks * part));
            }
            state.observe(&self.outputs, f64::NAN, now);
        }
    }
}

impl InputState {
    /// Takes what its source gave at a communication step of its own.
    fn observe_substep(&mut self, output: f64, time: f64) {
        let value = self.converted(output);
        if let Some(extrapolation) = &mut self.extrapolation {
            extrapolation.observe(crate::extrapolation::Sample {
                time,
                value,
                slope: None,
            });
        }
    }
}
