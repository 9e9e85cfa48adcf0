//! `cargo xtask demo`: the double oscillator of Rodríguez 2022, uncorrected, corrected and with fresh
//! exchange, against its exact solution.
//!
//! It builds only what a first number needs. `gyrator` without its features `parquet` and `benchmark`, as a
//! development build: no debug information, and no link-time optimisation, which alone keeps one core busy for more
//! than a minute. Two FMUs, in the profile of all FMUs, since equal sources give equal bytes. `xtask` reads results
//! through `gyrator-record` without Parquet: packages of both are compiled once, and once more only if the tests need
//! other features (`build.build-dir`: the program lies in a folder of its own).

use std::path::Path;
use std::process::Command;

use gyrator_record::Table;

mod double_oscillator;
mod picture;

use double_oscillator::{Metrics, energies, metrics, start_energy};

use crate::programs;

/// A way to couple the two oscillators.
struct Variant {
    name: &'static str,
    exchange: &'static str,
    correction: &'static str,
}

const VARIANTS: [Variant; 3] = [
    Variant {
        name: "uncorrected",
        exchange: "stale",
        correction: "\"off\"",
    },
    Variant {
        name: "corrected",
        exchange: "stale",
        correction: "{ name = \"residual-power\", mu = 0.5, limit = 1.0 }",
    },
    Variant {
        name: "fresh",
        exchange: "fresh",
        correction: "\"off\"",
    },
];

/// Builds what is needed, runs the variants and prints one table.
///
/// # Errors
///
/// One sentence that says what failed.
pub fn run(root: &Path, target: &Path) -> Result<(), String> {
    let program = programs::quickly_built_gyrator(root, target)?;
    let fmus = crate::fmus::build(&["OscillatorForce", "OscillatorMotion"]);
    let fmus = fmus.map_err(|error| error.to_string())?;
    let folder = target.join("demo");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    println!(
        "Double oscillator of Rodríguez et al. 2022, table 1, case 1: H = 1 ms, 10 s, 10 kJ.\n"
    );
    println!(
        "{:<12} {:>24} {:>16} {:>18}",
        "", "largest energy error, J", "RMS error x2, m", "residual energy, J"
    );
    let mut courses = Vec::new();
    for variant in &VARIANTS {
        let (table, residual) = couple(variant, &program, &fmus, &folder)?;
        courses.push((variant.name, energies(&table)?));
        let Metrics {
            greatest_energy_error,
            rms_position_error,
        } = metrics(&table)?;
        println!(
            "{:<12} {greatest_energy_error:>24.2} {rms_position_error:>16.6} {residual:>18.2}",
            variant.name
        );
    }
    println!(
        "\nStale force makes energy from nothing; the correction takes it out again; fresh exchange does not\n\
         make it: what is left there is the solver's error, as in a monolithic run with the same step.\n\
         Results, summaries and system files: {}\nThe picture of it: {}",
        folder.display(),
        picture::write(&folder, start_energy(), &courses)?.display()
    );
    Ok(())
}

/// Runs one variant; its rows and residual energy in J.
fn couple(
    variant: &Variant,
    program: &Path,
    fmus: &Path,
    folder: &Path,
) -> Result<(Table, f64), String> {
    let file = |ending: &str| folder.join(format!("{}.{ending}", variant.name));
    let (system, results, summary) = (file("toml"), file("csv"), file("json"));
    std::fs::write(&system, system_file(variant, fmus))
        .map_err(|error| format!("{}: {error}", system.display()))?;
    let done = Command::new(program)
        .arg("run")
        .arg(&system)
        .args(["--progress", "never", "--output-file"])
        .arg(&results)
        .arg("--summary")
        .arg(&summary)
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if !done.status.success() {
        return Err(format!(
            "gyrator run {}:\n{}",
            system.display(),
            String::from_utf8_lossy(&done.stderr)
        ));
    }
    let table = gyrator_record::read_csv(&results).map_err(|error| error.to_string())?;
    let text = std::fs::read_to_string(&summary)
        .map_err(|error| format!("{}: {error}", summary.display()))?;
    let summary: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| error.to_string())?;
    let residual = summary["bonds"][0]["residual_energy"]
        .as_f64()
        .ok_or("the summary has no residual energy")?;
    Ok((table, residual))
}

fn system_file(variant: &Variant, fmus: &Path) -> String {
    let Variant {
        exchange,
        correction,
        ..
    } = variant;
    let fmu = |name: &str| {
        format!(
            "{:?}",
            fmus.join(format!("{name}.fmu")).display().to_string()
        )
    };
    let (force, motion) = (fmu("OscillatorForce"), fmu("OscillatorMotion"));
    format!(
        "# Double oscillator, Rodríguez et al. 2022, table 1, case 1.
[experiment]
stop_time = 10.0
step_size = 1e-3
method = \"jacobi\"
exchange = \"{exchange}\"
extrapolation = \"hold\"

[components.left]
fmu = {force}
start_values = {{ m = 1.0, k = 10.0, c = 0.0, k_c = 100.0, c_c = 0.0, x_start = 0.0, v_start = 100.0 }}

[components.right]
fmu = {motion}
start_values = {{ m = 1.0, k = 1000.0, c = 0.0, x_start = 0.0, v_start = -100.0 }}

[[connections]]
from = \"right.x\"
to = \"left.x2\"

[[bonds]]
name = \"coupling\"
effort = [{{ from = \"left.f\", to = \"right.f\" }}]
flow = [{{ from = \"right.v\", to = \"left.v2\" }}]
correction = {correction}
"
    )
}
