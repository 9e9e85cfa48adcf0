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
use crate::row::BenchmarkRow;

/// A way to couple the halves, and the tolerance r of ECCO for the cases lin1, lin2, nl1 and nl2.
struct Way {
    name: &'static str,
    coupling: Coupling,
    tolerances: [f64; 4],
}

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
    },
    Way {
        name: "ecco, linear, fresh",
        coupling: LINEAR_FRESH,
        tolerances: [4.6e-8, 8.463e-8, 4.0e-7, 3.7e-6],
    },
    Way {
        name: "ecco, linear, fresh, nepce auto",
        coupling: Coupling {
            correction: Correction::Nepce(None),
            ..LINEAR_FRESH
        },
        tolerances: [3.098e-8, 5.74e-8, 2.983e-7, 2.286e-6],
    },
    Way {
        name: "ecco, secant-linear of quadratic, fresh",
        coupling: Coupling {
            extrapolation: "secant-linear",
            of: Some("quadratic"),
            ..LINEAR_FRESH
        },
        tolerances: [1.3e-9, 1.776e-9, 4.179e-8, 2.9e-7],
    },
    Way {
        name: "ecco, secant-linear of auto, fresh",
        coupling: Coupling {
            extrapolation: "secant-linear",
            of: Some("auto"),
            ..LINEAR_FRESH
        },
        tolerances: [6.3e-11, 1.35e-10, 3.4e-8, 3.1e-7],
    },
    Way {
        name: "ecco, auto, fresh",
        coupling: Coupling {
            extrapolation: "auto",
            ..LINEAR_FRESH
        },
        tolerances: [6.3e-11, 1.35e-10, 3.4e-8, 3.1e-7],
    },
    Way {
        name: "ecco, values only, nepce auto",
        coupling: Coupling {
            correction: Correction::Nepce(None),
            ..PLAIN
        },
        tolerances: [1.632e-6, 2.639e-6, 4.462e-6, 3.077e-5],
    },
    Way {
        name: "ecco, values only, mean-hold, fresh",
        coupling: Coupling {
            extrapolation: "mean-hold",
            exchange: "fresh",
            ..PLAIN
        },
        tolerances: [1.626e-6, 2.626e-6, 4.391e-6, 3.02e-5],
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
        let rows = [
            BenchmarkRow::new(POWER_ERROR, outcome.power.error()),
            BenchmarkRow::new(RESIDUAL_INTEGRATED, outcome.residual_integrated.abs()),
            BenchmarkRow::new(RESIDUAL_ENERGY, outcome.residual_energy.abs()),
            BenchmarkRow::new(STEPS, outcome.steps),
        ];
        progress.add(way.name, rows);
    }
    Ok(())
}
