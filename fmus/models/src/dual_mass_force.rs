//! Half 1 of the dual mass-spring-damper, with the coupling spring and damper.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

start_values! {
    /// m·v' = −k·x − d·v − F, x' = v with the coupling force F = k_c·(x − x_c) + d_c·(v − v2) as output,
    /// which follows the input v2 at once (direct feed-through); x_c' = v2.
    ///
    /// Chen et al. (2021), section 4.1; defaults are the system of figure 10.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct DualMassForce {
        m: f64 = 9.9049,
        k: f64 = 586.9352,
        d: f64 = 50.9125,
        k_c: f64 = 741.3214,
        d_c: f64 = 40.3909,
        v2: f64,
        force: f64,
        /// Position, velocity, integral of the received velocity.
        state: [f64; 3],
    }
}

impl DualMassForce {
    fn coupling_force(&self) -> f64 {
        let [x, v, x_c] = self.state;
        self.k_c * (x - x_c) + self.d_c * (v - self.v2)
    }
}

impl Model for DualMassForce {
    const NAME: &'static str = "DualMassForce";
    const DESCRIPTION: &'static str =
        "Half 1 of the dual mass-spring-damper, with the coupling spring and damper";
    const INTEGRATOR: Integrator = Integrator::ForwardEuler;
    const INTERPOLATES_INPUTS: bool = true;
    const STOP_TIME: f64 = 5.0;

    fn variables() -> Vec<Variable<Self>> {
        variables! { DualMassForce:
            input_real "v2" = v2 in METRE_PER_SECOND, "velocity of mass 2";
            output_real "F" = force in NEWTON, "coupling force on mass 2",
                depends_on(&["v2"]), starts_from(&["k_c", "d_c"]);
            output_real "x" = state[0] in METRE, "position";
            output_real "v" = state[1] in METRE_PER_SECOND, "velocity";
            parameter_real "m" = m in KILOGRAM, "mass", min(1e-9);
            parameter_real "k" = k in NEWTON_PER_METRE, "stiffness of the spring to the wall";
            parameter_real "d" = d in NEWTON_SECOND_PER_METRE, "damping to the wall";
            parameter_real "k_c" = k_c in NEWTON_PER_METRE, "stiffness of the coupling spring";
            parameter_real "d_c" = d_c in NEWTON_SECOND_PER_METRE, "damping of the coupling damper";
        }
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = [0.0; 3];
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        let [x, v, _] = self.state;
        rates[0] = v;
        rates[1] = (-self.k * x - self.d * v - self.coupling_force()) / self.m;
        rates[2] = self.v2;
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.force = self.coupling_force();
        Ok(())
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        ((unknown, known) == ("F", "v2")).then_some(-self.d_c)
    }
}
