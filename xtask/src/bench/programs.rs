//! The programs that are measured: each makes a number of steps of a system.

use std::fmt::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::c_loop::{self, LoopFmu};
use super::meter::{Call, Measured, Meter};
use super::rows::{Library, Mode, Recording, Row};
use super::tiny::{Tiny, compile};
use crate::programs;

/// Communication step of the benchmark, s.
pub(super) const STEP_SIZE: f64 = 1e-3;

/// A master.
pub(super) trait Master {
    /// Costs of a run of `steps` macro-steps, with all that is in it.
    ///
    /// # Errors
    /// A run that fails, or did not make these steps.
    fn run(&self, meter: &Meter, row: Row, steps: usize) -> Result<f64, String>;
}

/// The FMUs, one of each kind.
#[derive(Debug)]
pub(super) struct Fmus(Vec<Tiny>);

impl Fmus {
    pub(super) fn build(root: &Path, work: &Path) -> Result<Self, String> {
        let built = Library::ALL.map(|kind| Tiny::build(root, work, kind));
        Ok(Self(built.into_iter().collect::<Result<_, _>>()?))
    }

    pub(super) fn of(&self, library: Library) -> &Tiny {
        &self.0[library as usize]
    }
}

/// The C loop: the least that any master can cost on this machine. Recording is a line of its outputs each step,
/// by `%.17g`.
#[derive(Debug)]
pub(super) struct Floor<'a> {
    fmus: &'a Fmus,
    pub(super) program: PathBuf,
    results: PathBuf,
}

impl<'a> Floor<'a> {
    pub(super) fn build(root: &Path, work: &Path, fmus: &'a Fmus) -> Result<Self, String> {
        let program = work.join("floor");
        compile(&root.join("xtask/bench/floor.c"), &program, &[], &["-ldl"])?;
        Ok(Self {
            fmus,
            program,
            results: work.join("floor.csv"),
        })
    }
}

impl Master for Floor<'_> {
    fn run(&self, meter: &Meter, row: Row, steps: usize) -> Result<f64, String> {
        let results = match row.recording {
            Recording::Off => None,
            _ => Some(&*self.results),
        };
        let fmu = LoopFmu::tiny(self.fmus.of(row.library));
        let call = c_loop::call(&self.program, (row.units, steps), results, "none", &[fmu]);
        let done = meter.measure(&call)?;
        check_exchanges(&done, steps, "the C loop")?;
        Ok(done.cost)
    }
}

/// The unit must have counted every step: a loop that skipped an exchange is not a measurement.
pub(super) fn check_exchanges(done: &Measured, steps: usize, name: &str) -> Result<(), String> {
    let counted = done.printed.trim();
    if counted.parse() == Ok(steps as f64) {
        return Ok(());
    }
    Err(format!(
        "{name} exchanged {counted:?} times in {steps} steps"
    ))
}

/// gyrator by its command line, with the energy ledger on.
#[derive(Debug)]
pub(super) struct Gyrator<'a> {
    fmus: &'a Fmus,
    program: PathBuf,
    work: PathBuf,
}

impl<'a> Gyrator<'a> {
    /// The given program, or else builds it as it is shipped.
    pub(super) fn new(
        root: &Path,
        target: &Path,
        work: &Path,
        fmus: &'a Fmus,
        program: Option<&Path>,
    ) -> Result<Self, String> {
        let program = match program {
            Some(given) => given.to_owned(),
            None => programs::gyrator(root, target)?,
        };
        Ok(Self {
            fmus,
            program,
            work: work.to_owned(),
        })
    }

    /// A run on any number of processes and threads.
    fn any_call(&self, system: &Path, summary: &Path) -> Call {
        let call = Call::new(&self.program).argument("run").argument(system);
        // The FMU's numbers grow without end.
        let call = call.arguments(["--progress", "never", "--accept-divergence", "--summary"]);
        call.argument(summary)
    }

    /// A run in one process.
    pub(super) fn plain_call(&self, system: &Path, summary: &Path) -> Call {
        self.any_call(system, summary).argument("--no-supervisor")
    }

    fn call(&self, row: Row, system: &Path, summary: &Path) -> Call {
        let call = self.any_call(system, summary);
        let call = match row.mode {
            Mode::Plain(_) => call.argument("--no-supervisor"),
            Mode::Supervised => call,
            Mode::Threads => call.arguments(["--no-supervisor", "--worker-threads", "2"]),
            Mode::Isolated => call.argument("--isolate"),
        };
        let name = match row.recording {
            Recording::Off => return call,
            Recording::Csv | Recording::CsvAll => "gyrator.csv",
            Recording::Parquet => "gyrator.parquet",
        };
        let call = call
            .argument("--output-file")
            .argument(self.work.join(name));
        match row.recording {
            Recording::CsvAll => call,
            _ => call.arguments(["--output-variable", "fmu*.y*"]),
        }
    }
}

impl Gyrator<'_> {
    /// Writes the system of a row.
    fn system(&self, row: Row, steps: usize) -> Result<PathBuf, String> {
        let system = self.work.join("bench.toml");
        let text = system_file(&self.fmus.of(row.library).fmu, row, steps);
        std::fs::write(&system, text).map_err(|error| format!("{}: {error}", system.display()))?;
        Ok(system)
    }

    /// A run of a row.
    pub(super) fn command(&self, row: Row, steps: usize) -> Result<Command, String> {
        let system = self.system(row, steps)?;
        Ok(self
            .call(row, &system, &self.work.join("summary.json"))
            .command())
    }

    /// A run of a system in one process, on so many threads.
    pub(super) fn plain_run(&self, system: &Path, threads: usize) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("run").arg(system);
        // The FMU's numbers grow without end.
        command.args([
            "--progress",
            "never",
            "--accept-divergence",
            "--no-supervisor",
        ]);
        command.arg("--worker-threads").arg(threads.to_string());
        command
    }

    /// A simulation of one FMU.
    pub(super) fn simulate(&self, fmu: &Path, steps: usize) -> Command {
        let mut command = Command::new(&self.program);
        let stop_time = steps as f64 * STEP_SIZE;
        command
            .arg("simulate")
            .arg(fmu)
            .arg("--stop-time")
            .arg(stop_time.to_string());
        command.arg("--step-size").arg(STEP_SIZE.to_string());
        command
    }
}

impl Master for Gyrator<'_> {
    fn run(&self, meter: &Meter, row: Row, steps: usize) -> Result<f64, String> {
        let system = self.system(row, steps)?;
        let summary = self.work.join("summary.json");
        let done = meter.measure(&self.call(row, &system, &summary))?;
        check_summary(&summary, steps)?;
        Ok(done.cost)
    }
}

/// A run that did less than it was asked for is not a measurement. Returns the summary.
pub(super) fn check_summary(summary: &Path, expected: usize) -> Result<serde_json::Value, String> {
    let of_file = |error: &dyn fmt::Display| format!("{}: {error}", summary.display());
    let text = std::fs::read_to_string(summary).map_err(|error| of_file(&error))?;
    let parsed = serde_json::from_str(&text).map_err(|error| of_file(&error))?;
    check_steps(&parsed, expected)?;
    Ok(parsed)
}

fn check_steps(summary: &serde_json::Value, expected: usize) -> Result<(), String> {
    if summary["steps"].as_u64() == Some(expected as u64) {
        return Ok(());
    }
    Err(format!(
        "gyrator made {} steps instead of {expected}",
        summary["steps"]
    ))
}

/// Cross-coupled pairs, each a bond of two axes, so that the ledger has work for every connection; connections alone and no
/// such choice of the coupling if the mode has that.
pub(super) fn system_file(fmu: &Path, row: Row, steps: usize) -> String {
    let instances = row.units;
    let stop_time = steps as f64 * STEP_SIZE;
    let choice = match row.mode.is_chosen() {
        true => "",
        false => "method = \"jacobi\"\nextrapolation = \"hold\"\n",
    };
    let mut text = format!(
        "[experiment]\nstart_time = 0.0\nstop_time = {stop_time:?}\nstep_size = {STEP_SIZE:?}\n{choice}"
    );
    // Writing into a String cannot fail.
    for index in 0..instances {
        let _ = writeln!(
            text,
            "\n[components.fmu{index}]\nfmu = {:?}",
            fmu.display().to_string()
        );
    }
    for a in (0..instances).step_by(2) {
        let b = a + 1;
        let pairs = |from: usize, to: usize| {
            let pair = |axis: usize| {
                format!("{{ from = \"fmu{from}.y{axis}\", to = \"fmu{to}.u{axis}\" }}")
            };
            format!("[{}, {}]", pair(0), pair(1))
        };
        if !row.mode.has_bonds() {
            for (from, to) in [(a, b), (b, a)] {
                for axis in 0..2 {
                    let _ = writeln!(
                        text,
                        "\n[[connections]]\nfrom = \"fmu{from}.y{axis}\"\nto = \"fmu{to}.u{axis}\""
                    );
                }
            }
            continue;
        }
        let (effort, flow) = (pairs(a, b), pairs(b, a));
        let _ = writeln!(
            text,
            "\n[[bonds]]\nname = \"pair{a}\"\neffort = {effort}\nflow = {flow}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::rows::Coupling;
    use super::*;

    #[test]
    fn a_run_with_too_few_steps_does_not_count() {
        let check = |summary| check_steps(&summary, 100).is_ok();
        assert!(check(json!({"steps": 100})));
        assert!(!check(json!({"steps": 99})));
        assert!(!check(json!({})));
    }

    #[test]
    fn a_loop_that_skipped_an_exchange_does_not_count() {
        let done = |printed: &str| Measured {
            cost: 1.0,
            printed: printed.to_owned(),
        };
        assert!(check_exchanges(&done("100\n"), 100, "loop").is_ok());
        assert!(check_exchanges(&done("99\n"), 100, "loop").is_err());
        assert!(check_exchanges(&done("killed"), 100, "loop").is_err());
    }

    #[test]
    fn the_c_loop_exchanges_in_every_step_with_each_library() {
        let work = tempfile::tempdir().unwrap();
        let root = crate::root();
        let fmus = Fmus::build(&root, work.path()).unwrap();
        let floor = Floor::build(&root, work.path(), &fmus).unwrap();
        let meter = Meter::cpu_time(&root, work.path()).unwrap();
        for library in Library::ALL {
            let row = Row {
                units: 4,
                mode: Mode::PLAIN,
                library,
                recording: Recording::Csv,
            };
            floor.run(&meter, row, 50).unwrap();
            let lines = std::fs::read_to_string(work.path().join("floor.csv")).unwrap();
            assert_eq!(lines.lines().count(), 51);
        }
    }

    #[test]
    fn every_input_is_fed_by_a_bond() {
        let row = |mode| Row {
            units: 4,
            mode,
            library: Library::Annotated,
            recording: Recording::Off,
        };
        let file = |mode| system_file(Path::new("Tiny.fmu"), row(mode), 1000);
        let text = file(Mode::PLAIN);
        let table: toml::Table = text.parse().unwrap();
        let words = |mode| ["hold", "bonds", "connections"].map(|word| file(mode).contains(word));
        assert_eq!(words(Mode::PLAIN), [true, true, false]);
        assert_eq!(
            words(Mode::Plain(Coupling::AutoBonds)),
            [false, true, false]
        );
        assert_eq!(words(Mode::Plain(Coupling::Held)), [true, false, true]);
        assert_eq!(words(Mode::Plain(Coupling::Auto)), [false, false, true]);
        assert_eq!(
            file(Mode::Plain(Coupling::Auto))
                .matches("[[connections]]")
                .count(),
            8
        );
        assert_eq!(table["experiment"]["stop_time"].as_float(), Some(1.0));
        assert_eq!(table["components"].as_table().unwrap().len(), 4);
        assert_eq!(table["bonds"].as_array().unwrap().len(), 2);
        for unit in 0..4 {
            for axis in 0..2 {
                let fed = format!("to = \"fmu{unit}.u{axis}\"");
                assert_eq!(text.matches(&fed).count(), 1, "{fed}");
            }
        }
    }
}
