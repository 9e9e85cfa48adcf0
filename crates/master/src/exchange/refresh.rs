//! The passes of the exchange between steps. An operation of the plan for each; they step nothing but for trials, which are taken back.

use super::algebraic_loop::{prepare_loops, solve_loop};
use super::choice::declares_safe;
use super::modes::mode_of;
use super::plan::ExchangePasses;
use super::{Gains, exchange_passes};
use crate::exchange_mode::Exchange;
use crate::fault::{Fault, RunError, UnitFault};
use crate::graph::Graph;
use crate::state::{Pass, PassRecord, PassTrial, Passes, SystemState};
use crate::step::Step;
use crate::unit::Handle;

/// Prepares the passes for the modes in force. `gains` holds D where it is known, by component.
/// Stale outputs at bonds get a pass, too, if the effect of new inputs can be found out: it changes nothing and
/// gives the ledger their errors. Units are at the point of `step`, and get no step beyond `until`, s.
/// Returns the algebraic loops that are not solved.
pub(crate) fn prepare_passes(
    state: &mut SystemState,
    gains: &[Option<Gains>],
    step: &Step,
    until: f64,
) -> Result<Vec<UnsolvedLoop>, RunError> {
    let graph = &state.graph;
    let modes = &state.exchange.modes;
    let treated = |component: usize| modes[component].facts().follows_inputs;
    let is_smooth = |component: usize| gains[component].as_ref().is_none_or(Gains::are_smooth);
    let may_read_again = |component: usize| declares_safe(&graph.components[component]);
    let by_unit = |component: usize| {
        let description = &graph.components[component].description;
        let is_denied = state.units.members[component].denied.directional;
        description.capabilities.directional_derivatives && !is_denied
    };
    let may_go_back = |component: usize| {
        let capabilities = graph.components[component].description.capabilities;
        let is_reviewed = modes[component] == Exchange::COMPENSATED && !by_unit(component);
        is_reviewed && capabilities.save_and_restore && capabilities.variable_step
    };
    let bonded = bonded_outputs(graph);
    let audited = |output: usize| {
        let component = graph.outputs[output].component;
        bonded[output]
            && modes[component] == Exchange::STALE
            && gains[component].is_some()
            && (is_smooth(component) || may_read_again(component))
    };
    let handle = |component: usize, variable: usize| {
        graph.components[component].description.variables[variable].handle
    };
    let inert = |output: usize, input: usize| {
        let component = graph.outputs[output].component;
        let known = gains[component].as_ref();
        let output = handle(component, graph.outputs[output].variable);
        let input = handle(component, graph.inputs[input].variable);
        known.is_some_and(|gains| gains.is_inert(output, input))
    };
    let ExchangePasses {
        passes,
        loops,
        unsolved,
    } = exchange_passes(graph, &treated, &audited, &inert);
    let filtered = unsolved.iter().map(|outputs| UnsolvedLoop {
        outputs: outputs.clone(),
        late: Vec::new(),
    });
    let late = stale_loops(state, &inert);
    let messages = filtered.chain(late).collect();
    let in_loop = |index: usize| loops.iter().position(|range| range.contains(&index));
    let ready = passes.into_iter().enumerate().map(|(index, pass)| {
        let component = pass.component;
        let input = |input: &usize| handle(component, graph.inputs[*input].variable);
        let output = |output: &usize| handle(component, graph.outputs[*output].variable);
        let input_handles: Vec<_> = pass.inputs.iter().map(input).collect();
        let output_handles: Vec<_> = pass.outputs.iter().map(output).collect();
        let is_known = modes[component] != Exchange::STALE || is_smooth(component);
        let probed = gains[component].as_ref().filter(|_| is_known);
        let selected = select_gains(probed, &output_handles, &input_handles);
        // A D of 0 at the start is that of outputs that are computed in steps only.
        let is_tried = may_go_back(component) && selected.iter().any(|gain| *gain != 0.0);
        Pass {
            component,
            mode: modes[component],
            gains: selected,
            is_smooth: is_smooth(component),
            may_read_again: may_read_again(component),
            by_unit: by_unit(component),
            in_loop: in_loop(index),
            record: PassRecord::new(pass.inputs.len(), pass.outputs.len()),
            trial: is_tried.then(|| PassTrial::new((pass.inputs.len(), pass.outputs.len()), until)),
            new_inputs: vec![0.0; pass.inputs.len()],
            changes: vec![0.0; pass.inputs.len()],
            new_outputs: vec![0.0; pass.outputs.len()],
            inputs: pass.inputs,
            outputs: pass.outputs,
            input_handles,
            output_handles,
        }
    });
    state.exchange.passes = ready.collect();
    mark_unknown_errors(state, &unsolved);
    prepare_loops(state, loops, step, until)?;
    Ok(messages)
}

/// Whether each output is at a bond: nothing else asks for the errors of stale outputs.
fn bonded_outputs(graph: &Graph) -> Vec<bool> {
    let mut bonded = vec![false; graph.outputs.len()];
    for axis in graph.bonds.iter().flat_map(|bond| &bond.axes) {
        bonded[axis.effort_output] = true;
        bonded[axis.flow_output] = true;
    }
    bonded
}

/// An algebraic loop that is not solved between steps, as indices of the graph.
pub(crate) struct UnsolvedLoop {
    pub(crate) outputs: Vec<usize>,
    /// The components whose outputs stay stale, so that there is no loop; none where a filter in it has a memory.
    pub(crate) late: Vec<usize>,
}

/// The loops that the choice of the mode `stale` has opened: not the ones that were asked to be so.
fn stale_loops(state: &SystemState, inert: &dyn Fn(usize, usize) -> bool) -> Vec<UnsolvedLoop> {
    let graph = &state.graph;
    let modes = &state.exchange.modes;
    let counts = |component: usize| {
        graph.components[component].exchange != Exchange::STALE
            && modes[component] != Exchange::NO_FEEDTHROUGH
    };
    let loops = super::plan::loops_of(graph, &counts, inert).into_iter();
    let unsolved = loops.map(|outputs| {
        let components = outputs
            .iter()
            .map(|output| graph.outputs[*output].component);
        let mut late: Vec<usize> = components
            .filter(|component| modes[*component] == Exchange::STALE)
            .collect();
        late.sort_unstable();
        late.dedup();
        UnsolvedLoop { outputs, late }
    });
    unsolved
        .filter(|unsolved| !unsolved.late.is_empty())
        .collect()
}

/// Outputs in algebraic loops that are not solved stay stale, and a component that has no others is so altogether.
/// Where nothing treats or audits an output, its error is not known.
fn mark_unknown_errors(state: &mut SystemState, loops: &[Vec<usize>]) {
    let SystemState {
        graph,
        signals,
        exchange: Passes { modes, passes, .. },
        ..
    } = state;
    for (component, node) in graph.components.iter().enumerate() {
        let depends = |output: &usize| !graph.feedthrough(*output, false).is_empty();
        let pass_of = |output: &usize| passes.iter().find(|pass| pass.outputs.contains(output));
        let is_treated = |output: &usize| {
            pass_of(output).is_some_and(|pass| pass.is_smooth || pass.mode != Exchange::STALE)
        };
        let in_loop = |output: usize| loops.iter().flatten().any(|member| *member == output);
        for output in node.outputs.clone() {
            let is_known = is_treated(&output)
                || !depends(&output)
                || !in_loop(output) && modes[component] != Exchange::STALE;
            signals.stale_errors[output] = if is_known { 0.0 } else { f64::NAN };
            let is_estimated = is_known || pass_of(&output).is_some();
            signals.start_changes[output] = if is_estimated { 0.0 } else { f64::NAN };
        }
        let mut dependent = node.outputs.clone().filter(depends).peekable();
        if !loops.is_empty() && dependent.peek().is_some() && dependent.all(in_loop) {
            modes[component] = Exchange::STALE;
        }
    }
}

/// ∂output/∂input as it was measured in Initialization Mode; 0 where it is not known.
pub(super) fn probed_gain(exchange: &Passes, output: usize, input: usize) -> f64 {
    let find = |pass: &Pass| {
        let row = pass.outputs.iter().position(|known| *known == output)?;
        let column = pass.inputs.iter().position(|known| *known == input)?;
        Some(pass.gains[row * pass.inputs.len() + column])
    };
    exchange.passes.iter().find_map(find).unwrap_or(0.0)
}

/// Makes the outputs of a pass agree with the inputs of the coming step, which starts `now`, s since the start, or
/// records their errors where they stay stale.
pub(crate) fn refresh(
    state: &mut SystemState,
    pass: usize,
    step: &Step,
    now: f64,
) -> Result<(), Fault> {
    let component = state.exchange.passes[pass].component;
    if let Some(index) = state.exchange.passes[pass].in_loop {
        let solved = solve_loop(state, index, step, now);
        return solved.map_err(|(component, cause)| state.graph.fault(component, step, cause));
    }
    if !state.units.members[component].is_due(step.index + 1) {
        return Ok(());
    }
    let result = run_pass(state, pass, step, now);
    result.map_err(|cause| state.graph.fault(component, step, cause))
}

fn run_pass(
    state: &mut SystemState,
    index: usize,
    step: &Step,
    now: f64,
) -> Result<(), Box<UnitFault>> {
    let next = step.index + 1;
    let pass = &mut state.exchange.passes[index];
    let reals = &state.signals.reals;
    for (&input, new) in pass.inputs.iter().zip(&mut pass.new_inputs) {
        let course = &mut state.courses.inputs[input];
        let is_new = state.units.members[course.source_component].is_due(next);
        if is_new && course.needs_substeps {
            course.observe(reals, f64::NAN, now);
        }
        *new = if is_new && !course.needs_substeps {
            course.fed(reals)
        } else {
            course.uncorrected(reals, now, 0.0).at(0.0)
        };
    }
    (mode_of(state.exchange.passes[index].mode).act)(state, index, step)
}

/// The rows and columns of `probed` that a pass needs; zeros where nothing was probed.
fn select_gains(probed: Option<&Gains>, outputs: &[Handle], inputs: &[Handle]) -> Vec<f64> {
    let mut selected = vec![0.0; outputs.len() * inputs.len()];
    let Some(probed) = probed else {
        return selected;
    };
    for (row, output) in outputs.iter().enumerate() {
        for (column, input) in inputs.iter().enumerate() {
            let from = probed.outputs.iter().position(|known| known == output);
            let to = probed.inputs.iter().position(|known| known == input);
            if let (Some(from), Some(to)) = (from, to) {
                selected[row * inputs.len() + column] =
                    probed.values[from * probed.inputs.len() + to];
            }
        }
    }
    selected
}
