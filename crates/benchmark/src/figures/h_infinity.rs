//! Chen et al. (2021), figures 4 and 5.

use gyrator_h_infinity::{Design, Specification, hold_error};

use super::{TIME, points};
use crate::benchmark::MeasureError;
use crate::plot::{Chart, Line};
use crate::role::Cast;
use crate::sweep_signal::reception_of;

/// All figures.
pub(crate) fn figures(_: &Cast) -> Result<Vec<Chart>, MeasureError> {
    let design = |order| Specification::of_order(order).design();
    let designs = [design(1)?, design(2)?, design(3)?];
    let labelled: Vec<_> = (1..)
        .zip(&designs)
        .map(|(order, design)| (format!("H∞, W{order}"), design))
        .collect();
    Ok(vec![error_chart(&labelled), sweep_chart()?])
}

/// The last half second of the sweep.
fn sweep_chart() -> Result<Chart, MeasureError> {
    let chart = Chart::new(
        "chen2021-fig05",
        "A sine of 30 Hz, sent every 10 ms",
        TIME,
        "signal",
    );
    let mut chart = chart
        .source("counterpart of Chen et al. 2021, fig. 5")
        .between(19.8, 20.0);
    for (label, name) in [("held", "hold"), ("H∞", "h-infinity, own synthesis")] {
        if let Some(reception) = reception_of(name)? {
            let received = points(&reception.times, reception.received);
            chart = chart.line(Line::new(label, received));
            if name == "hold" {
                chart = chart.line(Line::reference(
                    "sent",
                    points(&reception.times, reception.sent),
                ));
            }
        }
    }
    Ok(chart)
}

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
