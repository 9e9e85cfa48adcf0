//! Pendulum 2 of the coupled pendula, moved by the coupling force.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

use crate::point_pendulum::PointPendulum;

type PendulumVariable = Variable<PendulumMotion>;

start_values! {
    /// A pendulum with a force at its tip; no direct feed-through.
    ///
    /// Rodríguez et al. (2022), section 4.3; defaults are table 4.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct PendulumMotion {
        pendulum: PointPendulum = PointPendulum::new(2.0, 3.5, [7.0, 0.0], PI / 18.0),
        force: [f64; 2],
        state: [f64; 4],
    }
}

impl Model for PendulumMotion {
    const NAME: &'static str = "PendulumMotion";
    const DESCRIPTION: &'static str =
        "Pendulum 2 of the coupled pendula, moved by the coupling force";
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 2;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = motion();
        variables.extend(parameters());
        variables
    }

    fn state(&mut self) -> &mut [f64] {
        &mut self.state
    }

    fn initialize(&mut self, _time: f64) -> Result<(), Fault> {
        self.state = self.pendulum.start();
        Ok(())
    }

    fn derivatives(&self, _time: f64, rates: &mut [f64]) {
        let [ax, ay] = self.pendulum.acceleration(&self.state, self.force);
        rates.copy_from_slice(&[self.state[2], self.state[3], ax, ay]);
    }

    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        matches!((unknown, known), ("x" | "y" | "vx" | "vy", "fx" | "fy")).then_some(0.0)
    }
}

fn motion() -> Vec<PendulumVariable> {
    variables! { PendulumMotion:
        input_real "fx" = force[0] in NEWTON, "force on the tip along x";
        input_real "fy" = force[1] in NEWTON, "force on the tip along y";
        output_real "x" = state[0] in METRE, "position of the tip",
            starts_from(&["l", "x_pivot", "theta_start"]);
        output_real "y" = state[1] in METRE, "height of the tip",
            starts_from(&["l", "y_pivot", "theta_start"]);
        output_real "vx" = state[2] in METRE_PER_SECOND, "velocity of the tip along x";
        output_real "vy" = state[3] in METRE_PER_SECOND, "velocity of the tip along y";
    }
}

fn parameters() -> Vec<PendulumVariable> {
    variables! { PendulumMotion:
        parameter_real "m" = pendulum.m in KILOGRAM, "mass at the tip", min(1e-9);
        parameter_real "l" = pendulum.l in METRE, "length of the rod", min(1e-9);
        parameter_real "x_pivot" = pendulum.pivot[0] in METRE, "position of the pivot";
        parameter_real "y_pivot" = pendulum.pivot[1] in METRE, "height of the pivot";
        parameter_real "theta_start" = pendulum.theta_start in RADIAN,
            "initial angle of the rod below the x axis";
        parameter_real "alpha" = pendulum.alpha, "penalty factor of the rod's length, kg/m2",
            min(0.0);
        parameter_real "xi" = pendulum.xi, "damping ratio of the length's error", min(0.0);
        parameter_real "omega" = pendulum.omega in RADIAN_PER_SECOND,
            "natural frequency of the length's error", min(0.0);
    }
}
