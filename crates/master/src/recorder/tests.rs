//! No two columns of a run have one name, whatever its components and their variables are called.

use std::collections::BTreeSet;

use super::Selection;
use super::columns::Columns;
use crate::graph::Graph;
use crate::random::SplitMix64;
use crate::system::{System, resolved_graph};
use crate::unit::ClosureUnit;

const COMPONENTS: &[&str] = &[
    "error",
    "bond",
    "a",
    "a.b",
    "time",
    "variable",
    "error.a",
    "variable.error",
    "step_size",
    "error.error",
];
const VARIABLES: &[&str] = &[
    "time",
    "y",
    "a.y",
    "b.y",
    "error.y",
    "error.a.y",
    "b.residual_power",
    "b.net_energy_error",
    "error.time",
    "error.error.y",
    "variable.y",
    "step_size",
    "variable.error.a.y",
    "bond.b.residual_power",
    "x [m]",
];

/// A system with these components and outputs, and a bond `b`.
fn graph(components: &[(&str, Vec<&str>)]) -> Option<Graph> {
    let mut system = System::new(0.1);
    for (component, outputs) in components {
        let outputs: Vec<(&str, f64)> = outputs.iter().map(|name| (*name, 0.0)).collect();
        system.add(component, ClosureUnit::new(&[], &outputs, |_| {}));
    }
    for name in ["one", "two"] {
        let unit = ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], |_| {});
        system.add(name, unit);
    }
    let _ = system.bond("b", ("one.y", "two.u"), ("two.y", "one.u"));
    system.stop_time(1.0);
    resolved_graph(&system).ok()
}

fn columns(graph: &Graph, single: Option<&str>, variables: &[&str]) -> Columns {
    let selection = Selection {
        single: single.map(str::to_owned),
        variables: variables.iter().map(|name| (*name).to_owned()).collect(),
        ..Selection::default()
    };
    Columns::of(&selection, graph, &["step_size"]).unwrap()
}

/// All names of a file with error bars, which has each once.
fn names(columns: &Columns) -> Vec<String> {
    let own = std::iter::once("time".to_owned());
    let names = own.chain(columns.list.iter().map(|column| column.name.clone()));
    let names: Vec<String> = names.collect();
    let bars = names.iter().map(|name| format!("error.{name}"));
    let all: Vec<String> = names.iter().cloned().chain(bars).collect();
    let distinct: BTreeSet<&String> = all.iter().collect();
    assert_eq!(distinct.len(), all.len(), "{names:?}");
    names
}

#[test]
fn no_two_columns_have_one_name() {
    let mut random = SplitMix64::new(42);
    let mut made = 0;
    for _ in 0..400 {
        let mut some = |of: &[&'static str], count: usize| -> Vec<&'static str> {
            let mut pick = || of[random.next_bits() as usize % of.len()];
            let picked: BTreeSet<&str> = (0..count).map(|_| pick()).collect();
            picked.into_iter().collect()
        };
        let components: Vec<(&str, Vec<&str>)> = some(COMPONENTS, 4)
            .into_iter()
            .map(|name| (name, some(VARIABLES, 5)))
            .collect();
        let Some(graph) = graph(&components) else {
            continue;
        };
        made += 1;
        let singles = components.iter().map(|(name, _)| Some(*name));
        for single in singles.chain([None]) {
            let all = names(&columns(&graph, single, &[]));
            for own in ["bond.b.residual_power", "step_size"] {
                assert!(all.iter().any(|name| name == own), "{all:?}");
            }
            let outputs: usize = components.iter().map(|(_, outputs)| outputs.len()).sum();
            assert!(all.len() > outputs + 4, "{all:?}");
            // The names are the same if inputs are also recorded, or a part.
            let more = names(&columns(&graph, single, &["*"]));
            assert!(
                all.iter().all(|name| more.contains(name)),
                "{all:?} {more:?}"
            );
            let last = all.last().unwrap().as_str();
            let part = names(&columns(&graph, single, &[last]));
            assert!(part.contains(&all[all.len() - 1]), "{part:?}");
        }
    }
    assert!(made > 200, "{made}");
}

#[test]
fn variables_give_way_to_columns_of_gyrator() {
    let graph = graph(&[
        ("a", vec!["y"]),
        ("error", vec!["a.y", "z"]),
        ("bond", vec!["b.residual_power", "c.y"]),
    ]);
    let columns = columns(&graph.unwrap(), None, &[]);
    let renamed = ["variable.bond.b.residual_power", "variable.error.a.y"];
    assert_eq!(columns.renamed, renamed);
    let names = names(&columns);
    for kept in ["a.y", "error.z", "bond.c.y", "bond.b.residual_power"] {
        assert!(names.iter().any(|name| name == kept), "{names:?}");
    }
}

#[test]
fn an_only_component_called_like_its_variable() {
    let graph = graph(&[("Tdup", vec!["time", "Tdup.time", "y"])]);
    let columns = columns(&graph.unwrap(), Some("Tdup"), &["*time", "y"]);
    assert_eq!(
        names(&columns),
        ["time", "variable.Tdup.time", "Tdup.time", "y"]
    );
    assert_eq!(columns.renamed, ["variable.Tdup.time"]);
}
