//! Direct feed-through that shows in steps only: an output that is computed within a step, with the input of that
//! step, and does not move when the input is set and the output read.
//!
//! Where a unit declares direct feed-through, shows none when it is [probed](super::probe) and can go back, its last
//! two steps are tried again when the run is over, so that its results are the same even if the unit does not go back as it claims:
//! one step with a changed input, and a second one with the input as it is. An output that depends directly
//! on the input moves in the first step and comes back in the second. One that depends on it by a state keeps what the
//! first step has made: a velocity stays off, and a position moves on. So no second step size is needed. A unit in which
//! the effect of an input fades by more than a half within a step counts as direct, too: held that long, an
//! input is as late in its output as in that of a damper.

use super::choice::declares_safe;
use super::probe::{Gains, SMOOTH};
use super::probing::CentralDifference;
use super::two_steps::Before;
use crate::fault::Cause;
use crate::state::{StepResponse, SystemState};
use crate::state_check;
use crate::step::Step;
use crate::unit::{Handle, StepOutcome, Unit, UnitResult, Variable};

/// Half the width of a trial, in the [sizes](CentralDifference) of a probe: a thousandth of the input, so that the
/// response stands out of the tolerances of solvers, and a system stays near its point. A choice.
const WIDTH: f64 = 1e3;
/// The part of the response that a direct one leaves in the next step, at most. A choice between nothing and all of it.
const LEFT: f64 = 0.5;
/// Responses to an input that rises and to one that falls, per unit of the input, differ by this factor at most unless they
/// are noise. A choice; a smooth function of a thousandth more or less has 1.
const ALIKE: f64 = 2.0;
/// Inputs of a unit that are tried; each takes four steps of the unit. A choice.
const MOST_INPUTS: usize = 32;

/// Marks the components whose declared direct feed-through shows nowhere.
pub(crate) fn mark_hidden(state: &mut SystemState, gains: &[Option<Gains>]) {
    for (component, known) in gains.iter().enumerate() {
        let node = &state.graph.components[component];
        let is_hidden = known.as_ref().is_some_and(Gains::are_zero)
            && !node.description.capabilities.directional_derivatives
            && !declares_safe(node);
        if is_hidden {
            state.exchange.step_responses[component] = StepResponse::Unknown;
        }
    }
}

/// A component whose last steps are to be tried.
pub(crate) struct Untried {
    component: usize,
    before: Option<Before>,
}

impl Untried {
    /// The components whose response is not known and can be found.
    pub(crate) fn all(state: &SystemState) -> Vec<Self> {
        let responses = state.exchange.step_responses.iter().enumerate();
        let can_be_tried = |component: usize| {
            let node = &state.graph.components[component];
            node.description.capabilities.save_and_restore && node.inputs.len() <= MOST_INPUTS
        };
        let untried = responses.filter(|(component, response)| {
            **response == StepResponse::Unknown && can_be_tried(*component)
        });
        let new = |(component, _)| Self {
            component,
            before: None,
        };
        untried.map(new).collect()
    }

    /// The component.
    pub(crate) fn component(&self) -> usize {
        self.component
    }

    /// Saves the state before a step after which there is one more.
    pub(crate) fn save(&mut self, state: &mut SystemState, step: &Step) {
        self.before = Before::of(state, self.component, step);
    }

    /// Tries the steps, after which the unit may only end. A step that it does not finish shows nothing.
    pub(crate) fn find(&self, state: &mut SystemState) -> UnitResult<StepResponse> {
        let Some(before) = &self.before else {
            return Ok(StepResponse::Unknown);
        };
        let node = &state.graph.components[self.component];
        let described = &node.description.variables;
        let of = |input: &crate::graph::Input| &described[input.variable];
        let variables: Vec<&Variable> = state.graph.inputs[node.inputs.clone()]
            .iter()
            .map(of)
            .collect();
        let member = &mut state.units.members[self.component];
        let trial = Trial {
            inputs: &member.input_handles,
            outputs: &member.output_handles,
            before,
        };
        // The values at the end stay readable.
        let unit = member.slot.unit();
        let found = unit.save(None).and_then(|end| {
            let found = trial.gains(unit, &variables)?;
            unit.restore(&end)?;
            Ok(found)
        });
        match found {
            Ok(Some(found)) => Ok(StepResponse::Tried(self.pairs(state, &found))),
            Ok(None) => Ok(StepResponse::Unknown),
            Err(fault) if matches!(fault.cause, Cause::Discard | Cause::Unsupported) => {
                Ok(StepResponse::Unknown)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Declared pairs of output and input that were found.
    fn pairs(&self, state: &SystemState, found: &Gains) -> Vec<(usize, usize)> {
        let graph = &state.graph;
        let node = &graph.components[self.component];
        let outputs = node.outputs.clone().enumerate();
        let of_output = |(row, output): (usize, usize)| {
            let inputs = graph.feedthrough(output, false).into_iter();
            let follows = move |input: &usize| found.follows(row, *input - node.inputs.start);
            inputs.filter(follows).map(move |input| (output, input))
        };
        outputs.flat_map(of_output).collect()
    }
}

/// Two steps of a unit from a saved state.
struct Trial<'a> {
    inputs: &'a [Handle],
    outputs: &'a [Handle],
    before: &'a Before,
}

/// The outputs after each of two steps.
type Outputs = [Vec<f64>; 2];

impl Trial<'_> {
    fn gains(&self, unit: &mut dyn Unit, variables: &[&Variable]) -> UnitResult<Option<Gains>> {
        let Before {
            saved,
            inputs,
            time,
            size,
        } = self.before;
        unit.restore(saved)?;
        state_check::check(unit, self.outputs, *time, *size)?;
        let mut gains = Gains {
            inputs: self.inputs.to_vec(),
            outputs: self.outputs.to_vec(),
            values: vec![0.0; self.inputs.len() * self.outputs.len()],
            nonsmooth: Vec::new(),
        };
        let steps = |unit: &mut dyn Unit, change: Option<(Handle, f64, f64)>| {
            let made = self.two_steps(unit, change)?;
            unit.restore(saved)?;
            UnitResult::Ok(made)
        };
        let Some(usual) = steps(unit, None)? else {
            return Ok(None);
        };
        let inputs = self.inputs.iter().zip(inputs).zip(variables);
        for (column, ((input, value), variable)) in inputs.enumerate() {
            let points = CentralDifference::about(*value, variable, WIDTH).points(WIDTH);
            let mut responses = Vec::new();
            for point in points.into_iter().filter(|point| point != value) {
                let Some(changed) = steps(unit, Some((*input, point, *value)))? else {
                    return Ok(None);
                };
                responses.push((point - value, changed));
            }
            for row in 0..self.outputs.len() {
                let slopes = responses
                    .iter()
                    .map(|(by, changed)| direct(&usual, changed, row) / by);
                let slopes: Vec<f64> = slopes.collect();
                gains.set_measured(row, column, &slopes);
            }
        }
        Ok(Some(gains))
    }

    /// Makes a step with an input changed and one with the input as it is; `None` where the unit does not finish them.
    fn two_steps(
        &self,
        unit: &mut dyn Unit,
        change: Option<(Handle, f64, f64)>,
    ) -> UnitResult<Option<Outputs>> {
        let mut made = [(); 2].map(|()| vec![0.0; self.outputs.len()]);
        let mut time = self.before.time;
        for (index, outputs) in made.iter_mut().enumerate() {
            if let Some((input, changed, usual)) = change {
                unit.set_reals(&[input], &[if index == 0 { changed } else { usual }])?;
            }
            match unit.step(time, self.before.size) {
                Ok(StepOutcome::Done) => unit.get_reals(self.outputs, outputs)?,
                Ok(StepOutcome::Terminated(_)) => return Ok(None),
                Err(fault) if fault.cause == Cause::Discard => return Ok(None),
                Err(fault) => return Err(fault),
            }
            time += self.before.size;
        }
        Ok(Some(made))
    }
}

/// The direct part of the change of an output in the first step; 0 where that is rounding, or stays.
fn direct(usual: &Outputs, changed: &Outputs, row: usize) -> f64 {
    let [first, second] = [0, 1].map(|step| changed[step][row] - usual[step][row]);
    let rounding = 64.0 * f64::EPSILON * usual[0][row].abs().max(changed[0][row].abs());
    if first.abs() > rounding && second.abs() < LEFT * first.abs() {
        first - second
    } else {
        0.0
    }
}

impl Gains {
    /// Whether the output with this row follows the input with this column.
    fn follows(&self, row: usize, column: usize) -> bool {
        self.nonsmooth.contains(&(row, column))
            || self.values[row * self.inputs.len() + column] != 0.0
    }

    /// Sets the derivative of a pair from those above and below the present point, or above or below, unless they contradict
    /// each other.
    fn set_measured(&mut self, row: usize, column: usize, slopes: &[f64]) {
        let (least, greatest) = slopes.iter().fold(
            (f64::INFINITY, f64::NEG_INFINITY),
            |(least, greatest), slope| (slope.min(least), slope.max(greatest)),
        );
        // A kink has a slope on one side only.
        let one_sided = least == 0.0 || greatest == 0.0;
        let (smaller, larger) = (
            least.abs().min(greatest.abs()),
            least.abs().max(greatest.abs()),
        );
        let is_alike = least * greatest > 0.0 && larger <= ALIKE * smaller;
        if slopes.is_empty() || larger == 0.0 || !larger.is_finite() || !(one_sided || is_alike) {
            return;
        }
        self.values[row * self.inputs.len() + column] = 0.5 * (least + greatest);
        if larger - smaller > SMOOTH * larger {
            self.nonsmooth.push((row, column));
        }
    }
}
