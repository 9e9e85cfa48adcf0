use super::{Plant, Step};
use crate::curve::Curve;
use crate::exchange::{Exchange, Gains};
use crate::extrapolation::{Extrapolation, Sample};
use crate::fault::Fault;
use crate::graph::{Graph, Input};
use crate::unit::Handle;

/// A connected real input while it runs.
pub(crate) struct InputState {
    pub(crate) source: usize,
    pub(crate) source_component: usize,
    factor: f64,
    offset: f64,
    /// `None`: held, which needs no history.
    pub(crate) extrapolation: Option<Box<dyn Extrapolation>>,
    /// What the correction of a bond adds over the coming step.
    pub(crate) correction: Curve,
    /// A correction may add to this input.
    pub(crate) is_corrected: bool,
    /// The course of the input over the step, correction included.
    pub(crate) curve: Curve,
    /// Degree of that course.
    pub(crate) degree: usize,
}

impl InputState {
    pub(crate) fn new(input: &Input, graph: &Graph) -> Self {
        let (entry, arguments) = &input.extrapolation;
        let extrapolation = (entry.build)(arguments);
        let degree = extrapolation.degree();
        let needs_history = degree > 0 || entry.name != "hold";
        Self {
            source: input.source,
            source_component: graph.outputs[input.source].component,
            factor: input.factor,
            offset: input.offset,
            extrapolation: needs_history.then_some(extrapolation),
            correction: Curve::default(),
            is_corrected: false,
            curve: Curve::default(),
            degree,
        }
    }

    /// The input is the output that feeds it, and nothing else.
    pub(crate) fn is_plain_copy(&self) -> bool {
        self.factor == 1.0
            && self.offset == 0.0
            && self.extrapolation.is_none()
            && !self.is_corrected
    }

    /// The fed value, in the input's unit.
    #[inline]
    pub(crate) fn fed(&self, outputs: &[f64]) -> f64 {
        outputs[self.source] * self.factor + self.offset
    }

    pub(crate) fn observe(&mut self, outputs: &[f64], time: f64) {
        let value = self.fed(outputs);
        if let Some(extrapolation) = &mut self.extrapolation {
            extrapolation.observe(Sample { time, value });
        }
    }

    /// The course of the input without correction, from `now` (s since the start) on.
    pub(crate) fn uncorrected(&self, outputs: &[f64], now: f64) -> Curve {
        match &self.extrapolation {
            Some(extrapolation) => extrapolation.curve(now),
            None => Curve::constant(self.fed(outputs)),
        }
    }

    /// Plans the coming step and returns the value at its start.
    pub(crate) fn plan(&mut self, outputs: &[f64], now: f64) -> f64 {
        self.curve = self.uncorrected(outputs, now).plus(&self.correction);
        self.curve.coefficients[0]
    }
}

/// A pass of the exchange between steps, ready to run.
pub(crate) struct ExchangePass {
    component: usize,
    mode: Exchange,
    inputs: Vec<usize>,
    input_handles: Vec<Handle>,
    outputs: Vec<usize>,
    output_handles: Vec<Handle>,
    /// ∂output/∂input, row by row; measured anew at each point where `by_unit`.
    gains: Vec<f64>,
    by_unit: bool,
    new_inputs: Vec<f64>,
    new_outputs: Vec<f64>,
}

impl Plant {
    /// Prepares the passes for the modes in force. `gains` holds what probing found, by component.
    pub(crate) fn prepare_exchange(&mut self, gains: &[Option<Gains>]) -> Vec<Vec<usize>> {
        let graph = &self.graph;
        let (passes, loops) = crate::exchange::exchange_passes(graph, &self.modes);
        let handle = |component: usize, variable: usize| {
            graph.components[component].description.variables[variable].handle
        };
        let ready = passes.into_iter().map(|pass| {
            let component = pass.component;
            let input_handles: Vec<_> = pass
                .inputs
                .iter()
                .map(|i| handle(component, graph.inputs[*i].variable))
                .collect();
            let output_handles: Vec<_> = pass
                .outputs
                .iter()
                .map(|o| handle(component, graph.outputs[*o].variable))
                .collect();
            let probed = gains[component].as_ref();
            ExchangePass {
                component,
                mode: self.modes[component],
                gains: select_gains(probed, &output_handles, &input_handles),
                by_unit: graph.components[component]
                    .description
                    .capabilities
                    .directional_derivatives,
                new_inputs: vec![0.0; pass.inputs.len()],
                new_outputs: vec![0.0; pass.outputs.len()],
                inputs: pass.inputs,
                outputs: pass.outputs,
                input_handles,
                output_handles,
            }
        });
        self.passes = ready.collect();
        loops
    }

    /// Makes outputs with direct feed-through agree with the inputs of the coming step.
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
        pass: &mut ExchangePass,
        next: u64,
        now: f64,
    ) -> Result<(), (usize, Box<crate::fault::UnitFault>)> {
        for (&input, new) in pass.inputs.iter().zip(&mut pass.new_inputs) {
            let state = &self.states[input];
            let is_new = self.members[state.source_component].is_due(next);
            *new = if is_new {
                state.fed(&self.outputs)
            } else {
                state.uncorrected(&self.outputs, now).at(0.0)
            };
        }
        let slot = &mut self.members[pass.component].slot;
        let failed = |fault| (pass.component, fault);
        if pass.mode == Exchange::Fresh {
            self.counters.set_calls += 1;
            self.counters.get_calls += 1;
            slot.set_reals(&pass.input_handles, &pass.new_inputs)
                .map_err(failed)?;
            slot.get_reals(&pass.output_handles, &mut pass.new_outputs)
                .map_err(failed)?;
            for (&output, &value) in pass.outputs.iter().zip(&pass.new_outputs) {
                self.outputs[output] = value;
            }
            return Ok(());
        }
        let columns = pass.inputs.len();
        for (column, (&input, &new)) in pass.inputs.iter().zip(&pass.new_inputs).enumerate() {
            let change = new - self.inputs[input];
            if pass.by_unit {
                let known = std::slice::from_ref(&pass.input_handles[column]);
                slot.unit()
                    .directional_derivative(
                        &pass.output_handles,
                        known,
                        &[1.0],
                        &mut pass.new_outputs,
                    )
                    .map_err(failed)?;
                for (row, &gain) in pass.new_outputs.iter().enumerate() {
                    pass.gains[row * columns + column] = gain;
                }
            }
            for (row, &output) in pass.outputs.iter().enumerate() {
                self.outputs[output] += pass.gains[row * columns + column] * change;
            }
        }
        Ok(())
    }
}

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
