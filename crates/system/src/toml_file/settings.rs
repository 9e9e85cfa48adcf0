//! Setting keys of a system file by their path, before it is read, for options and studies.

use std::ops::Range;
use std::path::PathBuf;

use toml::Spanned as Placed;
use toml::de::{DeArray, DeTable, DeValue};

use super::{syntax_problem, wiring};
use crate::edit::not_a_port;
use crate::problem::{Problem, Problems, did_you_mean};
use crate::system_file::{Port, SystemFile};

/// A key of a system file and the value that replaces the one in the file.
///
/// | key | meaning |
/// |---|---|
/// | `left.m` | start value of the component's variable |
/// | `experiment.step_size` | a key of `[experiment]` |
/// | `experiment.method.order` | a parameter of a word |
/// | `defaults.step_size` | a key of `[defaults]` |
/// | `components.left.extrapolation` | a key of a component |
/// | `components.left.start_values.m` | the long form of a start value |
/// | `bonds.coupling.correction.mu` | a key of the bond of this name |
/// | `interface_models.arm.exchange_step` | a key of the interface model of this name |
/// | `connections."left.x2".gain` | a key of the connection that leads to this input |
///
/// Names with dots are quoted. Start values of components called `experiment`, `defaults`,
/// `components`, `bonds`, `connections` or `interface_models` need the long form.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Setting {
    /// The path of the key.
    pub key: String,
    /// The value as TOML writes it: `1e-3`, `"linear"`, `{ name = "ecco", safety = 0.8 }`.
    pub value: String,
}

/// Reads a system from text as [`parse`](super::parse) does, with `settings` made one after the
/// other. They are appended to the text that problems point into.
///
/// # Errors
///
/// All problems of the text, or of the first setting that cannot be made.
pub fn parse_with(
    text: impl Into<String>,
    path: impl Into<PathBuf>,
    settings: &[Setting],
) -> Result<(SystemFile, Vec<Problem>), Problems> {
    let mut text = text.into();
    let original = text.len();
    let mut values = Vec::new();
    for setting in settings {
        text.push_str(&format!("\n{} = ", setting.key));
        let start = text.len();
        text.push_str(&setting.value);
        values.push((setting.key.as_str(), start..text.len()));
    }
    super::parse_edited(text, path.into(), original, &values)
}

/// Makes the settings, whose values stand in `text` at these places.
pub(super) fn apply<'a>(
    root: &mut DeTable<'a>,
    text: &'a str,
    settings: &[(&str, Range<usize>)],
) -> Result<(), Problem> {
    for (key, place) in settings {
        let literal = &text[place.clone()];
        let value = DeValue::parse(literal).map_err(|error| {
            let mut problem = syntax_problem(&error, literal, 0);
            problem.span = Some(place.clone());
            problem
        })?;
        let value = moved(value, place.start);
        set(root, key, value).map_err(|problem| problem.at(place))?;
    }
    Ok(())
}

/// The segments of a key's path, without their quotes.
///
/// # Errors
///
/// A [`Problem`] without a place if a segment is empty or a quote is not closed.
pub fn segments(key: &str) -> Result<Vec<String>, Problem> {
    let wrong = || {
        Problem::error("invalid-key", format!("`{key}` is not the path of a key"))
            .help("write names with dots between them, such as `experiment.step_size`")
    };
    let mut segments = Vec::new();
    let mut rest = key.trim();
    loop {
        let (segment, after) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').ok_or_else(wrong)?,
            None => rest.split_at(rest.find('.').unwrap_or(rest.len())),
        };
        if segment.is_empty() {
            return Err(wrong());
        }
        segments.push(segment.to_owned());
        if after.is_empty() {
            return Ok(segments);
        }
        rest = after.strip_prefix('.').ok_or_else(wrong)?;
    }
}

fn set<'a>(root: &mut DeTable<'a>, key: &str, value: Placed<DeValue<'a>>) -> Result<(), Problem> {
    let segments = segments(key)?;
    let path: Vec<&str> = segments.iter().map(String::as_str).collect();
    match path[..] {
        [key @ ("experiment" | "defaults"), ref rest @ ..] if !rest.is_empty() => {
            let name = Placed::new(value.span(), key.to_owned().into());
            let empty = Placed::new(value.span(), DeValue::Table(DeTable::new()));
            let target = root.entry(name).or_insert(empty).get_mut();
            set_in(table(target, key)?, rest, value)
        }
        ["components", name, "start_values", ref rest @ ..] if !rest.is_empty() => {
            start_value(component(root, name)?, &rest.join("."), value)
        }
        ["components", name, ref rest @ ..] if !rest.is_empty() => {
            set_in(component(root, name)?, rest, value)
        }
        [
            list @ ("bonds" | "connections" | "interface_models"),
            name,
            ref rest @ ..,
        ] if !rest.is_empty() => set_in(element(root, list, name)?, rest, value),
        _ => {
            let is_component = |name: &str| component_names(root).any(|known| known == name);
            let port = Port::split(&segments.join("."), is_component);
            let port = port.ok_or_else(|| not_a_port(key))?;
            start_value(component(root, &port.component)?, &port.variable, value)
        }
    }
}

fn table<'v, 'a>(value: &'v mut DeValue<'a>, key: &str) -> Result<&'v mut DeTable<'a>, Problem> {
    match value {
        DeValue::Table(table) => Ok(table),
        _ => Err(Problem::error(
            "wrong-type",
            format!("`{key}` is no table, and has no keys to be set"),
        )),
    }
}

/// Sets a key in a table. A word that gets its first parameter becomes a table with `name`.
fn set_in<'a>(
    target: &mut DeTable<'a>,
    path: &[&str],
    value: Placed<DeValue<'a>>,
) -> Result<(), Problem> {
    let [key, rest @ ..] = path else {
        return Ok(());
    };
    if rest.is_empty() {
        // Two ways to write the stop time: the later one counts.
        match *key {
            "stop_time" => target.remove("duration"),
            "duration" => target.remove("stop_time"),
            _ => None,
        };
        target.remove(*key);
        target.insert(Placed::new(value.span(), (*key).to_owned().into()), value);
        return Ok(());
    }
    let Some(inner) = target.get_mut(*key) else {
        let message = format!("`{key}` is not given, and has no `{}` to be set", rest[0]);
        return Err(Problem::error("missing-key", message)
            .help(format!("set `{key}` itself as well, before")));
    };
    if let DeValue::String(word) = inner.get_ref() {
        let word = DeValue::String(word.clone());
        let name = Placed::new(inner.span(), "name".into());
        let mut choice = DeTable::new();
        choice.insert(name, Placed::new(inner.span(), word));
        *inner = Placed::new(inner.span(), DeValue::Table(choice));
    }
    set_in(table(inner.get_mut(), key)?, rest, value)
}

/// Sets a start value, however the file writes it: `body.mass` may stand in a table `body`.
fn start_value<'a>(
    component: &mut DeTable<'a>,
    variable: &str,
    value: Placed<DeValue<'a>>,
) -> Result<(), Problem> {
    let key = Placed::new(value.span(), "start_values".into());
    let empty = Placed::new(value.span(), DeValue::Table(DeTable::new()));
    let values = component.entry(key).or_insert(empty).get_mut();
    let values = table(values, "start_values")?;
    remove(values, variable);
    values.insert(Placed::new(value.span(), variable.to_owned().into()), value);
    Ok(())
}

/// Removes a key, in whichever way its dots are spread over tables.
fn remove(table: &mut DeTable<'_>, name: &str) {
    table.remove(name);
    for (dot, _) in name.match_indices('.') {
        let inner = table.get_mut(&name[..dot]).map(Placed::get_mut);
        if let Some(DeValue::Table(inner)) = inner {
            remove(inner, &name[dot + 1..]);
        }
    }
}

fn component_names(root: &DeTable<'_>) -> impl Iterator<Item = String> {
    let components = root.get("components").and_then(|c| c.get_ref().as_table());
    let names = components.into_iter().flatten();
    names.map(|(name, _)| name.get_ref().to_string())
}

fn component<'t, 'a>(
    root: &'t mut DeTable<'a>,
    name: &str,
) -> Result<&'t mut DeTable<'a>, Problem> {
    if !component_names(root).any(|known| known == name) {
        return Err(unknown("component", name, component_names(root).collect()));
    }
    let components = root.get_mut("components").map(Placed::get_mut);
    match components {
        Some(DeValue::Table(components)) => match components.get_mut(name) {
            Some(component) => table(component.get_mut(), name),
            None => Err(unknown("component", name, Vec::new())),
        },
        _ => Err(unknown("component", name, Vec::new())),
    }
}

/// The bond or interface model of this name, or the connection that leads to this input.
fn element<'t, 'a>(
    root: &'t mut DeTable<'a>,
    list: &str,
    name: &str,
) -> Result<&'t mut DeTable<'a>, Problem> {
    let (what, key) = match list {
        "bonds" => ("bond", "name"),
        "interface_models" => ("interface model", "name"),
        _ => ("connection to", "to"),
    };
    let mut names = Vec::new();
    let elements = match root.get_mut(list) {
        None => Vec::new(),
        Some(value) if !is_array_of_elements(value.get_ref()) => vec![value],
        Some(value) => match value.get_mut() {
            DeValue::Array(elements) => elements.iter_mut().collect(),
            _ => Vec::new(),
        },
    };
    for element in elements {
        wiring::expand_pair(element);
        let element = element.get_mut();
        let DeValue::Table(element) = element else {
            continue;
        };
        match element.get(key).and_then(|value| value.get_ref().as_str()) {
            Some(found) if found == name => return Ok(element),
            found => names.extend(found.map(str::to_owned)),
        }
    }
    Err(unknown(what, name, names))
}

fn is_array_of_elements(value: &DeValue<'_>) -> bool {
    matches!(value, DeValue::Array(list) if !wiring::is_pair(list))
}

fn unknown(what: &str, name: &str, known: Vec<String>) -> Problem {
    let problem = Problem::error("unknown-key", format!("there is no {what} `{name}`"));
    let listed = || format!("those of the file: `{}`", known.join("`, `"));
    problem.help(did_you_mean(name, known.iter().map(String::as_str)).unwrap_or_else(listed))
}

/// The value, with its places moved by `offset`.
pub(super) fn moved(value: Placed<DeValue<'_>>, offset: usize) -> Placed<DeValue<'_>> {
    let place = value.span().start + offset..value.span().end + offset;
    let value = match value.into_inner() {
        DeValue::Table(table) => {
            let mut placed = DeTable::new();
            for (key, value) in table {
                let span = key.span().start + offset..key.span().end + offset;
                placed.insert(Placed::new(span, key.into_inner()), moved(value, offset));
            }
            DeValue::Table(placed)
        }
        DeValue::Array(list) => {
            let mut placed = DeArray::new();
            for value in list {
                placed.push(moved(value, offset));
            }
            DeValue::Array(placed)
        }
        scalar => scalar,
    };
    Placed::new(place, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        experiment.duration = 1
        experiment.step_control = "ecco"
        [components.left]
        fmu = "l.fmu"
        start_values = { body.mass = 1, "body.name" = "x", m = 1 }
        [components."left.arm"]
        fmu = "a.fmu"
        [[connections]]
        from = "left.x"
        to = "left.arm.u"
        [[bonds]]
        name = "b"
        effort = { from = "left.f", to = "left.arm.f" }
        flow = { from = "left.arm.v", to = "left.v" }
        correction = "nepce"
    "#;

    fn read(settings: &[(&str, &str)]) -> Result<SystemFile, String> {
        let settings: Vec<Setting> = settings
            .iter()
            .map(|(key, value)| Setting {
                key: (*key).to_owned(),
                value: (*value).to_owned(),
            })
            .collect();
        let read = parse_with(TEXT, "s.toml", &settings);
        read.map(|(system, _)| system)
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn every_kind_of_key() {
        let system = read(&[
            ("experiment.stop_time", "2.5"),
            ("experiment.step_control.safety", "0.5"),
            ("experiment.method", "'jacobi'"),
            ("left.body.mass", "2"),
            ("components.left.start_values.m", "3"),
            ("left.arm.k", "4.5"),
            (r#"components."left.arm".exchange"#, "'stale'"),
            (r#"connections."left.arm.u".gain"#, "-1"),
            ("bonds.b.correction", "{ name = 'residual-power' }"),
            ("bonds.b.correction.mu", "0.25"),
        ])
        .unwrap();
        let written = super::super::to_toml(&system);
        let expected = r#"[experiment]
stop_time = 2.5
method = "jacobi"
step_control = { name = "ecco", safety = 0.5 }

[components.left]
fmu = "l.fmu"
start_values = { "body.name" = "x", "body.mass" = 2, m = 3 }

[components."left.arm"]
fmu = "a.fmu"
exchange = "stale"
start_values = { k = 4.5 }

[[connections]]
from = "left.x"
to = "left.arm.u"
gain = -1.0

[[bonds]]
name = "b"
effort = [{ from = "left.f", to = "left.arm.f" }]
flow = [{ from = "left.arm.v", to = "left.v" }]
correction = { name = "residual-power", mu = 0.25 }
"#;
        assert_eq!(written, expected);
    }

    #[test]
    fn problems_are_in_the_appended_lines() {
        for (key, value, expected) in [
            (
                "lift.m",
                "1",
                "s.toml:18:10: error: there is no component `lift`",
            ),
            ("left", "1", "`left` names no variable"),
            ("experiment.stepsize", "1", "did you mean `step_size`"),
            (
                "experiment.step_size",
                "'a'",
                "`step_size` must be a number, not a string",
            ),
            ("experiment.method.order", "1", "`method` is not given"),
            ("bonds.c.sense", "1", "there is no bond `c`"),
            ("left.m", "1 2", "this is not TOML"),
            ("left..m", "1", "`left..m` is not the path of a key"),
        ] {
            let message = read(&[(key, value)]).unwrap_err();
            assert!(message.contains(expected), "{key}: {message}");
        }
    }
}
