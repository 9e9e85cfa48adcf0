//! The companions of a run: at which macro-steps, which other one if signals stay in doubt, and which if an FMU cannot take
//! half a step.

use gyrator::report::Divergence;
use gyrator::{Report, Verdict};
use gyrator_record::Table;

use crate::divergence::Decision;
use crate::error_bars::{ErrorBar, Levels, Results, error_bars};
use crate::verdict::verdict;

/// The error bars of a run, and how they came about.
#[derive(Debug, Clone, Default)]
pub struct Assessment {
    /// One for each variable.
    pub bars: Vec<ErrorBar>,
    /// From which runs, or why there are none.
    pub note: String,
    /// The verdict of the bars on the run; `None` if there are none.
    pub verdict: Option<Verdict>,
    /// Names of the signals whose error may be of another verdict.
    pub doubtful: Vec<String>,
    /// Whether the run diverges, by the companion at half the macro-step; `None` without one.
    pub decision: Option<Decision>,
    /// A companion has ended in a value that is not finite.
    pub is_not_finite: bool,
}

/// Why a companion has no rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoRows {
    /// For people.
    pub reason: String,
    /// A value was not finite.
    pub is_not_finite: bool,
}

impl From<String> for NoRows {
    fn from(reason: String) -> Self {
        Self {
            reason,
            is_not_finite: false,
        }
    }
}

/// Estimates the errors of the signals `variables` of a run with the macro-step `step_size`, s. The companions are at half
/// and twice the macro-step, and at a quarter of it if these leave a signal in doubt or the one at twice fails. If the one at
/// half fails, they are at twice and four times. `wanted` is the relative error for which macro-steps are given.
///
/// `rows` gives the rows of the companion whose macro-step is so many times the run's, or says why there are none: for
/// each level once, in the order in which they are needed.
pub fn assess(
    run: &Table,
    step_size: f64,
    variables: &[String],
    wanted: f64,
    mut rows: impl FnMut(f64) -> Result<Table, NoRows>,
) -> Assessment {
    let mut is_not_finite = false;
    let rows = |factor| {
        rows(factor).map_err(|no_rows| {
            is_not_finite |= no_rows.is_not_finite;
            no_rows.reason
        })
    };
    let judge = |levels, [first, second]: [&Table; 2]| {
        let results = Results {
            step_size,
            run,
            levels,
            companions: [first, second],
        };
        let bars = error_bars(&results, variables, wanted);
        (bars, results.decide(variables))
    };
    let assessment = match found(rows, judge) {
        Ok(Found {
            levels,
            bars,
            decision,
            note,
        }) => {
            let (verdict, doubtful) = verdict(&bars, levels);
            Assessment {
                verdict: (!bars.is_empty()).then_some(verdict),
                doubtful,
                bars,
                note,
                decision,
                is_not_finite: false,
            }
        }
        Err(reason) => Assessment::none(variables, &reason),
    };
    Assessment {
        is_not_finite,
        ..assessment
    }
}

impl Assessment {
    /// Replaces the verdict that the run alone has given by the verdict of the bars: they are the second run that verifies a suspicion. A
    /// companion that ended in a value that is not finite also verifies it, if the run's own estimate is above its signals. `advice` is
    /// for a run that diverges.
    pub fn amend(&self, report: &mut Report, advice: impl FnOnce(Option<bool>) -> String) {
        let is_suspected = report.divergence == Divergence::Suspected;
        let is_beyond = report
            .coupling_error_estimate
            .is_some_and(|error| error > 1.0);
        let diverges =
            self.decision == Some(Decision::Diverging) || self.is_not_finite && is_beyond;
        let verdict = match diverges && is_suspected {
            true => Some(Verdict::Diverging),
            false => self.verdict,
        };
        // A signal in doubt may be the one that is suspected.
        let is_open = self.verdict == Some(Verdict::CannotTell)
            || !self.doubtful.is_empty() && self.decision != Some(Decision::Ordinary);
        match verdict {
            None => {}
            Some(Verdict::Diverging) => {
                report.settle(Divergence::Verified);
                report.advice = Some(advice(None));
            }
            Some(_) if is_suspected && is_open => {}
            Some(verdict) => {
                report.settle(Divergence::None);
                report.verdict = verdict;
                // A part cannot be worse than the whole.
                for bond in &mut report.bonds {
                    bond.verdict = bond.verdict.min(verdict);
                }
            }
        }
    }

    /// Without error bars.
    #[must_use]
    pub fn none(variables: &[String], reason: &str) -> Self {
        let bars = variables.iter();
        Self {
            bars: bars.map(|name| ErrorBar::unknown(name, reason)).collect(),
            note: format!("there are no error bars: {reason}"),
            verdict: None,
            doubtful: Vec::new(),
            decision: None,
            is_not_finite: false,
        }
    }
}

/// What the companions show.
struct Found {
    levels: Levels,
    bars: Vec<ErrorBar>,
    decision: Option<Decision>,
    note: String,
}

/// Gets companions as they are needed; `judge` gives the bars and the decision of two of them.
fn found(
    mut rows: impl FnMut(f64) -> Result<Table, String>,
    judge: impl Fn(Levels, [&Table; 2]) -> (Vec<ErrorBar>, Option<Decision>),
) -> Result<Found, String> {
    let failed = |which: &str, reason: String| format!("the run at {which} failed: {reason}");
    let judged = |levels, companions: [&Table; 2], from: String| {
        let (bars, decision) = judge(levels, companions);
        Found {
            levels,
            bars,
            decision,
            note: format!(
                "the error bars come from runs at {from}; what an FMU does within its own inner steps is hidden from them"
            ),
        }
    };
    let [half, twice] = Levels::HalfAndTwice.factors();
    let [_, quarter] = Levels::HalfAndQuarter.factors();
    let (half, twice) = (rows(half), rows(twice));
    let twice = twice.map_err(|reason| failed("twice the macro-step", reason));
    let half = match half {
        Ok(half) => half,
        Err(reason) => {
            let (twice, reason) = (twice?, failed("half the macro-step", reason));
            let [_, four] = Levels::TwiceAndFourTimes.factors();
            let four = rows(four).map_err(|other| {
                format!("{reason}; {}", failed("four times the macro-step", other))
            })?;
            let from = format!("twice and four times the macro-step, since {reason}");
            return Ok(judged(Levels::TwiceAndFourTimes, [&twice, &four], from));
        }
    };
    let mut finer = |from: String| {
        let quarter = rows(quarter);
        let quarter = quarter.map_err(|reason| failed("a quarter of the macro-step", reason))?;
        Ok::<Found, String>(judged(Levels::HalfAndQuarter, [&half, &quarter], from))
    };
    let from = "half and a quarter of the macro-step, since";
    let twice = match twice {
        Ok(twice) => twice,
        Err(reason) => {
            return finer(format!("{from} {reason}")).map_err(|other| format!("{reason}; {other}"));
        }
    };
    let from_both = "half and twice the macro-step".to_owned();
    let around = judged(Levels::HalfAndTwice, [&half, &twice], from_both);
    let doubtful = around.bars.iter().filter(|bar| bar.is_doubtful()).count();
    if doubtful == 0 {
        return Ok(around);
    }
    let signals = around.bars.len();
    let since = format!(
        "{from} the one at twice the macro-step left {doubtful} of {signals} signals in doubt"
    );
    Ok(finer(since).unwrap_or_else(|reason| Found {
        note: format!("{}; {reason}", around.note),
        ..around
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gyrator_record::{Column, ColumnType, MemorySink, RowSink as _, Values};
    use gyrator_testkit::RandomSystem;

    /// y = 1 + t + h·t at macro-steps of `factor` of 0.1 s.
    fn table(factor: f64) -> Table {
        let mut sink = MemorySink::new();
        sink.begin(&[Column::new("y", ColumnType::Real)]).unwrap();
        let step = 0.1 * factor;
        for index in 0..=(8.0 / factor) as u32 {
            let time = f64::from(index) * step;
            sink.real_row(time, &[1.0 + time + step * time]).unwrap();
        }
        sink.into_table()
    }

    /// The assessment if companions at these factors are refused, and the factors that were asked for.
    fn assessed(refused: &[f64], rows: impl Fn(f64) -> Table) -> (Assessment, Vec<f64>) {
        let mut asked = Vec::new();
        let companion = |factor| {
            asked.push(factor);
            match refused.contains(&factor) {
                true => Err(NoRows::from("no".to_owned())),
                false => Ok(rows(factor)),
            }
        };
        let names = ["y".to_owned()];
        let assessment = assess(&rows(1.0), 0.1 / 8.0, &names, 0.01, companion);
        (assessment, asked)
    }

    #[test]
    fn other_companions_stand_in_for_those_that_fail() {
        // The error of y is h·t, of the first order.
        for (refused, asked) in [
            (&[][..], &[0.5, 2.0][..]),
            (&[0.5], &[0.5, 2.0, 4.0]),
            (&[2.0], &[0.5, 2.0, 0.25]),
        ] {
            let (found, made) = assessed(refused, |factor| table(factor / 8.0));
            assert_eq!(made, asked);
            let order = found.bars[0].order.unwrap();
            assert!((order - 1.0).abs() < 1e-6, "{found:?}");
            let greatest = found.bars[0].max_error.unwrap();
            assert!((greatest - 0.1 / 8.0 * 0.8).abs() < 1e-9, "{found:?}");
            assert_eq!(found.doubtful, Vec::<String>::new());
        }
        for refused in [&[2.0, 0.25][..], &[0.5, 4.0], &[0.5, 2.0]] {
            let (found, _) = assessed(refused, |factor| table(factor / 8.0));
            assert_eq!(found.bars[0].error, None);
            assert!(found.note.contains("failed: no"), "{}", found.note);
        }
    }

    /// At twice the macro-step the run has another sign of its error: it is beyond its limit, and only finer runs show the order.
    #[test]
    fn a_signal_in_doubt_gets_a_finer_companion() {
        let rows = |factor: f64| {
            let mut rows = table(factor / 8.0);
            if factor > 1.0 {
                let series = &mut rows.series[0];
                let values = series.numbers().unwrap().iter().zip(&rows.time);
                let values = values.map(|(y, time)| 2.0 * (1.0 + time) - y);
                series.values = Values::Numbers(values.collect());
            }
            rows
        };
        let (found, asked) = assessed(&[], rows);
        assert_eq!(asked, [0.5, 2.0, 0.25]);
        let bar = &found.bars[0];
        assert!((bar.order.unwrap() - 1.0).abs() < 1e-6, "{found:?}");
        assert!((bar.max_error.unwrap() - 0.1 / 8.0 * 0.8).abs() < 1e-9);
        assert!(found.note.contains("1 of 1 signals"), "{}", found.note);

        let (found, _) = assessed(&[0.25], rows);
        assert!(found.bars[0].is_doubtful());
        // Whatever its order, the difference from half the macro-step makes it small.
        assert_eq!(found.verdict, Some(Verdict::Small));
        assert!(found.note.ends_with("failed: no"), "{}", found.note);
    }

    /// A suspected run is cleared by bars without a doubt, or by a decision.
    #[test]
    fn a_doubtful_signal_does_not_clear_a_suspicion() {
        let mut system = RandomSystem::of_seed(0);
        system.steps = 3;
        let run = system.start(1.0).run().unwrap();
        let amended = |doubtful: &[&str], decision| {
            let mut report = run.clone();
            report.divergence = Divergence::Suspected;
            let assessment = Assessment {
                verdict: Some(Verdict::Small),
                doubtful: doubtful.iter().map(|name| (*name).to_owned()).collect(),
                decision: Some(decision),
                ..Assessment::default()
            };
            assessment.amend(&mut report, |_| String::new());
            report.divergence
        };
        assert_eq!(amended(&[], Decision::CannotTell), Divergence::None);
        assert_eq!(amended(&["y"], Decision::Ordinary), Divergence::None);
        assert_eq!(amended(&["y"], Decision::CannotTell), Divergence::Suspected);
        assert_eq!(amended(&["y"], Decision::Diverging), Divergence::Verified);
    }
}
