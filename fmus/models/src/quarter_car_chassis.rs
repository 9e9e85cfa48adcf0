//! The chassis of the quarter car, reticulation 1.

use fmu_kit::{Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

use crate::quarter_car_elements::{Stepping, stepping_variables};

start_values! {
    /// m_c·v_c' = F; no direct feed-through. F lifts the chassis: F·v_c is the power taken in.
    ///
    /// Sadjina & Pedersen (2019), section 5, simulator S1 of reticulation 1; the other half is
    /// [`QuarterCarWheelSuspension`](crate::QuarterCarWheelSuspension).
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct QuarterCarChassis {
        m_c: f64 = 400.0,
        force: f64,
        v_c: [f64; 1] = [0.0],
        stepping: Stepping,
    }
}

impl Model for QuarterCarChassis {
    const NAME: &'static str = "QuarterCarChassis";
    const DESCRIPTION: &'static str = "Chassis of the quarter car, moved by the suspension force";
    const INTERPOLATES_INPUTS: bool = true;
    const STOP_TIME: f64 = 4.0;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = variables! { QuarterCarChassis:
            input_real "F" = force in NEWTON,
                "suspension force on the chassis, up; F.v_c is the power taken in";
            output_real "v_c" = v_c[0] in METRE_PER_SECOND, "velocity of the chassis, up";
            parameter_real "m_c" = m_c in KILOGRAM, "mass of the chassis", min(1e-9);
        };
        variables.extend(stepping_variables!(Self));
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.v_c
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        rates[0] = self.force / self.m_c;
    }

    fn integrator(&self) -> Integrator {
        self.stepping.integrator()
    }

    fn micro_steps(&self) -> Option<i32> {
        Some(self.stepping.micro_steps)
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        ((unknown, known) == ("v_c", "F")).then_some(0.0)
    }
}
