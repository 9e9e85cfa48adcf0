//! The error of H∞ coupling, and of holds, over the frequency.

use gyrator_h_infinity::{Design, hold_error};

use crate::{Chart, Line};

/// The low-frequency part of the coupling error (eq. 3) of holds and of compensators, each with its
/// label, over the normalised frequency.
#[must_use]
pub fn error_chart(designs: &[(String, &Design)]) -> Chart {
    let frequencies = || (-300..=0).map(|step| 10.0_f64.powf(f64::from(step) / 100.0));
    let curve = |error: &dyn Fn(f64) -> f64| -> Vec<(f64, f64)> {
        frequencies()
            .map(|frequency| (frequency, error(frequency)))
            .collect()
    };
    let chart = Chart::new(
        "chen2021-fig04",
        "Error of a coupling variable by frequency",
        "frequency × macro-step",
        "|error|, relative",
    );
    let chart = chart
        .source("counterpart of Chen et al. 2021, fig. 4")
        .logarithmic()
        .decades();
    let holds = [(0, "held"), (1, "linear"), (2, "quadratic")];
    let chart = holds.into_iter().fold(chart, |chart, (degree, label)| {
        let points = curve(&|frequency| hold_error(degree, frequency));
        chart.line(Line::new(label, points))
    });
    designs.iter().fold(chart, |chart, (label, design)| {
        let points = curve(&|frequency| design.held_error(frequency));
        chart.line(Line::new(label.clone(), points))
    })
}
