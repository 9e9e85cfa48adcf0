//! A point mass on a massless rod in absolute coordinates, which both pendula share.

use serde::{Deserialize, Serialize};

/// Acceleration of gravity along −y, m/s².
const GRAVITY: f64 = 9.81;

/// Most iterations for an acceleration, and the change at which they end, m/s².
const MAX_ITERATIONS: u32 = 20;
const TOLERANCE: f64 = 1e-10;

/// Parameters of a pendulum and of the augmented Lagrangian that holds its rod's length.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct PointPendulum {
    /// Mass, kg.
    pub(crate) m: f64,
    /// Length of the rod, m.
    pub(crate) l: f64,
    /// Pivot, m.
    pub(crate) pivot: [f64; 2],
    /// Initial angle of the rod below the x axis, rad.
    pub(crate) theta_start: f64,
    /// Penalty factor α, kg/m².
    pub(crate) alpha: f64,
    /// Damping ratio ξ of the constraint's violation.
    pub(crate) xi: f64,
    /// Natural frequency ω of the constraint's violation, rad/s.
    pub(crate) omega: f64,
}

impl PointPendulum {
    /// With the penalty factor and stabilisation that the benchmark uses.
    pub(crate) fn new(m: f64, l: f64, pivot: [f64; 2], theta_start: f64) -> Self {
        Self {
            m,
            l,
            pivot,
            theta_start,
            alpha: 1e7,
            xi: 1.0,
            omega: 100.0,
        }
    }

    /// Position and velocity (x, y, vx, vy) at rest at the initial angle.
    pub(crate) fn start(&self) -> [f64; 4] {
        let (sin, cos) = self.theta_start.sin_cos();
        let [x, y] = self.pivot;
        [x + self.l * cos, y - self.l * sin, 0.0, 0.0]
    }

    /// Acceleration under gravity and `force` in N: index-1 augmented Lagrangian with the
    /// constraint Φ = |r − pivot|² − l² (Bayo et al. 1988),
    /// (M + α·JᵀJ)·a⁺ = M·a − α·Jᵀ·(J̇·v + 2ξω·Φ̇ + ω²·Φ), iterated from a = M⁻¹·Q.
    pub(crate) fn acceleration(&self, state: &[f64; 4], force: [f64; 2]) -> [f64; 2] {
        let [x, y, vx, vy] = *state;
        let [dx, dy] = [x - self.pivot[0], y - self.pivot[1]];
        let jacobian = [2.0 * dx, 2.0 * dy];
        let violation = dx * dx + dy * dy - self.l * self.l;
        let violation_rate = 2.0 * (dx * vx + dy * vy);
        let bias = 2.0 * (vx * vx + vy * vy)
            + 2.0 * self.xi * self.omega * violation_rate
            + self.omega * self.omega * violation;
        let mut a = [force[0] / self.m, force[1] / self.m - GRAVITY];
        for _ in 0..MAX_ITERATIONS {
            let next = self.correct(a, jacobian, bias);
            let change = (next[0] - a[0]).hypot(next[1] - a[1]);
            a = next;
            if change < TOLERANCE {
                break;
            }
        }
        a
    }

    /// One iteration; the inverse of M + α·JᵀJ by the formula of Sherman and Morrison.
    fn correct(&self, a: [f64; 2], jacobian: [f64; 2], bias: f64) -> [f64; 2] {
        let [jx, jy] = jacobian;
        let stretch = jx * a[0] + jy * a[1] + bias;
        let multiplier = self.alpha * stretch / (self.m + self.alpha * (jx * jx + jy * jy));
        [a[0] - multiplier * jx, a[1] - multiplier * jy]
    }
}

/// The motion of the tip, in the field `state`.
macro_rules! tip_variables {
    ($model:ty) => {
        fmu_kit::variables! { $model:
            output_real "x" = state[0] in METRE, "position of the tip",
                starts_from(&["l", "x_pivot", "theta_start"]);
            output_real "y" = state[1] in METRE, "height of the tip",
                starts_from(&["l", "y_pivot", "theta_start"]);
            output_real "vx" = state[2] in METRE_PER_SECOND, "velocity of the tip along x";
            output_real "vy" = state[3] in METRE_PER_SECOND, "velocity of the tip along y";
        }
    };
}

/// The parameters of the field `pendulum`, a [`PointPendulum`], without those of its constraint.
macro_rules! pendulum_variables {
    ($model:ty) => {
        fmu_kit::variables! { $model:
            parameter_real "m" = pendulum.m in KILOGRAM, "mass at the tip", min(1e-9);
            parameter_real "l" = pendulum.l in METRE, "length of the rod", min(1e-9);
            parameter_real "x_pivot" = pendulum.pivot[0] in METRE, "position of the pivot";
            parameter_real "y_pivot" = pendulum.pivot[1] in METRE, "height of the pivot";
            parameter_real "theta_start" = pendulum.theta_start in RADIAN,
                "initial angle of the rod below the x axis";
        }
    };
}

/// The parameters of the constraint of the field `pendulum`.
macro_rules! constraint_variables {
    ($model:ty) => {
        fmu_kit::variables! { $model:
            parameter_real "alpha" = pendulum.alpha, "penalty factor of the rod's length, kg/m2",
                min(0.0);
            parameter_real "xi" = pendulum.xi, "damping ratio of the length's error", min(0.0);
            parameter_real "omega" = pendulum.omega in RADIAN_PER_SECOND,
                "natural frequency of the length's error", min(0.0);
        }
    };
}

pub(crate) use {constraint_variables, pendulum_variables, tip_variables};
