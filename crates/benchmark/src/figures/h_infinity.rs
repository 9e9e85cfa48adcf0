//! Chen et al. (2021), figures 4 and 5.

use gyrator::h_infinity::{Specification, hold_error};
use gyrator_pictures::chart::{Chart, ErrorAt, Line, error_chart};

use super::{TIME, points};
use crate::benchmark::MeasureError;
use crate::role::RoleAssignment;
use crate::sweep_signal::reception_of;

/// All figures.
pub(crate) fn figures(_: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let design = |order| Specification::of_order(order).design();
    let designs = [design(1)?, design(2)?, design(3)?];
    let [one, two, three] = designs
        .each_ref()
        .map(|design| move |frequency| design.held_error(frequency));
    let compensators: [(&str, ErrorAt<'_>); 3] =
        [("H∞, W1", &one), ("H∞, W2", &two), ("H∞, W3", &three)];
    Ok(vec![error_chart(hold_error, &compensators), sweep_chart()?])
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
