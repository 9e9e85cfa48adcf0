//! Mass 2 of the double oscillator, moved by the coupling force.

use fmu_kit::{Fault, Integrator, Model, Variable, variables};
use serde::{Deserialize, Serialize};

use crate::oscillator_elements::{DAMPER, LINEAR, SPRING, damper_force, spring_force};

/// m·x'' = −k·x − c·v + f; no direct feed-through.
///
/// Rodríguez et al. (2022), the oscillator examples; defaults are table 1, case 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OscillatorMotion {
    m: f64,
    k: f64,
    c: f64,
    spring: i32,
    damper: i32,
    x_start: f64,
    v_start: f64,
    f: f64,
    state: [f64; 2],
}

impl Default for OscillatorMotion {
    fn default() -> Self {
        Self {
            m: 1.0,
            k: 1000.0,
            c: 0.0,
            spring: LINEAR,
            damper: LINEAR,
            x_start: 0.0,
            v_start: -100.0,
            f: 0.0,
            state: [0.0; 2],
        }
    }
}

impl Model for OscillatorMotion {
    const NAME: &'static str = "OscillatorMotion";
    const DESCRIPTION: &'static str =
        "Mass 2 of the double oscillator, moved by the coupling force";
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 1;

    fn variables() -> Vec<Variable<Self>> {
        variables! { OscillatorMotion:
            input_real "f" = f in NEWTON, "coupling force";
            output_real "x" = state[0] in METRE, "position", starts_from(&["x_start"]);
            output_real "v" = state[1] in METRE_PER_SECOND, "velocity", starts_from(&["v_start"]);
            parameter_real "m" = m in KILOGRAM, "mass", min(1e-9);
            parameter_real "k" = k in NEWTON_PER_METRE,
                "stiffness of the spring to the wall; N/m^0.5 if sqrt";
            parameter_real "c" = c in NEWTON_SECOND_PER_METRE,
                "damping to the wall; N.s2/m2 if quadratic";
            parameter_enumeration "spring" = spring of SPRING, "kind of the spring";
            parameter_enumeration "damper" = damper of DAMPER, "kind of the damper";
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
        rates[1] = (self.f - wall) / self.m;
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        matches!((unknown, known), ("x" | "v", "f")).then_some(0.0)
    }
}
