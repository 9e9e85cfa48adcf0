//! `gyrator benchmark`: systems with known solutions. A program beside `gyrator`, which runs it, so
//! that models and papers' systems are not linked into what simulates.
//!
//! Linked into `gyrator`, the benchmarks alone were 0.5 MB of its 9.3 MB (stripped), and each change of a benchmark
//! linked the program again. The same package builds and installs both programs, so that nothing is missing in what
//! is shipped.

#![forbid(unsafe_code)]

mod table;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use gyrator_benchmark::{
    BENCHMARKS, Benchmark, BenchmarkError, BenchmarkRow, Case, MeasureError, RoleAssignment,
    RoleError, RoleVariable, Substitute, folder_of_fmus,
};

use gyrator_cli::aligned::{Align, Aligned};
use gyrator_cli::benchmark_options::{BenchmarkExecution, positive};
use gyrator_cli::exit::Exit;
use gyrator_cli::failure::{Failure, Message};
use gyrator_cli::numbers::count;
use gyrator_cli::progress::ProgressMode;
use gyrator_cli::{program, screen, supervision, usage, version};
use gyrator_worker::isolated::Isolation;
use table::{figure, judgement, table};

/// Run systems with known solutions, and judge the results
#[derive(Debug, Parser)]
#[command(name = "gyrator-benchmark", bin_name = "gyrator benchmark")]
#[command(version, long_version = version::long(), max_term_width = 100)]
struct Options {
    /// The benchmarks to run [default: all, without cases that take minutes]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// List the benchmarks, their cases and their roles
    #[arg(long)]
    list: bool,
    /// Run only this case [repeatable]
    #[arg(long, value_name = "CASE")]
    case: Vec<String>,
    /// Write the rows as JSON; - is the standard output, instead of the table
    #[arg(long, value_name = "FILE.json")]
    json: Option<PathBuf>,
    /// Draw the counterparts of the papers' figures into this folder, as SVG
    #[arg(long, value_name = "FOLDER")]
    plots: Option<PathBuf>,
    /// Put another FMU into a role, with its names for ports where they differ [repeatable]
    #[arg(long, value_name = "ROLE=FMU[,OURS=THEIRS…]")]
    with: Vec<Substitute>,
    /// Folder of gyrator's own FMUs [default: fmus, beside the program or one folder above]
    #[arg(long, value_name = "FOLDER")]
    fmus: Option<PathBuf>,
    #[command(flatten)]
    execution: BenchmarkExecution,
    /// Longest time that a call of an FMU may take [Linux]
    #[arg(long, value_name = "SECONDS", default_value = "600", value_parser = positive)]
    #[arg(allow_negative_numbers = true)]
    timeout: f64,
    /// Display of each row as soon as it is measured
    #[arg(long, value_name = "WHERE", value_enum, default_value = "auto")]
    progress: ProgressMode,
    /// For `gyrator validate --against`: the benchmark and role, and the FMU that plays it
    #[arg(long, hide = true, num_args = 2, value_names = ["BENCHMARK:ROLE[,OURS=THEIRS…]", "FMU"])]
    against: Option<Vec<OsString>>,
}

/// A benchmark and the cases that are asked for.
type Chosen = (&'static Benchmark, Vec<&'static Case>);

fn main() -> ExitCode {
    program(|| {
        let outcome = match Options::try_parse() {
            Ok(options) => options.with_judged().and_then(|options| {
                let outcome = supervision::supervised(options.timeout(), || run(&options));
                outcome.map_err(|failure| options.with_substitutes(failure))
            }),
            Err(message) => Ok(usage(&message)),
        };
        outcome.unwrap_or_else(|failure| {
            failure.print();
            failure.exit
        })
    })
}

impl Options {
    fn timeout(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.timeout).ok()
    }

    /// Adds the FMUs of the user to the report of a crash, which has the names of components.
    fn with_substitutes(&self, failure: Failure) -> Failure {
        if failure.exit != Exit::Crashed || self.with.is_empty() {
            return failure;
        }
        let with = self.with.iter();
        let with = with.map(|with| format!("{} = {}", with.role, with.fmu.display()));
        failure.help(format!(
            "FMUs in place of ours: {}",
            with.collect::<Vec<_>>().join(", ")
        ))
    }

    /// Turns `--against` into what a user would write.
    fn with_judged(mut self) -> Result<Self, Failure> {
        let Some(against) = self.against.take() else {
            return Ok(self);
        };
        let wrong =
            || Failure::usage("--against: write BENCHMARK:ROLE or BENCHMARK:ROLE,OURS=THEIRS");
        let [benchmark, fmu] = &against[..] else {
            return Err(wrong());
        };
        let benchmark = benchmark.to_str().ok_or_else(wrong)?;
        let (name, role) = benchmark.split_once(':').ok_or_else(wrong)?;
        let (role, names) = match role.split_once(',') {
            Some((role, names)) => (role, names.split(',').collect()),
            None => (role, Vec::new()),
        };
        let pair = |text: &str| {
            let (ours, theirs) = text.split_once('=')?;
            Some((ours.trim().to_owned(), theirs.trim().to_owned()))
        };
        let names = names.into_iter().map(pair).collect::<Option<_>>();
        self.names.push(name.to_owned());
        self.with.push(Substitute {
            role: role.to_owned(),
            fmu: fmu.into(),
            names: names.ok_or_else(wrong)?,
        });
        Ok(self)
    }
}

/// Runs the benchmarks that are asked for.
fn run(options: &Options) -> Result<Exit, Failure> {
    let begin = Instant::now();
    let chosen = chosen(options)?;
    if options.list {
        screen::print(&list(&chosen))?;
        return Ok(Exit::Success);
    }
    let roles = roles(options, &chosen)?;
    if let Some(number) = options.execution.worker_threads {
        gyrator_benchmark::use_threads(number)
            .map_err(|error| Failure::new(Exit::Failed, Message::error(error)))?;
    }
    let (mut rows, mut errors) = (Vec::new(), Vec::new());
    for (benchmark, cases) in &chosen {
        for result in benchmark.run(cases, &roles, &|row| show(options.progress, row)) {
            match result {
                Ok(of_case) => rows.extend(of_case),
                Err(error) => errors.push(error),
            }
        }
    }
    print_rows(options.json.as_deref(), &rows)?;
    if let Some(folder) = &options.plots {
        draw(folder, &chosen, &roles)?;
    }
    let failed = rows.iter().filter(|row| row.ok == Some(false)).count();
    screen::message(&closing(&rows, failed, begin.elapsed().as_secs_f64()));
    if !errors.is_empty() {
        return Err(failure(errors));
    }
    Ok(if failed == 0 {
        Exit::Success
    } else {
        Exit::CheckFailed
    })
}

fn chosen(options: &Options) -> Result<Vec<Chosen>, Failure> {
    if let Some(unknown) = options
        .names
        .iter()
        .find(|name| BENCHMARKS.iter().all(|known| known.name != **name))
    {
        let known: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
        let failure = Failure::usage(format!("there is no benchmark `{unknown}`"));
        return Err(failure.help(format!("the benchmarks are {}", known.join(", "))));
    }
    let is_named = |benchmark: &&Benchmark| {
        options.names.is_empty() || options.names.iter().any(|name| name == benchmark.name)
    };
    let is_asked = |benchmark: &Benchmark, case: &Case| match &options.case[..] {
        // Neither named nor listed: long cases are left out.
        [] => options.list || !options.names.is_empty() || !benchmark.is_long(case),
        names => names.iter().any(|name| name == case.name),
    };
    let benchmarks = BENCHMARKS.iter().filter(is_named);
    let chosen = benchmarks.map(|benchmark| {
        let cases = benchmark.cases.iter();
        let asked = cases.filter(|case| is_asked(benchmark, case)).collect();
        (benchmark, asked)
    });
    let mut chosen: Vec<Chosen> = chosen.collect();
    let unknown = |name: &&String| {
        chosen
            .iter()
            .all(|(_, cases)| cases.iter().all(|case| case.name != **name))
    };
    if let Some(unknown) = options.case.iter().find(unknown) {
        let failure = Failure::usage(format!("none of the benchmarks has a case `{unknown}`"));
        return Err(failure.help("`gyrator benchmark --list` shows the cases"));
    }
    chosen.retain(|(_, cases)| !cases.is_empty());
    Ok(chosen)
}

fn roles(options: &Options, chosen: &[Chosen]) -> Result<RoleAssignment, Failure> {
    let beside = || {
        std::env::current_exe()
            .ok()
            .and_then(|program| folder_of_fmus(&program))
    };
    let folder = options
        .fmus
        .clone()
        .or_else(beside)
        .unwrap_or_else(|| PathBuf::from("fmus"));
    let role = |option: &str, name: &str| {
        let mut known = chosen.iter().flat_map(|(benchmark, _)| benchmark.roles);
        known.find(|role| role.name == name).ok_or_else(|| {
            let text = format!("{option}: none of the benchmarks has a role `{name}`");
            Failure::usage(text).help("`gyrator benchmark --list` shows the roles")
        })
    };
    for name in options.execution.isolate.iter().flatten() {
        role("--isolate", name)?;
    }
    let timeout = options.timeout();
    let isolation = move || {
        let isolation = Isolation::new().timeout(timeout);
        isolation
            .arguments(["isolated".into()])
            .interpreters_apart()
    };
    let mut roles = RoleAssignment::new(folder)
        .units(move || Box::new(isolation()))
        .isolate(options.execution.isolate.clone());
    for substitute in &options.with {
        let role = role("--with", &substitute.role)?;
        roles
            .substitute(role, substitute.clone())
            .map_err(|error| {
                let exit = if matches!(error, RoleError::UnknownName { .. }) {
                    Exit::Usage
                } else {
                    Exit::InvalidInput
                };
                Failure::of(exit, &error)
            })?;
    }
    Ok(roles)
}

fn draw(folder: &Path, chosen: &[Chosen], roles: &RoleAssignment) -> Result<(), Failure> {
    let cannot = |path: &Path, error| Failure::not_written(path.display(), &error);
    std::fs::create_dir_all(folder).map_err(|error| cannot(folder, error))?;
    for (benchmark, _) in chosen {
        let charts = benchmark.figures(roles).map_err(|error| {
            let text = format!("figures of {}: {error}", benchmark.name);
            Failure::new(Exit::Failed, Message::error(text))
        })?;
        for chart in charts {
            let path = folder.join(chart.name).with_extension("svg");
            screen::file(&path, &chart.to_svg()).map_err(|error| cannot(&path, error))?;
        }
    }
    Ok(())
}

/// The failure for the first of the errors; the others are reported at once.
fn failure(mut errors: Vec<BenchmarkError>) -> Failure {
    let last = errors.remove(0);
    for error in errors {
        screen::message(&format!("error: {error}\n"));
    }
    let text = last.to_string();
    let exit = match *last.error {
        MeasureError::RoleAssignment(RoleError::Missing(_)) => Exit::NotLoaded,
        MeasureError::Start(error) => Failure::from(error).exit,
        MeasureError::Run(error) => Failure::from(error).exit,
        _ => Exit::Failed,
    };
    let failure = Failure::new(exit, Message::error(text));
    if exit == Exit::NotLoaded {
        failure.help("--fmus names the folder of our FMUs")
    } else {
        failure
    }
}

fn show(progress: ProgressMode, row: &BenchmarkRow) {
    match progress {
        ProgressMode::Never => {}
        ProgressMode::Auto => {
            let BenchmarkRow {
                benchmark,
                case,
                configuration,
                metric,
                unit,
                ..
            } = row;
            let measured = figure(row.measured);
            let text = format!("{benchmark} {case}, {configuration}: {metric} = {measured} {unit}");
            let judgement = judgement(row.ok);
            screen::message(&format!("{}  {judgement}\n", text.trim_end()));
        }
        ProgressMode::Json => {
            if let Ok(text) = serde_json::to_string(row) {
                screen::message(&format!("{text}\n"));
            }
        }
    }
}

fn print_rows(json: Option<&Path>, rows: &[BenchmarkRow]) -> Result<(), Failure> {
    let Some(path) = json else {
        return Ok(screen::print(&table(rows))?);
    };
    let text = screen::json(rows)?;
    if path == Path::new("-") {
        return Ok(screen::print(&text)?);
    }
    screen::file(path, &text).map_err(|error| Failure::not_written(path.display(), &error))?;
    Ok(screen::print(&table(rows))?)
}

fn closing(rows: &[BenchmarkRow], failed: usize, seconds: f64) -> String {
    let judged = rows.iter().filter(|row| row.ok.is_some()).count();
    let rows = count(rows.len() as u64, "row");
    format!("{rows}, {judged} judged, {failed} failed, in {seconds:.1} s\n")
}

fn list(chosen: &[Chosen]) -> String {
    let mut text = String::new();
    for (benchmark, cases) in chosen {
        text.push_str(&format!(
            "{}: {}\n  {}\n",
            benchmark.name, benchmark.summary, benchmark.source
        ));
        let mut table = Aligned::new(&[("case", Align::Left), ("", Align::Left)]);
        for case in cases {
            table.row([case.name, case.summary]);
        }
        text.push_str(&table.render());
        let mut table = Aligned::new(&[
            ("role", Align::Left),
            ("FMU", Align::Left),
            ("", Align::Left),
        ]);
        for role in benchmark.roles {
            table.row([role.name, role.model, role.summary]);
            for RoleVariable {
                name,
                unit,
                meaning,
            } in role.variables()
            {
                let comma = if unit.is_empty() { "" } else { ", " };
                table.row(["", "", &format!("{name}: {meaning}{comma}{unit}")]);
            }
        }
        if !benchmark.roles.is_empty() {
            text.push_str(&table.render());
        }
        text.push('\n');
    }
    text
}
