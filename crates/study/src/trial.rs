//! One run of a study.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use gyrator::error::{Cause, LoadError, LoadErrorKind, StateFileError};
use gyrator::report::Divergence;
use gyrator::run::divergence_advice;
use gyrator::system::{FmuCache, StateFile};
use gyrator::unit::UnitMaker;
use gyrator::{Report, Run, RunError, RunOptions, StartError, StopReason, Verdict, View};
use gyrator_assess::{Assessment, Comparing, ErrorBar, Keeper, NoRows, at_other_step};
use gyrator_record::Table;
use gyrator_system::toml_file::{Setting, parse_with};
use gyrator_system::{Problems, Source, SystemFile};

use crate::bond_columns;
use crate::cell::Cell;
use crate::crashed_run::Trial;
use crate::error_columns::{Rows, error_bars};
use crate::metrics::{Meter, Metric, tracks};
use crate::reference::{Recorder, ReferenceTrajectory};
use crate::surroundings::{Inside, Surroundings};
use crate::tally::{HOST_LOST, INVALID, NOT_LOADED, is_success};

/// The step size of a second run over the step size of the run that it verifies.
const HALF: f64 = 0.5;

/// Shared inputs of every run.
pub(crate) struct Bench<'a> {
    /// The system file.
    pub(crate) system: &'a Source,
    pub(crate) metrics: &'a [Metric],
    /// Variables whose errors are estimated.
    pub(crate) error_bars: &'a [String],
    /// Whether suspicions are verified by second runs.
    pub(crate) verification: bool,
    /// Bonds whose energies are measured.
    pub(crate) bonds: &'a [String],
    pub(crate) interrupt: Arc<AtomicBool>,
    pub(crate) pending_timeout: Option<Duration>,
    /// The state from which all runs continue.
    pub(crate) state: Option<&'a StateFile>,
    /// Settings applied after all others; they change no result.
    pub(crate) last: &'a [Setting],
    pub(crate) maker: &'a MakeUnits<'a>,
    pub(crate) surroundings: &'a dyn Surroundings,
}

/// A run in its surroundings, which it leaves when its instances are gone.
struct StartedRun<'a> {
    run: Run,
    _inside: Inside<'a>,
}

/// Makes the maker of the units of a run, of this system.
pub type MakeUnits<'a> = dyn Fn(&SystemFile) -> Box<dyn UnitMaker> + Sync + 'a;

/// Outcome of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrialOutcome {
    /// `stop-time`, `terminated`, `limit`, `failed`, `crashed`, `invalid` or `not-loaded`; `host-lost`, which makes no row.
    pub(crate) stop_reason: &'static str,
    pub(crate) message: String,
    /// Simulated time at the end, s, and macro-steps; nothing of a run that did not start.
    pub(crate) reached: Option<(f64, u64)>,
    /// One a metric; empty for a run that did not start.
    pub(crate) metrics: Vec<Option<f64>>,
    /// One a variable whose error is estimated; empty for a run that failed.
    pub(crate) error_bars: Vec<ErrorBar>,
    /// How far the coupling changes the result: by the error bars if there are some.
    pub(crate) verdict: Option<Verdict>,
    /// The cells of each bond; empty for a run that did not start.
    pub(crate) bonds: Vec<Vec<Cell>>,
    pub(crate) seconds: f64,
}

/// Purpose of a run.
pub(crate) enum Role<'a> {
    Measured(Option<&'a ReferenceTrajectory>),
    /// The run is the reference, which has no errors.
    Reference,
}

/// Why a run did not start, or gives no rows to compare with.
#[derive(Debug)]
struct NotStarted {
    stop_reason: &'static str,
    message: String,
    is_not_finite: bool,
}

impl NotStarted {
    const fn new(stop_reason: &'static str, message: String) -> Self {
        Self {
            stop_reason,
            message,
            is_not_finite: false,
        }
    }
}

impl From<NotStarted> for TrialOutcome {
    fn from(
        NotStarted {
            stop_reason,
            message,
            ..
        }: NotStarted,
    ) -> Self {
        Self {
            stop_reason,
            message,
            ..Self::default()
        }
    }
}

impl TrialOutcome {
    /// Of a run that has ended its process.
    pub(crate) fn lost(message: &str) -> Self {
        NotStarted::new("crashed", message.to_owned()).into()
    }
}

impl Bench<'_> {
    /// Makes a run; `None` if the user interrupted it. The trajectory is a reference's. `before` gets the outcome of a
    /// run that a second one is about to verify, which may end the process.
    pub(crate) fn run(
        &self,
        trial: Trial,
        settings: &[Setting],
        role: &Role<'_>,
        cache: &FmuCache,
        before: &dyn Fn(&TrialOutcome),
    ) -> Option<(TrialOutcome, Option<ReferenceTrajectory>)> {
        let begin = Instant::now();
        let before = |mut outcome: TrialOutcome| {
            outcome.seconds = begin.elapsed().as_secs_f64();
            before(&outcome);
        };
        let (mut outcome, trajectory) = match self.attempt(trial, settings, role, cache, &before) {
            Ok(found) => found,
            Err(not_started) => (not_started.into(), None),
        };
        outcome.seconds = begin.elapsed().as_secs_f64();
        (outcome.stop_reason != StopReason::Interrupted.word()).then_some((outcome, trajectory))
    }

    fn attempt(
        &self,
        trial: Trial,
        settings: &[Setting],
        role: &Role<'_>,
        cache: &FmuCache,
        before: &dyn Fn(TrialOutcome),
    ) -> Result<(TrialOutcome, Option<ReferenceTrajectory>), NotStarted> {
        let invalid = |text: String| NotStarted::new(INVALID, text);
        let file = self.system(settings)?;
        let mut started = self.start(trial, file.clone(), cache)?;
        let run = &mut started.run;
        let mut rows = Rows::new(self.error_bars, run).map_err(invalid)?;
        let mut meter = Meter::new(self.metrics, run.graph()).map_err(invalid)?;
        let (reference, mut recorder) = match role {
            Role::Measured(trajectory) => (*trajectory, None),
            Role::Reference => {
                let recorder = Recorder::new(&tracks(self.metrics), run.graph());
                (None, Some(recorder.map_err(invalid)?))
            }
        };
        let kept = match self.verification && self.error_bars.is_empty() {
            true => Keeper::observe(run).map_err(|error| failed(&error))?,
            false => None,
        };
        let mut cursor = reference.map(ReferenceTrajectory::cursor);
        let mut take = |view: &View<'_>| {
            if let Some(recorder) = &mut recorder {
                recorder.record(view);
            }
            meter.update(view, cursor.as_mut());
            if !self.error_bars.is_empty() {
                rows.record(view);
            }
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
        let mut report = run.report();
        let advice = divergence_advice(run);
        drop(started);
        let mut end = end.unwrap_or(report.stop_reason.word());
        let metrics = meter.results(reference);
        let mut bars = Vec::new();
        if let Some(kept) = kept.filter(|_| is_success(end))
            && report.divergence == Divergence::Suspected
        {
            let comparing = Comparing::with(kept.take(), HALF);
            before(self.outcome(&report, String::new(), metrics.clone()));
            self.second_run(trial, &file, &comparing, cache)?;
            comparing.verification().settle(&mut report, advice);
        } else if is_success(end) && !self.error_bars.is_empty() {
            let assessment = self.assess(trial, &file, rows, cache)?;
            assessment.amend(&mut report, advice);
            bars = assessment.bars;
            if self.interrupt.load(Ordering::Relaxed) {
                end = StopReason::Interrupted.word();
            }
        }
        let outcome = TrialOutcome {
            stop_reason: end,
            error_bars: bars,
            ..self.outcome(&report, message, metrics)
        };
        Ok((outcome, recorder.map(Recorder::finish)))
    }

    /// The error bars of a run with these rows.
    fn assess(
        &self,
        trial: Trial,
        file: &SystemFile,
        rows: Rows,
        cache: &FmuCache,
    ) -> Result<Assessment, NotStarted> {
        let mut lost = None;
        let companion = |factor| {
            let rows = self.companion(trial, file, factor, cache);
            rows.map_err(|failed| {
                if failed.stop_reason == HOST_LOST {
                    lost = Some(failed.message.clone());
                }
                NoRows {
                    reason: failed.message,
                    is_not_finite: failed.is_not_finite,
                }
            })
        };
        let assessment = error_bars(file, rows, self.error_bars, companion);
        match lost {
            Some(message) => Err(NotStarted::new(HOST_LOST, message)),
            None => Ok(assessment),
        }
    }

    /// Rows of the run at so many times the macro-step.
    fn companion(
        &self,
        trial: Trial,
        system: &SystemFile,
        factor: f64,
        cache: &FmuCache,
    ) -> Result<Table, NotStarted> {
        let mut started = self.start(trial, at_other_step(system, factor), cache)?;
        let run = &mut started.run;
        let invalid = |text: String| NotStarted::new(INVALID, text);
        let mut rows = Rows::new(self.error_bars, run).map_err(invalid)?;
        rows.record(&run.view());
        while !run.has_ended() {
            if let Err(error) = run.step() {
                renew_after_fatal(&error, cache);
                return Err(failed(&error));
            }
            rows.record(&run.view());
        }
        Ok(rows.into_table())
    }

    /// Makes the run at half of every step that verifies a suspicion; one that fails tells nothing.
    fn second_run(
        &self,
        trial: Trial,
        system: &SystemFile,
        comparing: &Comparing,
        cache: &FmuCache,
    ) -> Result<(), NotStarted> {
        let mut started = match self.start(trial, at_other_step(system, HALF), cache) {
            Err(failed) if failed.stop_reason != HOST_LOST => return Ok(()),
            started => started?,
        };
        let run = started
            .run
            .observe(comparing.clone())
            .and_then(|()| started.run.run().map(drop));
        if let Err(error) = run {
            renew_after_fatal(&error, cache);
        }
        Ok(())
    }

    /// The system with these settings.
    fn system(&self, settings: &[Setting]) -> Result<SystemFile, NotStarted> {
        let invalid = |text: String| NotStarted::new(INVALID, text);
        let (text, path) = (self.system.own_text(), &self.system.path);
        let settings = [settings, self.last].concat();
        let (file, _) =
            parse_with(text, path, &settings).map_err(|problems| invalid(errors(&problems)))?;
        match file.experiment.stop_time {
            Some(_) => Ok(file),
            None => Err(invalid("no stop time is given".to_owned())),
        }
    }

    fn start(
        &self,
        trial: Trial,
        mut file: SystemFile,
        cache: &FmuCache,
    ) -> Result<StartedRun<'_>, NotStarted> {
        let state = self.state.map(|state| state.resume(&mut file, None));
        let resumption = state.transpose().map_err(not_started)?;
        let options = RunOptions {
            interrupt: Some(Arc::clone(&self.interrupt)),
            pending_timeout: Some(self.pending_timeout.unwrap_or(Duration::MAX)),
            ..RunOptions::default()
        };
        let mut maker = (self.maker)(&file);
        let system = cache.system(file).map_err(not_started)?;
        let inside = Inside::of(self.surroundings, trial).map_err(|error| {
            let text = format!("the run gets no working directory of its own: {error}");
            NotStarted::new(HOST_LOST, text)
        })?;
        let started = system.start_with(&options, &mut *maker);
        let started = started.and_then(|mut run| {
            resumption.map_or(Ok(()), |state| state.apply(&mut run))?;
            Ok(run)
        });
        let run = started.map_err(|error| {
            if let StartError::Run(error) = &error {
                renew_after_fatal(error, cache);
            }
            not_started(error)
        })?;
        let _inside = inside;
        Ok(StartedRun { run, _inside })
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
        if let Some(advice) = &report.advice
            && message.is_empty()
        {
            message.clone_from(advice);
        }
        let bond = |name: &String| {
            let found = report.bonds.iter().find(|bond| bond.name == *name);
            bond_columns::cells(found).collect()
        };
        TrialOutcome {
            stop_reason: report.stop_reason.word(),
            message,
            reached: Some((report.stop_time, report.steps)),
            metrics,
            error_bars: Vec::new(),
            verdict: Some(report.verdict),
            bonds: self.bonds.iter().map(bond).collect(),
            seconds: 0.0,
        }
    }
}

fn not_started(error: StartError) -> NotStarted {
    match error {
        StartError::Invalid(problems) => NotStarted::new(INVALID, errors(&problems)),
        StartError::Load(errors) => {
            let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
            let is_host = |error: &LoadError| error.kind == LoadErrorKind::HostLost;
            let word = match errors.iter().any(is_host) {
                true => HOST_LOST,
                false => NOT_LOADED,
            };
            NotStarted::new(word, messages.join("; "))
        }
        StartError::Run(error @ RunError::NotRestored(_)) => {
            NotStarted::new(INVALID, error.to_string())
        }
        StartError::State(error) => {
            let StateFileError { message, help, .. } = error;
            NotStarted::new(INVALID, format!("{message} ({help})"))
        }
        StartError::Run(error) => failed(&error),
        error => NotStarted::new(INVALID, error.to_string()),
    }
}

/// Of a run that has failed, at its start or as a companion.
fn failed(error: &RunError) -> NotStarted {
    let failed = || StopReason::Failed(String::new()).word();
    let word = unusual_end(error).unwrap_or_else(failed);
    NotStarted {
        is_not_finite: cause(error) == Some(Cause::NotFinite),
        ..NotStarted::new(word, error.to_string())
    }
}

/// The stop reason of an error that does not count as a failure of the run.
fn unusual_end(error: &RunError) -> Option<&'static str> {
    match cause(error)? {
        Cause::Lost | Cause::Timeout => Some("crashed"),
        Cause::HostLost => Some(HOST_LOST),
        Cause::Interrupted => Some(StopReason::Interrupted.word()),
        _ => None,
    }
}

/// FMI 2.0.5 section 2.1.3: after `fmi2Fatal` all instances of the FMU are unusable. The next run
/// of this thread loads its libraries again.
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
    let errors = problems.list.iter().filter(|problem| problem.is_error());
    let line = |problem: &gyrator_system::Problem| match &problem.help {
        Some(help) => format!("{} ({help})", problem.message),
        None => problem.message.clone(),
    };
    errors.map(line).collect::<Vec<_>>().join("; ")
}
