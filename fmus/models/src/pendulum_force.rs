//! Pendulum 1 of the coupled pendula, with the spring and damper between the tips.

use fmu_kit::{Fault, Integrator, Model, Variable, unit};
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_PI_4;

use crate::point_pendulum::PointPendulum;

type Row = Variable<PendulumForce>;

/// A pendulum whose tip r is tied to the point r2 by a spring and a damper. The force on r2,
/// (k·(L − l0) + c·L')·(r − r2)/L with L = |r − r2|, is the output: it follows the inputs at once
/// (direct feed-through).
///
/// Rodríguez et al. (2022), section 4.3; defaults are table 4, case 1. The printed natural length,
/// 8.756 m, is the initial distance of the tips when the initial angles are counted from the
/// horizontal; both pendula start below it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendulumForce {
    pendulum: PointPendulum,
    k: f64,
    c: f64,
    l0: f64,
    tip2: [f64; 4],
    force: [f64; 2],
    state: [f64; 4],
}

impl Default for PendulumForce {
    fn default() -> Self {
        Self {
            pendulum: PointPendulum::new(1.0, 2.5, [0.0, 0.0], FRAC_PI_4),
            k: 6.0,
            c: 0.0,
            // |(7 + 3.5·cos 10°, −3.5·sin 10°) − 2.5·(cos 45°, −sin 45°)|
            l0: 8.756_236_736_236_16,
            tip2: [0.0; 4],
            force: [0.0; 2],
            state: [0.0; 4],
        }
    }
}

impl PendulumForce {
    /// Force on the tip of pendulum 2, N; 0 where the tips meet, as it has no direction there.
    fn coupling_force(&self) -> [f64; 2] {
        let difference = |axis: usize| self.state[axis] - self.tip2[axis];
        let [dx, dy, dvx, dvy] = [0, 1, 2, 3].map(difference);
        let length = dx.hypot(dy);
        if length == 0.0 {
            return [0.0; 2];
        }
        let rate = (dx * dvx + dy * dvy) / length;
        let tension = self.k * (length - self.l0) + self.c * rate;
        [tension * dx / length, tension * dy / length]
    }
}

impl Model for PendulumForce {
    const NAME: &'static str = "PendulumForce";
    const DESCRIPTION: &'static str =
        "Pendulum 1 of the coupled pendula, with the spring and damper between the tips";
    const INTEGRATOR: Integrator = Integrator::SymplecticEuler;
    const POSITIONS: usize = 2;

    fn variables() -> Vec<Variable<Self>> {
        let mut variables = coupling();
        variables.extend(motion());
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
        let [fx, fy] = self.coupling_force();
        let [ax, ay] = self.pendulum.acceleration(&self.state, [-fx, -fy]);
        rates.copy_from_slice(&[self.state[2], self.state[3], ax, ay]);
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.force = self.coupling_force();
        Ok(())
    }
}

fn coupling() -> Vec<Row> {
    const TIP_2: &[&str] = &["x2", "y2", "vx2", "vy2"];
    const START: &[&str] = &["l", "x_pivot", "y_pivot", "theta_start", "k", "c", "l0"];
    vec![
        Row::input_real("x2", |m| &mut m.tip2[0], "position of tip 2").unit(unit::METRE),
        Row::input_real("y2", |m| &mut m.tip2[1], "height of tip 2").unit(unit::METRE),
        Row::input_real("vx2", |m| &mut m.tip2[2], "velocity of tip 2 along x")
            .unit(unit::METRE_PER_SECOND),
        Row::input_real("vy2", |m| &mut m.tip2[3], "velocity of tip 2 along y")
            .unit(unit::METRE_PER_SECOND),
        Row::output_real("fx", |m| &mut m.force[0], "force on tip 2 along x")
            .unit(unit::NEWTON)
            .depends_on(TIP_2)
            .starts_from(START),
        Row::output_real("fy", |m| &mut m.force[1], "force on tip 2 along y")
            .unit(unit::NEWTON)
            .depends_on(TIP_2)
            .starts_from(START),
    ]
}

fn motion() -> Vec<Row> {
    vec![
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
        Row::parameter_real("k", |m| &mut m.k, "stiffness of the spring")
            .unit(unit::NEWTON_PER_METRE),
        Row::parameter_real("c", |m| &mut m.c, "damping of the damper")
            .unit(unit::NEWTON_SECOND_PER_METRE),
        Row::parameter_real("l0", |m| &mut m.l0, "natural length of the spring").unit(unit::METRE),
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
