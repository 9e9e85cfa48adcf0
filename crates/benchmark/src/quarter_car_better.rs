//! The quarter car, better than the paper with as many steps.
//!
//! The tolerances r are tuned to the number of steps, as the paper's are. The halves' forward Euler
//! method alone makes 0.004, 0.009, 0.03 and 0.12 W of dP.

use crate::benchmark::{MeasureError, Progress};
use crate::quarter_car_run::{
    Correction, Coupling, Cut, Ecco, PLAIN, POWER_ERROR, RESIDUAL_ENERGY, RESIDUAL_INTEGRATED,
    STEPS,
};
use crate::role::RoleAssignment;
use crate::row::{Bar, BenchmarkRow, Figure, Metric};

const PROJECT: &str = "bar of this project; reference: independent reproduction with extensions";
const SOURCE: &str = "independent reproduction with extensions";
const SHOWN: &str = "shown only: the bar is for a learnt correction or a quadratic prediction";
const AS_MANY: &str = "at most as many steps as the paper";

/// A way to couple the halves, and figures of the cases lin1, lin2, nl1 and nl2.
struct Way {
    name: &'static str,
    coupling: Coupling,
    /// The tolerance r of ECCO.
    tolerances: [f64; 4],
    /// Greatest dP, W, and what an independent reproduction has.
    power_errors: [f64; 4],
    power_references: [f64; 4],
    /// Greatest integrated residual energy, J, `None` where it is only shown, and what an independent reproduction has.
    energies: Option<[f64; 4]>,
    energy_references: [f64; 4],
}

const LINE_POWERS: [f64; 4] = [0.008, 0.012, 0.045, 0.20];
const FRESH_ENERGIES: [f64; 4] = [0.001, 0.002, 0.003, 0.03];
const VALUE_ENERGIES: [f64; 4] = [0.05, 0.1, 0.05, 0.2];

const LINEAR: Coupling = Coupling {
    extrapolation: "linear",
    ..PLAIN
};

const LINEAR_FRESH: Coupling = Coupling {
    exchange: "fresh",
    ..LINEAR
};

const WAYS: &[Way] = &[
    Way {
        name: "ecco, linear",
        coupling: LINEAR,
        tolerances: [4.6e-8, 8.463e-8, 4.0e-7, 3.7e-6],
        power_errors: LINE_POWERS,
        power_references: [0.0052, 0.0079, 0.032, 0.128],
        energies: Some([0.005, 0.01, 0.015, 0.08]),
        energy_references: [0.0027, 0.0062, 0.0064, 0.045],
    },
    Way {
        name: "ecco, linear, fresh",
        coupling: LINEAR_FRESH,
        tolerances: [4.6e-8, 8.463e-8, 4.0e-7, 3.7e-6],
        power_errors: LINE_POWERS,
        power_references: [0.0057, 0.0095, 0.034, 0.134],
        energies: None,
        energy_references: [0.0005, 0.0026, 0.0018, 0.033],
    },
    Way {
        name: "ecco, linear, fresh, nepce auto",
        coupling: Coupling {
            correction: Correction::Nepce(None),
            ..LINEAR_FRESH
        },
        tolerances: [3.098e-8, 5.74e-8, 2.983e-7, 2.286e-6],
        power_errors: LINE_POWERS,
        power_references: [0.0040, 0.0095, 0.032, 0.111],
        energies: Some(FRESH_ENERGIES),
        energy_references: [0.00003, 0.0005, 0.0008, 0.016],
    },
    Way {
        name: "ecco, secant-linear of quadratic, fresh",
        coupling: Coupling {
            extrapolation: "secant-linear",
            of: Some("quadratic"),
            ..LINEAR_FRESH
        },
        tolerances: [1.3e-9, 1.776e-9, 4.179e-8, 2.9e-7],
        power_errors: LINE_POWERS,
        power_references: [0.0040, 0.0099, 0.034, 0.126],
        energies: Some(FRESH_ENERGIES),
        energy_references: [4e-5, 3e-5, 7e-5, 9e-4],
    },
    Way {
        name: "ecco, secant-linear of auto, fresh",
        coupling: Coupling {
            extrapolation: "secant-linear",
            of: Some("auto"),
            ..LINEAR_FRESH
        },
        tolerances: [6.3e-11, 1.35e-10, 3.4e-8, 3.1e-7],
        power_errors: LINE_POWERS,
        power_references: [0.0039, 0.0093, 0.048, 0.170],
        energies: None,
        energy_references: [2e-7, 3e-8, 6e-5, 2e-3],
    },
    Way {
        name: "ecco, auto, fresh",
        coupling: Coupling {
            extrapolation: "auto",
            ..LINEAR_FRESH
        },
        tolerances: [6.3e-11, 1.35e-10, 3.4e-8, 3.1e-7],
        power_errors: LINE_POWERS,
        power_references: [0.0039, 0.0093, 0.048, 0.170],
        energies: Some(FRESH_ENERGIES),
        energy_references: [2e-7, 3e-8, 6e-5, 2e-3],
    },
    Way {
        name: "ecco, values only, nepce auto",
        coupling: Coupling {
            correction: Correction::Nepce(None),
            ..PLAIN
        },
        tolerances: [1.632e-6, 2.639e-6, 4.462e-6, 3.077e-5],
        power_errors: [0.085, 0.25, 0.16, 2.1],
        power_references: [0.073, 0.202, 0.133, 1.75],
        energies: Some(VALUE_ENERGIES),
        energy_references: [0.027, 0.064, 0.024, 0.07],
    },
    Way {
        name: "ecco, values only, mean-hold, fresh",
        coupling: Coupling {
            extrapolation: "mean-hold",
            exchange: "fresh",
            ..PLAIN
        },
        tolerances: [1.626e-6, 2.626e-6, 4.391e-6, 3.02e-5],
        power_errors: [0.085, 0.25, 0.16, 2.1],
        power_references: [0.029, 0.171, 0.094, 0.99],
        energies: Some(VALUE_ENERGIES),
        energy_references: [0.0003, 0.003, 0.005, 0.065],
    },
];

/// Runs a case in all these ways.
pub(crate) fn measure(
    roles: &RoleAssignment,
    cut: &Cut,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let cases = ["lin1", "lin2", "nl1", "nl2"];
    let Some(case) = cases.iter().position(|name| *name == cut.name) else {
        return Ok(());
    };
    for way in WAYS {
        let ecco = Ecco {
            tolerance: way.tolerances[case],
            indicator: "sum-abs",
            overshoot: false,
            reject_above: None,
        };
        let outcome = cut.run(
            roles,
            &Coupling {
                ecco: Some(ecco),
                ..way.coupling
            },
        )?;
        let most = (1e3 * cut.duration).round();
        let rows = [
            below(
                POWER_ERROR,
                outcome.power.error(),
                Some(way.power_errors[case]),
                way.power_references[case],
            ),
            below(
                RESIDUAL_INTEGRATED,
                outcome.residual_integrated.abs(),
                way.energies.map(|energies| energies[case]),
                way.energy_references[case],
            ),
            BenchmarkRow::new(RESIDUAL_ENERGY, outcome.residual_energy.abs()),
            BenchmarkRow::new(STEPS, outcome.steps).within(Bar::AtMost(most), AS_MANY),
        ];
        progress.add(way.name, rows);
    }
    Ok(())
}

fn below(metric: Metric, measured: f64, limit: Option<f64>, reference: f64) -> BenchmarkRow {
    let row = BenchmarkRow::new(metric, measured);
    let Some(limit) = limit else {
        return row.beside(reference, SOURCE).note(SHOWN);
    };
    let row = row.within(Bar::AtMost(limit), PROJECT);
    BenchmarkRow {
        reference: Some(Figure::Number(reference)),
        ..row
    }
}
