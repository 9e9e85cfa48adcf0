//! `[[connections]]` and `[[bonds]]`.

use std::collections::BTreeSet;

use toml::Spanned as Placed;
use toml::de::{DeTable, DeValue};

use super::section::{Reader, Section};
use crate::edit::not_a_port;
use crate::problem::{Problem, Spanned, did_you_mean};
use crate::system_file::{Bond, Choice, Connection, NumberConversion, Port, TypeConversion};

/// The connections that a key of a table lists.
pub(super) fn connections(
    section: &mut Section<'_>,
    key: &'static str,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Vec<Connection> {
    let Some(value) = section.take(key) else {
        return Vec::new();
    };
    pairs(key, value, components, reader)
        .into_iter()
        .flatten()
        .collect()
}

pub(super) fn bonds(
    root: &mut Section<'_>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Vec<Bond> {
    let Some(value) = root.take("bonds") else {
        return Vec::new();
    };
    let sections = reader.tables("bonds", value);
    sections
        .into_iter()
        .filter_map(|section| bond(section, components, reader))
        .collect()
}

/// A bond with an unreadable pair is left out: its axes could no longer be identified.
fn bond(
    mut section: Section<'_>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Option<Bond> {
    let name = section.required_text("name", reader);
    let mut side = |key, reader: &mut Reader| {
        let value = section.required(key, reader)?;
        pairs(key, value, components, reader)
            .into_iter()
            .collect::<Option<Vec<_>>>()
    };
    let effort = side("effort", reader);
    let flow = side("flow", reader);
    let sense = section
        .number("sense", reader)
        .unwrap_or_else(|| Spanned::unplaced(1.0));
    let correction = section
        .choice("correction", reader)
        .filter(|choice| !is_off(choice));
    let max_residual_energy = section.number("max_residual_energy", reader);
    let energy_tolerance = section.number("energy_tolerance", reader);
    let energy_scale = section.number("energy_scale", reader);
    section.finish(reader);
    Some(Bond {
        name: name?,
        effort: effort?,
        flow: flow?,
        sense,
        correction,
        max_residual_energy,
        energy_tolerance,
        energy_scale,
    })
}

fn is_off(choice: &Choice) -> bool {
    choice.name.value == "off" && choice.parameters.is_empty()
}

/// One element for each table of the list; `None` if it could not be read.
fn pairs(
    key: &str,
    value: &Placed<DeValue<'_>>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Vec<Option<Connection>> {
    let elements = match value.get_ref() {
        DeValue::Array(list) if !is_pair(list) => list,
        _ => std::slice::from_ref(value),
    };
    let mut pairs = Vec::new();
    for element in elements {
        pairs.push(match element.get_ref() {
            DeValue::Table(table) => {
                let section = Section::new(format!("an element of `{key}`"), table, element.span());
                pair(section, components, reader)
            }
            DeValue::Array(ends) if is_pair(ends) => {
                let from = port("from", &ends[0], components, reader);
                let to = port("to", &ends[1], components, reader);
                from.zip(to).map(|(from, to)| Connection {
                    from,
                    to,
                    ..Connection::new(Port::new("", ""), Port::new("", ""))
                })
            }
            _ => {
                let expected = "a list of tables, or of pairs such as [\"a.y\", \"b.u\"]";
                reader.wrong_type(key, expected, element);
                None
            }
        });
    }
    pairs
}

/// Whether a list is the short form of a connection: an output and an input.
pub(super) fn is_pair(list: &[Placed<DeValue<'_>>]) -> bool {
    let is_text = |value: &Placed<DeValue<'_>>| value.get_ref().is_str();
    list.len() == 2 && list.iter().all(is_text)
}

/// Writes a connection's short form as a table, for its keys to be set.
pub(super) fn expand_pair(element: &mut Placed<DeValue<'_>>) {
    let place = element.span();
    let DeValue::Array(ends) = element.get_ref() else {
        return;
    };
    if !is_pair(ends) {
        return;
    }
    let mut table = DeTable::new();
    for (key, end) in ["from", "to"].into_iter().zip(ends.iter()) {
        table.insert(Placed::new(end.span(), key.into()), end.clone());
    }
    *element = Placed::new(place, DeValue::Table(table));
}

fn pair(
    mut section: Section<'_>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Option<Connection> {
    let mut end = |key, reader: &mut Reader| {
        section
            .required(key, reader)
            .and_then(|value| port(key, value, components, reader))
    };
    let from = end("from", reader);
    let to = end("to", reader);
    let gain = section.number("gain", reader);
    let offset = section.number("offset", reader);
    let convert = section
        .take("convert")
        .and_then(|value| type_conversion(value, reader));
    let unit_conversion = section.boolean("unit_conversion", reader);
    let derivative = section.text("derivative", reader);
    section.finish(reader);
    Some(Connection {
        from: from?,
        to: to?,
        gain,
        offset,
        convert,
        unit_conversion: unit_conversion.is_none_or(|convert| convert.value),
        derivative,
    })
}

/// `convert = "round"`, or `convert = { off = 0, on = 1 }`.
fn type_conversion(
    value: &Placed<DeValue<'_>>,
    reader: &mut Reader,
) -> Option<Spanned<TypeConversion>> {
    let DeValue::Table(table) = value.get_ref() else {
        let word = value.get_ref().as_str();
        if word.is_none() {
            reader.wrong_type("convert", "a string or a table of values", value);
        }
        let word = word?;
        let known = NumberConversion::WORDS.iter();
        let found = known.clone().find(|(name, _)| *name == word);
        if found.is_none() {
            let names: Vec<_> = known.map(|(name, _)| *name).collect();
            let one_of = || format!("one of {}, or a table of values", names.join(", "));
            let help = did_you_mean(word, names.iter().copied()).unwrap_or_else(one_of);
            let message = format!("unknown conversion `{word}`");
            reader.problems.push(
                Problem::error("unknown-conversion", message)
                    .at(&value.span())
                    .help(help),
            );
        }
        let conversion = TypeConversion::Number(found?.1);
        return Some(Spanned::new(conversion, value.span()));
    };
    let mut section = Section::new("`convert`", table, value.span());
    let mut values = Vec::new();
    for (from, to) in section.rest() {
        let to = reader.scalar(&from.value, "a number, boolean or string", to);
        values.extend(to.map(|to| (from, to)));
    }
    Some(Spanned::new(TypeConversion::Table(values), value.span()))
}

pub(super) fn port(
    key: &str,
    value: &Placed<DeValue<'_>>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Option<Spanned<Port>> {
    let text = reader.text(key, value)?;
    let port = Port::split(&text.value, |name| components.contains(name));
    if port.is_none() {
        reader.problems.push(not_a_port(&text.value).at(&text.span));
    }
    port.map(|port| Spanned::new(port, text.span))
}
