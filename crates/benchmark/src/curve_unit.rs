//! A linear unit in this process that follows the curves of its inputs, with exact steps; `gyrator::LinearUnit` holds them.

use gyrator::Unit;
use gyrator::unit::{
    Capabilities, Causality, Feedthrough, Handle, SavedState, StepOutcome, UnitDescription,
    UnitResult, Variable, own_state,
};
use nalgebra::{DMatrix, DVector};

/// Value and derivatives of an input up to the third.
const ORDERS: usize = 4;

/// Steps that differ by this part are equal: they are differences of times.
const ROUNDING: f64 = 1e-11;

/// ẋ = A·x + B·u(t), y = C·x + D·u, advanced by matrix exponentials: without an error for inputs that are cubic in time. Handles count
/// inputs, then outputs.
#[derive(Debug, Clone)]
pub(crate) struct CurveUnit {
    description: UnitDescription,
    /// Rates of the states and of each input's value and derivatives, by all of these.
    rates: DMatrix<f64>,
    outputs: DMatrix<f64>,
    /// D; an output with an element that is not zero feeds through.
    direct: DMatrix<f64>,
    /// States, then each input's value and derivatives.
    state: DVector<f64>,
    states: usize,
    /// The last step, s, and the matrix that makes it.
    propagator: Option<(f64, DMatrix<f64>)>,
}

/// The matrices of a [`CurveUnit`], row by row, with names of inputs and outputs, and the state at the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LinearSystem<'a> {
    /// A, as many rows as states.
    pub(crate) a: &'a [f64],
    /// B, the same.
    pub(crate) b: &'a [f64],
    /// C, a row an output.
    pub(crate) c: &'a [f64],
    /// D, a row an output; empty if there is none.
    pub(crate) d: &'a [f64],
    pub(crate) inputs: &'a [&'a str],
    pub(crate) outputs: &'a [&'a str],
    pub(crate) start: &'a [f64],
}

impl CurveUnit {
    /// A unit that takes derivatives of its inputs up to order `input_derivatives`, at most 3.
    pub(crate) fn new(system: &LinearSystem<'_>, input_derivatives: u32) -> Self {
        let LinearSystem { start, .. } = system;
        let (states, inputs) = (start.len(), system.inputs.len());
        let size = states + ORDERS * inputs;
        let mut rates = DMatrix::zeros(size, size);
        let a = DMatrix::from_row_slice(states, states, system.a);
        rates.view_mut((0, 0), (states, states)).copy_from(&a);
        for input in 0..inputs {
            let value = states + ORDERS * input;
            for state in 0..states {
                rates[(state, value)] = system.b[state * inputs + input];
            }
            for order in 1..ORDERS {
                rates[(value + order - 1, value + order)] = 1.0;
            }
        }
        let mut state = DVector::zeros(size);
        state.rows_mut(0, states).copy_from_slice(start);
        Self {
            description: describe(system, input_derivatives),
            rates,
            outputs: DMatrix::from_row_slice(system.outputs.len(), states, system.c),
            direct: DMatrix::from_fn(system.outputs.len(), inputs, |output, input| {
                let element = system.d.get(output * inputs + input);
                element.copied().unwrap_or(0.0)
            }),
            state,
            states,
            propagator: None,
        }
    }

    /// Place of an input's value, or of one of its derivatives.
    fn place(&self, input: Handle, order: usize) -> usize {
        self.states + ORDERS * input as usize + order
    }
}

fn describe(system: &LinearSystem<'_>, input_derivatives: u32) -> UnitDescription {
    let inputs = system.inputs.iter().map(|name| (name, Causality::Input));
    let outputs = system.outputs.iter().map(|name| (name, Causality::Output));
    let variables = inputs.chain(outputs).zip(0..);
    let variables =
        variables.map(|((name, causality), handle)| Variable::real(*name, handle, causality));
    let capabilities = Capabilities {
        input_derivatives,
        serialize: false,
        ..Capabilities::OF_VALUES
    };
    let inputs = system.inputs.len();
    let rows = system.d.chunks(inputs.max(1)).enumerate();
    let feedthrough = rows.filter_map(|(output, row)| {
        let from: Vec<usize> = (0..inputs).filter(|input| row[*input] != 0.0).collect();
        (!from.is_empty()).then_some((inputs + output, from))
    });
    let feedthrough: Feedthrough = feedthrough.collect();
    UnitDescription::new(variables.collect(), feedthrough, capabilities)
}

impl Unit for CurveUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            let place = self.place(*handle, 0);
            self.state.rows_mut(place, ORDERS).fill(0.0);
            self.state[place] = *value;
        }
        Ok(())
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        for ((handle, order), value) in handles.iter().zip(orders).zip(values) {
            let place = self.place(*handle, *order as usize);
            self.state[place] = *value;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let inputs = self.direct.ncols();
        let states = self.state.rows(0, self.states);
        for (handle, value) in handles.iter().zip(values) {
            *value = match (*handle as usize).checked_sub(inputs) {
                None => self.state[self.place(*handle, 0)],
                Some(output) => {
                    let of_states = self.outputs.row(output).transpose().dot(&states);
                    let direct = |input: Handle| self.direct[(output, input as usize)];
                    let value = |input: Handle| direct(input) * self.state[self.place(input, 0)];
                    let of_inputs = (0..inputs as Handle).map(value);
                    of_states + of_inputs.sum::<f64>()
                }
            };
        }
        Ok(())
    }

    fn step(&mut self, _time: f64, step: f64) -> UnitResult<StepOutcome> {
        let is_equal = |size: f64| (size - step).abs() <= ROUNDING * step;
        let known = self.propagator.take().filter(|(size, _)| is_equal(*size));
        let (size, propagator) = known.unwrap_or_else(|| (step, (&self.rates * step).exp()));
        self.state = &propagator * &self.state;
        self.propagator = Some((size, propagator));
        Ok(StepOutcome::Done)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let inputs = self.direct.ncols();
        for (unknown, value) in unknowns.iter().zip(values) {
            let row = (*unknown as usize).checked_sub(inputs);
            let along = knowns.iter().zip(seed);
            *value = along
                .map(|(known, seed)| {
                    row.map_or(0.0, |row| self.direct[(row, *known as usize)] * seed)
                })
                .sum();
        }
        Ok(())
    }

    fn save(&mut self, _previous: Option<SavedState>) -> UnitResult<SavedState> {
        Ok(Box::new(self.state.clone()))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        self.state.clone_from(own_state("restore", state)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Closed form: x'' = −x + t, x(0) = 1, x'(0) = 0 has x = cos t − sin t + t.
    #[test]
    fn a_step_is_exact_for_a_polynomial_input() {
        let system = LinearSystem {
            a: &[0.0, 1.0, -1.0, 0.0],
            b: &[0.0, 1.0],
            c: &[1.0, 0.0],
            d: &[],
            inputs: &["u"],
            outputs: &["x"],
            start: &[1.0, 0.0],
        };
        let mut unit = CurveUnit::new(&system, 3);
        unit.set_reals(&[0], &[0.0]).unwrap();
        unit.set_input_derivatives(&[0], &[1], &[1.0]).unwrap();
        for time in [0.0, 1.25] {
            unit.step(time, 1.25).unwrap();
        }
        let mut values = [0.0; 2];
        unit.get_reals(&[0, 1], &mut values).unwrap();
        assert!((values[0] - 2.5).abs() < 1e-14);
        let exact = 2.5_f64.cos() - 2.5_f64.sin() + 2.5;
        assert!((values[1] - exact).abs() < 1e-13, "{values:?}");
    }
}
