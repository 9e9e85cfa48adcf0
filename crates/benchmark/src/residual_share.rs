//! The share μ of the residual energy that is an error: Rodríguez et al. (2022), section 3.3, eqs
//! 20–21, figs 15 to 18.
//!
//! In the stale double oscillator without correction, the error of the energy is known, and its
//! regression on the residual energy gives μ, for ratios R of the two steps from 1 to 100. Rows
//! compare with the paper's rule: 0.5 at a single rate, else by R and the degree of extrapolation.
//! Limit: at R = 100, and by case, the rule is off by more than 5 %.

use crate::assembly::STALE;
use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::double_oscillator::table_1;
use crate::figures;
use crate::oscillators::{FORCE, H, MOTION, Oscillators};
use crate::role::RoleAssignment;
use crate::row::{BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "residual-share",
    summary: "the share mu of the residual energy that is an error, in the double oscillator without correction",
    source: "Rodríguez et al. 2022, section 3.3, eqs 20 and 21, figs 15 to 18",
    roles: &[FORCE, MOTION],
    cases: &[
        Case::new(
            "slow-hold",
            "case 1, the force steps R times slower, inputs held",
        ),
        Case::new("slow-linear", "the same, inputs extrapolated by lines"),
        Case::new(
            "fast-hold",
            "case 1, the force steps R times faster, inputs held",
        ),
        Case::new("fast-linear", "the same, inputs extrapolated by lines"),
        Case::new("by-case", "undamped cases of table 1 at a single rate"),
    ],
    measure,
    figures: figures::none,
    conclude: nothing_more,
};

const SHARE: Metric = Metric::figure("mu", "");

/// Ratios of the steps, and their names in the table.
const RATIOS: [(&str, u32); 7] = [
    ("R = 1", 1),
    ("R = 2", 2),
    ("R = 3", 3),
    ("R = 5", 5),
    ("R = 10", 10),
    ("R = 20", 20),
    ("R = 100", 100),
];

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    if case.name == "by-case" {
        return measure_cases(roles, progress);
    }
    let (speed, extrapolation) = case.name.split_once('-').unwrap_or((case.name, "hold"));
    for (name, ratio) in RATIOS {
        let fine = H / f64::from(ratio);
        let oscillators = Oscillators {
            steps: if speed == "slow" {
                [H, fine]
            } else {
                [fine, H]
            },
            extrapolation: if extrapolation == "hold" {
                "hold"
            } else {
                "linear"
            },
            stop: 3.0,
            ..table_1(1)
        };
        progress.add(
            name,
            [BenchmarkRow::new(SHARE, share(roles, &oscillators)?)],
        );
    }
    Ok(())
}

/// If the velocities of the two masses go together, the rule is wrong.
fn measure_cases(roles: &RoleAssignment, progress: &Progress<'_>) -> Result<(), MeasureError> {
    for (number, name, stop) in [
        (1, "table 1, case 1", 3.0),
        (3, "table 1, case 3", 1.0),
        (5, "table 1, case 5", 3.0),
        (7, "table 1, case 7", 3.0),
        (8, "table 1, case 8", 3.0),
    ] {
        let oscillators = Oscillators {
            stop,
            ..table_1(number)
        };
        let share = share(roles, &oscillators)?;
        progress.add(
            name,
            [BenchmarkRow::new(SHARE, share).note("the paper takes 0.5")],
        );
    }
    Ok(())
}

/// Slope, through zero, of the energy's error over the residual energy of eq. 8, which is summed
/// from outputs at communication points alone.
fn share(roles: &RoleAssignment, oscillators: &Oscillators) -> Result<f64, MeasureError> {
    let course = oscillators.run(roles, &STALE)?;
    let errors = oscillators.energy_errors(&course.states, &oscillators.exact()?);
    let force = roles.name(&FORCE, "f").unwrap_or("f");
    let forces = course.recording.rows(&[format!("arm1.{force}")])?;
    let velocities = course.states.iter().map(|state| state[state.len() - 1]);
    let outputs: Vec<(f64, f64)> = forces.iter().map(|row| row[0]).zip(velocities).collect();
    let (mut residual, mut products, mut squares) = (0.0, 0.0, 0.0);
    for (pair, error) in outputs.windows(2).zip(&errors[1..]) {
        let [(force_before, velocity_before), (force, velocity)] = [pair[0], pair[1]];
        residual += H * (force_before * velocity - velocity_before * force);
        products += residual * error;
        squares += residual * residual;
    }
    Ok(products / squares)
}
