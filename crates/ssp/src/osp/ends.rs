//! Ends of connections: variables of simulators and signals of functions, and which way values go
//! between two of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gyrator_fmu::{Limits, ModelDescription};
use gyrator_system::{Component, Connection, Port, Problem, Spanned, did_you_mean};

use super::functions::Function;
use super::groups::{Group, Groups};
use crate::models::{Models, kind_of, unit_of};
use crate::structure::ConnectorKind;
use crate::tree::{Element, Reader};

/// Everything that a connection can name.
pub(super) struct Ends<'a> {
    simulators: BTreeMap<&'a str, PathBuf>,
    functions: BTreeMap<&'a str, &'a Function>,
    groups: &'a Groups,
    models: Models,
}

/// An end of a connection.
#[derive(Clone)]
pub(super) struct End {
    pub(super) port: Spanned<Port>,
    /// Whether values come from it, if that is known.
    is_output: Option<bool>,
    /// Whether it is an effort: efforts have mass in their unit (N, N·m, Pa, V), flows have none
    /// (m/s, rad/s, m³/s, A).
    pub(super) is_effort: Option<bool>,
}

impl<'a> Ends<'a> {
    pub(super) fn new(
        simulators: &'a [Component],
        functions: &'a [Function],
        groups: &'a Groups,
        limits: Limits,
    ) -> Self {
        let of_simulator = |s: &'a Component| (s.name.value.as_str(), s.fmu.value.clone());
        let of_function = |f: &'a Function| (f.name.value.as_str(), f);
        Self {
            simulators: simulators.iter().map(of_simulator).collect(),
            functions: functions.iter().map(of_function).collect(),
            groups,
            models: Models::new(limits),
        }
    }

    /// The simulator that an element names.
    fn simulator(&self, element: Element<'_>, reader: &mut Reader<'_>) -> Option<Spanned<String>> {
        let simulator = element.required("simulator", reader)?;
        if self.simulators.contains_key(&*simulator.value) {
            return Some(simulator);
        }
        let message = format!("unknown simulator `{}`", simulator.value);
        let names = self.simulators.keys().copied();
        report(message, names, &simulator, reader);
        None
    }

    /// A `Variable`: `simulator` and `name`.
    pub(super) fn variable(
        &mut self,
        element: Element<'_>,
        reader: &mut Reader<'_>,
    ) -> Option<End> {
        element.expect(&["simulator", "name", "causality"], &[], reader);
        let simulator = self.simulator(element, reader)?;
        let name = element.required("name", reader)?;
        Some(self.end(&simulator.value, &name))
    }

    /// A variable of a simulator. Whether it exists is seen when its FMU is loaded.
    pub(super) fn end(&mut self, simulator: &str, name: &Spanned<String>) -> End {
        let path = self.simulators.get(simulator);
        let model = path.and_then(|path| self.models.of(path));
        let find = |model: &ModelDescription| {
            let variable = model.variables.iter().find(|v| v.name == name.value)?;
            let base = unit_of(model, variable).and_then(|unit| unit.base);
            Some((kind_of(variable), base))
        };
        let found = model.as_deref().and_then(find);
        End {
            port: Spanned::new(Port::new(simulator, &*name.value), name.span.clone()),
            is_output: found
                .as_ref()
                .map(|(kind, _)| *kind == ConnectorKind::Outward),
            is_effort: found
                .and_then(|(_, base)| base)
                .map(|base| base.exponents[0] != 0),
        }
    }

    /// The function that an element names.
    fn function(
        &self,
        element: Element<'_>,
        reader: &mut Reader<'_>,
    ) -> Option<(&'a Function, Spanned<String>)> {
        element.expect(&["function", "name"], &[], reader);
        let function = element.required("function", reader)?;
        let name = element.required("name", reader)?;
        if let Some(known) = self.functions.get(&*function.value) {
            return Some((known, name));
        }
        let message = format!("unknown function `{}`", function.value);
        let names = self.functions.keys().copied();
        report(message, names, &function, reader);
        None
    }

    /// A `Signal`: `function` and `name`.
    pub(super) fn signal(&self, element: Element<'_>, reader: &mut Reader<'_>) -> Option<End> {
        let (function, name) = self.function(element, reader)?;
        let found = function.signal(&name.value);
        if found.is_none() {
            unknown_signal(function, &name, reader);
        }
        let (port, is_output) = found?;
        Some(of_function(port, is_output, &name))
    }

    /// A `SignalGroup`: `function` and `name`.
    pub(super) fn signals(
        &self,
        element: Element<'_>,
        reader: &mut Reader<'_>,
    ) -> Option<Vec<End>> {
        let (function, name) = self.function(element, reader)?;
        let found = function.group(&name.value);
        if found.is_none() {
            unknown_signal(function, &name, reader);
        }
        let (ports, is_output) = found?;
        let end = |port| of_function(port, is_output, &name);
        Some(ports.into_iter().map(end).collect())
    }

    /// A `VariableGroup`: `simulator` and `name`.
    pub(super) fn group(
        &mut self,
        element: Element<'_>,
        reader: &mut Reader<'_>,
    ) -> Option<(String, &'a Group)> {
        element.expect(&["simulator", "name", "causality"], &[], reader);
        let simulator = self.simulator(element, reader)?.value;
        let name = element.required("name", reader)?;
        let found = self.groups.named(&simulator, &name.value);
        if let [group] = found[..] {
            return Some((simulator, group));
        }
        if !found.is_empty() {
            let message = format!(
                "`{simulator}` has {} groups of variables `{}`, in groups of other names; connect one of these",
                found.len(),
                name.value
            );
            reader.error("ambiguous-name", message, &name.span);
            return None;
        }
        let names = self.groups.names(&simulator);
        let message = if names.is_empty() {
            let path = self.simulators.get(simulator.as_str());
            let refusal = path.and_then(|path| self.models.refusal(path));
            let reason = refusal.unwrap_or("there is no OspModelDescription.xml for its FMU");
            format!("`{simulator}` has no groups of variables: {reason}")
        } else {
            format!("`{simulator}` has no group of variables `{}`", name.value)
        };
        report(message, names, &name, reader);
        None
    }
}

fn of_function(port: Port, is_output: bool, name: &Spanned<String>) -> End {
    End {
        port: Spanned::new(port, name.span.clone()),
        is_output: Some(is_output),
        is_effort: None,
    }
}

fn unknown_signal(function: &Function, name: &Spanned<String>, reader: &mut Reader<'_>) {
    let message = format!(
        "the function `{}` has no signal `{}`; it has {}",
        function.name.value,
        name.value,
        function.signals()
    );
    reader.error("unknown-signal", message, &name.span);
}

/// Reports a name that is none of `known`.
fn report<'n>(
    message: String,
    known: impl IntoIterator<Item = &'n str>,
    name: &Spanned<String>,
    reader: &mut Reader<'_>,
) {
    let help = did_you_mean(&name.value, known);
    let problem = Problem::error("unknown-name", message).at(&name.span);
    reader.problems.push(problem.advised(help));
}

/// The connection between two ends, from the output to the input; as written if causalities are
/// not known.
pub(super) fn connection(a: End, b: End, reader: &mut Reader<'_>) -> Option<Connection> {
    let (from, to) = match (a.is_output, b.is_output) {
        (Some(true), Some(true)) | (Some(false), Some(false)) => {
            let message = format!(
                "`{}` and `{}` are both {}",
                a.port.value,
                b.port.value,
                if a.is_output == Some(true) {
                    "outputs"
                } else {
                    "inputs"
                }
            );
            reader.error("same-causality", message, &b.port.span);
            return None;
        }
        (Some(false), _) | (_, Some(true)) => (b, a),
        _ => (a, b),
    };
    let mut connection = Connection::new(from.port.value.clone(), to.port.value.clone());
    connection.from = from.port;
    connection.to = to.port;
    Some(connection)
}
