//! The verdict on a run by the errors of its signals.

use gyrator::Verdict;

use crate::error_bars::{ErrorBar, Levels};

/// The verdict on a run, and the names of the signals that stay in doubt. The run has the verdict of the signal with the
/// greatest relative error.
///
/// A signal without a clear order counts if its order makes no difference. At the order p, the error is 2ᵖ/(2ᵖ − 1) times the
/// difference from half the macro-step: from 2 to 1. It is 1/(2ᵖ − 1) times the difference from twice the macro-step: from 1 to a
/// third at p = 2. If these are on both sides of a limit, the signal is in doubt, and counts with the smaller one; so is each signal
/// without an error at half and a quarter. The verdict is `cannot-tell` if all signals are in doubt, and without signals.
#[must_use]
pub fn verdict(bars: &[ErrorBar], levels: Levels) -> (Verdict, Vec<String>) {
    let factors = match levels {
        Levels::HalfAndTwice | Levels::HalfAndQuarter => [1.0, 2.0],
        Levels::TwiceAndFourTimes => [1.0 / 3.0, 1.0],
    };
    let (mut worst, mut doubtful) = (None, Vec::new());
    for bar in bars {
        let [least, most] = match (bar.verdict, bar.relative_difference) {
            (Verdict::CannotTell, Some(difference)) => {
                factors.map(|factor| Verdict::from_relative_error(factor * difference))
            }
            (verdict, _) => [verdict; 2],
        };
        // The differences of three levels that do not fall bound no error.
        let is_rising = levels == Levels::HalfAndQuarter && bar.is_doubtful();
        if least != most || least == Verdict::CannotTell || is_rising {
            doubtful.push(bar.variable.clone());
        }
        if least != Verdict::CannotTell {
            worst = worst.max(Some(least));
        }
    }
    let is_open = doubtful.len() == bars.len();
    let worst = worst.filter(|_| !is_open).unwrap_or(Verdict::CannotTell);
    (worst, doubtful)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unclear(difference: f64) -> ErrorBar {
        ErrorBar {
            relative_difference: Some(difference),
            ..ErrorBar::unknown("a.x", "no order")
        }
    }

    fn known(verdict: Verdict) -> ErrorBar {
        ErrorBar {
            verdict,
            ..unclear(1.0)
        }
    }

    fn word(bars: &[ErrorBar], levels: Levels) -> Verdict {
        verdict(bars, levels).0
    }

    #[test]
    fn the_worst_signal_counts() {
        let bars = [Verdict::Small, Verdict::Visible, Verdict::Small].map(known);
        let levels = Levels::HalfAndTwice;
        assert_eq!(verdict(&bars, levels), (Verdict::Visible, Vec::new()));
        assert_eq!(word(&bars[..1], levels), Verdict::Small);
        assert_eq!(word(&[], levels), Verdict::CannotTell);
    }

    /// Limits at 1 % and 10 %: errors from 0.8 to 1.6 %, and from 6 to 12 %.
    #[test]
    fn a_signal_in_doubt_is_named_and_counts_with_its_least_error() {
        let levels = Levels::HalfAndTwice;
        let unknown = || ErrorBar::unknown("a.y", "no run");
        let named = |name: &str| vec![name.to_owned()];
        for (doubtful, expected) in [
            (unknown(), (Verdict::Small, named("a.y"))),
            (unclear(0.008), (Verdict::Small, named("a.x"))),
            (unclear(0.06), (Verdict::Visible, named("a.x"))),
        ] {
            let bars = [known(Verdict::Small), doubtful];
            assert_eq!(verdict(&bars, levels), expected);
        }
        let bars = [unclear(0.06), unknown()];
        assert_eq!(word(&bars, levels), Verdict::CannotTell);
        // Runs at h and h/2 that agree, and another one at h/4.
        let bars = [known(Verdict::Visible), unclear(0.0)];
        let expected = (Verdict::Visible, named("a.x"));
        assert_eq!(verdict(&bars, Levels::HalfAndQuarter), expected);
        assert_eq!(verdict(&bars, levels).1, Vec::<String>::new());
        let bars = [known(Verdict::Diverging), unknown()];
        assert_eq!(word(&bars, levels), Verdict::Diverging);
    }

    /// Limits at 1 % and 10 %: the error is once to twice the difference from the finer run, and a third of that
    /// from the coarser one to all of it.
    #[test]
    fn a_difference_counts_where_its_order_makes_no_difference() {
        for (difference, finer, coarser) in [
            (0.004, Verdict::Small, Verdict::Small),
            (0.008, Verdict::CannotTell, Verdict::Small),
            (0.02, Verdict::Visible, Verdict::CannotTell),
            (0.04, Verdict::Visible, Verdict::Visible),
            (0.06, Verdict::CannotTell, Verdict::Visible),
            (0.2, Verdict::Dominating, Verdict::CannotTell),
            (0.4, Verdict::Dominating, Verdict::Dominating),
        ] {
            let bars = [unclear(difference)];
            assert_eq!(word(&bars, Levels::HalfAndTwice), finer, "{difference}");
            assert_eq!(
                word(&bars, Levels::TwiceAndFourTimes),
                coarser,
                "{difference}"
            );
        }
    }
}
