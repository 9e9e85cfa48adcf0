//! A linear unit, stepped exactly: for test benches, controllers, plants of a few states.

use nalgebra::{DMatrix, DVector};

use crate::state_stream::StateStream;
use crate::unit::read_state;
use crate::unit::{
    Capabilities, Causality, Feedthrough, Handle, SavedState, StepOutcome, Unit, UnitDescription,
    UnitResult, Variable, own_state, set_inputs,
};

/// ẋ = A·x + B·u, y = C·x + D·u, stepped by the exact solution for inputs that are held.
///
/// Outputs are computed when they are read, so fresh exchange is safe; D is the direct feed-through.
pub struct LinearUnit {
    description: UnitDescription,
    a: DMatrix<f64>,
    b: DMatrix<f64>,
    c: DMatrix<f64>,
    d: DMatrix<f64>,
    states: DVector<f64>,
    /// Memory for the states after a step.
    next_states: DVector<f64>,
    inputs: DVector<f64>,
    /// Of the last step, and of the one of another length before.
    transitions: [Transition; 2],
}

/// [e^(A·h), ∫e^(A·s)B ds].
struct Transition {
    /// Length h of the step that it was computed for, s.
    step: f64,
    of_states: DMatrix<f64>,
    of_inputs: DMatrix<f64>,
}

impl Transition {
    fn none() -> Self {
        Self {
            step: 0.0,
            of_states: DMatrix::zeros(0, 0),
            of_inputs: DMatrix::zeros(0, 0),
        }
    }
}

/// A matrix of a [`LinearUnit`] whose number of elements does not fit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the matrix {matrix} has {found} elements; {rows} rows of {columns} are needed")]
#[non_exhaustive]
pub struct ShapeError {
    /// Its letter.
    pub matrix: char,
    /// Rows that it must have.
    pub rows: usize,
    /// Columns that it must have.
    pub columns: usize,
    /// Elements that it has.
    pub found: usize,
}

impl LinearUnit {
    /// A unit with states that start at `states`, inputs and outputs by name, and the matrices A
    /// (states × states), B (states × inputs), C (outputs × states), D (outputs × inputs), each row
    /// by row.
    ///
    /// # Panics
    /// If a matrix does not have as many elements as its shape asks for; [`try_new`](Self::try_new) does not.
    pub fn new(states: &[f64], inputs: &[&str], outputs: &[&str], matrices: [&[f64]; 4]) -> Self {
        match Self::try_new(states, inputs, outputs, matrices) {
            Ok(unit) => unit,
            Err(error) => panic!("{error}"),
        }
    }

    /// As [`new`](Self::new), for matrices that come from outside the program.
    ///
    /// # Errors
    /// A matrix that does not have as many elements as its shape asks for.
    pub fn try_new(
        states: &[f64],
        inputs: &[&str],
        outputs: &[&str],
        [a, b, c, d]: [&[f64]; 4],
    ) -> Result<Self, ShapeError> {
        let (n, m, p) = (states.len(), inputs.len(), outputs.len());
        for (matrix, elements, rows, columns) in [
            ('A', a, n, n),
            ('B', b, n, m),
            ('C', c, p, n),
            ('D', d, p, m),
        ] {
            let found = elements.len();
            if found != rows * columns {
                return Err(ShapeError {
                    matrix,
                    rows,
                    columns,
                    found,
                });
            }
        }
        let named = inputs.iter().map(|name| (*name, Causality::Input));
        let named = named.chain(outputs.iter().map(|name| (*name, Causality::Output)));
        let variables = named
            .zip(0..)
            .map(|((name, causality), handle)| Variable::real(name, handle, causality))
            .collect();
        let d = DMatrix::from_row_slice(p, m, d);
        let feedthrough: Feedthrough = (0..p)
            .map(|row| {
                (
                    m + row,
                    (0..m).filter(|column| d[(row, *column)] != 0.0).collect(),
                )
            })
            .collect();
        Ok(Self {
            description: UnitDescription::new(variables, feedthrough, Capabilities::OF_VALUES),
            a: DMatrix::from_row_slice(n, n, a),
            b: DMatrix::from_row_slice(n, m, b),
            c: DMatrix::from_row_slice(p, n, c),
            d,
            states: DVector::from_row_slice(states),
            next_states: DVector::zeros(n),
            inputs: DVector::zeros(m),
            transitions: [Transition::none(), Transition::none()],
        })
    }

    fn prepare(&mut self, step: f64) {
        if self.transitions[0].step == step {
            return;
        }
        self.transitions.swap(0, 1);
        if self.transitions[0].step == step {
            return;
        }
        let (n, m) = self.b.shape();
        // exp of [A B; 0 0]·h holds both blocks (Van Loan 1978).
        let mut block = DMatrix::zeros(n + m, n + m);
        block.view_mut((0, 0), (n, n)).copy_from(&(&self.a * step));
        block.view_mut((0, n), (n, m)).copy_from(&(&self.b * step));
        let exponential = block.exp();
        self.transitions[0] = Transition {
            step,
            of_states: exponential.view((0, 0), (n, n)).into_owned(),
            of_inputs: exponential.view((0, n), (n, m)).into_owned(),
        };
    }
}

/// Adds matrix · vector to a sum, column by column. In a loop of its own: the general product of nalgebra takes three times
/// as long for a few states if it is not optimised.
fn add_product(sum: &mut [f64], matrix: &DMatrix<f64>, vector: &[f64]) {
    if sum.is_empty() {
        return;
    }
    let columns = matrix.as_slice().chunks_exact(sum.len());
    for (column, factor) in columns.zip(vector) {
        for (sum, element) in sum.iter_mut().zip(column) {
            *sum += element * factor;
        }
    }
}

impl Unit for LinearUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        set_inputs(self.inputs.as_mut_slice(), handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let inputs = self.inputs.len();
        for (&handle, value) in handles.iter().zip(values) {
            let handle = handle as usize;
            *value = if handle < inputs {
                self.inputs[handle]
            } else {
                let row = handle - inputs;
                let of_states: f64 = self
                    .c
                    .row(row)
                    .iter()
                    .zip(self.states.iter())
                    .map(|(c, x)| c * x)
                    .sum();
                let of_inputs: f64 = self
                    .d
                    .row(row)
                    .iter()
                    .zip(self.inputs.iter())
                    .map(|(d, u)| d * u)
                    .sum();
                of_states + of_inputs
            };
        }
        Ok(())
    }

    fn step(&mut self, _time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.prepare(step);
        let Transition {
            of_states,
            of_inputs,
            ..
        } = &self.transitions[0];
        let next = self.next_states.as_mut_slice();
        next.fill(0.0);
        add_product(next, of_states, self.states.as_slice());
        add_product(next, of_inputs, self.inputs.as_slice());
        std::mem::swap(&mut self.states, &mut self.next_states);
        Ok(StepOutcome::Done)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let inputs = self.inputs.len();
        for (&unknown, value) in unknowns.iter().zip(values) {
            let row = unknown as usize - inputs;
            *value = knowns
                .iter()
                .zip(seed)
                .map(|(&known, seed)| self.d[(row, known as usize)] * seed)
                .sum();
        }
        Ok(())
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        let previous = previous.map(SavedState::downcast::<(DVector<f64>, DVector<f64>)>);
        let Some(Ok(mut saved)) = previous else {
            return Ok(Box::new((self.states.clone(), self.inputs.clone())));
        };
        saved.0.copy_from(&self.states);
        saved.1.copy_from(&self.inputs);
        Ok(saved)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let (states, inputs): &(DVector<f64>, DVector<f64>) = own_state("restore", state)?;
        self.states.copy_from(states);
        self.inputs.copy_from(inputs);
        Ok(())
    }

    fn serialize(&mut self) -> UnitResult<Vec<u8>> {
        let mut stream = StateStream::to_write();
        transfer(self, &mut stream);
        Ok(stream.finish().unwrap_or_default())
    }

    fn deserialize(&mut self, bytes: &[u8]) -> UnitResult {
        read_state(bytes, |stream| transfer(self, stream))
    }
}

fn transfer(unit: &mut LinearUnit, stream: &mut StateStream) {
    stream.keep(unit.states.as_mut_slice());
    stream.keep(unit.inputs.as_mut_slice());
}

#[cfg(test)]
mod tests {
    use super::*;

    // Closed form: ẋ = −x + u with u held has x(h) = u + (x0 − u)·e^(−h).
    #[test]
    fn a_step_is_exact() {
        let mut unit = LinearUnit::new(&[3.0], &["u"], &["y"], [&[-1.0], &[1.0], &[2.0], &[0.5]]);
        unit.set_reals(&[0], &[1.0]).unwrap();
        unit.step(0.0, 0.7).unwrap();
        let mut y = [0.0];
        unit.get_reals(&[1], &mut y).unwrap();
        assert!((y[0] - (2.0 * (1.0 + 2.0 * (-0.7_f64).exp()) + 0.5)).abs() < 1e-14);
    }
}
