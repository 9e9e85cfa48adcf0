//! `gyrator fit`: the parameters of a system whose results are nearest to measured ones.
//!
//! Each round of runs is a study of its own, in a file that the user can look at and make again. Crashes, threads, time limits and a
//! resumption after an interruption work as in studies.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Args;
use gyrator_record::{Values, read_columns};
use gyrator_study::fit::{FitError, FitFile, Fitted, Measured, MeasuredError, Round, fit};
use gyrator_system::Value;
use gyrator_system::toml_file::literal;
use serde::Serialize;

use crate::aligned::{Align, Aligned};
use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::hosts::HostOptions;
use crate::input_kind::{self, Wanted};
use crate::numbers::{count, short};
use crate::options::threads;
use crate::{overwriting, screen, summary_file};

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The fit file: system, measured signals, parameters
    #[arg(value_name = "FIT.toml")]
    fit: PathBuf,
    /// Keep the rounds of runs in this folder, from which an interrupted fit continues [default: the name of the fit
    /// file with the extension .rounds]
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Write the result as JSON
    #[arg(long, short = 'o', value_name = "FILE.json")]
    output_file: Option<PathBuf>,
    /// Number of runs at the same time [default: one per core]
    #[arg(long, value_name = "NUMBER", value_parser = threads, allow_negative_numbers = true)]
    worker_threads: Option<NonZeroUsize>,
    #[command(flatten)]
    hosts: HostOptions,
    /// Print only the result
    #[arg(long, short)]
    quiet: bool,
}

/// For the end of the help.
pub(super) const EXAMPLE: &str = "\
Example: gyrator fit fit.toml, with this fit.toml beside system.toml and measured.csv:

  system = \"system.toml\"
  measured = \"measured.csv\"       # columns time, left.x, right.x
  signals = [\"left.x\", \"right.x\"]

  [parameters]
  \"left.m\" = { start = 1.2, scale = \"log\" }
  \"right.k\" = { start = 950.0, minimum = 100.0, maximum = 5000.0 }";

/// The result, for programs.
#[derive(Serialize)]
struct Summary<'a> {
    gyrator: &'static str,
    fit: &'a Path,
    has_converged: bool,
    runs: usize,
    misfit_at_start: f64,
    misfit: f64,
    parameters: Vec<Found<'a>>,
}

#[derive(Serialize)]
struct Found<'a> {
    name: &'a str,
    start: f64,
    value: f64,
    standard_deviation: f64,
}

/// Looks for the parameters.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    input_kind::expect(&options.fit, Wanted::Fit)?;
    let file = FitFile::read(&options.fit)?;
    let measured = Measured::read(&file).map_err(|error| not_read(&error))?;
    let folder = match &options.folder {
        Some(folder) => folder.clone(),
        None => options.fit.with_extension("rounds"),
    };
    let output = options
        .output_file
        .iter()
        .map(|path| ("--output-file", path.as_path()));
    let inputs = [
        ("the fit file", &*options.fit),
        ("the measured values", &*file.measured),
    ];
    overwriting::refuse(&output.collect::<Vec<_>>(), &inputs)?;
    std::fs::create_dir_all(&folder).map_err(|error| not_written(&folder, &error))?;
    let rounds = Rounds {
        file: &file,
        name: &options.fit,
        folder: &folder,
        threads: options.worker_threads,
        hosts: &options.hosts,
        ended: None,
    };
    let report = |round: &Round| {
        if !options.quiet {
            let runs = count(round.runs as u64, "run");
            let pairs = file.parameters.iter().zip(&round.values);
            let values =
                pairs.map(|(parameter, value)| format!("{} = {}", parameter.key, short(*value)));
            let values = values.collect::<Vec<_>>().join(", ");
            let misfit = short(round.misfit);
            // These lines are not a result.
            let _ = screen::print(&format!(
                "round {}: {runs}, misfit {misfit}: {values}\n",
                round.number
            ));
        }
    };
    let (outcome, ended) = rounds.search(&measured, report);
    if let Some(exit) = ended {
        return Ok(exit);
    }
    let fitted = outcome.map_err(|error| not_found(&error, &folder))?;
    if let Some(path) = &options.output_file {
        summary_file::write(path, &summary(&fitted, &options.fit))?;
    }
    screen::print(&for_people(&fitted))?;
    Ok(match fitted.has_converged {
        true => Exit::Success,
        false => Exit::CheckFailed,
    })
}

/// The rounds of runs of a fit.
struct Rounds<'a> {
    file: &'a FitFile,
    name: &'a Path,
    folder: &'a Path,
    threads: Option<NonZeroUsize>,
    hosts: &'a HostOptions,
    /// How a study ended that ends the fit.
    ended: Option<Exit>,
}

impl Rounds<'_> {
    fn search(
        mut self,
        measured: &Measured,
        mut report: impl FnMut(&Round),
    ) -> (Result<Fitted, FitError>, Option<Exit>) {
        let file = self.file;
        let mut make = |number: usize, points: &[Vec<f64>]| self.make(number, points);
        let outcome = fit(file, measured, &mut make, &mut report);
        (outcome, self.ended)
    }

    /// Makes the study of a round, or reads its table if it was made before.
    fn make(
        &mut self,
        number: usize,
        points: &[Vec<f64>],
    ) -> Result<Vec<Result<Vec<f64>, String>>, FitError> {
        let failed = |text: String| FitError::NoRuns(text);
        let study = self.folder.join(format!("round-{number:03}.toml"));
        let table = study.with_extension("csv");
        let text = self.study(number, points).map_err(failed)?;
        let earlier = std::fs::read_to_string(&study);
        let is_new = earlier.is_err();
        match earlier {
            Ok(earlier) if earlier != text => {
                let study = study.display();
                return Err(failed(format!(
                    "{study} belongs to another fit: name another --folder, or remove this one"
                )));
            }
            Ok(_) => {}
            Err(_) => gyrator_record::write_whole(&study, |file| {
                std::io::Write::write_all(file, text.as_bytes())
            })
            .map_err(|error| failed(format!("{}: {error}", study.display())))?,
        }
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let mut command = Command::new(program);
        command.arg("study").arg(&study).arg("-o").arg(&table);
        command.arg("--quiet");
        if let Some(threads) = self.threads {
            command.args(["--worker-threads", &threads.to_string()]);
        }
        self.hosts.hand_on(&mut command);
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.map_err(|error| failed(error.to_string()))?;
        let exit = status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map(Exit::of);
        match exit {
            // Its messages have been printed.
            Some(Exit::Success) => {}
            other => {
                // A fit file with a mistake leaves nothing that would refuse the fixed one.
                if is_new && number == 1 && other == Some(Exit::InvalidInput) {
                    for ending in ["toml", "csv", "csv.journal"] {
                        let _ = std::fs::remove_file(study.with_extension(ending));
                    }
                }
                self.ended = Some(other.unwrap_or(Exit::Interrupted));
                return Err(failed("the study did not come to its end".to_owned()));
            }
        }
        rows(&table, points.len()).map_err(failed)
    }

    /// The study file of a round.
    fn study(&self, number: usize, points: &[Vec<f64>]) -> Result<String, String> {
        let text = |path: &Path| {
            let path = std::path::absolute(path).map_err(|error| error.to_string())?;
            let text = path.to_str().map(|text| Value::String(text.to_owned()));
            let text = text.ok_or_else(|| format!("{} is not UTF-8", path.display()))?;
            Ok::<_, String>(literal(&text))
        };
        let quoted = |text: &str| literal(&Value::String(text.to_owned()));
        let mut study = format!("# Round {number} of {}.\n", self.name.display());
        let _ = writeln!(study, "system = {}", text(&self.file.system)?);
        let _ = writeln!(study, "accept_divergence = true\n\n[[vary]]\nlist = [");
        for point in points {
            let pairs = self.file.parameters.iter().zip(point);
            let pairs = pairs.map(|(parameter, value)| {
                format!(
                    "{} = {}",
                    quoted(&parameter.key),
                    literal(&Value::Real(*value))
                )
            });
            let _ = writeln!(study, "    {{ {} }},", pairs.collect::<Vec<_>>().join(", "));
        }
        let signals = self
            .file
            .signals
            .iter()
            .map(|signal| quoted(&signal.variable));
        let signals = signals.collect::<Vec<_>>().join(", ");
        let measured = text(&self.file.measured)?;
        let _ = writeln!(
            study,
            "]\n\n[[metrics]]\nvalue = [{signals}]\nat = {{ file = {measured} }}\nenergies = false"
        );
        Ok(study)
    }
}

/// The values of the signals of each run of a round, or why it failed.
fn rows(table: &Path, runs: usize) -> Result<Vec<Result<Vec<f64>, String>>, String> {
    let series = read_columns(table).map_err(|error| error.to_string())?;
    let texts = |name: &str| {
        let found = series.iter().find(|series| series.name == name);
        match found.map(|series| &series.values) {
            Some(Values::Text(texts)) if texts.len() == runs => Ok(texts),
            _ => Err(format!(
                "{}: there is no column `{name}` of {runs} texts",
                table.display()
            )),
        }
    };
    let (reasons, messages) = (texts("stop_reason")?, texts("message")?);
    let values: Vec<&Values> = series
        .iter()
        .filter(|series| series.name.starts_with("value."))
        .map(|series| &series.values)
        .collect();
    let row = |row: usize| {
        if !matches!(reasons[row].as_str(), "stop-time" | "terminated") {
            return Err(format!("{} {}", reasons[row], messages[row]));
        }
        let value = |values: &&Values| match values {
            Values::Numbers(numbers) => numbers[row],
            // An empty cell is caught as a missing value.
            Values::Text(texts) => texts[row].parse().unwrap_or(f64::NAN),
        };
        Ok(values.iter().map(value).collect())
    };
    Ok((0..runs).map(row).collect())
}

fn not_read(error: &MeasuredError) -> Failure {
    Failure::of(Exit::InvalidInput, error)
}

fn not_written(folder: &Path, error: &std::io::Error) -> Failure {
    let text = format!("cannot make the folder {}: {error}", folder.display());
    Failure::new(Exit::Failed, Message::error(text))
}

fn not_found(error: &FitError, folder: &Path) -> Failure {
    let exit = match error {
        FitError::NoRuns(_) | FitError::Failed(_) => Exit::Failed,
        FitError::NotDetermined(_) | FitError::TooFewValues { .. } => Exit::InvalidInput,
    };
    let help = match error {
        FitError::Failed(_) => format!("{} has the tables of all rounds", folder.display()),
        FitError::NotDetermined(_) => {
            "fix one of the parameters in the system file, or add signals".to_owned()
        }
        FitError::TooFewValues { .. } => "measure at more times".to_owned(),
        FitError::NoRuns(_) => return Failure::of(exit, error),
    };
    Failure::of(exit, error).help(help)
}

fn summary<'a>(fitted: &'a Fitted, fit: &'a Path) -> Summary<'a> {
    let found = fitted.parameters.iter().map(|found| Found {
        name: &found.key,
        start: found.start,
        value: found.value,
        standard_deviation: found.deviation,
    });
    Summary {
        gyrator: env!("CARGO_PKG_VERSION"),
        fit,
        has_converged: fitted.has_converged,
        runs: fitted.runs,
        misfit_at_start: fitted.misfit.0,
        misfit: fitted.misfit.1,
        parameters: found.collect(),
    }
}

fn for_people(fitted: &Fitted) -> String {
    let mut table = Aligned::new(&[
        ("parameter", Align::Left),
        ("start", Align::Right),
        ("value", Align::Right),
        ("95 %", Align::Right),
    ]);
    for found in &fitted.parameters {
        // Two-sided quantile of the normal distribution, as there are many more values than parameters.
        let half = 1.96 * found.deviation;
        table.row([
            found.key.clone(),
            short(found.start),
            format!("{:.6e}", found.value),
            format!("± {half:.2e}"),
        ]);
    }
    let (start, end) = (short(fitted.misfit.0), short(fitted.misfit.1));
    let runs = count(fitted.runs as u64, "run");
    let mut text = table.render();
    let _ = writeln!(
        text,
        "misfit {start} at the start, {end} at the end; {runs}"
    );
    if !fitted.has_converged {
        text.push_str("not converged within `max_runs` runs\n");
    }
    text
}
