//! Coupling and system accuracy at H = 1 ms, and the limits of the interface models that pass means.

use fmu_models::Crane;

use super::run::{CraneOutcome, FmuPool};
use super::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::assembly::{REFINED, STALE};
use crate::benchmark::{MeasureError, Progress};
use crate::row::{BenchmarkRow, Metric};

const RESIDUAL: Metric = Metric::figure("residual energy", "J");
const RESIDUAL_ABS: Metric = Metric::figure("residual energy, magnitudes", "J");
const RMS_S1: Metric = Metric::mean_error("rms s1", "m");
const RMS_S2: Metric = Metric::mean_error("rms s2", "m");
const RMS_FORCE: Metric = Metric::mean_error("rms f1", "N");
const RMS_ENERGY: Metric = Metric::mean_error("rms of the energy", "J");
const MAX_ENERGY: Metric = Metric::greatest_error("greatest error of the energy", "J");
const BALANCE: Metric = Metric::figure("energy made by the mechanics", "J");
const CONSTRAINT: Metric = Metric::figure("greatest violation of the constraints", "");

/// A configuration at H = 1 ms.
struct Fine {
    name: &'static str,
    formulation: Formulation,
    coupling: Coupling,
    prediction: Prediction,
}

#[rustfmt::skip]
const FINE: &[Fine] = &[
    Fine { name: "ALI1, force, p1, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Force, prediction: Prediction::Polynomial(1) },
    Fine { name: "ALI1, force, p2, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Force, prediction: Prediction::Polynomial(2) },
    Fine { name: "ALI1, force, IM, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Force, prediction: Prediction::InterfaceModel },
    Fine { name: "ALI1, pressure, p2, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Pressure, prediction: Prediction::Polynomial(2) },
    Fine { name: "ALI1, pressure, IM, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Pressure, prediction: Prediction::InterfaceModel },
    Fine { name: "ALI3-P, force, p2, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Force, prediction: Prediction::Polynomial(2) },
    Fine { name: "ALI3-P, force, IM, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Force, prediction: Prediction::InterfaceModel },
    Fine { name: "ALI3-P, pressure, p2, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Pressure, prediction: Prediction::Polynomial(2) },
    Fine { name: "ALI3-P, pressure, IM, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Pressure, prediction: Prediction::InterfaceModel },
    Fine { name: "restarted ALI3-P, pressure, IM, 1 ms", formulation: Formulation::Restarted, coupling: Coupling::Pressure, prediction: Prediction::InterfaceModel },
];

fn rows(crane: Crane, outcome: &CraneOutcome) -> Vec<BenchmarkRow> {
    let mut rows = vec![
        BenchmarkRow::new(RESIDUAL, outcome.residual),
        BenchmarkRow::new(RESIDUAL_ABS, outcome.residual_abs),
        BenchmarkRow::new(RMS_S1, outcome.rms_s[0]),
        BenchmarkRow::new(RMS_FORCE, outcome.rms_force[0]),
    ];
    if crane.actuators == 2 {
        rows.push(BenchmarkRow::new(RMS_S2, outcome.rms_s[1]));
    }
    rows
}

/// The configurations at H = 1 ms.
pub(crate) fn measure(
    pool: &FmuPool<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    for fine in FINE {
        let setup = Setup {
            crane,
            formulation: fine.formulation,
            coupling: fine.coupling,
            prediction: fine.prediction,
            solver: Solver::Euler,
            tenths: 10,
        };
        let outcome = pool.run(&setup)?;
        progress.add(fine.name, rows(crane, &outcome));
    }
    measure_energy(pool, crane, progress)
}

/// Energy that the formulations make or lose, with velocity-force coupling and p2 at 1 ms.
const ENERGIES: [(&str, Formulation); 3] = [
    ("ALI1, energy, 1 ms", Formulation::IndexOne),
    ("ALI3-P, energy, 1 ms", Formulation::IndexThree),
    ("restarted ALI3-P, energy, 1 ms", Formulation::Restarted),
];

fn measure_energy(
    pool: &FmuPool<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    for (name, formulation) in ENERGIES {
        let setup = Setup {
            crane,
            formulation,
            coupling: Coupling::Force,
            prediction: Prediction::Polynomial(2),
            solver: Solver::Euler,
            tenths: 10,
        };
        let outcome = pool.run(&setup)?;
        let rows = [
            BenchmarkRow::new(RMS_ENERGY, outcome.energy[0]),
            BenchmarkRow::new(MAX_ENERGY, outcome.energy[1]),
            BenchmarkRow::new(BALANCE, outcome.balance),
            BenchmarkRow::new(CONSTRAINT, outcome.constraint),
        ];
        progress.add(name, rows);
    }
    Ok(())
}

/// FMUs of another maker: velocity-force coupling with p2 at 1 ms, beside a step a tenth as long.
pub(crate) fn measure_foreign(
    pool: &FmuPool<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    for (configuration, tenths) in [(STALE, 10), (REFINED, 1)] {
        let setup = Setup {
            crane,
            formulation: Formulation::IndexOne,
            coupling: Coupling::Force,
            prediction: Prediction::Polynomial(2),
            solver: Solver::Euler,
            tenths,
        };
        let outcome = pool.run(&setup)?;
        progress.add(
            configuration.name,
            [BenchmarkRow::new(RMS_S1, outcome.rms_s[0])],
        );
    }
    Ok(())
}
