//! Algebraic loops in words: in plans, reports and warnings.

use super::algebraic_loop::names;
use super::refresh::UnsolvedLoop;
use crate::graph::Graph;
use crate::report::{AlgebraicLoopReport, LoopMember};
use crate::short;
use crate::state::{AlgebraicLoop, LoopWay, SystemState};

/// The loops of a run with their solutions so far.
pub(crate) fn loop_reports(state: &SystemState) -> Vec<AlgebraicLoopReport> {
    let graph = &state.graph;
    let report = |of: &AlgebraicLoop| {
        let members = members(state, of).map(|(component, way)| LoopMember {
            component: graph.components[component].name.clone(),
            way: word(way),
        });
        let outputs = of.outputs.iter();
        AlgebraicLoopReport {
            outputs: outputs.map(|output| graph.output_name(*output)).collect(),
            members: members.collect(),
            points: of.record.points,
            unsolved: of.record.unsolved,
            residual: of.record.residual,
            residual_output: graph.output_name(of.outputs[of.record.output]),
            residual_time: of.record.time,
        }
    };
    state.exchange.loops.iter().map(report).collect()
}

/// Warnings of the loops that were not solved at each point.
pub(crate) fn loop_warnings(state: &SystemState) -> Vec<String> {
    let reports = loop_reports(state).into_iter();
    let unsolved = reports.filter(|report| report.unsolved > 0);
    let warning = |report: AlgebraicLoopReport| {
        let AlgebraicLoopReport {
            outputs,
            points,
            unsolved,
            residual,
            residual_output,
            residual_time,
            ..
        } = report;
        format!(
            "the algebraic loop {} is not solved at {unsolved} of {points} communication points: {residual_output} is off by \
             {residual:.1e} of its value at t = {} s; make the macro-step smaller, give start values nearer to \
             a solution, or `exchange = \"stale\"` to one of its components",
            outputs.join(", "),
            short(residual_time)
        )
    };
    unsolved.map(warning).collect()
}

/// The warning of a loop that is left open from the start.
pub(crate) fn unsolved_at_start(graph: &Graph, unsolved: &UnsolvedLoop) -> String {
    let UnsolvedLoop { outputs, late } = unsolved;
    let outputs = names(graph, outputs);
    if late.is_empty() {
        return format!(
            "{outputs} form an algebraic loop that is not solved, as an extrapolation in it has a memory; they are exchanged \
             stale: `extrapolation = \"hold\"` of its inputs solves it"
        );
    }
    let late = late
        .iter()
        .map(|component| graph.components[*component].name.as_str());
    let late = late.collect::<Vec<_>>().join(", ");
    format!(
        "{outputs} form an algebraic loop that is not solved, as the direct feed-through of {late} is not smooth or could not \
         be measured; {late} is exchanged stale, one step late: `exchange = \"compensated\"` or `\"fresh\"` of it solves \
         the loop, `\"stale\"` leaves it open without a warning"
    )
}

/// The act at a loop, for a plan.
pub(crate) fn loop_words(state: &SystemState, index: usize) -> String {
    let Some(of) = state.exchange.loops.get(index) else {
        return String::new();
    };
    let graph = &state.graph;
    let ways = members(state, of).map(|(component, way)| {
        let by_unit = graph.components[component]
            .description
            .capabilities
            .directional_derivatives;
        let derivative = if by_unit {
            "derivatives of the unit"
        } else {
            "measured D"
        };
        let act = match way {
            LoopWay::ReadAgain => format!("reads outputs again, {derivative}"),
            LoopWay::TrialStep => format!("trial steps from a saved state, {derivative}"),
            LoopWay::Linear => format!("D·(u − ũ), {derivative}"),
        };
        format!("{}: {act}", graph.components[component].name)
    });
    let ways = ways.collect::<Vec<_>>().join("; ");
    let outputs = names(graph, &of.outputs);
    let iterates = match of.ways.iter().all(|way| *way == LoopWay::Linear) {
        true => "one iteration of Newton's method",
        false => "Newton's method",
    };
    format!("loop: solves {outputs} by {iterates} ({ways})")
}

fn members<'a>(
    state: &'a SystemState,
    of: &'a AlgebraicLoop,
) -> impl Iterator<Item = (usize, LoopWay)> + 'a {
    let passes = state.exchange.passes[of.passes.clone()].iter();
    passes
        .map(|pass| pass.component)
        .zip(of.ways.iter().copied())
}

fn word(way: LoopWay) -> &'static str {
    match way {
        LoopWay::ReadAgain => "fresh",
        LoopWay::TrialStep => "trial-steps",
        LoopWay::Linear => "linear",
    }
}
