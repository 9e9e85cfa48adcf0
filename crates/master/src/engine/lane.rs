//! Macro-steps of FMUs that are called together, in a [lane](gyrator_fmu::Lane).

use gyrator_fmu::{Function, Interruption, Lane, Ports};

use super::{outputs, steps};
use crate::fault::Fault;
use crate::rows::Rows;
use crate::state::{Courses, Member, Signals, SystemState, Together, Units};
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

/// Makes a macro-step of all components in a lane, without a look at the outputs; `false` where there is none, or not now.
pub(super) fn step_in_lane(state: &mut SystemState, step: &Step) -> Result<bool, Fault> {
    let mut first = Some(*step);
    let Some(ended) = steps_in_a_row(state, false, |_| first.take()) else {
        return Ok(false);
    };
    complete(state, ended)?;
    Ok(true)
}

/// Makes the macro-steps that `next` gives from the rows of those made before. Their outputs are in the rows of the lane;
/// those of the last one are published. Ends where an output is not finite, if it `checks`. `None` where no call was made.
#[inline(always)]
pub(crate) fn steps_in_a_row(
    state: &mut SystemState,
    checks: bool,
    mut next: impl FnMut(&Rows) -> Option<Step>,
) -> Option<Ended> {
    let SystemState {
        units,
        courses,
        signals,
        counters,
        ..
    } = state;
    if matches!(units.together, Together::Unknown) {
        units.together = together(units, courses);
    }
    let Together::Lane(lane, rows) = &mut units.together else {
        return None;
    };
    let count = units.members.len();
    let members = units.members.iter_mut();
    let mut held = lane.hold(members.filter_map(|member| member.slot.for_lane()))?;
    rows.begin(&signals.reals);
    let most = rows.most_steps();
    let mut ended = Ended::Well;
    while rows.steps() < most
        && let Some(step) = next(rows)
    {
        let (before, after) = rows.last_and_next();
        let times = (step.time, step.size);
        if let Err(interruption) = held.step(before, after, times) {
            ended = Ended::Interrupted(interruption, step);
            break;
        }
        if checks && !outputs::all_finite(after) {
            ended = Ended::NotFinite(step);
            break;
        }
        rows.add();
    }
    let steps = rows.steps();
    if steps > 0 {
        show_row(rows, courses, signals, steps);
    }
    let calls = (rows.steps() * count) as u64;
    counters.set_calls += calls;
    counters.unit_steps += calls;
    counters.get_calls += calls;
    Some(ended)
}

/// Gives inputs and outputs the values that they have after so many macro-steps in a row.
#[inline]
fn show_row(rows: &Rows, courses: &mut Courses, signals: &mut Signals, steps: usize) {
    let before = rows.after(steps - 1);
    for (value, source) in courses.values.iter_mut().zip(&*courses.sources) {
        *value = before[*source as usize];
    }
    signals.reals.copy_from_slice(rows.after(steps));
}

/// Gives inputs and outputs the values that they have after so many of the macro-steps in a row, or after one more, which was
/// completed by itself.
pub(crate) fn show(state: &mut SystemState, steps: usize) {
    if let Together::Lane(_, rows) = &state.units.together {
        show_row(rows, &mut state.courses, &mut state.signals, steps);
    }
}

/// A lane of all components, if they are FMUs in this process.
#[cold]
fn together(units: &Units, courses: &Courses) -> Together {
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
    match Lane::new(members) {
        Some(lane) => Together::Lane(Box::new(lane), Rows::new(first_output)),
        None => Together::Never,
    }
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
                show_row(rows, &mut state.courses, &mut state.signals, steps);
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
        ..
    } = units;
    let Together::Lane(_, rows) = together else {
        return Ok(());
    };
    let (_, after) = rows.last_and_next();
    for (value, source) in courses.values.iter_mut().zip(&*courses.sources) {
        *value = signals.reals[*source as usize];
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
