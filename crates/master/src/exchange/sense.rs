//! Bonds whose sense is likely the wrong sign, by the answers of their ends.
//!
//! The two powers of a bond cannot tell: both are products of the same two signals, and `sense` turns both. The
//! answer of one end can. A passive end resists: the effort that it gives falls when the flow that it
//! is given grows (damping), or the position that belongs to that flow (stiffness), and the flow that it gives
//! grows with the effort on it. All of this is a sign of ∂output/∂input, times the sense: at once, where there is
//! direct feed-through, or else after a short step.

use super::Gains;
use super::derivative::by_unit;
use super::step_response::{Response, step_response};
use super::two_steps::Before;
use crate::graph::{Axis, Bond, Graph};
use crate::short;
use crate::state::SystemState;
use crate::step::Step;

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

/// Warnings about the senses of bonds, and the bonds that nothing is known about.
pub(crate) struct Senses {
    pub(crate) warnings: Vec<String>,
    /// Power bonds without an answer.
    pub(crate) open: Vec<usize>,
}

/// The answers of a bond's ends.
#[derive(Default)]
struct Judgement {
    has_right: bool,
    /// The first answer with the sign of an active end, and its derivative.
    wrong: Option<(Answer, f64)>,
}

impl Judgement {
    fn add(&mut self, answer: Answer, derivative: f64, weight: f64) {
        match weight * derivative * answer.passive_sign {
            power if power > 0.0 => self.has_right = true,
            power if power < 0.0 => self.wrong = self.wrong.take().or(Some((answer, derivative))),
            _ => {}
        }
    }

    /// The answer that shows a wrong sense, where no other one shows a right one.
    fn verdict(self) -> Option<(Answer, f64)> {
        self.wrong.filter(|_| !self.has_right)
    }
}

/// Judges the senses by direct feed-through. The units are in Initialization Mode; `gains` holds D where it
/// was measured, by component.
pub(crate) fn likely_wrong_senses(state: &mut SystemState, gains: &[Option<Gains>]) -> Senses {
    let graph = std::sync::Arc::clone(&state.graph);
    let mut senses = Senses {
        warnings: Vec::new(),
        open: Vec::new(),
    };
    for (index, bond) in graph.bonds.iter().enumerate() {
        if !bond.is_power {
            continue;
        }
        let mut found = Judgement::default();
        for axis in &bond.axes {
            for answer in answers(&graph, bond, axis) {
                let gain = gain(state, gains, &answer).unwrap_or(0.0);
                found.add(answer, gain, axis.weight);
            }
        }
        if found.wrong.is_none() && !found.has_right {
            senses.open.push(index);
        }
        senses
            .warnings
            .extend(found.verdict().map(|(answer, gain)| {
                let property = answer.property;
                note(
                    &graph,
                    bond,
                    &answer,
                    gain,
                    &format!("is a negative {property} of"),
                )
            }));
    }
    senses
}

/// Power bonds whose senses direct feed-through leaves open, with the ends before their first two steps.
pub(crate) struct OpenSenses {
    bonds: Vec<usize>,
    ends: Vec<(usize, Before)>,
}

impl OpenSenses {
    pub(crate) fn new(bonds: Vec<usize>) -> Self {
        let ends = Vec::new();
        Self { bonds, ends }
    }

    /// Saves the ends that make two steps until `stop`, s, before the first step of a run.
    pub(crate) fn save(&mut self, state: &mut SystemState, step: &Step, stop: Option<f64>) {
        let graph = std::sync::Arc::clone(&state.graph);
        let bonds = self.bonds.iter().map(|bond| &graph.bonds[*bond]);
        let mut ends: Vec<usize> = bonds
            .flat_map(|bond| [bond.effort_side, bond.flow_side])
            .collect();
        ends.sort_unstable();
        ends.dedup();
        let is_over = |before: &Before| stop.is_some_and(|stop| before.end() > stop);
        let saved = ends.into_iter();
        let saved = saved.filter_map(|end| {
            let before = Before::of(state, end, step).filter(|before| !is_over(before))?;
            Some((end, before))
        });
        self.ends = saved.collect();
    }

    /// Judges the senses by the first two steps, which the ends make again with one input a little more and a little less:
    /// warnings, and the components that failed, which may only be freed. `faulty` is one that did so before, and whether it may
    /// still restore a state, as after `fmi2Error` (FMI 2.0.4, table of 4.2.4).
    pub(crate) fn find(
        &self,
        state: &mut SystemState,
        faulty: Option<(&str, bool)>,
    ) -> (Vec<String>, Vec<usize>) {
        let graph = std::sync::Arc::clone(&state.graph);
        let mut trials = Trials {
            open: self,
            warnings: Vec::new(),
            failed: Vec::new(),
        };
        let mut afterwards = Vec::new();
        for (end, _) in &self.ends {
            if let Some((name, goes_back)) = faulty
                && name == graph.components[*end].name
            {
                if !goes_back {
                    trials.failed.push(*end);
                }
                continue;
            }
            // The values of the end stay readable.
            match state.units.members[*end].slot.unit().save(None) {
                Ok(saved) => afterwards.push((*end, saved)),
                Err(_) => trials.failed.push(*end),
            }
        }
        for index in &self.bonds {
            trials.judge(state, &graph.bonds[*index]);
        }
        let Trials {
            warnings,
            mut failed,
            ..
        } = trials;
        for (end, saved) in &afterwards {
            let unit = state.units.members[*end].slot.unit();
            if !failed.contains(end) && unit.restore(saved).is_err() {
                failed.push(*end);
            }
        }
        (warnings, failed)
    }
}

struct Trials<'a> {
    open: &'a OpenSenses,
    warnings: Vec<String>,
    failed: Vec<usize>,
}

impl Trials<'_> {
    fn judge(&mut self, state: &mut SystemState, bond: &Bond) {
        let graph = std::sync::Arc::clone(&state.graph);
        let mut found = Judgement::default();
        for axis in &bond.axes {
            let has_position = position_input(&graph, bond, axis).is_some();
            for answer in velocity_answers(axis) {
                // Of a flow that a position goes with, the input is a part only.
                if has_position && answer.output == axis.effort_output {
                    continue;
                }
                match self.response(state, &answer) {
                    Response::Derivative(response) => found.add(answer, response, axis.weight),
                    Response::Forgets => {
                        self.warnings.push(forgets(&graph, answer.output));
                    }
                    Response::None => {}
                }
            }
        }
        self.warnings
            .extend(found.verdict().map(|(answer, response)| {
                let words = "after a step has the sign of an active component, which is";
                note(&graph, bond, &answer, response, words)
            }));
    }

    fn response(&mut self, state: &mut SystemState, answer: &Answer) -> Response {
        let component = state.graph.outputs[answer.output].component;
        let mut ends = self.open.ends.iter();
        let end = ends.find(|(end, _)| *end == component && !self.failed.contains(end));
        let Some((_, before)) = end else {
            return Response::None;
        };
        let response = step_response(state, answer.output, answer.input, before);
        response.unwrap_or_else(|_| {
            self.failed.push(component);
            Response::None
        })
    }
}

fn velocity_answers(axis: &Axis) -> [Answer; 2] {
    [
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
    ]
}

fn answers(graph: &Graph, bond: &Bond, axis: &Axis) -> Vec<Answer> {
    let mut answers = Vec::from(velocity_answers(axis));
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
            let declared = is_told.then(|| by_unit(state, component, answer.output, answer.input));
            declared?.ok()?
        }
    };
    let least = ROUNDING * state.signals.reals[answer.output].abs();
    (gain.abs() > least).then_some(gain)
}

fn note(graph: &Graph, bond: &Bond, answer: &Answer, derivative: f64, words: &str) -> String {
    let output = graph.output_name(answer.output);
    let component = graph.outputs[answer.output].component;
    let input = graph.variable_name(component, graph.inputs[answer.input].variable);
    format!(
        "bond {}: its sense is likely the wrong sign: ∂{output}/∂{input} = {} {words} {}; \
         change the sign of `sense`, unless the component is active",
        bond.name,
        short(derivative),
        graph.components[component].name
    )
}

fn forgets(graph: &Graph, output: usize) -> String {
    format!(
        "{}: two steps from one saved state differ; it does not go back as it claims, and repeated steps of it cannot be trusted",
        graph.components[graph.outputs[output].component].name
    )
}

#[cfg(test)]
mod tests {
    use crate::unit::{PhysicalUnit, Unit, UnitDescription, UnitWrapper, Variable};
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

    /// A unit of which more is described.
    struct Described(LinearUnit, UnitDescription);

    impl Described {
        fn new(unit: LinearUnit, describe: impl FnOnce(&mut [Variable])) -> Self {
            let known = unit.description();
            let mut variables = known.variables.clone();
            describe(&mut variables);
            let (feedthrough, abilities) = (known.feedthrough.clone(), known.capabilities);
            let description = UnitDescription::new(variables, feedthrough, abilities);
            Self(unit, description)
        }
    }

    impl UnitWrapper for Described {
        fn inner(&self) -> &dyn Unit {
            &self.0
        }

        fn inner_mut(&mut self) -> &mut dyn Unit {
            &mut self.0
        }

        fn description(&self) -> &UnitDescription {
            &self.1
        }
    }

    /// End a is a spring, f = k·x, that is fed with `factor` times the position of end b, which `describe` describes: its variables
    /// are the force, the position, the velocity and another position.
    fn of_spring(k: f64, factor: f64, others: bool, describe: fn(&mut [Variable])) -> Vec<String> {
        let mut system = System::new(0.01);
        let spring = LinearUnit::new(
            &[],
            &["v", "x", "y"],
            &["f"],
            [&[], &[], &[], &[0.0, k, 0.0]],
        );
        let body = LinearUnit::new(
            &[0.5, 1.0],
            &["f"],
            &["x", "v", "y"],
            [
                &[0.0, 1.0, 0.0, 0.0],
                &[0.0, 1.0],
                &[1.0, 0.0, 0.0, 1.0, 1.0, 0.0],
                &[0.0; 3],
            ],
        );
        system.add("a", spring);
        system.add("b", Described::new(body, describe));
        let _ = system.bond("shaft", ("a.f", "b.f"), ("b.v", "a.v"));
        system.connect("b.x", "a.x").gain(factor);
        if others {
            system.connect("b.y", "a.y");
        }
        let run = system.start(&RunOptions::default()).unwrap();
        run.report().warnings
    }

    fn measured_in(variable: &mut Variable, metres: i32, seconds: i32) {
        variable.unit = Some(PhysicalUnit {
            name: format!("m{metres}.s{seconds}"),
            exponents: Some([0, metres, seconds, 0, 0, 0, 0, 0]),
            factor: 1.0,
            offset: 0.0,
            relative: false,
        });
    }

    /// The position that belongs to the flow is known by the description, or by its unit where no other input has it.
    #[test]
    fn a_spring_that_pushes_the_wrong_way_is_noted() {
        let declared = |variables: &mut [Variable]| variables[2].derivative_of = Some(1);
        let by_units = |variables: &mut [Variable]| {
            measured_in(&mut variables[1], 1, 0);
            measured_in(&mut variables[2], 1, -1);
        };
        let of_two = |variables: &mut [Variable]| {
            measured_in(&mut variables[1], 1, 0);
            measured_in(&mut variables[2], 1, -1);
            measured_in(&mut variables[3], 1, 0);
        };
        let unknown = |_: &mut [Variable]| ();
        for factor in [1.0, -2.0] {
            let active = 3.0 * f64::signum(factor);
            for describe in [declared, by_units] {
                let found = of_spring(active, factor, true, describe);
                assert_eq!(found.len(), 1);
                for part in ["∂a.f/∂a.x", "negative stiffness of a"] {
                    assert!(found[0].contains(part), "{found:?}");
                }
                assert_eq!(of_spring(-active, factor, true, describe), [""; 0]);
            }
            assert_eq!(of_spring(active, factor, false, of_two).len(), 1);
            assert_eq!(of_spring(active, factor, true, of_two), [""; 0]);
            assert_eq!(of_spring(active, factor, true, unknown), [""; 0]);
        }
    }

    /// Warnings of a run to this time, s, of a unit that gives the force on a mass, in a bond of the wrong sense.
    fn warnings_of_a_mass_with(unit: LinearUnit, stop: f64) -> Vec<String> {
        let mut system = System::new(0.01);
        system.stop_time(stop);
        let mass = LinearUnit::new(&[1.0], &["f"], &["v"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
        system.add("a", unit);
        system.add("b", mass);
        let _ = system
            .bond("shaft", ("a.f", "b.f"), ("b.v", "a.v"))
            .sense(-1.0);
        let mut run = system.start(&RunOptions::default()).unwrap();
        crate::run::check_senses(&mut run);
        run.run().unwrap().warnings
    }

    /// No trial repeats what direct feed-through has said.
    #[test]
    fn a_wrong_sense_is_noted_once() {
        let damper = LinearUnit::new(&[0.0], &["v"], &["f"], [&[0.0], &[0.0], &[0.0], &[-2.0]]);
        let warnings = warnings_of_a_mass_with(damper, 0.03);
        let doubts = warnings.iter().filter(|text| text.contains("sense"));
        assert_eq!(doubts.count(), 1, "{warnings:?}");
    }

    /// One active end beside a passive one, such as a controller, is no sign of a mistake.
    #[test]
    fn ends_that_differ_raise_no_doubt() {
        for sense in [1.0, -1.0] {
            assert_eq!(notes(2.0, -2.0, sense, "stale"), [""; 0]);
        }
    }

    /// A run of one step has no two to try, and one that is not finite has.
    #[test]
    fn what_cannot_be_tried_raises_no_doubt() {
        for (stop, doubts) in [(0.02, 1), (0.03, 1), (0.01, 0)] {
            // Without direct feed-through, as the mass.
            let spring = LinearUnit::new(&[0.0], &["v"], &["f"], [&[0.0], &[1.0], &[-3.0], &[0.0]]);
            let warnings = warnings_of_a_mass_with(spring, stop);
            assert_eq!(warnings.len(), doubts, "{warnings:?}");
            let tells = |text: &String| text.contains("∂a.f/∂a.v = -0.03");
            assert!(warnings.iter().all(tells), "{warnings:?}");
        }
    }
}
