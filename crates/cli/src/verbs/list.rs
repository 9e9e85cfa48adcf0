//! `gyrator list`: the words of the registries.

use std::collections::BTreeSet;

use clap::Args;
use gyrator::Registries;
use gyrator::block::BLOCKS;
use gyrator::compatibility::{Claims, claims};
use gyrator::exchange::EXCHANGE_MODES;
use gyrator::need::{Facts, Need};
use gyrator::registry::{Entry, EntryKind, ParameterInfo, ParameterKind};
use gyrator::scenario::ACTIONS;
use gyrator_assess::checks::{KINDS, Kind};
use gyrator_study::{SAMPLINGS, Sampling};
use gyrator_system::did_you_mean;
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::numbers::short;
use crate::screen;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print only these registries, such as `methods` [default: all]
    #[arg(value_name = "REGISTRY")]
    registries: Vec<String>,
}

/// Prints the registries.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let mut registries = listed_registries();
    let names: Vec<&str> = registries.iter().map(|one| one.registry).collect();
    if let Some(unknown) = options
        .registries
        .iter()
        .find(|name| !names.contains(&name.as_str()))
    {
        let text = format!("there is no registry `{unknown}`");
        let all = || format!("it is one of {}", names.join(", "));
        let help = did_you_mean(unknown, names.iter().copied()).unwrap_or_else(all);
        return Err(Failure::usage(text).help(help));
    }
    let is_whole = options.registries.is_empty();
    registries.retain(|one| is_whole || options.registries.iter().any(|name| name == one.registry));
    if options.json {
        screen::print(&screen::json(&registries)?)?;
    } else {
        let texts = registries.iter().map(Listed::render);
        let needs = is_whole.then(|| needs(&claims(&Registries::default())));
        let texts: Vec<String> = texts.chain(needs).collect();
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

#[derive(Default, Serialize)]
struct Word {
    name: &'static str,
    aliases: Vec<&'static str>,
    summary: &'static str,
    source: &'static str,
    parameters: Vec<Parameter>,
    /// Its needs of the rest of a system, with some of its parameters.
    needs: Vec<&'static str>,
    /// Needs that nothing else can have beside it, likewise.
    withholds: Vec<&'static str>,
}

#[derive(Serialize)]
struct Parameter {
    name: &'static str,
    summary: &'static str,
    default: serde_json::Value,
    /// Least and greatest number; no greatest if there is none.
    range: Option<(f64, Option<f64>)>,
    /// Whole numbers only.
    is_whole: bool,
    words: &'static [&'static str],
    /// Names of components are also allowed.
    takes_names: bool,
    /// Names of signals are also allowed.
    takes_signals: bool,
    /// Any text is allowed, or the path of any file.
    takes: Option<&'static str>,
}

fn listed_registries() -> Vec<Listed> {
    let all = Registries::default();
    vec![
        listed("methods", "method of [experiment]", all.methods.entries()),
        listed(
            "extrapolations",
            "extrapolation of [experiment] and [components.NAME]",
            all.extrapolations.entries(),
        ),
        listed(
            "corrections",
            "correction of [[bonds]]",
            all.corrections.entries(),
        ),
        listed(
            "step controls",
            "step_control of [experiment]",
            all.step_controls.entries(),
        ),
        listed(
            "interface orders",
            "order of [[interface_models]], whose parameters are keys beside it",
            all.interface_orders.entries(),
        ),
        listed(
            "exchange modes",
            "exchange of [experiment] and [components.NAME]",
            EXCHANGE_MODES,
        ),
        listed(
            "blocks",
            "block of [components.NAME], in place of an FMU",
            BLOCKS,
        ),
        listed(
            "actions",
            "action of [[actions]] of a scenario file",
            ACTIONS,
        ),
        checks(),
        samplings(),
    ]
}

fn samplings() -> Listed {
    let word = |sampling: &&Sampling| Word {
        name: sampling.name,
        summary: sampling.summary,
        source: sampling.source,
        ..Word::default()
    };
    Listed {
        registry: "samplings",
        key: "sampling of [[vary]] of a study file, beside `random`",
        entries: SAMPLINGS.iter().map(word).collect(),
    }
}

fn checks() -> Listed {
    let word = |kind: &Kind| Word {
        name: kind.word,
        summary: kind.summary,
        ..Word::default()
    };
    Listed {
        registry: "checks",
        key: "key of [[checks]] of a file for `run --check`",
        entries: KINDS.iter().map(word).collect(),
    }
}

fn listed<K: EntryKind + ?Sized>(
    registry: &'static str,
    key: &'static str,
    entries: &[Entry<K>],
) -> Listed {
    let word = |entry: &Entry<K>| {
        let variants = entry.variants();
        let facts: Vec<_> = variants
            .iter()
            .map(|(_, chosen)| chosen.usual_facts())
            .collect();
        Word {
            name: entry.name,
            aliases: entry.aliases().collect(),
            summary: entry.summary,
            source: entry.source,
            parameters: entry.parameters.iter().map(parameter).collect(),
            needs: words(facts.iter().flat_map(Facts::needs)),
            withholds: words(facts.iter().flat_map(Facts::withholds)),
        }
    };
    Listed {
        registry,
        key,
        entries: entries.iter().map(word).collect(),
    }
}

fn words(needs: impl Iterator<Item = Need>) -> Vec<&'static str> {
    let distinct: BTreeSet<Need> = needs.collect();
    distinct.into_iter().map(Need::words).collect()
}

/// The table of what needs what, a paragraph a need.
fn needs(table: &[Claims]) -> String {
    let mut text =
        "needs (an entry that has one and an entry that withholds it exclude each other)\n"
            .to_owned();
    for claims in table {
        text.push_str(&format!("  {}\n", claims.need.words()));
        text.push_str(&format!(
            "      needed by    {}\n",
            claims.needed_by.join(", ")
        ));
        text.push_str(&format!(
            "      withheld by  {}\n",
            claims.withheld_by.join(", ")
        ));
    }
    text
}

fn parameter(info: &ParameterInfo) -> Parameter {
    let upper = |greatest: f64| greatest.is_finite().then_some(greatest);
    let (default, range, words): (serde_json::Value, _, &'static [&'static str]) = match info.kind {
        ParameterKind::Number {
            default,
            range: (least, greatest),
        } => (default.into(), Some((least, upper(greatest))), &[]),
        ParameterKind::WholeNumber {
            default,
            range: (least, greatest),
            or_auto,
        } => (
            default.into(),
            Some((least as f64, upper(greatest as f64))),
            if or_auto { &["auto"] } else { &[] },
        ),
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
        ParameterKind::Word(words)
        | ParameterKind::Names(words)
        | ParameterKind::Signals(words) => (words.first().copied().into(), None, words),
        ParameterKind::Text(default) => (default.into(), None, &[]),
        ParameterKind::File => (serde_json::Value::Null, None, &[]),
    };
    Parameter {
        name: info.name,
        summary: info.summary,
        default,
        range,
        is_whole: matches!(info.kind, ParameterKind::WholeNumber { .. }),
        words,
        takes_names: matches!(info.kind, ParameterKind::Names(_)),
        takes_signals: matches!(info.kind, ParameterKind::Signals(_)),
        takes: match info.kind {
            ParameterKind::Text(_) => Some("text"),
            ParameterKind::File => Some("path of a file"),
            _ => None,
        },
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
            text.push_str(&format!("  {:width$}  {}", word.name, word.summary));
            for alias in &word.aliases {
                text.push_str(&format!("; alias {alias}"));
            }
            text.push('\n');
            if !word.source.is_empty() {
                text.push_str(&format!("  {:width$}  [{}]\n", "", word.source));
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
        if let Some(takes) = self.takes {
            return takes.to_owned();
        }
        let numbers = match self.range {
            Some((f64::MIN_POSITIVE, None)) => "above 0".to_owned(),
            Some((least, None | Some(f64::MAX))) if least <= -f64::MAX => "a number".to_owned(),
            Some((least, Some(greatest))) => format!("{} to {}", short(least), short(greatest)),
            Some((least, None)) => format!("at least {}", short(least)),
            None if self.takes_names || self.takes_signals => {
                return format!("{}, or names", self.words.join(", "));
            }
            None => return self.words.join(", "),
        };
        if self.is_whole {
            return format!("whole, {numbers}");
        }
        if self.words.is_empty() {
            return numbers;
        }
        format!("{}, or {numbers}", self.words.join(", "))
    }
}
