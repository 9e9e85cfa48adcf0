//! Instructions of a step, which no other program on the machine changes: against the figures that the repository keeps.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Options;
use super::meter::Meter;
use super::programs::{Floor, Fmus, Gyrator};
use super::rows::{self, Coupling, Library, Mode, Recording, Row};
use super::slope::{Steps, slope};

/// The kept figures, from the root of the repository.
const KEPT: &str = "xtask/bench/instructions.csv";

/// Greatest change for the worse.
const LIMIT: f64 = 0.05;

/// Steps of FMUs in the longer run: so many that what differs between two starts, such as the order of a hash map, is
/// less than a hundredth.
const UNIT_STEPS: usize = 400_000;

/// The rows that are counted, in their order.
fn table() -> Vec<Row> {
    let row = |units, mode, recording| Row {
        units,
        mode,
        library: Library::Annotated,
        recording,
    };
    let plain = rows::UNITS.map(|units| row(units, Mode::PLAIN, Recording::Off));
    let supervised = [2, 100].map(|units| row(units, Mode::Supervised, Recording::Off));
    let recorded = [Recording::Csv, Recording::CsvAll, Recording::Parquet];
    let recorded = recorded.map(|recording| row(100, Mode::PLAIN, recording));
    let auto = [Coupling::Held, Coupling::Auto, Coupling::AutoBonds].map(Mode::Plain);
    let auto = auto.map(|mode| row(10, mode, Recording::Off));
    [&plain[..], &supervised, &recorded, &auto].concat()
}

/// A row with its figures, instructions per step of an FMU.
#[derive(Debug, Clone, PartialEq)]
struct Counted {
    row: Row,
    floor: f64,
    gyrator: f64,
}

/// Counts, prints a table, and compares with the kept figures; keeps the new ones if `write` is asked for.
///
/// # Errors
/// A figure that is worse than the kept one by more than the limit; a pattern that no row fits; a run that fails.
pub(super) fn run(
    root: &Path,
    target: &Path,
    work: &Path,
    options: &Options,
) -> Result<(), String> {
    if !is_installed() {
        println!(
            "skipped: instructions are not counted, because valgrind is not installed; on Debian: apt-get install valgrind"
        );
        return Ok(());
    }
    let rows: Vec<Row> = match &options.only[..] {
        [] => table(),
        patterns => rows::select(&table(), patterns)?,
    };
    let file = root.join(KEPT);
    let text = std::fs::read_to_string(&file).map_err(|error| format!("{KEPT}: {error}"))?;
    let kept = parse(&text)?;
    let fmus = Fmus::build(root, work)?;
    let floor = Floor::build(root, work, &fmus)?;
    let gyrator = Gyrator::new(root, target, work, &fmus, options.program.as_deref())?;
    let meter = Meter::instructions(work);
    println!("| units | mode | library | recording | floor | gyrator | ratio | kept | change |");
    println!("|--:|---|---|---|--:|--:|--:|--:|--:|");
    let mut all = Vec::new();
    for row in rows {
        let steps = Steps::of(row, UNIT_STEPS);
        let of_row = |error| format!("{row}: {error}");
        let counted = Counted {
            row,
            floor: slope(&floor, &meter, row, steps).map_err(of_row)?,
            gyrator: slope(&gyrator, &meter, row, steps).map_err(of_row)?,
        };
        println!("{}", line(&counted, of(&kept, row)));
        all.push(counted);
    }
    beside_held(&all);
    if options.write {
        let text = written(&merged(kept, &all), &compiler());
        return std::fs::write(&file, text).map_err(|error| format!("{KEPT}: {error}"));
    }
    judge(&all, &kept, &text)
}

fn is_installed() -> bool {
    let mut command = Command::new("valgrind");
    command.arg("--version").stdout(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Version of the compiler that builds gyrator here, in one line.
fn compiler() -> String {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_else(|_| "unknown compiler".to_owned())
}

fn of(kept: &[(Row, f64)], row: Row) -> Option<f64> {
    let found = kept.iter().find(|(other, _)| *other == row);
    found.map(|(_, instructions)| *instructions)
}

fn line(counted: &Counted, kept: Option<f64>) -> String {
    let Counted {
        row,
        floor,
        gyrator,
    } = counted;
    let cells = row.words().join(" | ");
    let own = format!(
        "| {cells} | {floor:.1} | {gyrator:.1} | {:.2} |",
        gyrator / floor
    );
    match kept {
        Some(kept) => {
            let change = 100.0 * (gyrator / kept - 1.0);
            format!("{own} {kept:.1} | {change:+.1} % |")
        }
        None => format!("{own} – | – |"),
    }
}

/// Compares all figures with the figures of the file `text`.
fn judge(all: &[Counted], kept: &[(Row, f64)], text: &str) -> Result<(), String> {
    let mut worse = Vec::new();
    for counted in all {
        let (row, now) = (counted.row, counted.gyrator);
        match of(kept, row) {
            None if table().contains(&row) => worse.push(format!("{row}: no figure is kept")),
            Some(before) if now > before * (1.0 + LIMIT) => {
                worse.push(format!(
                    "{row}: {now:.1} instructions, {before:.1} are kept"
                ));
            }
            Some(before) if now < before * (1.0 - LIMIT) => println!(
                "{row}: {now:.1} instructions are fewer than the {before:.1} that are kept; `cargo xtask bench --instructions --write` keeps them"
            ),
            // Another row is shown, and not judged.
            Some(_) | None => {}
        }
    }
    if worse.is_empty() {
        return Ok(());
    }
    let by = text.lines().find_map(|line| line.strip_prefix("# "));
    Err(format!(
        "more than {} % above {KEPT}:\n  {}\nthe figures there are by {}, these by {}; `cargo xtask bench --instructions --write` keeps new ones",
        100.0 * LIMIT,
        worse.join("\n  "),
        by.unwrap_or("an unknown compiler"),
        compiler(),
    ))
}

/// Prints what rows with `auto` cost beside the same systems with held inputs.
fn beside_held(all: &[Counted]) {
    for counted in all {
        let held = all
            .iter()
            .find(|other| counted.row.held() == Some(other.row));
        if let Some(held) = held {
            println!(
                "{}: {:.2} times the instructions with held inputs",
                counted.row,
                counted.gyrator / held.gyrator
            );
        }
    }
}

/// The kept figures with those that were counted in their place, in the order of the table.
fn merged(kept: Vec<(Row, f64)>, all: &[Counted]) -> Vec<(Row, f64)> {
    let mut figures: Vec<(Row, f64)> = Vec::new();
    for row in table() {
        let new = all.iter().find(|counted| counted.row == row);
        let figure = new.map(|counted| counted.gyrator).or(of(&kept, row));
        figures.extend(figure.map(|figure| (row, figure)));
    }
    figures
}

fn written(figures: &[(Row, f64)], compiler: &str) -> String {
    let mut text = format!("# {compiler}\nunits,mode,library,recording,instructions\n");
    for (row, figure) in figures {
        // Writing into a String cannot fail.
        let _ = writeln!(text, "{},{figure:.1}", row.words().join(","));
    }
    text
}

fn parse(text: &str) -> Result<Vec<(Row, f64)>, String> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let parse = |line: &str| {
        let (words, figure) = line.rsplit_once(',')?;
        let row = rows::parse(words)?;
        let figure: f64 = figure.parse().ok()?;
        (figure > 0.0).then_some((row, figure))
    };
    lines
        .map(|line| parse(line).ok_or_else(|| format!("{KEPT}: `{line}` is no row with a figure")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(gyrator: f64) -> Vec<Counted> {
        let row = table()[0];
        let floor = 100.0;
        vec![Counted {
            row,
            floor,
            gyrator,
        }]
    }

    #[test]
    fn every_row_has_a_kept_figure() {
        let text = std::fs::read_to_string(crate::root().join(KEPT)).unwrap();
        let kept: Vec<Row> = parse(&text).unwrap().iter().map(|(row, _)| *row).collect();
        assert_eq!(kept, table());
    }

    #[test]
    fn more_instructions_than_the_limit_fail_and_fewer_do_not() {
        let text = "# rustc 1.0.0\nunits,mode,library,recording,instructions\n2,plain,annotated,off,200.0\n";
        let kept = parse(text).unwrap();
        assert_eq!(judge(&counted(209.0), &kept, text), Ok(()));
        assert_eq!(judge(&counted(150.0), &kept, text), Ok(()));
        let error = judge(&counted(211.0), &kept, text).unwrap_err();
        for part in [
            "2 plain annotated off: 211.0",
            "200.0",
            "5 %",
            "rustc 1.0.0",
            "--write",
        ] {
            assert!(error.contains(part), "{error}");
        }
        let error = judge(&counted(200.0), &[], text).unwrap_err();
        assert!(error.contains("no figure is kept"), "{error}");
        let row = rows::parse("2,isolated,copied,csv").unwrap();
        let other = vec![Counted {
            row,
            ..counted(200.0)[0].clone()
        }];
        assert_eq!(judge(&other, &[], text), Ok(()));
    }

    #[test]
    fn new_figures_replace_those_of_their_rows_alone() {
        let kept: Vec<(Row, f64)> = table().into_iter().map(|row| (row, 300.0)).collect();
        let text = written(&merged(kept, &counted(123.44)), "rustc 1.0.0");
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("# rustc 1.0.0"));
        assert_eq!(lines.nth(1), Some("2,plain,annotated,off,123.4"));
        assert_eq!(lines.next(), Some("10,plain,annotated,off,300.0"));
        assert_eq!(parse(&text).unwrap().len(), table().len());
    }

    #[test]
    fn a_file_with_other_lines_is_refused() {
        for line in [
            "2,plain,annotated,off",
            "2,plane,annotated,off,3",
            "2,plain,annotated,off,-3",
        ] {
            let error = parse(&format!("header\n{line}\n")).unwrap_err();
            assert!(error.contains(line), "{error}");
        }
    }

    #[test]
    fn a_line_has_the_change_against_the_kept_figure() {
        let counted = &counted(150.0)[0];
        let expected = "| 2 | plain | annotated | off | 100.0 | 150.0 | 1.50 | 200.0 | -25.0 % |";
        assert_eq!(line(counted, Some(200.0)), expected);
        assert!(line(counted, None).ends_with("| 1.50 | – | – |"));
    }
}
