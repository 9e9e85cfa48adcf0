//! Simulators: FMUs with steps and start values.

use std::path::PathBuf;

use gyrator_system::{Component, Problem, Spanned, Value};

use crate::tree::{Element, Reader, boolean};

pub(super) fn simulators(
    root: Element<'_>,
    macro_step: Option<&Spanned<f64>>,
    reader: &mut Reader<'_>,
) -> Vec<Component> {
    let list = root.listed("Simulators", "Simulator");
    let mut simulators = Vec::new();
    for simulator in list {
        simulator.expect(&["name", "source", "stepSize"], &["InitialValues"], reader);
        let name = simulator.required("name", reader);
        let source = simulator.required("source", reader);
        let (Some(name), Some(source)) = (name, source) else {
            continue;
        };
        let mut component = Component::new("", PathBuf::new());
        match reader.package.fmu(&source.value) {
            Ok((file, is_proxy)) => {
                component.isolate = is_proxy.then(|| Spanned::new(true, source.span.clone()));
                component.fmu = Spanned::new(file.path, source.span);
            }
            Err(message) => reader.error("invalid-path", message, &source.span),
        }
        let step = simulator.number("stepSize", reader);
        component.step_size = step_size(&name.value, step, macro_step, reader);
        component.name = name;
        for value in simulator.listed("InitialValues", "InitialValue") {
            component.start_values.extend(start_value(value, reader));
        }
        simulators.push(component);
    }
    simulators
}

/// The step that libcosim makes (`fixed_step_algorithm.cpp`): whole base steps, as many as fit into the
/// step that is asked for, and at least one.
fn step_size(
    simulator: &str,
    asked: Option<Spanned<f64>>,
    macro_step: Option<&Spanned<f64>>,
    reader: &mut Reader<'_>,
) -> Option<Spanned<f64>> {
    let (asked, macro_step) = (asked?, macro_step?.value);
    if asked.value == 0.0 {
        return None;
    }
    if !(asked.value > 0.0 && asked.value.is_finite()) {
        let message = format!("`stepSize` must be a positive number, not {}", asked.value);
        reader.error("out-of-range", message, &asked.span);
        return None;
    }
    // A step that misses a whole number of base steps by rounding is one.
    let ratio = asked.value / macro_step * (1.0 + 1e-9);
    let step = ratio.floor().max(1.0) * macro_step;
    if (step - asked.value).abs() > 1e-9 * asked.value.abs() {
        let message = format!(
            "the step of `{simulator}`, {} s, is not a multiple of `BaseStepSize`, {macro_step} s; it steps by {step} s",
            asked.value
        );
        let problem = Problem::warning("step-rounded", message);
        reader.problems.push(problem.at(&asked.span));
    }
    Some(Spanned::new(step, asked.span))
}

fn start_value(
    element: Element<'_>,
    reader: &mut Reader<'_>,
) -> Option<(Spanned<String>, Spanned<Value>)> {
    let types = ["Real", "Integer", "Boolean", "String", "Enumeration"];
    element.expect(&["variable"], &types, reader);
    let variable = element.required("variable", reader)?;
    let Some(typed) = element
        .children()
        .find(|child| types.contains(&child.name()))
    else {
        let message = format!("`{}` has no value", variable.value);
        reader.error("missing-value", message, &element.span());
        return None;
    };
    typed.expect(&["value"], &[], reader);
    let text = typed.required("value", reader)?;
    let trimmed = text.value.trim();
    let value = match typed.name() {
        "Real" => trimmed.parse().ok().map(Value::Real),
        "Integer" | "Enumeration" => trimmed.parse().ok().map(Value::Integer),
        "Boolean" => boolean(trimmed).map(Value::Boolean),
        _ => Some(Value::String(text.value.clone())),
    };
    if value.is_none() {
        let message = format!(
            "`{}` is not a value of the type {}",
            text.value,
            typed.name()
        );
        reader.error("wrong-type", message, &text.span);
    }
    Some((variable, Spanned::new(value?, text.span)))
}
