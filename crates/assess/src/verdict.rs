//! The verdict on a run by the errors of its signals.

use gyrator::Verdict;

use crate::error_bars::{ErrorBar, Levels};

/// The verdict on a run: that on the signal with the greatest relative error.
///
/// A signal without a clear order counts where its order makes no difference: the error at the order p is 2ᵖ/(2ᵖ − 1)
/// times the difference from half the macro-step, from 2 to 1, and 1/(2ᵖ − 1) times that from twice the macro-step, from
/// 1 to a third at p = 2. `cannot-tell` where these are on both sides of a limit, and without signals.
#[must_use]
pub fn verdict(bars: &[ErrorBar], levels: Levels) -> Verdict {
    let factors = match levels {
        Levels::HalfAndTwice => [1.0, 2.0],
        Levels::TwiceAndFourTimes => [1.0 / 3.0, 1.0],
    };
    let of_signal = |bar: &ErrorBar| match (bar.verdict, bar.relative_difference) {
        (Verdict::CannotTell, Some(difference)) => {
            let [least, most] =
                factors.map(|factor| Verdict::from_relative_error(factor * difference));
            if least == most {
                least
            } else {
                Verdict::CannotTell
            }
        }
        (verdict, _) => verdict,
    };
    let worst = bars.iter().map(of_signal).max();
    worst.unwrap_or(Verdict::CannotTell)
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

    #[test]
    fn the_worst_signal_counts() {
        let bars = [Verdict::Small, Verdict::Visible, Verdict::Small].map(known);
        let levels = Levels::HalfAndTwice;
        assert_eq!(verdict(&bars, levels), Verdict::Visible);
        assert_eq!(verdict(&bars[..1], levels), Verdict::Small);
        assert_eq!(verdict(&[], levels), Verdict::CannotTell);
        let none = [known(Verdict::Small), ErrorBar::unknown("a.y", "no run")];
        assert_eq!(verdict(&none, levels), Verdict::CannotTell);
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
            assert_eq!(verdict(&bars, Levels::HalfAndTwice), finer, "{difference}");
            assert_eq!(
                verdict(&bars, Levels::TwiceAndFourTimes),
                coarser,
                "{difference}"
            );
        }
    }
}
