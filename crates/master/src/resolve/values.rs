//! What is odd about the values that units are given.

use std::collections::BTreeMap;

use gyrator_system::{self as file, Problem, Spanned, Value as FileValue};

use super::Wire;
use crate::graph::Component;
use crate::unit::{Kind, Variable};

/// Inputs of a component that are two names of one variable and are both connected: what the one
/// sets, the other would set again (C-53).
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

/// A start value outside of what the unit declares; it is passed on as it is (C-60).
pub(super) fn out_of_range(
    component: &file::Component,
    variable: &Variable,
    value: &Spanned<FileValue>,
) -> Option<Problem> {
    let number = match value.value {
        FileValue::Real(number) => number,
        FileValue::Integer(number) => number as f64,
        _ => return None,
    };
    let (min, max) = variable.range;
    if variable.kind != Kind::Real || !number.is_finite() || (min..=max).contains(&number) {
        return None;
    }
    let message = format!(
        "the start value {number} of `{}.{}` is not between {min} and {max}",
        component.name.value, variable.name
    );
    Some(Problem::warning("start-value-out-of-range", message).at(&value.span))
}
