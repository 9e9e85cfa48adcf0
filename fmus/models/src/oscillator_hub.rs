//! The last mass of the multiple oscillator, to which all others are coupled.

use fmu_kit::{Fault, Integrator, Model, Variable, unit};
use serde::{Deserialize, Serialize};

use crate::oscillator_elements::{DAMPER, LINEAR, SPRING, damper_force, spring_force};

type Row = Variable<OscillatorHub>;

/// m·x'' = −k·x − c·v + f1 + f2 + f3 + f4; no direct feed-through. An input that nothing feeds
/// stays 0, so that up to four masses ([`OscillatorForce`](crate::OscillatorForce)) hang on it.
///
/// Rodríguez et al. (2022), section 4.1; defaults are table 2, case 1.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct OscillatorHub {
    m: f64,
    k: f64,
    c: f64,
    spring: i32,
    damper: i32,
    x_start: f64,
    v_start: f64,
    forces: [f64; 4],
    state: [f64; 2],
}

impl Default for OscillatorHub {
    fn default() -> Self {
        Self {
            m: 1.0,
            k: 1000.0,
            c: 0.0,
            spring: LINEAR,
            damper: LINEAR,
            x_start: 0.0,
            v_start: -100.0,
            forces: [0.0; 4],
            state: [0.0; 2],
        }
    }
}

impl Model for OscillatorHub {
    const NAME: &'static str = "OscillatorHub";
    const DESCRIPTION: &'static str =
        "Last mass of the multiple oscillator, moved by up to four coupling forces";
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 1;

    fn variables() -> Vec<Variable<Self>> {
        vec![
            Row::input_real("f1", |m| &mut m.forces[0], "coupling force of mass 1")
                .unit(unit::NEWTON),
            Row::input_real("f2", |m| &mut m.forces[1], "coupling force of mass 2")
                .unit(unit::NEWTON),
            Row::input_real("f3", |m| &mut m.forces[2], "coupling force of mass 3")
                .unit(unit::NEWTON),
            Row::input_real("f4", |m| &mut m.forces[3], "coupling force of mass 4")
                .unit(unit::NEWTON),
            Row::output_real("x", |m| &mut m.state[0], "position")
                .unit(unit::METRE)
                .starts_from(&["x_start"]),
            Row::output_real("v", |m| &mut m.state[1], "velocity")
                .unit(unit::METRE_PER_SECOND)
                .starts_from(&["v_start"]),
            Row::parameter_real("m", |m| &mut m.m, "mass")
                .unit(unit::KILOGRAM)
                .min(1e-9),
            Row::parameter_real(
                "k",
                |m| &mut m.k,
                "stiffness of the spring to the wall; N/m^0.5 if sqrt",
            )
            .unit(unit::NEWTON_PER_METRE),
            Row::parameter_real(
                "c",
                |m| &mut m.c,
                "damping to the wall; N.s2/m2 if quadratic",
            )
            .unit(unit::NEWTON_SECOND_PER_METRE),
            Row::parameter_enumeration("spring", |m| &mut m.spring, &SPRING, "kind of the spring"),
            Row::parameter_enumeration("damper", |m| &mut m.damper, &DAMPER, "kind of the damper"),
            Row::parameter_real("x_start", |m| &mut m.x_start, "initial position")
                .unit(unit::METRE),
            Row::parameter_real("v_start", |m| &mut m.v_start, "initial velocity")
                .unit(unit::METRE_PER_SECOND),
        ]
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
        matches!((unknown, known), ("x" | "v", "f1" | "f2" | "f3" | "f4")).then_some(0.0)
    }
}
