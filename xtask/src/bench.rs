//! `cargo xtask bench`: a step of gyrator against a C loop over the same FMU.
//!
//! Both run in turn, several times each, because machines differ more between days than these two do. A cell is CPU time,
//! which other programs change less than the time on the clock, and by slope.

mod c_loop;
mod document;
mod instructions;
mod meter;
mod mixes;
mod oscillators;
mod peers;
mod programs;
mod rows;
mod slope;
mod start;
mod threads;
mod tiny;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use meter::Meter;
use peers::Peers;
use programs::{Floor, Fmus, Gyrator};
use rows::Row;
use slope::{Pairs, median};

/// Head of the table.
const HEADER: &str = "\
| units | mode | library | recording | floor | gyrator | ratio |
|--:|---|---|---|--:|--:|--:|";

/// Ratios of pairs that lie further apart than this, in parts of their median, are not a measurement to rely on.
const UNSTEADY: f64 = 0.15;

/// The rows to measure, and the place of the results.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Only rows with these words, as '100 plain copied'; repeatable. Combinations that the table leaves out
    /// are measured if a pattern names them
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// Pairs of measurements of each row; the table shows medians
    #[arg(long, default_value = "5")]
    repetitions: NonZeroUsize,
    /// Measure this program, another build of gyrator, and build none
    #[arg(long, value_name = "FILE", conflicts_with = "write")]
    program: Option<PathBuf>,
    /// Put the rows into the tables of docs/speed.md; with --instructions, keep the counts
    #[arg(long, conflicts_with = "peers")]
    write: bool,
    /// Count instructions by valgrind, against the kept counts; fails if they are 5 % more
    #[arg(long, conflicts_with = "peers")]
    instructions: bool,
    /// Measure short runs as a whole, against a C program that unzips with libzip and does the same
    #[arg(long, conflicts_with_all = ["write", "instructions", "peers", "only"])]
    start: bool,
    /// Measure four components that take 40 µs each on one thread, on two, and in two processes beside each other
    #[arg(long, conflicts_with_all = ["write", "instructions", "peers", "only", "start"])]
    threads: bool,
    /// Measure gyrator's own time of a step with several words and beside strangers, such as a block or '--profile', and the
    /// oscillators of the examples; '--only' takes words of its lines, as '100 bonds hold block' or '2 oscillators'
    #[arg(long, conflicts_with_all = ["write", "instructions", "peers", "start", "threads"])]
    mixes: bool,
    /// Measure other masters that are installed for Python: Tiny in place of gyrator, and the oscillators of the examples in turn with
    /// gyrator
    #[arg(long)]
    peers: bool,
}

/// Measures and prints a Markdown table; `target` is cargo's target folder.
///
/// # Errors
/// One sentence that says what is missing or went wrong: no C compiler, a build or a run that failed, a loop that did not
/// exchange its values, a pattern that no row fits.
pub fn run(root: &Path, target: &Path, options: &Options) -> Result<(), String> {
    let work = target.join("bench");
    std::fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    if options.instructions {
        return instructions::run(root, target, &work, options);
    }
    let patterns = if options.mixes || options.peers {
        &[][..]
    } else {
        &options.only
    };
    let selected = rows::select(&rows::table(), patterns)?;
    let fmus = Fmus::build(root, &work)?;
    let floor = Floor::build(root, &work, &fmus)?;
    let meter = Meter::cpu_time(root, &work)?;
    let gyrator = Gyrator::new(root, target, &work, &fmus, options.program.as_deref())?;
    if options.peers {
        let peers = Peers::find(root, target, &work, &fmus)?;
        return peers::run(&peers, (&floor, &gyrator), &work, &meter, options);
    }
    if options.start {
        return start::run(root, &work, &fmus, &gyrator, options.repetitions.get());
    }
    if options.mixes {
        let fmu = &fmus.of(rows::Library::Annotated).fmu;
        let chosen = (&*options.only, options.repetitions.get());
        return mixes::run(&work, (&floor, fmu), &gyrator, &meter, chosen);
    }
    if options.threads {
        return threads::run(
            root,
            &work,
            &floor.program,
            &gyrator,
            options.repetitions.get(),
        );
    }
    println!("{HEADER}");
    let mut lines = Vec::new();
    let mut remarks = Vec::new();
    let mut costs = Vec::new();
    for row in selected {
        let pairs = Pairs::measure((&floor, &gyrator), &meter, row, options.repetitions.get());
        let pairs = pairs.map_err(|error| format!("{row}: {error}"))?;
        let line = format!("{}{}", cells(row), figures(&pairs));
        println!("{line}");
        lines.push((row, line));
        costs.push((row, median(&pairs.ratios())));
        remarks.extend(remark(&row.to_string(), &pairs));
    }
    remarks.extend(beside_held(&costs));
    remarks.iter().for_each(|remark| println!("{remark}"));
    if options.write {
        document::update(root, &lines)?;
    }
    Ok(())
}

/// The first cells of a row's line.
fn cells(row: Row) -> String {
    format!("| {} |", row.words().join(" | "))
}

/// The other cells: medians, times in ns.
fn figures(pairs: &Pairs) -> String {
    let time = |values: &[f64]| 1e9 * median(values);
    format!(
        " {:.1} | {:.1} | {:.2} |",
        time(&pairs.floor),
        time(&pairs.other),
        median(&pairs.ratios())
    )
}

/// A line about each row with `auto`: its cost over the cost of the same system with held inputs, from the ratios of
/// both to the floor.
fn beside_held(costs: &[(Row, f64)]) -> Vec<String> {
    let held = |row: Row| costs.iter().find(|(other, _)| row.held() == Some(*other));
    let line = |&(row, auto): &(Row, f64)| {
        let (_, held) = held(row)?;
        Some(format!(
            "{row}: {:.3} times the time with held inputs",
            auto / held
        ))
    };
    costs.iter().filter_map(line).collect()
}

/// A line about a measurement whose pairs do not agree.
fn remark(name: &str, pairs: &Pairs) -> Option<String> {
    let ratios = pairs.ratios();
    let (first, last) = (*ratios.first()?, *ratios.last()?);
    let is_unsteady = last - first > UNSTEADY * median(&ratios);
    is_unsteady.then(|| format!("unsteady: {name}: ratios of {first:.2} to {last:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_medians_in_nanoseconds_and_the_median_of_the_ratios() {
        let pairs = Pairs {
            floor: vec![8e-9, 16e-9, 8e-9],
            other: vec![16e-9, 32e-9, 20e-9],
        };
        assert_eq!(figures(&pairs), " 8.0 | 20.0 | 2.00 |");
        let row = rows::parse("100,supervised,copied,off").unwrap();
        assert_eq!(cells(row), "| 100 | supervised | copied | off |");
        let columns = |line: &str| line.matches('|').count();
        let line = cells(row) + &figures(&pairs);
        assert!(HEADER.lines().all(|head| columns(head) == columns(&line)));
    }

    #[test]
    fn rows_with_auto_are_compared_with_held_inputs() {
        let costs: Vec<(Row, f64)> = [
            ("10,held,annotated,off", 1.5),
            ("10,auto,annotated,off", 2.7),
            ("10,auto,busy,off", 1.02),
        ]
        .map(|(words, cost)| (rows::parse(words).unwrap(), cost))
        .to_vec();
        assert_eq!(
            beside_held(&costs),
            ["10 auto annotated off: 1.800 times the time with held inputs"]
        );
    }

    #[test]
    fn pairs_that_do_not_agree_are_named() {
        let pairs = |last: f64| Pairs {
            floor: vec![1.0, 1.0, 1.0],
            other: vec![2.0, 2.0, last],
        };
        assert_eq!(remark("row", &pairs(2.2)), None);
        let said = remark("row", &pairs(2.5));
        assert_eq!(
            said.as_deref(),
            Some("unsteady: row: ratios of 2.00 to 2.50")
        );
    }
}
