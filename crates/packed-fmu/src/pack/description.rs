//! `modelDescription.xml` of a packed FMU (FMI 2.0.5, sections 2.2 and 4.3).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fmu_kit::LOG_CATEGORIES;
use gyrator::graph::Graph;
use gyrator_fmu::{ModelDescription, RealAttributes, TypeAttributes, UnitDefinition, Variability};
use gyrator_ssp::xml::{Xml, number};
use gyrator_system::{Spanned, SystemFile};

use super::exposure::{Dependencies, Enumeration, Variable};
use crate::contents::{BaseType, Role};

/// Names of the base units, in the order of their exponents.
const BASE_UNITS: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];

/// The part of the description about the FMU as a whole.
pub(super) struct About {
    pub(super) identifier: String,
    model_name: String,
    description: String,
    saves_states: bool,
    serializes_states: bool,
    only_once: bool,
    needs_tool: bool,
    tool: String,
    start_time: f64,
    stop_time: Option<f64>,
    tolerance: Option<f64>,
    macro_step: f64,
}

impl About {
    pub(super) fn new(
        system: &SystemFile,
        graph: &Graph,
        models: &BTreeMap<String, Arc<ModelDescription>>,
        model_name: &str,
    ) -> Self {
        let names: Vec<_> = graph.component_names().collect();
        let any = |is: fn(&gyrator_fmu::CoSimulation) -> bool| {
            let mut kinds = models
                .values()
                .filter_map(|model| model.co_simulation.as_ref());
            kinds.any(is)
        };
        let value = |value: &Option<Spanned<f64>>| value.as_ref().map(|value| value.value);
        let tolerance = system.experiment.tolerance.as_ref();
        Self {
            identifier: identifier(model_name),
            model_name: model_name.to_owned(),
            description: format!("Coupled system of {}", names.join(", ")),
            saves_states: graph.saves_states(),
            serializes_states: graph.serializes_states(),
            only_once: any(|kind| kind.can_be_instantiated_only_once_per_process),
            needs_tool: any(|kind| kind.needs_execution_tool),
            tool: generation_tool(models),
            start_time: value(&system.experiment.start_time).unwrap_or_default(),
            stop_time: value(&system.experiment.stop_time),
            tolerance: tolerance.and_then(|tolerance| tolerance.value.relative()),
            macro_step: graph.macro_step(),
        }
    }

    /// The text, with this GUID.
    pub(super) fn document(
        &self,
        variables: &[Variable],
        dependencies: &[Dependencies],
        guid: &str,
    ) -> String {
        let (units, types) = (Units::of(variables), Types::of(variables));
        let mut xml = Xml::new();
        xml.open(
            "fmiModelDescription",
            &[
                ("fmiVersion", "2.0"),
                ("modelName", &self.model_name),
                ("guid", guid),
                ("description", &self.description),
                ("generationTool", &self.tool),
                ("variableNamingConvention", "flat"),
                ("numberOfEventIndicators", "0"),
            ],
        );
        self.co_simulation(&mut xml);
        units.write(&mut xml);
        types.write(&mut xml);
        xml.open("LogCategories", &[]);
        for (name, description) in LOG_CATEGORIES {
            xml.leaf("Category", &[("name", name), ("description", description)]);
        }
        xml.close();
        self.default_experiment(&mut xml);
        annotations(&mut xml);
        model_variables(&mut xml, variables, &units, &types);
        model_structure(&mut xml, variables, dependencies);
        xml.finish()
    }

    fn co_simulation(&self, xml: &mut Xml) {
        let mut attributes = vec![
            ("modelIdentifier", &*self.identifier),
            ("canNotUseMemoryManagementFunctions", "true"),
        ];
        for (name, is_set) in [
            ("canGetAndSetFMUstate", self.saves_states),
            ("canSerializeFMUstate", self.serializes_states),
            ("canBeInstantiatedOnlyOncePerProcess", self.only_once),
            ("needsExecutionTool", self.needs_tool),
        ] {
            if is_set {
                attributes.push((name, "true"));
            }
        }
        xml.leaf("CoSimulation", &attributes);
    }

    fn default_experiment(&self, xml: &mut Xml) {
        let mut attributes = vec![("startTime", number(self.start_time))];
        attributes.extend(self.stop_time.map(|time| ("stopTime", number(time))));
        attributes.extend(
            self.tolerance
                .map(|tolerance| ("tolerance", number(tolerance))),
        );
        attributes.push(("stepSize", number(self.macro_step)));
        leaf(xml, "DefaultExperiment", &attributes);
    }
}

/// The name of this tool, and of those that have to be installed.
fn generation_tool(models: &BTreeMap<String, Arc<ModelDescription>>) -> String {
    let needs_tool = |model: &&Arc<ModelDescription>| {
        let kind = model.co_simulation.as_ref();
        kind.is_some_and(|kind| kind.needs_execution_tool)
    };
    let models = models.values().filter(needs_tool);
    let tools: BTreeSet<&str> = models
        .filter_map(|model| model.generation_tool.as_deref())
        .collect();
    let own = concat!("gyrator ", env!("CARGO_PKG_VERSION"));
    match tools.is_empty() {
        true => own.to_owned(),
        false => {
            let tools: Vec<_> = tools.into_iter().collect();
            format!("{own}, with FMUs of {}", tools.join(", "))
        }
    }
}

/// A C identifier.
fn identifier(name: &str) -> String {
    let letters = name
        .chars()
        .map(|letter| match letter.is_ascii_alphanumeric() {
            true => letter,
            false => '_',
        });
    let text: String = letters.collect();
    match text.chars().next() {
        Some(first) if !first.is_ascii_digit() => text,
        _ => format!("_{text}"),
    }
}

fn leaf(xml: &mut Xml, name: &str, attributes: &[(&str, String)]) {
    xml.leaf(name, &borrowed(attributes));
}

fn borrowed<'a>(attributes: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    attributes
        .iter()
        .map(|(name, value)| (*name, &**value))
        .collect()
}

/// Instances may share one library, as it keeps nothing outside of them.
fn annotations(xml: &mut Xml) {
    xml.open("VendorAnnotations", &[]);
    xml.open("Tool", &[("name", "gyrator")]);
    xml.open("Declarations", &[]);
    xml.leaf("Library", &[("shared", "true")]);
    xml.close();
    xml.close();
    xml.close();
}

/// A definition under a name that no other one has: the own name, or one with the component's.
fn named<'a, T: PartialEq>(
    list: &mut Vec<(String, &'a T)>,
    name: &str,
    owner: &str,
    definition: &'a T,
) {
    for candidate in [name.to_owned(), format!("{name} ({owner})")] {
        match list.iter().find(|(known, _)| *known == candidate) {
            Some((_, known)) if **known == *definition => return,
            Some(_) => {}
            None => {
                list.push((candidate, definition));
                return;
            }
        }
    }
}

/// The name that a definition has got.
fn name_of<'a, T: PartialEq>(list: &'a [(String, &T)], definition: &T) -> Option<&'a str> {
    let found = list.iter().find(|(_, other)| **other == *definition);
    found.map(|(name, _)| name.as_str())
}

/// The units of all variables. Two FMUs may mean different units by one name.
struct Units<'a>(Vec<(String, &'a UnitDefinition)>);

impl<'a> Units<'a> {
    fn of(variables: &'a [Variable]) -> Self {
        let mut list = Vec::new();
        for variable in variables {
            if let Some(unit) = &variable.unit {
                named(&mut list, &unit.name, &variable.owner, unit);
            }
        }
        Self(list)
    }

    fn write(&self, xml: &mut Xml) {
        if self.0.is_empty() {
            return;
        }
        xml.open("UnitDefinitions", &[]);
        for (name, unit) in &self.0 {
            xml.open("Unit", &[("name", name)]);
            if let Some(base) = &unit.base {
                let exponents = BASE_UNITS.iter().zip(base.exponents);
                let exponents = exponents.filter(|(_, exponent)| *exponent != 0);
                let mut attributes: Vec<_> = exponents
                    .map(|(name, exponent)| (*name, exponent.to_string()))
                    .collect();
                if base.factor != 1.0 {
                    attributes.push(("factor", number(base.factor)));
                }
                if base.offset != 0.0 {
                    attributes.push(("offset", number(base.offset)));
                }
                leaf(xml, "BaseUnit", &attributes);
            }
            for display in &unit.display_units {
                let (factor, offset) = (number(display.factor), number(display.offset));
                let name = display.name.as_str();
                xml.leaf(
                    "DisplayUnit",
                    &[("name", name), ("factor", &factor), ("offset", &offset)],
                );
            }
            xml.close();
        }
        xml.close();
    }
}

/// The enumerations of all variables.
struct Types<'a>(Vec<(String, &'a Enumeration)>);

impl<'a> Types<'a> {
    fn of(variables: &'a [Variable]) -> Self {
        let mut list = Vec::new();
        for variable in variables {
            if let Some(enumeration) = &variable.enumeration {
                named(&mut list, &enumeration.name, &variable.owner, enumeration);
            }
        }
        Self(list)
    }

    fn write(&self, xml: &mut Xml) {
        if self.0.is_empty() {
            return;
        }
        xml.open("TypeDefinitions", &[]);
        for (name, enumeration) in &self.0 {
            let mut attributes = vec![("name", name.as_str())];
            attributes.extend(
                enumeration
                    .description
                    .as_deref()
                    .map(|text| ("description", text)),
            );
            xml.open("SimpleType", &attributes);
            xml.open("Enumeration", &[]);
            for item in &enumeration.items {
                let value = item.value.to_string();
                let mut attributes = vec![("name", item.name.as_str()), ("value", &value)];
                attributes.extend(
                    item.description
                        .as_deref()
                        .map(|text| ("description", text)),
                );
                xml.leaf("Item", &attributes);
            }
            xml.close();
            xml.close();
        }
        xml.close();
    }
}

fn model_variables(xml: &mut Xml, variables: &[Variable], units: &Units<'_>, types: &Types<'_>) {
    let index_by_place: BTreeMap<_, _> = variables
        .iter()
        .enumerate()
        .filter_map(|(index, variable)| variable.place.map(|place| (place, index + 1)))
        .collect();
    let mut next = [0_u32; 4];
    xml.open("ModelVariables", &[]);
    for variable in variables {
        let reference = &mut next[variable.row.base_type as usize];
        let causality = match variable.row.role {
            Role::Input => "input",
            Role::Output => "output",
            Role::Parameter | Role::TunableParameter => "parameter",
        };
        let reference_text = reference.to_string();
        *reference += 1;
        let mut attributes = vec![
            ("name", variable.row.name.as_str()),
            ("valueReference", &reference_text),
        ];
        attributes.extend(
            variable
                .description
                .as_deref()
                .map(|text| ("description", text)),
        );
        attributes.push(("causality", causality));
        attributes.push(("variability", variable.variability.name()));
        let initial = match variable.row.role {
            Role::Input => None,
            Role::Output if variable.variability != Variability::Constant => Some("calculated"),
            _ => Some("exact"),
        };
        attributes.extend(initial.map(|initial| ("initial", initial)));
        xml.open("ScalarVariable", &attributes);
        let derivative = derivative(variable).and_then(|place| index_by_place.get(&place));
        typed_element(xml, variable, units, types, derivative.copied());
        xml.close();
    }
    xml.close();
}

/// The variable that one is the derivative of, in the graph.
fn derivative(variable: &Variable) -> Option<(usize, usize)> {
    match &variable.attributes {
        TypeAttributes::Real(RealAttributes { derivative, .. }) => {
            Some((variable.place?.0, (*derivative)?))
        }
        _ => None,
    }
}

/// `<Real …/>` and the like.
fn typed_element(
    xml: &mut Xml,
    variable: &Variable,
    units: &Units<'_>,
    types: &Types<'_>,
    derivative: Option<usize>,
) {
    let mut attributes: Vec<(&str, String)> = Vec::new();
    match &variable.attributes {
        TypeAttributes::Real(real) => {
            attributes.extend(real.quantity.clone().map(|quantity| ("quantity", quantity)));
            let unit = variable
                .unit
                .as_ref()
                .and_then(|unit| name_of(&units.0, unit));
            if let Some(unit) = unit {
                attributes.push(("unit", unit.to_owned()));
                attributes.extend(real.display_unit.clone().map(|unit| ("displayUnit", unit)));
            }
            if real.relative_quantity {
                attributes.push(("relativeQuantity", "true".to_owned()));
            }
            for (name, value) in [
                ("min", real.min),
                ("max", real.max),
                ("nominal", real.nominal),
            ] {
                attributes.extend(value.map(|value| (name, number(value))));
            }
            if real.unbounded {
                attributes.push(("unbounded", "true".to_owned()));
            }
            attributes.extend(derivative.map(|index| ("derivative", index.to_string())));
        }
        TypeAttributes::Integer {
            quantity, min, max, ..
        }
        | TypeAttributes::Enumeration {
            quantity, min, max, ..
        } => {
            let declared = variable.enumeration.as_ref();
            let declared = declared.and_then(|declared| name_of(&types.0, declared));
            attributes.extend(declared.map(|name| ("declaredType", name.to_owned())));
            attributes.extend(quantity.clone().map(|quantity| ("quantity", quantity)));
            for (name, value) in [("min", min), ("max", max)] {
                attributes.extend(value.map(|value| (name, value.to_string())));
            }
        }
        TypeAttributes::Boolean { .. } | TypeAttributes::String { .. } => {}
    }
    let start = variable.row.start.as_ref().or(variable.constant.as_ref());
    let start = start.map(|start| match variable.row.base_type {
        // As XML Schema writes infinite values.
        BaseType::Real => start.parse().map_or_else(|_| start.clone(), number),
        _ => start.clone(),
    });
    attributes.extend(start.map(|start| ("start", start)));
    xml.leaf(variable.attributes.name(), &borrowed(&attributes));
}

fn model_structure(xml: &mut Xml, variables: &[Variable], dependencies: &[Dependencies]) {
    let outputs = || {
        let all = variables.iter().zip(dependencies).enumerate();
        all.filter(|(_, (variable, _))| variable.row.role == Role::Output)
    };
    let unknown = |xml: &mut Xml, index: usize, known: &[usize]| {
        let known: Vec<_> = known.iter().map(|known| (known + 1).to_string()).collect();
        let index = (index + 1).to_string();
        xml.leaf(
            "Unknown",
            &[("index", &index), ("dependencies", &known.join(" "))],
        );
    };
    xml.open("ModelStructure", &[]);
    if outputs().next().is_some() {
        xml.open("Outputs", &[]);
        for (index, (_, dependencies)) in outputs() {
            unknown(xml, index, &dependencies.running);
        }
        xml.close();
    }
    let is_initial = |variable: &Variable| variable.variability != Variability::Constant;
    if outputs().any(|(_, (variable, _))| is_initial(variable)) {
        xml.open("InitialUnknowns", &[]);
        for (index, (_, dependencies)) in
            outputs().filter(|(_, (variable, _))| is_initial(variable))
        {
            unknown(xml, index, &dependencies.at_start);
        }
        xml.close();
    }
    xml.close();
}

#[cfg(test)]
mod tests {
    use super::identifier;

    #[test]
    fn any_name_becomes_a_c_identifier() {
        for (name, expected) in [
            ("System", "System"),
            ("two masses", "two_masses"),
            ("2", "_2"),
            ("", "_"),
            ("ä", "_"),
        ] {
            assert_eq!(identifier(name), expected);
        }
    }
}
