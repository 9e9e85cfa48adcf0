//! Examinations of systems whose answers are known.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod benchmarks;
mod interface_orders;
mod loops;
mod masses;
mod random;

use gyrator::{Registries, System, Word};
use gyrator_assess::doctor::{Limits, Options};
use gyrator_system::SystemFile;

/// Examinations of at most so many steps.
fn options(steps: f64) -> Options {
    Options {
        wanted: None,
        limits: Limits {
            steps,
            deadline: None,
            interrupt: None,
        },
        registries: Registries::default(),
    }
}

/// Gives a system the words of a description.
fn take_words(system: &mut System, file: &SystemFile) {
    let experiment = &file.experiment;
    if let Some(word) = &experiment.method {
        system.method(Word::from(&*word.name.value));
    }
    if let Some(word) = &experiment.extrapolation {
        system.extrapolation(Word::from(&*word.name.value));
    }
    if let Some(word) = &experiment.exchange {
        system.exchange(&word.value);
    }
}
