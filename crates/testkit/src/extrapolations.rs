//! What extrapolations need.

use gyrator::{EXTRAPOLATIONS, Entry, Extrapolation, Maker, look_up};
use gyrator_system::Choice;

/// Whether an extrapolation, by its word, works only where the source has communication steps much
/// shorter than macro-steps of one length.
///
/// # Panics
/// If there is no such word.
#[must_use]
pub fn wants_substeps(extrapolation: &str) -> bool {
    let choice = Choice::new(extrapolation);
    let found = look_up(EXTRAPOLATIONS, "extrapolation", &choice);
    let (entry, arguments) = found.expect("a word of the registry");
    (entry.build)(&arguments).wants_substeps()
}

/// The extrapolations that work whatever the communication steps are.
pub fn extrapolations_of_any_step() -> impl Iterator<Item = &'static Entry<Maker<dyn Extrapolation>>>
{
    EXTRAPOLATIONS
        .iter()
        .filter(|entry| !wants_substeps(entry.name))
}
