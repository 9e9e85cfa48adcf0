//! The quarter car on a road that steps up: Sadjina & Pedersen (2019), section 5, tables 4 to 9,
//! and beyond it.
//!
//! Chassis and wheel are cut above (reticulation 1) or below (2) the suspension, with a linear or a
//! square-root damper; halves are integrated by forward Euler. Rows: number of steps, mean error of
//! the power through the cut (eq. 15a) and residual energy (eq. 15b) with hold, NEPCE and ECCO,
//! against the exact solution. Limit: eq. 15b counts held inputs twice, so the integrated energy
//! stands beside it (docs/energy-sums.md).

use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::figures;
use crate::quarter_car_run::CUTS;
use crate::role::{Role, RoleAssignment};
use crate::{quarter_car_better, quarter_car_robustness, quarter_car_tables};

const CHASSIS: Role = Role {
    name: "chassis",
    model: "QuarterCarChassis",
    summary: "the mass of the chassis, lifted by the suspension force; reticulation 1",
    ports: &["F", "v_c"],
    parameters: &["m_c", "micro_steps", "integrator"],
};

const WHEEL_SUSPENSION: Role = Role {
    name: "wheel-suspension",
    model: "QuarterCarWheelSuspension",
    summary: "wheel on its tyre, with spring and damper to the chassis; reticulation 1",
    ports: &["v_c", "F"],
    parameters: &[
        "m_w",
        "k_w",
        "k_c",
        "d_c",
        "damper_exponent",
        "road_step",
        "second_road_step",
        "second_road_time",
        "micro_steps",
        "integrator",
    ],
};

pub(crate) const CHASSIS_SUSPENSION: Role = Role {
    name: "chassis-suspension",
    model: "QuarterCarChassisSuspension",
    summary: "chassis, with spring and damper to the wheel; reticulation 2",
    ports: &["v_w", "F"],
    parameters: &[
        "m_c",
        "k_c",
        "d_c",
        "damper_exponent",
        "micro_steps",
        "integrator",
    ],
};

pub(crate) const WHEEL: Role = Role {
    name: "wheel",
    model: "QuarterCarWheel",
    summary: "wheel on its tyre, pressed down by the suspension force; reticulation 2",
    ports: &["F", "v_w"],
    parameters: &[
        "m_w",
        "k_w",
        "road_step",
        "second_road_step",
        "second_road_time",
        "micro_steps",
        "integrator",
    ],
};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "quarter-car",
    summary: "a quarter car on a road that steps up, cut above or below its suspension: NEPCE and ECCO",
    source: "Sadjina & Pedersen 2019, section 5, tables 4 to 9",
    roles: &[CHASSIS, WHEEL_SUSPENSION, CHASSIS_SUSPENSION, WHEEL],
    cases: &[
        Case::new(
            "lin1",
            "linear damper, reticulation 1 (the chassis apart), tables 4 and 6",
        ),
        Case::new(
            "lin2",
            "linear damper, reticulation 2 (the wheel apart), tables 5 and 7",
        ),
        Case::new("nl1", "square-root damper, reticulation 1, table 8"),
        Case::new("nl2", "square-root damper, reticulation 2, table 9"),
    ],
    measure,
    figures: figures::quarter_car::figures,
    conclude: nothing_more,
};

/// The roles of S1 and S2 in a reticulation.
pub(crate) fn halves(reticulation: u32) -> [&'static Role; 2] {
    if reticulation == 1 {
        [&CHASSIS, &WHEEL_SUSPENSION]
    } else {
        [&CHASSIS_SUSPENSION, &WHEEL]
    }
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let Some(cut) = CUTS.iter().find(|cut| cut.name == case.name) else {
        return Ok(());
    };
    if progress.is_foreign() {
        return quarter_car_tables::measure_foreign(roles, cut, progress);
    }
    quarter_car_tables::measure(roles, cut, progress)?;
    quarter_car_better::measure(roles, cut, progress)?;
    quarter_car_robustness::measure(roles, cut, progress)
}
