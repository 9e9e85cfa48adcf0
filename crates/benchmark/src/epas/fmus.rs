//! Steering, control unit and vehicle as FMUs under the engine.

use gyrator_system::Value;

use super::system::{MACRO_STEP, Manoeuvre};
use crate::assembly::{Assembly, Place};
use crate::benchmark::MeasureError;
use crate::recording::Recording;
use crate::role::{Role, RoleAssignment};

pub(crate) const STEERING: Role = Role {
    name: "steering",
    model: "EpasSteering",
    summary: "steering column, motor and rack with friction; a stand-in",
    ports: &[
        "motor_torque",
        "F",
        "v",
        "pinion_torque",
        "motor_speed",
        "angle",
    ],
    parameters: &["torque_frequency"],
};

pub(crate) const CONTROLLER: Role = Role {
    name: "controller",
    model: "EpasController",
    summary: "control unit in samples of 1 ms; a stand-in",
    ports: &["pinion_torque", "motor_speed", "motor_torque"],
    parameters: &[],
};

pub(crate) const VEHICLE: Role = Role {
    name: "vehicle",
    model: "EpasVehicle",
    summary: "single-track vehicle with an elastic tie rod; a stand-in",
    ports: &["v", "F"],
    parameters: &["stiffness", "damping"],
};

/// How the vehicle is coupled.
pub(crate) struct Setup {
    /// Name in the table.
    pub(crate) name: &'static str,
    /// Extrapolation of the rack's velocity.
    pub(crate) extrapolation: &'static str,
    /// Exchange of the force.
    pub(crate) exchange: &'static str,
}

/// Angle of the column and velocity of the rack at each millisecond.
pub(crate) fn course(
    roles: &RoleAssignment,
    manoeuvre: &Manoeuvre,
    setup: &Setup,
) -> Result<Vec<[f64; 2]>, MeasureError> {
    const STEP: f64 = 1e-3;
    let mut assembly = Assembly::new(roles, STEP, 20.0);
    let place = |name, role, inner_step, exchange| Place {
        name,
        role,
        step: STEP,
        inner_step,
        extrapolation: "hold",
        exchange,
    };
    let frequency = [("torque_frequency", Value::Real(manoeuvre.frequency))];
    assembly.add(place("steering", &STEERING, 2.5e-4, "stale"), &frequency)?;
    assembly.add(place("controller", &CONTROLLER, STEP, "fresh"), &[])?;
    let vehicle = Place {
        step: MACRO_STEP,
        extrapolation: setup.extrapolation,
        ..place("vehicle", &VEHICLE, STEP, setup.exchange)
    };
    let tie_rod = [
        ("stiffness", Value::Real(manoeuvre.tie_rod.stiffness)),
        ("damping", Value::Real(manoeuvre.tie_rod.damping)),
    ];
    assembly.add(vehicle, &tie_rod)?;
    for port in ["pinion_torque", "motor_speed"] {
        assembly.connect(&format!("steering.{port}"), &format!("controller.{port}"));
    }
    assembly.connect("controller.motor_torque", "steering.motor_torque");
    let axis = [("vehicle.F", "steering.F"), ("steering.v", "vehicle.v")];
    // The force of the vehicle is counted as one on the vehicle.
    assembly.weighted_bond("rack", &[(axis, -1.0)]);
    let names = ["steering.angle", "steering.v"].map(|name| assembly.variable(name));
    let rows = Recording::of(roles, assembly.into_file())?.rows(&names)?;
    Ok(rows.into_iter().map(|row| [row[0], row[1]]).collect())
}
