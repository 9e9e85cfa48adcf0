//! Sadjina & Pedersen (2019), figures 4 to 6.

use super::TIME;
use crate::benchmark::MeasureError;
use crate::quarter_car_run::{Correction, Coupling, Cut, Ecco, LIN2, PLAIN};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

const POWER_ERROR: &str = "average error in the power ΔP, W";

/// Inputs held, the correction of the paper, and ECCO as in tables 5 and 7.
fn coupling(correction: Correction, has_ecco: bool) -> Coupling {
    let ecco = Ecco {
        tolerance: 1.4e-6,
        indicator: "signed",
        overshoot: true,
        reject_above: None,
    };
    Coupling {
        correction,
        ecco: has_ecco.then_some(ecco),
        ..PLAIN
    }
}

/// The line of figure 6's counterpart that the paper does not have.
fn better() -> Coupling {
    Coupling {
        extrapolation: "linear",
        ecco: Some(Ecco {
            tolerance: 8.463e-8,
            indicator: "sum-abs",
            overshoot: false,
            reject_above: None,
        }),
        ..PLAIN
    }
}

/// All figures.
pub(crate) fn figures(roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let cut: &Cut = &LIN2;
    let run = |coupling: &Coupling| {
        let outcome = cut.run(roles, coupling)?;
        let times = outcome.points.iter().skip(1).map(|(time, ..)| *time);
        Ok::<_, MeasureError>(times.zip(outcome.power.errors).collect::<Vec<_>>())
    };
    let nepce = Correction::Nepce(Some(cut.alpha));
    let modified = Correction::WithFeedthrough(cut.alpha);
    let held = run(&PLAIN)?;
    let with_nepce = run(&coupling(nepce, false))?;
    let with_ecco = run(&coupling(nepce, true))?;
    let held = || Line::new("held inputs, 1 ms", held.iter().copied());
    let with_ecco = || Line::new("ECCO, NEPCE", with_ecco.iter().copied());
    let chart = |name, title| Chart::new(name, title, TIME, POWER_ERROR);
    Ok(vec![
        chart("sadjina2019-fig04", "Quarter car: NEPCE at equal steps")
            .source("counterpart of Sadjina & Pedersen 2019, fig. 4")
            .line(held())
            .line(Line::new("NEPCE, 1 ms", with_nepce.iter().copied()))
            .line(Line::new(
                "NEPCE with feed-through, 1 ms",
                run(&coupling(modified, false))?,
            )),
        chart("sadjina2019-fig05", "Quarter car: NEPCE with ECCO")
            .source("counterpart of Sadjina & Pedersen 2019, fig. 5")
            .logarithmic()
            .line(held())
            .line(Line::new("NEPCE, 1 ms", with_nepce))
            .line(with_ecco()),
        chart(
            "sadjina2019-fig06",
            "Quarter car: as many steps, better used",
        )
        .source("counterpart of Sadjina & Pedersen 2019, fig. 6, with linear extrapolation")
        .logarithmic()
        .line(held())
        .line(with_ecco())
        .line(Line::new(
            "ECCO, NEPCE with feed-through",
            run(&coupling(modified, true))?,
        ))
        .line(Line::new("ECCO, linear extrapolation", run(&better())?)),
    ])
}
