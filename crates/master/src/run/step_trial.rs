//! Trials when a run is over: of the last steps of components whose declared direct feed-through shows nowhere, and of the
//! first ones of the ends of bonds whose sense is open.

use super::Run;
use crate::report::StopReason;
use crate::state::StepResponse;
use crate::step::Step;

/// Saves the components before their last but one step.
#[cold]
pub(super) fn save(run: &mut Run, step: &Step) {
    for untried in &mut run.untried {
        let every = run.state.units.members[untried.component()].every;
        if run.timeline.is_last_but_one(step, every) {
            untried.save(&mut run.state, step);
        }
    }
}

/// Makes the trials, with notes and warnings on their findings. Returns the components that have failed in them, which are not called any
/// more; their results are complete.
pub(super) fn conclude(run: &mut Run) -> Vec<usize> {
    let mut failed = try_senses(run);
    let untried = std::mem::take(&mut run.untried);
    if run.stop_reason == StopReason::StopTime {
        try_last_steps(run, untried, &mut failed);
    }
    failed
}

/// Tries the last steps, with a note on the direct feed-through that shows in them.
fn try_last_steps(run: &mut Run, untried: Vec<crate::exchange::Untried>, failed: &mut Vec<usize>) {
    for untried in untried {
        let component = untried.component();
        if failed.contains(&component) {
            continue;
        }
        match untried.find(&mut run.state) {
            Ok(response) => {
                run.notes.extend(note(run, component, &response));
                run.state.exchange.step_responses[component] = response;
            }
            Err(_) => failed.push(component),
        }
    }
    run.audit.resolve(&run.state);
}

/// Tries the first steps of the ends of bonds whose senses are open, with a warning for each that is likely wrong. A run
/// whose user wants it to end makes no more calls.
fn try_senses(run: &mut Run) -> Vec<usize> {
    if run.stop_reason == StopReason::Interrupted {
        return Vec::new();
    }
    let faulty = run.faulty.as_deref().map(|name| (name, run.goes_back));
    let (warnings, failed) = run.open_senses.find(&mut run.state, faulty);
    run.warnings.extend(warnings);
    failed
}

fn note(run: &Run, component: usize, response: &StepResponse) -> Option<String> {
    let graph = &run.state.graph;
    let StepResponse::Tried(pairs) = response else {
        return None;
    };
    let name = |(output, input): &(usize, usize)| {
        let input = graph.variable_name(component, graph.inputs[*input].variable);
        format!("{input} → {}", graph.output_name(*output))
    };
    // An output that follows an input of the same instant is not late.
    let is_late = |pair: &&(usize, usize)| !run.state.courses.inputs[pair.1].is_led;
    let names: Vec<String> = pairs.iter().filter(is_late).map(name).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: the direct feed-through {} shows in steps only, as a trial of the last ones found; the outputs are one step late, \
             as stale ones",
            graph.components[component].name,
            names.join(", ")
        )
    })
}
