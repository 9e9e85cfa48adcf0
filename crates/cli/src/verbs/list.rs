//! `gyrator list`: the words of the registries.

use clap::Args;
use gyrator::{
    CORRECTIONS, EXTRAPOLATIONS, Entry, Exchange, METHODS, ParameterInfo, ParameterKind,
    STEP_CONTROLS,
};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::Failure;
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
    source: &'static str,
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
        exchange_modes(),
    ]
}

fn listed<B>(registry: &'static str, key: &'static str, entries: &[Entry<B>]) -> Listed {
    let word = |entry: &Entry<B>| Word {
        name: entry.name,
        summary: entry.summary,
        source: entry.source,
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
        source: "FMI 2.0.5 section 4.2.4",
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
        ParameterKind::Word(words) => (words.first().copied().into(), None, words),
    };
    Parameter {
        name: info.name,
        summary: info.summary,
        default,
        range,
        words,
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
            text.push_str(&format!("  {:width$}  [{}]\n", "", word.source));
            for parameter in &word.parameters {
                text.push_str(&format!("  {:width$}    {}\n", "", parameter.render()));
            }
        }
        text
    }
}

impl Parameter {
    fn render(&self) -> String {
        let default = match &self.default {
            serde_json::Value::String(word) => word.clone(),
            number => number.to_string(),
        };
        let allowed = match self.range {
            Some((least, Some(greatest))) => format!("{least} to {greatest}"),
            Some((least, None)) => format!("at least {least}"),
            None => self.words.join(", "),
        };
        format!("{} = {default}: {} ({allowed})", self.name, self.summary)
    }
}
