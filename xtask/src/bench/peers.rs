//! Other masters on the same systems, as far as they are installed for Python: Tiny against the C loop, and the oscillators of the
//! examples against gyrator. `cargo xtask bench --peers` calls it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::meter::{Call, Measured, Meter};
use super::oscillators::{self, Coupled, Line};
use super::programs::{Floor, Fmus, Gyrator, Master, check_exchanges};
use super::rows::{self, Recording, Row};
use super::slope::{Pairs, median};
use super::{Options, figures, mixes, remark};

/// The runner of all of them, from the root of the repository.
const RUNNER: &str = "tests/importers/bench_peers.py";

/// The masters, and what is needed to run them.
#[derive(Debug)]
pub(super) struct Peers<'a> {
    installed: Vec<Peer<'a>>,
}

/// A master that runs the FMU without gyrator's annotation.
#[derive(Debug)]
struct Peer<'a> {
    name: String,
    python: OsString,
    runner: PathBuf,
    folder: PathBuf,
    fmus: &'a Fmus,
}

impl<'a> Peers<'a> {
    /// Those that the runner can start, by the Python that `PYTHON` names, otherwise by the Python of the checks with
    /// other tools if it exists, otherwise by `python3`. Names the others.
    pub(super) fn find(
        root: &Path,
        target: &Path,
        work: &Path,
        fmus: &'a Fmus,
    ) -> Result<Self, String> {
        let of_checks = target.join("importers-venv/bin/python");
        let python = std::env::var_os("PYTHON").unwrap_or_else(|| match of_checks.exists() {
            true => of_checks.into_os_string(),
            false => "python3".into(),
        });
        let runner = root.join(RUNNER);
        let listed = Command::new(&python).arg(&runner).arg("--list").output();
        let listed = listed.map_err(|error| format!("{}: {error}", python.display()))?;
        if !listed.status.success() {
            return Err(String::from_utf8_lossy(&listed.stderr).trim().to_owned());
        }
        let folder = work.join("peers");
        std::fs::create_dir_all(&folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        let mut installed = Vec::new();
        for (name, state) in parse(&String::from_utf8_lossy(&listed.stdout))? {
            println!("{name}: {state}");
            if !state.starts_with(ABSENT) {
                installed.push(Peer {
                    name,
                    python: python.clone(),
                    runner: runner.clone(),
                    folder: folder.clone(),
                    fmus,
                });
            }
        }
        Ok(Self { installed })
    }
}

/// A master that cannot be started is listed with this and the reason.
const ABSENT: &str = "not installed";

/// Lines of a name, a tabulator, and a version or why it is absent.
fn parse(listed: &str) -> Result<Vec<(String, String)>, String> {
    let pair = |line: &str| {
        let pair = line.split_once('\t');
        let pair = pair.ok_or_else(|| format!("{RUNNER} printed {line:?} in its list"))?;
        Ok((pair.0.to_owned(), pair.1.to_owned()))
    };
    listed.lines().map(pair).collect()
}

impl Master for Peer<'_> {
    fn run(&self, meter: &Meter, row: Row, steps: usize) -> Result<f64, String> {
        let done = self.measure(meter, row, steps, &[&self.fmus.of(row.library).fmu])?;
        check_exchanges(&done, steps, &self.name)?;
        Ok(done.cost)
    }
}

impl Peer<'_> {
    /// A run with these FMUs in turn.
    fn measure(
        &self,
        meter: &Meter,
        row: Row,
        steps: usize,
        fmus: &[&Path],
    ) -> Result<Measured, String> {
        let call = Call::new(&self.python).argument(&self.runner);
        let call = call.arguments([&*self.name, &row.units.to_string(), &steps.to_string()]);
        let call = call.argument(&self.folder);
        let call = fmus.iter().fold(call, Call::argument);
        let call = match row.recording {
            Recording::Off => call,
            _ => call.argument("--record"),
        };
        meter.measure(&call)
    }
}

/// A peer with the oscillators.
struct Oscillating<'a> {
    peer: &'a Peer<'a>,
    fmus: &'a [PathBuf; 2],
}

impl Master for Oscillating<'_> {
    fn run(&self, meter: &Meter, row: Row, steps: usize) -> Result<f64, String> {
        let fmus: [&Path; 2] = [&self.fmus[0], &self.fmus[1]];
        let done = self.peer.measure(meter, row, steps, &fmus)?;
        let (found, expected) = (done.printed.trim(), oscillators::force(steps, false));
        // Rounding of the steps; a loop that skips an exchange is far off.
        let is_same = |force: f64| (force - expected).abs() <= 1e-6 * expected.abs();
        match found.parse().is_ok_and(is_same) {
            true => Ok(done.cost),
            false => Err(format!("the force is {found:?} instead of {expected}")),
        }
    }
}

/// Measures all of them, in the tables that the patterns have lines of.
pub(super) fn run(
    peers: &Peers<'_>,
    (floor, gyrator): (&Floor<'_>, &Gyrator<'_>),
    work: &Path,
    meter: &Meter,
    options: &Options,
) -> Result<(), String> {
    let is_of_oscillators =
        |pattern: &&String| (pattern.split_whitespace()).any(|word| word == oscillators::SYSTEM);
    let (of_oscillators, of_rows): (Vec<&String>, Vec<&String>) =
        options.only.iter().partition(is_of_oscillators);
    if of_oscillators.is_empty() || !of_rows.is_empty() {
        table(peers, floor, meter, options, &owned(&of_rows))?;
    }
    if of_rows.is_empty() || !of_oscillators.is_empty() {
        beside_gyrator(
            peers,
            (gyrator, work),
            meter,
            options,
            &owned(&of_oscillators),
        )?;
    }
    Ok(())
}

fn owned(patterns: &[&String]) -> Vec<String> {
    patterns.iter().copied().cloned().collect()
}

/// Measures all of them with the oscillators, each in turn with gyrator, whose file names no words, and prints a table.
fn beside_gyrator(
    peers: &Peers<'_>,
    (gyrator, work): (&Gyrator<'_>, &Path),
    meter: &Meter,
    options: &Options,
    patterns: &[String],
) -> Result<(), String> {
    let (folder, _) = oscillators::build(&crate::target())?;
    let fmus = oscillators::files(&folder);
    println!("\n| units | system | words | master | gyrator, ns | master, ns | ratio |");
    println!("|--:|---|---|---|--:|--:|--:|");
    let (mut remarks, repetitions) = (Vec::new(), options.repetitions.get());
    let lines = Line::all().into_iter().filter(|line| line.is_default());
    for line in lines.filter(|line| mixes::is_chosen(&line.words(), patterns)) {
        let coupled = Coupled {
            gyrator,
            line,
            folder: &folder,
            work,
        };
        for peer in &peers.installed {
            let oscillating = Oscillating { peer, fmus: &fmus };
            let words = line.words().join(" | ");
            match Pairs::measure((&coupled, &oscillating), meter, line.row(), repetitions) {
                Ok(pairs) => {
                    println!("| {words} | {} |{}", peer.name, figures(&pairs));
                    remarks.extend(remark(&format!("{words} {}", peer.name), &pairs));
                }
                Err(error) => remarks.push(format!("{words} {}: {error}", peer.name)),
            }
        }
    }
    remarks.iter().for_each(|remark| println!("{remark}"));
    Ok(())
}

/// Measures all of them with Tiny and prints a table.
fn table(
    peers: &Peers<'_>,
    floor: &Floor<'_>,
    meter: &Meter,
    options: &Options,
    patterns: &[String],
) -> Result<(), String> {
    let rows: Vec<Row> = rows::select(&rows::peers(), patterns)?;
    println!("\n| units | master | library | recording | floor | master, ns | ratio |");
    println!("|--:|---|---|---|--:|--:|--:|");
    let mut remarks = Vec::new();
    for row in rows {
        for peer in &peers.installed {
            let name = format!("{} {} {}", row.units, peer.name, row.recording.word());
            let pairs = Pairs::measure((floor, peer), meter, row, options.repetitions.get());
            match pairs {
                Ok(pairs) => {
                    println!("{}", line(&peer.name, row, &pairs));
                    remarks.extend(remark(&name, &pairs));
                }
                // One that cannot keeps no other from being measured.
                Err(error) => remarks.push(format!("{name}: {error}")),
            }
        }
    }
    remarks.iter().for_each(|remark| println!("{remark}"));
    Ok(())
}

fn line(name: &str, row: Row, pairs: &Pairs) -> String {
    let [units, _, library, recording] = row.words();
    let time = |values: &[f64]| 1e9 * median(values);
    format!(
        "| {units} | {name} | {library} | {recording} | {:.1} | {:.1} | {:.2} |",
        time(&pairs.floor),
        time(&pairs.other),
        median(&pairs.ratios())
    )
}
