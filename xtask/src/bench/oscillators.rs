//! The oscillators of the examples in pairs, each with a bond and a connection, against a C loop that makes the same calls of
//! the same FMUs. Called by `cargo xtask bench --mixes`, and by `--peers` for its systems; Tiny's rows are in `mixes`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fmu_models::MODELS;
use serde_json::Value;

use super::c_loop::{self, LoopFmu};
use super::meter::Meter;
use super::programs::{Gyrator, Master, STEP_SIZE, check_summary};
use super::rows::{Library, Mode, Recording, Row, UNITS};
use super::slope::Pairs;
use super::{figures, remark};
use crate::fmus;

/// Each with the value references of its inputs and outputs, in the order in which the other has them: x2, v2, f, x and v of
/// the first; f, x and v of the second.
const FORCE: (&str, [&str; 2]) = ("OscillatorForce", ["0,1", "2,3,4"]);
const MOTION: (&str, [&str; 2]) = ("OscillatorMotion", ["0", "1,2"]);

/// The word of these lines.
pub(super) const SYSTEM: &str = "oscillators";

/// What the system file says of the coupling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    /// Nothing: gyrator reads the force again under new inputs.
    Default,
    /// As `examples/double-oscillator.toml`: a derivative a step says how stale the force is.
    Stale,
}

impl Words {
    const fn word(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Stale => "stale",
        }
    }

    const fn text(self) -> &'static str {
        match self {
            Self::Default => "",
            Self::Stale => "method = \"jacobi\"\nexchange = \"stale\"\nextrapolation = \"hold\"\n",
        }
    }

    /// What the C loop does after each step.
    const fn pass(self) -> &'static str {
        match self {
            Self::Default => "fresh",
            Self::Stale => "derivative",
        }
    }

    /// Calls of a pair in a macro-step, by the names of gyrator's counters: the C loop's calls.
    const fn calls(self) -> [(&'static str, u64); 3] {
        let [set_and_get, derivatives] = match self {
            Self::Default => [3, 0],
            Self::Stale => [2, 1],
        };
        [
            ("set_calls", set_and_get),
            ("get_calls", set_and_get),
            ("derivative_calls", derivatives),
        ]
    }
}

/// A line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Line {
    units: usize,
    words: Words,
}

impl Line {
    /// All, in the order of the table.
    pub(super) fn all() -> Vec<Self> {
        let lines = |words| UNITS[..3].iter().map(move |&units| Self { units, words });
        [Words::Default, Words::Stale]
            .into_iter()
            .flat_map(lines)
            .collect()
    }

    pub(super) fn words(self) -> [String; 3] {
        let (units, words) = (self.units.to_string(), self.words.word());
        [units, SYSTEM.to_owned(), words.to_owned()]
    }

    /// Those that the file leaves to gyrator.
    pub(super) fn is_default(self) -> bool {
        self.words == Words::Default
    }

    /// The number of FMUs is all that the measurement takes from it.
    pub(super) const fn row(self) -> Row {
        Row {
            units: self.units,
            mode: Mode::PLAIN,
            library: Library::Annotated,
            recording: Recording::Off,
        }
    }

    fn system(self, folder: &Path, steps: usize) -> String {
        let stop_time = steps as f64 * STEP_SIZE;
        let mut text = format!(
            "[experiment]\nstop_time = {stop_time:?}\nstep_size = {STEP_SIZE:?}\n{}",
            self.words.text()
        );
        let [force, motion] = files(folder).map(|file| file.display().to_string());
        for pair in 0..self.units / 2 {
            // Writing into a String cannot fail.
            let _ = write!(
                text,
                r#"
[components.force{pair}]
fmu = {force:?}

[components.motion{pair}]
fmu = {motion:?}

[[connections]]
from = "motion{pair}.x"
to = "force{pair}.x2"

[[bonds]]
name = "coupling{pair}"
effort = {{ from = "force{pair}.f", to = "motion{pair}.f" }}
flow = {{ from = "motion{pair}.v", to = "force{pair}.v2" }}
"#
            );
        }
        text
    }
}

/// The C loop with a line's calls.
struct Floor<'a> {
    program: &'a Path,
    fmus: &'a [LoopFmu; 2],
    words: Words,
}

impl Master for Floor<'_> {
    fn run(&self, meter: &Meter, row: Row, steps: usize) -> Result<f64, String> {
        let pass = self.words.pass();
        let call = c_loop::call(self.program, (row.units, steps), None, pass, self.fmus);
        let done = meter.measure(&call)?;
        let force = done.printed.trim();
        if force.parse().is_ok_and(f64::is_finite) {
            return Ok(done.cost);
        }
        Err(format!("the C loop ended with a force of {force:?}"))
    }
}

/// gyrator with a line's system.
pub(super) struct Coupled<'a> {
    pub(super) gyrator: &'a Gyrator<'a>,
    pub(super) line: Line,
    pub(super) folder: &'a Path,
    pub(super) work: &'a Path,
}

impl Master for Coupled<'_> {
    fn run(&self, meter: &Meter, row: Row, steps: usize) -> Result<f64, String> {
        let place = |name: &str| -> PathBuf { self.work.join(name) };
        let (system, summary) = (place("oscillators.toml"), place("oscillators.json"));
        std::fs::write(&system, self.line.system(self.folder, steps))
            .map_err(|error| format!("{}: {error}", system.display()))?;
        let done = meter.measure(&self.gyrator.plain_call(&system, &summary))?;
        let made = check_summary(&summary, steps)?;
        check_calls(&made, self.line.words, row.units / 2 * steps)?;
        Ok(done.cost)
    }
}

/// Ratios mean nothing unless both make the same calls.
fn check_calls(summary: &Value, words: Words, pair_steps: usize) -> Result<(), String> {
    for (name, expected) in words.calls() {
        let (made, expected) = (&summary["counters"][name], expected * pair_steps as u64);
        if made.as_u64() != Some(expected) {
            return Err(format!(
                "gyrator's {name} are {made}, those of the C loop {expected}"
            ));
        }
    }
    Ok(())
}

/// Both FMUs in their folder.
pub(super) fn files(folder: &Path) -> [PathBuf; 2] {
    [FORCE, MOTION].map(|(name, _)| folder.join(format!("{name}.fmu")))
}

/// The first force after so many steps, by the method of the FMUs: symplectic Euler, one step each. It is read again under new
/// inputs if it is fresh.
pub(super) fn force(steps: usize, is_fresh: bool) -> f64 {
    let coupling = |x: f64, x2: f64| 100.0 * (x - x2);
    let ([mut x, mut v], [mut x2, mut v2]) = ([0.0, 100.0], [0.0, -100.0]);
    let mut force = 0.0;
    for _ in 0..steps {
        let held = x2;
        v2 += STEP_SIZE * (force - 1000.0 * x2);
        x2 += STEP_SIZE * v2;
        v += STEP_SIZE * (-10.0 * x - coupling(x, held));
        x += STEP_SIZE * v;
        force = coupling(x, if is_fresh { x2 } else { held });
    }
    force
}

/// Builds both FMUs; their folder, and what the C loop needs of them.
pub(super) fn build(target: &Path) -> Result<(PathBuf, [LoopFmu; 2]), String> {
    let folder = fmus::build(&[FORCE.0, MOTION.0]).map_err(|error| error.to_string())?;
    let of_loop = |(name, references)| {
        let model = MODELS.iter().find(|model| model.name == name);
        let model = model.ok_or_else(|| format!("no model {name}"))?;
        Ok(LoopFmu {
            library: fmus::library_path(target, model.example),
            guid: (model.describe)().guid,
            references,
        })
    };
    let both: [Result<LoopFmu, String>; 2] = [FORCE, MOTION].map(of_loop);
    let [force, motion] = both;
    Ok((folder, [force?, motion?]))
}

/// Measures lines and prints them as a table.
///
/// # Errors
/// FMUs that cannot be built; a run that failed or made other calls than the C loop.
pub(super) fn table(
    lines: &[Line],
    (work, program): (&Path, &Path),
    gyrator: &Gyrator<'_>,
    meter: &Meter,
    repetitions: usize,
) -> Result<(), String> {
    let (folder, fmus) = build(&crate::target())?;
    println!("| units | system | words | floor, ns | gyrator, ns | ratio |");
    println!("|--:|---|---|--:|--:|--:|");
    let mut remarks = Vec::new();
    for &line in lines {
        let name = line.words().join(" ");
        let floor = Floor {
            program,
            fmus: &fmus,
            words: line.words,
        };
        let coupled = Coupled {
            gyrator,
            line,
            folder: &folder,
            work,
        };
        let pairs = Pairs::measure((&floor, &coupled), meter, line.row(), repetitions);
        let pairs = pairs.map_err(|error| format!("{name}: {error}"))?;
        println!("| {} |{}", line.words().join(" | "), figures(&pairs));
        remarks.extend(remark(&name, &pairs));
    }
    remarks.iter().for_each(|remark| println!("{remark}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tiny::compile;
    use super::*;

    #[test]
    fn systems_have_a_bond_and_a_connection_for_each_pair() {
        for line in Line::all() {
            let text = line.system(Path::new("fmus"), 2000);
            let table: toml::Table = text.parse().unwrap();
            assert_eq!(table["experiment"]["stop_time"].as_float(), Some(2.0));
            assert_eq!(table["components"].as_table().unwrap().len(), line.units);
            for name in ["bonds", "connections"] {
                assert_eq!(table[name].as_array().unwrap().len(), line.units / 2);
            }
            let is_stale = table["experiment"].get("exchange").is_some();
            assert_eq!(is_stale, line.words == Words::Stale);
        }
    }

    #[test]
    fn other_calls_than_those_of_the_loop_do_not_count() {
        let counters = |set, get, derivative| json!({"counters": {"set_calls": set, "get_calls": get, "derivative_calls": derivative}});
        let check = |summary, words| check_calls(&summary, words, 50).is_ok();
        assert!(check(counters(150, 150, 0), Words::Default));
        assert!(check(counters(100, 100, 50), Words::Stale));
        assert!(!check(counters(100, 100, 0), Words::Stale));
        assert!(!check(counters(150, 100, 0), Words::Default));
        assert!(!check(json!({}), Words::Default));
    }

    #[test]
    fn the_c_loop_reads_again_under_new_inputs_and_asks_for_derivatives() {
        let work = tempfile::tempdir().unwrap();
        let (_, fmus) = build(&crate::target()).unwrap();
        let program = work.path().join("floor");
        let source = crate::root().join("xtask/bench/floor.c");
        compile(&source, &program, &[], &["-ldl"]).unwrap();
        for (pass, is_fresh) in [("none", false), ("derivative", false), ("fresh", true)] {
            let mut command = c_loop::call(&program, (4, 50), None, pass, &fmus).command();
            let output = command.output().unwrap();
            let printed = String::from_utf8(output.stdout).unwrap();
            let printed: f64 = printed.trim().parse().unwrap();
            // Rounding of 50 steps.
            let expected = force(50, is_fresh);
            assert!(
                (printed / expected - 1.0).abs() < 1e-12,
                "{pass}: {printed}, {expected}"
            );
        }
        // Tiny has no derivatives: a loop that makes no call of them would not fail.
        let tiny = super::super::tiny::Tiny::build(&crate::root(), work.path(), Library::Annotated);
        let tiny = [LoopFmu::tiny(&tiny.unwrap())];
        let run = |pass| {
            c_loop::call(&program, (2, 5), None, pass, &tiny)
                .command()
                .status()
        };
        assert!(run("none").unwrap().success());
        assert!(!run("derivative").unwrap().success());
    }
}
