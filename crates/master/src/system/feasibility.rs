//! Whether the units of a system can do what its experiment asks for.

use gyrator_system::{Component, Problem, Spanned, SystemFile, Value as FileValue};

use crate::graph::Graph;
use crate::time::rounding;
use crate::unit::{Variable, VariableType};

/// Start values outside of what the units declare (C-60).
pub(super) fn check_start_values(file: &SystemFile, graph: &Graph, problems: &mut Vec<Problem>) {
    for component in &file.components {
        let mut nodes = graph.components.iter();
        let Some(node) = nodes.find(|node| node.name == component.name.value) else {
            continue;
        };
        let infeasible = component.start_values.iter().filter_map(|(name, value)| {
            out_of_range(component, node.description.variable(&name.value)?, value)
        });
        problems.extend(infeasible);
    }
}

/// The stop time must be a communication point of every component, unless the components can
/// make a shorter last step (C-33, C-35).
pub(super) fn check_period(file: &SystemFile, graph: &Graph, problems: &mut Vec<Problem>) {
    let Some(stop) = &file.experiment.stop_time else {
        return;
    };
    let duration = stop.value - graph.clock.start();
    if duration.is_nan() || duration < 0.0 || duration.is_infinite() {
        let message = format!(
            "the stop time {} s is not after the start time {} s",
            stop.value,
            graph.clock.start()
        );
        problems.push(
            Problem::error("stop-before-start", message)
                .at(&stop.span)
                .help("set a later stop time"),
        );
        return;
    }
    for component in &graph.components {
        let step = graph.macro_step * f64::from(component.rate.every());
        let steps = duration / step;
        let rounded = 1e-9 * steps.max(1.0) + rounding(stop.value) / step;
        if (steps - steps.round()).abs() <= rounded {
            continue;
        }
        if component.rate.every() == 1 && component.description.capabilities.variable_step {
            continue;
        }
        let start = graph.clock.start();
        // To be copied: what is beyond twelve digits is rounding.
        let time = |steps: f64| {
            let time = start + steps * step;
            format!("{time:.11e}").parse().unwrap_or(time)
        };
        let (before, after) = (time(steps.floor()), time(steps.ceil()));
        problems.push(
            Problem::error(
                "stop-time-between-steps",
                format!(
                    "`{}` steps by {step} s and cannot make a shorter last step to the stop time {} s",
                    component.name, stop.value
                ),
            )
            .at(&stop.span)
            .help(format!("the nearest stop times are {before} s and {after} s")),
        );
        return;
    }
}

/// A start value outside of what the unit declares; it is passed on as it is (C-60).
fn out_of_range(
    component: &Component,
    variable: &Variable,
    value: &Spanned<FileValue>,
) -> Option<Problem> {
    let number = match value.value {
        FileValue::Real(number) => number,
        FileValue::Integer(number) => number as f64,
        _ => return None,
    };
    let (min, max) = variable.range;
    if variable.kind != VariableType::Real || !number.is_finite() || (min..=max).contains(&number) {
        return None;
    }
    let message = format!(
        "the start value {number} of `{}.{}` is not between {min} and {max}",
        component.name.value, variable.name
    );
    Some(Problem::warning("start-value-out-of-range", message).at(&value.span))
}
