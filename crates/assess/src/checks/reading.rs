//! Files of checks.
//!
//! ```toml
//! [[checks]]
//! name = "the cart comes to rest"                  # left out: the check in a sentence
//! signal = "cart.*"                                # `*` and `?` stand for any text and any character
//! from = 1.0                                       # s; left out: the start
//! until = 2.0                                      # s; left out: the end
//! never_above = 0.6                                # one kind or several
//! within = { value = 0.5, tolerance = 0.1 }
//!
//! [[checks]]
//! bond = "coupling"                                # left out: the whole system
//! energy_error_below = { relative = 0.01 }
//! verdict_at_least = "visible"
//!
//! [[checks]]
//! component = "damper"
//! balance_above = 0.0                              # J
//! ```

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gyrator_system::toml_file::section::{Reader, Section};
use gyrator_system::toml_file::{ReadError, parse_document, read_text};
use gyrator_system::{Problem, Problems, Spanned};
use toml::Spanned as Placed;
use toml::de::DeValue;

use super::{Check, Checks, KINDS, Kind, Quantity, Window};

/// Reads a file of checks.
///
/// # Errors
/// [`ReadError`] if the file cannot be read, or with all problems of its text.
pub fn read(path: &Path) -> Result<Checks, ReadError> {
    Ok(parse(read_text("the file of checks", path)?, path)?)
}

/// Reads checks from text, which comes from `path`. Names are looked up when they meet a system.
///
/// # Errors
/// All problems of the text.
pub fn parse(text: impl Into<String>, path: impl Into<PathBuf>) -> Result<Checks, Problems> {
    parse_document(text, path, "a file of checks", |mut root, reader| {
        let mut checks = Vec::new();
        if let Some(list) = root.required("checks", reader) {
            for section in reader.tables("checks", list) {
                checks.extend(read_checks(section, list, reader));
            }
        }
        root.finish(reader);
        if reader.problems.is_empty() && checks.is_empty() {
            let problem = Problem::error("missing-check", "there is no check");
            reader.problems.push(problem);
        }
        Some(Checks {
            source: Arc::clone(reader.source()),
            list: checks,
        })
    })
}

/// The signals, bonds or components that an element is about.
struct Subject {
    key: &'static str,
    name: Spanned<String>,
}

fn read_checks(
    mut section: Section<'_>,
    list: &Placed<DeValue<'_>>,
    reader: &mut Reader,
) -> Vec<Check> {
    let before = reader.problems.len();
    let name = section.text("name", reader);
    let subject = subject(&mut section, reader);
    let window = Window {
        from: time("from", &mut section, reader),
        until: time("until", &mut section, reader),
    };
    check_order(&window, reader);
    let mut checks = Vec::new();
    let mut is_any = false;
    for kind in KINDS {
        let Some(value) = section.take(kind.word) else {
            continue;
        };
        is_any = true;
        let requirement = (kind.read)(value, reader);
        check_subject(kind, subject.as_ref(), &window, value, reader);
        checks.extend(requirement.map(|requirement| Check {
            name: name.as_ref().map(|name| name.value.clone()),
            kind: *kind,
            subject: subject.as_ref().map(|subject| subject.name.clone()),
            window: window.clone(),
            requirement,
            span: value.span(),
        }));
    }
    section.finish(reader);
    if !is_any && reader.problems.len() == before {
        let words: Vec<&str> = KINDS.iter().map(|kind| kind.word).collect();
        let place = subject.map_or(list.span(), |subject| subject.name.span);
        let problem = Problem::error("missing-check", "there is nothing to check here");
        let help = format!("add one or several of {}", words.join(", "));
        reader.problems.push(problem.at(&place).help(help));
    }
    checks
}

fn subject(section: &mut Section<'_>, reader: &mut Reader) -> Option<Subject> {
    let mut found: Option<Subject> = None;
    for key in ["signal", "bond", "component"] {
        let Some(name) = section.text(key, reader) else {
            continue;
        };
        if let Some(first) = &found {
            let message = format!("a check is of a {}, or of a {key}", first.key);
            let problem = Problem::error("two-subjects", message).at(&name.span);
            let help = format!("write another [[checks]] for the {key}");
            reader.problems.push(problem.help(help));
        } else {
            found = Some(Subject { key, name });
        }
    }
    found
}

fn time(key: &'static str, section: &mut Section<'_>, reader: &mut Reader) -> Option<Spanned<f64>> {
    let value = section.take(key)?;
    let time = finite(key, value, reader)?;
    Some(Spanned::new(time, value.span()))
}

fn check_order(window: &Window, reader: &mut Reader) {
    if let (Some(from), Some(until)) = (&window.from, &window.until)
        && until.value < from.value
    {
        let (from, end) = (from.value, until.value);
        let message = format!("the window ends at {end} s and begins at {from} s");
        let problem = Problem::error("ends-before-begin", message).at(&until.span);
        let help = "`until` is a time, not a duration";
        reader.problems.push(problem.help(help));
    }
}

/// Whether a kind fits to what the element is about.
fn check_subject(
    kind: &Kind,
    subject: Option<&Subject>,
    window: &Window,
    value: &Placed<DeValue<'_>>,
    reader: &mut Reader,
) {
    let (word, key) = (kind.word, kind.quantity.key());
    let problem = match subject {
        Some(subject) if subject.key != key => {
            let message = format!("`{word}` is a check of a {key}, not of a {}", subject.key);
            Some(Problem::error("other-subject", message))
        }
        None if !kind.quantity.may_be_whole() => {
            let message = format!("`{word}` needs `{key}`");
            Some(Problem::error("missing-key", message))
        }
        _ => None,
    };
    reader
        .problems
        .extend(problem.map(|problem| problem.at(&value.span())));
    let ends = window.from.iter().chain(&window.until);
    if let (Quantity::Report, Some(end)) = (kind.quantity, ends.into_iter().next()) {
        let message = format!("`{word}` is about the whole run, and has no window");
        let problem = Problem::error("no-window", message).at(&end.span);
        let help = "write another [[checks]] without `from` and `until` for it";
        reader.problems.push(problem.help(help));
    }
}

/// A finite number.
pub(super) fn finite(key: &str, value: &Placed<DeValue<'_>>, reader: &mut Reader) -> Option<f64> {
    let number = reader.number(key, value)?.value;
    if number.is_finite() {
        return Some(number);
    }
    let message = format!("`{key}` is {number}; it must be finite");
    reader.error("not-finite", message, &value.span());
    None
}

/// A finite number that is not negative.
pub(super) fn not_negative(
    key: &str,
    value: &Placed<DeValue<'_>>,
    reader: &mut Reader,
) -> Option<f64> {
    let number = finite(key, value, reader)?;
    if number >= 0.0 {
        return Some(number);
    }
    let message = format!("`{key}` is {number}; it must not be negative");
    reader.error("negative", message, &value.span());
    None
}

/// The keys of a kind that takes a table.
pub(super) fn keys<'a>(
    word: &str,
    value: &'a Placed<DeValue<'a>>,
    reader: &mut Reader,
) -> Option<Section<'a>> {
    let DeValue::Table(table) = value.get_ref() else {
        reader.wrong_type(word, "a table", value);
        return None;
    };
    Some(Section::new(format!("`{word}`"), table, value.span()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> String {
        let found = parse(text, "checks.toml").err();
        found.map_or(String::new(), |problems| problems.to_string())
    }

    #[test]
    fn all_mistakes_are_found_at_once() {
        let text = "cheks = 1\n\
                    [[checks]]\nsignal = \"a.y\"\nnever_abov = 1\n\
                    [[checks]]\nsignal = \"a.y\"\nbond = \"b\"\nnever_above = inf\n\
                    [[checks]]\nsignal = \"a.y\"\nfrom = 2\nuntil = 1\nwithin = { value = 1, tolerance = -1 }\n\
                    [[checks]]\nbond = \"b\"\nnever_below = 1\nenergy_error_below = { relativ = 1 }\n\
                    [[checks]]\nwithin = 1\n\
                    [[checks]]\nverdict_at_least = \"smal\"\nfrom = 1\n\
                    [[checks]]\nsignal = \"a.y\"\n";
        let found = problems(text);
        for words in [
            "checks.toml:1:1: error: unknown key `cheks` in a file of checks [unknown-key]",
            "checks.toml:4:1: error: unknown key `never_abov` in an element of `checks` [unknown-key]\n  \
             help: did you mean `never_above`?",
            "checks.toml:7:8: error: a check is of a signal, or of a bond [two-subjects]",
            "checks.toml:8:15: error: `never_above` is inf; it must be finite [not-finite]",
            "checks.toml:12:9: error: the window ends at 1 s and begins at 2 s [ends-before-begin]",
            "checks.toml:13:35: error: `tolerance` is -1; it must not be negative [negative]",
            "checks.toml:16:15: error: `never_below` is a check of a signal, not of a bond [other-subject]",
            "checks.toml:17:24: error: unknown key `relativ` in `energy_error_below` [unknown-key]\n  \
             help: did you mean `relative`?",
            "checks.toml:19:10: error: `within` must be a table, not a number [wrong-type]",
            "checks.toml:19:10: error: `within` needs `signal` [missing-key]",
            "checks.toml:21:20: error: there is no verdict `smal` [unknown-word]\n  help: did you mean `small`?",
            "checks.toml:22:8: error: `verdict_at_least` is about the whole run",
            "checks.toml:24:10: error: there is nothing to check here [missing-check]",
        ] {
            assert!(found.contains(words), "{words}:\n{found}");
        }
        assert_eq!(found.matches(": error: ").count(), 13, "{found}");
        for (text, rule) in [
            ("", "missing-key"),
            ("[[checks]", "syntax"),
            ("checks = []", "missing-check"),
            ("checks = 1", "wrong-type"),
        ] {
            assert!(problems(text).contains(rule), "{text}");
        }
    }

    /// Every kind is read as its summary says.
    #[test]
    fn every_kind_is_read() {
        let text = "[[checks]]\nname = \"n\"\nsignal = \"a.*\"\nfrom = 1\nuntil = 1\nnever_above = 1\n\
                    never_below = 0\nreaches = 0.5\nwithin = { value = 1, tolerance = 0 }\n\
                    settles = { by = 1, tolerance = 1 }\n\
                    [[checks]]\nbond = \"b\"\nenergy_error_below = 1\nresidual_energy_below = { relative = 0.1 }\n\
                    net_energy_error_below = 1\nverdict_at_least = \"cannot-tell\"\n\
                    [[checks]]\ncomponent = \"c\"\nbalance_above = -1\nbalance_below = 1\n";
        let checks = parse(text, "checks.toml").unwrap();
        let mut read: Vec<&str> = checks.list().iter().map(|check| check.kind.word).collect();
        let mut known: Vec<&str> = KINDS.iter().map(|kind| kind.word).collect();
        read.sort_unstable();
        known.sort_unstable();
        assert_eq!(read, known);
        let sentences: Vec<String> = checks.not_judged("").into_iter().map(|f| f.name).collect();
        assert_eq!(sentences[0], "n: a.* is never above 1 from 1 s until 1 s");
        assert_eq!(sentences[5], "bond b has an energy error below 1 J");
    }
}
