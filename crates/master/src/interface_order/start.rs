//! The start of a reduced model from the published outputs of the multibody component.

use super::feedback::feed_back;
use super::reading::{predict_means, read_forces, read_mass};
use super::stage::{Act, Moment, forces, heavy, reads};
use crate::fault::Fault;
use crate::interface_model::{FastInputs, PassedForce};
use crate::plan::Instant;
use crate::state::{Courses, Drive, ReducedModel, SystemState, Units};
use crate::step::Step;

/// The reduced model starts where the multibody component is.
pub(super) const START: Act = Act {
    effects: |model, _| {
        let coordinates = model.coordinates.iter();
        let motion = coordinates.flat_map(|c| [Some(c.velocity), c.position]);
        reads(motion.flatten().chain(forces(model)), Instant::Start)
    },
    words: |model, graph| {
        let heavy = heavy(model, graph);
        format!("starts its reduced model of {heavy} from the published motion, masses and forces")
    },
    run: start,
};

pub(super) fn start(moment: &mut Moment<'_>) -> Result<(), Fault> {
    read(moment)?;
    let Moment {
        state,
        running,
        model,
        ..
    } = moment;
    let reals = &state.signals.reals;
    for (index, coordinate) in model.coordinates.iter().enumerate() {
        let position = coordinate.position.map_or(0.0, |output| reals[output]);
        running.position[index] = position;
        running.velocity[index] = reals[coordinate.velocity];
        if !running.has_started {
            running.fed_displacement[index] = position;
        }
        running.displacement_error[index] = position - running.fed_displacement[index];
    }
    feed_back(moment)?;
    let Moment {
        state,
        running,
        model,
        step,
        ..
    } = moment;
    keep_start(running);
    if model.schedule.force == PassedForce::Predicted {
        predict_means(
            &state.graph,
            &state.courses,
            &state.signals,
            running,
            model,
            step,
        );
    }
    running.has_started = true;
    plan_inputs_from_outside(state, running, step);
    Ok(())
}

/// Reads the forces, W and b.
pub(super) fn read(moment: &mut Moment<'_>) -> Result<(), Fault> {
    let Moment {
        state,
        running,
        model,
        step,
        ..
    } = moment;
    read_forces(&state.graph, &state.courses, &state.signals, running, model);
    read_mass(state, running, model, step)?;
    if !running.has_started && model.schedule.inputs == FastInputs::Linear {
        find_progress(&state.units, &state.courses, running);
    }
    Ok(())
}

/// Keeps the motion that the fast components are given at the start of the macro-step.
pub(super) fn keep_start(running: &mut ReducedModel) {
    running.start.0.copy_from_slice(&running.position);
    running.start.1.copy_from_slice(&running.velocity);
}

/// Finds the mean of the fed velocities over an exchange from the way in which the components are
/// given to the units that accept them; if they differ, in the middle of them.
fn find_progress(units: &Units, courses: &Courses, running: &mut ReducedModel) {
    for (coordinate, progress) in running.progress.iter_mut().enumerate() {
        let (mut sum, mut count) = (0.0, 0.0);
        for fast in &running.inputs {
            if fast.drive == Drive::Velocity(coordinate) {
                let component = courses.inputs[fast.input].component;
                sum += units.members[component].mean_progress();
                count += 1.0;
            }
        }
        *progress = if count > 0.0 { sum / count } else { 1.0 };
    }
}

/// The courses of inputs of the fast components that come from outside of the model.
pub(super) fn plan_inputs_from_outside(
    state: &SystemState,
    running: &mut ReducedModel,
    step: &Step,
) {
    let now = state.graph.clock.duration(step.from);
    for fast in &mut running.inputs {
        if fast.drive == Drive::Outside {
            let input = &state.courses.inputs[fast.input];
            fast.planned = input.uncorrected(&state.signals.reals, now, step.size);
        }
    }
}
