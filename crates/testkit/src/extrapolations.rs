//! Extrapolations for tests, and their needs.

use gyrator::extrapolation::{EXTRAPOLATIONS, Extrapolation};
use gyrator::registry::{Entry, look_up};
use gyrator_system::Choice;

/// Whether an extrapolation, by its word, works only if the source has communication steps much
/// shorter than macro-steps of one length.
///
/// # Panics
/// If the registry has no such word.
#[must_use]
pub fn needs_substeps(extrapolation: &str) -> bool {
    let found = look_up(EXTRAPOLATIONS, &Choice::new(extrapolation));
    let chosen = found.expect("a word of the registry");
    chosen.usual_facts().needs_substeps
}

/// The extrapolations that work whatever the communication steps are.
pub fn extrapolations_of_any_step() -> impl Iterator<Item = &'static Entry<dyn Extrapolation>> {
    EXTRAPOLATIONS
        .iter()
        .filter(|entry| !needs_substeps(entry.name))
}
