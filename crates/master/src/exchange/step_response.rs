//! The change of an output over a step, by a change of an input that holds over it.

use super::probing::CentralDifference;
use super::two_steps::Before;
use crate::fault::Cause;
use crate::state::SystemState;
use crate::unit::{Handle, SavedState, StepOutcome, Unit, UnitResult};

/// Change of the input, in sizes of a [`CentralDifference`]: a thousandth of its magnitude, more than what the
/// tolerance of a solver leaves of a value.
const TIMES: f64 = 1000.0;

/// Part of the communication step that is tried where a whole one shows nothing, as with units of which an interface
/// model makes many short steps. A choice: the steps of the cranes' interface models are as short.
const SHORT: f64 = 0.02;

/// Least change of an output, relative to it: 1e4 roundings.
const ROUNDING: f64 = 1e-12;

/// Limits of the response after one step, as part of that after two. A passive port whose output does not jump
/// with its input begins on a straight line, which gives 1/2; feed-through, and a
/// response that has reached its end, give 1; an oscillation of ω rad/s gives 1/(2·cos(ω·h)). Less is a response by
/// detours, more a step that is no short one, and the sign of either says nothing.
const EARLY: std::ops::RangeInclusive<f64> = 0.45..=2.0;

/// Limits of the response to more of the input, as part of that to less of it.
const SYMMETRIC: std::ops::RangeInclusive<f64> = 0.5..=2.0;

/// The answer of an output to an input.
pub(super) enum Response {
    /// The unit does not finish the steps, or its answer is none, not smooth or not short.
    None,
    /// ∂output/∂input after the first step.
    Derivative(f64),
    /// The unit does not go back as it claims (C-75): two steps from one saved state differ.
    Forgets,
}

/// Response of one component in two steps, made again from the state `before` them; the unit has that state
/// afterwards.
///
/// # Errors
/// A fault after which the unit cannot go on.
pub(super) fn step_response(
    state: &mut SystemState,
    output: usize,
    input: usize,
    before: &Before,
) -> UnitResult<Response> {
    let component = state.graph.outputs[output].component;
    let node = &state.graph.components[component];
    let member = &mut state.units.members[component];
    if !member.inputs.contains(&input) {
        return Ok(Response::None);
    }
    let value = before.inputs[input - member.inputs.start];
    let variable = &node.description.variables[state.graph.inputs[input].variable];
    let mut trials = Trials {
        unit: member.slot.unit(),
        output: member.output_handles[output - member.outputs.start],
        input: member.input_handles[input - member.inputs.start],
        saved: &before.saved,
        time: before.time,
        size: before.size,
        difference: CentralDifference::about(value, variable, TIMES),
    };
    trials.unit.restore(trials.saved)?;
    let response = trials.response(value)?;
    if node.description.capabilities.variable_step && matches!(response, Response::None) {
        trials.size *= SHORT;
        return trials.response(value);
    }
    Ok(response)
}

/// Two steps at a time of one unit, from one point.
struct Trials<'a> {
    unit: &'a mut dyn Unit,
    output: Handle,
    input: Handle,
    saved: &'a SavedState,
    time: f64,
    size: f64,
    difference: CentralDifference,
}

impl Trials<'_> {
    /// The response about the present value of the input.
    fn response(&mut self, value: f64) -> UnitResult<Response> {
        let points = self.difference.points(TIMES);
        let mut outputs = [[0.0; 2]; 3];
        for (output, tried) in outputs.iter_mut().zip([value, points[0], points[1]]) {
            let Some(found) = self.outputs(tried, value)? else {
                return Ok(Response::None);
            };
            *output = found;
        }
        let [middle, above, below] = outputs;
        let again = self.outputs(value, value)?;
        if again.is_some_and(|again| again.map(f64::to_bits) != middle.map(f64::to_bits)) {
            return Ok(Response::Forgets);
        }
        let changes = [0, 1].map(|at| above[at] - below[at]);
        let is_smooth = (0..2).all(|at| {
            let least = ROUNDING * middle[at].abs();
            let parts = [above[at] - middle[at], middle[at] - below[at]];
            parts.iter().all(|part| part.abs() > least)
                && SYMMETRIC.contains(&(parts[0] / parts[1]))
        });
        let is_short = EARLY.contains(&(changes[0] / changes[1]));
        Ok(match is_smooth && is_short {
            true => Response::Derivative(self.difference.derivative(changes[0], TIMES)),
            false => Response::None,
        })
    }

    /// The output after one and two steps with the input at `tried`, if the unit finishes them; goes back, and sets
    /// the input to `value`.
    fn outputs(&mut self, tried: f64, value: f64) -> UnitResult<Option<[f64; 2]>> {
        let made = self.steps(tried);
        let back = self.unit.restore(self.saved);
        let back = back.and_then(|()| self.unit.set_reals(&[self.input], &[value]));
        match made {
            // A step that the run may never make is no fault of it, if it leaves the unit as it was.
            Err(fault) if fault.cause != Cause::Error && fault.cause != Cause::Discard => {
                Err(fault)
            }
            Err(_) => back.map(|()| None),
            Ok(found) => back.map(|()| found),
        }
    }

    fn steps(&mut self, tried: f64) -> UnitResult<Option<[f64; 2]>> {
        self.unit.set_reals(&[self.input], &[tried])?;
        let mut found = [0.0; 2];
        for (index, value) in found.iter_mut().enumerate() {
            let time = self.time + index as f64 * self.size;
            if self.unit.step(time, self.size)? != StepOutcome::Done {
                return Ok(None);
            }
            self.unit
                .get_reals(&[self.output], std::slice::from_mut(value))?;
        }
        Ok(Some(found))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClosureUnit;
    use crate::unit::{Call, Causality, Variable};

    const H: f64 = 0.25;
    /// The input, and the output before the first step.
    const U: f64 = 0.5;
    const Y: f64 = 1.0;

    /// Trials of steps from this time, s, of a unit with one input and one output.
    fn trials<'a>(unit: &'a mut dyn Unit, saved: &'a SavedState, time: f64) -> Trials<'a> {
        let variable = Variable::real("u", 0, Causality::Input);
        Trials {
            unit,
            output: 1,
            input: 0,
            saved,
            time,
            size: H,
            difference: CentralDifference::about(U, &variable, TIMES),
        }
    }

    /// The response of an output that steps from 2 s on compute from the input and the last output: `None` where there is none.
    fn response(next: impl Fn(&Call<'_>) -> f64 + Sync) -> Option<f64> {
        let unit = ClosureUnit::new(&[("u", U)], &[("y", Y)], |call| {
            call.outputs[0] = next(&call);
        });
        let mut unit = unit.memoryless();
        let saved = unit.save(None).unwrap();
        let mut trials = trials(&mut unit, &saved, 2.0);
        let found = match trials.response(U).unwrap() {
            Response::Derivative(slope) => Some(slope),
            Response::None => None,
            Response::Forgets => panic!("it goes back"),
        };
        let mut after = [0.0; 2];
        unit.get_reals(&[0, 1], &mut after).unwrap();
        assert_eq!(after, [U, Y]);
        found
    }

    #[track_caller]
    fn expect(found: Option<f64>, slope: f64) {
        let found = found.unwrap();
        assert!((found - slope).abs() < 1e-9, "{found}");
    }

    /// At once, by an integral, and by the integral of an integral; the second step begins at the end of the first.
    #[test]
    fn a_response_is_that_after_the_first_step() {
        expect(response(|call| 3.0 * call.inputs[0]), 3.0);
        expect(
            response(|call| call.outputs[0] - call.step * call.inputs[0]),
            -H,
        );
        let in_step = |call: &Call<'_>, first: f64, second: f64| match call.time {
            2.0 => first * call.inputs[0],
            2.25 => call.outputs[0] + second * call.inputs[0],
            _ => unreachable!(),
        };
        // 1 + 3 after the second step, and 1 + 1.2.
        assert_eq!(response(|call| in_step(call, 1.0, 3.0)), None);
        expect(response(|call| in_step(call, 1.0, 1.2)), 1.0);
        // An oscillation that has turned round, or nearly.
        assert_eq!(response(|call| in_step(call, 1.0, -0.6)), None);
        expect(response(|call| in_step(call, 1.0, -0.4)), 1.0);
        assert_eq!(response(|call| in_step(call, 1.0, -1.5)), None);
    }

    #[test]
    fn a_kink_or_rounding_is_no_response() {
        let kinked = |above: f64, below: f64| {
            response(move |call| {
                let change = call.inputs[0] - U;
                7.0 + if change > 0.0 { above } else { below } * change
            })
        };
        expect(kinked(1.0, 0.6), 0.8);
        expect(kinked(0.6, 1.0), 0.8);
        assert_eq!(kinked(1.0, 0.4), None);
        assert_eq!(kinked(0.4, 1.0), None);
        assert_eq!(kinked(1.0, 0.0), None);
        assert_eq!(kinked(1.0, -1.0), None);
        // The input is changed by 1e−3, and rounding is 1e−12 of 1024.
        let small = |slope: f64| response(move |call| 1024.0 + slope * call.inputs[0]);
        assert_eq!(small(0.9 * 1.024e-6), None);
        assert!(small(1.2 * 1.024e-6).is_some());
    }

    #[test]
    fn a_unit_that_does_not_go_back_is_named() {
        let mut calls = 0.0;
        let unit = ClosureUnit::new(&[("u", U)], &[("y", Y)], |call| {
            calls += 1e-9;
            call.outputs[0] = call.inputs[0] + calls;
        });
        let mut unit = unit.memoryless();
        let saved = unit.save(None).unwrap();
        let mut trials = trials(&mut unit, &saved, 0.0);
        assert!(matches!(trials.response(U), Ok(Response::Forgets)));
    }
}
