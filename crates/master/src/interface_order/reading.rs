//! Quantities that a reduced model reads from both sides: forces, masses, free accelerations.

use crate::exchange::derivative;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::interface_model::{InterfaceModel, Mass, Sides};
use crate::scenario::Transformation;
use crate::state::{Courses, Drive, ReducedModel, Signals, SystemState};
use crate::step::Step;

/// Reads the forces λ, as the fast components have published them, with what a scenario makes of the efforts on
/// their way to the multibody component.
pub(super) fn read_forces(
    graph: &Graph,
    courses: &Courses,
    signals: &Signals,
    running: &mut ReducedModel,
    model: &InterfaceModel,
) {
    running.force.fill(0.0);
    for effort in &model.efforts {
        running.force[effort.coordinate] += effort.weight * signals.reals[effort.output];
    }
    for (force, coordinate) in running.force.iter_mut().zip(&model.coordinates) {
        if let Some(output) = coordinate.force {
            *force = signals.reals[output];
        }
    }
    for effort in &model.efforts {
        if let Some(action) = action_on(graph, courses, effort.input) {
            let given = signals.reals[effort.output];
            running.force[effort.coordinate] += effort.weight * (action.of(given) - given);
        }
    }
}

/// A scenario's change of the output that feeds an input: the changed output would feed it the same value
/// without the scenario. `None` if no action is on it.
fn action_on(graph: &Graph, courses: &Courses, input: usize) -> Option<Transformation> {
    let (plain, course) = (&graph.inputs[input], &courses.inputs[input]);
    let is_acted_on = (course.factor, course.offset) != (plain.factor, plain.offset);
    is_acted_on.then(|| Transformation {
        factor: course.factor / plain.factor,
        offset: (course.offset - plain.offset) / plain.factor,
    })
}

/// Reads the newest W and b; at the start they are as old as need be.
pub(super) fn read_mass(
    state: &mut SystemState,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    step: &Step,
) -> Result<(), Fault> {
    running.masses.rotate_right(1);
    match &model.mass {
        Mass::Outputs { inverse, free } => {
            let reals = &state.signals.reals;
            let (w, b) = &mut running.masses[0];
            for (value, output) in w.iter_mut().zip(inverse) {
                *value = output.map_or(0.0, |output| reals[output]);
            }
            for (value, output) in b.iter_mut().zip(free) {
                *value = reals[*output];
            }
        }
        Mass::Accelerations(outputs) => derive_mass(state, running, model, outputs, step)?,
    }
    if !running.has_started {
        let (first, others) = running.masses.split_at_mut(1);
        for other in others {
            other.clone_from(&first[0]);
        }
    }
    Ok(())
}

/// W = ∂a/∂λ and b = a − W·λ, with the λ that the accelerations a were computed with.
fn derive_mass(
    state: &mut SystemState,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    accelerations: &[usize],
    step: &Step,
) -> Result<(), Fault> {
    let count = accelerations.len();
    let (graph, courses) = (&state.graph, &state.courses);
    let follows = state.exchange.modes[model.component].facts().follows_inputs;
    running.acceleration.copy_from_slice(&running.force);
    for effort in &model.efforts {
        let input = &graph.inputs[effort.input];
        let used = (courses.values[effort.input] - input.offset) / input.factor;
        let given = state.signals.reals[effort.output];
        let given = action_on(graph, courses, effort.input).map_or(given, |a| a.of(given));
        if !follows {
            running.acceleration[effort.coordinate] += effort.weight * (used - given);
        }
    }
    for column in 0..count {
        let acts = |effort: &&crate::interface_model::Effort| effort.coordinate == column;
        let Some(effort) = model.efforts.iter().find(acts) else {
            continue;
        };
        let scale = state.graph.inputs[effort.input].factor / effort.weight;
        for (row, &acceleration) in accelerations.iter().enumerate() {
            let gain = derivative::derivative(state, acceleration, effort.input, step)?;
            running.masses[0].0[row * count + column] = gain * scale;
        }
    }
    let (w, b) = &mut running.masses[0];
    for (row, &acceleration) in accelerations.iter().enumerate() {
        let of_forces: f64 = w[row * count..][..count]
            .iter()
            .zip(&running.acceleration)
            .map(|(w, force)| w * force)
            .sum();
        b[row] = state.signals.reals[acceleration] - of_forces;
    }
    Ok(())
}

/// Removes from the forces the part caused by the feedback velocity: the reduced model does not have
/// it.
pub(super) fn remove_feedback(
    state: &mut SystemState,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    step: &Step,
) -> Result<(), Fault> {
    for fast in &running.inputs {
        let added = match fast.drive {
            Drive::Velocity(index) => running.feedback[index],
            _ => 0.0,
        };
        if added == 0.0 {
            continue;
        }
        let added = added * state.courses.inputs[fast.input].factor;
        for (force, coordinate) in running.force.iter_mut().zip(&model.coordinates) {
            if let Some(output) = coordinate.force {
                *force -= derivative::of_any(state, output, fast.input, step)? * added;
            }
        }
        for effort in &model.efforts {
            if model.coordinates[effort.coordinate].force.is_none() {
                let slope = derivative::of_any(state, effort.output, fast.input, step)?;
                running.force[effort.coordinate] -= effort.weight * slope * added;
            }
            if let Some(action) = action_on(&state.graph, &state.courses, effort.input) {
                let slope = derivative::of_any(state, effort.output, fast.input, step)?;
                let of_action = (action.factor - 1.0) * slope;
                running.force[effort.coordinate] -= effort.weight * of_action * added;
            }
        }
    }
    Ok(())
}

/// Predicts the means of the efforts over the macro-step by linear models of both sides.
pub(super) fn predict_means(
    graph: &Graph,
    courses: &Courses,
    signals: &Signals,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    step: &Step,
) {
    let read = |output: Option<usize>| output.map_or(0.0, |output| signals.reals[output]);
    for (index, coordinate) in model.coordinates.iter().enumerate() {
        running.force_rate[index] = read(coordinate.force_rate);
        running.stiffness[index] = read(coordinate.stiffness);
    }
    let Some((inverse_mass, free_acceleration)) = running.masses.last() else {
        return;
    };
    let sides = Sides {
        inverse_mass,
        free_acceleration,
        force: &running.force,
        force_rate: &running.force_rate,
        stiffness: &running.stiffness,
    };
    let d = step.size / f64::from(model.exchanges);
    running.prediction.predict(&sides, d, model.exchanges);
    for (mean, effort) in running.means.iter_mut().zip(&model.efforts) {
        let coordinate = effort.coordinate;
        let acting = model.efforts.iter().filter(|e| e.coordinate == coordinate);
        let weights: f64 = acting.map(|e| e.weight * e.weight).sum();
        let change = running.prediction.mean[coordinate] - running.force[coordinate];
        // Only the sum of weight · effort is known to change: it is shared out by the weights.
        let share = effort.weight / weights * change;
        let given = signals.reals[effort.output];
        *mean = match action_on(graph, courses, effort.input) {
            // Replaced on its way.
            Some(action) if action.factor == 0.0 => given,
            Some(action) => given + share / action.factor,
            None => given + share,
        };
    }
}
