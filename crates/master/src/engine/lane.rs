//! Macro-steps of FMUs that are called together, in a [lane](gyrator_fmu::Lane).

use gyrator_fmu::{Function, Held, Interruption, Lane, Ports};

use super::{inputs, outputs, steps};
use crate::counters::Counters;
use crate::fault::Fault;
use crate::rows::Rows;
use crate::state::{Courses, InputsInARow, Member, Signals, SystemState, Together, Units};
use crate::step::Step;

/// How the last of some macro-steps ended that were to be made in a row.
pub(crate) enum Ended {
    /// As the others; none may have been made.
    Well,
    /// In a call; the rest of the macro-step is still to be made.
    Interrupted(Interruption, Step),
    /// With outputs that are NaN or infinite, which are in the room after the rows.
    NotFinite(Step),
}

impl Ended {
    /// The macro-step that was not completed.
    pub(crate) fn step(&self) -> Option<Step> {
        match self {
            Self::Well => None,
            Self::Interrupted(_, step) | Self::NotFinite(step) => Some(*step),
        }
    }
}

/// Actions of a run between macro-steps in a row.
pub(crate) trait Between {
    /// The macro-step to make after so many.
    fn next(&mut self, made: usize) -> Option<Step>;

    /// Shows the outputs before a macro-step, which is made next in any case, unless this is `false`: then the row ends.
    fn show(&mut self, step: &Step, outputs: &[f64]) -> bool;
}

/// Nothing comes before or after one macro-step.
struct Alone(Option<Step>);

impl Between for Alone {
    fn next(&mut self, _: usize) -> Option<Step> {
        self.0.take()
    }

    fn show(&mut self, _: &Step, _: &[f64]) -> bool {
        true
    }
}

/// Makes a macro-step of all components in a lane, without a look at the outputs; `false` where there is none, or not now.
pub(super) fn step_in_lane(state: &mut SystemState, step: &Step) -> Result<bool, Fault> {
    let ended = match state.units.uniform {
        true => copies_in_a_row(state, false, &mut Alone(Some(*step))),
        false => prepared_step(state, step),
    };
    let Some(ended) = ended else {
        return Ok(false);
    };
    complete(state, ended)?;
    Ok(true)
}

/// Makes the macro-steps that `between` gives. Their outputs are in the rows of the lane;
/// those of the last one are published. Ends where an output is not finite. `None` where no call was made.
#[inline(always)]
pub(crate) fn steps_in_a_row(state: &mut SystemState, between: &mut impl Between) -> Option<Ended> {
    match state.units.uniform {
        true => copies_in_a_row(state, true, between),
        false => predictions_in_a_row(state, between),
    }
}

/// [`steps_in_a_row`] with inputs that copy outputs; only if it `checks`, the outputs are looked at.
#[inline(always)]
fn copies_in_a_row(
    state: &mut SystemState,
    checks: bool,
    between: &mut impl Between,
) -> Option<Ended> {
    let SystemState {
        units,
        courses,
        signals,
        counters,
        ..
    } = state;
    let components = units.members.len();
    let (mut held, rows) = hold(units, courses, &signals.reals)?;
    let most = rows.most_steps();
    let (mut before, mut room, width) = rows.first_and_room();
    let mut ended = Ended::Well;
    let mut steps = 0;
    while steps < most
        && let Some(step) = between.next(steps)
        && (steps == 0 || between.show(&step, before))
        && let Some(after) = room.split_off_mut(..width)
    {
        let times = (step.time, step.size);
        if let Err(interruption) = held.step(before, after, times) {
            ended = Ended::Interrupted(interruption, step);
            break;
        }
        if checks && !outputs::all_finite(after) {
            ended = Ended::NotFinite(step);
            break;
        }
        before = after;
        steps += 1;
    }
    rows.made(steps);
    if steps > 0 {
        show_copies(rows, courses, signals, steps);
    }
    count(counters, steps * components);
    Some(ended)
}

/// [`steps_in_a_row`] with inputs of which some are extrapolated, or converted.
#[inline(always)]
fn predictions_in_a_row(state: &mut SystemState, between: &mut impl Between) -> Option<Ended> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        counters,
        ..
    } = state;
    let clock = &graph.clock;
    let first = between.next(0)?;
    let components = units.members.len();
    let (mut held, rows) = hold(units, courses, &signals.reals)?;
    let Courses {
        inputs, in_a_row, ..
    } = &mut *courses;
    if !in_a_row.begin(inputs, &signals.reals, clock.duration(first.from)) {
        return None;
    }
    let most = rows.most_steps().min(in_a_row.most_steps());
    let (mut before, mut room, width) = rows.first_and_room();
    let mut ended = Ended::Well;
    let mut steps = 0;
    let mut coming = Some(first);
    while let Some(step) = coming {
        let end = clock.duration(step.from + step.length);
        if !in_a_row.follows(steps, step.size, end) || steps > 0 && !between.show(&step, before) {
            break;
        }
        let Some(after) = room.split_off_mut(..width) else {
            break;
        };
        if let Err(interruption) =
            held.step_with(in_a_row.used(steps), after, (step.time, step.size))
        {
            ended = Ended::Interrupted(interruption, step);
            break;
        }
        if !outputs::all_finite(after) {
            ended = Ended::NotFinite(step);
            break;
        }
        before = after;
        steps += 1;
        let (is_jump, are_ready) = in_a_row.observe(inputs, before, steps, end);
        signals.had_event = is_jump;
        coming = match are_ready && steps < most {
            true => between.next(steps),
            false => None,
        };
    }
    rows.made(steps);
    in_a_row.end(inputs, steps);
    if steps == 0 && matches!(ended, Ended::Well) {
        return None;
    }
    if steps > 0 {
        show_predictions(rows, courses, signals, steps, first.size);
    }
    if matches!(ended, Ended::Interrupted(..)) {
        show_given(courses, steps, first.size);
    }
    count(counters, steps * components);
    Some(ended)
}

/// Makes a macro-step of all components, whose inputs it prepares.
fn prepared_step(state: &mut SystemState, step: &Step) -> Option<Ended> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        counters,
        ..
    } = state;
    let components = units.members.len();
    let (mut held, rows) = hold(units, courses, &signals.reals)?;
    let now = graph.clock.duration(step.from);
    inputs::prepare_all(courses, signals, step.size, now);
    let (_, after) = rows.last_and_next();
    if let Err(interruption) = held.step_with(&courses.values, after, (step.time, step.size)) {
        return Some(Ended::Interrupted(interruption, *step));
    }
    signals.reals.copy_from_slice(after);
    count(counters, components);
    Some(Ended::Well)
}

/// The components of a lane, if they can make steps now, and its rows, which begin with these outputs.
#[inline(always)]
fn hold<'a>(
    units: &'a mut Units,
    courses: &mut Courses,
    outputs: &[f64],
) -> Option<(Held<'a>, &'a mut Rows)> {
    if matches!(units.together, Together::Unknown) {
        units.together = together(units, courses);
    }
    let Together::Lane(lane, rows) = &mut units.together else {
        return None;
    };
    let members = units.members.iter_mut();
    let held = lane.hold(members.filter_map(|member| member.slot.for_lane()))?;
    rows.begin(outputs);
    Some((held, rows))
}

/// Counts so many steps of units, with their values.
#[inline(always)]
fn count(counters: &mut Counters, steps: usize) {
    let steps = steps as u64;
    counters.set_calls += steps;
    counters.unit_steps += steps;
    counters.get_calls += steps;
}

/// Gives inputs and outputs the values that they have after so many macro-steps in a row.
#[inline]
fn show_copies(rows: &Rows, courses: &mut Courses, signals: &mut Signals, steps: usize) {
    let before = rows.after(steps - 1);
    for (value, source) in courses.values.iter_mut().zip(&*courses.sources) {
        *value = before[*source as usize];
    }
    signals.reals.copy_from_slice(rows.after(steps));
}

/// As [`show_copies`] after macro-steps of this `length`, s, with inputs that are no copies.
fn show_predictions(
    rows: &Rows,
    courses: &mut Courses,
    signals: &mut Signals,
    steps: usize,
    length: f64,
) {
    show_given(courses, steps - 1, length);
    signals.reals.copy_from_slice(rows.after(steps));
}

/// Gives inputs the values that they have in the macro-step after so many.
fn show_given(courses: &mut Courses, steps: usize, length: f64) {
    let given = courses.in_a_row.used(steps);
    let inputs = courses.values.iter_mut().zip(&mut courses.inputs);
    for ((value, input), given) in inputs.zip(given) {
        *value = *given;
        input.was_given(*given, length);
    }
}

/// Gives inputs and outputs the values that they have after so many of the macro-steps of this `length`, s, in a row, or after one
/// more, which was completed by itself.
pub(crate) fn show(state: &mut SystemState, steps: usize, length: f64) {
    let SystemState {
        units,
        courses,
        signals,
        ..
    } = state;
    if let Together::Lane(_, rows) = &units.together {
        match units.uniform {
            true => show_copies(rows, courses, signals, steps),
            false => show_predictions(rows, courses, signals, steps, length),
        }
    }
}

/// A lane of all components, if they are FMUs in this process.
#[cold]
fn together(units: &Units, courses: &mut Courses) -> Together {
    let (mut first_input, mut first_output) = (0, 0);
    let follow_each_other = units.members.iter().all(|member| {
        let begins = (member.inputs.start, member.outputs.start) == (first_input, first_output);
        (first_input, first_output) = (member.inputs.end, member.outputs.end);
        begins && member.slot.instance().is_some()
    });
    if !follow_each_other {
        return Together::Never;
    }
    let members = units.members.iter();
    let members = members.filter_map(|member| {
        let ports = Ports {
            inputs: &member.input_handles,
            sources: &courses.sources[member.inputs.clone()],
            outputs: &member.output_handles,
        };
        Some((member.slot.instance()?, ports))
    });
    let Some(lane) = Lane::new(members) else {
        return Together::Never;
    };
    courses.in_a_row = InputsInARow::new(first_input, first_output);
    Together::Lane(Box::new(lane), Rows::new(first_output))
}

/// Makes the rest of the last macro-step, and publishes its outputs. Its courses and outputs are as if all phases had been
/// made one after the other.
///
/// # Errors
/// The first fault of a unit, or an output that is NaN or infinite.
pub(crate) fn complete(state: &mut SystemState, ended: Ended) -> Result<(), Fault> {
    match ended {
        Ended::Well => Ok(()),
        Ended::NotFinite(step) => {
            if let Together::Lane(_, rows) = &state.units.together {
                let steps = rows.steps() + 1;
                show(state, steps, step.size);
            }
            outputs::check_finite(&state.graph, &state.signals, &step)
        }
        Ended::Interrupted(interruption, step) => conclude(state, &interruption, &step),
    }
}

/// Gives an interrupted call its effect, and makes the calls after it through the units.
#[cold]
fn conclude(
    state: &mut SystemState,
    interruption: &Interruption,
    step: &Step,
) -> Result<(), Fault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        counters,
        ..
    } = state;
    let Units {
        members,
        together,
        terminated,
        uniform,
        ..
    } = units;
    let Together::Lane(_, rows) = together else {
        return Ok(());
    };
    let (_, after) = rows.last_and_next();
    if *uniform {
        for (value, source) in courses.values.iter_mut().zip(&*courses.sources) {
            *value = signals.reals[*source as usize];
        }
    }
    let count = members.len() as u64;
    counters.set_calls += count;
    counters.unit_steps += count;
    let mut call = |function: Function, component: usize, member: &mut Member| {
        let is_it = function == interruption.function && component == interruption.instance;
        let interrupted = (is_it && !interruption.is_repeated).then_some(interruption);
        let values = &courses.values[member.inputs.clone()];
        let outputs = &mut after[member.outputs.clone()];
        let slot = &mut member.slot;
        match (function, interrupted) {
            (Function::SetReal, None) => slot.set_reals(&member.input_handles, values),
            (Function::SetReal, Some(own)) => slot.conclude_set(own, &member.input_handles, values),
            (Function::DoStep, own) => {
                let outcome = match own {
                    None => member.step(step.time, step.size),
                    Some(own) => slot.conclude_step(own, step.time, step.size),
                }?;
                member.outcome = outcome;
                steps::record(terminated, outcome);
                Ok(())
            }
            (_, None) => slot.get_reals(&member.output_handles, outputs),
            (_, Some(own)) => slot.conclude_get(own),
        }
    };
    let functions = [Function::SetReal, Function::DoStep, Function::GetReal];
    let mut first = interruption.instance;
    for function in functions
        .into_iter()
        .skip_while(|it| *it != interruption.function)
    {
        for (component, member) in members.iter_mut().enumerate().skip(first) {
            if let Err(cause) = call(function, component, member) {
                return Err(graph.fault(component, step, cause));
            }
        }
        first = 0;
    }
    counters.get_calls += count;
    signals.reals.copy_from_slice(after);
    Ok(())
}
