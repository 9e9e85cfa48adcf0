//! Rodríguez et al. (2022), figures 27 to 31.

use super::{DISPLACEMENT, ENERGY, Shown, TIME, points};
use crate::assembly::{COMPENSATED, Configuration, STALE};
use crate::benchmark::MeasureError;
use crate::nonlinear_oscillator::{CORRECTED, CORRECTED_MU, CORRECTED_NU, table_3};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

const CORRECTED_MORE: Configuration = Configuration::corrected("corrected", &[("mu", 0.75)]);

/// All figures.
pub(crate) fn figures(roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let title = "Square-root springs: the energy of the coupling";
    let shown = Shown::new(roles, table_3("1"))?;
    let stale = shown.run(&STALE)?;
    let stale_energy = || Line::new("stale", shown.energies(&stale.states));
    let shares = Chart::new(
        "rodriguez2022-fig27",
        "Square-root springs: which μ is right?",
        TIME,
        ENERGY,
    )
    .source("counterpart of Rodríguez et al. 2022, fig. 27: ν = 0")
    .line(stale_energy())
    .line(shown.energy("μ = 0.5", &CORRECTED)?)
    .line(shown.energy("μ = 0.75", &CORRECTED_MORE)?)
    .line(shown.energy("μ = 1", &CORRECTED_MU)?)
    .line(shown.exact_energy());
    let energy = Chart::new("rodriguez2022-fig28", title, TIME, ENERGY)
        .source("counterpart of Rodríguez et al. 2022, fig. 28")
        .line(stale_energy())
        .line(shown.energy("corrected, μ = 0.5, ν = 0.25", &CORRECTED_NU)?)
        .line(shown.energy("compensated", &COMPENSATED)?)
        .line(shown.exact_energy());
    let displacement = Chart::new("rodriguez2022-fig29", title, TIME, DISPLACEMENT)
        .between(9.0, 10.0)
        .source("counterpart of Rodríguez et al. 2022, fig. 29")
        .line(Line::new("stale", shown.displacements(&stale.states)))
        .line(shown.displacement("corrected, μ = 0.5, ν = 0.25", &CORRECTED_NU)?)
        .line(shown.displacement("compensated", &COMPENSATED)?)
        .line(shown.exact_displacement());
    Ok(vec![
        shares,
        energy,
        displacement,
        quadratic_dampers(roles)?,
        residual_power(&shown, &stale),
    ])
}

fn quadratic_dampers(roles: &RoleAssignment) -> Result<Chart, MeasureError> {
    let shown = Shown::new(roles, table_3("2"))?;
    let chart = Chart::new(
        "rodriguez2022-fig30",
        "Quadratic dampers: the energy of the coupling",
        TIME,
        ENERGY,
    );
    Ok(chart
        .source("counterpart of Rodríguez et al. 2022, fig. 30")
        .line(shown.energy("stale", &STALE)?)
        .line(shown.energy("corrected, μ = 0.5", &CORRECTED)?)
        .line(shown.energy("compensated", &COMPENSATED)?)
        .line(shown.exact_energy()))
}

fn residual_power(shown: &Shown<'_>, stale: &crate::oscillators::Course) -> Chart {
    let power = &stale.recording.bonds[0].residual_power;
    let mean = power.iter().sum::<f64>() / power.len() as f64;
    let (first, last) = (0.0, shown.oscillators.stop);
    Chart::new(
        "rodriguez2022-fig31",
        "Square-root springs: residual power is positive on average",
        TIME,
        "residual power δP, W",
    )
    .source("counterpart of Rodríguez et al. 2022, fig. 31")
    .line(Line::new(
        "δP, stale",
        points(&shown.times, power.iter().copied()),
    ))
    .line(Line::reference(
        format!("mean: {mean:.0} W"),
        [(first, mean), (last, mean)],
    ))
}
