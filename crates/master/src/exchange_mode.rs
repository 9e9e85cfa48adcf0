//! Exchange modes: how outputs y(x, u) with direct feed-through are passed on, once the next inputs
//! u are known. After a step with the inputs ũ, `stale` passes y(x, ũ), which at a bond makes
//! energy; `fresh` sets u and reads y(x, u); `compensated` passes y(x, ũ) + D·(u − ũ) with D =
//! ∂y/∂u; `auto` takes the best of them that the unit allows.
//!
//! Source: `stale`: FMI 2.0 §4.2.4; `fresh`: Thielemans et al. (2023) §3.1; D: FMI 2.0 §2.1.9;
//! `compensated` and `auto`: own. Use `auto` first. Limits: FMI 2.0 forbids the order of calls of
//! `fresh` between steps (§4.2.4, C-28), so a unit has to declare it safe; `compensated` is exact
//! where y is linear in u and D is that of the present point. Outputs of an algebraic loop are solved
//! together, unless one of them is stale. Each mode is a file in `exchange/`.

use crate::need::{Facts, Need};
use crate::registry::EntryKind;

/// How the outputs of a component with direct feed-through are passed on: a word of
/// [`EXCHANGE_MODES`](crate::exchange::EXCHANGE_MODES), with its facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    word: &'static str,
    facts: ExchangeFacts,
}

impl Exchange {
    /// Fresh where the unit declares it safe, compensated where D is known and smooth, else stale.
    pub const AUTO: Self = Self::new("auto", ExchangeFacts::AS_LEFT);
    /// As the step left them.
    pub const STALE: Self = Self::new("stale", ExchangeFacts::AS_LEFT);
    /// Read again after the new inputs were set.
    pub const FRESH: Self = Self::new(
        "fresh",
        ExchangeFacts {
            follows_inputs: true,
            reads_again: true,
        },
    );
    /// Stale plus D·(u − ũ).
    pub const COMPENSATED: Self = Self::new(
        "compensated",
        ExchangeFacts {
            follows_inputs: true,
            reads_again: false,
        },
    );
    /// Nothing to choose: no output of the component depends directly on a connected input.
    pub const NO_FEEDTHROUGH: Self = Self::new("none", ExchangeFacts::AS_LEFT);

    /// The words of a system file.
    pub const WORDS: [&'static str; 4] = *gyrator_system::EXCHANGES;

    /// A mode with its facts.
    pub const fn new(word: &'static str, facts: ExchangeFacts) -> Self {
        Self { word, facts }
    }

    /// Facts about the mode.
    pub const fn facts(self) -> ExchangeFacts {
        self.facts
    }

    /// The word of a system file; `none` where there is nothing to choose.
    pub const fn word(self) -> &'static str {
        self.word
    }
}

impl serde::Serialize for Exchange {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word)
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

impl ExchangeFacts {
    /// Of modes that pass outputs on as the step left them.
    pub const AS_LEFT: Self = Self {
        follows_inputs: false,
        reads_again: false,
    };
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
