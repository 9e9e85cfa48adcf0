//! Pendulum 2 of the coupled pendula, moved by the coupling force.

use fmu_kit::{Fault, Integrator, Model, Variable, unit};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

use crate::point_pendulum::PointPendulum;

type Row = Variable<PendulumMotion>;

/// A pendulum with a force at its tip; no direct feed-through.
///
/// Rodríguez et al. (2022), section 4.3; defaults are table 4.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendulumMotion {
    pendulum: PointPendulum,
    force: [f64; 2],
    state: [f64; 4],
}

impl Default for PendulumMotion {
    fn default() -> Self {
        Self {
            pendulum: PointPendulum::new(2.0, 3.5, [7.0, 0.0], PI / 18.0),
            force: [0.0; 2],
            state: [0.0; 4],
        }
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

fn motion() -> Vec<Row> {
    vec![
        Row::input_real("fx", |m| &mut m.force[0], "force on the tip along x").unit(unit::NEWTON),
        Row::input_real("fy", |m| &mut m.force[1], "force on the tip along y").unit(unit::NEWTON),
        Row::output_real("x", |m| &mut m.state[0], "position of the tip")
            .unit(unit::METRE)
            .starts_from(&["l", "x_pivot", "theta_start"]),
        Row::output_real("y", |m| &mut m.state[1], "height of the tip")
            .unit(unit::METRE)
            .starts_from(&["l", "y_pivot", "theta_start"]),
        Row::output_real("vx", |m| &mut m.state[2], "velocity of the tip along x")
            .unit(unit::METRE_PER_SECOND),
        Row::output_real("vy", |m| &mut m.state[3], "velocity of the tip along y")
            .unit(unit::METRE_PER_SECOND),
    ]
}

fn parameters() -> Vec<Row> {
    vec![
        Row::parameter_real("m", |m| &mut m.pendulum.m, "mass at the tip")
            .unit(unit::KILOGRAM)
            .min(1e-9),
        Row::parameter_real("l", |m| &mut m.pendulum.l, "length of the rod")
            .unit(unit::METRE)
            .min(1e-9),
        Row::parameter_real(
            "x_pivot",
            |m| &mut m.pendulum.pivot[0],
            "position of the pivot",
        )
        .unit(unit::METRE),
        Row::parameter_real(
            "y_pivot",
            |m| &mut m.pendulum.pivot[1],
            "height of the pivot",
        )
        .unit(unit::METRE),
        Row::parameter_real(
            "theta_start",
            |m| &mut m.pendulum.theta_start,
            "initial angle of the rod below the x axis",
        )
        .unit(unit::RADIAN),
        Row::parameter_real(
            "alpha",
            |m| &mut m.pendulum.alpha,
            "penalty factor of the rod's length, kg/m2",
        )
        .min(0.0),
        Row::parameter_real(
            "xi",
            |m| &mut m.pendulum.xi,
            "damping ratio of the length's error",
        )
        .min(0.0),
        Row::parameter_real(
            "omega",
            |m| &mut m.pendulum.omega,
            "natural frequency of the length's error",
        )
        .unit(unit::RADIAN_PER_SECOND)
        .min(0.0),
    ]
}
