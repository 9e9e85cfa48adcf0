//! One run of a study.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use gyrator::{
    BondReport, Cause, FmuCache, Report, Run, RunError, RunOptions, StartError, StopReason,
    UnitMaker, View,
};
use gyrator_system::toml_file::{Setting, parse_with};
use gyrator_system::{Problems, Severity, Source};

use crate::metrics::{Meter, Metric, tracks};
use crate::reference::{Recorder, ReferenceTrajectory};

/// Shared inputs of every run.
pub(crate) struct Bench<'a> {
    /// The system file.
    pub(crate) system: &'a Source,
    pub(crate) metrics: &'a [Metric],
    /// Bonds whose energies are measured.
    pub(crate) bonds: &'a [String],
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) pending_timeout: Option<Duration>,
    /// Settings applied after all others; they change no result.
    pub(crate) last: &'a [Setting],
    pub(crate) maker: &'a MakeUnits<'a>,
}

/// Makes the maker of a run's units.
pub type MakeUnits<'a> = dyn Fn() -> Box<dyn UnitMaker> + Sync + 'a;

/// Outcome of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrialOutcome {
    /// `stop-time`, `terminated`, `limit`, `failed`, `crashed`, `invalid` or `not-loaded`.
    pub(crate) stop_reason: &'static str,
    pub(crate) message: String,
    /// Simulated time at the end, s, and macro-steps; nothing of a run that did not start.
    pub(crate) reached: Option<(f64, u64)>,
    /// One a metric; empty for a run that did not start.
    pub(crate) metrics: Vec<Option<f64>>,
    /// Residual, transferred and correction energy of each bond, J.
    pub(crate) energies: Vec<[f64; 3]>,
    pub(crate) seconds: f64,
}

/// Purpose of a run.
pub(crate) enum Role<'a> {
    Measured(Option<&'a ReferenceTrajectory>),
    /// The run is the reference, which has no errors.
    Reference,
}

impl TrialOutcome {
    fn not_started(stop_reason: &'static str, message: String) -> Self {
        Self {
            stop_reason,
            message,
            ..Self::default()
        }
    }

    /// Of a run that has ended its process.
    pub(crate) fn lost(message: &str) -> Self {
        Self::not_started("crashed", message.to_owned())
    }

    /// Whether the run came to an end that was planned.
    pub(crate) fn is_success(&self) -> bool {
        is_success(self.stop_reason)
    }
}

/// Whether a run with this stop reason came to an end that was planned.
pub(crate) fn is_success(stop_reason: &str) -> bool {
    matches!(stop_reason, "stop-time" | "terminated")
}

impl Bench<'_> {
    /// Makes a run; `None` where the user interrupted it. The tape is that of a reference.
    pub(crate) fn run(
        &self,
        settings: &[Setting],
        role: &Role<'_>,
        cache: &FmuCache,
    ) -> Option<(TrialOutcome, Option<ReferenceTrajectory>)> {
        let begin = Instant::now();
        let (mut outcome, tape) = match self.attempt(settings, role, cache) {
            Ok(found) => found,
            Err(outcome) => (outcome, None),
        };
        outcome.seconds = begin.elapsed().as_secs_f64();
        (outcome.stop_reason != StopReason::Interrupted.word()).then_some((outcome, tape))
    }

    fn attempt(
        &self,
        settings: &[Setting],
        role: &Role<'_>,
        cache: &FmuCache,
    ) -> Result<(TrialOutcome, Option<ReferenceTrajectory>), TrialOutcome> {
        let invalid = |text: String| TrialOutcome::not_started("invalid", text);
        let mut run = self.start(settings, cache)?;
        let mut meter = Meter::new(self.metrics, run.graph()).map_err(invalid)?;
        let (reference, mut recorder) = match role {
            Role::Measured(tape) => (*tape, None),
            Role::Reference => {
                let recorder = Recorder::new(&tracks(self.metrics), run.graph());
                (None, Some(recorder.map_err(invalid)?))
            }
        };
        let mut cursor = reference.map(ReferenceTrajectory::cursor);
        let mut take = |view: &View<'_>| {
            if let Some(recorder) = &mut recorder {
                recorder.record(view);
            }
            meter.update(view, cursor.as_mut());
        };
        take(&run.view());
        let (mut message, mut end) = (String::new(), None);
        while !run.has_ended() {
            match run.step() {
                Ok(_) => take(&run.view()),
                Err(error) => {
                    renew_after_fatal(&error, cache);
                    end = unusual_end(&error);
                    message = error.to_string();
                }
            }
        }
        let mut outcome = self.outcome(&run.report(), message, meter.results(reference));
        outcome.stop_reason = end.unwrap_or(outcome.stop_reason);
        Ok((outcome, recorder.map(Recorder::finish)))
    }

    fn start(&self, settings: &[Setting], cache: &FmuCache) -> Result<Run, TrialOutcome> {
        let invalid = |text: String| TrialOutcome::not_started("invalid", text);
        let (text, path) = (self.system.own_text(), &self.system.path);
        let settings = [settings, self.last].concat();
        let (file, _) =
            parse_with(text, path, &settings).map_err(|problems| invalid(errors(&problems)))?;
        if file.experiment.stop_time.is_none() {
            return Err(invalid("no stop time is given".to_owned()));
        }
        let options = RunOptions {
            interrupt: Some(Arc::clone(&self.interrupt)),
            pending_timeout: Some(self.pending_timeout.unwrap_or(Duration::MAX)),
            ..RunOptions::default()
        };
        let system = cache.system(file).map_err(not_started)?;
        let started = system.start_with(&options, &mut *(self.maker)());
        started.map_err(|error| {
            if let StartError::Run(error) = &error {
                renew_after_fatal(error, cache);
            }
            not_started(error)
        })
    }

    fn outcome(
        &self,
        report: &Report,
        mut message: String,
        metrics: Vec<Option<f64>>,
    ) -> TrialOutcome {
        if let StopReason::Failed(detail) | StopReason::Limit(detail) = &report.stop_reason
            && message.is_empty()
        {
            message.clone_from(detail);
        }
        let energies = |name: &String| {
            let bond = report.bonds.iter().find(|bond| bond.name == *name);
            bond.map_or([f64::NAN; 3], |BondReport { energy, .. }| {
                [
                    energy.residual_energy,
                    energy.transferred_energy,
                    energy.correction_energy,
                ]
            })
        };
        TrialOutcome {
            stop_reason: report.stop_reason.word(),
            message,
            reached: Some((report.stop_time, report.steps)),
            metrics,
            energies: self.bonds.iter().map(energies).collect(),
            seconds: 0.0,
        }
    }
}

fn not_started(error: StartError) -> TrialOutcome {
    match error {
        StartError::Invalid(problems) => TrialOutcome::not_started("invalid", errors(&problems)),
        StartError::Load(errors) => {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            TrialOutcome::not_started("not-loaded", messages.join("; "))
        }
        StartError::Run(error) => {
            let failed = || StopReason::Failed(String::new()).word();
            let word = unusual_end(&error).unwrap_or_else(failed);
            TrialOutcome::not_started(word, error.to_string())
        }
        error => TrialOutcome::not_started("invalid", error.to_string()),
    }
}

/// The stop reason of an error that is no failure of the run.
fn unusual_end(error: &RunError) -> Option<&'static str> {
    match cause(error)? {
        Cause::Lost | Cause::Timeout => Some("crashed"),
        Cause::Interrupted => Some(StopReason::Interrupted.word()),
        _ => None,
    }
}

/// FMI 2.0.5 section 2.1.3: after `fmi2Fatal` all instances of the FMU are unusable. The next run
/// of this thread loads its libraries anew.
fn renew_after_fatal(error: &RunError, cache: &FmuCache) {
    if cause(error) == Some(Cause::Fatal) {
        cache.renew();
    }
}

fn cause(error: &RunError) -> Option<Cause> {
    match error {
        RunError::Fault(fault) => Some(fault.unit.cause),
        _ => None,
    }
}

/// The errors among some problems, on one line.
fn errors(problems: &Problems) -> String {
    let errors = problems
        .list
        .iter()
        .filter(|problem| problem.severity == Severity::Error);
    let line = |problem: &gyrator_system::Problem| match &problem.help {
        Some(help) => format!("{} ({help})", problem.message),
        None => problem.message.clone(),
    };
    errors.map(line).collect::<Vec<_>>().join("; ")
}
