//! The systems that are compared, with the published methods of each.

use gyrator_system::SystemFile;

use super::comparison::Comparison;
use crate::assembly::{Configuration, STALE};
use crate::cranes::CRANES;
use crate::cranes::setup::{CIRCUIT_STEP, Coupling, Formulation, Prediction, Setup, Solver};
use crate::oscillators::Oscillators;
use crate::role::{RoleAssignment, RoleError};
use crate::{
    crane, double_oscillator, dual_mass, multiple_oscillator, nonlinear_oscillator, pendula,
};

/// Makes the systems of a case.
pub(super) type Compared = fn(&RoleAssignment) -> ComparedSystems;

type ComparedSystems = Result<Vec<Comparison>, RoleError>;

fn oscillators(
    name: &'static str,
    roles: &RoleAssignment,
    oscillators: &Oscillators,
    configurations: &[Configuration],
) -> Result<Comparison, RoleError> {
    let [arm, hub] = oscillators.steps;
    let mut signals = Vec::new();
    let mut published = Vec::new();
    for configuration in configurations {
        let (file, names) = oscillators.system(roles, configuration)?;
        published.push((configuration.name, file));
        signals = names;
    }
    Ok(Comparison::new(name, signals, published, arm.min(hub)))
}

pub(super) fn double_oscillator(roles: &RoleAssignment) -> ComparedSystems {
    let cases = double_oscillator::BENCHMARK.cases.iter();
    let compared = cases.map(|case| {
        let system = double_oscillator::oscillators(case.name);
        let configurations = double_oscillator::published(case.name);
        oscillators(case.name, roles, &system, &configurations)
    });
    compared.collect()
}

pub(super) fn multiple_oscillator(roles: &RoleAssignment) -> ComparedSystems {
    let cases = multiple_oscillator::BENCHMARK.cases.iter();
    let compared = cases.map(|case| {
        let system = multiple_oscillator::table_2(case.name);
        let configurations = [STALE, multiple_oscillator::CORRECTED];
        oscillators(case.name, roles, &system, &configurations)
    });
    compared.collect()
}

pub(super) fn nonlinear_oscillator(roles: &RoleAssignment) -> ComparedSystems {
    use nonlinear_oscillator::{BENCHMARK, CORRECTED, CORRECTED_MU, CORRECTED_NU, table_3};
    let compared = BENCHMARK.cases.iter().map(|case| {
        let configurations = [STALE, CORRECTED, CORRECTED_NU, CORRECTED_MU];
        oscillators(case.name, roles, &table_3(case.name), &configurations)
    });
    compared.collect()
}

pub(super) fn pendula(roles: &RoleAssignment) -> ComparedSystems {
    use pendula::{BENCHMARK, CORRECTED, H, system, table_4};
    let compared = BENCHMARK.cases.iter().map(|case| {
        let mut signals = Vec::new();
        let mut published = Vec::new();
        for configuration in [STALE, CORRECTED] {
            let (file, names) = system(roles, &table_4(case.name), &configuration, H)?;
            published.push((configuration.name, file));
            signals = names;
        }
        Ok(Comparison::new(case.name, signals, published, H))
    });
    compared.collect()
}

pub(super) fn crane_energy(roles: &RoleAssignment) -> ComparedSystems {
    use crane::{BENCHMARK, CORRECTED, steps, system};
    let compared = BENCHMARK.cases.iter().map(|case| {
        let steps = steps(case.name);
        let mut signals = Vec::new();
        let mut published = Vec::new();
        for configuration in [STALE, CORRECTED] {
            let (file, names) = system(roles, steps, &configuration)?;
            published.push((configuration.name, file));
            signals = names;
        }
        // Angles, rates, the cylinder's length and its rate; its force follows them at once.
        signals.truncate(6);
        Ok(Comparison::new(
            case.name,
            signals,
            published,
            steps.cylinder,
        ))
    });
    compared.collect()
}

pub(super) fn dual_mass(roles: &RoleAssignment) -> ComparedSystems {
    const NAMES: [&str; 4] = ["figure 7", "figure 8", "figure 9", "figure 10"];
    let signals = || ["velocity.v", "force.F"].map(str::to_owned).to_vec();
    let compared = NAMES.into_iter().enumerate().map(|(figure, name)| {
        let published = dual_mass::published_files(roles, figure)?;
        Ok(Comparison::new(
            name,
            signals(),
            published,
            dual_mass::MICRO_STEP,
        ))
    });
    compared.collect()
}

/// Names of the cranes with both formulations and both couplings.
#[rustfmt::skip]
const CRANE_ROWS: [[&str; 4]; 4] = [
    ["single-b, ALI1, force", "single-b, ALI1, pressure", "single-b, ALI3-P, force", "single-b, ALI3-P, pressure"],
    ["double-b, ALI1, force", "double-b, ALI1, pressure", "double-b, ALI3-P, force", "double-b, ALI3-P, pressure"],
    ["single-a, ALI1, force", "single-a, ALI1, pressure", "single-a, ALI3-P, force", "single-a, ALI3-P, pressure"],
    ["double-a, ALI1, force", "double-a, ALI1, pressure", "double-a, ALI3-P, force", "double-a, ALI3-P, pressure"],
];

const PREDICTIONS: [(&str, Prediction); 3] = [
    ("p1", Prediction::Polynomial(1)),
    ("p2", Prediction::Polynomial(2)),
    ("IM", Prediction::InterfaceModel),
];

pub(super) fn cranes(roles: &RoleAssignment) -> ComparedSystems {
    let mut compared = Vec::new();
    for ((_, crane), names) in CRANES.iter().zip(CRANE_ROWS) {
        let mut names = names.into_iter();
        for formulation in [Formulation::IndexOne, Formulation::IndexThree] {
            for (coupling, name) in [Coupling::Force, Coupling::Pressure]
                .into_iter()
                .zip(&mut names)
            {
                let file = |(name, prediction): (&'static str, Prediction)| {
                    let setup = Setup {
                        crane: *crane,
                        formulation,
                        coupling,
                        prediction,
                        solver: Solver::Euler,
                        tenths: 10,
                    };
                    Ok((name, setup.system(roles)?))
                };
                let published: Result<Vec<(&str, SystemFile)>, RoleError> =
                    PREDICTIONS.into_iter().map(file).collect();
                let actuators = 1..=crane.actuators;
                let signals = actuators.flat_map(|actuator| {
                    ["s", "v"].map(|port| format!("mechanics.{port}{actuator}"))
                });
                compared.push(Comparison::new(
                    name,
                    signals.collect(),
                    published?,
                    CIRCUIT_STEP,
                ));
            }
        }
    }
    Ok(compared)
}
