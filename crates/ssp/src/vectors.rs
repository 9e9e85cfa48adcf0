//! Vector ports as OpenMCx and Model.CONNECT write them: annotations of connectors and connections, since SSP 1.0
//! has no vectors. An element of a vector is a variable of the FMU, `v[1]`.

use std::ops::{Range, RangeInclusive};

use gyrator_system::{Spanned, Value};

use crate::annotations;
use crate::parameters::value;
use crate::tree::{Element, Reader};

/// The type of annotations of connectors.
const PORT: &str = "com.avl.model.connect.ssp.port";
/// The type of annotations of connections.
const CONNECTION: &str = "com.avl.model.connect.ssp.connection";
/// Most elements of a vector: far above any use.
const MOST_ELEMENTS: i64 = 100_000;

/// The variables that a connector stands for, with the values that its annotation gives them.
pub(crate) type Scalars = Vec<(String, Option<Spanned<Value>>)>;

/// The variables of a connector: its name, or the elements of a vector.
pub(crate) fn scalars(connector: Element<'_>, name: &str, reader: &mut Reader<'_>) -> Scalars {
    let annotated = annotations::of_types(connector, &[PORT], reader);
    let ports = annotated
        .iter()
        .flat_map(|annotation| annotation.named("Port"));
    let Some(port) = ports.last() else {
        return vec![(name.to_owned(), None)];
    };
    if let Some(other) = port.text("nameInModel").filter(|other| other.value != name) {
        let message = format!(
            "the connector `{name}` is the variable `{}` of the FMU: other names are not supported",
            other.value
        );
        reader.error("not-supported", message, &other.span);
    }
    let kinds = ["Real", "Integer", "Boolean", "String"];
    let of_kind = |element: &Element<'_>| {
        let kind = element.name().strip_suffix("Vector");
        let kind = kind.unwrap_or_else(|| element.name());
        kinds.into_iter().find(|known| *known == kind)
    };
    let typed = port
        .children()
        .find_map(|child| Some((of_kind(&child)?, child)));
    let Some((kind, typed)) = typed else {
        return vec![(name.to_owned(), None)];
    };
    let names = match typed.name().ends_with("Vector") {
        true => elements(typed, reader).map(|range| names(name, range)),
        false => Some(vec![name.to_owned()]),
    };
    let names = names.unwrap_or_default();
    let values = defaults(typed, kind, names.len(), reader);
    let values = values.into_iter().map(Some).chain(std::iter::repeat(None));
    names.into_iter().zip(values).collect()
}

/// The names of both ends of a connection, one pair for each element.
pub(crate) fn pairs(
    connection: Element<'_>,
    [start, end]: [&str; 2],
    reader: &mut Reader<'_>,
) -> Vec<[String; 2]> {
    let annotated = annotations::of_types(connection, &[CONNECTION], reader);
    let found = annotated
        .iter()
        .flat_map(|annotation| annotation.named("Connection"));
    let found = found.last();
    let mut side = |side: &str, name: &str| {
        let element = found.and_then(|found| found.child(side));
        match element {
            Some(element) => elements(element, reader).map(|range| names(name, range)),
            None => Some(vec![name.to_owned()]),
        }
    };
    let Some((starts, ends)) = side("Start", start).zip(side("End", end)) else {
        return Vec::new();
    };
    if starts.len() != ends.len() {
        let message = format!(
            "the connection leads from {} elements to {}",
            starts.len(),
            ends.len()
        );
        reader.error("different-sizes", message, &connection.span());
    }
    let pairs = starts.into_iter().zip(ends);
    pairs.map(|(start, end)| [start, end]).collect()
}

fn names(name: &str, range: RangeInclusive<i64>) -> Vec<String> {
    range.map(|index| format!("{name}[{index}]")).collect()
}

/// The indices of an element's attributes.
fn elements(element: Element<'_>, reader: &mut Reader<'_>) -> Option<RangeInclusive<i64>> {
    element.required("startIndex", reader)?;
    element.required("endIndex", reader)?;
    let first = element.parsed::<i64>("startIndex", "a whole number", reader)?;
    let last = element.parsed::<i64>("endIndex", "a whole number", reader)?;
    let (first, last, place) = (first.value, last.value, last.span);
    if first < 0 || last < first || last - first >= MOST_ELEMENTS {
        let message = format!("a vector from element {first} to {last}");
        reader.error("out-of-range", message, &place);
        return None;
    }
    Some(first..=last)
}

/// The values of `default`, separated by spaces; an error unless there is one for each variable.
fn defaults(
    typed: Element<'_>,
    kind: &str,
    count: usize,
    reader: &mut Reader<'_>,
) -> Vec<Spanned<Value>> {
    let Some(text) = typed.text("default") else {
        return Vec::new();
    };
    let place: &Range<usize> = &text.span;
    let words: Vec<&str> = match typed.name() {
        "String" => vec![&text.value],
        _ => text.value.split_whitespace().collect(),
    };
    let values: Vec<_> = words.iter().filter_map(|word| value(kind, word)).collect();
    if values.len() != count || words.len() != count {
        let message = format!("`default` must have {count} values of the type {kind}");
        reader.error("wrong-type", message, place);
        return Vec::new();
    }
    let placed = values
        .into_iter()
        .map(|value| Spanned::new(value, place.clone()));
    placed.collect()
}
