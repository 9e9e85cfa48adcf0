//! Cranes with one and two hydraulic actuators: Rahikainen et al. (2020), and beyond it.

mod accuracy;
pub(crate) mod impulse;
mod rodriguez;
pub(crate) mod run;
pub(crate) mod setup;
pub(crate) mod sweep;

use fmu_models::{Crane, Throttle};

use crate::benchmark::{Benchmark, Case, MeasureError, Progress};
use crate::crane;
use crate::figures;
use crate::role::{Cast, Role};
use run::Workshop;

pub(crate) const MECHANICS: Role = Role {
    name: "mechanics",
    model: "CraneMechanics",
    summary: "the two links of the crane with the pistons of its actuators, with the parameters of tables 1 and 2",
    ports: &[
        ("f1", "N", "force of actuator 1, positive outwards"),
        ("f2", "N", "force of actuator 2"),
        ("p11", "Pa", "pressure on the piston's side of actuator 1"),
        ("p12", "Pa", "pressure on the rod's side of actuator 1"),
        ("p21", "Pa", "pressure on the piston's side of actuator 2"),
        ("p22", "Pa", "pressure on the rod's side of actuator 2"),
        ("s1", "m", "length of actuator 1"),
        ("v1", "m/s", "rate of s1"),
        ("s2", "m", "length of actuator 2"),
        ("v2", "m/s", "rate of s2"),
        ("inverse_mass_11", "1/kg", "∂v̇1/∂f1"),
        ("inverse_mass_12", "1/kg", "∂v̇1/∂f2"),
        ("inverse_mass_22", "1/kg", "∂v̇2/∂f2"),
        (
            "free_acceleration_1",
            "m/s2",
            "v̇1 without any force of the actuators",
        ),
        (
            "free_acceleration_2",
            "m/s2",
            "v̇2 without any force of the actuators",
        ),
        ("energy", "J", "kinetic and potential energy"),
        ("constraint", "", "greatest violation of the constraints"),
    ],
    parameters: &[
        ("actuators", "", "how many actuators act, 1 or 2"),
        (
            "coupling",
            "",
            "enumeration: force, or pressure with friction and dampers in the mechanics",
        ),
        ("formulation", "", "enumeration: index-1, index-3"),
        (
            "restart",
            "",
            "each step starts from the acceleration under its own inputs",
        ),
    ],
};

pub(crate) const CIRCUIT: Role = Role {
    name: "circuit",
    model: "HydraulicCircuit",
    summary: "the hydraulic circuit of an actuator with its spool program, with the parameters of table 2, at first in equilibrium",
    ports: &[
        ("s", "m", "length of the actuator"),
        ("v", "m/s", "rate of the actuator's length"),
        ("f", "N", "force of the actuator, positive outwards"),
        ("p1", "Pa", "pressure on the piston's side"),
        ("p2", "Pa", "pressure on the rod's side"),
    ],
    parameters: &[
        (
            "integrator",
            "",
            "enumeration: euler, runge-kutta-4, trapezoidal",
        ),
        ("spool_program", "", "enumeration: input, first, second"),
        ("load", "N", "force that it holds at the start"),
        (
            "l1_start",
            "m",
            "initial length of the chamber on the piston's side",
        ),
        (
            "l2_start",
            "m",
            "initial length of the chamber on the rod's side",
        ),
        ("s_start", "m", "initial length of the actuator"),
        ("throttle_diameter", "m", "diameter of the throttle"),
        ("v_h1", "m3", "volume of hose 1"),
        ("v_h2", "m3", "volume of hose 2"),
        ("v_h3", "m3", "volume of hose 3"),
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
        Case {
            name: "single-b",
            summary: "one actuator, throttle 2.5 mm",
        },
        Case {
            name: "double-b",
            summary: "two actuators, throttle 2.5 mm",
        },
        Case {
            name: "single-a",
            summary: "one actuator, throttle 6 mm",
        },
        Case {
            name: "double-a",
            summary: "two actuators, throttle 6 mm",
        },
        Case {
            name: RODRIGUEZ,
            summary: "the crane of Rodríguez et al. 2022 with ALI1 and linear extrapolation",
        },
        Case {
            name: max_step!("single-b"),
            summary: "the largest macro-step of each configuration of single-b",
        },
        Case {
            name: max_step!("double-b"),
            summary: "the same of double-b",
        },
        Case {
            name: max_step!("single-a"),
            summary: "the same of single-a",
        },
        Case {
            name: max_step!("double-a"),
            summary: "the same of double-a",
        },
    ],
    measure,
    figures: figures::cranes::figures,
};

const RODRIGUEZ: &str = "rodriguez";

fn measure(cast: &Cast, case: &'static Case, progress: &Progress<'_>) -> Result<(), MeasureError> {
    let workshop = Workshop::new(cast);
    let (is_sweep, name) = match case.name.strip_prefix(MAX_STEP) {
        Some(name) => (true, name),
        None => (false, case.name),
    };
    if name == RODRIGUEZ {
        return rodriguez::measure(cast, progress);
    }
    let Some((_, crane)) = CRANES.iter().find(|(known, _)| *known == name) else {
        return Ok(());
    };
    if progress.is_foreign() {
        let plays = cast.is_foreign(&[MECHANICS, CIRCUIT]);
        return if is_sweep || !plays {
            Ok(())
        } else {
            accuracy::measure_foreign(&workshop, *crane, progress)
        };
    }
    if is_sweep {
        sweep::measure(&workshop, *crane, progress)?;
        Ok(())
    } else {
        accuracy::measure(&workshop, *crane, progress)?;
        impulse::measure(&workshop, *crane, progress)
    }
}
