//! Chassis and suspension of the quarter car, reticulation 2.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

use crate::quarter_car_elements::{Stepping, Suspension, stepping_variables, suspension_variables};

start_values! {
    /// m_c·v_c' = F with F = k_c·(z_w − z_c) + F_d(v_w − v_c) as output: it follows the input v_w at
    /// once (direct feed-through). F·v_w is the power taken in.
    ///
    /// The stretch z_w − z_c is a state, integrated from v_c and the input v_w: a velocity corrected
    /// by the master moves the spring, too.
    ///
    /// Sadjina & Pedersen (2019), section 5, simulator S1 of reticulation 2; the other half is
    /// [`QuarterCarWheel`](crate::QuarterCarWheel).
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct QuarterCarChassisSuspension {
        m_c: f64 = 400.0,
        suspension: Suspension,
        v_w: f64,
        force: f64,
        /// v_c, z_w − z_c.
        state: [f64; 2],
        stepping: Stepping,
    }
}

impl QuarterCarChassisSuspension {
    fn suspension_force(&self) -> f64 {
        let [v_c, stretch] = self.state;
        self.suspension.force(stretch, self.v_w - v_c)
    }
}

impl Model for QuarterCarChassisSuspension {
    const NAME: &'static str = "QuarterCarChassisSuspension";
    const DESCRIPTION: &'static str = "Chassis, spring and damper of the quarter car";
    const INTERPOLATES_INPUTS: bool = true;
    const STOP_TIME: f64 = 4.0;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = variables! { QuarterCarChassisSuspension:
            input_real "v_w" = v_w in METRE_PER_SECOND, "velocity of the wheel, up";
            output_real "F" = force in NEWTON,
                "suspension force on the wheel, down; F.v_w is the power taken in",
                depends_on(&["v_w"]), starts_from(&["d_c", "damper_exponent"]);
            output_real "v_c" = state[0] in METRE_PER_SECOND, "velocity of the chassis, up",
                local();
            output_real "stretch" = state[1] in METRE, "stretch z_w - z_c of the spring", local();
            parameter_real "m_c" = m_c in KILOGRAM, "mass of the chassis", min(1e-9);
        };
        variables.extend(suspension_variables!(Self));
        variables.extend(stepping_variables!(Self));
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        let [v_c, _] = self.state;
        rates[0] = self.suspension_force() / self.m_c;
        rates[1] = self.v_w - v_c;
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

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        match (unknown, known) {
            ("F", "v_w") => self.suspension.damping(self.v_w - self.state[0]),
            ("v_c" | "stretch", "v_w") => Some(0.0),
            _ => None,
        }
    }
}
