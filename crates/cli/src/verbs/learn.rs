//! `gyrator learn`: feed-forward from a sequence of runs.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use gyrator::learning::{
    Base, FeedForward, Interpolation, Iteration, Learned, Learning, LearningError,
    LearningObserver, LearningOutcome, Recorded,
};
use gyrator::system::FmuCache;
use gyrator::unit::UnitMaker;
use gyrator::{Run, RunError, StopReason};
use gyrator_record::Table;
use gyrator_system::{MissingTime, SystemFile};
use gyrator_worker::{Worker, surroundings};
use serde::Serialize;

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::fmu_log;
use crate::fmu_options::FmuOptions;
use crate::hosts;
use crate::interrupt::Interrupt;
use crate::options::{
    CouplingOptions, ExecutionOptions, ExperimentOptions, assignment, finite, positive,
    set_start_values,
};
use crate::progress::ShowOptions;
use crate::supervision::{self, Plan};
use crate::system_input::{self, SystemOptions};
use crate::table_options::not_read;
use crate::{overwriting, screen};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The system file
    #[arg(value_name = "SYSTEM")]
    system: PathBuf,
    #[command(flatten)]
    law: LawOptions,
    /// Write the feed-forward of the best run, for `gyrator run --feed-forward`
    #[arg(long, short = 'o', value_name = "FILE.csv", help_heading = "Results")]
    output_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long, help_heading = "Results")]
    json: bool,
    #[command(flatten)]
    experiment: ExperimentOptions,
    #[command(flatten)]
    input: SystemOptions,
    /// Start value of a variable, in place of the system file's [repeatable]
    #[arg(long, value_name = "COMPONENT.VARIABLE=VALUE", value_parser = assignment)]
    #[arg(help_heading = "Experiment")]
    start_value: Vec<(String, String)>,
    #[command(flatten)]
    coupling: CouplingOptions,
    #[command(flatten)]
    fmus: FmuOptions,
    #[command(flatten)]
    execution: ExecutionOptions,
    #[command(flatten)]
    show: ShowOptions,
}

// How it is learned.
#[derive(Debug, Args)]
#[command(next_help_heading = "Learning")]
struct LawOptions {
    /// Runs after the first one
    #[arg(long, short = 'n', value_name = "NUMBER", default_value_t = Learning::default().iterations)]
    iterations: u32,
    /// Share of the error that is added to the feed-forward after each run
    #[arg(long, value_name = "NUMBER", value_parser = positive, default_value_t = 1.0)]
    #[arg(allow_negative_numbers = true)]
    gain: f64,
    /// Most halvings of the gain: where learning diverges, it continues from the best run with half the gain
    #[arg(long, value_name = "NUMBER", default_value_t = Learning::default().gain_halvings)]
    gain_halvings: u32,
    /// Feed-forward to start from, which was learned on the same system
    #[arg(long, value_name = "FILE.csv")]
    start_from: Option<PathBuf>,
    /// Make no run, but learn from this recorded one (CSV or Parquet), which had the feed-forward of --start-from, and
    /// write the feed-forward for the next run
    #[arg(long, value_name = "FILE", requires_all = ["start_from", "output_file"])]
    recorded: Option<PathBuf>,
    /// Read the times of the recorded run from this column [default: the column time, or t, in any case of letters]
    #[arg(long, value_name = "NAME", requires = "recorded")]
    time_column: Option<String>,
    /// Make no run, but write a feed-forward of zero for the first run to be recorded
    #[arg(long, requires = "output_file", conflicts_with_all = ["recorded", "start_from"])]
    no_run: bool,
    /// Greatest error, in the units of the inputs, at which learning ends
    #[arg(long, value_name = "NUMBER", value_parser = finite)]
    #[arg(allow_negative_numbers = true)]
    #[arg(default_value_t = Learning::default().tolerance)]
    max_error: f64,
    /// Inputs to which the feed-forward is added
    #[arg(long, value_enum, default_value = "delay")]
    base: Word<Base>,
    /// Interpolation of recorded signals between communication points
    #[arg(long, value_enum, default_value = "cubic")]
    interpolation: Word<Interpolation>,
}

/// A choice of the engine as a word of the command line.
#[derive(Debug, Clone, Copy)]
struct Word<T>(T);

impl ValueEnum for Word<Base> {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(Base::Delay),
            Self(Base::Fresh),
            Self(Base::Compensated),
            Self(Base::Stale),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self.0 {
            Base::Delay => (
                "delay",
                "Outputs with direct feed-through one macro-step late",
            ),
            Base::Fresh => ("fresh", "Outputs read again after their inputs were set"),
            Base::Compensated => ("compensated", "Compensated outputs"),
            Base::Stale => (
                "stale",
                "Outputs as the step left them: learns a wrong signal",
            ),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl ValueEnum for Word<Interpolation> {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self(Interpolation::Hold),
            Self(Interpolation::Linear),
            Self(Interpolation::Cubic),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, help) = match self.0 {
            Interpolation::Hold => ("hold", "They stay"),
            Interpolation::Linear => ("linear", "Straight lines"),
            Interpolation::Cubic => ("cubic", "A cubic spline"),
        };
        Some(PossibleValue::new(name).help(help))
    }
}

impl LawOptions {
    /// The run that was recorded.
    fn recording(&self) -> Result<Option<Table>, Failure> {
        let read = |path: &PathBuf| {
            let table = gyrator_record::read_table_with(path, self.time_column.as_deref());
            table.map_err(|error| not_read(&error, path))
        };
        self.recorded.as_ref().map(read).transpose()
    }

    fn learning(&self) -> Result<Learning, Failure> {
        let start = self.start_from.as_deref().map(read).transpose()?;
        Ok(Learning {
            start,
            iterations: match self.recorded {
                Some(_) => 0,
                None => self.iterations,
            },
            gain: self.gain,
            gain_halvings: self.gain_halvings,
            tolerance: self.max_error,
            base: self.base.0,
            interpolation: self.interpolation.0,
            ..Learning::default()
        })
    }
}

/// Learns, and prints the errors run by run.
pub(super) fn run(options: Options) -> Result<Exit, Failure> {
    options.show.check()?;
    let output = options.output_file.as_deref();
    let outputs = Vec::from_iter(output.map(|path| ("--output-file", path)));
    refuse_outputs(&options, &outputs)?;
    let plan = Plan::without_files(&options.system, &options.execution);
    if let Some(outcome) = plan.carry_out() {
        return outcome;
    }
    let learning = options.law.learning()?;
    let recording = options.law.recording()?;
    let limits = options.fmus.limits();
    let (mut system, warnings) =
        system_input::read_with(&options.system, &options.input, limits, |system| {
            options.coupling.apply(system);
            options.experiment.apply(&mut system.experiment)
        })?;
    overwriting::refuse_files_of(&system, &outputs)?;
    set_start_values(&mut system, options.start_value.iter().cloned())?;
    options.execution.isolate(&mut system)?;
    fmu_log::start(options.execution.log_level);
    for problem in &warnings {
        let path = options.system.display();
        screen::message(&format!("warning: {path}: {}\n", problem.message));
    }
    let interrupt = Interrupt::listen();
    let run_options = options.execution.run_options(&interrupt);
    let mut table_of_runs = TableOfRuns {
        is_shown: !options.json && options.show.has_closing_lines(),
        system: &system,
        execution: &options.execution,
        recorded: None,
        failed: None,
    };
    if options.law.no_run {
        return write_before(&learning, &system, &options);
    }
    // Each run has libraries of its own.
    let open = || {
        let cache = FmuCache::new(options.fmus.open_options());
        cache.system(system.clone())
    };
    let describe = || surroundings::in_own(open);
    if let Some(table) = recording {
        let described = describe().map_err(LearningError::from);
        let recorded = described.and_then(|described| learning.recorded(table, &described));
        table_of_runs.recorded = Some(recorded.map_err(|error| not_learned(error, &system))?);
    }
    let learned = learning.learn(&run_options, describe, &mut table_of_runs);
    if let Some(error) = table_of_runs.failed {
        return Err(error.into());
    }
    let learned = match learned {
        Err(LearningError::Ended {
            reason: StopReason::Interrupted,
            ..
        }) => return Ok(Exit::Interrupted),
        learned => learned.map_err(|error| not_learned(error, &system))?,
    };
    finish(&learned, options)?;
    conclude(&learned)
}

/// Refuses to write over what is read. An earlier feed-forward may be replaced: it is read at the start.
fn refuse_outputs(options: &Options, outputs: &[(&'static str, &Path)]) -> Result<(), Failure> {
    let recorded = options.law.recorded.as_deref();
    let recorded = recorded.map(|path| ("the recording", path));
    let mut inputs = vec![("the system file", &*options.system)];
    inputs.extend(options.input.input());
    inputs.extend(recorded);
    overwriting::refuse(outputs, &inputs)
}

/// Writes what was learned, and prints the summary.
fn finish(learned: &Learned, options: Options) -> Result<(), Failure> {
    if let Some(path) = &options.output_file {
        match &options.law.recorded {
            Some(_) => save(&learned.next, path)?,
            None => save(&learned.feed_forward, path)?,
        }
    }
    let mut summary = Summary::new(learned, options.output_file);
    summary.recorded = options.law.recorded;
    if options.json {
        screen::print(&screen::json(&summary)?)?;
    } else if options.show.has_closing_lines() {
        screen::print(&summary.for_people())?;
    }
    Ok(())
}

/// Writes the feed-forward of the first run to be recorded.
fn write_before(
    learning: &Learning,
    system: &SystemFile,
    options: &Options,
) -> Result<Exit, Failure> {
    let cache = FmuCache::new(options.fmus.open_options());
    let described = surroundings::in_own(|| cache.system(system.clone()));
    let before = described.map_err(LearningError::from);
    let before = before.and_then(|described| learning.before(&described));
    let before = before.map_err(|error| not_learned(error, system))?;
    if let Some(path) = &options.output_file {
        save(&before, path)?;
    }
    Ok(Exit::Success)
}

/// The failure, with advice.
fn not_learned(error: LearningError, system: &SystemFile) -> Failure {
    match error {
        LearningError::NoStopTime => {
            let failure = Failure::of(Exit::InvalidInput, &error);
            failure.help(system.advice_on_missing(MissingTime::StopTime))
        }
        LearningError::Start(error) => Failure::not_started(error, system),
        error => error.into(),
    }
}

/// Shows the errors of each run as soon as it has ended.
struct TableOfRuns<'a> {
    is_shown: bool,
    system: &'a SystemFile,
    execution: &'a ExecutionOptions,
    /// Units of a run that was recorded.
    recorded: Option<Recorded>,
    /// An error of the standard output.
    failed: Option<std::io::Error>,
}

impl TableOfRuns<'_> {
    fn show(&mut self, text: &str) {
        if self.is_shown && self.failed.is_none() {
            self.failed = screen::print(text).err();
        }
    }
}

impl LearningObserver for TableOfRuns<'_> {
    fn maker(&mut self) -> Box<dyn UnitMaker> {
        if let Some(recorded) = &self.recorded {
            return Box::new(recorded.clone());
        }
        let isolation = hosts::isolation(self.execution.timeout());
        Box::new(self.execution.units(self.system, None, isolation))
    }

    fn begin(&mut self, number: u32, run: &mut Run) -> Result<(), RunError> {
        if let Some(worker) = Worker::current() {
            supervision::track(run, worker);
        }
        if number == 0 || self.recorded.is_some() {
            for warning in run.report().warnings {
                screen::message(&format!("warning: {warning}\n"));
            }
            for note in run.report().notes {
                screen::message(&format!("note: {note}\n"));
            }
            self.show(&line([
                "run",
                "‖e‖₂",
                "max |e|",
                "ratio",
                "gain",
                "runs to go",
            ]));
        }
        Ok(())
    }

    fn end(&mut self, iteration: &Iteration) -> bool {
        let ratio = iteration.contraction;
        let needed = iteration.runs_needed;
        let unknown = || "-".to_owned();
        let cells = [
            iteration.number.to_string(),
            scientific(iteration.norm_2),
            scientific(iteration.max),
            ratio.map_or_else(unknown, |ratio| format!("{ratio:.3}")),
            iteration.gain.to_string(),
            needed.map_or_else(unknown, |needed| needed.to_string()),
        ];
        self.show(&line(cells.each_ref().map(String::as_str)));
        self.failed.is_none()
    }
}

/// A line of the table.
fn line([run, norm_2, max, ratio, gain, needed]: [&str; 6]) -> String {
    format!("{run:>5}  {norm_2:>12}  {max:>12}  {ratio:>8}  {gain:>8}  {needed:>10}\n")
}

fn scientific(value: f64) -> String {
    format!("{value:.3e}")
}

fn save(feed_forward: &FeedForward, path: &Path) -> Result<(), Failure> {
    let text = feed_forward.to_string();
    let write = || screen::file(path, &text);
    surroundings::in_own(write).map_err(|error| Failure::not_written(path.display(), &error))
}

/// Reads feed-forward that was saved.
pub(super) fn read(path: &Path) -> Result<FeedForward, Failure> {
    let refuse = |text: String| Failure::new(Exit::InvalidInput, Message::error(text));
    let text = std::fs::read_to_string(path)
        .map_err(|error| refuse(format!("cannot read {}: {error}", path.display())))?;
    text.parse()
        .map_err(|error| refuse(format!("{}: {error}", path.display())))
}

/// Result of learning, for programs.
#[derive(Serialize)]
struct Summary<'a> {
    outcome: &'a LearningOutcome,
    /// Number of the run with the smallest ‖e‖₂, whose feed-forward is kept.
    best: u32,
    /// The inputs that learn, in the order of the channels.
    inputs: Vec<&'a str>,
    iterations: &'a [Iteration],
    /// The recorded run from which was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<PathBuf>,
    output_file: Option<PathBuf>,
}

impl<'a> Summary<'a> {
    fn new(learned: &'a Learned, output_file: Option<PathBuf>) -> Self {
        let best = learned.iterations.get(learned.best);
        Self {
            outcome: &learned.outcome,
            best: best.map_or(0, |best| best.number),
            inputs: learned.feed_forward.inputs().collect(),
            iterations: &learned.iterations,
            recorded: None,
            output_file,
        }
    }

    fn for_people(&self) -> String {
        if let (Some(recorded), Some(path)) = (&self.recorded, &self.output_file) {
            let is_within = match self.outcome {
                LearningOutcome::Converged => "; no error exceeds --max-error",
                _ => "",
            };
            return format!(
                "learned from {}{is_within}; the next run has {}, with feed-forward for {}\n",
                recorded.display(),
                path.display(),
                self.inputs.join(", ")
            );
        }
        let how = match self.outcome {
            LearningOutcome::Converged => "converged",
            LearningOutcome::Iterations => "not converged within the iterations",
            LearningOutcome::Diverged(_) => "diverged",
            LearningOutcome::Interrupted => "interrupted",
        };
        let inputs = self.inputs.join(", ");
        let mut text = format!(
            "{how}; run {} is the best, with feed-forward for {inputs}",
            self.best
        );
        if let Some(path) = &self.output_file {
            text.push_str(&format!(", which is in {}", path.display()));
        }
        text.push('\n');
        text
    }
}

/// The exit code, with advice if learning diverged.
fn conclude(learned: &Learned) -> Result<Exit, Failure> {
    match &learned.outcome {
        LearningOutcome::Converged | LearningOutcome::Iterations => Ok(Exit::Success),
        LearningOutcome::Interrupted => Ok(Exit::Interrupted),
        LearningOutcome::Diverged(reason) => {
            let text = format!("learning diverges: {reason}");
            let help = "try a smaller --gain or --step-size, or --base fresh or compensated";
            Err(Failure::new(Exit::CheckFailed, Message::error(text)).help(help))
        }
    }
}

impl From<LearningError> for Failure {
    fn from(error: LearningError) -> Self {
        match error {
            LearningError::Start(error) => error.into(),
            LearningError::Run(error) => error.into(),
            LearningError::Option { .. } => Self::usage(error.to_string()),
            LearningError::NoStopTime
            | LearningError::NoChannel
            | LearningError::Misfit(_)
            | LearningError::Recording(_)
            | LearningError::TooLong { .. } => Self::of(Exit::InvalidInput, &error),
            LearningError::Ended { .. } => Self::of(Exit::Failed, &error),
        }
    }
}
