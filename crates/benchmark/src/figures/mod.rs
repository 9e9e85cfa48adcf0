//! Counterparts of the figures of the papers, one file a benchmark.

pub(crate) mod crane;
pub(crate) mod cranes;
pub(crate) mod double_oscillator;
pub(crate) mod dual_mass;
pub(crate) mod epas;
pub(crate) mod h_infinity;
pub(crate) mod learning;
pub(crate) mod nonlinear_oscillator;
pub(crate) mod pendula;
pub(crate) mod quarter_car;

use crate::assembly::Configuration;
use crate::benchmark::MeasureError;
use crate::oscillators::{Course, Oscillators};
use crate::role::RoleAssignment;
use gyrator_pictures::chart::Line;

const TIME: &str = "t, s";
const ENERGY: &str = "mechanical energy, J";
const DISPLACEMENT: &str = "displacement of mass 2, m";

/// A benchmark without figures.
pub(crate) fn none(
    _: &RoleAssignment,
) -> Result<Vec<gyrator_pictures::chart::Chart>, MeasureError> {
    Ok(Vec::new())
}

fn points(times: &[f64], values: impl IntoIterator<Item = f64>) -> Vec<(f64, f64)> {
    times.iter().copied().zip(values).collect()
}

/// An oscillator benchmark's case, with what its figures show.
struct Shown<'a> {
    roles: &'a RoleAssignment,
    oscillators: Oscillators,
    exact: Vec<Vec<f64>>,
    times: Vec<f64>,
}

impl<'a> Shown<'a> {
    fn new(roles: &'a RoleAssignment, oscillators: Oscillators) -> Result<Self, MeasureError> {
        Ok(Self {
            roles,
            exact: oscillators.exact()?,
            times: oscillators.times(),
            oscillators,
        })
    }

    fn run(&self, configuration: &Configuration) -> Result<Course, MeasureError> {
        self.oscillators.run(self.roles, configuration)
    }

    fn energies(&self, states: &[Vec<f64>]) -> Vec<(f64, f64)> {
        let star = &self.oscillators.star;
        points(
            &self.times,
            states
                .iter()
                .map(|state| crate::reference::Reference::energy(star, state)),
        )
    }

    fn displacements(&self, states: &[Vec<f64>]) -> Vec<(f64, f64)> {
        let hub = self.oscillators.star.arms.len();
        points(&self.times, states.iter().map(|state| state[hub]))
    }

    fn energy(&self, label: &str, configuration: &Configuration) -> Result<Line, MeasureError> {
        Ok(Line::new(
            label,
            self.energies(&self.run(configuration)?.states),
        ))
    }

    fn displacement(
        &self,
        label: &str,
        configuration: &Configuration,
    ) -> Result<Line, MeasureError> {
        Ok(Line::new(
            label,
            self.displacements(&self.run(configuration)?.states),
        ))
    }

    fn exact_energy(&self) -> Line {
        Line::reference("exact", self.energies(&self.exact))
    }

    fn exact_displacement(&self) -> Line {
        Line::reference("exact", self.displacements(&self.exact))
    }
}
