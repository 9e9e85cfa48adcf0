//! Exchange modes: how outputs y(x, u) with direct feed-through are passed on, once the next inputs
//! u are known. After a step with the inputs ũ, `stale` passes y(x, ũ), which at a bond makes
//! energy; `fresh` sets u and reads y(x, u); `compensated` passes y(x, ũ) + D·(u − ũ) with D =
//! ∂y/∂u; `auto` takes the best of them that the unit allows.
//!
//! Source: `stale`: FMI 2.0 §4.2.4; `fresh`: Thielemans et al. (2023) §3.1; D: FMI 2.0 §2.1.9;
//! `compensated` and `auto`: own. Use `auto` first. Limits: FMI 2.0 forbids the order of calls of
//! `fresh` between steps (§4.2.4, C-28), so a unit has to declare it safe; `compensated` is exact
//! where y is linear in u and D is that of the present point; outputs of an algebraic loop stay
//! stale. `exchange/` has the implementation.

use crate::need::{Facts, Need};
use crate::registry::{Arguments, Entry, EntryKind};

/// How the outputs of a component with direct feed-through are passed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Exchange {
    /// Fresh where the unit declares it safe, compensated where D is known and smooth, else stale.
    Auto,
    /// As the step left them.
    Stale,
    /// Read again after the new inputs were set.
    Fresh,
    /// Stale plus D·(u − ũ).
    Compensated,
    /// Nothing to choose: no output of the component depends directly on a connected input.
    #[serde(rename = "none")]
    NoFeedthrough,
}

impl Exchange {
    /// The words of a system file.
    pub const WORDS: [&'static str; 4] = *gyrator_system::EXCHANGES;

    /// The mode that a word of a system file names.
    pub fn from_word(word: &str) -> Option<Self> {
        let entry = EXCHANGE_MODES.iter().find(|entry| entry.name == word)?;
        Some((entry.build)(&Arguments::default()))
    }

    /// Facts about the mode.
    pub const fn facts(self) -> ExchangeFacts {
        ExchangeFacts {
            follows_inputs: matches!(self, Self::Fresh | Self::Compensated),
            reads_again: matches!(self, Self::Fresh),
        }
    }

    /// The word of a system file; `none` where there is nothing to choose.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Stale => "stale",
            Self::Fresh => "fresh",
            Self::Compensated => "compensated",
            Self::NoFeedthrough => "none",
        }
    }
}

/// Facts about an exchange mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExchangeFacts {
    /// The outputs that are passed on agree with the new inputs.
    pub follows_inputs: bool,
    /// Outputs are read again after inputs were set, without a step between.
    pub reads_again: bool,
}

impl Facts for ExchangeFacts {
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

impl EntryKind for Exchange {
    const NAME: &'static str = "exchange";
    type Made = Self;
    type Context = ();
    type Facts = ExchangeFacts;
    const USUAL: () = ();
}

/// Every exchange mode, by its word in a system file.
pub const EXCHANGE_MODES: &[Entry<Exchange>] = &[
    Entry {
        name: Exchange::Auto.word(),
        summary: "fresh where the unit declares it safe, compensated where D is known and smooth, else stale",
        source: "own",
        parameters: &[],
        facts: |_, ()| Exchange::Auto.facts(),
        build: |_| Exchange::Auto,
    },
    Entry {
        name: Exchange::Stale.word(),
        summary: "outputs as the step left them",
        source: "FMI 2.0 §4.2.4",
        parameters: &[],
        facts: |_, ()| Exchange::Stale.facts(),
        build: |_| Exchange::Stale,
    },
    Entry {
        name: Exchange::Fresh.word(),
        summary: "outputs read again after the new inputs were set; FMI 2.0 does not promise that they are right",
        source: "Thielemans 2023 §3.1",
        parameters: &[],
        facts: |_, ()| Exchange::Fresh.facts(),
        build: |_| Exchange::Fresh,
    },
    Entry {
        name: Exchange::Compensated.word(),
        summary: "stale plus D·(u − ũ), D being the derivative of outputs by inputs",
        source: "own; D: FMI 2.0 §2.1.9",
        parameters: &[],
        facts: |_, ()| Exchange::Compensated.facts(),
        build: |_| Exchange::Compensated,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Readers of system files check the words before there is an engine.
    #[test]
    fn a_system_file_takes_the_words_of_all_modes() {
        let words: Vec<_> = EXCHANGE_MODES.iter().map(|entry| entry.name).collect();
        assert_eq!(words, Exchange::WORDS);
    }
}
