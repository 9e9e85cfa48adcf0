//! Wheel and suspension of the quarter car, reticulation 1.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

use crate::quarter_car_elements::{
    Road, Stepping, Suspension, road_variables, stepping_variables, suspension_variables,
};

start_values! {
    /// m_w·v_w' = k_w·(z − z_w) − F with F = k_c·(z_w − z_c) + F_d(v_w − v_c) as output: it follows
    /// the input v_c at once (direct feed-through). F·v_c is the power given away.
    ///
    /// The stretch z_w − z_c is a state, integrated from v_w and the input v_c: a velocity corrected
    /// by the master moves the spring, too.
    ///
    /// Sadjina & Pedersen (2019), section 5, simulator S2 of reticulation 1; the other half is
    /// [`QuarterCarChassis`](crate::QuarterCarChassis).
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct QuarterCarWheelSuspension {
        m_w: f64 = 40.0,
        k_w: f64 = 150e3,
        suspension: Suspension,
        road: Road,
        v_c: f64,
        force: f64,
        /// z_w, v_w, z_w − z_c.
        state: [f64; 3],
        stepping: Stepping,
    }
}

impl QuarterCarWheelSuspension {
    fn suspension_force(&self) -> f64 {
        let [_, v_w, stretch] = self.state;
        self.suspension.force(stretch, v_w - self.v_c)
    }
}

impl Model for QuarterCarWheelSuspension {
    const NAME: &'static str = "QuarterCarWheelSuspension";
    const DESCRIPTION: &'static str = "Tyre, wheel, spring and damper of the quarter car";
    const INTERPOLATES_INPUTS: bool = true;
    const STOP_TIME: f64 = 4.0;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = variables! { QuarterCarWheelSuspension:
            input_real "v_c" = v_c in METRE_PER_SECOND, "velocity of the chassis, up";
            output_real "F" = force in NEWTON,
                "suspension force on the chassis, up; F.v_c is the power given away",
                depends_on(&["v_c"]), starts_from(&["d_c", "damper_exponent"]);
            output_real "v_w" = state[1] in METRE_PER_SECOND, "velocity of the wheel, up", local();
            output_real "z_w" = state[0] in METRE, "height of the wheel", local();
            output_real "stretch" = state[2] in METRE, "stretch z_w - z_c of the spring", local();
            parameter_real "m_w" = m_w in KILOGRAM, "mass of the wheel", min(1e-9);
            parameter_real "k_w" = k_w in NEWTON_PER_METRE, "stiffness of the tyre";
        };
        variables.extend(suspension_variables!(Self));
        variables.extend(road_variables!(Self));
        variables.extend(stepping_variables!(Self));
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, time: f64) -> Result<(), Fault> {
        self.road.move_to(time);
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        let [z_w, v_w, _] = self.state;
        let tyre = self.k_w * (self.road.height - z_w);
        rates[0] = v_w;
        rates[1] = (tyre - self.suspension_force()) / self.m_w;
        rates[2] = v_w - self.v_c;
    }

    fn integrator(&self) -> Integrator {
        self.stepping.integrator()
    }

    fn micro_steps(&self) -> Option<i32> {
        Some(self.stepping.micro_steps)
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.force = self.suspension_force();
        Ok(())
    }

    fn after_step(&mut self, start: f64, end: f64) -> Result<(), Fault> {
        self.road.after_step(start, end);
        Ok(())
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        match (unknown, known) {
            ("F", "v_c") => self
                .suspension
                .damping(self.state[1] - self.v_c)
                .map(|d| -d),
            ("v_w" | "z_w" | "stretch", "v_c") => Some(0.0),
            _ => None,
        }
    }
}
