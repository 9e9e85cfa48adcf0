//! `[components.NAME]`: the simulation units, and `[defaults]` of all of them.

use std::path::PathBuf;

use toml::Spanned as Placed;
use toml::de::{DeTable, DeValue};

use super::section::{Reader, Section};
use crate::problem::{Problem, Spanned, did_you_mean};
use crate::system_file::{Component, LibraryUse, Restart, Value};

/// Reads `[components.NAME]`, each with what `[defaults]` says of all of them.
pub(super) fn read(root: &mut Section<'_>, reader: &mut Reader) -> Vec<Component> {
    let mut defaults = Component::new("", "");
    if let Some(section) = root.table("defaults", "[defaults]", reader) {
        defaults = component(Spanned::unplaced(String::new()), section, &defaults, reader);
    }
    let Some(mut tables) = root.table("components", "[components]", reader) else {
        return Vec::new();
    };
    let mut components = Vec::new();
    for (name, value) in tables.rest() {
        match value.get_ref() {
            DeValue::Table(table) => {
                let title = format!("[components.{}]", name.value);
                let section = Section::new(title, table, value.span());
                components.push(component(name, section, &defaults, reader));
            }
            _ => reader.wrong_type(&name.value, "a table with `fmu`", value),
        }
    }
    components
}

/// A component, or the defaults of all, whose name is empty and unplaced. A component without a
/// readable `fmu` is kept, so that its name stays known.
fn component(
    name: Spanned<String>,
    mut section: Section<'_>,
    defaults: &Component,
    reader: &mut Reader,
) -> Component {
    let default = defaults.clone();
    let has_default = default.block.is_some() || !default.fmu.value.as_os_str().is_empty();
    let own_block = section.choice("block", reader);
    let fmu = if own_block.is_some() || has_default || name.span.is_empty() {
        section.text("fmu", reader)
    } else {
        section.required_text("fmu", reader)
    };
    let fmu = fmu.map(|fmu| reader.path(fmu));
    let none = Spanned::unplaced(PathBuf::new());
    // The two stand for each other: one of its own takes the place of either default.
    let (fmu, block) = match (fmu, own_block) {
        (None, None) => (default.fmu, default.block),
        (fmu, block) => (fmu.unwrap_or(none), block),
    };
    // Blocks run on the machine of the run, also if all FMUs run elsewhere.
    let default_host = default.host.filter(|_| block.is_none());
    let component = Component {
        name,
        fmu,
        block,
        step_size: section.number("step_size", reader).or(default.step_size),
        extrapolation: section
            .choice("extrapolation", reader)
            .or(default.extrapolation),
        exchange: section.text("exchange", reader).or(default.exchange),
        start_values: section
            .take("start_values")
            .map(|value| start_values(value, reader))
            .unwrap_or_default(),
        preload: section
            .take("preload")
            .map_or(default.preload, |value| texts("preload", value, reader)),
        library_path: section
            .take("library_path")
            .map_or(default.library_path, |value| {
                paths("library_path", value, reader)
            }),
        step_halvings: section
            .take("step_halvings")
            .and_then(|value| {
                let count = reader.count("step_halvings", value)?;
                Some(Spanned::new(count, value.span()))
            })
            .or(default.step_halvings),
        library: section
            .take("library")
            .and_then(|value| library(value, reader))
            .or(default.library),
        isolate: section.boolean("isolate", reader).or(default.isolate),
        host: section.text("host", reader).or(default_host),
        restart: section
            .take("restart")
            .and_then(|value| restart(value, reader))
            .or(default.restart),
        propagate_initial_inputs: section
            .boolean("propagate_initial_inputs", reader)
            .map_or(default.propagate_initial_inputs, |propagate| {
                propagate.value
            }),
    };
    section.finish(reader);
    with_start_values(component, default.start_values)
}

/// The component with the start values that it does not set itself.
fn with_start_values(
    mut component: Component,
    defaults: Vec<(Spanned<String>, Spanned<Value>)>,
) -> Component {
    for (name, value) in defaults {
        let mut own = component.start_values.iter();
        if !own.any(|(known, _)| known.value == name.value) {
            component.start_values.push((name, value));
        }
    }
    component
}

/// `library = "shared"`.
fn library(value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Option<Spanned<LibraryUse>> {
    let word = reader.text("library", value)?;
    let known = LibraryUse::WORDS.iter();
    let found = known.clone().find(|(name, _)| *name == word.value);
    if found.is_none() {
        let names: Vec<_> = known.map(|(name, _)| *name).collect();
        let help = did_you_mean(&word.value, names.iter().copied());
        let help = help.unwrap_or_else(|| format!("one of {}", names.join(", ")));
        let message = format!("unknown use of a library, `{}`", word.value);
        reader.problems.push(
            Problem::error("unknown-library-use", message)
                .at(&word.span)
                .help(help),
        );
    }
    Some(Spanned::new(found?.1, word.span))
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
    texts.into_iter().map(|text| reader.path(text)).collect()
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
