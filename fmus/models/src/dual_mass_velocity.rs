//! Half 2 of the dual mass-spring-damper, which two pulses of force excite.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

start_values! {
    /// m·v' = −k·x − d·v + F + external force, x' = v, with the velocity as output.
    ///
    /// Chen et al. (2021), section 4.1; defaults are the system of figure 10 and its pulses of 1 N at 1 s
    /// and at 4 s, whose length the paper does not give.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct DualMassVelocity {
        m: f64 = 0.3935,
        k: f64 = 956.6108,
        d: f64 = 20.1711,
        pulse_force: f64 = 1.0,
        pulse_width: f64 = 0.2,
        pulse_time_1: f64 = 1.0,
        pulse_time_2: f64 = 4.0,
        force: f64,
        state: [f64; 2],
    }
}

/// Two ways to compute a time may differ by so many seconds.
const ROUNDING: f64 = 1e-9;

impl DualMassVelocity {
    fn external_force(&self, time: f64) -> f64 {
        let pulls = |start: f64| {
            let since = time - start + ROUNDING + f64::EPSILON * time.abs();
            since >= 0.0 && since < self.pulse_width
        };
        if pulls(self.pulse_time_1) || pulls(self.pulse_time_2) {
            self.pulse_force
        } else {
            0.0
        }
    }
}

impl Model for DualMassVelocity {
    const NAME: &'static str = "DualMassVelocity";
    const DESCRIPTION: &'static str =
        "Half 2 of the dual mass-spring-damper, which two pulses of force excite";
    const INTEGRATOR: Integrator = Integrator::ForwardEuler;
    const INTERPOLATES_INPUTS: bool = true;
    const STOP_TIME: f64 = 5.0;

    fn variables() -> Vec<Variable<Self>> {
        variables! { DualMassVelocity:
            input_real "F" = force in NEWTON, "coupling force on the mass";
            output_real "v" = state[1] in METRE_PER_SECOND, "velocity";
            output_real "x" = state[0] in METRE, "position";
            parameter_real "m" = m in KILOGRAM, "mass", min(1e-9);
            parameter_real "k" = k in NEWTON_PER_METRE, "stiffness of the spring to the wall";
            parameter_real "d" = d in NEWTON_SECOND_PER_METRE, "damping to the wall";
            parameter_real "pulse_force" = pulse_force in NEWTON, "force of the pulses";
            parameter_real "pulse_width" = pulse_width in SECOND, "length of the pulses", min(0.0);
            parameter_real "pulse_time_1" = pulse_time_1 in SECOND, "start of pulse 1";
            parameter_real "pulse_time_2" = pulse_time_2 in SECOND, "start of pulse 2";
        }
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = [0.0; 2];
        Ok(())
    }

    fn derivatives(&self, time: f64, rates: &mut [f64]) {
        let [x, v] = self.state;
        let external = self.external_force(time);
        rates[0] = v;
        rates[1] = (-self.k * x - self.d * v + self.force + external) / self.m;
    }
}
