//! The displacement error that is fed back: its share γ, and the velocities that are added over the macro-step.
//!
//! The start of a macro-step calls it. It moves no component, and leaves a share that a file gives as it is.
//!
//! A share can drive the vibration of mass W⁻¹ against oil K. Let it turn by θ = H·√(K·W) in a macro-step. The fed
//! displacement γ·e changes its amplitude by the factor (e^{iθ} − 1)/(2H) of itself; the multibody component, which sees a
//! constant force, moves i·H·(1/θ − cot(θ/2)/2) less than the fast side, and that is the next e·(e^{iθ} − 1). Together the
//! amplitude grows by at most γ·|sin(θ/2)/θ − cos(θ/2)/2| ≤ .54·γ in a macro-step, whatever K is and however late e is known.
//! Friction C of the multibody component takes ½·H·λ from it, λ the least eigenvalue of W·C. With γ = ½·H·λ the feedback
//! puts back about half of what friction takes.

use super::stage::Moment;
use crate::exchange::derivative;
use crate::fault::Fault;
use crate::interface_model::InterfaceModel;
use crate::state::{Drive, ReducedModel, SystemState};
use crate::step::Step;

/// Greatest share that is chosen. A choice: half of an error goes in each macro-step, and nothing is gained by more
/// (`docs/benchmarks.md`, crane).
const GREATEST: f64 = 0.5;

/// Adds velocities against the displacement errors over the macro-step.
pub(super) fn feed_back(moment: &mut Moment<'_>) -> Result<(), Fault> {
    let Moment {
        state,
        running,
        model,
        step,
        ..
    } = moment;
    let share = match model.schedule.displacement_correction {
        Some(share) => share,
        None => (0.5 * step.size * least_damping(state, running, model, step)?).min(GREATEST),
    };
    for (added, error) in running.feedback.iter_mut().zip(&running.displacement_error) {
        *added = share * error / step.size;
    }
    Ok(())
}

/// A bound from below of the eigenvalues of W·C, 1/s; 0 if a coordinate has neither a position nor friction: one over
/// the greatest sum of a column of its inverse.
fn least_damping(
    state: &mut SystemState,
    running: &mut ReducedModel,
    model: &InterfaceModel,
    step: &Step,
) -> Result<f64, Fault> {
    let count = model.coordinates.len();
    if model.coordinates.iter().any(|c| c.position.is_none()) {
        return Ok(0.0);
    }
    for coordinate in 0..count {
        let friction = friction(state, running, model, coordinate, step)?;
        if !(friction.is_finite() && friction > 0.0) {
            return Ok(0.0);
        }
        running.friction[coordinate] = friction;
    }
    let mut greatest: f64 = 0.0;
    for column in 0..count {
        let Some((inverse_mass, _)) = running.masses.last() else {
            return Ok(0.0);
        };
        running.equations.clear();
        for row in 0..count {
            for other in 0..count {
                *running.equations.entry(row, other) =
                    inverse_mass[row * count + other] * running.friction[other];
            }
        }
        *running.equations.right(column) = 1.0;
        if !running.equations.solve() {
            return Ok(0.0);
        }
        let sum: f64 = (0..count)
            .map(|row| running.equations.right(row).abs())
            .sum();
        greatest = if sum < f64::INFINITY {
            greatest.max(sum)
        } else {
            f64::INFINITY
        };
    }
    Ok(1.0 / greatest)
}

/// Friction that the multibody component has itself, N·s/m: the part of the whole force that follows the fed velocity,
/// without what the efforts pass on, which would be late.
fn friction(
    state: &mut SystemState,
    running: &ReducedModel,
    model: &InterfaceModel,
    coordinate: usize,
    step: &Step,
) -> Result<f64, Fault> {
    let Some(force) = model.coordinates[coordinate].force else {
        return Ok(0.0);
    };
    let mut slope = 0.0;
    for fast in &running.inputs {
        if fast.drive != Drive::Velocity(coordinate) {
            continue;
        }
        let mut of_input = derivative::of_any(state, force, fast.input, step)?;
        for effort in model.efforts.iter().filter(|e| e.coordinate == coordinate) {
            of_input -= effort.weight * derivative::of_any(state, effort.output, fast.input, step)?;
        }
        slope += state.courses.inputs[fast.input].factor * of_input;
    }
    Ok(-slope)
}
