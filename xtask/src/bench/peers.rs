//! Other masters on the same systems, as far as they are installed for Python.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::meter::{Call, Meter};
use super::programs::{Floor, Fmus, Master, check_exchanges};
use super::rows::{self, Recording, Row};
use super::slope::{Pairs, median};
use super::{Options, remark};

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
    /// Those that the runner can start, by the Python that `PYTHON` names, else by that of the checks with other tools
    /// where it is there, else by `python3`. Names the others.
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
        let call = Call::new(&self.python).argument(&self.runner);
        let call = call
            .argument(&self.name)
            .argument(&self.fmus.of(row.library).fmu);
        let call = call.arguments([row.units.to_string().as_str(), steps.to_string().as_str()]);
        let call = call.argument(&self.folder);
        let call = match row.recording {
            Recording::Off => call,
            _ => call.argument("--record"),
        };
        let done = meter.measure(&call)?;
        check_exchanges(&done, steps, &self.name)?;
        Ok(done.cost)
    }
}

/// Measures all of them and prints a table.
pub(super) fn table(
    peers: &Peers<'_>,
    floor: &Floor<'_>,
    meter: &Meter,
    options: &Options,
) -> Result<(), String> {
    let rows: Vec<Row> = rows::select(&rows::peers(), &options.only)?;
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
