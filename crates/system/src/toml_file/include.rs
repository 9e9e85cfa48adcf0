//! `include`: a system in several files.

use std::collections::BTreeSet;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::Spanned as Placed;
use toml::de::{DeArray, DeTable, DeValue};

use super::section;
use super::settings::moved;
use super::wiring::is_pair;
use crate::problem::{Problem, Source};

/// More files than a person keeps apart, and fewer than a mistake makes.
const MOST_FILES: usize = 1000;
/// More than a description of components and connections needs, in bytes.
const LARGEST: u64 = 64 << 20;

/// A file of the system in the text of its source.
pub(super) struct Part {
    /// Its bytes in the text.
    pub(super) range: Range<usize>,
    /// The file that includes it; `None` for the system file itself.
    parent: Option<usize>,
}

/// Appends the files that the text before `end` includes to the text of `source`. A file that is
/// included twice is taken once. Returns the system file, then these.
pub(super) fn append_included(
    source: &mut Source,
    end: usize,
    problems: &mut Vec<Problem>,
) -> Vec<Part> {
    let mut parts = vec![Part {
        range: 0..end,
        parent: None,
    }];
    let mut seen = BTreeSet::from([identity(&source.path)]);
    let mut next = 0;
    while next < parts.len() {
        let range = parts[next].range.clone();
        let base = range.start;
        let folder = source.folder_at(base).to_owned();
        for (name, place) in included(&source.text[range]) {
            let place = base + place.start..base + place.end;
            let path = folder.join(&name);
            if !seen.insert(identity(&path)) {
                continue;
            }
            let read = if parts.len() > MOST_FILES {
                Err(format!("more than {MOST_FILES} files are included"))
            } else {
                read_text(&path)
            };
            match read {
                Ok(text) => {
                    // A file need not end in a line feed.
                    source.text.push('\n');
                    let start = source.text.len();
                    source.text.push_str(&text);
                    source.included.push((start, path));
                    parts.push(Part {
                        range: start..source.text.len(),
                        parent: Some(next),
                    });
                }
                Err(reason) => problems.push(
                    Problem::error("not-included", format!("cannot include `{name}`: {reason}"))
                        .at(&place)
                        .help("paths are relative to the folder of the file that includes"),
                ),
            }
        }
        next += 1;
    }
    parts
}

/// The paths that a text includes, with their places; other values are reported when it is read.
fn included(text: &str) -> Vec<(String, Range<usize>)> {
    let (document, _) = DeTable::parse_recoverable(text);
    let Some(value) = document.get_ref().get("include") else {
        return Vec::new();
    };
    let list = section::elements(value);
    let path = |value: &Placed<DeValue<'_>>| {
        let text = value.get_ref().as_str()?;
        Some((text.to_owned(), value.span()))
    };
    list.iter().filter_map(path).collect()
}

fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Reads a plain file, as long as it says it is: devices and pipes may never end.
fn read_text(path: &Path) -> Result<String, String> {
    let words = |error: std::io::Error| error.to_string();
    let facts = path.metadata().map_err(words)?;
    if !facts.is_file() {
        return Err("it is no file".to_owned());
    }
    if facts.len() > LARGEST {
        return Err(format!("it has more than {} MiB", LARGEST >> 20));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(words)?;
    file.take(facts.len())
        .read_to_end(&mut bytes)
        .map_err(words)?;
    let not_text = |error: std::string::FromUtf8Error| {
        let offset = error.utf8_error().valid_up_to();
        format!("it is not UTF-8 text: look at byte {offset}")
    };
    String::from_utf8(bytes).map_err(not_text)
}

/// Adds the documents of included files to the system file: lists are joined, and if both have a
/// key, the file that includes counts.
pub(super) fn merge<'a>(
    root: &mut DeTable<'a>,
    included: Vec<DeTable<'a>>,
    parts: &[Part],
    problems: &mut Vec<Problem>,
) {
    for (index, document) in included.into_iter().enumerate() {
        let offset = parts[index + 1].range.start;
        for (key, value) in document {
            let place = key.span().start + offset..key.span().end + offset;
            let key = Placed::new(place, key.into_inner());
            let value = moved(value, offset);
            match &**key.get_ref() {
                "include" => {}
                "connections" | "bonds" | "interface_models" => join(root, key, value),
                "experiment" => add_experiment(root, key, value),
                "components" => add_components(root, key, value, parts, problems),
                _ => add_keys(root, key, value, false),
            }
        }
    }
}

type Key<'a> = Placed<std::borrow::Cow<'a, str>>;

/// Joins two lists; a table alone, or a pair, is a list of one.
fn join<'a>(root: &mut DeTable<'a>, key: Key<'a>, value: Placed<DeValue<'a>>) {
    let Some((known_key, known)) = root.remove_entry(&**key.get_ref()) else {
        root.insert(key, value);
        return;
    };
    let place = known.span();
    let mut list = DeArray::new();
    for element in elements(known).into_iter().chain(elements(value)) {
        list.push(element);
    }
    root.insert(known_key, Placed::new(place, DeValue::Array(list)));
}

fn elements<'a>(value: Placed<DeValue<'a>>) -> Vec<Placed<DeValue<'a>>> {
    let place = value.span();
    match value.into_inner() {
        DeValue::Array(list) if !is_pair(&list) => list.into_iter().collect(),
        other => vec![Placed::new(place, other)],
    }
}

/// Adds keys of `[experiment]`; `duration` is another way to write `stop_time`.
fn add_experiment<'a>(root: &mut DeTable<'a>, key: Key<'a>, value: Placed<DeValue<'a>>) {
    const STOP: [&str; 2] = ["stop_time", "duration"];
    let known = root.get("experiment");
    let known = known.and_then(|known| known.get_ref().as_table());
    let has_stop = known.is_some_and(|known| STOP.iter().any(|key| known.contains_key(*key)));
    let place = value.span();
    let mut value = value.into_inner();
    if let (DeValue::Table(table), true) = (&mut value, has_stop) {
        for key in STOP {
            table.remove(key);
        }
    }
    add_keys(root, key, Placed::new(place, value), false);
}

/// Adds a value, or the keys of a table that the existing table lacks; if `within`, also for the tables in it.
fn add_keys<'a>(into: &mut DeTable<'a>, key: Key<'a>, value: Placed<DeValue<'a>>, within: bool) {
    if !into.contains_key(&**key.get_ref()) {
        into.insert(key, value);
        return;
    }
    let known = into.get_mut(&**key.get_ref()).map(Placed::get_mut);
    let (Some(DeValue::Table(known)), DeValue::Table(table)) = (known, value.into_inner()) else {
        return;
    };
    for (key, value) in table {
        if within || &**key.get_ref() == "start_values" {
            add_keys(known, key, value, true);
        } else if !known.contains_key(&**key.get_ref()) {
            known.insert(key, value);
        }
    }
}

/// Adds components. Two files may say something of one component if one of them includes the other.
fn add_components<'a>(
    root: &mut DeTable<'a>,
    key: Key<'a>,
    value: Placed<DeValue<'a>>,
    parts: &[Part],
    problems: &mut Vec<Problem>,
) {
    let known = root.get_mut("components").map(Placed::get_mut);
    let Some(DeValue::Table(known)) = known else {
        return add_keys(root, key, value, false);
    };
    let DeValue::Table(components) = value.into_inner() else {
        return;
    };
    for (name, component) in components {
        let other = known.get_key_value(&**name.get_ref());
        let other = other.map(|(other, _)| other.span().start);
        if other.is_some_and(|other| !is_included_by(parts, name.span().start, other)) {
            let message = format!(
                "the component `{}` is in two included files",
                name.get_ref()
            );
            problems.push(
                Problem::error("duplicate-name", message)
                    .at(&name.span())
                    .help("rename one, or include one of the files in the other"),
            );
            continue;
        }
        add_keys(known, name, component, false);
    }
}

/// Whether the file at the offset `one` is included by that at the offset `other`, by way of others
/// or not.
fn is_included_by(parts: &[Part], one: usize, other: usize) -> bool {
    let part = |offset: usize| parts.iter().rposition(|part| part.range.start <= offset);
    let (mut part_of_one, part_of_other) = (part(one), part(other));
    while let Some(index) = part_of_one {
        if part_of_one == part_of_other {
            return true;
        }
        part_of_one = parts[index].parent;
    }
    false
}
