//! What a reduced model takes from both sides: forces, masses, free accelerations.

use super::{Drive, RunningModel};
use crate::exchange::Exchange;
use crate::fault::Fault;
use crate::interface_model::{InterfaceModel, Mass, Sides};
use crate::plant::{Plant, Step};

impl Plant {
    /// The forces λ, as the fast components have published them.
    pub(super) fn read_forces(&self, running: &mut RunningModel, model: &InterfaceModel) {
        running.force.fill(0.0);
        for effort in &model.efforts {
            running.force[effort.coordinate] += effort.weight * self.outputs[effort.output];
        }
        for (force, coordinate) in running.force.iter_mut().zip(&model.coordinates) {
            if let Some(output) = coordinate.force {
                *force = self.outputs[output];
            }
        }
    }

    /// Takes the newest W and b; at the start they are as old as need be.
    pub(super) fn read_mass(
        &mut self,
        running: &mut RunningModel,
        model: &InterfaceModel,
        step: &Step,
    ) -> Result<(), Fault> {
        running.masses.rotate_right(1);
        match &model.mass {
            Mass::Outputs { inverse, free } => {
                let (w, b) = &mut running.masses[0];
                for (value, output) in w.iter_mut().zip(inverse) {
                    *value = output.map_or(0.0, |output| self.outputs[output]);
                }
                for (value, output) in b.iter_mut().zip(free) {
                    *value = self.outputs[*output];
                }
            }
            Mass::Accelerations(outputs) => self.derive_mass(running, model, outputs, step)?,
        }
        if !running.has_started {
            let (first, others) = running.masses.split_at_mut(1);
            for other in others {
                other.clone_from(&first[0]);
            }
        }
        Ok(())
    }

    /// W = ∂a/∂λ and b = a − W·λ, with the λ that the accelerations a were computed with.
    fn derive_mass(
        &mut self,
        running: &mut RunningModel,
        model: &InterfaceModel,
        accelerations: &[usize],
        step: &Step,
    ) -> Result<(), Fault> {
        let count = accelerations.len();
        let follows = matches!(
            self.modes[model.component],
            Exchange::Fresh | Exchange::Compensated
        );
        running.acceleration.copy_from_slice(&running.force);
        for effort in &model.efforts {
            let state = &self.states[effort.input];
            let used = (self.inputs[effort.input] - state.offset) / state.factor;
            if !follows {
                running.acceleration[effort.coordinate] +=
                    effort.weight * (used - self.outputs[effort.output]);
            }
        }
        for column in 0..count {
            let acts = |effort: &&crate::interface_model::Effort| effort.coordinate == column;
            let Some(effort) = model.efforts.iter().find(acts) else {
                continue;
            };
            let scale = self.states[effort.input].factor / effort.weight;
            for (row, &acceleration) in accelerations.iter().enumerate() {
                let gain = self.derivative(acceleration, effort.input, step)?;
                running.masses[0].0[row * count + column] = gain * scale;
            }
        }
        let (w, b) = &mut running.masses[0];
        for (row, &acceleration) in accelerations.iter().enumerate() {
            let of_forces: f64 = w[row * count..][..count]
                .iter()
                .zip(&running.acceleration)
                .map(|(w, force)| w * force)
                .sum();
            b[row] = self.outputs[acceleration] - of_forces;
        }
        Ok(())
    }

    /// Takes from the forces what they owe to the velocities that were added to what is fed: the reduced
    /// model does not have them.
    pub(super) fn forget_feedback(
        &mut self,
        running: &mut RunningModel,
        model: &InterfaceModel,
        step: &Step,
    ) -> Result<(), Fault> {
        for fast in &running.inputs {
            let added = match fast.drive {
                Drive::Velocity(index) => running.feedback[index],
                _ => 0.0,
            };
            if added == 0.0 {
                continue;
            }
            let added = added * self.states[fast.input].factor;
            for (force, coordinate) in running.force.iter_mut().zip(&model.coordinates) {
                if let Some(output) = coordinate.force {
                    *force -= self.slope(output, fast.input, step)? * added;
                }
            }
            for effort in &model.efforts {
                if model.coordinates[effort.coordinate].force.is_none() {
                    let slope = self.slope(effort.output, fast.input, step)?;
                    running.force[effort.coordinate] -= effort.weight * slope * added;
                }
            }
        }
        Ok(())
    }

    /// The efforts whose means over the macro-step both linear models predict.
    pub(super) fn predict_means(
        &self,
        running: &mut RunningModel,
        model: &InterfaceModel,
        step: &Step,
    ) {
        let read = |output: Option<usize>| output.map_or(0.0, |output| self.outputs[output]);
        for (index, coordinate) in model.coordinates.iter().enumerate() {
            running.force_rate[index] = read(coordinate.force_rate);
            running.stiffness[index] = read(coordinate.stiffness);
        }
        let Some((inverse_mass, free_acceleration)) = running.masses.last() else {
            return;
        };
        let sides = Sides {
            inverse_mass,
            free_acceleration,
            force: &running.force,
            force_rate: &running.force_rate,
            stiffness: &running.stiffness,
        };
        let d = step.size / f64::from(model.exchanges);
        running.prediction.predict(&sides, d, model.exchanges);
        for (mean, effort) in running.means.iter_mut().zip(&model.efforts) {
            let coordinate = effort.coordinate;
            let acting = model.efforts.iter().filter(|e| e.coordinate == coordinate);
            let weights: f64 = acting.map(|e| e.weight * e.weight).sum();
            let change = running.prediction.mean[coordinate] - running.force[coordinate];
            // Only the sum of weight · effort is known to change: it is shared out by the weights.
            *mean = self.outputs[effort.output] + effort.weight / weights * change;
        }
    }
}
