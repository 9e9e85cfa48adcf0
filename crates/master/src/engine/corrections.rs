//! Corrections of the bonds: proposed at a communication point, limited together, added to the
//! courses of the inputs.

use crate::curve::Curve;
use crate::exchange::derivative;
use crate::fault::Fault;
use crate::state::{Bonds, Corrector, Courses, State};
use crate::step::Step;

/// Marks the inputs that corrections may change.
pub(super) fn mark_inputs(bonds: &Bonds, courses: &mut Courses) {
    for corrector in &bonds.correctors {
        let degree = corrector.facts.degree;
        for axis in &corrector.axes {
            for input in [axis.effort_input, axis.flow_input] {
                let input = &mut courses.inputs[input];
                input.is_corrected = true;
                input.degree = input.degree.max(degree);
            }
        }
    }
}

/// Asks the corrections of the due bonds for their additions over the coming step.
pub(super) fn correct(state: &mut State, step: &Step) -> Result<(), Fault> {
    measure_jacobians(state, step)?;
    let State {
        courses,
        signals,
        bonds,
        counters,
        ..
    } = state;
    let is_due = |corrector: &&mut Corrector| step.index.is_multiple_of(corrector.every);
    for corrector in bonds.correctors.iter_mut().filter(is_due) {
        for axis in &corrector.axes {
            for input in [axis.effort_input, axis.flow_input] {
                courses.inputs[input].correction = Curve::default();
            }
        }
    }
    for corrector in bonds.correctors.iter_mut().filter(is_due) {
        corrector.move_to(step);
        corrector.read_values(&signals.reals, &courses.values, &courses.inputs);
        corrector.read_errors(&signals.stale_errors);
        corrector.propose();
    }
    limit_groups(&mut bonds.correctors);
    let mut is_corrected = false;
    for corrector in bonds.correctors.iter_mut().filter(is_due) {
        is_corrected |= corrector.apply(&mut courses.inputs);
    }
    counters.corrected_steps += u64::from(is_corrected);
    Ok(())
}

/// Scales the proposals of each group of bonds down to its limit (Rodríguez 2022 eq. 17, on the
/// sum of the forces that act on one receiver).
fn limit_groups(correctors: &mut [Corrector]) {
    for first in 0..correctors.len() {
        if correctors[first].group != first {
            continue;
        }
        let Some(limit) = correctors[first].correction.limit() else {
            continue;
        };
        let group = || correctors.iter().filter(|known| known.group == first);
        let mut scale = 1.0_f64;
        for flows in [false, true] {
            let (mut asked, mut signal) = (0.0, 0.0);
            for axis in 0..correctors[first].axes.len() {
                asked += group()
                    .map(|c| c.increment(axis, flows))
                    .sum::<f64>()
                    .powi(2);
                signal += group().map(|c| c.signal(axis, flows)).sum::<f64>().powi(2);
            }
            let (asked, signal) = (asked.sqrt(), signal.sqrt());
            let allowed = (limit.relative * signal).min(limit.absolute);
            // A limit of infinity times a signal of 0 is no number, and no limit.
            if asked > allowed {
                scale = scale.min(allowed / asked);
            }
        }
        let group = correctors.iter_mut().filter(|known| known.group == first);
        group.for_each(|corrector| corrector.scale = scale);
    }
}

/// Measures the interface Jacobians of the due bonds whose corrections want them. Only stale
/// feed-through counts: outputs that were exchanged fresh or compensated follow already.
fn measure_jacobians(state: &mut State, step: &Step) -> Result<(), Fault> {
    let mut correctors = std::mem::take(&mut state.bonds.correctors);
    let is_due = |corrector: &&mut Corrector| {
        corrector.facts.wants_jacobian && step.index.is_multiple_of(corrector.every)
    };
    let mut due = correctors.iter_mut().filter(is_due);
    let result = due.try_for_each(|corrector| measure_jacobian(state, corrector, step));
    state.bonds.correctors = correctors;
    result
}

fn measure_jacobian(
    state: &mut State,
    corrector: &mut Corrector,
    step: &Step,
) -> Result<(), Fault> {
    let Corrector { axes, point, .. } = corrector;
    for (row, to) in axes.iter().enumerate() {
        for (column, from) in axes.iter().enumerate() {
            let place = row * axes.len() + column;
            // The value that an effort input receives follows the flow input that its source has.
            let factor = state.courses.inputs[to.effort_input].factor;
            let gain = derivative::of_stale(state, to.effort_output, from.flow_input, step)?;
            point.effort_by_flow[place] = factor * gain;
            let factor = state.courses.inputs[to.flow_input].factor;
            let gain = derivative::of_stale(state, to.flow_output, from.effort_input, step)?;
            point.flow_by_effort[place] = factor * gain;
        }
    }
    Ok(())
}
