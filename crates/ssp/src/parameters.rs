//! Parameter sets and mappings (SSP 6 and 7), in files of their own or inline.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use gyrator_system::{Spanned, Value};

use crate::transformation::{self, Transformation};
use crate::tree::{Element, ORIGIN, Reader, boolean};
use crate::unit::{Enumerations, Units, enumerations, units};

/// Named values.
#[derive(Debug)]
pub(crate) struct ParameterSet {
    pub(crate) name: Spanned<String>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) units: Units,
    pub(crate) enumerations: Enumerations,
}

/// One value of a set.
#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Spanned<String>,
    pub(crate) value: Spanned<Value>,
    pub(crate) unit: Option<Spanned<String>>,
    /// Name of the enumeration that the value is an item of.
    pub(crate) enumeration: Option<String>,
}

/// A parameter of a set that is applied under another name.
#[derive(Debug)]
pub(crate) struct MappingEntry {
    pub(crate) source: Spanned<String>,
    pub(crate) target: Spanned<String>,
    pub(crate) transformation: Option<Spanned<Transformation>>,
    pub(crate) keeps_unit: bool,
}

/// A parameter set with what is to be made of it at an element.
#[derive(Debug)]
pub(crate) struct Binding {
    /// Stands before all names of the set.
    pub(crate) prefix: String,
    pub(crate) set: Rc<ParameterSet>,
    pub(crate) mapping: Option<Rc<Vec<MappingEntry>>>,
}

/// Parameter sets and mappings by the file that holds them; `None` if it cannot be read, which
/// was reported.
#[derive(Default)]
pub(crate) struct Known {
    sets: BTreeMap<PathBuf, Option<Rc<ParameterSet>>>,
    mappings: BTreeMap<PathBuf, Option<Rc<Vec<MappingEntry>>>>,
}

/// The element `ParameterBindings` of a component or system.
pub(crate) fn bindings(
    parent: Element<'_>,
    known: &mut Known,
    reader: &mut Reader<'_>,
) -> Vec<Binding> {
    let elements = parent.listed("ParameterBindings", "ParameterBinding");
    let read = elements
        .into_iter()
        .map(|element| binding(element, known, reader))
        .collect::<Vec<_>>();
    read.into_iter().flatten().collect()
}

const SET_TYPE: &str = "application/x-ssp-parameter-set";
const MAPPING_TYPE: &str = "application/x-ssp-parameter-mapping";

fn binding(element: Element<'_>, known: &mut Known, reader: &mut Reader<'_>) -> Option<Binding> {
    element.expect(
        &["type", "source", "sourceBase", "prefix"],
        &["ParameterValues", "ParameterMapping"],
        reader,
    );
    let set = match source(element, SET_TYPE, reader)? {
        Some(uri) => external_set(&uri, known, reader)?,
        None => {
            let Some(values) = element.child("ParameterValues") else {
                let message = "a `ParameterBinding` needs the attribute `source` or an element \
                               `ParameterValues`";
                reader.error("missing-values", message.to_owned(), &element.span());
                return None;
            };
            Rc::new(parameter_set(
                sole("ParameterSet", values, reader)?,
                reader,
            )?)
        }
    };
    let mapping = match element.child("ParameterMapping") {
        Some(mapping) => {
            mapping.expect(
                &["type", "source", "sourceBase"],
                &["ParameterMapping"],
                reader,
            );
            Some(match source(mapping, MAPPING_TYPE, reader)? {
                Some(uri) => external_mapping(&uri, known, reader)?,
                None => Rc::new(entries(sole("ParameterMapping", mapping, reader)?, reader)),
            })
        }
        None => None,
    };
    Some(Binding {
        prefix: element
            .text("prefix")
            .map_or(String::new(), |text| text.value),
        set,
        mapping,
    })
}

/// The URI of a file; `Some(None)` for what stands inline, `None` for what is not supported.
fn source(
    element: Element<'_>,
    known_type: &str,
    reader: &mut Reader<'_>,
) -> Option<Option<Spanned<String>>> {
    if let Some(kind) = element.text("type").filter(|kind| kind.value != known_type) {
        let message = format!("a `{}` of the type {}", element.name(), kind.value);
        reader.unsupported(&message, &kind.span);
        return None;
    }
    let base = element.text("sourceBase");
    if let Some(base) = base.filter(|base| base.value != "SSD") {
        let message = format!("a `{}` in the folder of a component", element.name());
        reader.unsupported(&message, &base.span);
        return None;
    }
    Some(element.text("source").filter(|uri| !uri.value.is_empty()))
}

/// The only element that may stand in another.
fn sole<'t>(name: &str, parent: Element<'t>, reader: &mut Reader<'_>) -> Option<Element<'t>> {
    let child = parent.child(name);
    if child.is_none() {
        let message = format!("`{}` needs the element `{name}`", parent.name());
        reader.error("missing-element", message, &parent.span());
    }
    child
}

fn external_set(
    uri: &Spanned<String>,
    known: &mut Known,
    reader: &mut Reader<'_>,
) -> Option<Rc<ParameterSet>> {
    let file = resolve(uri, reader)?;
    if let Some(set) = known.sets.get(&file.path) {
        return set.clone();
    }
    let read = |reader: &mut Reader<'_>| {
        let (text, start) = reader.open(&file, &uri.span)?;
        let tree = reader.tree(&text, start)?;
        let root = root("ParameterSet", tree.root(), reader)?;
        parameter_set(root, reader).map(Rc::new)
    };
    let set = read(reader);
    known.sets.insert(file.path, set.clone());
    set
}

fn external_mapping(
    uri: &Spanned<String>,
    known: &mut Known,
    reader: &mut Reader<'_>,
) -> Option<Rc<Vec<MappingEntry>>> {
    let file = resolve(uri, reader)?;
    if let Some(mapping) = known.mappings.get(&file.path) {
        return mapping.clone();
    }
    let read = |reader: &mut Reader<'_>| {
        let (text, start) = reader.open(&file, &uri.span)?;
        let tree = reader.tree(&text, start)?;
        let root = root("ParameterMapping", tree.root(), reader)?;
        Some(Rc::new(entries(root, reader)))
    };
    let mapping = read(reader);
    known.mappings.insert(file.path, mapping.clone());
    mapping
}

/// The file that a URI names.
pub(crate) fn resolve(
    uri: &Spanned<String>,
    reader: &mut Reader<'_>,
) -> Option<crate::package::Reference> {
    match reader.package.resolve(&uri.value) {
        Ok(file) => Some(file),
        Err(message) => {
            reader.error("bad-source", message, &uri.span);
            None
        }
    }
}

/// The root element of a file, which has this name and a version that is known.
pub(crate) fn root<'t>(
    name: &str,
    root: Element<'t>,
    reader: &mut Reader<'_>,
) -> Option<Element<'t>> {
    if root.name() != name {
        let message = format!("the root element is `{}`, not `{name}`", root.name());
        reader.error("wrong-root", message, &root.span());
        return None;
    }
    if let Some(version) = root.required("version", reader)
        && !matches!(version.value.trim(), "1.0" | "1.0.1" | "2.0" | "2.0.1")
    {
        let message = format!("version {} of the standard; read as 2.0", version.value);
        let problem = gyrator_system::Problem::warning("unknown-version", message);
        reader.problems.push(problem.at(&version.span));
    }
    Some(root)
}

fn parameter_set(element: Element<'_>, reader: &mut Reader<'_>) -> Option<ParameterSet> {
    element.expect(ORIGIN, &["Parameters", "Enumerations", "Units"], reader);
    let name = element.required("name", reader)?;
    let mut parameters = Vec::new();
    for parameter in element.listed("Parameters", "Parameter") {
        parameters.extend(self::parameter(parameter, reader));
    }
    Some(ParameterSet {
        name,
        parameters,
        units: units(element, reader),
        enumerations: enumerations(element, reader),
    })
}

/// The types of numbers with a fraction and without.
const REALS: &[&str] = &["Real", "Float64", "Float32"];
const INTEGERS: &[&str] = &[
    "Integer", "Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64",
];

fn parameter(element: Element<'_>, reader: &mut Reader<'_>) -> Option<Parameter> {
    let name = element.required("name", reader)?;
    let is_type = |kind: &str| {
        let others = ["Boolean", "String", "Enumeration", "Binary"];
        REALS.contains(&kind) || INTEGERS.contains(&kind) || others.contains(&kind)
    };
    let Some(typed) = element.children().find(|child| is_type(child.name())) else {
        let message = format!("the parameter `{}` has no value", name.value);
        reader.error("missing-value", message, &element.span());
        return None;
    };
    let kind = typed.name();
    element.expect(&["name"], &[kind, "Dimension"], reader);
    typed.expect(&["value", "unit", "name", "mime-type"], &["Value"], reader);
    if kind == "Binary" || element.child("Dimension").is_some() || typed.child("Value").is_some() {
        let what = if kind == "Binary" { "binary" } else { "array" };
        let message = format!("the {what} parameter `{}`", name.value);
        reader.unsupported(&message, &typed.span());
        return None;
    }
    let text = typed.required("value", reader)?;
    let Some(value) = value(kind, &text.value) else {
        let message = format!(
            "the value of `{}` is no {kind}: `{}`",
            name.value, text.value
        );
        reader.error("wrong-type", message, &text.span);
        return None;
    };
    Some(Parameter {
        name,
        value: Spanned::new(value, text.span),
        unit: typed
            .text("unit")
            .filter(|unit| !unit.value.trim().is_empty()),
        enumeration: typed.text("name").map(|name| name.value),
    })
}

/// A value of a type, from its text.
pub(crate) fn value(kind: &str, text: &str) -> Option<Value> {
    match kind {
        "Boolean" => boolean(text).map(Value::Boolean),
        "String" | "Enumeration" => Some(Value::String(text.to_owned())),
        _ if REALS.contains(&kind) => text.trim().parse().ok().map(Value::Real),
        _ => text.trim().parse().ok().map(Value::Integer),
    }
}

fn entries(element: Element<'_>, reader: &mut Reader<'_>) -> Vec<MappingEntry> {
    element.expect(ORIGIN, &["MappingEntry"], reader);
    let mut entries = Vec::new();
    for entry in element
        .children()
        .filter(|child| child.name() == "MappingEntry")
    {
        entry.expect(
            &["source", "target", "suppressUnitConversion"],
            &transformation::ELEMENTS,
            reader,
        );
        let source = entry.required("source", reader);
        let Some((source, target)) = source.zip(entry.required("target", reader)) else {
            continue;
        };
        entries.push(MappingEntry {
            source,
            target,
            transformation: transformation::read(entry, reader),
            keeps_unit: entry
                .flag("suppressUnitConversion", reader)
                .unwrap_or(false),
        });
    }
    entries
}
