//! The models behind gyrator's FMUs: benchmarks and test objects, one file a model.
//!
//! Benchmarks use the models as references, tests as units in process, and `cargo xtask fmus` as FMUs. No program
//! `gyrator` is linked with them.
//!
//! To add a model: one file here, one word in [`MODELS`], one example of three lines that exports it.

#![forbid(unsafe_code)]

mod all_types;
mod augmented_lagrangian;
mod crane_cylinder;
mod crane_links;
mod crane_mechanics;
mod crane_reference;
mod crane_structure;
mod dual_mass_force;
mod dual_mass_velocity;
mod epas_controller;
mod epas_steering;
mod epas_vehicle;
mod faulty;
mod hydraulic_circuit;
mod hydraulic_piston;
mod ishigami;
mod oscillator_elements;
mod oscillator_force;
mod oscillator_motion;
mod pendulum_force;
mod pendulum_motion;
mod point_pendulum;
mod quarter_car_chassis;
mod quarter_car_chassis_suspension;
mod quarter_car_elements;
mod quarter_car_reference;
mod quarter_car_wheel;
mod quarter_car_wheel_suspension;
mod spool_program;
mod strict;
mod two_links;

pub use all_types::AllTypes;
pub use crane_cylinder::{CraneCylinder, InterpolatingCraneCylinder};
pub use crane_links::CraneLinks;
pub use crane_mechanics::CraneMechanics;
pub use crane_reference::{Crane, CraneMotion};
pub use dual_mass_force::DualMassForce;
pub use dual_mass_velocity::DualMassVelocity;
pub use epas_controller::{EpasController, controller_filter, controller_torque};
pub use epas_steering::{
    EpasSteering, SteeringState, pinion_torque, steering_rates, steering_torque,
};
pub use epas_vehicle::{EpasVehicle, TieRod, VehicleState, vehicle_rates};
pub use faulty::Faulty;
pub use hydraulic_circuit::{HydraulicCircuit, Throttle};
pub use ishigami::Ishigami;
pub use oscillator_force::OscillatorForce;
pub use oscillator_motion::{OscillatorHub, OscillatorMotion};
pub use pendulum_force::PendulumForce;
pub use pendulum_motion::PendulumMotion;
pub use quarter_car_chassis::QuarterCarChassis;
pub use quarter_car_chassis_suspension::QuarterCarChassisSuspension;
pub use quarter_car_reference::{Motion, QuarterCar};
pub use quarter_car_wheel::QuarterCarWheel;
pub use quarter_car_wheel_suspension::QuarterCarWheelSuspension;
pub use strict::Strict;

use fmu_kit::{Description, Model};

/// A model that is exported as an FMU.
#[derive(Debug, Clone, Copy)]
pub struct ModelInfo {
    /// Name of the model and of its FMU.
    pub name: &'static str,
    /// The example of this package that exports the C functions, a `cdylib`.
    pub example: &'static str,
    /// Makes its `modelDescription.xml`.
    pub describe: fn() -> Description,
    /// Says what is wrong with its variable table.
    pub problems: fn() -> Vec<String>,
}

const fn model<M: Model>(example: &'static str) -> ModelInfo {
    ModelInfo {
        name: M::NAME,
        example,
        describe: fmu_kit::describe::<M>,
        problems: fmu_kit::problems::<M>,
    }
}

/// All models, in alphabetical order.
pub const MODELS: &[ModelInfo] = &[
    model::<AllTypes>("all-types"),
    model::<CraneCylinder>("crane-cylinder"),
    model::<CraneLinks>("crane-links"),
    model::<CraneMechanics>("crane-mechanics"),
    model::<DualMassForce>("dual-mass-force"),
    model::<DualMassVelocity>("dual-mass-velocity"),
    model::<EpasController>("epas-controller"),
    model::<EpasSteering>("epas-steering"),
    model::<EpasVehicle>("epas-vehicle"),
    model::<Faulty>("faulty"),
    model::<HydraulicCircuit>("hydraulic-circuit"),
    model::<InterpolatingCraneCylinder>("interpolating-crane-cylinder"),
    model::<Ishigami>("ishigami"),
    model::<OscillatorForce>("oscillator-force"),
    model::<OscillatorHub>("oscillator-hub"),
    model::<OscillatorMotion>("oscillator-motion"),
    model::<PendulumForce>("pendulum-force"),
    model::<PendulumMotion>("pendulum-motion"),
    model::<QuarterCarChassis>("quarter-car-chassis"),
    model::<QuarterCarChassisSuspension>("quarter-car-chassis-suspension"),
    model::<QuarterCarWheel>("quarter-car-wheel"),
    model::<QuarterCarWheelSuspension>("quarter-car-wheel-suspension"),
    model::<Strict>("strict"),
];

#[cfg(test)]
mod tests {
    use super::MODELS;

    #[test]
    fn tables_are_right() {
        for model in MODELS {
            assert_eq!((model.problems)(), [""; 0], "{}", model.name);
        }
    }

    #[test]
    fn models_are_sorted_and_examples_are_named_after_them() {
        assert!(MODELS.is_sorted_by_key(|model| model.name));
        for model in MODELS {
            let plain = model.example.replace('-', "");
            assert_eq!(plain, model.name.to_lowercase());
        }
    }
}
