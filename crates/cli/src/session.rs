//! A run from its system file to its summary: what `run` and `simulate` share.

use std::time::Instant;

use gyrator::{FeedForward, FmuCache, Report, Run, RunError, RunOptions, StopReason, System};
use gyrator_record::RecordError;
use gyrator_system::{Problem, Problems, SystemFile};
use gyrator_worker::Worker;
use gyrator_worker::isolated::Isolation;

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::fmu_log::{self, LogLevel};
use crate::fmu_options::FmuOptions;
use crate::input_file::InputFile;
use crate::interrupt::Interrupt;
use crate::options::{ExecutionOptions, ResultOptions};
use crate::progress::Progress;
use crate::recorder::{Recorder, Recording, ResultFile};
use crate::screen;
use crate::summary::{OutputFile, Summary, WallClock};
use crate::supervision;

/// What is to be run.
pub(crate) struct Session<'a> {
    /// The system, with the options of the command line in it.
    pub(crate) system: SystemFile,
    /// Warnings of reading it.
    pub(crate) warnings: Vec<Problem>,
    /// What is written.
    pub(crate) results: &'a ResultOptions,
    /// How FMUs are opened.
    pub(crate) fmus: &'a FmuOptions,
    /// How it is carried out.
    pub(crate) execution: &'a ExecutionOptions,
    /// The component of a run of one FMU, and what feeds it.
    pub(crate) single: Option<(String, Option<InputFile>)>,
    /// What is added to inputs.
    pub(crate) feed_forward: Option<FeedForward>,
    /// When loading began.
    pub(crate) begin: Instant,
}

/// A run that was started, with what observes it.
struct Running {
    run: Run,
    recorder: Option<Recorder>,
    file: Option<ResultFile>,
    clock: WallClock,
    stepping_since: Instant,
}

impl Session<'_> {
    /// Runs the system and tells what came of it.
    pub(crate) fn execute(mut self) -> Result<Exit, Failure> {
        self.execution.isolate(&mut self.system)?;
        fmu_log::start(self.execution.log_level);
        let interrupt = Interrupt::listen();
        let mut running = self.start(&interrupt)?;
        let outcome = self.observe_and_step(&mut running, &interrupt);
        running.clock.stepping = running.stepping_since.elapsed().as_secs_f64();
        let report = running.run.report();
        let exit = match self.conclude(&running, &report, outcome) {
            Ok(exit) => exit,
            Err(failure) => {
                failure.print();
                failure.exit
            }
        };
        if let Some(worker) = Worker::current() {
            // All is told: FMUs that crash when they are freed change nothing any more.
            worker.results_complete(exit.code());
        }
        Ok(exit)
    }

    fn start(&self, interrupt: &Interrupt) -> Result<Running, Failure> {
        let stop = &self.system.experiment.stop_time;
        if stop.is_none() {
            return Err(self.invalid(
                "no-stop-time",
                "no stop time is given",
                "add `stop_time = …` to [experiment], or pass --stop-time",
            ));
        }
        let not_started = |error| Failure::not_started(error, &self.system);
        let fmus = FmuCache::new(self.fmus.open_options());
        let system = System::from_file_with(self.system.clone(), &fmus);
        let mut system = system.map_err(not_started)?;
        if let Some(feed_forward) = &self.feed_forward {
            system.feed_forward(feed_forward.clone());
        }
        let loading = self.begin.elapsed().as_secs_f64();
        let options = RunOptions {
            threads: self.execution.worker_threads.map_or(1, usize::from),
            accept_not_finite: self.execution.no_nan_check,
            log_fmu_calls: self.execution.log_level >= LogLevel::Info,
            interrupt: Some(interrupt.requested()),
        };
        let since = Instant::now();
        let mut isolation = Isolation::new()
            .timeout(self.execution.timeout())
            .arguments(["isolated".into()]);
        let run = system
            .start_with(&options, &mut isolation)
            .map_err(not_started)?;
        let clock = WallClock {
            loading,
            initialising: since.elapsed().as_secs_f64(),
            stepping: 0.0,
        };
        let recorder = self
            .recording()
            .map(|recording| Recorder::create(&recording, &run));
        let recorder = recorder.transpose()?;
        Ok(Running {
            run,
            file: recorder.as_ref().map(Recorder::file),
            recorder,
            clock,
            stepping_since: Instant::now(),
        })
    }

    fn invalid(&self, rule: &'static str, text: &str, help: &str) -> Failure {
        let list = vec![Problem::error(rule, text).help(help)];
        Problems {
            source: self.system.source.clone(),
            list,
        }
        .into()
    }

    fn recording(&self) -> Option<Recording> {
        Some(Recording {
            file: self.results.output_file.clone()?,
            interval: self.results.output_interval,
            variables: self.results.output_variable.clone(),
            single: self.single.as_ref().map(|(name, _)| name.clone()),
        })
    }

    fn observe_and_step(
        &self,
        running: &mut Running,
        interrupt: &Interrupt,
    ) -> Result<(), RunError> {
        let run = &mut running.run;
        if let Some(recorder) = running.recorder.take() {
            interrupt.set_result(recorder.file());
            run.observe(Box::new(recorder))?;
        }
        let stop = self
            .system
            .experiment
            .stop_time
            .as_ref()
            .map_or(f64::INFINITY, |stop| stop.value);
        let progress = Progress::start(self.execution.progress, run.time(), stop);
        if let Some(worker) = Worker::current() {
            run.observe(Box::new(supervision::Tracker(worker)))?;
        }
        if let Some(progress) = &progress {
            run.observe(progress.observer())?;
        }
        running.stepping_since = Instant::now();
        let Some((component, Some(inputs))) = &self.single else {
            return run.run().map(|_| ());
        };
        while !run.has_ended() {
            inputs.feed(run, component)?;
            run.step()?;
        }
        Ok(())
    }

    /// Writes the summaries and turns the outcome into an exit code or a failure.
    fn conclude(
        &self,
        running: &Running,
        report: &Report,
        outcome: Result<(), RunError>,
    ) -> Result<Exit, Failure> {
        let output = running
            .file
            .as_ref()
            .map(|file| OutputFile::new(&self.results.output_file, file));
        let warnings: Vec<String> = self
            .warnings
            .iter()
            .map(|problem| self.warning(problem))
            .collect();
        let summary = Summary::new(&self.system, report, &warnings, running.clock, output);
        if let Some(path) = &self.results.summary {
            summary.write(path)?;
        }
        if let Err(error) = outcome {
            if is_broken_pipe(&error) {
                return Ok(Exit::Success);
            }
            let failure = Failure::from(error);
            return Err(match summary.kept_rows() {
                Some(kept) => failure.detail(kept),
                None => failure,
            });
        }
        let text = summary.for_people();
        if self
            .results
            .output_file
            .as_ref()
            .is_some_and(|path| path.as_os_str() == "-")
        {
            screen::message(&text);
        } else {
            screen::print(&text)?;
        }
        match &report.stop_reason {
            StopReason::Interrupted => Ok(Exit::Interrupted),
            StopReason::Limit(limit) => Err(Failure::new(Exit::CheckFailed, Message::error(limit))),
            StopReason::Failed(reason) => Err(Failure::new(Exit::Failed, Message::error(reason))),
            _ => Ok(Exit::Success),
        }
    }

    fn warning(&self, problem: &Problem) -> String {
        let source = &self.system.source;
        let place = problem.span.as_ref().map_or(String::new(), |span| {
            let (line, column) = source.position(span.start);
            format!("{line}:{column}: ")
        });
        let help = problem
            .help
            .as_ref()
            .map_or(String::new(), |help| format!("; {help}"));
        format!("{}:{place}{}{help}", source.path.display(), problem.message)
    }
}

/// Whether the reader of `-o -` has gone, as `head` does when it has seen enough.
fn is_broken_pipe(error: &RunError) -> bool {
    let RunError::Observer(error) = error else {
        return false;
    };
    matches!(
        error.downcast_ref::<RecordError>(),
        Some(RecordError::Write { source, .. }) if source.kind() == std::io::ErrorKind::BrokenPipe
    )
}
