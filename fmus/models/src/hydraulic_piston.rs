//! The piston of a hydraulic cylinder: its areas, its friction and its end dampers.

use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// A piston in a cylinder. Velocity-force coupling has its friction and dampers in the hydraulic
/// circuit, velocity-pressure coupling in the mechanics (Rahikainen et al. 2020, eqs 33, 34, with the damper force
/// added: as printed it would pull the piston into the end).
///
/// Defaults are table 2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piston {
    /// Diameter of the piston, m.
    pub(crate) d1: f64,
    /// Diameter of its rod, m.
    pub(crate) d2: f64,
    /// Viscous friction, N·s/m.
    pub(crate) c: f64,
    /// Stiffness of the end dampers, N/m.
    pub(crate) k_d: f64,
    /// Damping of the end dampers, N·s/m.
    pub(crate) c_d: f64,
    /// Length of the end dampers, m.
    pub(crate) l_d: f64,
    /// Length of the chamber on the piston's side at length `s_start`, m.
    pub(crate) l1_start: f64,
    /// Length of the chamber on the rod's side at length `s_start`, m.
    pub(crate) l2_start: f64,
    /// Length of the actuator that the lengths of the chambers belong to, m.
    pub(crate) s_start: f64,
}

impl Piston {
    /// Of the lower actuator, table 2.
    pub(crate) const FIRST: Self = Self {
        d1: 0.08,
        d2: 0.035,
        c: 1e5,
        k_d: 1e7,
        c_d: 5e3,
        l_d: 0.008,
        l1_start: 0.05,
        l2_start: 0.25,
        s_start: 0.5,
    };

    /// Of the upper actuator, whose values the paper does not print.
    pub(crate) const SECOND: Self = Self {
        l1_start: 0.12,
        l2_start: 0.18,
        // Half of √0.75: the distance of the middles of the two links at the start.
        s_start: 0.433_012_701_892_219_3,
        ..Self::FIRST
    };

    /// Areas on the piston's and on the rod's side, m².
    pub(crate) fn areas(&self) -> [f64; 2] {
        let piston = PI / 4.0 * self.d1 * self.d1;
        [piston, piston - PI / 4.0 * self.d2 * self.d2]
    }

    /// Lengths of the chambers on the piston's and on the rod's side at the actuator's length `s`, m.
    pub(crate) fn chambers(&self, s: f64) -> [f64; 2] {
        let out = s - self.s_start;
        [self.l1_start + out, self.l2_start - out]
    }

    /// Force of the pressures, positive outwards, N.
    pub(crate) fn pressure_force(&self, [p1, p2]: [f64; 2]) -> f64 {
        let [a1, a2] = self.areas();
        p1 * a1 - p2 * a2
    }

    /// Force of friction and end dampers, positive outwards, N, at the actuator's length `s` and
    /// rate `v`.
    pub(crate) fn passive_force(&self, s: f64, v: f64) -> f64 {
        let [l1, l2] = self.chambers(s);
        let damper = if l1 <= self.l_d {
            self.k_d * (self.l_d - l1) - self.c_d * v
        } else if l2 <= self.l_d {
            -self.k_d * (self.l_d - l2) - self.c_d * v
        } else {
            0.0
        };
        damper - self.c * v
    }

    /// Stiffness, N/m, and damping, N·s/m, of [`passive_force`](Self::passive_force).
    pub(crate) fn passive_stiffness(&self, s: f64) -> (f64, f64) {
        if self.chambers(s).iter().any(|length| *length <= self.l_d) {
            (self.k_d, self.c + self.c_d)
        } else {
            (0.0, self.c)
        }
    }
}
