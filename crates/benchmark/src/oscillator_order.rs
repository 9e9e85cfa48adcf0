//! Two masses between three springs, cut in the middle one: the partitioned oscillator of the tutorials of preCICE, after
//! Schüller et al. (2022).
//!
//! Each half is m·x'' = −(k + k₁₂)·x + f with the other's k₁₂·x as f (a Schwarz coupling: no direct feed-through). It makes
//! exact steps for inputs that are cubic in time, so that all of the error comes from the coupling. m = 1 kg, k = 4π² N/m,
//! k₁₂ = 16π² N/m, at first 1 and 0 m at rest; closed form: x₁,₂ = (cos 2πt ± cos 6πt)/2. Rows: rms error of both positions
//! at the macro-step 1.25 ms, over 1 s, and the order observed from 2.5 ms to it. Numbers: precice/tutorials, folder
//! `oscillator`, `solver-python/problemDefinition.py`.

use std::f64::consts::PI;

use gyrator::{RunOptions, System, Word};

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::curve_unit::{CurveUnit, LinearSystem};
use crate::figures;
use crate::metrics::rms;
use crate::recording::Recording;
use crate::role::RoleAssignment;
use crate::row::{BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "oscillator-order",
    summary: "two masses between three springs, cut in the middle one: observed order of methods and extrapolations",
    source: "preCICE tutorials, oscillator; Schüller et al. 2022, A Simple Test Case for Convergence Order in Time and Energy Conservation of Black-Box Coupling Schemes",
    roles: &[],
    cases: &[
        Case::new(
            "curves",
            "halves that take derivatives of their inputs up to the third",
        ),
        Case::new(
            "lines",
            "halves that take first derivatives of their inputs",
        ),
        Case::new("values", "halves that take values of their inputs only"),
    ],
    measure,
    figures: figures::none,
    conclude: nothing_more,
};

const ORDER: Metric = Metric::figure("order", "");
const ERROR: Metric = Metric::mean_error("rms x", "m");

/// A way to couple the halves. If `None`, the system does not say how.
struct Way {
    name: &'static str,
    method: Option<&'static str>,
    extrapolation: Option<&'static str>,
    /// The prediction that the extrapolation is made of.
    of: Option<&'static str>,
}

const fn jacobi(name: &'static str, extrapolation: &'static str) -> Way {
    Way {
        name,
        method: Some("jacobi"),
        extrapolation: Some(extrapolation),
        of: None,
    }
}

const fn method(name: &'static str, method: &'static str, extrapolation: &'static str) -> Way {
    Way {
        name,
        method: Some(method),
        extrapolation: Some(extrapolation),
        of: None,
    }
}

const WAYS: &[Way] = &[
    jacobi("hold", "hold"),
    jacobi("linear", "linear"),
    jacobi("quadratic", "quadratic"),
    jacobi("hermite", "hermite"),
    jacobi("mean-hold", "mean-hold"),
    Way {
        of: Some("quadratic"),
        ..jacobi("secant-linear of quadratic", "secant-linear")
    },
    jacobi("extrapolation auto", "auto"),
    method("gauss-seidel, hold", "gauss-seidel", "hold"),
    method("gauss-seidel, linear", "gauss-seidel", "linear"),
    method("gauss-seidel, quadratic", "gauss-seidel", "quadratic"),
    method("gauss-seidel, mean-hold", "gauss-seidel", "mean-hold"),
    method("mean-force, hold", "mean-force", "hold"),
    method("mean-force, linear", "mean-force", "linear"),
    method("mean-force, mean-hold", "mean-force", "mean-hold"),
    method("iterative", "iterative", "hold"),
    UNTUNED,
];

/// Nothing is chosen.
const UNTUNED: Way = Way {
    name: "auto",
    method: None,
    extrapolation: None,
    of: None,
};

/// Macro-steps, s.
const STEPS: [f64; 2] = [2.5e-3, 1.25e-3];
/// Simulated time, s.
const STOP: f64 = 1.0;
const K: f64 = 4.0 * PI * PI;
const K_12: f64 = 16.0 * PI * PI;

/// A half: its position at the start, m.
fn half(start: f64, input_derivatives: u32) -> CurveUnit {
    let system = LinearSystem {
        a: &[0.0, 1.0, -(K + K_12), 0.0],
        b: &[0.0, 1.0],
        c: &[1.0, 0.0, K_12, 0.0, 0.0, K_12],
        d: &[],
        inputs: &["f_other"],
        outputs: &["x", "f", "f_rate"],
        start: &[start, 0.0],
    };
    CurveUnit::new(&system, input_derivatives)
}

fn word(name: &str, of: Option<&str>) -> Word {
    let word = Word::new(name);
    match of {
        Some(of) => word.with("of", of),
        None => word,
    }
}

impl Way {
    /// Root mean square of the errors of both positions at multiples of the greater macro-step, m.
    fn error(&self, step: f64, input_derivatives: u32) -> Result<f64, MeasureError> {
        let mut system = System::new(step);
        system.stop_time(STOP);
        if let Some(method) = self.method {
            system.method(method);
        }
        if let Some(extrapolation) = self.extrapolation {
            system.extrapolation(word(extrapolation, self.of));
        }
        for (name, start) in [("left", 1.0), ("right", 0.0)] {
            system.add(name, half(start, input_derivatives));
        }
        for (from, to) in [("left", "right"), ("right", "left")] {
            system
                .connect(&format!("{from}.f"), &format!("{to}.f_other"))
                .derivative("f_rate");
        }
        let recording = Recording::of_run(system.start(&RunOptions::default())?)?;
        let rows = recording.rows(&["left.x".to_owned(), "right.x".to_owned()])?;
        let every = (STEPS[0] / step).round() as usize;
        let errors = recording.times.iter().zip(&rows).step_by(every);
        let errors = errors.flat_map(|(time, row)| {
            let slow = (2.0 * PI * time).cos() / 2.0;
            let fast = (6.0 * PI * time).cos() / 2.0;
            [row[0] - (slow + fast), row[1] - (slow - fast)]
        });
        Ok(rms(errors))
    }
}

fn measure(
    _: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let input_derivatives = match case.name {
        "curves" => 3,
        "lines" => 1,
        _ => 0,
    };
    for way in WAYS {
        let [coarse, fine] = STEPS.map(|step| way.error(step, input_derivatives));
        let (coarse, fine) = (coarse?, fine?);
        let order = (coarse / fine).log2() / (STEPS[0] / STEPS[1]).log2();
        progress.add(
            way.name,
            [
                BenchmarkRow::new(ORDER, order),
                BenchmarkRow::new(ERROR, fine),
            ],
        );
    }
    Ok(())
}
