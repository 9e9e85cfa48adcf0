//! Inputs that nothing feeds, and start values that connections replace.

use std::collections::BTreeSet;

use gyrator_system::Port;

use crate::exchange::{InitialPass, Stage, initial_stages};
use crate::graph::{Graph, GraphVariable};
use crate::state::{RunningScenario, Target};
use crate::unit::Causality;

/// Inputs and start values that a system likely has by mistake, in the order of components and variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct UnusedInputs {
    /// Inputs without connection, start value and action of the scenario.
    pub unfed: Vec<Port>,
    /// Connected inputs with a start value that has no effect. In an algebraic loop it is the first guess.
    pub replaced: Vec<Port>,
}

impl UnusedInputs {
    pub(crate) fn of(graph: &Graph, scenario: Option<&RunningScenario>) -> Self {
        // Two names may mean one variable of a unit.
        let key = |variable: &GraphVariable<'_>| {
            let described = variable.described;
            (variable.place.0, described.kind.carrier(), described.handle)
        };
        let channels = scenario.map_or(&[][..], |scenario| &scenario.channels);
        let acted_on = channels.iter().filter_map(|channel| match channel.target {
            Target::Free {
                component,
                variable,
                ..
            } => Some((component, variable)),
            _ => None,
        });
        let acted_on: BTreeSet<_> = acted_on.collect();
        let is_fed = |variable: &GraphVariable<'_>| {
            variable.is_fed || variable.start.is_some() || acted_on.contains(&variable.place)
        };
        let fed: BTreeSet<_> = graph.variables().filter(is_fed).map(|v| key(&v)).collect();
        let port =
            |variable: &GraphVariable<'_>| Port::new(variable.component, &*variable.described.name);
        let is_input =
            |variable: &GraphVariable<'_>| variable.described.causality == Causality::Input;
        let inputs: Vec<GraphVariable<'_>> = graph.variables().filter(is_input).collect();
        let unfed = inputs
            .iter()
            .filter(|variable| !fed.contains(&key(variable)));
        let mut replaced: Vec<_> = inputs
            .iter()
            .filter(|variable| {
                let component = &graph.components[variable.place.0];
                variable.is_fed && variable.start.is_some() && component.propagate_initial_inputs
            })
            .collect();
        // The loops of a large system take a moment to find.
        if !replaced.is_empty() {
            let guesses = first_guesses(graph);
            replaced.retain(|variable| !guesses.contains(&variable.place));
        }
        Self {
            unfed: unfed.map(port).collect(),
            replaced: replaced.into_iter().map(port).collect(),
        }
    }
}

/// Components and variables of the inputs in algebraic loops of the start, which begin with their start values.
fn first_guesses(graph: &Graph) -> BTreeSet<(usize, usize)> {
    let inputs = |pass: InitialPass| {
        let component = pass.component;
        let places = pass.inputs.into_iter();
        places.map(move |input| (component, graph.inputs[input].variable))
    };
    let loops = initial_stages(graph)
        .into_iter()
        .filter_map(|stage| match stage {
            Stage::Loop(passes) => Some(passes),
            Stage::Pass(_) => None,
        });
    loops.flatten().flat_map(inputs).collect()
}

#[cfg(test)]
mod tests {
    use gyrator_system::{Choice, Scenario, Value};

    use crate::system::unused_inputs;
    use crate::unit::{ClosureUnit, LinearUnit, Unit};
    use crate::{RunOptions, System};

    fn unit() -> impl Unit {
        ClosureUnit::new(&[("u", 0.0), ("w", 0.0), ("z", 0.0)], &[("y", 0.0)], |_| {})
    }

    /// The unfed inputs and the replaced start values, found without and with a run.
    fn names(system: &System) -> [Vec<String>; 2] {
        let found = unused_inputs(system).unwrap();
        let run = system.start(&RunOptions::default()).unwrap();
        assert_eq!(crate::run::unused_inputs(&run), found);
        [found.unfed, found.replaced].map(|ports| ports.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn connections_start_values_and_scenarios_feed_inputs() {
        let mut system = System::new(0.1);
        system.add_with("b", unit).start("w", 1.0);
        system.add_with("a", unit);
        assert_eq!(names(&system)[0], ["a.u", "a.w", "a.z", "b.u", "b.z"]);
        system.connect("b.y", "a.u");
        let mut scenario = Scenario::new();
        let step = Choice::new("override").with("value", Value::Real(1.0));
        scenario.act(0.0, "b.u", step);
        system.scenario(scenario);
        assert_eq!(names(&system), [vec!["a.w", "a.z", "b.z"], vec![]]);
    }

    #[test]
    fn start_values_of_connected_inputs_have_an_effect_only_where_they_are_kept() {
        let mut system = System::new(0.1);
        system.add_with("a", unit).start("u", 1.0).start("w", 1.0);
        system
            .add_with("b", unit)
            .start("u", 1.0)
            .keep_initial_inputs();
        system.connect("b.y", "a.u");
        system.connect("a.y", "b.u");
        let unfed = vec!["a.z", "b.w", "b.z"];
        assert_eq!(names(&system), [unfed, vec!["a.u"]]);
    }

    /// The inputs of a loop are solved for from their start values on.
    #[test]
    fn first_guesses_of_algebraic_loops_have_an_effect() {
        let half = || LinearUnit::new(&[], &["u"], &["y"], [&[], &[], &[], &[0.5]]);
        let last = || LinearUnit::new(&[], &["u"], &["y"], [&[], &[], &[], &[1.0]]);
        let mut system = System::new(0.1);
        system.add_with("a", half).start("u", 1.0);
        system.add_with("b", half).start("u", 1.0);
        system.add_with("c", last).start("u", 1.0);
        system.connect("b.y", "a.u");
        system.connect("a.y", "b.u");
        system.connect("a.y", "c.u");
        assert_eq!(names(&system), [vec![], vec!["c.u"]]);
    }
}
