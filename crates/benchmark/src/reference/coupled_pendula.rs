//! Two pendula with a spring and a damper between their tips.

use std::f64::consts::{FRAC_PI_4, PI};

use super::{GRAVITY, Reference};

/// A point mass on a massless rod.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pendulum {
    /// Mass, kg.
    pub m: f64,
    /// Length of the rod, m.
    pub l: f64,
    /// Pivot (x, y), m.
    pub pivot: [f64; 2],
    /// Initial angle of the rod below the x axis, rad.
    pub theta_start: f64,
}

impl Pendulum {
    /// Position of the tip, and its derivative by the angle, at the angle `theta` below the x axis.
    fn tip(&self, theta: f64) -> ([f64; 2], [f64; 2]) {
        let (sin, cos) = theta.sin_cos();
        let [x, y] = self.pivot;
        (
            [x + self.l * cos, y - self.l * sin],
            [-self.l * sin, -self.l * cos],
        )
    }

    /// Acceleration of the tip x, y, vx, vy under gravity and `pull`, N: Lagrange's equations of the
    /// first kind with Φ = |r − pivot|² − l², Φ'' = −2ξω·Φ' − ω²·Φ, ξ = 1, ω = 100 rad/s, to which
    /// the augmented Lagrangian of the FMUs converges.
    fn acceleration(&self, tip: &[f64; 4], pull: [f64; 2]) -> [f64; 2] {
        const XI: f64 = 1.0;
        const OMEGA: f64 = 100.0;
        let [dx, dy] = [tip[0] - self.pivot[0], tip[1] - self.pivot[1]];
        let free = [pull[0] / self.m, pull[1] / self.m - GRAVITY];
        let violation = dx * dx + dy * dy - self.l * self.l;
        let violation_rate = 2.0 * (dx * tip[2] + dy * tip[3]);
        let bias = 2.0 * (tip[2].powi(2) + tip[3].powi(2))
            + 2.0 * XI * OMEGA * violation_rate
            + OMEGA * OMEGA * violation;
        let [jx, jy] = [2.0 * dx, 2.0 * dy];
        let multiplier = (jx * free[0] + jy * free[1] + bias) / (jx * jx + jy * jy);
        [free[0] - multiplier * jx, free[1] - multiplier * jy]
    }
}

/// The coupled pendula of Rodríguez et al. (2022), section 4.3. The spring is unloaded at the
/// start.
///
/// The state is θ1, θ2, θ1', θ2', the angles of the rods below the x axis, in rad and rad/s: minimal
/// coordinates, so that the rods keep their lengths exactly.
#[derive(Debug, Clone, PartialEq)]
pub struct CoupledPendula {
    /// Pendulum 1 and pendulum 2.
    pub pendula: [Pendulum; 2],
    /// Stiffness of the spring, N/m.
    pub k: f64,
    /// Damping of the damper, N·s/m.
    pub c: f64,
}

impl CoupledPendula {
    /// Table 4 of the paper, whose cases differ in `k`, N/m. With initial angles from the horizontal
    /// the spring has the natural length that is printed; both pendula start below it.
    #[must_use]
    pub fn table_4(k: f64) -> Self {
        let pendulum = |m, l, x, theta_start| Pendulum {
            m,
            l,
            pivot: [x, 0.0],
            theta_start,
        };
        Self {
            pendula: [
                pendulum(1.0, 2.5, 0.0, FRAC_PI_4),
                pendulum(2.0, 3.5, 7.0, PI / 18.0),
            ],
            k,
            c: 0.0,
        }
    }

    /// Natural length of the spring, m: the initial distance of the tips.
    #[must_use]
    pub fn natural_length(&self) -> f64 {
        let [first, second] = self
            .pendula
            .map(|pendulum| pendulum.tip(pendulum.theta_start).0);
        (first[0] - second[0]).hypot(first[1] - second[1])
    }

    /// Position of the tip of pendulum 1 and 2 in `state`, m.
    #[must_use]
    pub fn tips(&self, state: &[f64]) -> [[f64; 2]; 2] {
        [0, 1].map(|i| self.pendula[i].tip(state[i]).0)
    }

    /// Energy, J, of tips at x, y with velocities vx, vy: of pendulum 1, then of pendulum 2.
    pub(crate) fn energy_of_tips(&self, tips: &[f64]) -> f64 {
        let (first, second) = tips.split_at(4);
        let of_masses = self.pendula.iter().zip([first, second]);
        let of_masses = of_masses.map(|(pendulum, tip)| {
            pendulum.m * (tip[2].powi(2) + tip[3].powi(2)) / 2.0 + pendulum.m * GRAVITY * tip[1]
        });
        let stretch = (first[0] - second[0]).hypot(first[1] - second[1]) - self.natural_length();
        of_masses.sum::<f64>() + self.k * stretch.powi(2) / 2.0
    }

    /// Symplectic Euler on both pendula at once, in absolute coordinates as their FMUs have them:
    /// x, y, vx, vy of both tips at `times`. Its error comes from the solver alone.
    pub(crate) fn symplectic_euler(&self, times: &[f64]) -> Vec<Vec<f64>> {
        let at_rest = |pendulum: &Pendulum| {
            let [x, y] = pendulum.tip(pendulum.theta_start).0;
            [x, y, 0.0, 0.0]
        };
        let mut tips = self.pendula.each_ref().map(at_rest);
        let mut states = vec![tips.concat()];
        for pair in times.windows(2) {
            let step = pair[1] - pair[0];
            let force = self.coupling_force(&tips);
            let pulls = [force.map(|force| -force), force];
            for ((pendulum, tip), pull) in self.pendula.iter().zip(&mut tips).zip(pulls) {
                let [ax, ay] = pendulum.acceleration(tip, pull);
                tip[2] += step * ax;
                tip[3] += step * ay;
                tip[0] += step * tip[2];
                tip[1] += step * tip[3];
            }
            states.push(tips.concat());
        }
        states
    }

    /// Force on tip 2, N.
    fn coupling_force(&self, [first, second]: &[[f64; 4]; 2]) -> [f64; 2] {
        let [dx, dy, dvx, dvy] = std::array::from_fn(|index| first[index] - second[index]);
        let length = dx.hypot(dy);
        let rate = (dx * dvx + dy * dvy) / length;
        let tension = self.k * (length - self.natural_length()) + self.c * rate;
        [tension * dx / length, tension * dy / length]
    }
}

impl Reference for CoupledPendula {
    fn start(&self) -> Vec<f64> {
        let [first, second] = self.pendula.map(|pendulum| pendulum.theta_start);
        vec![first, second, 0.0, 0.0]
    }

    fn rates(&self, _time: f64, state: &[f64], rates: &mut [f64]) {
        let tips = [0, 1].map(|i| self.pendula[i].tip(state[i]));
        let [(r1, lever1), (r2, lever2)] = tips;
        let apart = [r1[0] - r2[0], r1[1] - r2[1]];
        let moving = [0, 1].map(|axis| lever1[axis] * state[2] - lever2[axis] * state[3]);
        let length = apart[0].hypot(apart[1]);
        let rate = (apart[0] * moving[0] + apart[1] * moving[1]) / length;
        let tension = self.k * (length - self.natural_length()) + self.c * rate;
        for (i, (lever, towards)) in [(lever1, -1.0), (lever2, 1.0)].into_iter().enumerate() {
            let Pendulum { m, l, .. } = self.pendula[i];
            let along = (apart[0] * lever[0] + apart[1] * lever[1]) / length;
            let torque = towards * tension * along - m * GRAVITY * lever[1];
            rates[i] = state[2 + i];
            rates[2 + i] = torque / (m * l * l);
        }
    }

    fn energy(&self, state: &[f64]) -> f64 {
        let [first, second] = self.tips(state);
        let stretch = (first[0] - second[0]).hypot(first[1] - second[1]) - self.natural_length();
        let of_masses = [0, 1].map(|i| {
            let Pendulum { m, l, .. } = self.pendula[i];
            let speed = l * state[2 + i];
            m * speed * speed / 2.0 + m * GRAVITY * [first, second][i][1]
        });
        of_masses[0] + of_masses[1] + self.k * stretch * stretch / 2.0
    }
}
