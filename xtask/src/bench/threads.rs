//! Two threads against one, and against two processes that know nothing of each other: as much as the machine gives.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use super::c_loop::{self, LoopFmu};
use super::programs::{Gyrator, system_file};
use super::rows::{Library, Mode, Recording, Row};
use super::slope::median;
use super::tiny::Tiny;

/// Components of the system.
const UNITS: usize = 4;
/// Time that a component takes for a step, s.
const WORK: f64 = 40e-6;
/// Macro-steps of the two runs of a slope. The first ones are those in which gyrator measures whether threads are of use.
const STEPS: [usize; 2] = [1_000, 5_000];
/// Rounds of the FMU's loop and steps by which their time is found.
const TRIAL: (usize, usize) = (100_000, 500);

/// Measures the three in turn, by the clock, and prints medians.
///
/// # Errors
/// A program that cannot be built or fails.
pub(super) fn run(
    root: &Path,
    work: &Path,
    floor: &Path,
    gyrator: &Gyrator<'_>,
    repetitions: usize,
) -> Result<(), String> {
    let fmu = Tiny::build_busy(root, work, rounds(root, work, floor)?)?.fmu;
    let systems = |units| -> Result<[PathBuf; 2], String> {
        Ok([
            system(work, &fmu, units, STEPS[0])?,
            system(work, &fmu, units, STEPS[1])?,
        ])
    };
    let (whole, half) = (systems(UNITS)?, systems(UNITS / 2)?);
    let one = || slope(&whole, |system| vec![gyrator.plain_run(system, 1)]);
    let two = || slope(&whole, |system| vec![gyrator.plain_run(system, 2)]);
    let apart = || {
        slope(&half, |system| {
            vec![gyrator.plain_run(system, 1), gyrator.plain_run(system, 1)]
        })
    };
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..repetitions {
        times[0].push(one()?);
        times[1].push(two()?);
        times[2].push(apart()?);
    }
    println!("{}", table(&times));
    Ok(())
}

/// Writes a system of busy components; returns its path.
fn system(work: &Path, fmu: &Path, units: usize, steps: usize) -> Result<PathBuf, String> {
    let path = work.join(format!("busy-{units}-{steps}.toml"));
    let row = Row {
        units,
        mode: Mode::Threads,
        library: Library::Busy,
        recording: Recording::Off,
    };
    let written = std::fs::write(&path, system_file(fmu, row, steps));
    written.map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// Rounds of the FMU's loop that take the time of a step.
fn rounds(root: &Path, work: &Path, floor: &Path) -> Result<usize, String> {
    let (rounds, steps) = TRIAL;
    let fmu = LoopFmu::tiny(&Tiny::build_busy(root, work, rounds)?);
    let trial = c_loop::call(floor, (2, steps), None, "none", &[fmu]);
    let round = seconds(vec![trial.command()])? / (2 * rounds * steps) as f64;
    Ok((WORK / round).round() as usize)
}

/// Time of a macro-step, s: of a long run less the time of a short one.
fn slope(systems: &[PathBuf; 2], runs: impl Fn(&Path) -> Vec<Command>) -> Result<f64, String> {
    let [short, long] = [seconds(runs(&systems[0]))?, seconds(runs(&systems[1]))?];
    Ok((long - short) / (STEPS[1] - STEPS[0]) as f64)
}

/// Time by the clock from the start of programs, beside each other, to the end of the last one, s.
fn seconds(commands: Vec<Command>) -> Result<f64, String> {
    let begin = Instant::now();
    let mut started: Vec<(Child, String)> = Vec::new();
    for mut command in commands {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        match command.spawn() {
            Ok(child) => started.push((child, format!("{command:?}"))),
            Err(error) => {
                end(&mut started);
                let name = command.get_program().display();
                return Err(format!("{name}: {error}"));
            }
        }
    }
    // Each is waited for, also if one has failed.
    let ended = started.into_iter().map(|(mut child, call)| {
        let status = child.wait().map_err(|error| format!("{call}: {error}"))?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("{call} failed ({status})")),
        }
    });
    let ended: Vec<Result<(), String>> = ended.collect();
    let time = begin.elapsed().as_secs_f64();
    ended.into_iter().collect::<Result<(), String>>()?;
    Ok(time)
}

/// Ends programs that have nothing beside them.
fn end(started: &mut [(Child, String)]) {
    for (child, _) in started {
        // Those that have ended by themselves need no end.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Times of a macro-step, and how many times as fast as one thread.
fn table(times: &[Vec<f64>; 3]) -> String {
    let names = [
        "one thread",
        "`--worker-threads 2`",
        "two processes, each with half of the components",
    ];
    let head = format!(
        "| {UNITS} components, {:.0} µs each | µs a macro-step | times as fast |\n|---|--:|--:|",
        1e6 * WORK
    );
    let lines = names.iter().zip(times).map(|(name, own)| {
        let ratios: Vec<f64> = times[0]
            .iter()
            .zip(own)
            .map(|(one, own)| one / own)
            .collect();
        format!(
            "\n| {name} | {:.1} | {:.2} |",
            1e6 * median(own),
            median(&ratios)
        )
    });
    head + &lines.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::super::tiny::compile;
    use super::*;

    #[test]
    fn a_line_has_the_median_time_and_the_median_of_the_ratios() {
        let times = [
            vec![160e-6, 320e-6, 160e-6],
            vec![100e-6, 160e-6, 80e-6],
            vec![80e-6, 160e-6, 80e-6],
        ];
        let expected = "\
| 4 components, 40 µs each | µs a macro-step | times as fast |
|---|--:|--:|
| one thread | 160.0 | 1.00 |
| `--worker-threads 2` | 100.0 | 2.00 |
| two processes, each with half of the components | 80.0 | 2.00 |";
        assert_eq!(table(&times), expected);
    }

    #[test]
    fn programs_beside_each_other_take_as_long_as_the_longest_and_fail_with_any() {
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        assert!(seconds(vec![shell("sleep 0.05"), shell("true")]).unwrap() >= 0.05);
        let error = seconds(vec![shell("exit 3"), shell("true")]).unwrap_err();
        assert!(
            error.contains("exit 3") && error.contains("failed"),
            "{error}"
        );
    }

    #[test]
    fn a_program_without_the_other_is_ended() {
        let mut first = Command::new("sleep");
        let child = first.arg("600").spawn().unwrap();
        let mut started = vec![(child, "first".to_owned())];
        end(&mut started);
        let status = started[0].0.try_wait().unwrap();
        assert!(status.is_some_and(|status| !status.success()));
        let error = seconds(vec![Command::new("sleep"), Command::new("/no/program")]).unwrap_err();
        assert!(error.starts_with("/no/program: "), "{error}");
    }

    #[test]
    fn a_busy_fmu_makes_the_steps_of_the_others() {
        let work = tempfile::tempdir().unwrap();
        let root = crate::root();
        let busy = Tiny::build_busy(&root, work.path(), 1000).unwrap();
        let program = work.path().join("floor");
        compile(&root.join("xtask/bench/floor.c"), &program, &[], &["-ldl"]).unwrap();
        let floor = c_loop::call(&program, (2, 7), None, "none", &[LoopFmu::tiny(&busy)]);
        let printed = floor.command().output().unwrap().stdout;
        assert_eq!(printed.trim_ascii(), b"7");
    }
}
