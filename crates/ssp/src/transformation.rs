//! Transformations of values on connections and of parameters (SSP 4.3, transformation choice).

use gyrator_system::{Spanned, Value};

use crate::conversion::Linear;
use crate::tree::{Element, Reader, boolean};
use crate::unit::Enumerations;

/// The change of a value on its way.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Transformation {
    /// `factor · value + offset`.
    Linear(Linear),
    /// Other values for some; the rest stays as it is.
    Mapping(Vec<(Value, Value)>),
}

/// The elements that say one.
pub(crate) const ELEMENTS: [&str; 4] = [
    "LinearTransformation",
    "BooleanMappingTransformation",
    "IntegerMappingTransformation",
    "EnumerationMappingTransformation",
];

/// The transformation in an element, with its place.
pub(crate) fn read(
    parent: Element<'_>,
    reader: &mut Reader<'_>,
) -> Option<Spanned<Transformation>> {
    let element = parent
        .children()
        .find(|child| ELEMENTS.contains(&child.name()))?;
    let transformation = if element.name() == ELEMENTS[0] {
        element.expect(&["factor", "offset"], &[], reader);
        let factor = element.number("factor", reader);
        let offset = element.number("offset", reader);
        for number in [&factor, &offset].into_iter().flatten() {
            if !number.value.is_finite() {
                let message = format!("a transformation by {} gives no number", number.value);
                reader.error("not-finite", message, &number.span);
            }
        }
        Transformation::Linear(Linear {
            factor: factor.map_or(1.0, |factor| factor.value),
            offset: offset.map_or(0.0, |offset| offset.value),
        })
    } else {
        Transformation::Mapping(entries(element, reader))
    };
    Some(Spanned::new(transformation, element.span()))
}

fn entries(element: Element<'_>, reader: &mut Reader<'_>) -> Vec<(Value, Value)> {
    element.expect(&[], &["MapEntry"], reader);
    let kind = element.name();
    let mut entries: Vec<(Value, Value)> = Vec::new();
    for entry in element.named("MapEntry") {
        entry.expect(&["source", "target"], &[], reader);
        let source = side(entry, "source", kind, reader);
        let Some((source, target)) = source.zip(side(entry, "target", kind, reader)) else {
            continue;
        };
        if entries.iter().any(|(known, _)| *known == source) {
            let message = "two entries map the same value".to_owned();
            reader.error("ambiguous-mapping", message, &entry.span());
        }
        entries.push((source, target));
    }
    entries
}

fn side(entry: Element<'_>, name: &str, kind: &str, reader: &mut Reader<'_>) -> Option<Value> {
    let text = entry.required(name, reader)?;
    let value = match kind {
        "BooleanMappingTransformation" => boolean(&text.value).map(Value::Boolean),
        "IntegerMappingTransformation" => text.value.trim().parse().ok().map(Value::Integer),
        _ => Some(Value::String(text.value.clone())),
    };
    if value.is_none() {
        let message = format!("`{name}` of a `{kind}` cannot be `{}`", text.value);
        reader.error("wrong-type", message, &text.span);
    }
    value
}

impl Transformation {
    /// The parameter after the transformation; `None` if this value cannot be transformed so. An
    /// item of an enumeration may also be mapped by its number.
    pub(crate) fn apply(
        &self,
        value: &Value,
        enumeration: Option<&str>,
        enumerations: &Enumerations,
    ) -> Option<Value> {
        match (self, value) {
            (Self::Linear(linear), Value::Real(number)) => Some(Value::Real(linear.apply(*number))),
            (Self::Linear(linear), _) if *linear == Linear::IDENTITY => Some(value.clone()),
            // Tools write whole numbers for parameters of real variables.
            (Self::Linear(linear), Value::Integer(number)) => {
                Some(Value::Real(linear.apply(*number as f64)))
            }
            (Self::Linear(_), _) => None,
            (Self::Mapping(entries), _) => {
                let items = enumeration.and_then(|name| enumerations.get(name));
                let number = match value {
                    Value::String(item) => items.and_then(|items| items.get(item)),
                    _ => None,
                };
                let number = number.map(|number| Value::Integer(*number));
                let is_source = |source: &Value| source == value || Some(source) == number.as_ref();
                let found = entries.iter().find(|(source, _)| is_source(source));
                Some(found.map_or(value, |(_, target)| target).clone())
            }
        }
    }
}
