//! The papers' methods with the papers' own tuning, beside runs whose file chooses nothing.
//!
//! A row is a system of another benchmark. Its published methods, and the same file without method, exchange, extrapolation and
//! correction, make the same number of macro-steps; interface models and step controls are part of both. The error comes from
//! the coupling alone: the reference is the same units, exchanged at every inner step and with fresh outputs. For the quarter
//! car, whose step control changes the steps, the reference is the exact solution of units with a solver of order 4. For that,
//! all units of a row have one inner step, the least in its file. Rows: error of the published method that has the least, error
//! without a choice, and their ratio; errors below 1e-9 are equal. The error is the root mean square, over the signals, of each
//! one's rms error relative to its rms. Not compared: learning over runs, sweeps, radii, largest steps, and the steering, whose
//! published couplings run in one process only.

mod comparison;
mod quarter_car;
mod systems;

use crate::benchmark::{Benchmark, Case, MeasureError, Progress};
use crate::figures;
use gyrator_system::SystemFile;

use crate::role::{RoleAssignment, RoleError};
use crate::row::{Bar, BenchmarkRow, Figure, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "auto",
    summary: "runs whose file chooses nothing beside each benchmark's best published method: errors of the coupling",
    source: "the benchmarks' own; the comparison is of this project",
    roles: &[],
    cases: &[
        Case::new(DOUBLE, "14 cases against the correction by residual power"),
        Case::new("multiple-oscillator", "4 cases against the same"),
        Case::new(
            "nonlinear-oscillator",
            "2 cases against the same, with three tunings",
        ),
        Case::new("pendula", "2 cases against the same"),
        Case::new("crane-energy", "2 cases against the same, inputs on lines"),
        Case::new(
            "dual-mass",
            "4 systems against H-infinity coupling and hold",
        ),
        Case::new("quarter-car", "4 cases against NEPCE and ECCO"),
        Case::new(
            CRANE,
            "4 cranes at 1 ms against polynomials and the interface model",
        ),
    ],
    measure,
    figures: figures::none,
    conclude,
};

const DOUBLE: &str = "double-oscillator";
const CRANE: &str = "crane";

const PROJECT: &str = "bar of this project";

const PUBLISHED: Metric = Metric::mean_error("error, published", "");
const OWN: Metric = Metric::mean_error("error, auto", "");
const RATIO: Metric = Metric::figure("published / auto", "");
const MEDIAN: Metric = Metric::figure("median of published / auto", "");

/// Errors below this are equal.
const EQUAL_BELOW: f64 = 1e-9;

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let Some(compared) = compared(case) else {
        return quarter_car::measure(roles, progress);
    };
    for comparison in compared(roles)? {
        let (published, error, own) = comparison.judge(roles)?;
        add(progress, comparison.name, (published, error), own);
    }
    Ok(())
}

/// The systems of a case, which run by themselves; `None` for the quarter car.
fn compared(case: &Case) -> Option<systems::Compared> {
    Some(match case.name {
        DOUBLE => systems::double_oscillator,
        "multiple-oscillator" => systems::multiple_oscillator,
        "nonlinear-oscillator" => systems::nonlinear_oscillator,
        "pendula" => systems::pendula,
        "crane-energy" => systems::crane_energy,
        "dual-mass" => systems::dual_mass,
        CRANE => systems::cranes,
        _ => return None,
    })
}

/// The systems of the benchmarks as files, each with its published methods and without a choice: names and files.
///
/// # Errors
/// An FMU that is missing.
pub fn benchmark_systems(roles: &RoleAssignment) -> Result<Vec<(String, SystemFile)>, RoleError> {
    let mut files = Vec::new();
    for case in BENCHMARK.cases {
        match compared(case) {
            None => files.extend(quarter_car::files(roles)?),
            Some(compared) => {
                for comparison in compared(roles)? {
                    let name = format!("{}, {}", case.name, comparison.name);
                    files.extend(
                        comparison
                            .files()
                            .map(|(way, file)| (format!("{name}, {way}"), file)),
                    );
                }
            }
        }
    }
    Ok(files)
}

/// The rows of a system.
fn add(
    progress: &Progress<'_>,
    name: &'static str,
    (published, error): (&'static str, f64),
    own: f64,
) {
    let ratio = error.max(EQUAL_BELOW) / own.max(EQUAL_BELOW);
    let rows = [
        BenchmarkRow::new(PUBLISHED, error).note(published),
        BenchmarkRow::new(OWN, own),
        BenchmarkRow::new(RATIO, ratio).within(Bar::AtLeast(1.0), PROJECT),
    ];
    progress.add(name, rows);
}

/// The median over all rows.
fn conclude(rows: &[BenchmarkRow]) -> Vec<BenchmarkRow> {
    let ratios = rows.iter().filter(|row| row.metric == RATIO.name);
    let mut ratios: Vec<f64> = ratios
        .filter_map(|row| match row.measured {
            Figure::Number(ratio) => Some(ratio),
            Figure::Word(_) => None,
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let (Some(low), Some(high)) = (
        ratios.get(ratios.len().saturating_sub(1) / 2),
        ratios.get(ratios.len() / 2),
    ) else {
        return Vec::new();
    };
    let row = BenchmarkRow {
        case: "all",
        configuration: "all rows",
        ..BenchmarkRow::new(MEDIAN, (low * high).sqrt())
    };
    vec![row.within(Bar::AtLeast(10.0), PROJECT)]
}
