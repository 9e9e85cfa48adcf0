//! The control unit of an electric power steering.

use fmu_kit::{Fault, Model, Variable, variables};
use serde::{Deserialize, Serialize};

use crate::epas_steering::MOTOR_TO_RACK;

/// Assists the driver by the torque of the torsion bar, filtered, with lead and damping, in samples
/// of 1 ms; the torque follows the newest sample at once (direct feed-through).
///
/// A stand-in for the supplier's control unit of Chen et al. (2021), section 4.2, which is not public.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct EpasController {
    pinion_torque: f64,
    motor_speed: f64,
    motor_torque: f64,
    /// The filtered torque of the last sample, N·m.
    filtered: [f64; 1],
}

/// Time between samples, s.
const SAMPLE: f64 = 1e-3;
/// Time constant of the filter, s.
const FILTER: f64 = 4e-3;
/// Force at the rack per torque of the bar, N/(N·m), and per its rate, N·s/(N·m).
const GAIN: f64 = 250.0;
const LEAD: f64 = 3.0;
/// Damping of the motor, N·m·s/rad.
const DAMPING: f64 = 0.004;
/// Greatest torque of the motor, N·m.
const GREATEST: f64 = 4.0;

/// The filtered torque of the bar, N·m, one sample later.
#[must_use]
pub fn controller_filter(filtered: f64, pinion_torque: f64) -> f64 {
    filtered + SAMPLE / (FILTER + SAMPLE) * (pinion_torque - filtered)
}

/// The motor's torque, N·m, for a sample of the torque of the bar, N·m, and of the motor's rate, rad/s,
/// given the filtered torque of the sample before.
#[must_use]
pub fn controller_torque(filtered: f64, pinion_torque: f64, motor_speed: f64) -> f64 {
    let new = controller_filter(filtered, pinion_torque);
    let rate = (new - filtered) / SAMPLE;
    let torque = MOTOR_TO_RACK * (GAIN * new + LEAD * rate) - DAMPING * motor_speed;
    torque.clamp(-GREATEST, GREATEST)
}

impl Model for EpasController {
    const NAME: &'static str = "EpasController";
    const DESCRIPTION: &'static str =
        "Control unit of an electric power steering, a stand-in with a law of its own";
    const STEP_SIZE: f64 = SAMPLE;
    const STOP_TIME: f64 = 20.0;

    fn variables() -> Vec<Variable<Self>> {
        variables! { EpasController:
            input_real "pinion_torque" = pinion_torque in NEWTON_METRE, "torque of the torsion bar";
            input_real "motor_speed" = motor_speed in RADIAN_PER_SECOND, "rate of the motor";
            output_real "motor_torque" = motor_torque in NEWTON_METRE, "torque of the motor",
                depends_on(&["pinion_torque", "motor_speed"]);
        }
    }

    // A sampled state, saved and restored with the continuous ones; its rate is 0.
    fn state(&mut self) -> &mut [f64] {
        &mut self.filtered
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.filtered = [0.0];
        Ok(())
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        let [filtered] = self.filtered;
        self.motor_torque = controller_torque(filtered, self.pinion_torque, self.motor_speed);
        Ok(())
    }

    fn after_step(&mut self, _start: f64, _end: f64) -> Result<(), Fault> {
        let [filtered] = self.filtered;
        self.filtered = [controller_filter(filtered, self.pinion_torque)];
        Ok(())
    }
}
