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
            && (!node.description.capabilities.directional_derivatives
                || state.units.members[component].denied.directional)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unit::{Call, UnitDescription, UnitWrapper};
    use crate::{ClosureUnit, Report, RunOptions, System};

    #[test]
    fn the_direct_part_comes_and_goes() {
        let direct = |changed: [f64; 2]| {
            let outputs = |[first, second]: [f64; 2]| [vec![0.0, first], vec![0.0, second]];
            super::direct(&outputs([10.0, 20.0]), &outputs(changed), 1)
        };
        assert_eq!(direct([10.5, 20.0]), 0.5);
        assert_eq!(direct([9.5, 20.125]), -0.625);
        assert_eq!(direct([10.5, 20.25]), 0.0);
        assert_eq!(direct([10.5, 20.5]), 0.0);
        // 64 roundings of ten are 1.4e−13.
        assert_eq!(direct([10.0 + 1e-13, 20.0]), 0.0);
        assert!((direct([10.0 + 2e-13, 20.0]) - 2e-13).abs() < 1e-14);
    }

    #[test]
    fn slopes_of_both_sides_agree_or_one_is_none() {
        let measured = |slopes: &[f64]| {
            let mut gains = Gains {
                inputs: vec![0, 1],
                outputs: vec![2, 3],
                values: vec![0.0; 4],
                nonsmooth: Vec::new(),
            };
            gains.set_measured(1, 0, slopes);
            let value = gains.values[2];
            assert_eq!(gains.values, [0.0, 0.0, value, 0.0]);
            assert_eq!(gains.follows(1, 0), value != 0.0);
            assert!(!gains.follows(0, 1) && !gains.follows(1, 1));
            assert!(gains.are_smooth() || gains.nonsmooth == [(1, 0)]);
            (value, gains.are_smooth())
        };
        assert_eq!(measured(&[3.0, 3.0]), (3.0, true));
        assert_eq!(measured(&[-3.0, -3.125]), (-3.0625, true));
        assert_eq!(measured(&[3.0, 3.25]), (3.125, false));
        assert_eq!(measured(&[19.0, 20.0]), (19.5, true));
        assert_eq!(measured(&[-2.0, -4.0]), (-3.0, false));
        assert_eq!(measured(&[5.0]), (5.0, true));
        // A kink.
        assert_eq!(measured(&[0.0, 3.0]), (1.5, false));
        assert_eq!(measured(&[-3.0, 0.0]), (-1.5, false));
        for none in [
            &[2.0, 4.5][..],
            &[0.2, 0.5],
            &[-2.0, 2.0],
            &[0.0, 0.0],
            &[],
            &[f64::INFINITY, 0.0],
        ] {
            assert_eq!(measured(none), (0.0, true), "{none:?}");
        }
    }

    const H: f64 = 0.25;

    /// Outputs of steps from 0.5 s on: they follow inputs at once, keep what they have, forget all of it but a part, and have
    /// a kink.
    #[test]
    fn two_steps_tell_direct_parts_from_states() {
        let names = ["direct", "kept", "fading", "staying", "kinked"];
        let step = |call: Call<'_>| {
            let &[u, w] = call.inputs else { unreachable!() };
            let &mut [_, kept, fading, staying, _] = call.outputs else {
                unreachable!()
            };
            // By the time of the second step alone.
            let kept = match call.time {
                0.5 => u,
                0.75 => kept,
                _ => 0.0,
            };
            call.outputs.copy_from_slice(&[
                4.0 * u - 2.0 * w,
                kept,
                0.375 * fading + w,
                0.625 * staying + u,
                (u - 3.0).max(0.0),
            ]);
        };
        let outputs = names.map(|name| (name, 1.0));
        let mut unit = ClosureUnit::new(&[("u", 0.0), ("w", 0.0)], &outputs, step).memoryless();
        let described = unit.description().variables.clone();
        let variables: Vec<&Variable> = described[..2].iter().collect();
        unit.set_reals(&[0, 1], &[3.0, -1.0]).unwrap();
        let before = Before {
            saved: unit.save(None).unwrap(),
            inputs: vec![3.0, -1.0],
            time: 0.5,
            size: H,
        };
        let trial = Trial {
            inputs: &[0, 1],
            outputs: &[2, 3, 4, 5, 6],
            before: &before,
        };
        // The trial begins where it was saved.
        unit.set_reals(&[0, 1], &[7.0, 7.0]).unwrap();
        let found = trial.gains(&mut unit, &variables).unwrap().unwrap();
        let expected = [4.0, -2.0, 0.0, 0.0, 0.0, 0.625, 0.0, 0.0, 0.5, 0.0];
        for (found, expected) in found.values.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        assert_eq!(found.nonsmooth, [(4, 0)]);
    }

    /// Declares that its outputs follow its inputs.
    struct Declaring<U> {
        unit: U,
        description: UnitDescription,
    }

    impl<U: Unit> UnitWrapper for Declaring<U> {
        fn inner(&self) -> &dyn Unit {
            &self.unit
        }

        fn inner_mut(&mut self) -> &mut dyn Unit {
            &mut self.unit
        }

        fn description(&self) -> &UnitDescription {
            &self.description
        }
    }

    /// An effort that `next` computes in steps from the flow and the last effort, declared to follow the flow, in a bond.
    fn report(next: fn(f64, f64) -> f64, saves: bool) -> Report {
        let unit = ClosureUnit::new(&[("f", 0.0)], &[("e", 1.0)], move |call| {
            if call.step > 0.0 {
                call.outputs[0] = next(call.inputs[0], call.outputs[0]);
            }
        });
        let variables = unit.description().variables.clone();
        let mut abilities = unit.description().capabilities;
        abilities.save_and_restore = saves;
        let feedthrough = [(1, vec![0])].into_iter().collect();
        let description = UnitDescription::new(variables, feedthrough, abilities);
        let flow = ClosureUnit::new(&[("e", 0.0)], &[("f", 1.0)], |call| {
            call.outputs[0] = 1.0 + call.time + call.step;
        });
        let mut system = System::new(H);
        system.stop_time(6.0 * H);
        system.add("a", Declaring { unit, description });
        system.add("b", flow);
        let _ = system.bond("bond", ("a.e", "b.e"), ("b.f", "a.f"));
        system.start(&RunOptions::default()).unwrap().run().unwrap()
    }

    /// Where a trial finds that a declared feed-through is none, no energy was made by it; where it finds one, or there is no
    /// trial, the energy is not known.
    #[test]
    fn a_trial_says_whether_what_is_declared_is_there() {
        let damper: fn(f64, f64) -> f64 = |flow, _| 4.0 * flow;
        let spring: fn(f64, f64) -> f64 = |flow, effort| effort + H * flow;
        let pairs = |report: &Report| {
            let pairs = report.components[0].feedthrough_in_steps.as_ref()?;
            let names = pairs
                .iter()
                .map(|pair| format!("{} {}", pair.input, pair.output));
            Some(names.collect::<Vec<_>>())
        };
        let found = report(damper, true);
        assert_eq!(pairs(&found).unwrap(), ["a.f a.e"]);
        assert_eq!(found.bonds[0].stale_energy, None);
        let found = report(spring, true);
        assert_eq!(pairs(&found).unwrap(), [""; 0]);
        assert_eq!(found.bonds[0].stale_energy, Some(0.0));
        for effort in [damper, spring] {
            let found = report(effort, false);
            assert_eq!(pairs(&found), None);
            assert_eq!(found.bonds[0].stale_energy, None);
        }
    }
}
