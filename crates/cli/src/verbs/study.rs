//! `gyrator study`: thousands of runs of one system.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use clap::{Args, Subcommand};
use gyrator::system::FmuCache;
use gyrator_study::{
    Cases, Cell, Journal, JournalError, Options as RunOptions, RunsInProgress, Shard, Study,
    StudyError, StudyFile, Summary, TableError, Tally, Writer, check_ending, csv_line, merge,
    run as run_study, spreads, write_table,
};
use gyrator_system::toml_file::{self, Setting};
use gyrator_system::{SystemFile, Value};
use gyrator_worker::{Worker, surroundings};

use super::{study_plot, study_sensitivity, study_status};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::fmu_log::{self, LogLevel};
use crate::fmu_options::FmuOptions;
use crate::hosts::{self, HostOptions};
use crate::input_kind::{self, Wanted};
use crate::interrupt::Interrupt;
use crate::live::{LiveOptions, StudyPage};
use crate::numbers::count;
use crate::options::{check_isolated, not_negative, threads as thread_count, time_limit};
use crate::progress::ShowOptions;
use crate::study_directories::StudyDirectories;
use crate::study_journals::{self, journal_of};
use crate::study_progress::StudyProgress;
use crate::study_summary::{StudySummary, divergence, outcomes, spread_table, without_runs};
use crate::study_supervision::{Handover, Job, Plan, Wear};
use crate::summary_file::{replace_earlier, write as write_summary};
use crate::system_input::{self, SystemOptions};
use crate::{overwriting, screen};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(super) struct Options {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// The study file
    #[arg(value_name = "STUDY.toml", required = true)]
    study: Option<PathBuf>,
    /// Write the table to this file; FILE.journal keeps finished rows, from which an interrupted study continues
    /// [default: the name of the study file with the extension .csv]
    #[arg(long, short = 'o', value_name = "FILE")]
    output_file: Option<PathBuf>,
    /// Run only part i of n of the cases; `gyrator study merge` joins the parts
    #[arg(long, value_name = "i/n", default_value = "1/1")]
    shard: Shard,
    /// Write the counts of failures and verdicts as JSON
    #[arg(long, value_name = "FILE.json")]
    summary: Option<PathBuf>,
    /// End with exit code 0 even if the coupling of some runs diverges, like `accept_divergence = true` in the study
    /// file
    #[arg(long)]
    accept_divergence: bool,
    /// Apply the actions of this file to variables at given times, in all runs that name no other scenario
    #[arg(long, value_name = "FILE.toml")]
    scenario: Option<PathBuf>,
    /// Start all runs from the state in this file, which `gyrator run --save-state` wrote
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
    /// Print the cases without running them
    #[arg(long)]
    dry_run: bool,
    /// Number of runs at the same time [default: one per core]
    #[arg(long, value_name = "NUMBER", value_parser = thread_count, allow_negative_numbers = true)]
    worker_threads: Option<NonZeroUsize>,
    /// Run in this process, where a crash of an FMU ends the study, now and when it is run again [Linux]
    #[arg(long)]
    no_supervisor: bool,
    /// Run each of these components, or all, in its own process, so that a run is measured until an FMU crashes
    /// [repeatable] [Linux]
    #[arg(long, value_name = "COMPONENT,…", num_args = 0.., value_delimiter = ',', require_equals = true)]
    isolate: Option<Vec<String>>,
    /// Longest time that a call of an FMU may take; 0: no limit [Linux]
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "600")]
    #[arg(allow_negative_numbers = true)]
    timeout: f64,
    /// Most memory that the process of the runs may use, with those of isolated components. A run that exceeds it by itself is
    /// a row `crashed` [Linux]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    #[arg(allow_negative_numbers = true)]
    memory_limit: Option<u64>,
    /// Keep the files that FMUs write to the working directory: each run has its own, TABLE.runs/ROW
    #[arg(long)]
    keep_run_directories: bool,
    #[command(flatten)]
    hosts: HostOptions,
    #[command(flatten)]
    live: LiveOptions,
    #[command(flatten)]
    input: SystemOptions,
    #[command(flatten)]
    fmus: FmuOptions,
    /// Log lines of FMUs to show
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "off")]
    log_level: LogLevel,
    #[command(flatten)]
    show: ShowOptions,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the cases as comma-separated values without running them
    List {
        /// The study file
        #[arg(value_name = "STUDY.toml")]
        study: PathBuf,
    },
    /// Draw the table: metrics over one parameter, or one metric over two
    Plot(study_plot::Options),
    /// Print the sensitivity to each parameter: Sobol indices, or elementary effects
    Sensitivity(study_sensitivity::Options),
    /// Print the progress of the parts and their remaining time, also while they run
    Status(study_status::Options),
    /// Join the parts that `--shard` made into one table
    Merge {
        /// The parts: their folder, their tables or their journals
        #[arg(value_name = "PART", required = true)]
        parts: Vec<PathBuf>,
        /// Write the table to this file
        #[arg(long, short = 'o', value_name = "FILE")]
        output_file: PathBuf,
        /// Write the table even if rows are missing
        #[arg(long)]
        allow_missing: bool,
    },
}

impl Options {
    /// Most memory that the process of the runs may use, bytes.
    fn memory_limit(&self) -> Option<u64> {
        self.memory_limit.map(|limit| limit << 20)
    }
}

/// Runs a study, lists its cases or joins its parts.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    match (&options.verb, &options.study) {
        (Some(Verb::List { study }), _) => list(study, options),
        (Some(Verb::Plot(plot)), _) => study_plot::run(plot),
        (Some(Verb::Sensitivity(sensitivity)), _) => study_sensitivity::run(sensitivity),
        (Some(Verb::Status(status)), _) => study_status::run(status),
        (
            Some(Verb::Merge {
                parts,
                output_file,
                allow_missing,
            }),
            _,
        ) => join(parts, output_file, *allow_missing),
        (None, Some(study)) if options.dry_run => list(study, options),
        (None, Some(study)) => execute(study, options),
        (None, None) => Err(Failure::usage("name a study file".to_owned())),
    }
}

/// Reads the study file, with the scenario of the options in it.
fn read(path: &Path, options: &Options) -> Result<StudyFile, Failure> {
    input_kind::expect(path, Wanted::Study)?;
    let mut study = gyrator_study::read(path)?;
    if let Some(state) = &options.resume {
        study.resume = Some(state.clone());
    }
    if let Some(scenario) = &options.scenario {
        input_kind::expect(scenario, Wanted::Scenario)?;
        let scenario = std::path::absolute(scenario)?;
        let Some(text) = scenario.to_str() else {
            let text = format!("--scenario: {} is not UTF-8", scenario.display());
            return Err(Failure::usage(text));
        };
        study.settings.push(Setting {
            key: "experiment.scenario".to_owned(),
            value: toml_file::literal(&Value::String(text.to_owned())),
        });
    }
    Ok(study)
}

fn list(path: &Path, options: &Options) -> Result<Exit, Failure> {
    let study = read(path, options)?;
    // Its problems are worth knowing before any run; its FMUs are not needed.
    system(&study, options)?;
    let cases = Cases::new(&study);
    if cases.is_empty() {
        return Err(StudyError::NoCases.into());
    }
    let names = cases.columns().into_iter();
    let names: Vec<Cell> = names.map(|column| Cell::Text(column.name)).collect();
    /// Characters that are printed at a time.
    const BLOCK: usize = 1 << 16;
    let mut text = csv_line(&names);
    for row in 0..cases.len() {
        text.push_str(&csv_line(&cases.cells(row)));
        if text.len() > BLOCK {
            screen::print(&text)?;
            text.clear();
        }
    }
    screen::print(&text)?;
    Ok(Exit::Success)
}

/// The system that a study file names.
fn system(study: &StudyFile, options: &Options) -> Result<SystemFile, Failure> {
    let limits = options.fmus.limits();
    system_input::read_as_toml(&study.system.value, &options.input, limits)
}

fn join(parts: &[PathBuf], output: &Path, allow_missing: bool) -> Result<Exit, Failure> {
    let journals = study_journals::of_parts(parts)?;
    let (header, rows) = merge(&journals, allow_missing)?;
    write_table(output, &header.columns, &rows)?;
    let parts = count(journals.len() as u64, "part");
    let outcomes = outcomes(&Tally::of(&header.columns, &rows));
    let spreads = spread_table(&spreads(&header.columns, &rows));
    let rows = count(rows.len() as u64, "row");
    screen::print(&format!(
        "{outcomes}{spreads}{}: {rows} of {parts}\n",
        output.display()
    ))?;
    Ok(Exit::Success)
}

fn execute(path: &Path, options: &Options) -> Result<Exit, Failure> {
    let output = match &options.output_file {
        Some(output) => output.clone(),
        None => {
            // The table of a file of another kind could have its name.
            input_kind::expect(path, Wanted::Study)?;
            path.with_extension("csv")
        }
    };
    check_ending(&output)?;
    let journal = journal_of(&output);
    let mut outputs = vec![("--output-file", &*output), ("the journal", &*journal)];
    let summary = options.summary.as_deref();
    outputs.extend(summary.map(|path| ("--summary", path)));
    let mut inputs = vec![("the study file", path)];
    let state = options.resume.as_deref();
    inputs.extend(state.map(|path| ("the saved state", path)));
    overwriting::refuse(&outputs, &inputs)?;
    input_kind::expect(path, Wanted::Study)?;
    if let Some(path) = summary {
        replace_earlier(path)?;
    }
    if options.no_supervisor {
        gyrator_worker::report_exit_of_fmus(Exit::Crashed.code());
    } else if Worker::current().is_none() {
        let plan = Plan {
            study: path,
            live: &options.live,
            journal: &journal,
            timeout: time_limit(options.timeout),
            memory_limit: options.memory_limit(),
        };
        if let Some(outcome) = plan.carry_out() {
            return outcome;
        }
    }
    make(path, &output, &journal, options)
}

/// Makes the runs in this process, which may be a worker, and the table if all rows are there.
fn make(
    path: &Path,
    output: &Path,
    journal_path: &Path,
    options: &Options,
) -> Result<Exit, Failure> {
    fmu_log::start(options.log_level);
    options.show.check()?;
    let begin = Instant::now();
    let cache = FmuCache::new(options.fmus.open_options());
    let file = read(path, options)?;
    let system = system(&file, options)?;
    let accepts_divergence = options.accept_divergence || file.accepts_divergence;
    let prepared = Study::prepare(file, system.clone(), cache);
    let study = prepared.map_err(|error| match error {
        StudyError::Start(error) => Failure::not_started(error, &system),
        error => error.into(),
    })?;
    let isolated = isolated(&study, options)?;
    let (mut job, in_progress) = job()?;
    let writer = job.writer.take();
    let writer = writer.unwrap_or_else(|| Writer::this_process(path));
    let journal = Journal::open(journal_path, &study.header(options.shard), &writer)?;
    if in_progress.is_none() {
        job.earlier = journal.done().len();
    }
    let interrupt = Interrupt::listen();
    let _page = page(path, journal_path, options, &interrupt)?;
    let progress = StudyProgress::start(options.show.progress(), journal.done().len(), job.seconds);
    let threads = threads(&job, options);
    let directories = directories(output, options, threads, std::mem::take(&mut job.told))?;
    let components = study.components().len();
    let wear = Wear::new(threads.get(), components, options.memory_limit());
    let is_worn = || wear.is_worn();
    let run_options = RunOptions {
        part: options.shard,
        threads,
        interrupt: interrupt.requested(),
        pending_timeout: time_limit(options.timeout),
        isolated,
        lost: &job.lost,
        only: job.only,
        in_progress: in_progress.as_ref(),
        is_worn: in_progress.is_some().then_some(&is_worn),
        trusted: &job.trust.believed,
        surroundings: &directories,
        maker: &|system| {
            let timeout = time_limit(options.timeout);
            let inner = hosts::isolation(timeout).interpreters_apart();
            Box::new(hosts::units(system, &options.hosts, timeout, None, inner))
        },
    };
    let mut summary = run_study(&study, &run_options, &journal, &|state| {
        progress.show(state);
    })?;
    drop(progress);
    drop(journal);
    let was_interrupted = run_options.interrupt.load(Ordering::Relaxed);
    let is_complete = summary.done == summary.total;
    summary.extra_runs += job.extra_runs;
    if let Some(worker) = Worker::current()
        && !was_interrupted
        && (job.only.is_some() || !is_complete)
    {
        let handover = Handover {
            new: summary.new,
            extra_runs: summary.extra_runs,
            failed: summary.failed,
            told: directories.told(),
        };
        handover.write(worker.for_parent())?;
        return Ok(Exit::Success);
    }
    let made = Made {
        summary,
        earlier: job.earlier,
        seconds: job.seconds + begin.elapsed().as_secs_f64(),
        accepts_divergence,
        was_interrupted,
    };
    made.conclude(path, output, journal_path, options)
}

/// How many runs are made at the same time.
fn threads(job: &Job, options: &Options) -> NonZeroUsize {
    match (job.only, options.worker_threads) {
        (Some(_), _) => NonZeroUsize::MIN,
        (None, threads) => threads.unwrap_or_else(cores),
    }
}

/// A study whose last runs this process has made.
struct Made {
    summary: Summary,
    /// Rows that were there before.
    earlier: usize,
    /// How long it took, s.
    seconds: f64,
    accepts_divergence: bool,
    was_interrupted: bool,
}

impl Made {
    /// Writes the table if all rows are there, and says how the runs ended.
    fn conclude(
        &self,
        path: &Path,
        output: &Path,
        journal: &Path,
        options: &Options,
    ) -> Result<Exit, Failure> {
        let summary = &self.summary;
        let is_complete = summary.done == summary.total;
        let mut spread = Vec::new();
        if is_complete {
            surroundings::in_own(|| {
                let (header, rows) = merge(&[journal.to_owned()], true)?;
                spread = spreads(&header.columns, &rows);
                write_table(output, &header.columns, &rows)
            })?;
        }
        let table = is_complete.then_some(output);
        let outcome = StudySummary::new(path, summary, self.earlier, table, &spread, self.seconds);
        if let Some(file) = &options.summary {
            write_summary(file, &outcome)?;
        }
        if options.show.has_closing_lines() {
            screen::print(&outcome.for_people())?;
        }
        match is_complete {
            false if self.was_interrupted => Ok(Exit::Interrupted),
            false => Ok(Exit::Failed),
            true => match without_runs(&summary.tally, summary.total) {
                Some(failure) => Err(failure),
                None if self.accepts_divergence => Ok(Exit::Success),
                None => divergence(&summary.tally).map_or(Ok(Exit::Success), Err),
            },
        }
    }
}

/// The working directories of the runs, of which there are so many at the same time.
fn directories(
    table: &Path,
    options: &Options,
    threads: NonZeroUsize,
    told: BTreeSet<String>,
) -> Result<StudyDirectories, Failure> {
    let kept = options.keep_run_directories.then(|| {
        let mut name = table.as_os_str().to_owned();
        name.push(".runs");
        std::path::absolute(name)
    });
    let is_alone = threads == NonZeroUsize::MIN;
    Ok(StudyDirectories::new(kept.transpose()?, is_alone, told))
}

/// The page of a study, if this process has no parent that serves it.
fn page(
    path: &Path,
    journal: &Path,
    options: &Options,
    interrupt: &Interrupt,
) -> Result<Option<StudyPage>, Failure> {
    if Worker::current().is_some() {
        return Ok(None);
    }
    let requested = interrupt.requested();
    let stop = move || requested.store(true, Ordering::Relaxed);
    let listener = options.live.listen()?;
    Ok(listener.and_then(|listener| StudyPage::serve(listener, path, journal, stop)))
}

/// The part of a study that this process makes, and the file of its runs in progress.
fn job() -> Result<(Job, Option<RunsInProgress>), Failure> {
    let Some(worker) = Worker::current() else {
        return Ok((Job::default(), None));
    };
    let job = Job::of_worker(worker).map_err(|error| {
        let text = format!("cannot read the task from the parent process: {error}");
        Failure::new(Exit::Panicked, Message::error(text))
    })?;
    let file = worker.for_parent().try_clone()?;
    Ok((job, Some(RunsInProgress::new(file))))
}

/// The components that `--isolate` means.
fn isolated(study: &Study, options: &Options) -> Result<Vec<String>, Failure> {
    let known = study.components();
    match &options.isolate {
        None => Ok(Vec::new()),
        Some(names) if names.is_empty() => Ok(known.to_vec()),
        Some(names) => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            check_isolated(names, &known)?;
            Ok(names.clone())
        }
    }
}

fn cores() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Start(error) => error.into(),
            StudyError::Journal(error) => error.into(),
            StudyError::HostLost(message) => Self::new(Exit::NotLoaded, Message::error(message))
                .help("finished rows are kept; the same command goes on once the cause is gone"),
            StudyError::Threads(..) | StudyError::InProgress(_) => Self::of(Exit::Failed, &error),
            StudyError::State(error) => {
                Self::new(Exit::InvalidInput, Message::error(error.message)).help(error.help)
            }
            other => Self::of(Exit::InvalidInput, &other),
        }
    }
}

impl From<JournalError> for Failure {
    fn from(error: JournalError) -> Self {
        let exit = match error {
            JournalError::Io { ref source, .. }
                if source.kind() == std::io::ErrorKind::NotFound =>
            {
                Exit::InvalidInput
            }
            JournalError::Io { .. } => Exit::Failed,
            _ => Exit::InvalidInput,
        };
        Self::of(exit, &error)
    }
}

impl From<TableError> for Failure {
    fn from(error: TableError) -> Self {
        match error {
            TableError::Journal(error) => error.into(),
            TableError::Write { .. } => Self::of(Exit::Failed, &error),
            TableError::UnknownEnding { .. } | TableError::Nothing => Self::of(Exit::Usage, &error),
            TableError::DifferentStudies { .. } | TableError::Missing { .. } => {
                Self::of(Exit::InvalidInput, &error)
            }
        }
    }
}
