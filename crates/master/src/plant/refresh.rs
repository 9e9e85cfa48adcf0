use super::{Plant, Step};
use crate::exchange::{Exchange, Gains, exchange_passes};
use crate::fault::{Fault, UnitFault};
use crate::unit::Handle;

/// A pass of the exchange between steps, ready to run: some inputs of a component, and the outputs
/// that depend on them directly.
pub(crate) struct Pass {
    component: usize,
    mode: Exchange,
    inputs: Vec<usize>,
    input_handles: Vec<Handle>,
    outputs: Vec<usize>,
    output_handles: Vec<Handle>,
    /// D: ∂output/∂input, row by row; measured anew at each point where the unit can tell it.
    gains: Vec<f64>,
    by_unit: bool,
    new_inputs: Vec<f64>,
    new_outputs: Vec<f64>,
}

impl Plant {
    /// Prepares the passes for the modes in force. `gains` holds D where it is known, by component.
    /// Stale components get a pass too where D is known: it changes nothing and tells the ledger how
    /// wrong the stale outputs are. Returns the outputs that form algebraic loops, loop by loop.
    pub(crate) fn prepare_exchange(&mut self, gains: &[Option<Gains>]) -> Vec<Vec<usize>> {
        let graph = &self.graph;
        let modes = &self.modes;
        let treated =
            |component: usize| matches!(modes[component], Exchange::Fresh | Exchange::Compensated);
        let audited =
            |component: usize| modes[component] == Exchange::Stale && gains[component].is_some();
        let handle = |component: usize, variable: usize| {
            graph.components[component].description.variables[variable].handle
        };
        let inert = |output: usize, input: usize| {
            let component = graph.outputs[output].component;
            let known = gains[component].as_ref();
            let output = handle(component, graph.outputs[output].variable);
            let input = handle(component, graph.inputs[input].variable);
            known.is_some_and(|gains| gains.is_inert(output, input))
        };
        let (passes, loops) = exchange_passes(graph, &treated, &audited, &inert);
        let ready = passes.into_iter().map(|pass| {
            let component = pass.component;
            let input = |input: &usize| handle(component, graph.inputs[*input].variable);
            let output = |output: &usize| handle(component, graph.outputs[*output].variable);
            let input_handles: Vec<_> = pass.inputs.iter().map(input).collect();
            let output_handles: Vec<_> = pass.outputs.iter().map(output).collect();
            let capabilities = graph.components[component].description.capabilities;
            Pass {
                component,
                mode: self.modes[component],
                gains: select_gains(gains[component].as_ref(), &output_handles, &input_handles),
                by_unit: capabilities.directional_derivatives,
                new_inputs: vec![0.0; pass.inputs.len()],
                new_outputs: vec![0.0; pass.outputs.len()],
                inputs: pass.inputs,
                outputs: pass.outputs,
                input_handles,
                output_handles,
            }
        });
        self.passes = ready.collect();
        self.note_unknown_errors(&loops);
        self.settle_phases();
        loops
    }

    /// Outputs in algebraic loops stay stale, and a component that has no others is so altogether.
    /// Where nothing treats or audits an output, its error is not known.
    fn note_unknown_errors(&mut self, loops: &[Vec<usize>]) {
        let graph = std::sync::Arc::clone(&self.graph);
        for (component, node) in graph.components.iter().enumerate() {
            let depends = |output: &usize| !graph.feedthrough(*output, false).is_empty();
            let is_treated =
                |output: &usize| self.passes.iter().any(|pass| pass.outputs.contains(output));
            for output in node.outputs.clone() {
                let is_known = is_treated(&output)
                    || !depends(&output)
                    || !loops.iter().flatten().any(|member| *member == output)
                        && self.modes[component] != Exchange::Stale;
                self.stale_errors[output] = if is_known { 0.0 } else { f64::NAN };
            }
            let in_loop = |output: usize| loops.iter().flatten().any(|member| *member == output);
            let mut dependent = node.outputs.clone().filter(depends).peekable();
            if !loops.is_empty() && dependent.peek().is_some() && dependent.all(in_loop) {
                self.modes[component] = Exchange::Stale;
            }
        }
    }

    /// ∂output/∂input as it was measured in Initialization Mode; 0 where it is not known.
    pub(super) fn probed_gain(&self, output: usize, input: usize) -> f64 {
        let find = |pass: &Pass| {
            let row = pass.outputs.iter().position(|known| *known == output)?;
            let column = pass.inputs.iter().position(|known| *known == input)?;
            Some(pass.gains[row * pass.inputs.len() + column])
        };
        self.passes.iter().find_map(find).unwrap_or(0.0)
    }

    /// Makes outputs with direct feed-through agree with the inputs of the coming step, and notes
    /// how far those that stay stale are off.
    pub(super) fn refresh(&mut self, step: &Step, next: u64, now: f64) -> Result<(), Fault> {
        let mut passes = std::mem::take(&mut self.passes);
        let mut result = Ok(());
        for pass in &mut passes {
            if self.members[pass.component].is_due(next) {
                result = self.run_pass(pass, next, now);
                if result.is_err() {
                    break;
                }
            }
        }
        self.passes = passes;
        result.map_err(|(component, fault)| self.fault(component, step, fault))
    }

    fn run_pass(
        &mut self,
        pass: &mut Pass,
        next: u64,
        now: f64,
    ) -> Result<(), (usize, Box<UnitFault>)> {
        for (&input, new) in pass.inputs.iter().zip(&mut pass.new_inputs) {
            let state = &mut self.states[input];
            let is_new = self.members[state.source_component].is_due(next);
            if is_new && state.wants_substeps {
                state.observe(&self.outputs, f64::NAN, now);
            }
            *new = if is_new && !state.wants_substeps {
                state.fed(&self.outputs)
            } else {
                state.uncorrected(&self.outputs, now, 0.0).at(0.0)
            };
        }
        let result = match pass.mode {
            Exchange::Fresh => self.read_again(pass),
            mode => self.estimate(pass, mode),
        };
        result.map_err(|fault| (pass.component, fault))
    }

    fn read_again(&mut self, pass: &mut Pass) -> Result<(), Box<UnitFault>> {
        self.counters.set_calls += 1;
        self.counters.get_calls += 1;
        let slot = &mut self.members[pass.component].slot;
        slot.set_reals(&pass.input_handles, &pass.new_inputs)?;
        slot.get_reals(&pass.output_handles, &mut pass.new_outputs)?;
        for (&output, &value) in pass.outputs.iter().zip(&pass.new_outputs) {
            self.outputs[output] = value;
        }
        Ok(())
    }

    /// Adds D·(u − ũ) to the outputs, or, where they stay stale, notes its negative as their error.
    fn estimate(&mut self, pass: &mut Pass, mode: Exchange) -> Result<(), Box<UnitFault>> {
        let columns = pass.inputs.len();
        if mode == Exchange::Stale {
            for &output in &pass.outputs {
                self.stale_errors[output] = 0.0;
            }
        }
        for (column, (&input, &new)) in pass.inputs.iter().zip(&pass.new_inputs).enumerate() {
            let change = new - self.inputs[input];
            if pass.by_unit {
                self.members[pass.component]
                    .slot
                    .unit()
                    .directional_derivative(
                        &pass.output_handles,
                        &pass.input_handles[column..=column],
                        &[1.0],
                        &mut pass.new_outputs,
                    )?;
                for (row, &gain) in pass.new_outputs.iter().enumerate() {
                    pass.gains[row * columns + column] = gain;
                }
            }
            for (row, &output) in pass.outputs.iter().enumerate() {
                let difference = pass.gains[row * columns + column] * change;
                if mode == Exchange::Stale {
                    self.stale_errors[output] -= difference;
                } else {
                    self.outputs[output] += difference;
                }
            }
        }
        Ok(())
    }
}

/// The rows and columns of `probed` that a pass needs; zeros where nothing was probed.
fn select_gains(probed: Option<&Gains>, outputs: &[Handle], inputs: &[Handle]) -> Vec<f64> {
    let mut selected = vec![0.0; outputs.len() * inputs.len()];
    let Some(probed) = probed else {
        return selected;
    };
    for (row, output) in outputs.iter().enumerate() {
        for (column, input) in inputs.iter().enumerate() {
            let from = probed.outputs.iter().position(|known| known == output);
            let to = probed.inputs.iter().position(|known| known == input);
            if let (Some(from), Some(to)) = (from, to) {
                selected[row * inputs.len() + column] =
                    probed.values[from * probed.inputs.len() + to];
            }
        }
    }
    selected
}
