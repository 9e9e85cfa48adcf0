//! A vehicle with an elastic link from the steering rack to its front wheels.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

start_values! {
    /// A single-track vehicle at constant speed with relaxing tyres; its front wheels turn about their
    /// pivot, moved by the rack over an elastic tie rod.
    ///
    /// A stand-in for the multibody vehicle of 36487 equations of Chen et al. (2021), section 4.2, which is
    /// not public.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct EpasVehicle {
        tie_rod: TieRod = TieRod {
            stiffness: 7e5,
            damping: 800.0,
        },
        velocity: f64,
        force: f64,
        state: VehicleState,
    }
}

/// Position of the rack, m; angle and rate of the wheels, rad and rad/s; lateral velocity, m/s; yaw
/// rate, rad/s; lateral forces of front and rear tyres, N.
pub type VehicleState = [f64; 7];

/// Stiffness and damping of the tie rod, N/m and N·s/m.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TieRod {
    /// N/m.
    pub stiffness: f64,
    /// N·s/m.
    pub damping: f64,
}

impl TieRod {
    /// The force of the vehicle on the rack, N, given the rack's velocity, m/s.
    #[must_use]
    pub fn force(&self, state: &VehicleState, velocity: f64) -> f64 {
        let [position, angle, rate, ..] = *state;
        self.stiffness * (position - LEVER * angle) + self.damping * (velocity - LEVER * rate)
    }
}

/// Mass, kg, and yaw inertia, kg·m².
const MASS: f64 = 1800.0;
const YAW_INERTIA: f64 = 3000.0;
/// Distances of front and rear axle from the centre of mass, m.
const FRONT: f64 = 1.25;
const REAR: f64 = 1.55;
/// Cornering stiffnesses, N/rad.
const FRONT_TYRES: f64 = 1.2e5;
const REAR_TYRES: f64 = 1.5e5;
/// Speed, m/s, and relaxation length of the tyres, m.
const SPEED: f64 = 20.0;
const RELAXATION: f64 = 0.5;
/// Trail of the front tyres, and lever of the tie rod, m.
const TRAIL: f64 = 0.045;
const LEVER: f64 = 0.14;
/// Inertia, kg·m², and damping, N·m·s/rad, of the front wheels about their pivot.
const WHEELS: f64 = 1.6;
const WHEEL_DAMPING: f64 = 40.0;

/// Rates of the states under the rack's velocity, m/s.
#[must_use]
pub fn vehicle_rates(state: &VehicleState, tie_rod: &TieRod, velocity: f64) -> VehicleState {
    let [_, angle, rate, lateral, yaw_rate, front, rear] = *state;
    let force = tie_rod.force(state, velocity);
    let front_slip = angle - (lateral + FRONT * yaw_rate) / SPEED;
    let rear_slip = -(lateral - REAR * yaw_rate) / SPEED;
    [
        velocity,
        rate,
        (LEVER * force - TRAIL * front - WHEEL_DAMPING * rate) / WHEELS,
        (front + rear - MASS * SPEED * yaw_rate) / MASS,
        (FRONT * front - REAR * rear) / YAW_INERTIA,
        SPEED / RELAXATION * (FRONT_TYRES * front_slip - front),
        SPEED / RELAXATION * (REAR_TYRES * rear_slip - rear),
    ]
}

impl Model for EpasVehicle {
    const NAME: &'static str = "EpasVehicle";
    const DESCRIPTION: &'static str =
        "Single-track vehicle with an elastic link to the steering rack, a stand-in";
    const INTEGRATOR: Integrator = Integrator::RungeKutta4;
    const INTERPOLATES_INPUTS: bool = true;
    const STOP_TIME: f64 = 20.0;

    fn variables() -> Vec<Variable<Self>> {
        variables! { EpasVehicle:
            input_real "v" = velocity in METRE_PER_SECOND, "velocity of the rack";
            output_real "F" = force in NEWTON, "force of the vehicle on the rack",
                depends_on(&["v"]), starts_from(&["stiffness", "damping"]);
            output_real "yaw_rate" = state[4] in RADIAN_PER_SECOND, "yaw rate";
            output_real "lateral_velocity" = state[3] in METRE_PER_SECOND, "lateral velocity";
            parameter_real "stiffness" = tie_rod.stiffness in NEWTON_PER_METRE,
                "stiffness of the tie rod";
            parameter_real "damping" = tie_rod.damping in NEWTON_SECOND_PER_METRE,
                "damping of the tie rod";
        }
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = [0.0; 7];
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        rates.copy_from_slice(&vehicle_rates(&self.state, &self.tie_rod, self.velocity));
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.force = self.tie_rod.force(&self.state, self.velocity);
        Ok(())
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        ((unknown, known) == ("F", "v")).then_some(self.tie_rod.damping)
    }
}
