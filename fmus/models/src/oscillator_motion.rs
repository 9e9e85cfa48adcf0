//! The mass of an oscillator that coupling forces move.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};

use crate::oscillator_elements::{DAMPER, LINEAR, SPRING, damper_force, spring_force};

/// Mass 2 of the double oscillator; Rodríguez et al. (2022), defaults are table 1, case 1.
pub type OscillatorMotion = MovedMass<1>;

/// The last mass of the multiple oscillator, to which all others are coupled; Rodríguez et al.
/// (2022), section 4.1, defaults are table 2, case 1.
pub type OscillatorHub = MovedMass<4>;

start_values! {
    /// m·x'' = −k·x − c·v + Σ f; no direct feed-through. A force that nothing feeds stays 0, so that up
    /// to `FORCES` masses ([`OscillatorForce`](crate::OscillatorForce)) hang on it: one, or four.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct MovedMass<const FORCES: usize> {
        m: f64 = 1.0,
        k: f64 = 1000.0,
        c: f64,
        spring: i32 = LINEAR,
        damper: i32 = LINEAR,
        x_start: f64,
        v_start: f64 = -100.0,
        forces: [f64; 4],
        state: [f64; 2],
    }
}

impl<const FORCES: usize> Model for MovedMass<FORCES> {
    const NAME: &'static str = if FORCES == 1 {
        "OscillatorMotion"
    } else {
        "OscillatorHub"
    };
    const DESCRIPTION: &'static str = if FORCES == 1 {
        "Mass 2 of the double oscillator, moved by the coupling force"
    } else {
        "Last mass of the multiple oscillator, moved by up to four coupling forces"
    };
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 1;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = if FORCES == 1 {
            variables! { Self: input_real "f" = forces[0] in NEWTON, "coupling force"; }
        } else {
            variables! { Self:
                input_real "f1" = forces[0] in NEWTON, "coupling force of mass 1";
                input_real "f2" = forces[1] in NEWTON, "coupling force of mass 2";
                input_real "f3" = forces[2] in NEWTON, "coupling force of mass 3";
                input_real "f4" = forces[3] in NEWTON, "coupling force of mass 4";
            }
        };
        variables.extend(variables! { Self:
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
        });
        variables
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
        let coupling: f64 = self.forces.iter().sum();
        rates[0] = v;
        rates[1] = (coupling - wall) / self.m;
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        (matches!(unknown, "x" | "v") && known.starts_with('f')).then_some(0.0)
    }
}
