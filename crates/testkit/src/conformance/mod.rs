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

use gyrator::correction::CORRECTIONS;
use gyrator::exchange_mode::Exchange;
use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::method::METHODS;
use gyrator::step_control::{STEP_CONTROLS, StepControlFacts};
use gyrator_system::Choice;

use crate::combination::Combination;
use crate::extrapolations::needs_substeps;
use runs::TrialRuns;

impl Combination {
    /// Whether the extrapolation needs a source with communication steps much shorter than the
    /// macro-step.
    fn needs_substeps(&self) -> bool {
        needs_substeps(self.extrapolation)
    }

    /// Whether the method makes steps of units again that feed each other.
    fn iterates(&self) -> bool {
        let method = METHODS.iter().find(|entry| entry.name == self.method);
        let chosen = method.and_then(|entry| entry.chosen(&Choice::new(entry.name)).ok());
        chosen.is_some_and(|chosen| chosen.usual_facts().iterates)
    }

    /// Whether the step control makes every macro-step again.
    fn repeats_steps(&self) -> bool {
        self.control_facts().always_repeats
    }

    /// Whether the step control may have steps made again.
    fn may_repeat(&self) -> bool {
        self.control_facts().may_repeat
    }

    /// Whether the signals of a system without bonds move its communication points.
    fn moves_points(&self) -> bool {
        let facts = self.control_facts();
        !facts.is_fixed && !facts.needs_bonds
    }

    fn control_facts(&self) -> StepControlFacts {
        let control = STEP_CONTROLS
            .iter()
            .find(|entry| entry.name == self.step_control);
        let chosen = control.and_then(|entry| entry.chosen(&Choice::new(entry.name)).ok());
        chosen.map_or_else(StepControlFacts::default, |chosen| chosen.usual_facts())
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
}

/// A rule that was broken, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Failure {
    /// The combination, or the registry entry.
    subject: String,
    /// Its result.
    message: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.message)
    }
}

/// Its words, and the check of it.
type Rule<T> = (&'static str, fn(&T) -> Result<(), String>);

/// The rules of the runs that every combination makes, by what they say.
const RULES_OF_RUNS: &[Rule<TrialRuns>] = &[
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
];

/// The rules that make runs of their own.
const RULES: &[Rule<Combination>] = &[
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
        "FMUs give the results of their models",
        runs::fmus_are_as_their_models,
    ),
    (
        "a line passes within the step, where units take turns",
        signals::lines_pass_within_the_step,
    ),
];

/// Tries a combination with all rules. Returns the number of checks made.
fn check_rules(combination: &Combination, mut fail: impl FnMut(String)) -> usize {
    let outcomes = RULES.iter().map(|(rule, check)| (rule, check(combination)));
    let mut outcomes: Vec<_> = outcomes.collect();
    match TrialRuns::of(*combination) {
        Ok(runs) => {
            let rules = RULES_OF_RUNS.iter();
            outcomes.extend(rules.map(|(rule, check)| (rule, check(&runs))));
        }
        Err(message) => fail(message),
    }
    for (rule, outcome) in &outcomes {
        if let Err(message) = outcome {
            fail(format!("{rule}: {message}"));
        }
    }
    outcomes.len()
}

/// Tries the combinations of one of several equal parts of all: every three words on one system, and every pair of words
/// with all rules. Returns the number of checks made.
fn check_combinations(part: usize, parts: usize, failures: &mut Vec<Failure>) -> usize {
    let mut made = 0;
    let mut combinations = Combination::all();
    combinations.retain(|combination| combination.unusual_words() <= 3);
    for combination in combinations.into_iter().skip(part).step_by(parts) {
        let mut fail = |message: String| {
            failures.push(Failure {
                subject: combination.to_string(),
                message,
            });
        };
        made += 1;
        match runs::star_runs_or_is_refused(&combination) {
            Err(message) => fail(message),
            Ok(runs) if runs && combination.unusual_words() <= 2 => {
                made += check_rules(&combination, fail);
            }
            Ok(_) => {}
        }
    }
    made
}

// The tests are equal parts of the work, which run at once.

fn assert_none(failures: &[Failure]) {
    let lines: Vec<_> = failures.iter().map(ToString::to_string).collect();
    let broken = lines.len();
    assert!(
        lines.is_empty(),
        "{broken} rules broken:\n{}",
        lines.join("\n")
    );
}

#[test]
fn parameters_are_read_as_declared() {
    assert_none(&parameters::check_all());
}

#[test]
fn facts_are_what_entries_do() {
    assert_none(&facts::check_all());
}

#[test]
fn interface_orders_keep_the_rules() {
    let mut failures = Vec::new();
    assert!(interface_models::check_all(&mut failures) > 0);
    assert_none(&failures);
}

macro_rules! parts {
    ($(fn $name:ident() { $part:literal })*) => {
        const PARTS: usize = [$($part),*].len();

        $(#[test]
        fn $name() {
            let mut failures = Vec::new();
            assert!(check_combinations($part, PARTS, &mut failures) > 0);
            assert_none(&failures);
        })*

        #[test]
        fn parts_are_numbered() {
            assert!([$($part),*].into_iter().eq(0..PARTS));
        }
    };
}

// Their number and the numbers of words have no common divisor: each part has some of every word.
parts! {
    fn combinations_keep_the_rules_0() { 0 }
    fn combinations_keep_the_rules_1() { 1 }
    fn combinations_keep_the_rules_2() { 2 }
    fn combinations_keep_the_rules_3() { 3 }
    fn combinations_keep_the_rules_4() { 4 }
    fn combinations_keep_the_rules_5() { 5 }
    fn combinations_keep_the_rules_6() { 6 }
    fn combinations_keep_the_rules_7() { 7 }
    fn combinations_keep_the_rules_8() { 8 }
    fn combinations_keep_the_rules_9() { 9 }
    fn combinations_keep_the_rules_10() { 10 }
}
