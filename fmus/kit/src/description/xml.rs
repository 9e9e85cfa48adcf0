//! The elements of `modelDescription.xml` (FMI 2.0.5, sections 2.2 and 4.3).

use std::collections::BTreeMap;

use super::LOG_CATEGORIES;
use crate::input_curve::MAX_ORDER;
use crate::model::Model;
use crate::table::Table;
use crate::variable::{Causality, Enumeration, Place, Settings, TypedPlace, Variable};

/// The whole document, with the given GUID.
pub(super) fn document<M: Model>(table: &Table<M>, guid: &str) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut root = Element::new("fmiModelDescription");
    root.text("fmiVersion", "2.0")
        .text("modelName", M::NAME)
        .text("guid", guid)
        .text("description", M::DESCRIPTION)
        .text("generationTool", "gyrator fmu-kit")
        .text("variableNamingConvention", "structured")
        .text("numberOfEventIndicators", "0");
    root.child(co_simulation::<M>());
    root.child_if_any(unit_definitions(table));
    root.child_if_any(type_definitions(table));
    root.child(log_categories());
    let mut experiment = Element::new("DefaultExperiment");
    experiment
        .number("startTime", 0.0)
        .number("stopTime", M::STOP_TIME)
        .number("stepSize", M::STEP_SIZE);
    root.child(experiment);
    root.child(vendor_annotations::<M>());
    root.child(model_variables(table));
    root.child(model_structure(table));
    root.write(&mut xml, 0);
    xml
}

fn co_simulation<M: Model>() -> Element {
    let mut element = Element::new("CoSimulation");
    element.text("modelIdentifier", M::NAME);
    if M::INTERPOLATES_INPUTS {
        element.text("canInterpolateInputs", "true");
    }
    for capability in [
        "canHandleVariableCommunicationStepSize",
        "canNotUseMemoryManagementFunctions",
        "canGetAndSetFMUstate",
        "canSerializeFMUstate",
        "providesDirectionalDerivative",
    ] {
        element.text(capability, "true");
    }
    element
}

fn unit_definitions<M>(table: &Table<M>) -> Element {
    let units = table.variables.iter().filter_map(|v| v.unit);
    let units: BTreeMap<_, _> = units.map(|unit| (unit.name, unit.exponents)).collect();
    let mut definitions = Element::new("UnitDefinitions");
    for (name, exponents) in units {
        let mut base = Element::new("BaseUnit");
        for (base_unit, exponent) in exponents {
            base.text(base_unit, &exponent.to_string());
        }
        let mut unit = Element::new("Unit");
        unit.text("name", name).child(base);
        definitions.child(unit);
    }
    definitions
}

fn type_definitions<M>(table: &Table<M>) -> Element {
    let mut types = BTreeMap::<&str, &Enumeration>::new();
    for variable in &table.variables {
        if let TypedPlace::Enumeration(_, items) = variable.kind {
            types.insert(items.name, items);
        }
    }
    let mut definitions = Element::new("TypeDefinitions");
    for (name, enumeration) in types {
        let mut items = Element::new("Enumeration");
        for (value, (item, description)) in (1..).zip(enumeration.items) {
            let mut element = Element::new("Item");
            element
                .text("name", item)
                .text("value", &i32::to_string(&value))
                .text("description", description);
            items.child(element);
        }
        let mut simple_type = Element::new("SimpleType");
        simple_type
            .text("name", name)
            .text("description", enumeration.description)
            .child(items);
        definitions.child(simple_type);
    }
    definitions
}

fn log_categories() -> Element {
    let mut categories = Element::new("LogCategories");
    for (name, description) in LOG_CATEGORIES {
        let mut category = Element::new("Category");
        category.text("name", name).text("description", description);
        categories.child(category);
    }
    categories
}

/// Declares to gyrator that an output read after an input was set follows that input, unless
/// outputs are cached or the model forbids it; that instances may share one library, as it keeps
/// nothing outside of them; and the highest order of input derivatives, for which FMI 2.0 has no
/// attribute.
fn vendor_annotations<M: Model>() -> Element {
    let mut tool = Element::new("Tool");
    let mut library = Element::new("Library");
    library.text("shared", "true");
    let mut declarations = Element::new("Declarations");
    if M::FRESH_OUTPUTS {
        let mut feed_through = Element::new("Feedthrough");
        feed_through
            .text("fresh", "true")
            .text("unless", "cached_outputs");
        declarations.child(feed_through);
    }
    declarations.child(library);
    if M::INTERPOLATES_INPUTS {
        let mut derivatives = Element::new("InputDerivatives");
        derivatives.text("order", &MAX_ORDER.to_string());
        declarations.child(derivatives);
    }
    tool.text("name", "gyrator").child(declarations);
    let mut annotations = Element::new("VendorAnnotations");
    annotations.child(tool);
    annotations
}

fn model_variables<M: Model>(table: &Table<M>) -> Element {
    let mut start = Start {
        model: M::default(),
        settings: Settings::default(),
    };
    let mut variables = Element::new("ModelVariables");
    for (variable, reference) in table.variables.iter().zip(&table.references) {
        let mut scalar = Element::new("ScalarVariable");
        scalar
            .text("name", variable.name)
            .text("valueReference", &reference.to_string())
            .text("description", variable.description)
            .text("causality", variable.causality.name())
            .text("variability", variable.variability.name());
        if variable.is_exact() {
            scalar.text("initial", "exact");
        } else if variable.is_calculated() {
            scalar.text("initial", "calculated");
        }
        scalar.child(typed_element(variable, &mut start));
        variables.child(scalar);
    }
    variables
}

/// Where start values come from.
struct Start<M> {
    model: M,
    settings: Settings,
}

impl<M> Start<M> {
    fn value<T>(&mut self, place: Place<M, T>) -> &T {
        match place {
            Place::Model(access) => access(&mut self.model),
            Place::Settings(access) => access(&mut self.settings),
        }
    }
}

/// `<Real …/>` and the like.
fn typed_element<M>(variable: &Variable<M>, start: &mut Start<M>) -> Element {
    let (name, value) = match variable.kind {
        TypedPlace::Real(place) => ("Real", format!("{:?}", start.value(place))),
        TypedPlace::Integer(place) => ("Integer", start.value(place).to_string()),
        TypedPlace::Boolean(place) => ("Boolean", start.value(place).to_string()),
        TypedPlace::String(place) => ("String", start.value(place).clone()),
        TypedPlace::Enumeration(place, _) => ("Enumeration", start.value(place).to_string()),
    };
    let mut element = Element::new(name);
    if let TypedPlace::Enumeration(_, items) = variable.kind {
        element.text("declaredType", items.name);
    }
    if let Some(unit) = variable.unit {
        element.text("unit", unit.name);
    }
    for (attribute, limit) in [("min", variable.min), ("max", variable.max)] {
        match limit {
            // An Integer's limits are written without a decimal point.
            Some(limit) if name == "Integer" => element.text(attribute, &limit.to_string()),
            Some(limit) => element.number(attribute, limit),
            None => &mut element,
        };
    }
    if !variable.is_calculated() {
        element.text("start", &value);
    }
    element
}

fn model_structure<M: Model>(table: &Table<M>) -> Element {
    let mut outputs = Element::new("Outputs");
    let mut initial_unknowns = Element::new("InitialUnknowns");
    for (index, variable) in (1..).zip(&table.variables) {
        if variable.causality == Causality::Output {
            outputs.child(unknown(table, index, variable.depends_on, &[]));
            let (inputs, parameters) = (variable.depends_on, variable.starts_from);
            initial_unknowns.child(unknown(table, index, inputs, parameters));
        }
    }
    let mut structure = Element::new("ModelStructure");
    structure.child_if_any(outputs);
    structure.child_if_any(initial_unknowns);
    structure
}

/// `<Unknown …/>` with its dependencies in ascending order; all indices count from 1.
fn unknown<M: Model>(
    table: &Table<M>,
    index: usize,
    inputs: &[&str],
    parameters: &[&str],
) -> Element {
    let names = inputs.iter().chain(parameters);
    let mut known: Vec<usize> = names
        .filter_map(|name| table.index_of(name))
        .map(|position| position + 1)
        .collect();
    known.sort_unstable();
    let known: Vec<String> = known.iter().map(usize::to_string).collect();
    let mut element = Element::new("Unknown");
    element
        .text("index", &index.to_string())
        .text("dependencies", &known.join(" "));
    element
}

/// An XML element without text content.
struct Element {
    name: &'static str,
    attributes: String,
    children: Vec<Element>,
}

impl Element {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: String::new(),
            children: Vec::new(),
        }
    }

    fn text(&mut self, attribute: &str, value: &str) -> &mut Self {
        self.attributes
            .push_str(&format!(" {attribute}=\"{}\"", escaped(value)));
        self
    }

    fn number(&mut self, attribute: &str, value: f64) -> &mut Self {
        self.text(attribute, &format!("{value:?}"))
    }

    fn child(&mut self, child: Self) -> &mut Self {
        self.children.push(child);
        self
    }

    fn child_if_any(&mut self, child: Self) {
        if !child.children.is_empty() {
            self.child(child);
        }
    }

    fn write(&self, xml: &mut String, depth: usize) {
        let (indent, name) = ("  ".repeat(depth), self.name);
        xml.push_str(&format!("{indent}<{name}{}", self.attributes));
        if self.children.is_empty() {
            xml.push_str("/>\n");
            return;
        }
        xml.push_str(">\n");
        for child in &self.children {
            child.write(xml, depth + 1);
        }
        xml.push_str(&format!("{indent}</{name}>\n"));
    }
}

fn escaped(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => result.push_str("&amp;"),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '"' => result.push_str("&quot;"),
            '\t' | '\n' | '\r' => result.push_str(&format!("&#{};", character as u32)),
            _ => result.push(character),
        }
    }
    result
}
