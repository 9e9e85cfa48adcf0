//! The second run that verifies a suspicion: whether there can be one, its options, and its outcome in the report.
//!
//! A session asks for it when its own run is over and its rows are written. Its failure is a note, never an exit code.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Args;
use gyrator::report::{Divergence, Report};
use gyrator_assess::Course;

use crate::companions::Companions;
use crate::options::{ExecutionOptions, positive};

/// All steps of the second run relative to the first one; the other one stands in if an FMU takes no shorter step.
const FACTORS: [f64; 2] = [0.5, 2.0];

// Whether a suspicion is verified.
#[derive(Debug, Args)]
pub(crate) struct VerificationOptions {
    /// Make no second run, at half of every step, if signals have grown in a way that the coupling may have made: the
    /// coupling error is unknown then
    #[arg(long, help_heading = "Results")]
    no_verification: bool,
    /// End the second run after this time
    #[arg(long, value_name = "SECONDS", value_parser = positive, default_value = "600")]
    #[arg(conflicts_with = "no_verification", help_heading = "Results")]
    verification_limit: f64,
}

/// What has come of a suspicion.
#[derive(Debug, Default)]
pub(crate) struct Verified {
    /// Macro-steps of the second run.
    pub(crate) steps: u64,
    /// Why it is still open, and what tells.
    pub(crate) open: Option<String>,
}

impl Verified {
    /// A suspicion that was not looked into.
    pub(crate) fn open(why: &str) -> Self {
        Self {
            steps: 0,
            open: Some(why.to_owned()),
        }
    }
}

impl VerificationOptions {
    /// Whether there is to be no second run.
    pub(crate) const fn is_off(&self) -> bool {
        self.no_verification
    }

    /// Makes the second run of one with this course, and puts what it has told into the report. `advice` is for a run that diverges.
    pub(crate) fn verify(
        &self,
        course: &Course,
        execution: &ExecutionOptions,
        interrupt: &AtomicBool,
        report: &mut Report,
        advice: impl FnOnce(Option<bool>) -> String,
    ) -> Verified {
        let limit = self.verification_limit;
        let end = Duration::try_from_secs_f64(limit);
        let end = end.ok().and_then(|limit| Instant::now().checked_add(limit));
        let is_over = || end.is_some_and(|end| Instant::now() >= end);
        let mut companions = Companions::none(execution);
        let mut verify = |factor| companions.verify(factor, course, interrupt, end);
        let [half, twice] = FACTORS;
        let found = verify(half).map(|found| (found, None)).or_else(|reason| {
            if is_over() {
                return Err(format!(
                    "it had not ended after {limit} s, see --verification-limit"
                ));
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(reason);
            }
            // An FMU may take one step size only.
            verify(twice)
                .map(|found| (found, Some(reason.clone())))
                .map_err(|_| reason)
        });
        match found {
            Ok((verification, failed)) => {
                verification.settle(report, advice);
                Verified {
                    steps: verification.steps,
                    open: (report.divergence == Divergence::Suspected).then(|| match failed {
                        Some(reason) => format!("the run at half of every step failed ({reason}), and that at twice does not tell why"),
                        None => "the second run does not tell why: `gyrator doctor` may".to_owned(),
                    }),
                }
            }
            Err(reason) => {
                Verified::open(&format!("there is no second run that tells why: {reason}"))
            }
        }
    }
}
