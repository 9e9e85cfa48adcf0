//! Chen et al. (2021), figures 13 and 14, of the stand-in.

use super::TIME;
use crate::benchmark::MeasureError;
use crate::epas::{rack_reference, rack_velocities};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

const VELOCITY: &str = "velocity of the rack, m/s";

/// All figures: two seconds in which the driver's torque has its highest frequencies.
pub(crate) fn figures(_: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let chart = |name, title, case: &str| {
        let chart = Chart::new(name, title, TIME, VELOCITY)
            .source("counterpart of Chen et al. 2021, figs 13 and 14, of a stand-in")
            .between(18.0, 20.0)
            .line(Line::new("linear", rack_velocities(case, "linear")?))
            .line(Line::new("hold", rack_velocities(case, "hold")?))
            .line(Line::new(
                "H∞, W1",
                rack_velocities(case, "h-infinity, W1")?,
            ))
            .line(Line::new(
                "H∞, W3",
                rack_velocities(case, "h-infinity, W3")?,
            ))
            .line(Line::reference("as a whole", rack_reference(case)));
        Ok::<_, MeasureError>(chart)
    };
    Ok(vec![
        chart(
            "chen2021-fig13",
            "Power steering (stand-in), to 1 Hz",
            "R-1Hz",
        )?,
        chart(
            "chen2021-fig14",
            "Power steering (stand-in), to 3 Hz",
            "R-3Hz",
        )?,
    ])
}
