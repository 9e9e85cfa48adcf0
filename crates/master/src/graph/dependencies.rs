//! The unconnected inputs that an output of a system follows at the same instant.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, SignalSource};
use crate::unit::{Causality, VariableType};

/// Component and variable, as indices.
type Place = (usize, usize);

/// Where an output of a system gets its value from at the same instant: through its component and through connections
/// to outputs of others, as far as there is direct feed-through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sources {
    /// Inputs that no connection feeds: component and variable, in the order of the graph.
    pub inputs: BTreeSet<(usize, usize)>,
    /// Components on the way, its own among them.
    pub components: BTreeSet<usize>,
}

/// The sources of all outputs, by component and variable: at the start, or between steps.
///
/// Direct feed-through is known of real variables. Others are taken to follow, and to be followed by, all that their
/// component has.
pub fn sources(graph: &Graph, at_start: bool) -> BTreeMap<(usize, usize), Sources> {
    let feeders = feeders(graph);
    let mut found = BTreeMap::new();
    for (component, node) in graph.components.iter().enumerate() {
        for variable in node.description.with_causality(Causality::Output) {
            let mut sources = Sources::default();
            let mut seen = BTreeSet::new();
            let mut open = vec![(component, variable)];
            while let Some(output) = open.pop() {
                if !seen.insert(output) {
                    continue;
                }
                sources.components.insert(output.0);
                for input in inputs_before(graph, output, at_start) {
                    match feeders.get(&input) {
                        Some(feeder) => open.push(*feeder),
                        None => {
                            sources.inputs.insert(input);
                        }
                    }
                }
            }
            found.insert((component, variable), sources);
        }
    }
    found
}

/// The output that feeds each connected input.
fn feeders(graph: &Graph) -> BTreeMap<Place, Place> {
    let real = |output: usize| {
        let source = &graph.outputs[output];
        (source.component, source.variable)
    };
    let mut feeders = BTreeMap::new();
    for (component, node) in graph.components.iter().enumerate() {
        for input in &graph.inputs[node.inputs.clone()] {
            feeders.insert((component, input.variable), real(input.source));
        }
    }
    for wire in &graph.signal_wires {
        let source = match wire.source {
            SignalSource::Real(output) => real(output),
            SignalSource::Discrete(signal) => {
                let source = &graph.signals[signal];
                (source.component, source.variable)
            }
        };
        feeders.insert((wire.component, wire.variable), source);
    }
    feeders
}

/// The inputs of its component that an output follows.
fn inputs_before(graph: &Graph, (component, output): Place, at_start: bool) -> Vec<Place> {
    let description = &graph.components[component].description;
    let is_real = |variable: usize| description.variables[variable].kind == VariableType::Real;
    let feedthrough = match at_start {
        true => &description.initial_feedthrough,
        false => &description.feedthrough,
    };
    let listed = feedthrough.get(&output);
    let follows = |input: &usize| {
        let is_listed = listed.is_some_and(|inputs| inputs.contains(input));
        is_listed || !is_real(output) || !is_real(*input)
    };
    let inputs = description.with_causality(Causality::Input);
    let followed = inputs.filter(follows);
    followed.map(|input| (component, input)).collect()
}

#[cfg(test)]
mod tests {
    use super::sources;
    use crate::system::resolved_graph;
    use crate::{LinearUnit, System};

    /// y = 2·u, and z = the integral of u.
    fn unit() -> LinearUnit {
        let matrices: [&[f64]; 4] = [&[0.0], &[1.0], &[0.0, 1.0], &[2.0, 0.0]];
        LinearUnit::new(&[0.0], &["u"], &["y", "z"], matrices)
    }

    #[test]
    fn outputs_follow_unconnected_inputs_through_direct_feedthrough() {
        let mut system = System::new(0.1);
        for name in ["a", "b", "c"] {
            system.add(name, unit());
        }
        system.connect("a.y", "b.u");
        system.connect("b.z", "c.u");
        let graph = resolved_graph(&system).unwrap();
        let index = |name: &str| graph.components[0].description.index(name).unwrap();
        let (u, y, z) = (index("u"), index("y"), index("z"));
        for at_start in [false, true] {
            let sources = sources(&graph, at_start);
            let inputs = |place| sources[&place].inputs.iter().copied().collect::<Vec<_>>();
            assert_eq!(inputs((0, y)), [(0, u)]);
            assert_eq!(inputs((0, z)), []);
            assert_eq!(inputs((1, y)), [(0, u)]);
            assert_eq!(inputs((2, y)), []);
            let components = &sources[&(2, y)].components;
            assert_eq!(components.iter().copied().collect::<Vec<_>>(), [1, 2]);
        }
    }

    #[test]
    fn a_loop_of_feedthrough_ends() {
        let mut system = System::new(0.1);
        system.add("a", unit());
        system.add("b", unit());
        system.connect("a.y", "b.u");
        system.connect("b.y", "a.u");
        let sources = sources(&resolved_graph(&system).unwrap(), false);
        assert!(sources.values().all(|sources| sources.inputs.is_empty()));
    }
}
