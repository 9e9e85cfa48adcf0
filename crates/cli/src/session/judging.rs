//! How far the coupling of a run can be trusted: its error bars, or a second run that verifies a suspicion.
//!
//! Sessions call it when their run is over; companions are also sessions.

use gyrator::report::Divergence;
use gyrator::run::divergence_advice;
use gyrator::{Report, RunError, StopReason};
use gyrator_assess::{Comparing, Keeper, at_other_step};
use gyrator_worker::Worker;

use super::{Running, Session, not_recorded};
use crate::companions::Companion;
use crate::error_bars::{Assessed, Assessment};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::hosts;
use crate::interrupt::Interrupt;
use crate::recorder::{ResultFile, recorder};
use crate::state_options::StateOptions;
use crate::verification::{VerificationOptions, Verified};

/// Whether the standard output is a file: its rows are there for all to read once they are written.
fn prints_to_file() -> bool {
    match Worker::current() {
        // FMUs cannot write to this one.
        Some(worker) => worker
            .output()
            .metadata()
            .is_ok_and(|found| found.is_file()),
        None => std::path::Path::new("/dev/stdout").is_file(),
    }
}

/// What further runs have told of a run.
#[derive(Debug, Default)]
pub(super) struct Judged {
    pub(super) assessed: Option<Assessed>,
    pub(super) verified: Verified,
}

impl Session<'_> {
    /// Keeps what a second run would be compared with, unless there can be none.
    pub(super) fn keep_for_verification(&self, running: &mut Running) -> Result<(), RunError> {
        let is_wanted = self.verification.is_some()
            && self.options.error_bars.wanted().is_none()
            && self.unverifiable().is_none();
        if is_wanted {
            running.kept = Keeper::observe(&mut running.run)?;
        }
        Ok(())
    }

    /// Why there can be no second run, and what tells in its place.
    fn unverifiable(&self) -> Option<&'static str> {
        let options = self.options;
        // A pipe gives its rows once.
        let is_pipe = |path: &std::path::Path| !path.is_file();
        let input = self.input.and_then(|input| input.input_file.as_deref());
        if self.verification.is_some_and(VerificationOptions::is_off) {
            Some("a run without --no-verification tells why")
        } else if options.live.is_wanted() {
            Some("there is no second run beside a live page: a run without --live tells why")
        } else if let Some(why) = self.needs().no_second_run {
            Some(why)
        } else if !hosts::named(&self.system).is_empty() {
            Some("there is no second run on other machines: `gyrator doctor` may tell why")
        } else if self.states.and_then(StateOptions::input).is_some() {
            Some("there is no second run from a saved state: a run from the start tells why")
        } else if input.is_some_and(is_pipe) {
            Some("inputs from a pipe cannot be read twice: a run with a file of them tells why")
        } else if self.prints_results() && !prints_to_file() {
            Some(
                "there is no second run where the results go to a pipe: a run with --output-file FILE tells why",
            )
        } else {
            None
        }
    }

    /// Judges a run that has reached its end.
    pub(super) fn judge(
        &self,
        assessment: Option<Assessment>,
        running: &mut Running,
        report: &mut Report,
        outcome: Result<(), RunError>,
        interrupt: &Interrupt,
    ) -> (Judged, Result<(), RunError>) {
        let is_whole = outcome.is_ok()
            && matches!(
                report.stop_reason,
                StopReason::StopTime | StopReason::Terminated
            );
        let Some(assessment) = assessment.filter(|_| outcome.is_ok()) else {
            let verified = match report.divergence {
                Divergence::Suspected if is_whole => self.verify(running, report, interrupt),
                Divergence::Suspected => {
                    Verified::open("the run ended early: `gyrator doctor` may tell why")
                }
                _ => Verified::default(),
            };
            let assessed = None;
            return (Judged { assessed, verified }, outcome);
        };
        let (assessed, outcome) = self.assess(assessment, running, outcome, interrupt);
        let mut verified = Verified::default();
        if let Some(assessed) = &assessed {
            let assessment = &assessed.assessment;
            assessment.amend(report, divergence_advice(&running.run));
            report.notes.push(assessment.note.clone());
            if report.divergence == Divergence::Suspected {
                verified = Verified::open("the error bars do not tell why: `gyrator doctor` may");
            }
        }
        (Judged { assessed, verified }, outcome)
    }

    /// Makes the second run.
    fn verify(
        &self,
        running: &mut Running,
        report: &mut Report,
        interrupt: &Interrupt,
    ) -> Verified {
        if let Some(why) = self.unverifiable() {
            return Verified::open(why);
        }
        let Some((kept, options)) = running.kept.take().zip(self.verification) else {
            return Verified::open("a run with --error-bars tells why");
        };
        // All rows are there, whatever happens from here on.
        running.file.iter().for_each(ResultFile::flush);
        let (advice, execution) = (divergence_advice(&running.run), &self.options.execution);
        options.verify(
            &kept.take(),
            execution,
            &interrupt.requested(),
            report,
            advice,
        )
    }

    /// Runs the system, at its own macro-step, as a companion of another run, and leaves its rows to that, or what it has found.
    pub(crate) fn accompany(
        mut self,
        companion: Companion,
        worker: &Worker,
    ) -> Result<Exit, Failure> {
        self.system = at_other_step(&self.system, companion.factor);
        self.options.execution.isolate(&mut self.system)?;
        let interrupt = Interrupt::listen();
        let mut running = self.start(&interrupt)?;
        let comparing = Companion::course(worker).filter(|_| companion.verifies);
        let comparing = comparing.map(|course| Comparing::with(course, companion.factor));
        match &comparing {
            Some(comparing) => running.run.observe(comparing.clone())?,
            None => {
                let mut selection = self.selection();
                selection.interval = companion.interval;
                selection.reals_only = true;
                let file = Companion::results(worker)?;
                running.recorder = Some(recorder(selection, &running.run, file)?);
            }
        }
        let outcome = self.observe_and_step(&mut running, &interrupt);
        let is_not_finite = matches!(
            &outcome,
            Err(RunError::Fault(fault)) if fault.unit.cause == gyrator::error::Cause::NotFinite
        );
        match outcome {
            // It tells by that.
            Err(_) if is_not_finite && comparing.is_some() => {}
            Err(error) if is_not_finite => {
                let message = Message::error(error.to_string());
                return Err(Failure::new(Exit::CheckFailed, message));
            }
            outcome => outcome?,
        }
        let exit = match running.run.report().stop_reason {
            StopReason::Interrupted => Exit::Interrupted,
            _ => Exit::Success,
        };
        if let Some(comparing) = comparing {
            Companion::leave(worker, &comparing.verification())
                .map_err(|error| Failure::new(Exit::Failed, Message::error(error.to_string())))?;
        }
        worker.results_complete(exit.code());
        Ok(exit)
    }

    /// Estimates the errors of a run that has reached its end, also for the result file, which waits for them.
    fn assess(
        &self,
        assessment: Assessment,
        running: &Running,
        outcome: Result<(), RunError>,
        interrupt: &Interrupt,
    ) -> (Option<Assessed>, Result<(), RunError>) {
        let is_interrupted = running.run.report().stop_reason == StopReason::Interrupted;
        if outcome.is_err() || is_interrupted {
            return (None, outcome);
        }
        let mut assessed = assessment.finish(&interrupt.requested());
        let file = running.file.as_ref();
        let completed = file.map(|file| assessed.add_columns(file)).transpose();
        let outcome = completed.map_err(not_recorded).map(|is_added| {
            if is_added == Some(false) {
                let remark = "; the output takes no columns of errors, as a file would";
                assessed.assessment.note.push_str(remark);
            }
        });
        (Some(assessed), outcome)
    }
}
