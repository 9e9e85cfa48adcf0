//! Bonds whose sense is likely the wrong sign, by the direct feed-through of their ends.
//!
//! The two powers of a bond cannot tell: both are products of the same two signals, and `sense` turns both. The
//! answer of one end can. A passive end resists: the effort that it gives falls when the flow that it
//! is given grows (damping), or the position that belongs to that flow (stiffness), and the flow that it gives
//! grows with the effort on it. All of this is a sign of ∂output/∂input, times the sense.

use super::Gains;
use super::derivative::by_unit;
use crate::graph::{Axis, Bond, Graph};
use crate::state::SystemState;

/// A derivative below this part of the output, per unit of the input, may be the rounding of a probe.
const ROUNDING: f64 = 1e-6;

/// Place of the second among the exponents of a unit.
const SECONDS: usize = 2;

/// An output of an end that answers an input of it.
struct Answer {
    output: usize,
    input: usize,
    /// sense · ∂output/∂input of a passive end, by its sign.
    passive_sign: f64,
    property: &'static str,
}

/// Warnings about bonds of which every answer that is known has the sign of an active end. The units are in
/// Initialization Mode; `gains` holds D where it was measured, by component.
pub(crate) fn likely_wrong_senses(state: &mut SystemState, gains: &[Option<Gains>]) -> Vec<String> {
    let graph = std::sync::Arc::clone(&state.graph);
    let mut notes = Vec::new();
    for bond in graph.bonds.iter().filter(|bond| bond.is_power) {
        let mut wrong = None;
        let mut has_right = false;
        for axis in &bond.axes {
            for answer in answers(state, bond, axis) {
                let gain = gain(state, gains, &answer).unwrap_or(0.0);
                match axis.weight * gain * answer.passive_sign {
                    power if power > 0.0 => has_right = true,
                    power if power < 0.0 => wrong = wrong.or(Some((answer, gain))),
                    _ => {}
                }
            }
        }
        if let Some((answer, gain)) = wrong.filter(|_| !has_right) {
            notes.push(note(state, bond, &answer, gain));
        }
    }
    notes
}

fn answers(state: &SystemState, bond: &Bond, axis: &Axis) -> Vec<Answer> {
    let graph = &state.graph;
    let mut answers = vec![
        Answer {
            output: axis.effort_output,
            input: axis.flow_input,
            passive_sign: -1.0,
            property: "damping",
        },
        Answer {
            output: axis.flow_output,
            input: axis.effort_input,
            passive_sign: 1.0,
            property: "damping",
        },
    ];
    if let Some((input, factor)) = position_input(graph, bond, axis) {
        answers.push(Answer {
            output: axis.effort_output,
            input,
            passive_sign: -factor.signum(),
            property: "stiffness",
        });
    }
    answers
}

/// The input of end a that is fed with the position that belongs to the flow, and the factor of the
/// connection: by the description, or else the only one with the flow's unit times s.
fn position_input(graph: &Graph, bond: &Bond, axis: &Axis) -> Option<(usize, f64)> {
    let flow = &graph.outputs[axis.flow_output];
    let variables = &graph.components[flow.component].description.variables;
    let declared = variables[flow.variable].derivative_of;
    let unit = variables[flow.variable].unit.as_ref();
    let mut wanted = unit.and_then(|unit| unit.exponents);
    if let Some(exponents) = &mut wanted {
        exponents[SECONDS] += 1;
    }
    let exponents = |variable: usize| variables[variable].unit.as_ref()?.exponents;
    let is_position = |variable: usize| match declared {
        Some(position) => variable == position,
        None => wanted.is_some() && exponents(variable) == wanted,
    };
    let inputs = graph.components[bond.effort_side].inputs.clone();
    let mut found = inputs.filter(|input| {
        let source = &graph.outputs[graph.inputs[*input].source];
        source.component == flow.component && is_position(source.variable)
    });
    match (found.next(), found.next()) {
        (Some(input), None) => Some((input, graph.inputs[input].factor)),
        _ => None,
    }
}

/// ∂output/∂input, where it was measured, or the unit says it.
fn gain(state: &mut SystemState, gains: &[Option<Gains>], answer: &Answer) -> Option<f64> {
    let component = state.graph.outputs[answer.output].component;
    let gain = match &gains[component] {
        Some(known) => {
            let member = &state.units.members[component];
            let output = member.output_handles[answer.output - member.outputs.start];
            let input = member.input_handles[answer.input - member.inputs.start];
            known.smooth(output, input)?
        }
        None => {
            let description = &state.graph.components[component].description;
            let variable = state.graph.outputs[answer.output].variable;
            let inputs = description.feedthrough.get(&variable)?;
            let is_told = description.capabilities.directional_derivatives
                && inputs.contains(&state.graph.inputs[answer.input].variable);
            let told = is_told.then(|| by_unit(state, component, answer.output, answer.input));
            told?.ok()?
        }
    };
    let least = ROUNDING * state.signals.reals[answer.output].abs();
    (gain.abs() > least).then_some(gain)
}

fn note(state: &SystemState, bond: &Bond, answer: &Answer, gain: f64) -> String {
    let graph = &state.graph;
    let output = graph.output_name(answer.output);
    let component = graph.outputs[answer.output].component;
    let input = graph.variable_name(component, graph.inputs[answer.input].variable);
    format!(
        "bond {}: its sense is likely the wrong sign: ∂{output}/∂{input} = {gain:.4e} is a negative {} of {}; \
         change the sign of `sense`, unless the component is active",
        bond.name, answer.property, graph.components[component].name
    )
}

#[cfg(test)]
mod tests {
    use crate::{LinearUnit, RunOptions, System};

    /// End a is a damper, f = −d·v; end b a body whose velocity may answer the force at once by g·f.
    fn notes(d: f64, g: f64, sense: f64, exchange: &str) -> Vec<String> {
        let mut system = System::new(0.01);
        system.stop_time(0.02);
        let coupling = LinearUnit::new(&[0.0], &["v2"], &["f"], [&[0.0], &[0.0], &[0.0], &[-d]]);
        let body = LinearUnit::new(&[1.0], &["f"], &["v"], [&[0.0], &[1.0], &[1.0], &[g]]);
        system.add("a", coupling).exchange(exchange);
        system.add("b", body).exchange(exchange);
        let _ = system
            .bond("shaft", ("a.f", "b.f"), ("b.v", "a.v2"))
            .sense(sense);
        let run = system.start(&RunOptions::default()).unwrap();
        let notes = run.report().warnings;
        notes
            .into_iter()
            .filter(|note| note.contains("sense"))
            .collect()
    }

    #[test]
    fn passive_ends_raise_no_doubt() {
        for exchange in ["stale", "compensated", "fresh", "auto"] {
            for (d, g) in [(0.0, 0.0), (2.0, 0.0), (0.0, 2.0), (2.0, 2.0)] {
                assert_eq!(notes(d, g, 1.0, exchange), [""; 0], "{exchange} {d} {g}");
                // The same units with efforts counted the other way, and a bond that says so.
                assert_eq!(notes(-d, -g, -1.0, exchange), [""; 0], "{exchange} {d} {g}");
            }
        }
    }

    #[test]
    fn a_sense_of_the_wrong_sign_is_noted_with_the_answer_that_tells() {
        for exchange in ["stale", "compensated"] {
            let found = notes(2.0, 0.0, -1.0, exchange);
            assert_eq!(found.len(), 1, "{exchange}");
            for part in [
                "bond shaft",
                "∂a.f/∂a.v2 = -2",
                "negative damping of a",
                "`sense`",
            ] {
                assert!(found[0].contains(part), "{found:?}");
            }
            let found = notes(0.0, 2.0, -1.0, exchange);
            assert!(found[0].contains("∂b.v/∂b.f = 2"), "{found:?}");
        }
    }

    /// One active end beside a passive one, such as a controller, is no sign of a mistake.
    #[test]
    fn ends_that_differ_raise_no_doubt() {
        for sense in [1.0, -1.0] {
            assert_eq!(notes(2.0, -2.0, sense, "stale"), [""; 0]);
        }
    }
}
