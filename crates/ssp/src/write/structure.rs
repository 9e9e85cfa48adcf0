//! The description of the system.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use gyrator_fmu::{ModelDescription, TypeAttributes};
use gyrator_system::{
    Component, Connection, Problem, Problems, Spanned, SystemFile, Value, did_you_mean, toml_file,
};

use super::connectors::{Definitions, write_connectors, write_parameter};
use super::supplement::{self, joins_fmus};
use super::xml::{Xml, can_hold, number};
use super::{Fmus, has_fmu};
use crate::annotations::{NAMESPACE, OSP_NAMESPACE, OSP_TYPE, TYPE};
use crate::change::{Change, Table};

/// The parameter set that holds the start values of a component.
const PARAMETER_SET: &str = "startValues";

/// The text of `SystemStructure.ssd`.
///
/// # Errors
///
/// All names that the FMUs do not have, and texts that XML cannot hold.
pub(super) fn text(system: &SystemFile, fmus: &Fmus, target: &Path) -> Result<String, Problems> {
    let mut writer = Writer {
        system,
        fmus,
        problems: Vec::new(),
        definitions: Definitions::default(),
        connected: BTreeMap::new(),
        xml: Xml::new(),
    };
    writer.connected = writer.connected_variables();
    let name = target.file_stem().unwrap_or_default().to_string_lossy();
    writer.write(&name);
    if writer.problems.is_empty() {
        return Ok(writer.xml.finish());
    }
    Err(Problems {
        source: Arc::clone(&system.source),
        list: writer.problems,
    })
}

struct Writer<'s> {
    system: &'s SystemFile,
    fmus: &'s Fmus,
    problems: Vec<Problem>,
    definitions: Definitions,
    /// Connected variables of each component.
    connected: BTreeMap<&'s str, BTreeSet<&'s str>>,
    xml: Xml,
}

impl<'s> Writer<'s> {
    /// The connections of the system between FMUs, and whether each is of a bond alone. A pair of
    /// a bond that is listed as well is written once.
    fn connections(&self) -> Vec<(&'s Connection, bool)> {
        let system = self.system;
        let mut fed = BTreeSet::new();
        let listed = system.connections.len();
        let all = system.all_connections().enumerate();
        all.map(|(number, connection)| (connection, number >= listed))
            .filter(|(connection, _)| fed.insert(&connection.to.value))
            .filter(|(connection, _)| joins_fmus(system, connection))
            .collect()
    }

    fn connected_variables(&mut self) -> BTreeMap<&'s str, BTreeSet<&'s str>> {
        let mut connected: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        let connections = self.connections();
        for port in connections
            .iter()
            .flat_map(|(pair, _)| [&pair.from, &pair.to])
        {
            let variables = connected.entry(&port.value.component).or_default();
            if !variables.insert(&port.value.variable) {
                continue;
            }
            let component = self.system.component(&port.value.component);
            if let Some(model) = component.and_then(|component| self.fmus.model(component)) {
                let name = Spanned::new(port.value.variable.clone(), port.span.clone());
                self.check_variable(&port.value.component, model, &name);
            }
        }
        connected
    }

    /// Whether a component has a variable; reports if it has not.
    fn check_variable(
        &mut self,
        component: &str,
        model: &ModelDescription,
        name: &Spanned<String>,
    ) -> bool {
        if model.variable(&name.value).is_some() {
            return true;
        }
        let message = format!("`{component}` has no variable `{}`", name.value);
        let problem = Problem::error("unknown-variable", message).at(&name.span);
        let known = model.variables.iter().map(|variable| &*variable.name);
        let help = did_you_mean(&name.value, known);
        self.problems.push(problem.advised(help));
        false
    }

    fn write(&mut self, name: &str) {
        self.xml.open(
            "ssd:SystemStructureDescription",
            &[
                (
                    "xmlns:ssd",
                    "http://ssp-standard.org/SSP1/SystemStructureDescription",
                ),
                (
                    "xmlns:ssc",
                    "http://ssp-standard.org/SSP1/SystemStructureCommon",
                ),
                (
                    "xmlns:ssv",
                    "http://ssp-standard.org/SSP1/SystemStructureParameterValues",
                ),
                ("xmlns:osp", OSP_NAMESPACE),
                ("version", "1.0"),
                ("name", name),
                ("generationTool", "gyrator"),
            ],
        );
        self.xml.open("ssd:System", &[("name", name)]);
        self.xml.open("ssd:Elements", &[]);
        for component in self
            .system
            .components
            .iter()
            .filter(|component| has_fmu(component))
        {
            self.component(component);
        }
        self.xml.close();
        let connections = self.connections();
        if !connections.is_empty() {
            self.xml.open("ssd:Connections", &[]);
            for (connection, is_in_bond) in connections {
                self.connection(connection, is_in_bond);
            }
            self.xml.close();
        }
        self.supplement();
        self.xml.close();
        self.definitions.write(&mut self.xml);
        self.experiment();
        self.xml.close();
    }

    fn component(&mut self, component: &'s Component) {
        let name = &component.name;
        self.check_text(&name.value, &name.span);
        let (Some(model), Some(entry)) = (
            self.fmus.model(component),
            self.fmus.entries.get(&component.fmu.value),
        ) else {
            return;
        };
        self.xml.open(
            "ssd:Component",
            &[
                ("name", &name.value),
                ("type", "application/x-fmu-sharedlibrary"),
                ("source", entry),
            ],
        );
        let none = BTreeSet::new();
        let connected = self.connected.get(&*name.value).unwrap_or(&none);
        write_connectors(model, connected, &mut self.definitions, &mut self.xml);
        self.start_values(component, model);
        if let Some(step) = &component.step_size {
            self.xml.open("ssd:Annotations", &[]);
            self.xml.open("ssc:Annotation", &[("type", OSP_TYPE)]);
            self.xml
                .leaf("osp:StepSizeHint", &[("value", &number(step.value))]);
            self.xml.close();
            self.xml.close();
        }
        self.xml.close();
    }

    fn start_values(&mut self, component: &'s Component, model: &ModelDescription) {
        if component.start_values.is_empty() {
            return;
        }
        for element in ["ParameterBindings", "ParameterBinding", "ParameterValues"] {
            self.xml.open(&format!("ssd:{element}"), &[]);
        }
        let set = [("version", "1.0"), ("name", PARAMETER_SET)];
        self.xml.open("ssv:ParameterSet", &set);
        self.xml.open("ssv:Parameters", &[]);
        for (name, value) in &component.start_values {
            if !self.check_variable(&component.name.value, model, name) {
                continue;
            }
            if let Value::String(text) = &value.value {
                self.check_text(text, &value.span);
            }
            if let Some(variable) = model.variable(&name.value) {
                let definitions = &mut self.definitions;
                write_parameter(model, variable, &value.value, definitions, &mut self.xml);
            }
        }
        for _ in 0..5 {
            self.xml.close();
        }
    }

    /// Reports a text that XML cannot hold.
    fn check_text(&mut self, text: &str, span: &std::ops::Range<usize>) {
        if !can_hold(text) {
            let message = format!("{text:?} has a character that no XML file can hold");
            self.problems
                .push(Problem::error("not-xml", message).at(span));
        }
    }

    fn connection(&mut self, connection: &Connection, is_in_bond: bool) {
        let (from, to) = (&connection.from.value, &connection.to.value);
        let mut attributes = vec![
            ("startElement", &*from.component),
            ("startConnector", &*from.variable),
            ("endElement", &*to.component),
            ("endConnector", &*to.variable),
        ];
        let change = Change::of(connection);
        if !change.converts_units {
            attributes.push(("suppressUnitConversion", "true"));
        }
        // In a bond the gain is a factor of the power: signals are passed on as they are.
        let value = |value: f64, neutral: f64| (value != neutral && !is_in_bond).then_some(value);
        let (gain, offset) = (
            value(change.linear.factor, 1.0),
            value(change.linear.offset, 0.0),
        );
        let mapping = change
            .table
            .and_then(|table| self.mapping(connection, &table));
        if gain.is_none() && offset.is_none() && mapping.is_none() {
            self.xml.leaf("ssd:Connection", &attributes);
            return;
        }
        self.xml.open("ssd:Connection", &attributes);
        if let Some((name, entries)) = mapping {
            self.xml.open(name, &[]);
            for (source, target) in &entries {
                self.xml
                    .leaf("ssc:MapEntry", &[("source", source), ("target", target)]);
            }
            self.xml.close();
        } else {
            let numbers = [("factor", gain), ("offset", offset)];
            let numbers = numbers.map(|(name, value)| (name, value.map(number)));
            let given = numbers.iter();
            let given: Vec<_> = given
                .filter_map(|(name, value)| Some((*name, value.as_deref()?)))
                .collect();
            self.xml.leaf("ssc:LinearTransformation", &given);
        }
        self.xml.close();
    }

    /// A table as the mapping that the standard has for the types of its ends; `None` if it has
    /// none.
    fn mapping(
        &self,
        connection: &Connection,
        values: &Table,
    ) -> Option<(&'static str, Vec<(String, String)>)> {
        let kind = |port: &gyrator_system::Port| {
            let component = self.system.component(&port.component)?;
            let variable = self.fmus.model(component)?.variable(&port.variable)?;
            Some(&variable.kind)
        };
        let kinds = (kind(&connection.from.value)?, kind(&connection.to.value)?);
        let name = match kinds {
            (TypeAttributes::Boolean { .. }, TypeAttributes::Boolean { .. }) => {
                "ssc:BooleanMappingTransformation"
            }
            (TypeAttributes::Integer { .. }, TypeAttributes::Integer { .. }) => {
                "ssc:IntegerMappingTransformation"
            }
            (TypeAttributes::Enumeration { .. }, TypeAttributes::Enumeration { .. }) => {
                "ssc:EnumerationMappingTransformation"
            }
            _ => return None,
        };
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => toml_file::literal(other),
        };
        let entries = values.iter();
        let entries = entries.map(|(from, to)| (from.value.clone(), text(&to.value)));
        Some((name, entries.collect()))
    }

    /// The parts of the system that the standard cannot express.
    fn supplement(&mut self) {
        let Some(text) = supplement::text(self.system) else {
            return;
        };
        self.check_text(&text, &(0..0));
        self.xml.open("ssd:Annotations", &[]);
        self.xml.open("ssc:Annotation", &[("type", TYPE)]);
        self.xml
            .open("gyrator:System", &[("xmlns:gyrator", NAMESPACE)]);
        self.xml.verbatim(&text);
        for _ in 0..3 {
            self.xml.close();
        }
    }

    fn experiment(&mut self) {
        let experiment = &self.system.experiment;
        let times = [
            ("startTime", &experiment.start_time),
            ("stopTime", &experiment.stop_time),
        ];
        let times = times.map(|(name, time)| (name, time.as_ref().map(|time| number(time.value))));
        let given = times.iter();
        let attributes: Vec<_> = given
            .filter_map(|(name, time)| Some((*name, time.as_deref()?)))
            .collect();
        let Some(step) = &experiment.step_size else {
            if !attributes.is_empty() {
                self.xml.leaf("ssd:DefaultExperiment", &attributes);
            }
            return;
        };
        self.xml.open("ssd:DefaultExperiment", &attributes);
        self.xml.open("ssd:Annotations", &[]);
        self.xml.open("ssc:Annotation", &[("type", OSP_TYPE)]);
        self.xml.open("osp:Algorithm", &[]);
        let step = number(step.value);
        self.xml
            .leaf("osp:FixedStepAlgorithm", &[("baseStepSize", &step)]);
        for _ in 0..4 {
            self.xml.close();
        }
    }
}
