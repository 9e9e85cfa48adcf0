//! `gyrator new`: a first system file from FMUs, with the connections and bonds that their variables suggest.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::path::{Component as Part, Path, PathBuf};

use clap::Args;
use gyrator::System;
use gyrator::system::{
    Evidence, OpenInput, SuggestedBond, SuggestedConnection, suggested_bonds, suggested_connections,
};
use gyrator_fmu::{DefaultExperiment, Fmu};
use gyrator_ssp::power_ports;
use gyrator_system::toml_file::{GUESS, bond_to_toml, literal, to_toml};
use gyrator_system::{Component, Connection, Spanned, SystemFile, Value};

use super::simulate::not_opened;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::fmu_options::FmuOptions;
use crate::input_kind::{self, Wanted};
use crate::numbers::count;
use crate::overwriting;
use crate::screen;

/// The macro-step if no FMU recommends one, s: most examples of FMI tools have it.
const STEP_SIZE: f64 = 1e-3;
/// The stop time if no FMU recommends one, s.
const STOP_TIME: f64 = 1.0;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The FMUs; one that is named twice becomes two components
    #[arg(value_name = "FMU", required = true)]
    fmus: Vec<PathBuf>,
    /// Write the system file, which must not exist yet [default: '-', the standard output]
    #[arg(long, short = 'o', value_name = "FILE.toml")]
    output_file: Option<PathBuf>,
    #[command(flatten)]
    opening: FmuOptions,
}

/// A system file in the making.
struct Draft {
    file: SystemFile,
    connections: Vec<SuggestedConnection>,
    /// Those that are entries of the file, and those that are comments.
    bonds: (Vec<SuggestedBond>, Vec<SuggestedBond>),
    open: Vec<OpenInput>,
    /// The keys of the experiment that no FMU recommends.
    guessed: Vec<&'static str>,
}

/// Writes the file, and says what is open.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let target = options.output_file.as_deref();
    let target = target.filter(|path| *path != Path::new("-"));
    let draft = draft(options, target.unwrap_or(Path::new("system.toml")))?;
    let text = draft.text();
    let Some(target) = target else {
        screen::print(&text)?;
        return Ok(Exit::Success);
    };
    overwriting::refuse(&[("--output-file", target)], &[])?;
    let made = File::create_new(target);
    let written = made.and_then(|mut file| {
        let written = file.write_all(text.as_bytes());
        // A part of it would be in the way of the next attempt.
        written.inspect_err(|_| drop(std::fs::remove_file(target)))
    });
    written.map_err(|error| Failure::not_created(target, &error))?;
    screen::print(&draft.outcome(target))?;
    Ok(Exit::Success)
}

/// Reads the FMUs' descriptions and finds what goes together.
fn draft(options: &Options, target: &Path) -> Result<Draft, Failure> {
    let mut file = SystemFile::new(target);
    let mut names = BTreeSet::new();
    let mut recommended = Vec::new();
    let limits = options.opening.limits();
    for path in &options.fmus {
        input_kind::expect(path, Wanted::Fmu)?;
        let peek = Fmu::peek_with(path, limits).map_err(|error| not_opened(&error))?;
        recommended.push(peek.description.default_experiment);
        let name = free_name(path, &mut names);
        file.components.push(Component::new(name, path));
    }
    let guessed = recommend(&mut file, &recommended);
    let described = |file: &SystemFile| {
        System::from_file(file.clone()).map_err(|error| Failure::not_started(error, file))
    };
    let (connections, open) = suggested_connections(&described(&file)?);
    let plain = connections.iter().map(|found| found.connection.clone());
    file.connections = plain.collect();
    let (ports, problems) = power_ports(&file, limits);
    for problem in problems {
        screen::message(&format!("warning: {problem}\n"));
    }
    let bonds = suggested_bonds(&described(&file)?, &ports);
    let is_sure = |bond: &SuggestedBond| bond.evidence != Evidence::Names && bond.is_unique;
    let bonds: (Vec<_>, Vec<_>) = bonds.into_iter().partition(is_sure);
    // Paths in the file are relative to its folder.
    for component in &mut file.components {
        component.fmu.value = seen_from(target, &component.fmu.value);
    }
    Ok(Draft {
        file,
        connections,
        bonds,
        open,
        guessed,
    })
}

/// The name of the file, with a number if it is taken, and with no dot, which would part a component from its variable.
fn free_name(path: &Path, names: &mut BTreeSet<String>) -> String {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let stem = stem.replace('.', "_");
    let numbered = (2..).map(|number| format!("{stem}{number}"));
    let mut all = std::iter::once(stem.clone()).chain(numbered);
    let name = all.find(|name| !names.contains(name)).unwrap_or_default();
    names.insert(name.clone());
    name
}

/// The longest of the recommended stop times and the shortest of the steps; the keys that have none.
fn recommend(file: &mut SystemFile, of_fmus: &[DefaultExperiment]) -> Vec<&'static str> {
    let all = |of: fn(&DefaultExperiment) -> Option<f64>| of_fmus.iter().filter_map(of);
    let stop = all(|fmu| fmu.stop_time).reduce(f64::max);
    let step = all(|fmu| fmu.step_size)
        .filter(|step| *step > 0.0)
        .reduce(f64::min);
    file.experiment.stop_time = Some(Spanned::unplaced(stop.unwrap_or(STOP_TIME)));
    file.experiment.step_size = Some(Spanned::unplaced(step.unwrap_or(STEP_SIZE)));
    let guessed = [("stop_time", stop), ("step_size", step)].into_iter();
    guessed
        .filter(|(_, found)| found.is_none())
        .map(|(key, _)| key)
        .collect()
}

/// A path as a file in another folder has to write it; as it is if one of the two is not there.
fn seen_from(file: &Path, path: &Path) -> PathBuf {
    let folder = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => return path.to_owned(),
    };
    let (Ok(folder), Ok(path)) = (folder.canonicalize(), path.canonicalize()) else {
        return path.to_owned();
    };
    let shared = folder.components().zip(path.components());
    let shared = shared.take_while(|(one, other)| one == other).count();
    let up = folder.components().skip(shared).map(|_| Part::ParentDir);
    up.chain(path.components().skip(shared)).collect()
}

impl Draft {
    fn text(&self) -> String {
        let mut text = String::from(
            "# Written by `gyrator new`: check every line that says how it was found.\n",
        );
        let in_bonds = self
            .bonds
            .0
            .iter()
            .flat_map(|bond| bond.bond.effort.iter().chain(&bond.bond.flow));
        let in_bonds: Vec<_> = in_bonds
            .map(|pair| (&pair.from.value, &pair.to.value))
            .collect();
        let is_listed = |found: &&SuggestedConnection| {
            let Connection { from, to, .. } = &found.connection;
            !in_bonds.contains(&(&from.value, &to.value))
        };
        let listed: Vec<_> = self.connections.iter().filter(is_listed).collect();
        if !listed.is_empty() || !self.open.is_empty() {
            text.push_str("\nconnections = [\n");
            listed
                .iter()
                .for_each(|found| text.push_str(&connection(found)));
            self.open
                .iter()
                .for_each(|input| text.push_str(&open(input)));
            text.push_str("]\n");
        }
        let mut bare = self.file.clone();
        bare.connections.clear();
        let _ = write!(text, "\n{}", to_toml(&bare));
        self.guessed
            .iter()
            .for_each(|key| text = marked(&text, key));
        let (sure, unsure) = &self.bonds;
        if !sure.is_empty() {
            text.push_str("\n# Units do not show which way the FMUs count the effort: set `sense = -1` where the power is −effort · flow.\n");
        }
        for bond in sure {
            let _ = write!(
                text,
                "\n# {}\n{}",
                bond.quantities,
                bond_to_toml(&bond.bond)
            );
        }
        for bond in unsure {
            let _ = write!(text, "\n# {}, perhaps:\n", bond.quantities);
            for line in bond_to_toml(&bond.bond).lines() {
                let _ = writeln!(text, "# {line}");
            }
        }
        text
    }

    /// The closing lines: the findings, and the work that is left.
    fn outcome(&self, target: &Path) -> String {
        let counts = [
            (self.file.components.len(), "component"),
            (self.connections.len(), "connection"),
            (self.bonds.0.len(), "power bond"),
        ];
        let [components, connections, bonds] =
            counts.map(|(number, noun)| count(number as u64, noun));
        let target = target.display();
        let mut text = format!("{target}: {components}, {connections} found, {bonds} among them\n");
        for open in &self.open {
            let unit = open
                .unit
                .as_ref()
                .map_or(String::new(), |unit| format!(", {unit}"));
            let _ = match open.candidates.len() {
                0 => writeln!(text, "open input: {}{unit}: no output fits", open.input),
                more => writeln!(text, "open input: {}{unit}: {more} outputs fit", open.input),
            };
        }
        let _ = match target.to_string() {
            plain if !plain.contains(char::is_whitespace) => writeln!(text, "gyrator run {plain}"),
            spaced => writeln!(text, "gyrator run '{spaced}'"),
        };
        text
    }
}

/// The text with a remark on a key that is a guess.
fn marked(text: &str, key: &str) -> String {
    let start = format!("{key} = ");
    let line = |line: &str| match line.starts_with(&start) {
        true => format!("{line}    # s{GUESS}\n"),
        false => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

fn quoted(port: &impl ToString) -> String {
    literal(&Value::String(port.to_string()))
}

fn connection(found: &SuggestedConnection) -> String {
    let Connection { from, to, .. } = &found.connection;
    let (from, to, words) = (quoted(&from.value), quoted(&to.value), found.words());
    format!("    [{from}, {to}],    # {words}\n")
}

/// Comments on an input that stays open: one line for each output that fits.
fn open(input: &OpenInput) -> String {
    let unit = input
        .unit
        .as_ref()
        .map_or(String::new(), |unit| format!(", {unit}"));
    let to = quoted(&input.input);
    if input.candidates.is_empty() {
        return format!("    # open: {}{unit}; no output fits\n", input.input);
    }
    let line = |from| {
        format!(
            "    # [{}, {to}],    # open: one of several that fit{unit}\n",
            quoted(from)
        )
    };
    input.candidates.iter().map(line).collect()
}
