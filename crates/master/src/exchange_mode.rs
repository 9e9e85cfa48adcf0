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
        let modes = [Self::Auto, Self::Stale, Self::Fresh, Self::Compensated];
        Self::WORDS
            .iter()
            .position(|known| *known == word)
            .map(|index| modes[index])
    }

    /// One line for `gyrator list`.
    pub fn summary(self) -> &'static str {
        match self {
            Self::Auto => {
                "fresh where the unit declares it safe, compensated where D is known and smooth, else stale"
            }
            Self::Stale => "outputs as the step left them",
            Self::Fresh => {
                "outputs read again after the new inputs were set; FMI 2.0 does not promise that they are right"
            }
            Self::Compensated => {
                "stale plus D·(u − ũ), D being the derivative of outputs by inputs"
            }
            Self::NoFeedthrough => "no output depends directly on a connected input",
        }
    }

    /// The word of a system file; `none` where there is nothing to choose.
    pub fn word(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Stale => "stale",
            Self::Fresh => "fresh",
            Self::Compensated => "compensated",
            Self::NoFeedthrough => "none",
        }
    }
}
