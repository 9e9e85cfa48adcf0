//! Interface models that pass the impulse of each macro-step: macro-steps ten times the paper's.

use fmu_models::{Crane, Throttle};
use rayon::prelude::*;

use super::run::Workshop;
use super::setup::{Coupling, Formulation, Prediction, Setup, Solver};
use crate::benchmark::{MeasureError, Progress};
use crate::row::{Bar, Metric, Row};

const SOURCE: &str =
    "independent reproduction of Rahikainen et al. 2020, with the impulse in place of the force";

const RMS_S1: Metric = Metric::mean_error("rms s1", "m");
const RMS_S2: Metric = Metric::mean_error("rms s2", "m");
const RMS_V1: Metric = Metric::mean_error("rms v1", "m/s");
const FINISHED: Metric = Metric::figure("every H finishes up to", "ms");

/// A configuration, and its errors at some macro-steps.
struct Known {
    /// At 10, 20, 30 and 50 ms, and up to the largest.
    names: [&'static str; 5],
    formulation: Formulation,
    coupling: Coupling,
    prediction: Prediction,
    /// At 10, 20, 30 and 50 ms with narrow throttles: of the single crane s1 and v1, of the double crane s1, s2
    /// and v1, m and m/s.
    errors: [[f64; 5]; 4],
    /// Every macro-step up to this finishes, ms.
    finishes: u32,
}

const STEPS: [u32; 4] = [10, 20, 30, 50];

#[rustfmt::skip]
const KNOWN: [Known; 3] = [
    Known {
        names: ["impulse, 10 ms", "impulse, 20 ms", "impulse, 30 ms", "impulse, 50 ms", "impulse, to 100 ms"],
        formulation: Formulation::Restarted, coupling: Coupling::Pressure,
        prediction: Prediction::Impulse { displacement_correction: 0.0 },
        errors: [
            [1.3e-5, 4.8e-5, 1.1e-5, 2.0e-5, 5.3e-5],
            [7.3e-5, 2.3e-4, 5.6e-5, 5.5e-5, 2.1e-4],
            [2.1e-4, 4.4e-4, 1.9e-4, 8.6e-5, 4.1e-4],
            [6.1e-4, 1.3e-3, 5.7e-4, 1.5e-4, 1.3e-3],
        ],
        finishes: 100,
    },
    Known {
        names: ["impulse, displacement correction, 10 ms", "impulse, displacement correction, 20 ms",
            "impulse, displacement correction, 30 ms", "impulse, displacement correction, 50 ms", "impulse, displacement correction, to 100 ms"],
        formulation: Formulation::Restarted, coupling: Coupling::Pressure,
        prediction: Prediction::Impulse { displacement_correction: 1.0 },
        errors: [
            [1.2e-6, 6.9e-5, 1.2e-6, 1.0e-6, 7.4e-5],
            [4.2e-6, 2.5e-4, 3.4e-6, 1.3e-6, 2.0e-4],
            [1.1e-5, 5.0e-4, 1.2e-5, 1.9e-6, 4.5e-4],
            [4.6e-5, 1.8e-3, 4.7e-5, 3.4e-6, 1.8e-3],
        ],
        finishes: 100,
    },
    Known {
        names: ["impulse, ALI1, force, 10 ms", "impulse, ALI1, force, 20 ms", "impulse, ALI1, force, 30 ms", "impulse, ALI1, force, 50 ms", "impulse, ALI1, force, to 80 ms"],
        formulation: Formulation::IndexOne, coupling: Coupling::Force,
        prediction: Prediction::Impulse { displacement_correction: 0.0 },
        errors: [
            [1.1e-4, 1.1e-4, 1.1e-4, 1.6e-4, 1.1e-4],
            [2.4e-4, 2.5e-4, 2.4e-4, 3.3e-4, 2.6e-4],
            [3.8e-4, 3.8e-4, 4.3e-4, 5.1e-4, 4.1e-4],
            [7.1e-4, 4.2e-4, 6.5e-4, 8.3e-4, 3.6e-4],
        ],
        finishes: 80,
    },
];

/// Share by which errors may differ from the reproduction's.
const TOLERANCE: f64 = 0.25;

impl Known {
    fn setup(&self, crane: Crane, milliseconds: u32) -> Setup {
        Setup {
            crane,
            formulation: self.formulation,
            coupling: self.coupling,
            prediction: self.prediction,
            solver: Solver::Euler,
            tenths: 10 * milliseconds,
        }
    }

    /// Greatest error of a length at 50 ms, m.
    fn headline(&self) -> f64 {
        match self.prediction {
            Prediction::Impulse {
                displacement_correction,
            } if displacement_correction > 0.0 => 1e-4,
            _ => 1e-3,
        }
    }

    fn rows(
        &self,
        workshop: &Workshop<'_>,
        crane: Crane,
        place: usize,
    ) -> Result<Vec<Row>, MeasureError> {
        let outcome = workshop.run(&self.setup(crane, STEPS[place]))?;
        let [single_s, single_v, first, second, double_v] = self.errors[place];
        let known = if crane.actuators == 1 {
            vec![
                (RMS_S1, outcome.rms_s[0], single_s),
                (RMS_V1, outcome.rms_v[0], single_v),
            ]
        } else {
            vec![
                (RMS_S1, outcome.rms_s[0], first),
                (RMS_S2, outcome.rms_s[1], second),
                (RMS_V1, outcome.rms_v[0], double_v),
            ]
        };
        let mut rows = Vec::new();
        for (metric, measured, known) in known {
            let row = Row::new(metric, measured);
            rows.push(match crane.throttle {
                Throttle::Narrow => row.against(known, Bar::Relative(TOLERANCE), SOURCE),
                Throttle::Wide => row,
            });
            if STEPS[place] == 50 && metric.unit == "m" {
                let metric = if metric == RMS_S1 { LIMIT_S1 } else { LIMIT_S2 };
                rows.push(
                    Row::new(metric, measured).within(Bar::AtMost(self.headline()), HEADLINE),
                );
            }
        }
        Ok(rows)
    }

    /// Largest macro-step, ms, up to which all of a grid of 2 ms finish.
    fn finishes(&self, workshop: &Workshop<'_>, crane: Crane) -> Result<u32, MeasureError> {
        for milliseconds in (2..=self.finishes).step_by(2) {
            let setup = self.setup(crane, milliseconds);
            if !workshop.run_within(&setup, f64::INFINITY)?.is_finished {
                return Ok(milliseconds - 2);
            }
        }
        Ok(self.finishes)
    }
}

/// The three configurations at all macro-steps, and the pipelined one.
pub(crate) fn measure(
    workshop: &Workshop<'_>,
    crane: Crane,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let cells: Vec<(&Known, usize)> = KNOWN
        .iter()
        .flat_map(|known| (0..=STEPS.len()).map(move |i| (known, i)))
        .collect();
    let rows = cells.par_iter().map(|(known, place)| {
        let rows = if *place < STEPS.len() {
            known.rows(workshop, crane, *place)?
        } else {
            let finishes = f64::from(known.finishes(workshop, crane)?);
            let bar = Bar::AtLeast(f64::from(known.finishes));
            vec![Row::new(FINISHED, finishes).within(bar, SOURCE)]
        };
        Ok((known.names[*place], rows))
    });
    for (name, rows) in rows.collect::<Result<Vec<_>, MeasureError>>()? {
        progress.add(name, rows);
    }
    let pipelined = Known {
        prediction: Prediction::Pipelined,
        ..KNOWN[0]
    };
    let outcome = workshop.run(&pipelined.setup(crane, 20))?;
    let known = match (crane.throttle, crane.actuators) {
        (Throttle::Narrow, 1) => 4.2e-4,
        (Throttle::Narrow, _) => 3.5e-4,
        (Throttle::Wide, 1) => 4.1e-4,
        (Throttle::Wide, _) => 3.4e-4,
    };
    let row = Row::new(RMS_S1, outcome.rms_s[0]).against(known, Bar::Relative(TOLERANCE), SOURCE);
    progress.add("impulse, pipelined, 20 ms", [row]);
    Ok(())
}

const LIMIT_S1: Metric = Metric::mean_error("rms s1, limit", "m");
const LIMIT_S2: Metric = Metric::mean_error("rms s2, limit", "m");
const HEADLINE: &str = "bar of this project";
