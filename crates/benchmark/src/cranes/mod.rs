//! Cranes with one and two hydraulic actuators: Rahikainen et al. (2020), figs 8 to 17, and beyond
//! it.
//!
//! A multibody system and its hydraulic circuits are coupled by force or pressure, with polynomials
//! or an interface model for the circuits' inputs. Rows: largest macro-steps of 64 configurations,
//! energy and accuracy at 1 ms, and macro-steps of 50 ms with equal impulses (own). A macro-step is
//! too large if the sum of the residual energy's magnitudes (eqs 21–24) exceeds three times its
//! linear growth. Limit: the paper's hose cannot be integrated as printed; variants A and B stand
//! for it (docs/benchmarks.md).

mod accuracy;
pub(crate) mod impulse;
mod robustness;
mod rodriguez;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod sweep;

use fmu_models::{Crane, Throttle};

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::crane;
use crate::figures;
use crate::role::{Role, RoleAssignment};
use run::FmuPool;

pub(crate) const MECHANICS: Role = Role {
    name: "mechanics",
    model: "CraneMechanics",
    summary: "the two links of the crane with the pistons of its actuators, with the parameters of tables 1 and 2",
    ports: &[
        "f1",
        "f2",
        "p11",
        "p12",
        "p21",
        "p22",
        "s1",
        "v1",
        "s2",
        "v2",
        "inverse_mass_11",
        "inverse_mass_12",
        "inverse_mass_22",
        "free_acceleration_1",
        "free_acceleration_2",
        "energy",
        "constraint",
    ],
    parameters: &[
        "actuators",
        "coupling",
        "formulation",
        "restart",
        "m_p",
        "m_h",
        "piston1.c",
        "piston2.c",
    ],
};

pub(crate) const CIRCUIT: Role = Role {
    name: "circuit",
    model: "HydraulicCircuit",
    summary: "the hydraulic circuit of an actuator with its spool program, with the parameters of table 2, at first in equilibrium",
    ports: &["s", "v", "f", "p1", "p2"],
    parameters: &[
        "integrator",
        "spool_program",
        "load",
        "l1_start",
        "l2_start",
        "s_start",
        "throttle_diameter",
        "c",
        "v_h1",
        "v_h2",
        "v_h3",
    ],
};

/// The cylinder of Rodríguez et al. (2022), whose force at a communication point is that under the velocity predicted for it.
pub(crate) const CYLINDER: Role = Role {
    model: "InterpolatingCraneCylinder",
    summary: "the cylinder of Rodríguez et al. 2022 with its valve, which takes derivatives of its inputs",
    ..crane::CYLINDER
};

/// The single and the double crane, with the circuits of each variant, by the names of their cases.
pub(crate) const CRANES: [(&str, Crane); 4] = [
    (
        "single-b",
        Crane {
            actuators: 1,
            throttle: Throttle::Narrow,
        },
    ),
    (
        "double-b",
        Crane {
            actuators: 2,
            throttle: Throttle::Narrow,
        },
    ),
    (
        "single-a",
        Crane {
            actuators: 1,
            throttle: Throttle::Wide,
        },
    ),
    (
        "double-a",
        Crane {
            actuators: 2,
            throttle: Throttle::Wide,
        },
    ),
];

/// Name of the case that looks for the largest macro-steps of a crane.
macro_rules! max_step {
    ($crane:literal) => {
        concat!("max-step-", $crane)
    };
}

/// How the names of these cases begin.
pub(crate) const MAX_STEP: &str = max_step!("");

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "crane",
    summary: "cranes with one and two hydraulic actuators, which step up to 500 times faster: largest macro-steps, interface models",
    source: "Rahikainen et al. 2020; circuits of variant A: Project Chrono",
    roles: &[MECHANICS, CIRCUIT, CYLINDER],
    cases: &[
        Case::new("single-b", "one actuator, throttle 2.5 mm"),
        Case::new("double-b", "two actuators, throttle 2.5 mm"),
        Case::new("single-a", "one actuator, throttle 6 mm"),
        Case::new("double-a", "two actuators, throttle 6 mm"),
        Case::new(
            robustness::CRANES[0].0,
            "two actuators with less friction and heavier masses: macro-steps that hold with displacement correction",
        ),
        Case::new(
            robustness::CRANES[1].0,
            "the same with a sixth of the friction: the greatest speed at all macro-steps",
        ),
        Case::new(
            RODRIGUEZ,
            "the crane of Rodríguez et al. 2022 with ALI1 and linear extrapolation",
        ),
        Case::new(
            max_step!("single-b"),
            "the largest macro-step of each configuration of single-b",
        ),
        Case::new(max_step!("double-b"), "the same of double-b"),
        Case::new(max_step!("single-a"), "the same of single-a"),
        Case::new(max_step!("double-a"), "the same of double-a"),
    ],
    measure,
    figures: figures::cranes::figures,
    conclude: nothing_more,
};

const RODRIGUEZ: &str = "rodriguez";

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let pool = FmuPool::new(roles);
    let (is_sweep, name) = match case.name.strip_prefix(MAX_STEP) {
        Some(name) => (true, name),
        None => (false, case.name),
    };
    if name == RODRIGUEZ {
        return rodriguez::measure(roles, progress);
    }
    let mut less_friction = robustness::CRANES.iter();
    if let Some((_, throttle)) = less_friction.find(|(known, _)| *known == name) {
        return match progress.is_foreign() {
            true => Ok(()),
            false => robustness::measure(&pool, *throttle, progress),
        };
    }
    let Some((_, crane)) = CRANES.iter().find(|(known, _)| *known == name) else {
        return Ok(());
    };
    if progress.is_foreign() {
        let plays = roles.is_foreign(&[MECHANICS, CIRCUIT]);
        return if is_sweep || !plays {
            Ok(())
        } else {
            accuracy::measure_foreign(&pool, *crane, progress)
        };
    }
    if is_sweep {
        sweep::measure(&pool, *crane, progress)?;
        Ok(())
    } else {
        accuracy::measure(&pool, *crane, progress)?;
        impulse::measure(&pool, *crane, progress)
    }
}
