//! The rules of a plan. Two periods of its rates are followed symbolically: for each unit, input and output the time that
//! it stands for.

mod course;
mod form;
mod rule;
#[cfg(test)]
mod tests;

use super::StepPlan;
use super::effect::Known;
use crate::graph::Graph;
use crate::state::SystemState;
use course::{Course, lcm, small_rates};
use form::check_form;
pub use rule::{Broken, Rule};

/// Finds the breaches of the rules by a plan: of a draft where there is no `state`, else of a final plan. Each once.
pub(crate) fn verify(plan: &StepPlan, graph: &Graph, state: Option<&SystemState>) -> Vec<Broken> {
    let mut broken = Vec::new();
    check_form(&plan.operations, plan, graph, &mut broken);
    if broken.iter().any(|found| found.rule == Rule::P13) {
        return broken;
    }
    let known = state.map_or_else(|| Known::of_graph(graph), Known::of_state);
    let mut course = Course::new(plan, known, broken);
    let every = small_rates(graph);
    let period = every.iter().copied().fold(1, lcm);
    for index in 0..2 * period {
        course.macro_step(index, &every);
    }
    course.broken
}
