//! Assertions on the rows of a run.

use gyrator::Report;
use gyrator::record::Recorded;

use super::{Checks, Finding, Rows, RunEnd};

/// A run that is over, for assertions in tests.
///
/// ```
/// use gyrator::{ClosureUnit, Recorder, RunOptions, System};
/// use gyrator_assess::{Check, Recording};
///
/// let mut system = System::new(0.01);
/// system.stop_time(2.0);
/// let decay = ClosureUnit::new(&[], &[("y", 1.0)], |call| {
///     call.outputs[0] = (-(call.time + call.step)).exp();
/// });
/// system.add("decay", decay);
/// let mut run = system.start(&RunOptions::default())?;
/// let (recorder, rows) = Recorder::memory();
/// run.observe(recorder)?;
/// let report = run.run()?;
///
/// Recording::new(&rows.take(), &report)
///     .assert(Check::never_above("decay.y", 1.0))
///     .assert(Check::settles("decay.y", Some(0.0), 0.2, 1.7))
///     .assert([Check::within("decay.y", 0.25, 0.15).from(1.0)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Recording<'a> {
    rows: Rows<'a>,
    end: RunEnd,
}

impl<'a> Recording<'a> {
    /// The rows of a run and its report.
    pub fn new(rows: &'a Recorded, report: &Report) -> Self {
        let (rows, end) = (rows.into(), report.into());
        Self { rows, end }
    }

    /// Asserts that checks hold.
    ///
    /// # Panics
    /// If one does not hold, with the signal, its worst value, the time and the distance; if one needs a column that
    /// the rows do not have.
    #[track_caller]
    pub fn assert(&self, checks: impl Into<Checks>) -> &Self {
        let checks: Checks = checks.into();
        match checks.judge(&self.rows, &self.end) {
            Err(problems) => panic!("{problems}"),
            Ok(findings) => {
                let broken: Vec<String> = findings
                    .iter()
                    .filter(|finding| !finding.holds())
                    .map(Finding::to_string)
                    .collect();
                assert!(broken.is_empty(), "{}", broken.join("\n"));
            }
        }
        self
    }
}
