//! The registry of exchange modes.

use super::{auto, compensated, fresh, stale};
use crate::exchange_mode::Exchange;
use crate::fault::UnitFault;
use crate::registry::{Entry, entries_of};
use crate::state::SystemState;
use crate::step::Step;

/// An exchange mode with its act.
pub(crate) struct Mode {
    pub(crate) entry: Entry<Exchange>,
    /// Makes the outputs of a pass agree with its new inputs at the end of a macro-step, or records their errors.
    pub(crate) act: fn(&mut SystemState, usize, &Step) -> Result<(), Box<UnitFault>>,
    /// The act in words.
    pub(crate) words: fn(&Words) -> String,
}

/// Names of the outputs of a pass, and of those that feed its inputs.
pub(crate) struct Words {
    pub(crate) outputs: String,
    pub(crate) sources: String,
    /// The inputs of the step had the values of its end already.
    pub(crate) has_end_values: bool,
}

/// Every exchange mode.
const MODES: [Mode; 4] = [auto::MODE, stale::MODE, fresh::MODE, compensated::MODE];

/// Every exchange mode, by its word in a system file.
pub const EXCHANGE_MODES: &[Entry<Exchange>] = &entries_of!(MODES);

/// The acts of a mode.
pub(crate) fn mode_of(exchange: Exchange) -> &'static Mode {
    const FIRST: &Mode = &MODES[0];
    const ALL: &[Mode] = &MODES;
    let mut modes = ALL.iter();
    let found = modes.find(|mode| mode.entry.name == exchange.word());
    found.unwrap_or(FIRST)
}

/// The mode that a word of a system file names.
pub(crate) fn exchange_of(word: &str) -> Option<Exchange> {
    let entry = EXCHANGE_MODES.iter().find(|entry| entry.name == word)?;
    Some((entry.build)(&crate::registry::Arguments::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Readers of system files check the words before there is an engine.
    #[test]
    fn a_system_file_takes_the_words_of_all_modes() {
        let words: Vec<_> = EXCHANGE_MODES.iter().map(|entry| entry.name).collect();
        assert_eq!(words, Exchange::WORDS);
        for word in words {
            assert_eq!(exchange_of(word).unwrap().word(), word);
        }
        assert_eq!(exchange_of("late"), None);
    }
}
