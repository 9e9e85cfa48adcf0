//! An electric power steering, from the steering column to the rack.

use std::f64::consts::PI;

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

start_values! {
    /// Column, motor and rack, joined by an elastic torsion bar and an elastic belt, with friction after
    /// LuGre at column and rack.
    ///
    /// The equations are 17 and 18 of Chen et al. (2021) with g(v) = Fc. Their parameters (table 5) are not
    /// public: those here are a stand-in of the same kind, stiff and weakly damped.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct EpasSteering {
        torque_amplitude: f64 = 2.5,
        torque_frequency: f64 = 1.0,
        motor_torque: f64,
        rack_force: f64,
        pinion_torque: f64,
        state: SteeringState,
    }
}

/// Angles and rates of column and motor, rad and rad/s; position and velocity of the rack, m and m/s;
/// bristles of the frictions of column and rack, rad and m.
pub type SteeringState = [f64; 8];

/// Inertia of the column, kg·m², and of the motor; mass of the rack, kg.
const COLUMN: f64 = 0.035;
const MOTOR: f64 = 5e-5;
const RACK: f64 = 3.0;
/// Torsion bar, N·m/rad and N·m·s/rad.
const BAR: [f64; 2] = [115.0, 0.35];
/// Belt, N·m/rad and N·m·s/rad.
const BELT: [f64; 2] = [3.0, 6e-4];
/// Rack travel per angle of the pinion, m/rad.
const PINION: f64 = 0.00875;
/// Rack travel per angle of the motor, m/rad: belt 2.75 : 1 and a ball screw of 7 mm a turn.
pub(crate) const MOTOR_TO_RACK: f64 = 0.007 / (2.0 * PI) / 2.75;

/// Friction after LuGre with a constant Coulomb force.
struct Friction {
    coulomb: f64,
    stiffness: f64,
    micro_damping: f64,
    viscous: f64,
}

const COLUMN_FRICTION: Friction = Friction {
    coulomb: 0.15,
    stiffness: 30.0,
    micro_damping: 0.05,
    viscous: 0.08,
};
const RACK_FRICTION: Friction = Friction {
    coulomb: 150.0,
    stiffness: 1.5e5,
    micro_damping: 400.0,
    viscous: 300.0,
};

impl Friction {
    /// The force, and the rate of the bristle's deflection (eq. 18).
    fn force(&self, bristle: f64, velocity: f64) -> (f64, f64) {
        let rate = velocity - self.stiffness * bristle / self.coulomb * velocity.abs();
        let force = self.stiffness * bristle + self.micro_damping * rate + self.viscous * velocity;
        (force, rate)
    }
}

/// Time over which the frequency of the steering torque grows to its greatest, s.
const SWEEP: f64 = 20.0;

/// Torque at the steering wheel, N·m: a sine whose frequency grows to `frequency` Hz in 20 s.
#[must_use]
pub fn steering_torque(amplitude: f64, frequency: f64, time: f64) -> f64 {
    amplitude * (PI * frequency * time * time / SWEEP).sin()
}

/// Torque of the torsion bar, N·m.
#[must_use]
pub fn pinion_torque(state: &SteeringState) -> f64 {
    let [angle, rate, _, _, position, velocity, ..] = *state;
    BAR[0] * (angle - position / PINION) + BAR[1] * (rate - velocity / PINION)
}

/// Rates of the states (eq. 17) under the torques of driver and motor, N·m, and the force of the
/// vehicle on the rack, N.
#[must_use]
pub fn steering_rates(
    state: &SteeringState,
    driver: f64,
    motor_torque: f64,
    rack_force: f64,
) -> SteeringState {
    let [
        _,
        column_rate,
        motor,
        motor_rate,
        position,
        velocity,
        column_bristle,
        rack_bristle,
    ] = *state;
    let pinion = pinion_torque(state);
    let belt = BELT[0] * (motor - position / MOTOR_TO_RACK)
        + BELT[1] * (motor_rate - velocity / MOTOR_TO_RACK);
    let (column_friction, column_bristle_rate) = COLUMN_FRICTION.force(column_bristle, column_rate);
    let (rack_friction, rack_bristle_rate) = RACK_FRICTION.force(rack_bristle, velocity);
    [
        column_rate,
        (driver - pinion - column_friction) / COLUMN,
        motor_rate,
        (motor_torque - belt) / MOTOR,
        velocity,
        (pinion / PINION + belt / MOTOR_TO_RACK - rack_force - rack_friction) / RACK,
        column_bristle_rate,
        rack_bristle_rate,
    ]
}

impl Model for EpasSteering {
    const NAME: &'static str = "EpasSteering";
    const DESCRIPTION: &'static str =
        "Electric power steering with friction, a stand-in with parameters of its own";
    const INTEGRATOR: Integrator = Integrator::RungeKutta4;
    const INTERPOLATES_INPUTS: bool = true;
    const STEP_SIZE: f64 = 2.5e-4;
    const STOP_TIME: f64 = 20.0;

    fn variables() -> Vec<Variable<Self>> {
        variables! { EpasSteering:
            input_real "motor_torque" = motor_torque in NEWTON_METRE, "torque of the motor";
            input_real "F" = rack_force in NEWTON, "force of the vehicle on the rack";
            output_real "v" = state[5] in METRE_PER_SECOND, "velocity of the rack";
            output_real "pinion_torque" = pinion_torque in NEWTON_METRE,
                "torque of the torsion bar, as its sensor has it";
            output_real "motor_speed" = state[3] in RADIAN_PER_SECOND, "rate of the motor";
            output_real "angle" = state[0] in RADIAN, "angle of the steering column";
            parameter_real "torque_amplitude" = torque_amplitude in NEWTON_METRE,
                "amplitude of the driver's torque";
            parameter_real "torque_frequency" = torque_frequency in HERTZ,
                "frequency of the driver's torque after 20 s, from 0";
        }
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = [0.0; 8];
        Ok(())
    }

    fn derivatives(&self, time: f64, rates: &mut [f64]) {
        let driver = steering_torque(self.torque_amplitude, self.torque_frequency, time);
        let new = steering_rates(&self.state, driver, self.motor_torque, self.rack_force);
        rates.copy_from_slice(&new);
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.pinion_torque = pinion_torque(&self.state);
        Ok(())
    }
}
