//! `cargo xtask bench`: the step loop of gyrator against a C loop over the same FMU.
//!
//! Both run in turn, several times each, because machines differ more between days than these two do.

mod floor;
mod gyrator_loop;
mod isolated;
mod tiny;

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::Path;

use floor::Floor;
use gyrator_loop::GyratorLoop;
use tiny::Tiny;

/// One column of the comparison: how many units, and whether every step goes into a CSV file.
#[derive(Debug, Clone, Copy)]
struct Case {
    instances: usize,
    recording: bool,
}

impl Case {
    /// Enough steps that a run takes a few tenths of a second.
    fn steps(self) -> usize {
        let unit_steps = if self.recording {
            1_000_000
        } else {
            40_000_000
        };
        unit_steps / self.instances
    }
}

const CASES: [Case; 6] = [
    Case {
        instances: 2,
        recording: false,
    },
    Case {
        instances: 10,
        recording: false,
    },
    Case {
        instances: 100,
        recording: false,
    },
    Case {
        instances: 2,
        recording: true,
    },
    Case {
        instances: 10,
        recording: true,
    },
    Case {
        instances: 100,
        recording: true,
    },
];

/// Runs that take only milliseconds are made this many times as often.
const SHORT_RUNS: usize = 20;

/// The nanoseconds per unit and step of every repetition of one case.
#[derive(Debug, Default)]
struct Times {
    floor: Vec<f64>,
    gyrator: Vec<f64>,
}

/// Measures and prints a Markdown table; `target` is cargo's target folder.
///
/// # Errors
///
/// One sentence that says what is missing or went wrong: no C compiler, a build or a run that failed,
/// a loop that did not exchange its values. The C loop's times are printed even if gyrator fails.
pub fn run(root: &Path, target: &Path, repetitions: NonZeroUsize) -> Result<(), String> {
    let work = target.join("bench");
    std::fs::create_dir_all(&work).map_err(|error| format!("{}: {error}", work.display()))?;
    let tiny = Tiny::build(root, &work)?;
    let floor = Floor::build(root, &work)?;
    let gyrator = GyratorLoop::build(root, target, &work);
    let mut times: Vec<Times> = CASES.iter().map(|_| Times::default()).collect();
    let mut outcome = gyrator.as_ref().map(|_| ()).map_err(Clone::clone);
    for _ in 0..repetitions.get() {
        for (case, times) in CASES.iter().zip(&mut times) {
            times.floor.push(floor.measure(&tiny, *case)?);
            if let (Ok(gyrator), Ok(())) = (&gyrator, &outcome) {
                outcome = gyrator
                    .measure(&tiny, *case)
                    .map(|time| times.gyrator.push(time));
            }
        }
    }
    print!("{}", table(&times));
    outcome?;
    print!("\n{}", supervision(&gyrator?, &tiny, repetitions)?);
    let isolated = isolated::table(root, target, &tiny.fmu, repetitions.get())?;
    print!("\n{isolated}");
    Ok(())
}

/// Cost of a worker process to a run, in one line.
fn supervision(
    gyrator: &GyratorLoop,
    tiny: &Tiny,
    repetitions: NonZeroUsize,
) -> Result<String, String> {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..repetitions.get() * SHORT_RUNS {
        with.push(gyrator.start_and_end(tiny, true)?);
        without.push(gyrator.start_and_end(tiny, false)?);
    }
    let (with, without) = (median(&with), median(&without));
    let cost = with.zip(without).map(|(with, without)| with - without);
    Ok(format!(
        "A run of few steps takes {} ms in a worker process and {} ms without: supervision costs {} ms.\n",
        cell(with, 2),
        cell(without, 2),
        cell(cost, 2)
    ))
}

fn table(times: &[Times]) -> String {
    let mut text = String::from(
        "| units | recording | C loop, ns | gyrator, ns | ratio |\n|--:|---|--:|--:|--:|\n",
    );
    for (case, times) in CASES.iter().zip(times) {
        let recording = if case.recording { "CSV" } else { "off" };
        let (floor, gyrator) = (median(&times.floor), median(&times.gyrator));
        let ratio = floor.zip(gyrator).map(|(floor, gyrator)| gyrator / floor);
        // Writing into a String cannot fail.
        let _ = writeln!(
            text,
            "| {} | {recording} | {} | {} | {} |",
            case.instances,
            cell(floor, 1),
            cell(gyrator, 1),
            cell(ratio, 2),
        );
    }
    text
}

fn cell(value: Option<f64>, decimals: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.decimals$}"))
}

fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_or_the_mean_of_the_two_middles() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn the_table_leaves_out_what_was_not_measured() {
        let mut times: Vec<Times> = CASES.iter().map(|_| Times::default()).collect();
        times[0] = Times {
            floor: vec![4.0, 5.0, 4.0],
            gyrator: vec![6.0, 6.0, 9.0],
        };
        times[1].floor = vec![5.0];
        let table = table(&times);
        assert!(table.contains("| 2 | off | 4.0 | 6.0 | 1.50 |"), "{table}");
        assert!(table.contains("| 10 | off | 5.0 | – | – |"), "{table}");
    }
}
