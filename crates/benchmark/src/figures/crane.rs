//! Rodríguez et al. (2022), figures 35 to 37.

use super::{TIME, points};
use crate::assembly::{COMPENSATED, STALE};
use crate::benchmark::MeasureError;
use crate::crane::{CORRECTED, Course, residual_power, run, steps};
use crate::reference::{HydraulicCrane, Reference};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

/// All figures.
pub(crate) fn figures(roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let mut charts = vec![errors(roles)?];
    charts.extend(oscillation(roles)?);
    Ok(charts)
}

/// Figure 35, which cannot be reproduced, as what is found instead.
fn errors(roles: &RoleAssignment) -> Result<Chart, MeasureError> {
    let crane = HydraulicCrane::table_5();
    let mut chart = Chart::new(
        "rodriguez2022-fig35",
        "Crane, 10 / 0.25 ms: the correction makes the error larger",
        TIME,
        "error of the cylinder's length, mm",
    )
    .source("beside Rodríguez et al. 2022, fig. 35, which shows the opposite and could not be reproduced");
    for (label, configuration) in [
        ("stale", STALE),
        ("corrected, μ = 0.0125", CORRECTED),
        ("compensated", COMPENSATED),
    ] {
        let course = run(roles, steps("10ms"), &configuration)?;
        let exact = crane.states_at(&course.recording.times)?;
        let errors = course.states.iter().zip(&exact);
        let errors = errors.map(|(state, exact)| 1e3 * (state[4] - crane.length(exact)));
        chart = chart.line(Line::new(label, points(&course.recording.times, errors)));
    }
    Ok(chart)
}

fn oscillation(roles: &RoleAssignment) -> Result<[Chart; 2], MeasureError> {
    let crane = HydraulicCrane::table_5();
    let steps = steps("11.5ms");
    let (stale, compensated) = (run(roles, steps, &STALE)?, run(roles, steps, &COMPENSATED)?);
    let times = &stale.recording.times;
    let exact = crane.states_at(times)?;
    let length = |course: &Course| points(times, course.states.iter().map(|state| state[4]));
    let lengths = Chart::new(
        "rodriguez2022-fig36",
        "Crane, 11.5 / 0.1 ms: at the edge of stability",
        TIME,
        "length of the cylinder, m",
    )
    .between(0.0, 10.0)
    .source("counterpart of Rodríguez et al. 2022, fig. 36")
    .line(Line::new("stale", length(&stale)))
    .line(Line::compensated("compensated", length(&compensated)))
    .line(Line::reference(
        "exact",
        points(times, exact.iter().map(|state| crane.length(state))),
    ));
    let kilowatts = |course: &Course| {
        let power = residual_power(course).into_iter();
        power
            .map(|(time, power)| (time, power.abs() / 1e3))
            .collect::<Vec<_>>()
    };
    let powers = Chart::new(
        "rodriguez2022-fig37",
        "Crane, 11.5 / 0.1 ms: residual power as an alarm",
        TIME,
        "|residual power|, kW",
    )
    .between(0.0, 10.0)
    .source("counterpart of Rodríguez et al. 2022, fig. 37")
    .line(Line::new("stale", kilowatts(&stale)))
    .line(Line::compensated("compensated", kilowatts(&compensated)));
    let powers =
        stale.recording.report.bonds[0]
            .alarms
            .iter()
            .take(1)
            .fold(powers, |chart, alarm| {
                let label = format!("alarm, from {:.1} s to {:.1} s", alarm.start, alarm.end);
                chart.line(Line::reference(
                    label,
                    [
                        (alarm.start, 0.0),
                        (alarm.start, 70.0),
                        (alarm.end, 70.0),
                        (alarm.end, 0.0),
                    ],
                ))
            });
    Ok([lengths, powers])
}
