//! Options that several verbs share.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};
use gyrator::RunOptions;
use gyrator::correction::CORRECTIONS;
use gyrator::exchange_mode::Exchange;
use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::method::METHODS;
use gyrator::profile::Profile;
use gyrator::registry::{Entry, EntryKind};
use gyrator::step_control::STEP_CONTROLS;
use gyrator::unit::UnitMaker;
use gyrator_assess::doctor::Coupling;
use gyrator_record::{RenameError, Table};
use gyrator_system::{Choice, Experiment, Spanned, SystemFile, Tolerance, did_you_mean};
use gyrator_worker::isolated::Isolation;

use crate::failure::Failure;
use crate::fmu_log::LogLevel;
use crate::hosts::{self, HostOptions};
use crate::input_kind::{self, Wanted};
use crate::interrupt::Interrupt;
use crate::overwriting::Named;
use crate::screen;

/// Most threads, or runs at the same time.
const MOST_THREADS: u16 = 1024;

// When the simulation starts and ends, and in which steps.
#[derive(Debug, Args)]
#[command(next_help_heading = "Experiment")]
pub(crate) struct ExperimentOptions {
    /// Simulated time to start at
    #[arg(long, short = 'b', visible_alias = "begin-time", value_name = "SECONDS", value_parser = finite)]
    #[arg(allow_negative_numbers = true)]
    start_time: Option<f64>,
    /// Simulated time to stop at
    #[arg(long, short = 'e', visible_alias = "end-time", value_name = "SECONDS", value_parser = finite)]
    #[arg(allow_negative_numbers = true)]
    stop_time: Option<f64>,
    /// Duration of the simulation, instead of a stop time
    #[arg(long, short = 'd', value_name = "SECONDS", value_parser = positive, conflicts_with = "stop_time")]
    #[arg(allow_negative_numbers = true)]
    duration: Option<f64>,
    /// Macro-step: the interval at which values are exchanged
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    step_size: Option<f64>,
    /// Relative tolerance for FMUs that have their own solver, or none [default: the FMU's own]
    #[arg(long, value_name = "NUMBER", value_parser = tolerance)]
    #[arg(allow_negative_numbers = true)]
    tolerance: Option<Tolerance>,
    /// Apply the actions of this file to variables at given times, for example as faults
    #[arg(long, value_name = "FILE.toml")]
    scenario: Option<PathBuf>,
}

impl ExperimentOptions {
    /// Puts the options in place of what a file says.
    ///
    /// # Errors
    /// A scenario that is a file of another kind.
    pub(crate) fn apply(&self, experiment: &mut Experiment) -> Result<(), Failure> {
        let replace = |target: &mut Option<Spanned<f64>>, value: Option<f64>| {
            if let Some(value) = value {
                *target = Some(Spanned::unplaced(value));
            }
        };
        replace(&mut experiment.start_time, self.start_time);
        replace(&mut experiment.stop_time, self.stop_time);
        let start = experiment.start();
        replace(
            &mut experiment.stop_time,
            self.duration.map(|duration| start + duration),
        );
        replace(&mut experiment.step_size, self.step_size);
        if let Some(tolerance) = self.tolerance {
            experiment.tolerance = Some(Spanned::unplaced(tolerance));
        }
        if let Some(path) = &self.scenario {
            input_kind::expect(path, Wanted::Scenario)?;
            experiment.scenario = Some(Spanned::unplaced(path.clone()));
        }
        Ok(())
    }
}

// How values are exchanged, in place of what the system file says.
#[derive(Debug, Args)]
#[command(next_help_heading = "Coupling, in place of the system file's")]
pub(crate) struct CouplingOptions {
    /// Method, with its default parameters
    #[arg(long, value_name = "NAME", value_parser = words(METHODS, &[]))]
    method: Option<String>,
    /// Step control, with its default parameters
    #[arg(long, value_name = "NAME", value_parser = words(STEP_CONTROLS, &[]))]
    step_control: Option<String>,
    /// Exchange mode of all components
    #[arg(long, value_name = "MODE", value_parser = PossibleValuesParser::new(Exchange::WORDS))]
    exchange: Option<String>,
    /// Extrapolation of all inputs
    #[arg(long, value_name = "NAME", value_parser = words(EXTRAPOLATIONS, &[]))]
    extrapolation: Option<String>,
    /// Correction of all bonds, with its default parameters
    #[arg(long, value_name = "NAME", value_parser = words(CORRECTIONS, &["off"]))]
    correction: Option<String>,
    /// End the run with exit code 6 when the residual energy of a bond exceeds this; for bonds that
    /// have no limit of their own
    #[arg(long, value_name = "JOULES", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    max_residual_energy: Option<f64>,
}

impl CouplingOptions {
    /// Puts the options in place of what a file says.
    pub(crate) fn apply(&self, system: &mut SystemFile) {
        let coupling = Coupling {
            method: self.method.clone(),
            exchange: self.exchange.clone(),
            extrapolation: self.extrapolation.clone(),
            correction: self.correction.clone(),
            ..Coupling::default()
        };
        *system = coupling.applied(system);
        if let Some(word) = &self.step_control {
            system.experiment.step_control = Some(Choice::new(word));
        }
        if system.bonds.is_empty() {
            self.warn_of_bond_options();
        }
        if let Some(limit) = self.max_residual_energy {
            for bond in &mut system.bonds {
                bond.max_residual_energy
                    .get_or_insert(Spanned::unplaced(limit));
            }
        }
    }

    /// Names the options that act on power bonds, for a system without any.
    fn warn_of_bond_options(&self) {
        let corrects = self.correction.as_ref().is_some_and(|word| word != "off");
        let options = [
            ("--correction", corrects),
            ("--max-residual-energy", self.max_residual_energy.is_some()),
        ];
        for (option, _) in options.into_iter().filter(|(_, is_given)| *is_given) {
            screen::message(&format!(
                "warning: {option} has no effect: the system has no power bonds\n"
            ));
        }
    }
}

// Whether errors are estimated.
#[derive(Debug, Args)]
pub(crate) struct ErrorBarOptions {
    /// Estimate the error of every recorded signal, as far as it depends on the macro-step, from runs at half and
    /// twice the macro-step beside this one; say which macro-step has this relative error [default: 0.01]
    #[arg(long, value_name = "RELATIVE_ERROR", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "0.01", value_parser = positive, conflicts_with = "initialize_only")]
    #[arg(help_heading = "Results")]
    error_bars: Option<f64>,
}

impl ErrorBarOptions {
    /// The relative error for which macro-steps are given; `None` without error bars.
    pub(crate) const fn wanted(&self) -> Option<f64> {
        self.error_bars
    }
}

// Results of a run, and their files.
#[derive(Debug, Args)]
#[command(next_help_heading = "Results")]
pub(crate) struct ResultOptions {
    /// Write the results as CSV, Parquet or Arrow IPC, as the file extension says (.csv, .parquet, .arrow); - is the
    /// standard output, as CSV
    #[arg(long, short = 'o', value_name = "FILE")]
    pub(crate) output_file: Option<PathBuf>,
    /// Write only every n-th communication point, with the n that is nearest to this interval
    #[arg(long, value_name = "SECONDS", value_parser = positive, requires = "output_file")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) output_interval: Option<f64>,
    /// Write the variables of this name instead of all outputs; inputs and local variables are possible, and
    /// parameters, which are written once; * and ? stand for any text and any character [repeatable]
    #[arg(long, value_name = "NAME")]
    pub(crate) output_variable: Vec<String>,
    /// End after Initialization Mode, and show the values of the variables there
    #[arg(long)]
    pub(crate) initialize_only: bool,
}

impl ResultOptions {
    /// The same choice of variables, written nowhere.
    pub(crate) fn without_files(&self) -> Self {
        Self {
            output_file: None,
            output_interval: None,
            output_variable: self.output_variable.clone(),
            initialize_only: false,
        }
    }

    /// Refuses a choice of variables that are used nowhere; `is_used`: the run needs it for more than results.
    pub(crate) fn check(&self, is_used: bool) -> Result<(), Failure> {
        let is_shown = self.output_file.is_some() || self.initialize_only;
        if is_shown || is_used || self.output_variable.is_empty() {
            return Ok(());
        }
        let failure = Failure::usage(
            "--output-variable selects the variables to write, but nothing is written",
        );
        Err(failure.help("pass --output-file, --plot, --report or --initialize-only"))
    }

    /// The file that is written, by its option.
    pub(crate) fn output(&self) -> Option<Named<'_>> {
        let output = self.output_file.as_deref();
        let output = output.filter(|path| *path != Path::new("-"));
        output.map(|path| ("--output-file", path))
    }
}

// How the simulation is carried out, and what is said about it; none of it changes a result.
#[derive(Debug, Args)]
#[command(next_help_heading = "Execution")]
pub(crate) struct ExecutionOptions {
    /// Run in this process, which a crash of an FMU ends with one line about it [Linux]
    #[arg(long)]
    pub(crate) no_supervisor: bool,
    /// Longest time that a call of an FMU may take; 0: no limit [Linux]
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "600")]
    #[arg(allow_negative_numbers = true)]
    pub(crate) timeout: f64,
    /// Run each of these components, or all, in its own process, so that the others survive its crash [repeatable]
    /// [Linux]
    #[arg(long, value_name = "COMPONENT,…", num_args = 0.., value_delimiter = ',', require_equals = true)]
    pub(crate) isolate: Option<Vec<String>>,
    /// Certificates and token for components on other machines whose host names none: the folder `client` that
    /// `gyrator serve --init` made
    #[cfg(feature = "remote")]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) host_access: Option<PathBuf>,
    /// Limit of the run's memory; an FMU that needs more ends the run [Linux]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    #[arg(allow_negative_numbers = true)]
    pub(crate) memory_limit: Option<u64>,
    /// Threads that may step the FMUs, where that is faster [default: 1]
    #[arg(long, value_name = "NUMBER", value_parser = threads)]
    #[arg(allow_negative_numbers = true)]
    pub(crate) worker_threads: Option<NonZeroUsize>,
    /// Pass NaN and infinite values on, instead of ending the run
    #[arg(long)]
    pub(crate) no_nan_check: bool,
    /// Log lines of FMUs to show
    #[arg(long, value_name = "LEVEL", value_enum, default_value = "warn")]
    pub(crate) log_level: LogLevel,
}

impl ExecutionOptions {
    /// How hosts are reached. Not flattened into the options: clap makes no group of options that has others in it, and
    /// `gyrator inspect` needs theirs.
    pub(crate) fn hosts(&self) -> HostOptions {
        HostOptions {
            #[cfg(feature = "remote")]
            host_access: self.host_access.clone(),
        }
    }

    /// Makes the units of a system: on hosts, whose calls `profile` measures, else by `isolation`.
    pub(crate) fn units(
        &self,
        system: &SystemFile,
        profile: Option<&Profile>,
        isolation: Isolation,
    ) -> impl UnitMaker + use<> {
        hosts::units(system, &self.hosts(), self.timeout(), profile, isolation)
    }

    /// Options of a run, which `interrupt` ends.
    pub(crate) fn run_options(&self, interrupt: &Interrupt) -> RunOptions {
        RunOptions {
            threads: self.worker_threads.map_or(1, NonZeroUsize::get),
            accept_not_finite: self.no_nan_check,
            log_fmu_calls: self.log_level >= LogLevel::Info,
            interrupt: Some(interrupt.requested()),
            pending_timeout: Some(self.timeout().unwrap_or(Duration::MAX)),
            ..RunOptions::default()
        }
    }

    /// Longest time that a call may take; `None` is for ever.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        time_limit(self.timeout)
    }

    /// Puts the option `--isolate` in place of what a file says.
    pub(crate) fn isolate(&self, system: &mut SystemFile) -> Result<(), Failure> {
        let Some(names) = &self.isolate else {
            return Ok(());
        };
        let known = system.components.iter();
        let known: Vec<&str> = known.map(|component| &*component.name.value).collect();
        check_isolated(names, &known)?;
        for component in &mut system.components {
            if names.is_empty() || names.contains(&component.name.value) {
                component.isolate = Some(Spanned::unplaced(true));
            }
        }
        Ok(())
    }
}

/// The seconds of `--timeout`; `None` is for ever.
pub(crate) fn time_limit(seconds: f64) -> Option<Duration> {
    let limit = Some(seconds).filter(|seconds| *seconds > 0.0);
    limit.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// Refuses names of `--isolate` that no component has.
pub(crate) fn check_isolated(names: &[String], known: &[&str]) -> Result<(), Failure> {
    let Some(name) = names.iter().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let failure = Failure::usage(format!("--isolate={name}: there is no such component"));
    Err(failure.advised(did_you_mean(name, known.iter().copied())))
}

/// Splits `name=value`.
pub(crate) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

// Other names of the columns of foreign results.
#[derive(Debug, Args)]
pub(crate) struct RenameOptions {
    /// Call the column OLD of the reference NEW [repeatable]
    #[arg(long, value_name = "OLD=NEW", value_parser = assignment, requires = "reference")]
    rename: Vec<(String, String)>,
}

impl RenameOptions {
    /// Renames the columns of a reference.
    pub(crate) fn apply(&self, reference: &mut Table) -> Result<(), Failure> {
        let names: Vec<String> = reference.series.iter().map(|s| s.name.clone()).collect();
        reference.rename(&self.rename).map_err(|error| {
            let failure = Failure::usage(format!("--rename: {error} in the reference"));
            let RenameError::Unknown(old) = &error else {
                return failure;
            };
            let is_swapped = |(from, to): &&(String, String)| from == old && names.contains(to);
            if let Some((from, to)) = self.rename.iter().find(is_swapped) {
                return failure.help(format!("did you mean `--rename {to}={from}`?"));
            }
            failure.advised(did_you_mean(old, names.iter().map(String::as_str)))
        })
    }
}

/// Sets start values of the options on a system.
pub(crate) fn set_start_values(
    system: &mut SystemFile,
    values: impl IntoIterator<Item = (String, String)>,
) -> Result<(), Failure> {
    for (name, value) in values {
        system.set_start_value(&name, &value).map_err(|problem| {
            let failure =
                Failure::usage(format!("--start-value {name}={value}: {}", problem.message));
            failure.advised(problem.help)
        })?;
    }
    Ok(())
}

fn words<K: EntryKind + ?Sized>(
    registry: &[Entry<K>],
    others: &[&'static str],
) -> PossibleValuesParser {
    let entries = registry
        .iter()
        .map(|entry| PossibleValue::new(entry.name).aliases(entry.aliases()));
    let others = others.iter().copied().map(PossibleValue::new);
    PossibleValuesParser::new(entries.chain(others))
}

pub(crate) fn finite(text: &str) -> Result<f64, String> {
    let number: f64 = text
        .parse()
        .map_err(|_| "this is not a number".to_owned())?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err("it must be finite".to_owned())
    }
}

/// A number that is greater than 0.
///
/// # Errors
/// What is wrong with the text.
pub fn positive(text: &str) -> Result<f64, String> {
    finite(text).and_then(|number| {
        if number > 0.0 {
            Ok(number)
        } else {
            Err("it must be positive".to_owned())
        }
    })
}

/// A number of threads or of runs at the same time.
///
/// # Errors
/// What is wrong with the text.
pub fn threads(text: &str) -> Result<NonZeroUsize, String> {
    let number = text
        .parse::<u16>()
        .ok()
        .filter(|number| *number <= MOST_THREADS);
    let number = number.and_then(|number| NonZeroUsize::new(number.into()));
    number.ok_or_else(|| format!("{text} is not in 1..={MOST_THREADS}"))
}

fn tolerance(text: &str) -> Result<Tolerance, String> {
    match text {
        Tolerance::NONE => Ok(Tolerance::Off),
        _ => positive(text).map(Tolerance::Relative),
    }
}

pub(crate) fn not_negative(text: &str) -> Result<f64, String> {
    finite(text).and_then(|number| {
        if number >= 0.0 {
            Ok(number)
        } else {
            Err("it must not be negative".to_owned())
        }
    })
}
