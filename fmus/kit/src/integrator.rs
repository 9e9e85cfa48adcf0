//! Advances the continuous states of a model by one inner step.

mod trapezoidal;

use crate::model::{Fault, Integrator, Model};

/// Memory for intermediate results, allocated once.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    start: Vec<f64>,
    rates: [Vec<f64>; 4],
    newton: trapezoidal::Newton,
}

impl Workspace {
    pub(crate) fn new(states: usize) -> Self {
        Self {
            start: vec![0.0; states],
            rates: std::array::from_fn(|_| vec![0.0; states]),
            newton: trapezoidal::Newton::new(states),
        }
    }

    /// The states before the last [`advance`](Self::advance).
    pub(crate) fn start(&self) -> &[f64] {
        &self.start
    }

    /// Advances `model` from `time` by `step`, both in s; `apply_inputs` puts the inputs of a
    /// given time into the model. On return the inputs are those that were applied last.
    pub(crate) fn advance<M: Model>(
        &mut self,
        model: &mut M,
        time: f64,
        step: f64,
        apply_inputs: &mut dyn FnMut(&mut M, f64),
    ) -> Result<(), Fault> {
        self.start.copy_from_slice(model.state());
        apply_inputs(model, time);
        let integrator = model.integrator();
        if integrator != Integrator::Own {
            model.derivatives(time, &mut self.rates[0]);
        }
        match integrator {
            Integrator::ForwardEuler => add_scaled(model.state(), step, &self.rates[0]),
            Integrator::SymplecticEuler => {
                symplectic(model.state(), M::POSITIONS, step, &self.rates[0]);
            }
            Integrator::RungeKutta4 => self.runge_kutta(model, time, step, apply_inputs),
            Integrator::Trapezoidal => {
                apply_inputs(model, time + step);
                let newton = &mut self.newton;
                let solved = newton.solve(model, &self.start, &self.rates[0], time, step);
                solved.map_err(|error| Fault::Error(error.to_string()))?;
            }
            Integrator::Own => model.advance(time, step)?,
        }
        Ok(())
    }

    fn runge_kutta<M: Model>(
        &mut self,
        model: &mut M,
        time: f64,
        step: f64,
        apply_inputs: &mut dyn FnMut(&mut M, f64),
    ) {
        for (stage, fraction) in [(1, 0.5), (2, 0.5), (3, 1.0)] {
            let time = time + fraction * step;
            apply_inputs(model, time);
            model.state().copy_from_slice(&self.start);
            add_scaled(model.state(), fraction * step, &self.rates[stage - 1]);
            model.derivatives(time, &mut self.rates[stage]);
        }
        let [k1, k2, k3, k4] = &self.rates;
        for (i, x) in model.state().iter_mut().enumerate() {
            *x = self.start[i] + step / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
        }
    }
}

/// The implicit equations of a step were not solved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the trapezoidal step did not converge; a smaller step_size helps")]
pub(crate) struct NotConverged;

fn add_scaled(state: &mut [f64], factor: f64, rates: &[f64]) {
    for (x, rate) in state.iter_mut().zip(rates) {
        *x += factor * rate;
    }
}

fn symplectic(state: &mut [f64], positions: usize, step: f64, rates: &[f64]) {
    add_scaled(&mut state[positions..], step, &rates[positions..]);
    let (positions, rest) = state.split_at_mut(positions);
    add_scaled(positions, step, rest);
}

#[cfg(test)]
mod tests;
