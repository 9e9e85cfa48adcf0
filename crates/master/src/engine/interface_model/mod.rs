//! Interface models while they run: the fast components make many exchanges in a macro-step with a
//! reduced model of the multibody component.

mod reading;

use super::{inputs, outputs, steps, tail};
use crate::curve::Curve;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::interface_model::{FastInputs, InterfaceModel, InterfaceOrder, PassedForce};
use crate::state::{Courses, Drive, FastInput, ReducedModel, Signals, SystemState, Units};
use crate::step::{Step, StepParts};

/// Divides the steps of the fast components by the exchanges, and gives the driven inputs lines where
/// the model moves them in lines.
pub(super) fn set_up(state: &mut SystemState) {
    for running in &state.models.running {
        let model = &state.graph.interface_models[running.model];
        for &fast in &model.fast {
            state.units.members[fast].substeps /= model.exchanges;
        }
        if model.schedule.inputs == FastInputs::Linear {
            let is_driven =
                |input: &&FastInput| matches!(input.drive, Drive::Position(_) | Drive::Velocity(_));
            for driven in running.inputs.iter().filter(is_driven) {
                let input = &mut state.courses.inputs[driven.input];
                input.degree = input.degree.max(1);
            }
        }
    }
}

/// Makes a macro-step of a system with interface models.
pub(super) fn step(state: &mut SystemState, step: &Step) -> Result<(), Fault> {
    let mut models = std::mem::take(&mut state.models.running);
    let result = step_both_sides(state, &mut models, step);
    state.models.running = models;
    result?;
    tail(state, step)
}

fn step_both_sides(
    state: &mut SystemState,
    models: &mut [ReducedModel],
    step: &Step,
) -> Result<(), Fault> {
    // All models begin before any fast side steps.
    for running in &mut *models {
        begin_model(state, running, step)?;
    }
    // The courses of all inputs are prepared before the fast side publishes anything of this step.
    let now = state.graph.clock.duration(step.from);
    for &component in &state.models.outside {
        let member = &state.units.members[component];
        if member.is_due(step.index) {
            inputs::prepare(member, &mut state.courses, &state.signals, step, now);
        }
    }
    for running in &mut *models {
        step_fast_side(state, running, step)?;
        replace_by_means(&state.graph, &mut state.courses, running);
    }
    let SystemState {
        graph,
        units,
        courses,
        signals,
        models,
        scenario,
        counters,
        ..
    } = state;
    let outside = &models.outside;
    for &component in outside {
        if units.members[component].is_due(step.index) {
            inputs::give(graph, units, courses, counters, component, step)?;
        }
    }
    inputs::give_signals(graph, units, signals, scenario, outside, step)?;
    steps::step(graph, units, courses, counters, outside, step)?;
    outputs::read_due(graph, units, &mut signals.reals, counters, outside, step)
}

/// Reads the published outputs of the multibody component, and sets the start of the reduced model.
fn begin_model(
    state: &mut SystemState,
    running: &mut ReducedModel,
    step: &Step,
) -> Result<(), Fault> {
    let graph = std::sync::Arc::clone(&state.graph);
    let model = &graph.interface_models[running.model];
    let schedule = &model.schedule;
    reading::read_forces(&graph, &state.courses, &state.signals, running, model);
    reading::read_mass(state, running, model, step)?;
    if !running.has_started && schedule.inputs == FastInputs::Linear {
        find_progress(&state.units, &state.courses, running);
    }
    let is_free = schedule.order == InterfaceOrder::Pipelined && running.has_started;
    let reals = &state.signals.reals;
    for (index, coordinate) in model.coordinates.iter().enumerate() {
        let position = coordinate.position.map_or(0.0, |output| reals[output]);
        if !is_free {
            running.position[index] = position;
            running.velocity[index] = reals[coordinate.velocity];
        }
        if !running.has_started {
            running.fed_displacement[index] = position;
        }
        let known_before = running.displacement_error[index];
        running.displacement_error[index] = position - running.fed_displacement[index];
        let error = if is_free {
            known_before
        } else {
            running.displacement_error[index]
        };
        running.feedback[index] = schedule.displacement_correction * error / step.size;
    }
    running.start.0.copy_from_slice(&running.position);
    running.start.1.copy_from_slice(&running.velocity);
    if is_free {
        read_fast_outputs_again(state, running, model, step)?;
        reading::read_forces(&graph, &state.courses, &state.signals, running, model);
    }
    if schedule.force == PassedForce::Predicted {
        reading::predict_means(&graph, &state.courses, &state.signals, running, model, step);
    }
    running.has_started = true;
    prepare_fast_inputs(state, running, model, step)
}

/// Finds the mean of the fed velocities over an exchange from the way in which the components are
/// given to the units that accept them; where they differ, in the middle of them.
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

fn prepare_fast_inputs(
    state: &mut SystemState,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    step: &Step,
) -> Result<(), Fault> {
    let now = state.graph.clock.duration(step.from);
    for fast in &mut running.inputs {
        if fast.drive == Drive::Outside {
            let input = &state.courses.inputs[fast.input];
            fast.planned = input.uncorrected(&state.signals.reals, now, step.size);
        }
    }
    inputs::give_signals(
        &state.graph,
        &mut state.units,
        &state.signals,
        &mut state.scenario,
        &model.fast,
        step,
    )
}

/// Lets the fast components that declare it safe compute their outputs from the reduced model's
/// motion at the start of the macro-step.
fn read_fast_outputs_again(
    state: &mut SystemState,
    running: &ReducedModel,
    model: &InterfaceModel,
    step: &Step,
) -> Result<(), Fault> {
    for fast in &running.inputs {
        let input = &state.courses.inputs[fast.input];
        let value = match fast.drive {
            Drive::Position(index) => running.position[index],
            Drive::Velocity(index) => running.velocity[index],
            Drive::Neighbour | Drive::Outside => state.signals.reals[input.source],
        };
        state.courses.values[fast.input] = value * input.factor + input.offset;
    }
    for &fast in &model.fast {
        if !state.exchange.modes[fast].facts().reads_again {
            continue;
        }
        let member = &mut state.units.members[fast];
        let values = &state.courses.values[member.inputs.clone()];
        let outputs = &mut state.signals.reals[member.outputs.clone()];
        state.counters.set_calls += 1;
        state.counters.get_calls += 1;
        let set = member.slot.set_reals(&member.input_handles, values);
        let read = set.and_then(|()| member.slot.get_reals(&member.output_handles, outputs));
        read.map_err(|cause| state.graph.fault(fast, step, cause))?;
    }
    Ok(())
}

/// The fast side's macro-step: exchanges with the reduced model every d.
fn step_fast_side(
    state: &mut SystemState,
    running: &mut ReducedModel,
    step: &Step,
) -> Result<(), Fault> {
    let shared = std::sync::Arc::clone(&state.graph);
    let model = &shared.interface_models[running.model];
    let passes_means = model.schedule.force == PassedForce::Mean;
    let exchanges = model.exchanges;
    if passes_means {
        begin_means(&state.signals, running, model);
    }
    let parts = StepParts::of(step, exchanges, &shared.clock);
    for exchange in 0..exchanges {
        let part = parts.part(exchange);
        let d = part.size;
        move_reduced_model(running, model, d);
        feed_fast_side(state, running, model, f64::from(exchange) * d, &part)?;
        let SystemState {
            graph,
            units,
            courses,
            signals,
            counters,
            ..
        } = &mut *state;
        steps::step(graph, units, courses, counters, &model.fast, &part)?;
        let reals = &mut signals.reals;
        outputs::read_due(graph, units, reals, counters, &model.fast, &part)?;
        outputs::check_finite(graph, signals, &part)?;
        if exchange == 0 {
            for fast in &mut running.inputs {
                fast.first = courses.inputs[fast.input].curve.at(0.0);
            }
        }
        reading::read_forces(graph, courses, signals, running, model);
        reading::remove_feedback(state, running, model, &part)?;
        if passes_means {
            let weight = if exchange + 1 == exchanges { 0.5 } else { 1.0 };
            add_to_means(
                &state.signals,
                running,
                model,
                weight / f64::from(exchanges),
            );
        }
        if state.units.terminated.is_some() {
            break;
        }
    }
    end_fast_side(state, running, model, step);
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
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        counters,
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
        inputs::replace(courses, fast.input, curve);
    }
    for &fast in &model.fast {
        inputs::give(graph, units, courses, counters, fast, part)?;
    }
    Ok(())
}

/// The courses of the fast inputs over the whole macro-step, for the ledger; and, where the
/// reduced model ran on by itself, the shift to the true place of the multibody component.
fn end_fast_side(
    state: &mut SystemState,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    step: &Step,
) {
    for fast in &running.inputs {
        let last = state.courses.values[fast.input];
        state.courses.inputs[fast.input].curve =
            Curve::line(fast.first, (last - fast.first) / step.size);
    }
    if model.schedule.order != InterfaceOrder::Pipelined {
        return;
    }
    let reals = &state.signals.reals;
    for (index, coordinate) in model.coordinates.iter().enumerate() {
        if let Some(output) = coordinate.position {
            running.position[index] += reals[output] - running.start.0[index];
        }
        running.velocity[index] += reals[coordinate.velocity] - running.start.1[index];
    }
}

/// Puts the means in place of the prepared efforts of the multibody component.
fn replace_by_means(graph: &Graph, courses: &mut Courses, running: &ReducedModel) {
    let model = &graph.interface_models[running.model];
    if model.schedule.force == PassedForce::Hold {
        return;
    }
    for (mean, effort) in running.means.iter().zip(&model.efforts) {
        let input = &courses.inputs[effort.input];
        let value = mean * input.factor + input.offset;
        inputs::replace(courses, effort.input, Curve::constant(value));
    }
}
