//! The exchanges of the fast components with the reduced model, and what follows them.

use super::reading::{read_forces, remove_feedback};
use super::stage::{Act, Moment, fast_names, forces, heavy, reads};
use crate::curve::Curve;
use crate::fault::Fault;
use crate::interface_model::{FastInputs, InterfaceModel, PassedForce};
use crate::plan::{Effect, Instant, replace};
use crate::state::{Courses, Drive, ReducedModel, Signals, SystemState};
use crate::step::Step;

/// The reduced model moves on by an exchange and gives its motion to the fast components.
pub(super) const DRIVE: Act = Act {
    effects: |model, graph| {
        let inputs = model.fast.iter();
        let inputs = inputs.flat_map(|fast| graph.components[*fast].inputs.clone());
        inputs.map(|input| Effect::Drives { input }).collect()
    },
    words: |model, graph| {
        let fast = fast_names(model, graph);
        format!("moves the reduced model on and prepares the inputs of {fast} from its motion")
    },
    run: drive,
};

/// The reduced model receives the forces of the fast components.
pub(super) const RECEIVE: Act = Act {
    effects: |model, _| reads(forces(model), Instant::End),
    words: |model, graph| {
        let fast = fast_names(model, graph);
        format!("gives the reduced model the forces of {fast}")
    },
    run: receive,
};

/// The multibody component receives its forces.
pub(super) const END: Act = Act {
    effects: |model, _| match model.schedule.force {
        PassedForce::Hold => Vec::new(),
        _ => {
            let inputs = model.efforts.iter().map(|effort| effort.input);
            inputs.map(|input| Effect::Drives { input }).collect()
        }
    },
    words: |model, graph| {
        let heavy = heavy(model, graph);
        match model.schedule.force {
            PassedForce::Hold => format!("{heavy} keeps the forces from the start of the step"),
            PassedForce::Predicted => {
                format!("{heavy} receives the mean forces that were predicted")
            }
            PassedForce::Mean => format!("{heavy} receives the mean forces over the exchanges"),
        }
    },
    run: end,
};

/// The reduced model moves on by an exchange, and the fast components get their inputs.
fn drive(moment: &mut Moment<'_>) -> Result<(), Fault> {
    let Moment {
        state,
        running,
        model,
        step: part,
        part: exchange,
    } = moment;
    if *exchange == 0 && model.schedule.force == PassedForce::Mean {
        begin_means(&state.signals, running, model);
    }
    move_reduced_model(running, model, part.size);
    let since = f64::from(*exchange) * part.size;
    feed_fast_side(state, running, model, since, part);
    Ok(())
}

/// The reduced model receives the forces of the fast components at the end of an exchange.
fn receive(moment: &mut Moment<'_>) -> Result<(), Fault> {
    let Moment {
        state,
        running,
        model,
        step: part,
        part: exchange,
    } = moment;
    if *exchange == 0 {
        for fast in &mut running.inputs {
            fast.first = state.courses.inputs[fast.input].curve.at(0.0);
        }
    }
    let (graph, courses, signals) = (&state.graph, &state.courses, &state.signals);
    read_forces(graph, courses, signals, running, model);
    remove_feedback(state, running, model, part)?;
    if model.schedule.force == PassedForce::Mean {
        let exchanges = model.exchanges;
        let weight = if *exchange + 1 == exchanges { 0.5 } else { 1.0 };
        let weight = weight / f64::from(exchanges);
        add_to_means(&state.signals, running, model, weight);
    }
    Ok(())
}

/// Means by the trapezoidal rule, as differences to the first values, so that a constant is its
/// own mean to the last digit.
fn begin_means(signals: &Signals, running: &mut ReducedModel, model: &InterfaceModel) {
    let means = running.means.iter_mut().zip(&mut running.first_efforts);
    for ((mean, first), effort) in means.zip(&model.efforts) {
        *first = signals.reals[effort.output];
        *mean = *first;
    }
}

fn add_to_means(
    signals: &Signals,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    weight: f64,
) {
    let means = running.means.iter_mut().zip(&running.first_efforts);
    for ((mean, first), effort) in means.zip(&model.efforts) {
        *mean += weight * (signals.reals[effort.output] - first);
    }
}

/// w += d·(b + W·λ)/f, s += d·w; and the displacement that is fed.
fn move_reduced_model(running: &mut ReducedModel, model: &InterfaceModel, d: f64) {
    let count = model.coordinates.len();
    let Some((w, b)) = running.masses.last() else {
        return;
    };
    running.position_before.copy_from_slice(&running.position);
    running.velocity_before.copy_from_slice(&running.velocity);
    for row in 0..count {
        let of_forces: f64 = w[row * count..][..count]
            .iter()
            .zip(&running.force)
            .map(|(w, force)| w * force)
            .sum();
        let acceleration = (b[row] + of_forces) / model.schedule.mass_factor;
        running.velocity[row] += d * acceleration;
        running.position[row] += d * running.velocity[row];
        let (before, after) = (running.velocity_before[row], running.velocity[row]);
        let rest = 1.0 - running.progress[row];
        let fed = after - rest * (after - before);
        running.fed_displacement[row] += d * (fed + running.feedback[row]);
    }
}

/// Gives the fast components their inputs for an exchange that starts `since` the macro-step's start, s.
fn feed_fast_side(
    state: &mut SystemState,
    running: &ReducedModel,
    model: &InterfaceModel,
    since: f64,
    part: &Step,
) {
    let SystemState {
        units,
        courses,
        signals,
        ..
    } = state;
    let is_linear = model.schedule.inputs == FastInputs::Linear;
    for fast in &running.inputs {
        let input = &courses.inputs[fast.input];
        let moves = is_linear && units.members[input.component].follows_curves;
        let course = |before: f64, after: f64| {
            let curve = if moves {
                Curve::line(before, (after - before) / part.size)
            } else {
                Curve::constant(after)
            };
            curve
                .scaled(input.factor)
                .plus(&Curve::constant(input.offset))
        };
        let curve = match fast.drive {
            Drive::Position(i) => course(running.position_before[i], running.position[i]),
            Drive::Velocity(i) => {
                let added = running.feedback[i];
                course(
                    running.velocity_before[i] + added,
                    running.velocity[i] + added,
                )
            }
            Drive::Neighbour => Curve::constant(input.fed(&signals.reals)),
            Drive::Outside => fast.planned.shifted(since),
        };
        replace(courses, fast.input, curve);
    }
}

/// The courses of the fast inputs over the whole macro-step, for the ledger, and the forces of the multibody component.
pub(super) fn end(moment: &mut Moment<'_>) -> Result<(), Fault> {
    let Moment {
        state,
        running,
        model,
        step,
        ..
    } = moment;
    for fast in &running.inputs {
        let last = state.courses.values[fast.input];
        state.courses.inputs[fast.input].curve =
            Curve::line(fast.first, (last - fast.first) / step.size);
    }
    replace_by_means(&mut state.courses, running, model);
    Ok(())
}

/// Puts the means in place of the prepared efforts of the multibody component.
fn replace_by_means(courses: &mut Courses, running: &ReducedModel, model: &InterfaceModel) {
    if model.schedule.force == PassedForce::Hold {
        return;
    }
    for (mean, effort) in running.means.iter().zip(&model.efforts) {
        let input = &courses.inputs[effort.input];
        let value = mean * input.factor + input.offset;
        replace(courses, effort.input, Curve::constant(value));
    }
}
