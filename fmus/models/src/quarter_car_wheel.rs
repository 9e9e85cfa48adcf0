//! The wheel of the quarter car, reticulation 2.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

use crate::quarter_car_elements::{Road, Stepping, road_variables, stepping_variables};

start_values! {
    /// m_w·v_w' = k_w·(z − z_w) − F; no direct feed-through. F presses the wheel down: F·v_w is the
    /// power given away.
    ///
    /// Sadjina & Pedersen (2019), section 5, simulator S2 of reticulation 2; the other half is
    /// [`QuarterCarChassisSuspension`](crate::QuarterCarChassisSuspension).
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct QuarterCarWheel {
        m_w: f64 = 40.0,
        k_w: f64 = 150e3,
        road: Road,
        force: f64,
        /// z_w, v_w.
        state: [f64; 2],
        stepping: Stepping,
    }
}

impl Model for QuarterCarWheel {
    const NAME: &'static str = "QuarterCarWheel";
    const DESCRIPTION: &'static str =
        "Wheel and tyre of the quarter car, under the suspension force";
    const INTERPOLATES_INPUTS: bool = true;
    const STOP_TIME: f64 = 4.0;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = variables! { QuarterCarWheel:
            input_real "F" = force in NEWTON,
                "suspension force on the wheel, down; F.v_w is the power given away";
            output_real "v_w" = state[1] in METRE_PER_SECOND, "velocity of the wheel, up";
            output_real "z_w" = state[0] in METRE, "height of the wheel", local();
            parameter_real "m_w" = m_w in KILOGRAM, "mass of the wheel", min(1e-9);
            parameter_real "k_w" = k_w in NEWTON_PER_METRE, "stiffness of the tyre";
        };
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
        let [z_w, v_w] = self.state;
        rates[0] = v_w;
        rates[1] = (self.k_w * (self.road.height - z_w) - self.force) / self.m_w;
    }

    fn integrator(&self) -> Integrator {
        self.stepping.integrator()
    }

    fn micro_steps(&self) -> Option<i32> {
        Some(self.stepping.micro_steps)
    }

    fn after_step(&mut self, start: f64, end: f64) -> Result<(), Fault> {
        self.road.after_step(start, end);
        Ok(())
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        matches!((unknown, known), ("v_w" | "z_w", "F")).then_some(0.0)
    }
}
