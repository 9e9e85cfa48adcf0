//! As `fast-first`, but the fast side receives the state of the multibody component one macro-step late. The reduced model
//! continues from its own state, and is moved to the true place of the component once that has stepped.
//!
//! Source: Rahikainen et al. (2020) §2.3.1, with the impulse instead of the force. Use it if both sides should run at the
//! same time and get one impulse. Limits: masses and free accelerations are one macro-step older.

use super::Order;
use super::fast_side;
use super::feedback::feed_back;
use super::reading::read_forces;
use super::stage::{Act, Moment, heavy};
use super::start::{START, keep_start, plan_inputs_from_outside, read, start};
use crate::exchange::declares_safe;
use crate::exchange_mode::Exchange;
use crate::fault::Fault;
use crate::interface_model::{
    DISPLACEMENT_CORRECTION, INPUTS, InterfaceModel, LAG, MASS_FACTOR, MEAN_FORCE, Schedule, facts,
};
use crate::plan::Effect;
use crate::registry::Entry;
use crate::state::{Drive, ReducedModel, SystemState};
use crate::step::Step;

pub(super) const ORDER: Order = Order {
    entry: Entry {
        name: "pipelined",
        summary: "as fast-first, but the fast side receives the state of the multibody component one macro-step late",
        source: "Rahikainen 2020 §2.3.1, with the impulse in place of the force",
        parameters: &[
            MEAN_FORCE,
            INPUTS,
            DISPLACEMENT_CORRECTION,
            MASS_FACTOR,
            LAG,
        ],
        facts,
        build: |arguments| {
            let mut schedule = Schedule::new("pipelined", arguments);
            schedule.age += 1;
            schedule
        },
    },
    begin: &GO_ON,
    end: &SHIFT,
};

/// The reduced model goes on from its own state.
const GO_ON: Act = Act {
    effects: |model, graph| {
        let mut effects = (START.effects)(model, graph);
        let again = model.fast.iter().copied().filter(|fast| {
            let node = &graph.components[*fast];
            declares_safe(node) || node.exchange == Exchange::FRESH
        });
        effects.extend(again.map(|component| Effect::ReadsAgain {
            component,
            puts_back: false,
        }));
        effects
    },
    words: |model, graph| {
        let heavy = heavy(model, graph);
        format!(
            "its reduced model of {heavy} goes on from its own state, with masses and forces that are published"
        )
    },
    run: go_on,
};

/// The reduced model is moved to the true place of the multibody component.
const SHIFT: Act = Act {
    effects: fast_side::END.effects,
    words: |model, graph| {
        let heavy = heavy(model, graph);
        let end = (fast_side::END.words)(model, graph);
        format!(
            "{end}; the reduced model is moved by the error of its place at the start against {heavy}"
        )
    },
    run: |moment| {
        fast_side::end(moment)?;
        shift(moment);
        Ok(())
    },
};

fn go_on(moment: &mut Moment<'_>) -> Result<(), Fault> {
    if !moment.running.has_started {
        return start(moment);
    }
    read(moment)?;
    // The error that was known at the start of the last macro-step.
    feed_back(moment)?;
    let Moment {
        state,
        running,
        model,
        step,
        ..
    } = moment;
    let reals = &state.signals.reals;
    for (index, coordinate) in model.coordinates.iter().enumerate() {
        let position = coordinate.position.map_or(0.0, |output| reals[output]);
        running.displacement_error[index] = position - running.fed_displacement[index];
    }
    keep_start(running);
    read_fast_outputs_again(state, running, model, step)?;
    read_forces(&state.graph, &state.courses, &state.signals, running, model);
    plan_inputs_from_outside(state, running, step);
    Ok(())
}

fn shift(moment: &mut Moment<'_>) {
    let Moment {
        state,
        running,
        model,
        ..
    } = moment;
    let reals = &state.signals.reals;
    for (index, coordinate) in model.coordinates.iter().enumerate() {
        if let Some(output) = coordinate.position {
            running.position[index] += reals[output] - running.start.0[index];
        }
        running.velocity[index] += reals[coordinate.velocity] - running.start.1[index];
    }
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
