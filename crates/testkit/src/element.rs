//! An integrator in process whose step is exact for inputs that are cubic in time.

use gyrator::Unit;
use gyrator::unit::{
    Capabilities, Causality, Handle, SavedState, StepOutcome, UnitDescription, UnitResult,
    Variable, own_state,
};

/// The input and its derivatives up to the third.
type Input = [f64; 4];

/// ẋ = gain·u + ḋ(t), y = x, with the exact integral over each step of u(s) = Σ u⁽ⁿ⁾·sⁿ/n!.
///
/// A spring of stiffness k has gain k; a mass m that a force slows down has gain −1/m.
pub(crate) struct Element {
    description: UnitDescription,
    gain: f64,
    /// The drive's integral d(t).
    driven: fn(f64) -> f64,
    x: f64,
    input: Input,
}

impl Element {
    /// An element with state 0 at the start; `driven` is the integral of its drive.
    pub(crate) fn new(gain: f64, driven: fn(f64) -> f64) -> Self {
        let variables = vec![
            Variable::real("u", 0, Causality::Input),
            Variable::real("y", 1, Causality::Output),
        ];
        let capabilities = Capabilities {
            input_derivatives: 3,
            directional_derivatives: false,
            serialize: false,
            ..Capabilities::OF_VALUES
        };
        Self {
            description: UnitDescription::new(variables, [].into(), capabilities),
            gain,
            driven,
            x: 0.0,
            input: Input::default(),
        }
    }
}

/// Value and derivatives, `s` later.
fn shifted([u0, u1, u2, u3]: Input, s: f64) -> Input {
    [
        u0 + s * (u1 + s * (u2 / 2.0 + s * u3 / 6.0)),
        u1 + s * (u2 + s * u3 / 2.0),
        u2 + s * u3,
        u3,
    ]
}

impl Unit for Element {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, _handles: &[Handle], values: &[f64]) -> UnitResult {
        self.input = Input::default();
        self.input[0] = values[0];
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            *value = [self.input[0], self.x][*handle as usize];
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        let [u0, u1, u2, u3] = self.input;
        let impulse = step * (u0 + step * (u1 / 2.0 + step * (u2 / 6.0 + step * u3 / 24.0)));
        self.x += self.gain * impulse + (self.driven)(time + step) - (self.driven)(time);
        self.input = shifted(self.input, step);
        Ok(StepOutcome::Done)
    }

    fn set_input_derivatives(
        &mut self,
        _handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        for (order, value) in orders.iter().zip(values) {
            self.input[*order as usize] = *value;
        }
        Ok(())
    }

    fn save(&mut self, _previous: Option<SavedState>) -> UnitResult<SavedState> {
        Ok(Box::new((self.x, self.input)))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        (self.x, self.input) = *own_state("restore", state)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Closed form: ∫(1 + 2s + 3s² + 4s³) ds from 0 to 2 is 30, and the integrand at 2 is 49.
    #[test]
    fn a_step_is_exact_for_a_cubic_input() {
        let mut element = Element::new(2.0, |t| t);
        element.set_reals(&[0], &[1.0]).unwrap();
        let derivatives = [2.0, 6.0, 24.0];
        element
            .set_input_derivatives(&[0; 3], &[1, 2, 3], &derivatives)
            .unwrap();
        element.step(0.0, 2.0).unwrap();
        let mut values = [0.0; 2];
        element.get_reals(&[0, 1], &mut values).unwrap();
        assert_eq!(values, [49.0, 62.0]);
    }
}
