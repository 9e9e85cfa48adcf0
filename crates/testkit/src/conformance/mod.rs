//! Properties that every method, extrapolation, correction, exchange mode, step control and interface order must
//! do.
//!
//! A new word in a registry is tried on all systems here without a line of test code.

mod accuracy;
mod draft;
mod facts;
mod interface_models;
mod parameters;
mod runs;
mod signals;
mod systems;

use std::fmt;

use gyrator::{CORRECTIONS, EXTRAPOLATIONS, Exchange, METHODS, STEP_CONTROLS};

use crate::extrapolations::needs_substeps;

/// One word of each registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Combination {
    /// A word of [`METHODS`].
    pub method: &'static str,
    /// A word of [`EXTRAPOLATIONS`].
    pub extrapolation: &'static str,
    /// A word of [`CORRECTIONS`], or `off`.
    pub correction: &'static str,
    /// A word of [`Exchange::WORDS`].
    pub exchange: &'static str,
    /// A word of [`STEP_CONTROLS`].
    pub step_control: &'static str,
}

impl Combination {
    /// All combinations.
    pub fn all() -> Vec<Self> {
        let corrections = || std::iter::once("off").chain(CORRECTIONS.iter().map(|c| c.name));
        let mut all = Vec::new();
        for method in METHODS {
            for extrapolation in EXTRAPOLATIONS {
                for correction in corrections() {
                    for exchange in Exchange::WORDS {
                        all.extend(STEP_CONTROLS.iter().map(|step_control| Self {
                            method: method.name,
                            extrapolation: extrapolation.name,
                            correction,
                            exchange,
                            step_control: step_control.name,
                        }));
                    }
                }
            }
        }
        all
    }

    /// Combinations in which every pair of words meets, and at most two words are not the first of
    /// their registry.
    #[must_use]
    pub fn pairs() -> Vec<Self> {
        let mut pairs = Self::all();
        pairs.retain(|combination| combination.unusual_words() <= 2);
        pairs
    }

    /// Whether the extrapolation needs a source with communication steps much shorter than the
    /// macro-step.
    fn needs_substeps(&self) -> bool {
        needs_substeps(self.extrapolation)
    }

    /// The words of all registries.
    fn all_words() -> impl Iterator<Item = &'static str> {
        let words = METHODS.iter().map(|entry| entry.name);
        words
            .chain(EXTRAPOLATIONS.iter().map(|entry| entry.name))
            .chain(CORRECTIONS.iter().map(|entry| entry.name))
            .chain(Exchange::WORDS)
            .chain(STEP_CONTROLS.iter().map(|entry| entry.name))
    }

    fn words(&self) -> [&'static str; 5] {
        [
            self.method,
            self.extrapolation,
            self.correction,
            self.exchange,
            self.step_control,
        ]
    }

    /// Where at most two words are not the first of their registry, every pair of words meets.
    fn unusual_words(&self) -> usize {
        let words = [
            self.method != METHODS[0].name,
            self.extrapolation != EXTRAPOLATIONS[0].name,
            self.correction != "off",
            self.exchange != Exchange::WORDS[0],
            self.step_control != STEP_CONTROLS[0].name,
        ];
        words.into_iter().filter(|is_unusual| *is_unusual).count()
    }
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            method,
            extrapolation,
            correction,
            exchange,
            step_control,
        } = self;
        write!(
            f,
            "{method} + {extrapolation} + {correction} + {exchange} + {step_control}"
        )
    }
}

/// A rule that was broken, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The combination, or the registry entry.
    pub subject: String,
    /// Its result.
    pub message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.message)
    }
}

type Check = fn(&Combination) -> Result<(), String>;

/// The rules of a run, by what they say.
const CHECKS: &[(&str, Check)] = &[
    ("a run ends at its stop time", runs::ends_at_the_stop_time),
    (
        "the order of components and connections changes nothing",
        runs::order_changes_nothing,
    ),
    (
        "the number of threads changes nothing",
        runs::threads_change_nothing,
    ),
    (
        "the ledger of a bond changes no signal",
        runs::ledger_changes_nothing,
    ),
    (
        "a slow unit publishes at its own points only",
        runs::slow_units_publish_late,
    ),
    ("calls come in FMI's order", runs::calls_come_in_order),
    ("calls are counted", runs::calls_are_counted),
    (
        "errors fall with the step as the entries declare",
        accuracy::errors_fall,
    ),
    (
        "the ledger has the energy that the units store",
        accuracy::ledger_closes,
    ),
    (
        "no input depends on later outputs",
        signals::no_input_depends_on_later_outputs,
    ),
    ("constants pass exactly", signals::constants_pass),
    (
        "polynomials pass exactly, up to the extrapolation's degree",
        signals::polynomials_pass,
    ),
    (
        "a line passes within the step, where units take turns",
        signals::lines_pass_within_the_step,
    ),
];

/// Tries every combination on one system, every pair of words with all rules and with each order of
/// an interface model, and the parameters and facts of every entry. Returns the number of checks made.
///
/// # Errors
/// All rules that were broken.
pub fn run_all() -> Result<usize, Vec<Failure>> {
    let mut failures = parameters::check_all();
    failures.extend(facts::check_all());
    let mut made = interface_models::check_all(&mut failures);
    let combinations = Combination::all();
    for combination in &combinations {
        let mut fail = |message: String| {
            failures.push(Failure {
                subject: combination.to_string(),
                message,
            });
        };
        made += 1;
        match runs::star_runs_or_is_refused(combination) {
            Err(message) => fail(message),
            Ok(runs) if runs && combination.unusual_words() <= 2 => {
                for (rule, check) in CHECKS {
                    made += 1;
                    if let Err(message) = check(combination) {
                        fail(format!("{rule}: {message}"));
                    }
                }
            }
            Ok(_) => {}
        }
    }
    if failures.is_empty() {
        Ok(made)
    } else {
        Err(failures)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn facts_are_what_entries_do() {
        let failures = super::facts::check_all();
        let lines: Vec<_> = failures.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }

    #[test]
    fn every_word_of_every_registry_keeps_the_rules() {
        match super::run_all() {
            Ok(checks) => assert!(checks > 0),
            Err(failures) => {
                let lines: Vec<_> = failures.iter().map(ToString::to_string).collect();
                panic!("{} rules broken:\n{}", lines.len(), lines.join("\n"));
            }
        }
    }
}
