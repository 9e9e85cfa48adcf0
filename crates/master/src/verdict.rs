//! The verdict on a run or a bond: how far the coupling changes the result.

use std::fmt;

/// The magnitude of the coupling error, in the order of severity. The verdict on a whole is the
/// greatest of its parts, since an unknown part may be worse than a visible one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A relative coupling error below [`Verdict::SMALL`].
    Small,
    /// Below [`Verdict::VISIBLE`].
    Visible,
    /// The run holds too little to judge it, or [may diverge](Divergence::Suspected).
    CannotTell,
    /// The coupling error is a main part of the result.
    Dominating,
    /// The coupling error grows without end: said only if a second run has [verified](Divergence::Verified) it.
    Diverging,
}

impl Verdict {
    /// Every verdict, in the order of severity.
    pub const ALL: [Self; 5] = [
        Self::Small,
        Self::Visible,
        Self::CannotTell,
        Self::Dominating,
        Self::Diverging,
    ];
    /// The relative coupling error below which it is small: what a chart still shows as one curve.
    pub const SMALL: f64 = 0.01;
    /// The relative coupling error below which it does not dominate the result. A choice: ten times
    /// [`SMALL`](Self::SMALL).
    pub const VISIBLE: f64 = 0.1;

    /// The verdict on a coupling error relative to the range of its signal; a relative error that is
    /// not a number cannot be judged. Never [`Diverging`](Self::Diverging).
    pub fn from_relative_error(error: f64) -> Self {
        match error.abs() {
            error if error.is_nan() => Self::CannotTell,
            error if error < Self::SMALL => Self::Small,
            error if error < Self::VISIBLE => Self::Visible,
            _ => Self::Dominating,
        }
    }

    /// One kebab-case word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Visible => "visible",
            Self::CannotTell => "cannot-tell",
            Self::Dominating => "dominating",
            Self::Diverging => "diverging",
        }
    }

    /// The verdict that [`word`](Self::word) gives.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|verdict| verdict.word() == word)
    }
}

/// What people read: [`Verdict::word`], but "unknown" for `cannot-tell`.
impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::CannotTell => "unknown",
            _ => self.word(),
        })
    }
}

/// Why one run alone cannot be judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unknown {
    /// It has made so few macro-steps, fewer than `needed`.
    FewSteps {
        /// Made.
        steps: u64,
        /// Fewest macro-steps that would do.
        needed: u64,
    },
    /// These components declare direct feed-through that does not show when they are probed, and no steps could be tried.
    Feedthrough(Vec<String>),
}

/// The cause, for people.
impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FewSteps { steps, needed } => {
                write!(f, "{steps} macro-steps are too few, {needed} would do")
            }
            Self::Feedthrough(components) => write!(
                f,
                "{}: direct feed-through is declared and does not show when it is probed",
                components.join(", ")
            ),
        }
    }
}

/// In the words for people.
impl serde::Serialize for Unknown {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Whether a run diverges by its coupling.
///
/// One run can only be suspicious: a system that starts to move late also grows. What tells is a second run at half of every
/// communication step.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Divergence {
    /// Nothing grows, or a second run has shown that the coupling is not the reason.
    #[default]
    None,
    /// The range of a signal in a loop has at least doubled after the first third of the run, or a value of one is not finite; and
    /// no second run has told why.
    Suspected,
    /// A second run has shown that the coupling makes the signals grow.
    Verified,
}

impl Divergence {
    /// The verdict on a run or a bond with this divergence, whose error is estimated to be `estimated`.
    pub(crate) const fn verdict(self, estimated: Verdict) -> Verdict {
        match self {
            Self::None => estimated,
            Self::Suspected => Verdict::CannotTell,
            Self::Verified => Verdict::Diverging,
        }
    }

    /// One word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Suspected => "suspected",
            Self::Verified => "verified",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_judged_by_one_and_ten_per_cent() {
        let expected = [
            (0.0, Verdict::Small),
            (-0.0099, Verdict::Small),
            (0.01, Verdict::Visible),
            (0.0999, Verdict::Visible),
            (0.1, Verdict::Dominating),
            (1e300, Verdict::Dominating),
            (f64::INFINITY, Verdict::Dominating),
            (f64::NAN, Verdict::CannotTell),
        ];
        for (error, verdict) in expected {
            assert_eq!(Verdict::from_relative_error(error), verdict, "{error}");
        }
    }

    #[test]
    fn words_are_read_back_and_the_worst_part_counts() {
        for verdict in Verdict::ALL {
            assert_eq!(Verdict::from_word(verdict.word()), Some(verdict));
            let is_plain = verdict.to_string() == verdict.word();
            assert_eq!(is_plain, verdict != Verdict::CannotTell);
        }
        assert_eq!(Verdict::CannotTell.to_string(), "unknown");
        assert_eq!(Verdict::from_word("good"), None);
        assert!(Verdict::ALL.is_sorted());
    }
}
