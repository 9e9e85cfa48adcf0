//! The verdict on a run that has made its steps once, from the ledger, the audit and the defects.
//!
//! Half the residual energy of a bond over the range of the energy that went over it is the relative
//! error of an amplitude, as energy goes with its square. Of a connection without a bond half the defect
//! counts: an input that is held is late by half a step. Both are coarse: a single run does not show how
//! its errors grow or cancel. A coupling diverges where its residual energy is a main part of what went
//! over the bond and has grown with it, or where signals without a bond grow and move as far in one step
//! as they do at all.

use super::Run;
use crate::exchange_mode::Exchange;
use crate::graph::Bond;
use crate::state::SystemState;
use crate::verdict::Verdict;

/// A relative error of an amplitude of half of this is dominating by any measure, J of residual over J of
/// the range. A choice.
const MAIN_PART: f64 = 0.5;
/// Growth of the range of the transferred energy since less than half of the steps, and of the residual
/// energy: choices between a system that is doubled and one that explodes.
const ENERGY_GROWTH: f64 = 4.0;
const RESIDUAL_GROWTH: f64 = 8.0;
/// Steps before growth is one: of the first ones anything may be a multiple. A choice.
const FEWEST_STEPS: u64 = 64;
/// Growth of the range of a signal, and the number of rough steps since, that show it to explode. Choices: a
/// late event makes a signal grow in one step.
const SIGNAL_GROWTH: f64 = 1e3;
const ROUGH_STEPS: u64 = 16;
/// A defect of this share of its signal's range, root mean square, is visible whatever the energies say: the
/// signal is hardly resolved. A choice.
const UNRESOLVED: f64 = 0.2;

/// Verdict on the bond with this index.
pub(super) fn of_bond(run: &Run, index: usize) -> Verdict {
    let bond = &run.state.graph.bonds[index];
    let inputs = || {
        let axes = bond.axes.iter();
        axes.flat_map(|axis| [axis.effort_input, axis.flow_input])
    };
    let connections = inputs().map(|input| of_connection(run, input));
    let worst = connections.max().unwrap_or(Verdict::Small);
    if worst == Verdict::Diverging || !sees_course(&run.state, bond) {
        return worst;
    }
    let by_energy = of_energies(run, index);
    let is_unresolved = inputs().any(|input| {
        let defect = run.defects.connection(input);
        defect.is_some_and(|defect| defect.relative() > UNRESOLVED)
    });
    match is_unresolved {
        true => by_energy.max(Verdict::Visible),
        false => by_energy,
    }
}

/// Whether the ledger sees the courses of the bond: not where inputs carry means, nor within an interface
/// model.
pub(super) fn sees_course(state: &SystemState, bond: &Bond) -> bool {
    let carries_mean = |input: usize| state.courses.inputs[input].takes_mean;
    let mut axes = bond.axes.iter();
    let means = axes.any(|axis| carries_mean(axis.effort_input) || carries_mean(axis.flow_input));
    let models = &state.graph.interface_models;
    let sides = [bond.effort_side, bond.flow_side];
    let is_reduced = models
        .iter()
        .any(|model| model.fast.iter().any(|c| sides.contains(c)));
    !means && !is_reduced
}

fn of_energies(run: &Run, index: usize) -> Verdict {
    let Some((now, earlier)) = run.ledger.growth(index) else {
        return Verdict::CannotTell;
    };
    let error = run.ledger.integration_error(index).unwrap_or(f64::NAN);
    let residual = now.residual.abs();
    if !residual.is_finite() || !now.swing.is_finite() {
        return Verdict::Diverging;
    }
    if residual + error == 0.0 {
        return Verdict::Small;
    }
    let has_grown = run.timeline.steps() >= FEWEST_STEPS
        && now.swing > ENERGY_GROWTH * earlier.swing
        && residual > RESIDUAL_GROWTH * earlier.residual.abs();
    if residual - error > MAIN_PART * now.swing && has_grown {
        return Verdict::Diverging;
    }
    let relative = |energy: f64| Verdict::from_relative_error(0.5 * energy / now.swing);
    let (least, middle, most) = (
        relative((residual - error).max(0.0)),
        relative(residual),
        relative(residual + error),
    );
    // A range over all verdicts says nothing.
    match (least, most) {
        (Verdict::Small, Verdict::Dominating) => Verdict::CannotTell,
        _ => middle,
    }
}

/// Verdict on the connection with this index, of an input at no bond.
fn of_connection(run: &Run, input: usize) -> Verdict {
    let (Some(defect), Some((growth, rough_steps))) =
        (run.defects.connection(input), run.defects.growth(input))
    else {
        return Verdict::CannotTell;
    };
    let course = &run.state.courses.inputs[input];
    // Values that change at events only are held on purpose, and a mean is no value to compare with.
    if course.is_discrete() || course.takes_mean {
        return Verdict::Small;
    }
    let has_grown = growth > SIGNAL_GROWTH && rough_steps >= ROUGH_STEPS;
    if has_grown || !defect.rms.is_finite() {
        return match is_in_loop(&run.state, input) {
            true => Verdict::Diverging,
            false => Verdict::Dominating,
        };
    }
    Verdict::from_relative_error(0.5 * defect.relative())
}

/// Whether the component of an input has an effect on the one that feeds it: else no coupling makes the
/// signal grow, but its source.
fn is_in_loop(state: &SystemState, input: usize) -> bool {
    let course = &state.courses.inputs[input];
    let graph = &state.graph;
    let mut reached = vec![false; graph.components.len()];
    let mut open = vec![course.component];
    while let Some(component) = open.pop() {
        if std::mem::replace(&mut reached[component], true) {
            continue;
        }
        let real = state.courses.inputs.iter();
        let real = real.filter(|fed| fed.source_component == component);
        open.extend(real.map(|fed| fed.component));
        let wires = graph.signal_wires.iter();
        let wires = wires.filter(|wire| graph.source_component(wire) == component);
        open.extend(wires.map(|wire| wire.component));
    }
    reached[course.source_component]
}

/// Verdict on the run: the worst of its bonds, and of the connections at none.
pub(super) fn of_run(run: &Run) -> Verdict {
    let graph = &run.state.graph;
    let mut is_free = vec![true; graph.inputs.len()];
    for axis in graph.bonds.iter().flat_map(|bond| &bond.axes) {
        is_free[axis.effort_input] = false;
        is_free[axis.flow_input] = false;
    }
    let free = (0..graph.inputs.len()).filter(|input| is_free[*input]);
    let connections = free.map(|input| of_connection(run, input));
    let bonds = (0..graph.bonds.len()).map(|index| of_bond(run, index));
    bonds.chain(connections).max().unwrap_or(Verdict::Small)
}

/// Advice where the coupling diverges.
pub(super) fn advice(run: &Run) -> String {
    let graph = &run.state.graph;
    let diverges = |index: &usize| of_bond(run, *index) == Verdict::Diverging;
    let bond = (0..graph.bonds.len()).find(diverges);
    let place = match bond {
        Some(index) => format!("the coupling of bond {} diverges", graph.bonds[index].name),
        None => "the coupling diverges".to_owned(),
    };
    let stale = (0..graph.components.len())
        .find(|component| run.state.exchange.modes[*component] == Exchange::Stale);
    let exchange = match stale {
        Some(component) => format!(
            "`exchange = \"auto\"` or `\"compensated\"` of {}",
            graph.components[component].name
        ),
        None if run.method.0 == "jacobi" => "method `gauss-seidel`".to_owned(),
        None => "the extrapolation `linear`".to_owned(),
    };
    let half = 0.5 * graph.macro_step;
    format!("{place}: try {exchange}, or steps of {half} s and less until the verdict changes")
}
