//! Words of all registries, combined.

use std::fmt;

use gyrator::correction::CORRECTIONS;
use gyrator::exchange_mode::Exchange;
use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::method::METHODS;
use gyrator::step_control::STEP_CONTROLS;

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

    /// Number of words that are not the first of their registry. If it is at most two, every pair of words meets.
    #[must_use]
    pub fn unusual_words(&self) -> usize {
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
