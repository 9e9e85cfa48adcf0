//! Rodríguez et al. (2022), figure 33.

use super::{TIME, points};
use crate::assembly::{COMPENSATED, Configuration, STALE};
use crate::benchmark::MeasureError;
use crate::pendula::{CORRECTED, energy_errors, system, table_4};
use crate::recording::Recording;
use crate::reference::Reference;
use crate::role::RoleAssignment;
use gyrator_pictures::chart::{Chart, Line};

/// All figures.
pub(crate) fn figures(roles: &RoleAssignment) -> Result<Vec<Chart>, MeasureError> {
    let pendula = table_4("1");
    let line = |label: &str, configuration: &Configuration| {
        let (file, names) = system(roles, &pendula, configuration, 1e-3)?;
        let recording = Recording::of(roles, file)?;
        let exact = pendula.states_at(&recording.times)?;
        let errors = energy_errors(&pendula, &recording.rows(&names)?, &exact);
        Ok::<_, MeasureError>(Line::new(label, points(&recording.times, errors)))
    };
    let chart = Chart::new(
        "rodriguez2022-fig33",
        "Coupled pendula, case 1: energy that the coupling adds",
        TIME,
        "error of the energy, J",
    );
    Ok(vec![
        chart
            .source("counterpart of Rodríguez et al. 2022, fig. 33")
            .line(line("stale", &STALE)?)
            .line(line("corrected, μ = 0.5, ν = 1", &CORRECTED)?)
            .line(line("compensated", &COMPENSATED)?)
            .line(Line::reference("exact", [(0.0, 0.0), (10.0, 0.0)])),
    ])
}
