//! `[[connections]]` and `[[bonds]]`.

use std::collections::BTreeSet;

use toml::Spanned as Placed;
use toml::de::DeValue;

use super::section::{Reader, Section};
use crate::edit::not_a_port;
use crate::problem::Spanned;
use crate::system_file::{Bond, Choice, Connection, Port};

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
    let name = section
        .required("name", reader)
        .and_then(|value| reader.text("name", value));
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
    section.finish(reader);
    Some(Bond {
        name: name?,
        effort: effort?,
        flow: flow?,
        sense,
        correction,
        max_residual_energy,
    })
}

fn is_off(choice: &Choice) -> bool {
    choice.name.value == "off" && choice.parameters.is_empty()
}

/// One element for each table of the list; `None` where it could not be read.
fn pairs(
    key: &str,
    value: &Placed<DeValue<'_>>,
    components: &BTreeSet<String>,
    reader: &mut Reader,
) -> Vec<Option<Connection>> {
    let sections = reader.tables(key, value);
    sections
        .into_iter()
        .map(|section| pair(section, components, reader))
        .collect()
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
    let derivative = section.text("derivative", reader);
    section.finish(reader);
    Some(Connection {
        from: from?,
        to: to?,
        gain,
        derivative,
    })
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
