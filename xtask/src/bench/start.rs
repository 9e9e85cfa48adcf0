//! Cost of a start: whole short runs, against a C program that unzips with libzip, loads the libraries and does the same.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use super::programs::{Fmus, Gyrator};
use super::rows::{Library, Mode, Recording, Row};
use super::slope::median;
use super::tiny::{Tiny, compile};

/// Macro-steps of a run.
const STEPS: usize = 10;
/// Components of a large system.
const MANY: usize = 1000;

/// Measures runs in turn, and prints medians of their times by the clock.
///
/// # Errors
/// A program that cannot be built or fails; no libzip.
pub(super) fn run(
    root: &Path,
    work: &Path,
    fmus: &Fmus,
    gyrator: &Gyrator<'_>,
    repetitions: usize,
) -> Result<(), String> {
    let program = work.join("start");
    compile(
        &root.join("xtask/bench/start.c"),
        &program,
        &[],
        &["-lzip", "-ldl"],
    )
    .map_err(|error| {
        format!("{error}\nThe C program needs libzip; on Debian: apt-get install libzip-dev")
    })?;
    let fmu = &fmus.of(Library::Annotated).fmu;
    let floor = |units: usize| {
        let mut command = Command::new(&program);
        command.arg(Tiny::guid()).arg(STEPS.to_string());
        command.args(std::iter::repeat_n(fmu, units));
        command
    };
    println!("| start | C program, ms | gyrator, ms | ratio |");
    println!("|---|--:|--:|--:|");
    let pair = |name: &str, units: usize, own: &dyn Fn() -> Result<Command, String>| {
        let (mut floors, mut others, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..repetitions {
            let (below, above) = (seconds(floor(units))?, seconds(own()?)?);
            floors.push(below);
            others.push(above);
            ratios.push(above / below);
        }
        let (below, above) = (1e3 * median(&floors), 1e3 * median(&others));
        println!(
            "| {name} | {below:.2} | {above:.2} | {:.2} |",
            median(&ratios)
        );
        Ok::<(), String>(())
    };
    let row = |units, mode, library| Row {
        units,
        mode,
        library,
        recording: Recording::Off,
    };
    pair("simulate", 1, &|| Ok(gyrator.simulate(fmu, STEPS)))?;
    let run = |row: Row| move || gyrator.command(row, STEPS);
    pair(
        "run, 2 units",
        2,
        &run(row(2, Mode::Supervised, Library::Annotated)),
    )?;
    pair(
        "run, 2 units, plain",
        2,
        &run(row(2, Mode::PLAIN, Library::Annotated)),
    )?;
    for library in [Library::Annotated, Library::Copied] {
        let mut times = Vec::new();
        for _ in 0..repetitions.min(5) {
            times.push(seconds(
                gyrator.command(row(MANY, Mode::Supervised, library), STEPS)?,
            )?);
        }
        let name = format!("run, {MANY} units, {}", library.word());
        println!("| {name} | – | {:.0} | – |", 1e3 * median(&times));
    }
    Ok(())
}

/// Time by the clock of a program from its start to its end, s.
fn seconds(mut command: Command) -> Result<f64, String> {
    let begin = Instant::now();
    let output = command.stdout(Stdio::null()).output();
    let time = begin.elapsed().as_secs_f64();
    match output {
        Ok(output) if output.status.success() => Ok(time),
        Ok(output) => Err(format!(
            "{} failed ({}):\n{}",
            command.get_program().display(),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => Err(format!("{}: {error}", command.get_program().display())),
    }
}
