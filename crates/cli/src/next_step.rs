//! What to do after a run, in one sentence for people, by its verdict.
//!
//! The closing lines end with it, the report begins with it, and the summary has it. It never changes an exit code.

use std::path::Path;

use gyrator::Verdict;
use gyrator::report::Unknown;
use gyrator_assess::ErrorBar;

use crate::numbers::short;

/// What the sentence depends on.
pub(crate) struct Facts<'a> {
    /// The file of a coupled system; `None` for one FMU by itself.
    pub(crate) system: Option<&'a Path>,
    /// The error bars have given the verdict.
    pub(crate) is_by_bars: bool,
    /// The macro-step at which the error bars of all signals are as small as wanted, s.
    pub(crate) step_for: Option<f64>,
    /// A component passes on stale outputs, and `auto` has not chosen that.
    pub(crate) is_stale: bool,
    /// Why the run alone cannot be judged.
    pub(crate) unknown: Option<&'a Unknown>,
}

/// The macro-step at which the error of each signal is as small as wanted, s; `None` if that of one is not known.
pub(crate) fn step_for_all(bars: &[ErrorBar]) -> Option<f64> {
    let steps: Option<Vec<f64>> = bars.iter().map(|bar| bar.step_for).collect();
    steps?.into_iter().reduce(f64::min)
}

/// The sentence. There is none for a small error, nor for a run that diverges: the error message after the closing lines
/// says what helps.
pub(crate) fn next_step(verdict: Verdict, facts: &Facts<'_>) -> Option<String> {
    let doctor = |first: &str| match facts.system {
        Some(system) => format!(
            "{first}; `gyrator doctor {}` looks for a better coupling",
            system.display()
        ),
        None => first.to_owned(),
    };
    Some(match verdict {
        Verdict::Small | Verdict::Diverging => return None,
        Verdict::CannotTell if facts.is_by_bars => {
            "run again with --error-bars and a smaller --step-size".to_owned()
        }
        Verdict::CannotTell if matches!(facts.unknown, Some(Unknown::Feedthrough(_))) => {
            "add --error-bars; a longer run does not help".to_owned()
        }
        Verdict::CannotTell => "let the run take more steps, or add --error-bars".to_owned(),
        Verdict::Visible if !facts.is_by_bars => {
            doctor("for the error of each signal, add --error-bars")
        }
        _ => {
            let exchange = if facts.is_stale {
                "--exchange auto, or "
            } else {
                ""
            };
            let step = match facts.step_for {
                Some(step) => format!("--step-size {}, as the error bars propose", short(step)),
                None => "a smaller --step-size".to_owned(),
            };
            doctor(&format!("try {exchange}{step}"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verdict_says_what_to_do_next() {
        let of = |verdict, change: fn(&mut Facts<'_>)| {
            let mut facts = Facts {
                system: Some(Path::new("a.toml")),
                is_by_bars: false,
                step_for: None,
                is_stale: false,
                unknown: None,
            };
            change(&mut facts);
            next_step(verdict, &facts).unwrap_or_default()
        };
        assert_eq!(of(Verdict::Small, |_| ()), "");
        assert_eq!(of(Verdict::Diverging, |_| ()), "");
        assert_eq!(
            of(Verdict::Dominating, |facts| facts.is_stale = true),
            "try --exchange auto, or a smaller --step-size; `gyrator doctor a.toml` looks for a better coupling"
        );
        let stale_by_bars = |facts: &mut Facts<'_>| {
            (facts.is_by_bars, facts.is_stale, facts.step_for) = (true, true, Some(0.001));
        };
        let next = of(Verdict::Visible, stale_by_bars);
        assert!(
            next.starts_with("try --exchange auto, or --step-size 0.001, as"),
            "{next}"
        );
        let hidden = Unknown::Feedthrough(vec!["a".to_owned()]);
        let facts = Facts {
            system: None,
            is_by_bars: false,
            step_for: None,
            is_stale: false,
            unknown: Some(&hidden),
        };
        let next = next_step(Verdict::CannotTell, &facts).unwrap();
        assert_eq!(next, "add --error-bars; a longer run does not help");
        let by_bars = |facts: &mut Facts<'_>| {
            (facts.is_by_bars, facts.step_for) = (true, Some(0.00025));
        };
        assert!(of(Verdict::Visible, by_bars).starts_with("try --step-size 0.00025, as"));
        assert!(of(Verdict::Visible, |_| ()).contains("add --error-bars; `gyrator doctor a.toml`"));
        assert!(of(Verdict::CannotTell, |_| ()).contains("add --error-bars"));
        assert!(of(Verdict::CannotTell, by_bars).contains("smaller --step-size"));
        let alone = |facts: &mut Facts<'_>| (facts.system, facts.is_by_bars) = (None, true);
        assert_eq!(of(Verdict::Visible, alone), "try a smaller --step-size");
    }
}
