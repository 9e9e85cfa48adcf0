//! Coupling and system accuracy at H = 1 ms, and the limits of the interface models that pass means.

use fmu_models::{Crane, Throttle};

use super::run::{Outcome, Workshop};
use super::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::assembly::{REFINED, STALE};
use crate::benchmark::{MeasureError, Progress};
use crate::row::{Bar, Metric, Row};

const SOURCE: &str = "independent reproduction of Rahikainen et al. 2020";

const RESIDUAL: Metric = Metric::figure("residual energy", "J");
const RESIDUAL_ABS: Metric = Metric::figure("residual energy, magnitudes", "J");
const RMS_S1: Metric = Metric::mean_error("rms s1", "m");
const RMS_S2: Metric = Metric::mean_error("rms s2", "m");
const RMS_FORCE: Metric = Metric::mean_error("rms f1", "N");
const RMS_ENERGY: Metric = Metric::mean_error("rms of the energy", "J");
const MAX_ENERGY: Metric = Metric::greatest_error("greatest error of the energy", "J");
const BALANCE: Metric = Metric::figure("energy made by the mechanics", "J");
const CONSTRAINT: Metric = Metric::figure("greatest violation of the constraints", "");

/// What is known of a configuration at H = 1 ms.
struct Known {
    name: &'static str,
    formulation: Formulation,
    coupling: Coupling,
    prediction: Prediction,
    /// Residual energy and its magnitudes, J, of the single crane with narrow throttles, the double, and the same
    /// with wide throttles; NaN where not known.
    residual: [[f64; 2]; 4],
    /// Errors with narrow throttles: s1 of the single crane, s1 and s2 of the double, m.
    lengths: [f64; 3],
    /// Error of f1 of the single crane, N.
    force: f64,
}

const NOT_KNOWN: [f64; 2] = [f64::NAN; 2];

#[rustfmt::skip]
const KNOWN: &[Known] = &[
    Known {
        name: "ALI1, force, p1, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Force, prediction: Prediction::Polynomial(1),
        residual: [[-0.666, 1.288], [-0.545, 1.203], NOT_KNOWN, NOT_KNOWN], lengths: [1.32e-5, 1.31e-5, 1.80e-5], force: 10.6,
    },
    Known {
        name: "ALI1, force, p2, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Force, prediction: Prediction::Polynomial(2),
        residual: [[-0.663, 1.284], [-0.542, 1.201], [-0.745, 1.486], [-0.605, 1.388]], lengths: [1.32e-5, 1.31e-5, 1.80e-5], force: 9.8,
    },
    Known {
        name: "ALI1, force, IM, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Force, prediction: Prediction::InterfaceModel,
        residual: [[-0.667, 1.310], [-0.545, 1.225], [-0.749, 1.508], [-0.609, 1.408]], lengths: [1.33e-5, 1.32e-5, 1.82e-5], force: 10.2,
    },
    Known {
        name: "ALI1, pressure, p2, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Pressure, prediction: Prediction::Polynomial(2),
        residual: [[2.560, 3.989], [2.656, 4.211], [2.574, 4.138], [2.684, 4.380]], lengths: [1.32e-5, 1.31e-5, 1.80e-5], force: 9.9,
    },
    Known {
        name: "ALI1, pressure, IM, 1 ms", formulation: Formulation::IndexOne, coupling: Coupling::Pressure, prediction: Prediction::InterfaceModel,
        residual: [[2.543, 4.039], [2.649, 4.244], [2.555, 4.193], [2.675, 4.416]], lengths: [1.33e-5, 1.31e-5, 1.81e-5], force: 9.9,
    },
    Known {
        name: "ALI3-P, force, p2, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Force, prediction: Prediction::Polynomial(2),
        residual: [[-0.677, 1.549], [-0.557, 1.472], NOT_KNOWN, NOT_KNOWN], lengths: [1.48e-6, 1.31e-6, 1.9e-7], force: 21.9,
    },
    Known {
        name: "ALI3-P, force, IM, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Force, prediction: Prediction::InterfaceModel,
        residual: [[-0.685, 1.641], [-0.562, 1.559], NOT_KNOWN, NOT_KNOWN], lengths: [2.34e-6, 2.01e-6, 1.49e-6], force: 23.7,
    },
    Known {
        name: "ALI3-P, pressure, p2, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Pressure, prediction: Prediction::Polynomial(2),
        residual: [[2.541, 4.073], [2.631, 4.308], NOT_KNOWN, NOT_KNOWN], lengths: [5.47e-6, 5.50e-6, 4.3e-7], force: 38.0,
    },
    Known {
        name: "ALI3-P, pressure, IM, 1 ms", formulation: Formulation::IndexThree, coupling: Coupling::Pressure, prediction: Prediction::InterfaceModel,
        residual: [[2.517, 4.476], [2.636, 4.684], NOT_KNOWN, NOT_KNOWN], lengths: [1.05e-5, 1.01e-5, 2.6e-6], force: 37.8,
    },
    Known {
        name: "restarted ALI3-P, pressure, IM, 1 ms", formulation: Formulation::Restarted, coupling: Coupling::Pressure, prediction: Prediction::InterfaceModel,
        residual: [[2.534, 4.125], [2.648, 4.348], NOT_KNOWN, NOT_KNOWN], lengths: [5.19e-6, 5.00e-6, 1.34e-6], force: 18.3,
    },
];

/// Place of the crane in [`Known::residual`].
fn place(crane: Crane) -> usize {
    2 * usize::from(crane.throttle == Throttle::Wide) + crane.actuators - 1
}

/// A row that is judged where the figure is known.
fn judged(metric: Metric, measured: f64, known: f64, bar: Bar) -> Row {
    let row = Row::new(metric, measured);
    if known.is_nan() {
        row
    } else {
        row.against(known, bar, SOURCE)
    }
}

impl Known {
    fn rows(&self, crane: Crane, outcome: &Outcome) -> Vec<Row> {
        let [signed, magnitudes] = self.residual[place(crane)];
        let is_narrow = crane.throttle == Throttle::Narrow;
        let narrow = |known: f64| if is_narrow { known } else { f64::NAN };
        let [single, first, second] = self.lengths;
        let s1 = if crane.actuators == 1 { single } else { first };
        let force = if crane.actuators == 1 {
            self.force
        } else {
            f64::NAN
        };
        let mut rows = vec![
            judged(RESIDUAL, outcome.residual, signed, Bar::Relative(0.03)),
            judged(
                RESIDUAL_ABS,
                outcome.residual_abs,
                magnitudes,
                Bar::Relative(0.05),
            ),
            judged(RMS_S1, outcome.rms_s[0], narrow(s1), Bar::Relative(0.1)),
            judged(
                RMS_FORCE,
                outcome.rms_force[0],
                narrow(force),
                Bar::Relative(0.1),
            ),
        ];
        if crane.actuators == 2 {
            rows.push(judged(
                RMS_S2,
                outcome.rms_s[1],
                narrow(second),
                Bar::Relative(0.1),
            ));
        }
        rows
    }
}

/// The configurations at H = 1 ms.
pub(crate) fn measure(
    workshop: &Workshop<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    for known in KNOWN {
        let setup = Setup {
            crane,
            formulation: known.formulation,
            coupling: known.coupling,
            prediction: known.prediction,
            solver: Solver::Euler,
            tenths: 10,
        };
        let outcome = workshop.run(&setup)?;
        progress.add(known.name, known.rows(crane, &outcome));
    }
    measure_energy(workshop, crane, progress)
}

/// Energy that the formulations make or lose, with velocity-force coupling and p2 at 1 ms: error of the energy and its
/// greatest, energy balance of the mechanics, of the single and the double crane, J.
const ENERGIES: &[(&str, Formulation, [[f64; 3]; 2])] = &[
    (
        "ALI1, energy, 1 ms",
        Formulation::IndexOne,
        [[0.095, 0.219, -0.328], [0.098, 0.222, -0.271]],
    ),
    (
        "ALI3-P, energy, 1 ms",
        Formulation::IndexThree,
        [[0.0115, 0.106, 0.340], [0.0106, 0.096, 0.279]],
    ),
    (
        "restarted ALI3-P, energy, 1 ms",
        Formulation::Restarted,
        [[0.0057, 0.050, 0.0], [0.0053, 0.049, 0.0]],
    ),
];

/// The past of an input is forgotten where it jumps, as at the end dampers; that moves small errors.
const ENERGY_BAR: Bar = Bar::Relative(0.15);

fn measure_energy(
    workshop: &Workshop<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    for (name, formulation, known) in ENERGIES {
        let setup = Setup {
            crane,
            formulation: *formulation,
            coupling: Coupling::Force,
            prediction: Prediction::Polynomial(2),
            solver: Solver::Euler,
            tenths: 10,
        };
        let outcome = workshop.run(&setup)?;
        let is_narrow = crane.throttle == Throttle::Narrow;
        let [rms, max, balance] =
            known[crane.actuators - 1].map(|known| if is_narrow { known } else { f64::NAN });
        let balance_bar = if *formulation == Formulation::Restarted {
            Bar::AtMost(1e-3)
        } else {
            Bar::Relative(0.05)
        };
        let violation = Row::new(CONSTRAINT, outcome.constraint);
        let violation = match formulation {
            Formulation::IndexOne if is_narrow && crane.actuators == 1 => {
                violation.against(3.5e-6, Bar::Relative(0.2), SOURCE)
            }
            Formulation::IndexOne => violation,
            _ => violation.within(Bar::AtMost(1e-11), SOURCE),
        };
        let rows = vec![
            judged(RMS_ENERGY, outcome.energy[0], rms, ENERGY_BAR),
            judged(MAX_ENERGY, outcome.energy[1], max, ENERGY_BAR),
            judged(BALANCE, outcome.balance, balance, balance_bar),
            violation,
        ];
        progress.add(name, rows);
    }
    Ok(())
}

/// Somebody else's FMUs: velocity-force coupling with p2 at 1 ms, beside a step a tenth as long.
pub(crate) fn measure_foreign(
    workshop: &Workshop<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let [_, quadratic, ..] = KNOWN else {
        return Ok(());
    };
    for (configuration, tenths) in [(STALE, 10), (REFINED, 1)] {
        let setup = Setup {
            crane,
            formulation: quadratic.formulation,
            coupling: quadratic.coupling,
            prediction: quadratic.prediction,
            solver: Solver::Euler,
            tenths,
        };
        let outcome = workshop.run(&setup)?;
        let [single, double, _] = quadratic.lengths;
        let known = [single, double][crane.actuators - 1];
        let row = Row::new(RMS_S1, outcome.rms_s[0]);
        let row = match crane.throttle {
            Throttle::Narrow => row.beside(known, SOURCE),
            Throttle::Wide => row,
        };
        progress.add(configuration.name, [row]);
    }
    Ok(())
}
