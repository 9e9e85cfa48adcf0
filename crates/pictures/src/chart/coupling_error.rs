//! The error of H∞ coupling, and of holds, over the frequency.

use crate::chart::{Chart, Line};

/// The error of a signal at a normalised frequency.
pub type ErrorAt<'a> = &'a dyn Fn(f64) -> f64;

/// The low-frequency part of the coupling error (eq. 3) over the normalised frequency: of holds, by their degree, and of
/// compensators, each with its label.
#[must_use]
pub fn error_chart(hold: impl Fn(u32, f64) -> f64, compensators: &[(&str, ErrorAt<'_>)]) -> Chart {
    let frequencies = || (-300..=0).map(|step| 10.0_f64.powf(f64::from(step) / 100.0));
    let curve = |error: ErrorAt<'_>| -> Vec<(f64, f64)> {
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
        let points = curve(&|frequency| hold(degree, frequency));
        chart.line(Line::new(label, points))
    });
    compensators.iter().fold(chart, |chart, (label, error)| {
        chart.line(Line::new(*label, curve(error)))
    })
}
