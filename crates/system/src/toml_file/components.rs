//! `[components.NAME]`: the simulation units.

use std::path::PathBuf;

use toml::Spanned as Placed;
use toml::de::{DeTable, DeValue};

use super::section::{Reader, Section};
use crate::problem::Spanned;
use crate::system_file::{Component, Restart, Value};

pub(super) fn read(root: &mut Section<'_>, reader: &mut Reader) -> Vec<Component> {
    let Some(mut tables) = root.table("components", "[components]", reader) else {
        return Vec::new();
    };
    let mut components = Vec::new();
    for (name, value) in tables.rest() {
        match value.get_ref() {
            DeValue::Table(table) => {
                let title = format!("[components.{}]", name.value);
                let section = Section::new(title, table, value.span());
                components.push(component(name, section, reader));
            }
            _ => reader.wrong_type(&name.value, "a table with `fmu`", value),
        }
    }
    components
}

/// A component without a readable `fmu` is kept, so that its name stays known.
fn component(name: Spanned<String>, mut section: Section<'_>, reader: &mut Reader) -> Component {
    let fmu = section
        .required("fmu", reader)
        .and_then(|value| reader.text("fmu", value));
    let fmu = fmu.unwrap_or_else(|| Spanned::unplaced(String::new()));
    let component = Component {
        name,
        fmu: Spanned::new(reader.folder.join(fmu.value), fmu.span),
        step_size: section.number("step_size", reader),
        extrapolation: section.choice("extrapolation", reader),
        exchange: section.text("exchange", reader),
        start_values: section
            .take("start_values")
            .map(|value| start_values(value, reader))
            .unwrap_or_default(),
        preload: section
            .take("preload")
            .map(|value| texts("preload", value, reader))
            .unwrap_or_default(),
        library_path: section
            .take("library_path")
            .map(|value| paths("library_path", value, reader))
            .unwrap_or_default(),
        step_halvings: section.take("step_halvings").and_then(|value| {
            let count = reader.count("step_halvings", value)?;
            Some(Spanned::new(count, value.span()))
        }),
        isolate: section
            .take("isolate")
            .and_then(|value| boolean("isolate", value, reader)),
        restart: section
            .take("restart")
            .and_then(|value| restart(value, reader)),
        propagate_initial_inputs: section
            .take("propagate_initial_inputs")
            .and_then(|value| boolean("propagate_initial_inputs", value, reader))
            .is_none_or(|propagate| propagate.value),
    };
    section.finish(reader);
    component
}

fn boolean(key: &str, value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Option<Spanned<bool>> {
    let boolean = value.get_ref().as_bool();
    if boolean.is_none() {
        reader.wrong_type(key, "true or false", value);
    }
    boolean.map(|boolean| Spanned::new(boolean, value.span()))
}

/// `restart = 3`, or `restart = { times = 3, every = 100 }`.
fn restart(value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Option<Spanned<Restart>> {
    let DeValue::Table(table) = value.get_ref() else {
        let times = reader.count("restart", value)?;
        let every = Restart::EVERY;
        return Some(Spanned::new(Restart { times, every }, value.span()));
    };
    let mut section = Section::new("`restart`", table, value.span());
    let times = section.required("times", reader);
    let times = times.and_then(|times| reader.count("times", times));
    let every = section.take("every");
    let every = every.map(|every| reader.count("every", every));
    section.finish(reader);
    let every = every.unwrap_or(Some(Restart::EVERY));
    Some(Spanned::new(
        Restart {
            times: times?,
            every: every?,
        },
        value.span(),
    ))
}

fn texts(key: &str, value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Vec<Spanned<String>> {
    let DeValue::Array(texts) = value.get_ref() else {
        reader.wrong_type(key, "a list of strings", value);
        return Vec::new();
    };
    texts
        .iter()
        .filter_map(|text| reader.text(key, text))
        .collect()
}

/// Paths, relative to the folder of the file.
fn paths(key: &str, value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Vec<Spanned<PathBuf>> {
    let texts = texts(key, value, reader);
    let path = |text: Spanned<String>| Spanned::new(reader.folder.join(text.value), text.span);
    texts.into_iter().map(path).collect()
}

fn start_values(
    value: &Placed<DeValue<'_>>,
    reader: &mut Reader,
) -> Vec<(Spanned<String>, Spanned<Value>)> {
    let mut values = Vec::new();
    match value.get_ref() {
        DeValue::Table(table) => flatten("", table, &mut values, reader),
        _ => reader.wrong_type("start_values", "a table of names and values", value),
    }
    values.sort_by_key(|(name, _)| name.span.start);
    values
}

/// `body.mass = 1`, `body = { mass = 1 }` and `"body.mass" = 1` are the same start value.
fn flatten(
    prefix: &str,
    table: &DeTable<'_>,
    values: &mut Vec<(Spanned<String>, Spanned<Value>)>,
    reader: &mut Reader,
) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        if let DeValue::Table(inner) = value.get_ref() {
            flatten(&format!("{name}."), inner, values, reader);
        } else if let Some(scalar) = reader.scalar(&name, "a number, boolean or string", value) {
            values.push((Spanned::new(name, key.span()), scalar));
        }
    }
}
