//! The crane of two links in redundant coordinates, with its two actuators.

use fmu_kit::start_values;
use nalgebra::{Matrix2, Matrix3, SMatrix, SVector, Vector2, Vector3};
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, FRAC_PI_6};

use crate::hydraulic_piston::Piston;
use crate::two_links::GRAVITY;

/// x and y of P, θ1, x and y of R; their rates, accelerations and forces.
pub(crate) type Coordinates = SVector<f64, 5>;
/// Derivatives of the three constraints by the coordinates.
pub(crate) type Jacobian = SMatrix<f64, 3, 5>;
/// A matrix over the coordinates.
pub(crate) type Square = SMatrix<f64, 5, 5>;

start_values! {
    /// Masses and lengths of the crane: P is the middle of link 1, R the end of link 2. Actuator 1
    /// stands between the fixed point B and P, actuator 2 between P and the middle of link 2.
    ///
    /// Rahikainen et al. (2020), section 3.1; defaults are table 1.
    #[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
    pub(crate) struct Structure {
        pub(crate) l: f64 = 1.0,
        pub(crate) l_h: f64 = 0.5,
        pub(crate) m: f64 = 200.0,
        pub(crate) m_p: f64 = 250.0,
        pub(crate) m_h: f64 = 100.0,
        pub(crate) x_b: f64 = 0.75_f64.sqrt(),
        pub(crate) y_b: f64,
        pub(crate) theta1_start: f64 = FRAC_PI_6,
        pub(crate) theta2_start: f64 = 3.0 * FRAC_PI_2,
    }
}

/// An actuator as the structure sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Actuator {
    /// Length s, m.
    pub(crate) length: f64,
    /// Rate of the length, m/s.
    pub(crate) rate: f64,
    /// Derivative of the length by the coordinates: the matrix A of eq. 10, transposed.
    pub(crate) gradient: Coordinates,
    /// Acceleration of the length where the coordinates have none: Ȧ·q̇, m/s².
    pub(crate) bias: f64,
}

/// Forces on the structure beside gravity.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Drive {
    /// Force of each actuator that does not depend on the motion, N.
    pub(crate) force: [f64; 2],
    /// Pistons whose friction and end dampers act on the structure.
    pub(crate) pistons: [Option<Piston>; 2],
}

/// Accelerations under a force, and the multipliers of the constraints.
pub(crate) type Constrained = (Coordinates, Vector3<f64>);

/// How the lengths of the actuators answer to their forces: s̈ = W·F + b.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interface {
    /// Inverse effective mass W, 1/kg (eq. 13).
    pub(crate) inverse_mass: Matrix2<f64>,
    /// Accelerations without forces, b, m/s² (eq. 14, in which Ȧ belongs to q̇).
    pub(crate) free_acceleration: Vector2<f64>,
}

impl Structure {
    /// Coordinates at the start.
    pub(crate) fn start(&self) -> Coordinates {
        let (sin1, cos1) = self.theta1_start.sin_cos();
        let (sin2, cos2) = self.theta2_start.sin_cos();
        Coordinates::from([
            self.l / 2.0 * cos1,
            self.l / 2.0 * sin1,
            self.theta1_start,
            self.l * cos1 + self.l_h * cos2,
            self.l * sin1 + self.l_h * sin2,
        ])
    }

    /// Diagonal of the mass matrix, kg and kg·m².
    pub(crate) fn masses(&self) -> Coordinates {
        let at_p = self.m + 4.0 * self.m_p;
        let inertia = self.m * self.l * self.l / 12.0;
        Coordinates::from([at_p, at_p, inertia, self.m_h, self.m_h])
    }

    fn weight(&self) -> Coordinates {
        let at_p = -(self.m + 2.0 * self.m_p) * GRAVITY;
        Coordinates::from([0.0, at_p, 0.0, 0.0, -self.m_h * GRAVITY])
    }

    /// Kinetic and potential energy, J.
    pub(crate) fn energy(&self, q: &Coordinates, v: &Coordinates) -> f64 {
        v.dot(&self.masses().component_mul(v)) / 2.0 - self.weight().dot(q)
    }

    /// Φ: link 1 turns about the origin, link 2 is as long as it is.
    pub(crate) fn constraints(&self, q: &Coordinates) -> Vector3<f64> {
        let (sin, cos) = q[2].sin_cos();
        let (dx, dy) = (q[3] - 2.0 * q[0], q[4] - 2.0 * q[1]);
        Vector3::new(
            q[0] - self.l / 2.0 * cos,
            q[1] - self.l / 2.0 * sin,
            dx * dx + dy * dy - self.l_h * self.l_h,
        )
    }

    /// ∂Φ/∂q.
    #[rustfmt::skip]
    pub(crate) fn jacobian(&self, q: &Coordinates) -> Jacobian {
        let (sin, cos) = q[2].sin_cos();
        let (dx, dy) = (q[3] - 2.0 * q[0], q[4] - 2.0 * q[1]);
        let half = self.l / 2.0;
        Jacobian::new(
            1.0, 0.0, half * sin, 0.0, 0.0,
            0.0, 1.0, -half * cos, 0.0, 0.0,
            -4.0 * dx, -4.0 * dy, 0.0, 2.0 * dx, 2.0 * dy,
        )
    }

    /// Φ̇q·q̇: acceleration of the constraints where the coordinates have none.
    pub(crate) fn constraint_bias(&self, q: &Coordinates, v: &Coordinates) -> Vector3<f64> {
        let (sin, cos) = q[2].sin_cos();
        let (dx, dy) = (v[3] - 2.0 * v[0], v[4] - 2.0 * v[1]);
        let turning = self.l / 2.0 * v[2] * v[2];
        Vector3::new(cos * turning, sin * turning, 2.0 * (dx * dx + dy * dy))
    }

    /// Both actuators (eq. 26).
    pub(crate) fn actuators(&self, q: &Coordinates, v: &Coordinates) -> [Actuator; 2] {
        let (dx, dy) = (q[0] - self.x_b, q[1] - self.y_b);
        let first = dx.hypot(dy);
        let second = q[3].hypot(q[4]) / 2.0;
        let gradient1 = Coordinates::from([dx / first, dy / first, 0.0, 0.0, 0.0]);
        let along = 4.0 * second;
        let gradient2 = Coordinates::from([0.0, 0.0, 0.0, q[3] / along, q[4] / along]);
        let actuator = |length: f64, gradient: Coordinates, speed: f64| {
            let rate = gradient.dot(v);
            Actuator {
                length,
                rate,
                gradient,
                bias: (speed - rate * rate) / length,
            }
        };
        [
            actuator(first, gradient1, v[0] * v[0] + v[1] * v[1]),
            actuator(second, gradient2, (v[3] * v[3] + v[4] * v[4]) / 4.0),
        ]
    }

    /// Generalised forces of gravity and drive.
    pub(crate) fn forces(&self, drive: &Drive, actuators: &[Actuator; 2]) -> Coordinates {
        let mut forces = self.weight();
        for (actuator, force) in actuators.iter().zip(drive.total(actuators)) {
            forces += force * actuator.gradient;
        }
        forces
    }

    /// Accelerations that obey the constraints: M·a + Φq^T·μ = `forces`, Φq·a = −Φ̇q·q̇. `None`
    /// where the constraints contradict or repeat each other.
    pub(crate) fn accelerations(
        &self,
        q: &Coordinates,
        v: &Coordinates,
        forces: &Coordinates,
    ) -> Option<Constrained> {
        let (jacobian, by_mass, inverse) = self.projector(q)?;
        let free = forces.component_div(&self.masses());
        let multipliers = inverse * (jacobian * free + self.constraint_bias(q, v));
        Some((free - by_mass * multipliers, multipliers))
    }

    /// Φq, M⁻¹·Φq^T and (Φq·M⁻¹·Φq^T)⁻¹.
    fn projector(&self, q: &Coordinates) -> Option<(Jacobian, SMatrix<f64, 5, 3>, Matrix3<f64>)> {
        let jacobian = self.jacobian(q);
        let inverse_masses = self.masses().map(|mass| 1.0 / mass);
        let by_mass = Square::from_diagonal(&inverse_masses) * jacobian.transpose();
        let inverse = (jacobian * by_mass).try_inverse()?;
        Some((jacobian, by_mass, inverse))
    }

    /// How the actuators' lengths answer to their forces.
    pub(crate) fn interface(&self, q: &Coordinates, v: &Coordinates) -> Option<Interface> {
        let actuators = self.actuators(q, v);
        let (jacobian, by_mass, inverse) = self.projector(q)?;
        let answers = actuators.map(|actuator| {
            let free = actuator.gradient.component_div(&self.masses());
            free - by_mass * (inverse * (jacobian * free))
        });
        let (free, _) = self.accelerations(q, v, &self.weight())?;
        let inverse_mass = Matrix2::from_fn(|i, j| actuators[i].gradient.dot(&answers[j]));
        let free_acceleration = actuators.map(|a| a.gradient.dot(&free) + a.bias);
        Some(Interface {
            inverse_mass,
            free_acceleration: Vector2::from(free_acceleration),
        })
    }
}

impl Drive {
    /// Force of each actuator with friction and end dampers, N.
    pub(crate) fn total(&self, actuators: &[Actuator; 2]) -> [f64; 2] {
        std::array::from_fn(|i| {
            let passive = self.pistons[i].map_or(0.0, |piston| {
                piston.passive_force(actuators[i].length, actuators[i].rate)
            });
            self.force[i] + passive
        })
    }

    /// Stiffness K and damping C that friction and end dampers have over the coordinates.
    pub(crate) fn stiffness(&self, actuators: &[Actuator; 2]) -> (Square, Square) {
        let (mut stiffness, mut damping) = (Square::zeros(), Square::zeros());
        for (actuator, piston) in actuators.iter().zip(&self.pistons) {
            if let Some(piston) = piston {
                let (k, c) = piston.passive_stiffness(actuator.length);
                let square = actuator.gradient * actuator.gradient.transpose();
                stiffness += k * square;
                damping += c * square;
            }
        }
        (stiffness, damping)
    }
}
