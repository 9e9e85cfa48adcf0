//! Two links in a plane, in minimal coordinates.

use serde::{Deserialize, Serialize};

/// Acceleration of gravity along −y, m/s².
pub(crate) const GRAVITY: f64 = 9.81;

/// Link 1, a uniform rod, turns about the origin and carries a point mass m2 at its end, from which
/// link 2, massless with a point mass m3 at its end, hangs. The angles are above the x axis.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct TwoLinks {
    /// Length of link 1, m.
    pub(crate) l1: f64,
    /// Length of link 2, m.
    pub(crate) l2: f64,
    /// Mass of link 1, kg.
    pub(crate) m1: f64,
    /// Point mass between the links, kg.
    pub(crate) m2: f64,
    /// Point mass at the end of link 2, kg.
    pub(crate) m3: f64,
}

impl TwoLinks {
    /// Angular accelerations from M·θ'' = Q, rad/s², at the angles and rates
    /// [θ1, θ2, ω1, ω2] and under generalised forces that come on top of gravity, N·m.
    pub(crate) fn accelerations(&self, state: &[f64; 4], torques: [f64; 2]) -> [f64; 2] {
        let [theta1, theta2, omega1, omega2] = *state;
        let (sin, cos) = (theta1 - theta2).sin_cos();
        let coupling = self.l1 * self.l2 * self.m3;
        let at_end = self.m2 + self.m3;
        let m11 = self.l1 * self.l1 * (self.m1 / 3.0 + at_end);
        let m12 = coupling * cos;
        let m22 = self.l2 * self.l2 * self.m3;
        let weight1 = self.l1 * GRAVITY * theta1.cos() * (self.m1 / 2.0 + at_end);
        let weight2 = self.l2 * GRAVITY * theta2.cos() * self.m3;
        let q1 = torques[0] - weight1 - coupling * sin * omega2 * omega2;
        let q2 = torques[1] + coupling * sin * omega1 * omega1 - weight2;
        let determinant = m11 * m22 - m12 * m12;
        [
            (m22 * q1 - m12 * q2) / determinant,
            (m11 * q2 - m12 * q1) / determinant,
        ]
    }
}
