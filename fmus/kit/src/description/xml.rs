//! The elements of `modelDescription.xml` (FMI 2.0.5, sections 2.2 and 4.3).

use std::collections::BTreeMap;

use fmi2_abi::Causality;

use super::{BaseType, LOG_CATEGORIES, ScalarVariable};
use crate::input_curve::MAX_ORDER;
use crate::variable::Enumeration;

/// The constants of a [`Model`](crate::Model) that its description names.
pub(super) struct Head {
    pub(super) model_name: &'static str,
    pub(super) description: &'static str,
    pub(super) interpolates_inputs: bool,
    pub(super) fresh_outputs: bool,
    pub(super) stop_time: f64,
    pub(super) step_size: f64,
}

/// The whole document, with the given GUID.
pub(super) fn document(head: &Head, variables: &[ScalarVariable], guid: &str) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let mut root = Element::new("fmiModelDescription");
    root.text("fmiVersion", "2.0")
        .text("modelName", head.model_name)
        .text("guid", guid)
        .text("description", head.description)
        .text("generationTool", "gyrator fmu-kit")
        .text("variableNamingConvention", "structured")
        .text("numberOfEventIndicators", "0");
    root.child(co_simulation(head));
    root.child_if_any(unit_definitions(variables));
    root.child_if_any(type_definitions(variables));
    root.child(log_categories());
    let mut experiment = Element::new("DefaultExperiment");
    experiment
        .number("startTime", 0.0)
        .number("stopTime", head.stop_time)
        .number("stepSize", head.step_size);
    root.child(experiment);
    root.child(vendor_annotations(head));
    root.child(model_variables(variables));
    root.child(model_structure(variables));
    root.write(&mut xml, 0);
    xml
}

fn co_simulation(head: &Head) -> Element {
    let mut element = Element::new("CoSimulation");
    element.text("modelIdentifier", head.model_name);
    if head.interpolates_inputs {
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

fn unit_definitions(variables: &[ScalarVariable]) -> Element {
    let units = variables.iter().filter_map(|v| v.unit);
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

fn type_definitions(variables: &[ScalarVariable]) -> Element {
    let mut types = BTreeMap::<&str, &Enumeration>::new();
    for variable in variables {
        if let BaseType::Enumeration(items) = variable.base_type {
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
fn vendor_annotations(head: &Head) -> Element {
    let mut tool = Element::new("Tool");
    let mut library = Element::new("Library");
    library.text("shared", "true");
    let mut declarations = Element::new("Declarations");
    if head.fresh_outputs {
        let mut feed_through = Element::new("Feedthrough");
        feed_through
            .text("fresh", "true")
            .text("unless", "cached_outputs");
        declarations.child(feed_through);
    }
    declarations.child(library);
    if head.interpolates_inputs {
        let mut derivatives = Element::new("InputDerivatives");
        derivatives.text("order", &MAX_ORDER.to_string());
        declarations.child(derivatives);
    }
    tool.text("name", "gyrator").child(declarations);
    let mut annotations = Element::new("VendorAnnotations");
    annotations.child(tool);
    annotations
}

fn model_variables(variables: &[ScalarVariable]) -> Element {
    let mut elements = Element::new("ModelVariables");
    for variable in variables {
        let mut scalar = Element::new("ScalarVariable");
        scalar
            .text("name", variable.name)
            .text("valueReference", &variable.reference.to_string())
            .text("description", variable.description)
            .text("causality", variable.causality.name())
            .text("variability", variable.variability.name());
        match variable.causality {
            Causality::Parameter => scalar.text("initial", "exact"),
            Causality::Output | Causality::Local => scalar.text("initial", "calculated"),
            _ => &mut scalar,
        };
        scalar.child(typed_element(variable));
        elements.child(scalar);
    }
    elements
}

/// `<Real …/>` and the like.
fn typed_element(variable: &ScalarVariable) -> Element {
    let name = match variable.base_type {
        BaseType::Real => "Real",
        BaseType::Integer => "Integer",
        BaseType::Boolean => "Boolean",
        BaseType::String => "String",
        BaseType::Enumeration(_) => "Enumeration",
    };
    let mut element = Element::new(name);
    if let BaseType::Enumeration(items) = variable.base_type {
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
    if let Some(start) = &variable.start {
        element.text("start", start);
    }
    element
}

fn model_structure(variables: &[ScalarVariable]) -> Element {
    let mut outputs = Element::new("Outputs");
    let mut initial_unknowns = Element::new("InitialUnknowns");
    for (index, variable) in (1..).zip(variables) {
        if variable.causality == Causality::Output {
            outputs.child(unknown(variables, index, variable.depends_on, &[]));
            let (inputs, parameters) = (variable.depends_on, variable.starts_from);
            initial_unknowns.child(unknown(variables, index, inputs, parameters));
        }
    }
    let mut structure = Element::new("ModelStructure");
    structure.child_if_any(outputs);
    structure.child_if_any(initial_unknowns);
    structure
}

/// `<Unknown …/>` with its dependencies in ascending order; all indices count from 1.
fn unknown(
    variables: &[ScalarVariable],
    index: usize,
    inputs: &[&str],
    parameters: &[&str],
) -> Element {
    let names = inputs.iter().chain(parameters);
    let mut known: Vec<usize> = names
        .filter_map(|name| variables.iter().position(|v| v.name == *name))
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
