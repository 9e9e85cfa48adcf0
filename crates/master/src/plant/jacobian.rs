//! The interface Jacobian of a bond: how much its outputs follow its inputs at once.

use super::{Corrector, Plant, Step};
use crate::exchange::Exchange;
use crate::fault::{Fault, UnitFault};
use crate::graph::Axis;

/// Change of an input that is tried on units whose outputs may be read again, relative to its size.
const TRIAL: f64 = 1e-6;

impl Plant {
    /// Measures the interface Jacobians of the due bonds whose corrections want them. Only stale
    /// feed-through counts: outputs that were exchanged fresh or compensated follow already.
    pub(super) fn measure_jacobians(&mut self, step: &Step) -> Result<(), Fault> {
        let mut correctors = std::mem::take(&mut self.correctors);
        let is_due = |corrector: &&mut Corrector| {
            corrector.correction.wants_jacobian() && step.index.is_multiple_of(corrector.every)
        };
        let mut result = Ok(());
        for corrector in correctors.iter_mut().filter(is_due) {
            result = self.measure_jacobian(corrector, step);
            if result.is_err() {
                break;
            }
        }
        self.correctors = correctors;
        result
    }

    fn measure_jacobian(&mut self, corrector: &mut Corrector, step: &Step) -> Result<(), Fault> {
        let axes = corrector.axes.len();
        let (effort_output, flow_input): (Part, Part) = (|a| a.effort_output, |a| a.flow_input);
        let (flow_output, effort_input): (Part, Part) = (|a| a.flow_output, |a| a.effort_input);
        for (row, to) in corrector.axes.iter().enumerate() {
            for (column, from) in corrector.axes.iter().enumerate() {
                let place = row * axes + column;
                // What an effort input receives follows the flow input that its source has.
                corrector.point.effort_by_flow[place] = self.states[to.effort_input].factor
                    * self.gain(effort_output(to), flow_input(from), step)?;
                corrector.point.flow_by_effort[place] = self.states[to.flow_input].factor
                    * self.gain(flow_output(to), effort_input(from), step)?;
            }
        }
        Ok(())
    }

    /// ∂output/∂input at the present point where the output stays stale, else 0.
    fn gain(&mut self, output: usize, input: usize, step: &Step) -> Result<f64, Fault> {
        let component = self.graph.outputs[output].component;
        if self.modes[component] != Exchange::Stale || !self.feeds_through(output, input) {
            return Ok(0.0);
        }
        self.derivative(output, input, step)
    }

    /// ∂output/∂input at the present point, 0 without direct feed-through.
    pub(super) fn slope(&mut self, output: usize, input: usize, step: &Step) -> Result<f64, Fault> {
        let is_own = self.states[input].component == self.graph.outputs[output].component;
        if is_own && self.feeds_through(output, input) {
            self.derivative(output, input, step)
        } else {
            Ok(0.0)
        }
    }

    /// ∂output/∂input at the present point, from the best source that there is.
    pub(super) fn derivative(
        &mut self,
        output: usize,
        input: usize,
        step: &Step,
    ) -> Result<f64, Fault> {
        let component = self.graph.outputs[output].component;
        let capabilities = self.graph.components[component].description.capabilities;
        let gain = if capabilities.directional_derivatives {
            self.gain_by_unit(component, output, input)
        } else if capabilities.fresh_outputs {
            self.gain_by_trial(component, output, input)
        } else {
            Ok(self.probed_gain(output, input))
        };
        gain.map_err(|fault| self.fault(component, step, fault))
    }

    fn feeds_through(&self, output: usize, input: usize) -> bool {
        let source = &self.graph.outputs[output];
        let description = &self.graph.components[source.component].description;
        let inputs = description.feedthrough.get(&source.variable);
        inputs.is_some_and(|inputs| inputs.contains(&self.graph.inputs[input].variable))
    }

    fn gain_by_unit(
        &mut self,
        component: usize,
        output: usize,
        input: usize,
    ) -> Result<f64, Box<UnitFault>> {
        let member = &mut self.members[component];
        let output = member.output_handles[output - member.outputs.start];
        let input = member.input_handles[input - member.inputs.start];
        let mut gain = [0.0];
        let unit = member.slot.unit();
        unit.directional_derivative(&[output], &[input], &[1.0], &mut gain)?;
        Ok(gain[0])
    }

    /// Moves the input a little, reads the output again and puts the input back.
    fn gain_by_trial(
        &mut self,
        component: usize,
        output: usize,
        input: usize,
    ) -> Result<f64, Box<UnitFault>> {
        let value = self.inputs[input];
        let size = TRIAL * value.abs().max(1.0);
        let member = &mut self.members[component];
        let output = [member.output_handles[output - member.outputs.start]];
        let input = [member.input_handles[input - member.inputs.start]];
        let mut responses = [0.0; 2];
        for (response, tried) in responses.iter_mut().zip([value + size, value - size]) {
            member.slot.set_reals(&input, &[tried])?;
            member
                .slot
                .get_reals(&output, std::slice::from_mut(response))?;
        }
        member.slot.set_reals(&input, &[value])?;
        self.counters.set_calls += 3;
        self.counters.get_calls += 2;
        Ok((responses[0] - responses[1]) / (2.0 * size))
    }
}

type Part = fn(&Axis) -> usize;
