//! Inputs that are several names of one variable.

use std::collections::BTreeMap;

use gyrator_system::Problem;

use super::wires::Wire;
use crate::graph::Component;

/// Inputs of a component that are two names of one variable and are both connected: the
/// second would overwrite the first (C-53).
pub(super) fn fed_twice(components: &[Component], wires: &[Wire]) -> Vec<Problem> {
    let mut fed = BTreeMap::new();
    let mut problems = Vec::new();
    for wire in wires {
        let (component, index) = wire.to;
        let Component {
            name, description, ..
        } = &components[component];
        let variable = &description.variables[index];
        let key = (component, variable.kind.carrier(), variable.handle);
        let first = *fed.entry(key).or_insert(index);
        if first != index {
            let other = &description.variables[first].name;
            let message = format!(
                "`{name}.{other}` and `{name}.{}` are two names of one variable",
                variable.name
            );
            problems.push(
                Problem::error("input-fed-twice", message)
                    .at(&wire.span)
                    .help("connect one of them only"),
            );
        }
    }
    problems
}
