//! The step plan of a system that is not started.

use gyrator_system::Problem;

use super::System;
use super::resolved::{Resolved, resolved};
use crate::graph::Graph;
use crate::method::Method;
use crate::plan::{Draft, Extras, PlanText, StepPlan, possible, verify};
use crate::registry::Chosen;
use crate::start_error::StartError;

/// The plan that a method writes for a system, with the rules that it breaks as problems.
pub(super) fn draft(
    method: &Chosen<dyn Method>,
    graph: &Graph,
    problems: &mut Vec<Problem>,
) -> StepPlan {
    let mut draft = Draft::new(graph);
    method.build().plan(&mut draft);
    let name = method.name();
    let refusals = draft.refusals();
    if !refusals.is_empty() {
        problems.extend(refusals.into_iter().map(|reason| {
            let text = format!("method `{name}` cannot couple this system: {reason}");
            Problem::error("method", text)
        }));
        return StepPlan::default();
    }
    let plan = draft.done();
    problems.extend(verify(&plan, graph, None).into_iter().map(|broken| {
        let text = format!("the plan of method `{name}` breaks the rule {broken}");
        Problem::error("method", text)
    }));
    plan
}

/// The step plan of a system as far as it is known without its units: before the exchange of each output with direct
/// feed-through is chosen. [`run::plan`](crate::run::plan) has the final one.
///
/// # Errors
/// All problems of the description.
pub fn drafted_plan(system: &System) -> Result<PlanText, StartError> {
    let mut problems = system.warnings.clone();
    let resolved = resolved(system, &mut problems);
    let Some(Resolved {
        graph,
        method,
        mut plan,
        control,
        ..
    }) = resolved
    else {
        return Err(StartError::Invalid(system.file.problems(problems)));
    };
    let extras = Extras {
        has_feed_forward: system.feed_forward.is_some(),
        has_scenario: system.scenario.is_some(),
    };
    plan.operations = possible(&plan.operations, &graph, extras);
    Ok(PlanText::new(
        (method.name(), control.name()),
        &plan,
        &graph,
        None,
    ))
}
