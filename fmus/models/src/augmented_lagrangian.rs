//! Two formulations of constrained motion by an augmented Lagrangian, with their integrators.
//!
//! Rahikainen et al. (2020), section 2.1.

use fmu_kit::Fault;
use nalgebra::{Cholesky, Vector3};

use crate::crane_structure::{Coordinates, Drive, Square, Structure};

/// Numbers in a [`Motion`].
pub(crate) const STATES: usize = 18;

/// The motion of the structure, with what the formulations remember of the last step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Motion {
    /// Coordinates.
    pub(crate) q: Coordinates,
    /// Their rates.
    pub(crate) v: Coordinates,
    /// Their accelerations.
    pub(crate) a: Coordinates,
    /// Multipliers λ* of the constraints.
    pub(crate) lambda: Vector3<f64>,
}

impl Motion {
    pub(crate) fn read(state: &[f64; STATES]) -> Self {
        Self {
            q: Coordinates::from_column_slice(&state[..5]),
            v: Coordinates::from_column_slice(&state[5..10]),
            a: Coordinates::from_column_slice(&state[10..15]),
            lambda: Vector3::from_column_slice(&state[15..]),
        }
    }

    pub(crate) fn write(&self, state: &mut [f64; STATES]) {
        let parts = [self.q.as_slice(), self.v.as_slice(), self.a.as_slice()];
        for (part, place) in parts.iter().zip(state.chunks_mut(5)) {
            place.copy_from_slice(part);
        }
        state[15..].copy_from_slice(self.lambda.as_slice());
    }
}

/// Index-1 augmented Lagrangian (ALI1, eqs 2a, 2b) with the semi-implicit Euler rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexOne {
    /// Penalty factor α, kg in the first two constraints.
    pub(crate) alpha: f64,
    /// Frequency of the stabilisation, rad/s.
    pub(crate) omega: f64,
    /// Damping ratio of the stabilisation.
    pub(crate) xi: f64,
}

impl IndexOne {
    /// Iterates until the stabilised constraints are below this, in m/s² and m²/s².
    const TOLERANCE: f64 = 1e-9;
    const MAX_ITERATIONS: usize = 10;

    /// Advances `motion` by `step`, s, under what acts at its start.
    pub(crate) fn advance(
        &self,
        structure: &Structure,
        drive: &Drive,
        motion: &mut Motion,
        step: f64,
    ) -> Result<(), Fault> {
        let Motion { q, v, lambda, .. } = motion;
        let jacobian = structure.jacobian(q);
        let forces = structure.forces(drive, &structure.actuators(q, v));
        let stabilisation = 2.0 * self.xi * self.omega * (jacobian * *v)
            + self.omega * self.omega * structure.constraints(q);
        let drift = structure.constraint_bias(q, v) + stabilisation;
        let masses = Square::from_diagonal(&structure.masses());
        let penalised = masses + self.alpha * jacobian.transpose() * jacobian;
        let factors = Cholesky::new(penalised).ok_or_else(diverged)?;
        let mut a = Coordinates::zeros();
        for _ in 0..Self::MAX_ITERATIONS {
            a = factors.solve(&(forces - jacobian.transpose() * (*lambda + self.alpha * drift)));
            let violation = jacobian * a + drift;
            *lambda += self.alpha * violation;
            if violation.amax() < Self::TOLERANCE {
                break;
            }
        }
        motion.a = a;
        motion.v += step * a;
        motion.q += step * motion.v;
        Ok(())
    }
}

/// Index-3 augmented Lagrangian with projections (ALI3-P, eqs 3 to 7) and the trapezoidal rule.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IndexThree {
    /// α·h²/4, kg: the penalty factor follows the step h, as a fixed one fails for small steps.
    pub(crate) penalty_mass: f64,
}

impl IndexThree {
    /// Newton's method stops where no coordinate moves by more than this, m and rad.
    const TOLERANCE: f64 = 1e-11;
    const MAX_ITERATIONS: usize = 30;

    /// Advances `motion` by `step`, s, under a drive that is held over the step.
    pub(crate) fn advance(
        &self,
        structure: &Structure,
        drive: &Drive,
        motion: &mut Motion,
        step: f64,
    ) -> Result<(), Fault> {
        let start = *motion;
        motion.q += step * start.v + step * step / 2.0 * start.a;
        self.solve(structure, drive, &start, motion, step)?;
        self.project(structure, drive, motion, step)
    }

    /// Solves eq. 4 for the coordinates at the end of the step.
    fn solve(
        &self,
        structure: &Structure,
        drive: &Drive,
        start: &Motion,
        end: &mut Motion,
        step: f64,
    ) -> Result<(), Fault> {
        let quarter = step * step / 4.0;
        let alpha = self.penalty_mass / quarter;
        let masses = structure.masses();
        let follow = |end: &mut Motion| {
            let moved = end.q - start.q;
            end.v = 2.0 / step * moved - start.v;
            end.a = moved / quarter - 4.0 / step * start.v - start.a;
        };
        for _ in 0..Self::MAX_ITERATIONS {
            follow(end);
            let forces = structure.forces(drive, &structure.actuators(&end.q, &end.v));
            let multipliers = alpha * structure.constraints(&end.q) + end.lambda;
            let reaction = structure.jacobian(&end.q).transpose() * multipliers;
            let residual = quarter * (masses.component_mul(&end.a) + reaction - forces);
            let (tangent, _) = self.tangent(structure, drive, end, step);
            let factors = Cholesky::new(tangent).ok_or_else(diverged)?;
            let change = factors.solve(&residual);
            end.q -= change;
            end.lambda += alpha * structure.constraints(&end.q);
            if change.amax() < Self::TOLERANCE {
                break;
            }
        }
        // An end damper's force jumps where the piston touches it: there may be no solution then,
        // and the last iterate is as good as any.
        follow(end);
        Ok(())
    }

    /// The tangent dg/dq, and its part without constraints.
    fn tangent(
        &self,
        structure: &Structure,
        drive: &Drive,
        motion: &Motion,
        step: f64,
    ) -> (Square, Square) {
        let actuators = structure.actuators(&motion.q, &motion.v);
        let (stiffness, damping) = drive.stiffness(&actuators);
        let masses = Square::from_diagonal(&structure.masses());
        let free = masses + step / 2.0 * damping + step * step / 4.0 * stiffness;
        let jacobian = structure.jacobian(&motion.q);
        let tangent = free + self.penalty_mass * jacobian.transpose() * jacobian;
        (tangent, free)
    }

    /// Projects rates and accelerations onto the constraints (eqs 6, 7; the factor in eq. 7 is h²/4,
    /// where h/4 is printed).
    fn project(
        &self,
        structure: &Structure,
        drive: &Drive,
        motion: &mut Motion,
        step: f64,
    ) -> Result<(), Fault> {
        let (tangent, free) = self.tangent(structure, drive, motion, step);
        let factors = Cholesky::new(tangent).ok_or_else(diverged)?;
        motion.v = factors.solve(&(free * motion.v));
        let bias = structure.constraint_bias(&motion.q, &motion.v);
        let reaction = structure.jacobian(&motion.q).transpose() * bias;
        motion.a = factors.solve(&(free * motion.a - self.penalty_mass * reaction));
        Ok(())
    }
}

fn diverged() -> Fault {
    let message = "the motion of the crane diverges; a smaller step helps";
    Fault::Error(message.to_owned())
}
