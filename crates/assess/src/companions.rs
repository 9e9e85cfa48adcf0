//! The companions of a run: at which macro-steps, and which others where an FMU cannot take half a step.

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
    /// The verdict of the bars on the run; `None` where there are none.
    pub verdict: Option<Verdict>,
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

/// Estimates the errors of the signals `variables` of a run with the macro-step `step_size`, s, from companions at half
/// and twice the macro-step. Where the first one fails, at twice and four times. `wanted` is the relative error for
/// which macro-steps are given.
///
/// `rows` gives the rows of the companion whose macro-step is so many times that of the run, or says why there are
/// none: for each level once, in the order in which they are needed.
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
    let assessment = match companions(rows) {
        Ok((levels, [first, second], note)) => {
            let results = Results {
                step_size,
                run,
                levels,
                companions: [&first, &second],
            };
            let bars = error_bars(&results, variables, wanted);
            let decision = results.decide(variables);
            let verdict = (!bars.is_empty()).then(|| verdict(&bars, levels));
            Assessment {
                bars,
                note,
                verdict,
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
    /// Puts the verdict of the bars in place of the one that the run alone has given: they are the second run that verifies a suspicion.
    /// A companion that ended in a value that is not finite verifies it, too, if the run's own estimate is above its signals. `advice` is
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
        match verdict {
            None => {}
            Some(Verdict::CannotTell) if is_suspected => {}
            Some(Verdict::Diverging) => {
                report.settle(Divergence::Verified);
                report.advice = Some(advice(None));
            }
            Some(verdict) => {
                report.settle(Divergence::None);
                report.verdict = verdict;
                // A part is no worse than the whole.
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
            decision: None,
            is_not_finite: false,
        }
    }
}

fn companions(
    mut rows: impl FnMut(f64) -> Result<Table, String>,
) -> Result<(Levels, [Table; 2], String), String> {
    let [half, twice] = Levels::HalfAndTwice.factors();
    let (half, twice) = (rows(half), rows(twice));
    let failed = |which: &str, reason: String| format!("the run at {which} failed: {reason}");
    let twice = twice.map_err(|reason| failed("twice the macro-step", reason))?;
    let hidden = "what an FMU does within its own inner steps is hidden from them";
    let reason = match half {
        Ok(half) => {
            let note =
                format!("the error bars come from runs at half and twice the macro-step; {hidden}");
            return Ok((Levels::HalfAndTwice, [half, twice], note));
        }
        Err(reason) => failed("half the macro-step", reason),
    };
    let [_, four] = Levels::TwiceAndFourTimes.factors();
    let four = rows(four)
        .map_err(|other| format!("{reason}; {}", failed("four times the macro-step", other)))?;
    let note = format!(
        "the error bars come from runs at twice and four times the macro-step, since {reason}; {hidden}"
    );
    Ok((Levels::TwiceAndFourTimes, [twice, four], note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gyrator_record::{Column, ColumnType, MemorySink, RowSink as _};

    /// y = 1 + h·t at macro-steps of `factor` of 0.1 s.
    fn table(factor: f64) -> Table {
        let mut sink = MemorySink::new();
        sink.begin(&[Column::new("y", ColumnType::Real)]).unwrap();
        let step = 0.1 * factor;
        for index in 0..=(8.0 / factor) as u32 {
            let time = f64::from(index) * step;
            sink.real_row(time, &[1.0 + step * time]).unwrap();
        }
        sink.into_table()
    }

    #[test]
    fn four_times_the_macro_step_stands_in_for_half_of_it() {
        let assess = |refused: &[f64]| {
            let mut asked = Vec::new();
            let assessment = assess(
                &table(1.0 / 8.0),
                0.1 / 8.0,
                &["y".to_owned()],
                0.01,
                |factor| {
                    asked.push(factor);
                    match refused.contains(&factor) {
                        true => Err(NoRows::from("no".to_owned())),
                        false => Ok(table(factor / 8.0)),
                    }
                },
            );
            (assessment, asked)
        };
        // The error of y is h·t, of the first order.
        for (refused, asked) in [(&[][..], &[0.5, 2.0][..]), (&[0.5], &[0.5, 2.0, 4.0])] {
            let (found, made) = assess(refused);
            assert_eq!(made, asked);
            let order = found.bars[0].order.unwrap();
            assert!((order - 1.0).abs() < 1e-6, "{found:?}");
            let greatest = found.bars[0].max_error.unwrap();
            assert!((greatest - 0.1 / 8.0 * 0.8).abs() < 1e-9, "{found:?}");
        }
        for refused in [&[2.0][..], &[0.5, 4.0], &[0.5, 2.0]] {
            let (found, _) = assess(refused);
            assert_eq!(found.bars[0].error, None);
            assert!(found.note.contains("failed: no"), "{}", found.note);
        }
    }
}
