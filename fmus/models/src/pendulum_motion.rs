//! Pendulum 2 of the coupled pendula, moved by the coupling force.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

use crate::point_pendulum::{
    PointPendulum, constraint_variables, pendulum_variables, tip_variables,
};

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
        let mut variables = variables! { Self:
            input_real "fx" = force[0] in NEWTON, "force on the tip along x";
            input_real "fy" = force[1] in NEWTON, "force on the tip along y";
        };
        variables.extend(tip_variables!(Self));
        variables.extend(pendulum_variables!(Self));
        variables.extend(constraint_variables!(Self));
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
