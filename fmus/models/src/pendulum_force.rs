//! Pendulum 1 of the coupled pendula, with the spring and damper between the tips.

use fmu_kit::{Fault, Integrator, Model, Variable, start_values, variables};
use serde::{Deserialize, Serialize};
use std::f64::consts::FRAC_PI_4;

use crate::point_pendulum::{
    PointPendulum, constraint_variables, pendulum_variables, tip_variables,
};

start_values! {
    /// A pendulum whose tip r is tied to the point r2 by a spring and a damper. The force on r2,
    /// (k·(L − l0) + c·L')·(r − r2)/L with L = |r − r2|, is the output: it follows the inputs at once
    /// (direct feed-through).
    ///
    /// Rodríguez et al. (2022), section 4.3; defaults are table 4, case 1. The printed natural length,
    /// 8.756 m, is the initial distance of the tips when the initial angles are counted from the
    /// horizontal; both pendula start below it.
    #[derive(Debug, Clone, Serialize, Deserialize)]
    pub struct PendulumForce {
        pendulum: PointPendulum = PointPendulum::new(1.0, 2.5, [0.0, 0.0], FRAC_PI_4),
        k: f64 = 6.0,
        c: f64,
        // |(7 + 3.5·cos 10°, −3.5·sin 10°) − 2.5·(cos 45°, −sin 45°)|
        l0: f64 = 8.756_236_736_236_16,
        tip2: [f64; 4],
        force: [f64; 2],
        state: [f64; 4],
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
        variables.extend(tip_variables!(Self));
        variables.extend(pendulum_variables!(Self));
        variables.extend(variables! { Self:
            parameter_real "k" = k in NEWTON_PER_METRE, "stiffness of the spring";
            parameter_real "c" = c in NEWTON_SECOND_PER_METRE, "damping of the damper";
            parameter_real "l0" = l0 in METRE, "natural length of the spring";
        });
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
        let [fx, fy] = self.coupling_force();
        let [ax, ay] = self.pendulum.acceleration(&self.state, [-fx, -fy]);
        rates.copy_from_slice(&[self.state[2], self.state[3], ax, ay]);
    }

    fn outputs(&mut self, _time: f64) -> Result<(), Fault> {
        self.force = self.coupling_force();
        Ok(())
    }
}

fn coupling() -> Vec<Variable<PendulumForce>> {
    const TIP_2: &[&str] = &["x2", "y2", "vx2", "vy2"];
    const START: &[&str] = &["l", "x_pivot", "y_pivot", "theta_start", "k", "c", "l0"];
    variables! { PendulumForce:
        input_real "x2" = tip2[0] in METRE, "position of tip 2";
        input_real "y2" = tip2[1] in METRE, "height of tip 2";
        input_real "vx2" = tip2[2] in METRE_PER_SECOND, "velocity of tip 2 along x";
        input_real "vy2" = tip2[3] in METRE_PER_SECOND, "velocity of tip 2 along y";
        output_real "fx" = force[0] in NEWTON, "force on tip 2 along x",
            depends_on(TIP_2), starts_from(START);
        output_real "fy" = force[1] in NEWTON, "force on tip 2 along y",
            depends_on(TIP_2), starts_from(START);
    }
}
