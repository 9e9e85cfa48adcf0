//! Parameters of registry entries: their kinds and their checked values.

use gyrator_system::{Choice, Problem, Value, closest};

/// Every number that is positive.
pub(crate) const POSITIVE: (f64, f64) = (f64::MIN_POSITIVE, f64::INFINITY);

/// A parameter of a registry entry.
#[derive(Debug, Clone, Copy)]
pub struct ParameterInfo {
    /// Key in the table.
    pub name: &'static str,
    /// Meaning, with unit.
    pub summary: &'static str,
    /// Kind, allowed values and default.
    pub kind: ParameterKind,
}

impl ParameterInfo {
    /// A number within these limits, with its default.
    pub const fn number(
        name: &'static str,
        summary: &'static str,
        default: f64,
        range: (f64, f64),
    ) -> Self {
        Self {
            name,
            summary,
            kind: ParameterKind::Number { default, range },
        }
    }

    /// Any finite number, with its default.
    pub const fn any_number(name: &'static str, summary: &'static str, default: f64) -> Self {
        Self::number(name, summary, default, (-f64::MAX, f64::MAX))
    }

    /// A positive number, with its default.
    pub const fn positive(name: &'static str, summary: &'static str, default: f64) -> Self {
        Self::number(name, summary, default, POSITIVE)
    }

    /// A whole number within these limits, with its default.
    pub const fn whole_number(
        name: &'static str,
        summary: &'static str,
        default: u64,
        range: (u64, u64),
    ) -> Self {
        Self {
            name,
            summary,
            kind: ParameterKind::WholeNumber {
                default,
                range,
                or_auto: false,
            },
        }
    }

    /// A whole number within these limits, with its default, or `auto`.
    pub const fn whole_number_or_auto(
        name: &'static str,
        summary: &'static str,
        default: u64,
        range: (u64, u64),
    ) -> Self {
        Self {
            name,
            summary,
            kind: ParameterKind::WholeNumber {
                default,
                range,
                or_auto: true,
            },
        }
    }

    /// A number within these limits, or `auto`, the default.
    pub const fn number_or_auto(
        name: &'static str,
        summary: &'static str,
        range: (f64, f64),
    ) -> Self {
        Self {
            name,
            summary,
            kind: ParameterKind::NumberOrAuto { range },
        }
    }
}

/// Kind of a parameter, with its allowed values.
#[derive(Debug, Clone, Copy)]
pub enum ParameterKind {
    /// A number within limits.
    Number {
        /// Value if not given.
        default: f64,
        /// Least and greatest allowed value.
        range: (f64, f64),
    },
    /// A whole number within limits.
    WholeNumber {
        /// Value if not given.
        default: u64,
        /// Least and greatest allowed value.
        range: (u64, u64),
        /// The word `auto` is also allowed.
        or_auto: bool,
    },
    /// A number within limits, or the word `auto`, which is also the default.
    NumberOrAuto {
        /// Least and greatest allowed value.
        range: (f64, f64),
    },
    /// A number within limits, or one of some words, of which the first is the default.
    NumberOrWord {
        /// The words.
        words: &'static [&'static str],
        /// Least and greatest allowed value.
        range: (f64, f64),
    },
    /// True or false; false if not given.
    Flag,
    /// One of some words; the first is the default.
    Word(&'static [&'static str]),
    /// One of some words, of which the first is the default, or names of components, separated by commas.
    Names(&'static [&'static str]),
    /// One of some words, of which the first is the default, or [names of signals](super::SignalName): real outputs and
    /// differences of two, separated by commas. A step control may have it.
    Signals(&'static [&'static str]),
    /// Any text, with its default.
    Text(&'static str),
    /// Path of a file, which has no default. In a system file it is relative to the folder of that.
    File,
}

/// Checked parameter values of one use of an entry.
#[derive(Debug, Clone, Default)]
pub struct Arguments {
    numbers: Vec<(&'static str, Option<f64>)>,
    words: Vec<(&'static str, &'static str)>,
    flags: Vec<(&'static str, bool)>,
    texts: Vec<(&'static str, String)>,
}

impl Arguments {
    /// The number `name`; its default if it was not given.
    ///
    /// # Panics
    /// If the entry does not declare such a number: an error of the program.
    pub fn number(&self, name: &str) -> f64 {
        self.number_or_auto(name).expect("a number without `auto`")
    }

    /// The whole number `name`; its default if it was not given.
    ///
    /// # Panics
    /// If the entry does not declare such a number: an error of the program.
    pub fn whole_number(&self, name: &str) -> u64 {
        self.number(name) as u64
    }

    /// The numbers that are given or are defaults, by their names.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let given = |(name, number): &(&'static str, Option<f64>)| Some((*name, (*number)?));
        self.numbers.iter().filter_map(given)
    }

    /// The number `name`, or `None` for `auto`.
    ///
    /// # Panics
    /// If the entry does not declare such a number: an error of the program.
    pub fn number_or_auto(&self, name: &str) -> Option<f64> {
        let found = self.numbers.iter().find(|(known, _)| *known == name);
        found.expect("a declared number").1
    }

    /// Whether the flag `name` is set.
    ///
    /// # Panics
    /// If the entry does not declare such a flag: an error of the program.
    pub fn flag(&self, name: &str) -> bool {
        let found = self.flags.iter().find(|(known, _)| *known == name);
        found.expect("a declared flag").1
    }

    /// The text, path, word or names that were given for `name`.
    ///
    /// # Panics
    /// If the entry does not declare such names: an error of the program.
    pub fn text(&self, name: &str) -> &str {
        let found = self.texts.iter().find(|(known, _)| *known == name);
        &found.expect("declared names").1
    }

    /// The word `name`.
    ///
    /// # Panics
    /// If the entry does not declare such a word: an error of the program.
    pub fn word(&self, name: &str) -> &'static str {
        self.words
            .iter()
            .find(|(known, _)| *known == name)
            .expect("a declared word")
            .1
    }

    /// Whether the parameter `name` is this word; false in arguments without it, as for an extrapolation that another one
    /// builds on.
    pub(crate) fn has_word(&self, name: &str, word: &str) -> bool {
        self.words.contains(&(name, word))
    }
}

pub(super) fn suggestion(word: &str, known: &[&str]) -> String {
    match closest(word, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`? known: {}", known.join(", ")),
        None if known.is_empty() => "it takes no parameters".to_owned(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// The parameters of `choice`, checked.
pub(super) fn arguments(
    entry: &str,
    parameters: &'static [ParameterInfo],
    choice: &Choice,
) -> Result<Arguments, Vec<Problem>> {
    let mut problems = Vec::new();
    for (key, _) in &choice.parameters {
        if !parameters
            .iter()
            .any(|parameter| parameter.name == key.value)
        {
            let names: Vec<_> = parameters.iter().map(|parameter| parameter.name).collect();
            problems.push(
                Problem::error(
                    "unknown-parameter",
                    format!("`{entry}` has no parameter `{}`", key.value),
                )
                .at(&key.span)
                .help(suggestion(&key.value, &names)),
            );
        }
    }
    let mut arguments = Arguments::default();
    for parameter in parameters {
        let given = choice
            .parameters
            .iter()
            .find(|(key, _)| key.value == parameter.name);
        if let Err(expected) = arguments.read(parameter, given.map(|(_, value)| &value.value)) {
            let span = given.map_or(&choice.name.span, |(_, value)| &value.span);
            problems.push(
                Problem::error(
                    "bad-parameter",
                    format!("`{}` of `{entry}` must be {expected}", parameter.name),
                )
                .at(span)
                .help(parameter.summary),
            );
        }
    }
    if problems.is_empty() {
        Ok(arguments)
    } else {
        Err(problems)
    }
}

impl Arguments {
    fn numbers_or_word(
        &mut self,
        name: &'static str,
        number: Option<f64>,
        word: Option<&'static str>,
    ) {
        self.numbers.push((name, number));
        self.words.extend(word.map(|word| (name, word)));
    }

    fn read(&mut self, parameter: &ParameterInfo, given: Option<&Value>) -> Result<(), String> {
        match parameter.kind {
            ParameterKind::Number { default, range } => {
                let value = given.map_or(Ok(default), |value| number_within(value, range))?;
                self.numbers.push((parameter.name, Some(value)));
            }
            ParameterKind::WholeNumber {
                default,
                range,
                or_auto: with_auto,
            } => {
                let whole = |value: &Value| whole_within(value, range);
                let value = match given {
                    None => Some(default as f64),
                    given if with_auto => or_auto(given, whole)?,
                    Some(value) => Some(whole(value)?),
                };
                self.numbers.push((parameter.name, value));
            }
            ParameterKind::NumberOrAuto { range } => {
                let value = or_auto(given, |value| number_within(value, range))?;
                self.numbers.push((parameter.name, value));
            }
            ParameterKind::NumberOrWord { words, range } => match given {
                None => self.numbers_or_word(parameter.name, None, words.first().copied()),
                Some(Value::String(text)) => {
                    let word = words.iter().copied().find(|known| known == text);
                    let expected = || format!("a number, or one of {}", words.join(", "));
                    self.numbers_or_word(parameter.name, None, Some(word.ok_or_else(expected)?));
                }
                Some(value) => {
                    let expected = |number| format!("{number}, or one of {}", words.join(", "));
                    let number = number_within(value, range).map_err(expected)?;
                    self.numbers_or_word(parameter.name, Some(number), None);
                }
            },
            ParameterKind::Flag => {
                let value = match given {
                    None => false,
                    Some(Value::Boolean(value)) => *value,
                    Some(_) => return Err("true or false".to_owned()),
                };
                self.flags.push((parameter.name, value));
            }
            ParameterKind::Names(words) | ParameterKind::Signals(words) => {
                let text = match given {
                    None => words.first().copied().unwrap_or_default(),
                    Some(Value::String(text)) if !text.trim().is_empty() => text,
                    Some(_) => {
                        let of = match parameter.kind {
                            ParameterKind::Names(_) => "components",
                            _ => "real outputs, component.variable, or `a.x - b.y`,",
                        };
                        let words = words.join(", ");
                        return Err(format!("{words}, or names of {of} separated by commas"));
                    }
                };
                self.texts.push((parameter.name, text.to_owned()));
            }
            ParameterKind::Text(default) => match given {
                None => self.texts.push((parameter.name, default.to_owned())),
                Some(Value::String(text)) => self.texts.push((parameter.name, text.clone())),
                Some(_) => return Err("text in quotes".to_owned()),
            },
            ParameterKind::File => match given {
                Some(Value::String(path)) if !path.is_empty() => {
                    self.texts.push((parameter.name, path.clone()));
                }
                _ => return Err("the path of a file".to_owned()),
            },
            ParameterKind::Word(words) => {
                let word = match given {
                    None => words.first().copied(),
                    Some(Value::String(word)) => words.iter().copied().find(|known| known == word),
                    Some(_) => None,
                };
                let word = word.ok_or_else(|| format!("one of {}", words.join(", ")))?;
                self.words.push((parameter.name, word));
            }
        }
        Ok(())
    }
}

fn number_within(value: &Value, (least, greatest): (f64, f64)) -> Result<f64, String> {
    let number = match *value {
        Value::Real(number) => Some(number),
        Value::Integer(number) => Some(number as f64),
        _ => None,
    };
    number
        .filter(|n| (least..=greatest).contains(n))
        .ok_or_else(|| {
            if greatest.is_infinite() && least == f64::MIN_POSITIVE {
                "a positive number".to_owned()
            } else if least <= -f64::MAX && greatest >= f64::MAX {
                "a finite number".to_owned()
            } else if greatest.is_infinite() {
                format!("a number of at least {least}")
            } else {
                format!("a number from {least} to {greatest}")
            }
        })
}

/// The number that `read` finds; `None` for the word `auto` or if nothing is given.
fn or_auto(
    given: Option<&Value>,
    read: impl Fn(&Value) -> Result<f64, String>,
) -> Result<Option<f64>, String> {
    match given {
        None => Ok(None),
        Some(Value::String(word)) if word == "auto" => Ok(None),
        Some(value) => {
            let number = read(value).map_err(|expected| format!("`\"auto\"` or {expected}"))?;
            Ok(Some(number))
        }
    }
}

fn whole_within(value: &Value, (least, greatest): (u64, u64)) -> Result<f64, String> {
    let number = number_within(value, (least as f64, greatest as f64)).ok();
    number
        .filter(|number| number.fract() == 0.0)
        .ok_or_else(|| format!("a whole number from {least} to {greatest}"))
}

impl ParameterKind {
    /// Values that it may have: its words, its limits and 1 if that is between them.
    pub fn samples(&self) -> Vec<Value> {
        let words = |words: &'static [&'static str]| {
            let texts = words.iter().map(|word| (*word).to_owned());
            texts.map(Value::String)
        };
        let numbers = |(least, greatest): (f64, f64)| {
            let numbers = [least, 1.0, greatest].into_iter();
            let allowed = move |n: &f64| n.is_finite() && (least..=greatest).contains(n);
            numbers.filter(allowed).map(Value::Real)
        };
        match *self {
            Self::Number { range, .. } | Self::NumberOrAuto { range } => numbers(range).collect(),
            Self::WholeNumber { range, .. } => numbers((range.0 as f64, range.1 as f64)).collect(),
            Self::NumberOrWord { words: all, range } => words(all).chain(numbers(range)).collect(),
            Self::Flag => [false, true].map(Value::Boolean).into(),
            Self::Word(all) | Self::Names(all) | Self::Signals(all) => words(all).collect(),
            Self::Text(_) | Self::File => Vec::new(),
        }
    }

    /// Reason why no value could be chosen, in words that follow the name of the parameter.
    pub(super) fn misfit(&self) -> Option<String> {
        let range = match *self {
            Self::Number { range, .. }
            | Self::NumberOrAuto { range }
            | Self::NumberOrWord { range, .. } => Some(range),
            Self::WholeNumber { range, .. } => Some((range.0 as f64, range.1 as f64)),
            _ => None,
        };
        if let Some((least, greatest)) = range
            .filter(|(least, greatest)| least.is_nan() || greatest.is_nan() || least > greatest)
        {
            return Some(format!("has no number from {least} to {greatest}"));
        }
        match *self {
            Self::Number { default, range } if !(range.0..=range.1).contains(&default) => {
                Some(format!("has the default {default}, which is not allowed"))
            }
            Self::WholeNumber { default, range, .. } if !(range.0..=range.1).contains(&default) => {
                Some(format!("has the default {default}, which is not allowed"))
            }
            Self::NumberOrWord { words: [], .. }
            | Self::Word([])
            | Self::Names([])
            | Self::Signals([]) => Some("has no words to choose from".to_owned()),
            _ => None,
        }
    }
}
