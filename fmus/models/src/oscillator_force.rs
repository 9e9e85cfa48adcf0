//! Mass 1 of the double oscillator, with the coupling spring and damper.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

use crate::oscillator_elements::{DAMPER, LINEAR, SPRING, damper_force, spring_force};

start_values! {
    /// m·x'' = −k·x − c·v − f with the coupling force f = k_c·(x − x2) + c_c·(v − v2) as output: it
    /// follows the inputs x2 and v2 at once (direct feed-through).
    ///
    /// Rodríguez et al. (2022), the oscillator examples; defaults are table 1, case 1.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct OscillatorForce {
        m: f64 = 1.0,
        k: f64 = 10.0,
        c: f64,
        k_c: f64 = 100.0,
        c_c: f64,
        spring: i32 = LINEAR,
        damper: i32 = LINEAR,
        x_start: f64,
        v_start: f64 = 100.0,
        x2: f64,
        v2: f64,
        f: f64,
        state: [f64; 2],
    }
}

impl OscillatorForce {
    fn coupling_force(&self) -> f64 {
        let [x, v] = self.state;
        spring_force(self.spring, self.k_c, x - self.x2)
            + damper_force(self.damper, self.c_c, v - self.v2)
    }
}

impl Model for OscillatorForce {
    const NAME: &'static str = "OscillatorForce";
    const DESCRIPTION: &'static str =
        "Mass 1 of the double oscillator, with the coupling spring and damper";
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 1;

    fn variables() -> Vec<Variable<Self>> {
        variables! { OscillatorForce:
            input_real "x2" = x2 in METRE, "position of mass 2";
            input_real "v2" = v2 in METRE_PER_SECOND, "velocity of mass 2";
            output_real "f" = f in NEWTON, "coupling force on mass 2",
                depends_on(&["x2", "v2"]),
                starts_from(&["k_c", "c_c", "spring", "damper", "x_start", "v_start"]);
            output_real "x" = state[0] in METRE, "position", starts_from(&["x_start"]);
            output_real "v" = state[1] in METRE_PER_SECOND, "velocity", starts_from(&["v_start"]);
            parameter_real "m" = m in KILOGRAM, "mass", min(1e-9);
            parameter_real "k" = k in NEWTON_PER_METRE,
                "stiffness of the spring to the wall; N/m^0.5 if sqrt";
            parameter_real "c" = c in NEWTON_SECOND_PER_METRE,
                "damping to the wall; N.s2/m2 if quadratic";
            parameter_real "k_c" = k_c in NEWTON_PER_METRE, "stiffness of the coupling spring";
            parameter_real "c_c" = c_c in NEWTON_SECOND_PER_METRE, "damping of the coupling damper";
            parameter_enumeration "spring" = spring of SPRING, "kind of both springs";
            parameter_enumeration "damper" = damper of DAMPER, "kind of both dampers";
            parameter_real "x_start" = x_start in METRE, "initial position";
            parameter_real "v_start" = v_start in METRE_PER_SECOND, "initial velocity";
        }
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = [self.x_start, self.v_start];
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        let [x, v] = self.state;
        let wall = spring_force(self.spring, self.k, x) + damper_force(self.damper, self.c, v);
        rates[0] = v;
        rates[1] = (-wall - self.coupling_force()) / self.m;
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.f = self.coupling_force();
        Ok(())
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        match (unknown, known) {
            ("f", "x2") if self.spring == LINEAR => Some(-self.k_c),
            ("f", "v2") if self.damper == LINEAR => Some(-self.c_c),
            _ => None,
        }
    }
}
