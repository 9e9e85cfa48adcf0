//! `gyrator list`: the words of the registries.

use clap::Args;
use gyrator::{
    CORRECTIONS, EXTRAPOLATIONS, Entry, Exchange, INTERFACE_ORDERS, METHODS, ParameterInfo,
    ParameterKind, STEP_CONTROLS,
};
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::short;
use crate::screen;

/// Options of `gyrator list`.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Print JSON, for programs
    #[arg(long)]
    json: bool,
}

/// Prints all registries.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let registries = registries();
    if options.json {
        let text = serde_json::to_string_pretty(&registries).map_err(std::io::Error::from)?;
        screen::print(&format!("{text}\n"))?;
    } else {
        let texts: Vec<String> = registries.iter().map(Listed::render).collect();
        screen::print(&texts.join("\n"))?;
    }
    Ok(Exit::Success)
}

/// A registry, with the key of a system file that takes its words.
#[derive(Serialize)]
struct Listed {
    registry: &'static str,
    key: &'static str,
    entries: Vec<Word>,
}

#[derive(Serialize)]
struct Word {
    name: &'static str,
    summary: &'static str,
    source: Option<&'static str>,
    parameters: Vec<Parameter>,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    summary: &'static str,
    default: serde_json::Value,
    /// Least and greatest number; no greatest where there is none.
    range: Option<(f64, Option<f64>)>,
    words: &'static [&'static str],
    /// Names of components are allowed, too.
    takes_names: bool,
}

fn registries() -> Vec<Listed> {
    vec![
        listed("methods", "method of [experiment]", METHODS),
        listed(
            "extrapolations",
            "extrapolation of [experiment] and [components.NAME]",
            EXTRAPOLATIONS,
        ),
        listed("corrections", "correction of [[bonds]]", CORRECTIONS),
        listed(
            "step controls",
            "step_control of [experiment]",
            STEP_CONTROLS,
        ),
        listed(
            "interface orders",
            "order of [[interface_models]], whose parameters are keys beside it",
            INTERFACE_ORDERS,
        ),
        exchange_modes(),
    ]
}

fn listed<B>(registry: &'static str, key: &'static str, entries: &[Entry<B>]) -> Listed {
    let word = |entry: &Entry<B>| Word {
        name: entry.name,
        summary: entry.summary,
        source: Some(entry.source),
        parameters: entry.parameters.iter().map(parameter).collect(),
    };
    Listed {
        registry,
        key,
        entries: entries.iter().map(word).collect(),
    }
}

fn exchange_modes() -> Listed {
    let mode = |word: &str| Exchange::from_word(word);
    let word = |mode: Exchange| Word {
        name: mode.word(),
        summary: mode.summary(),
        source: None,
        parameters: Vec::new(),
    };
    Listed {
        registry: "exchange modes",
        key: "exchange of [experiment] and [components.NAME]",
        entries: Exchange::WORDS
            .iter()
            .filter_map(|known| mode(known))
            .map(word)
            .collect(),
    }
}

fn parameter(info: &ParameterInfo) -> Parameter {
    let upper = |greatest: f64| greatest.is_finite().then_some(greatest);
    let (default, range, words): (serde_json::Value, _, &'static [&'static str]) = match info.kind {
        ParameterKind::Number {
            default,
            range: (least, greatest),
        } => (default.into(), Some((least, upper(greatest))), &[]),
        ParameterKind::NumberOrAuto {
            range: (least, greatest),
        } => ("auto".into(), Some((least, upper(greatest))), &[]),
        ParameterKind::NumberOrWord {
            words,
            range: (least, greatest),
        } => (
            words.first().copied().into(),
            Some((least, upper(greatest))),
            words,
        ),
        ParameterKind::Flag => (false.into(), None, &[]),
        ParameterKind::Word(words) | ParameterKind::Names(words) => {
            (words.first().copied().into(), None, words)
        }
    };
    Parameter {
        name: info.name,
        summary: info.summary,
        default,
        range,
        words,
        takes_names: matches!(info.kind, ParameterKind::Names(_)),
    }
}

impl Listed {
    fn render(&self) -> String {
        let mut text = format!("{} ({})\n", self.registry, self.key);
        let width = self
            .entries
            .iter()
            .map(|word| word.name.len())
            .max()
            .unwrap_or(0);
        for word in &self.entries {
            text.push_str(&format!("  {:width$}  {}\n", word.name, word.summary));
            if let Some(source) = word.source {
                text.push_str(&format!("  {:width$}  [{source}]\n", ""));
            }
            text.push_str(&parameter_table(&word.parameters));
        }
        text
    }
}

/// Names, defaults and limits, with the meanings in a paragraph of their own.
fn parameter_table(parameters: &[Parameter]) -> String {
    let mut table = Aligned::new(&[
        ("", Align::Left),
        ("parameter", Align::Left),
        ("default", Align::Right),
        ("allowed", Align::Left),
        ("meaning", Align::Left),
    ]);
    for parameter in parameters {
        table.row([
            "  ",
            parameter.name,
            &parameter.default_text(),
            &parameter.allowed(),
            parameter.summary,
        ]);
    }
    if parameters.is_empty() {
        String::new()
    } else {
        table.render()
    }
}

impl Parameter {
    fn default_text(&self) -> String {
        match &self.default {
            serde_json::Value::String(word) => word.clone(),
            serde_json::Value::Null => "none".to_owned(),
            number => number.as_f64().map_or_else(|| number.to_string(), short),
        }
    }

    fn allowed(&self) -> String {
        let numbers = match self.range {
            Some((least, Some(greatest))) => format!("{} to {}", short(least), short(greatest)),
            Some((f64::MIN_POSITIVE, None)) => "above 0".to_owned(),
            Some((least, None)) => format!("at least {}", short(least)),
            None if self.takes_names => return format!("{}, or names", self.words.join(", ")),
            None => return self.words.join(", "),
        };
        if self.words.is_empty() {
            return numbers;
        }
        format!("{}, or {numbers}", self.words.join(", "))
    }
}
