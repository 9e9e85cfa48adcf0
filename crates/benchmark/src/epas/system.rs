//! Steering, control unit and vehicle in one process.

use fmu_models::{
    SteeringState, TieRod, VehicleState, controller_filter, controller_torque, pinion_torque,
    steering_rates, steering_torque, vehicle_rates,
};

use crate::channel::{Channel, Steps};

/// Step of Runge-Kutta 4 in the steering, and everywhere in the reference, s.
const FINE_STEP: f64 = 2.5e-4;
/// Step of the vehicle and of the control unit, s.
const COARSE_STEP: f64 = 1e-3;
/// Fine steps in a coarse one.
const FINE_PARTS: u32 = 4;
/// Macro-step between steering and vehicle, s, and its fine steps.
pub(crate) const MACRO_STEP: f64 = 0.02;
const MACRO_PARTS: u32 = 80;
/// Simulated time, s.
const STOP: f64 = 20.0;
/// Amplitude of the driver's torque, N·m.
const TORQUE: f64 = 2.5;

/// Steps of the channel to the vehicle, and of the one back.
pub(crate) const TO_VEHICLE: Steps = Steps {
    exchange: MACRO_STEP,
    sender: FINE_STEP,
    receiver: COARSE_STEP,
};
pub(crate) const TO_STEERING: Steps = Steps {
    exchange: MACRO_STEP,
    sender: COARSE_STEP,
    receiver: FINE_STEP,
};

/// Angle of the column, velocity of the rack, yaw rate, lateral velocity, force on the rack.
pub(crate) type Sample = [f64; 5];

/// A manoeuvre of a vehicle.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Manoeuvre {
    pub(crate) tie_rod: TieRod,
    /// Frequency of the driver's torque at the end, Hz.
    pub(crate) frequency: f64,
}

/// The control unit: its filter, and the torque that it holds until its next sample.
#[derive(Default)]
struct Controller {
    filtered: f64,
    torque: f64,
}

impl Controller {
    fn sample(&mut self, steering: &SteeringState) {
        let (pinion, motor_speed) = (pinion_torque(steering), steering[3]);
        self.torque = controller_torque(self.filtered, pinion, motor_speed);
        self.filtered = controller_filter(self.filtered, pinion);
    }
}

/// One step of the classic method of order 4; `rates` are given times since the step's start.
fn runge_kutta_4<const N: usize>(
    state: &mut [f64; N],
    step: f64,
    rates: impl Fn(f64, &[f64; N]) -> [f64; N],
) {
    let moved = |by: f64, rates: &[f64; N]| -> [f64; N] {
        std::array::from_fn(|index| state[index] + by * rates[index])
    };
    let half = 0.5 * step;
    let first = rates(0.0, state);
    let second = rates(half, &moved(half, &first));
    let third = rates(half, &moved(half, &second));
    let fourth = rates(step, &moved(step, &third));
    for index in 0..N {
        let sum = first[index] + 2.0 * (second[index] + third[index]) + fourth[index];
        state[index] += step / 6.0 * sum;
    }
}

fn sample(steering: &SteeringState, vehicle: &VehicleState, force: f64) -> Sample {
    [steering[0], steering[5], vehicle[4], vehicle[3], force]
}

fn split(state: &[f64; 15]) -> (SteeringState, VehicleState) {
    (
        std::array::from_fn(|index| state[index]),
        std::array::from_fn(|index| state[8 + index]),
    )
}

impl Manoeuvre {
    fn driver(&self, time: f64) -> f64 {
        steering_torque(TORQUE, self.frequency, time)
    }

    fn steps() -> u32 {
        (STOP / FINE_STEP).round() as u32
    }

    /// Steering and vehicle as one system, at each millisecond.
    pub(crate) fn reference(&self) -> Vec<Sample> {
        let mut state = [0.0; 15];
        let mut controller = Controller::default();
        let mut samples = Vec::new();
        for step in 0..=Self::steps() {
            if step.is_multiple_of(FINE_PARTS) {
                let (steering, vehicle) = split(&state);
                let force = self.tie_rod.force(&vehicle, steering[5]);
                samples.push(sample(&steering, &vehicle, force));
                controller.sample(&steering);
            }
            let (start, torque) = (f64::from(step) * FINE_STEP, controller.torque);
            runge_kutta_4(&mut state, FINE_STEP, |since, state| {
                let (steering, vehicle) = split(state);
                let velocity = steering[5];
                let force = self.tie_rod.force(&vehicle, velocity);
                let of_steering =
                    steering_rates(&steering, self.driver(start + since), torque, force);
                let of_vehicle = vehicle_rates(&vehicle, &self.tie_rod, velocity);
                std::array::from_fn(|index| {
                    if index < 8 {
                        of_steering[index]
                    } else {
                        of_vehicle[index - 8]
                    }
                })
            });
        }
        samples
    }

    /// Both coupled every 20 ms over the channels of velocity and force, at each millisecond. The
    /// force that is sent belongs to the velocity that the vehicle had until then.
    pub(crate) fn coupled(&self, mut velocity: Channel, mut force: Channel) -> Vec<Sample> {
        let (mut steering, mut vehicle) = (SteeringState::default(), VehicleState::default());
        let mut controller = Controller::default();
        let mut samples = Vec::new();
        for step in 0..=Self::steps() {
            if step.is_multiple_of(MACRO_PARTS) {
                let stale = self.tie_rod.force(&vehicle, velocity.value(1.0));
                velocity.send(steering[5]);
                force.send(stale);
            }
            // Parts of a macro-step since the exchange, and per second.
            let place = f64::from(step % MACRO_PARTS) / f64::from(MACRO_PARTS);
            let at = |since: f64| place + since / MACRO_STEP;
            if step.is_multiple_of(FINE_PARTS) {
                samples.push(sample(&steering, &vehicle, force.value(place)));
                controller.sample(&steering);
                force.advance_sender(self.tie_rod.force(&vehicle, velocity.value(place)));
                runge_kutta_4(&mut vehicle, COARSE_STEP, |since, state| {
                    vehicle_rates(state, &self.tie_rod, velocity.value(at(since)))
                });
                velocity.advance_receiver();
            }
            velocity.advance_sender(steering[5]);
            let (start, torque) = (f64::from(step) * FINE_STEP, controller.torque);
            runge_kutta_4(&mut steering, FINE_STEP, |since, state| {
                let driver = self.driver(start + since);
                steering_rates(state, driver, torque, force.value(at(since)))
            });
            force.advance_receiver();
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `reference/epas_stand_in.py`, with the same stand-in parameters, at t = 10 s.
    #[test]
    fn the_reference_is_that_of_the_reproduction() {
        let tie_rod = TieRod {
            stiffness: 8e5,
            damping: 700.0,
        };
        #[rustfmt::skip]
        let expected = [
            (1.0, [0.28543, -0.01004, 0.08836, -0.07798, 474.640]),
            (3.0, [0.33410, -0.00320, 0.05785, 0.06100, 373.566]),
        ];
        for (frequency, expected) in expected {
            let sample = Manoeuvre { tie_rod, frequency }.reference()[10_000];
            for (index, (found, expected)) in sample.iter().zip(expected).enumerate() {
                let digit = if index == 4 { 1e-3 } else { 1e-5 };
                assert!((found - expected).abs() < digit, "{frequency}: {sample:?}");
            }
        }
    }
}
