//! D = ∂output/∂input of a component, measured by central differences or read from its directional derivatives.
//!
//! The choice of exchange modes calls it, in Initialization Mode, in which a get after a set is legal. It never steps
//! a unit, and puts the inputs back.

use super::probing::CentralDifference;
use crate::unit::{Handle, Unit, UnitResult, Variable};

/// ∂output/∂input of one component, outputs by inputs, row by row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Gains {
    pub(crate) inputs: Vec<Handle>,
    pub(crate) outputs: Vec<Handle>,
    pub(crate) values: Vec<f64>,
    /// Pairs (output, input), as positions, whose derivative changes with the size of the probe.
    pub(crate) nonsmooth: Vec<(usize, usize)>,
}

impl Gains {
    /// Whether nothing was found.
    pub(crate) fn are_zero(&self) -> bool {
        self.nonsmooth.is_empty() && self.values.iter().all(|value| *value == 0.0)
    }

    /// Whether no derivative changes with the size of the probe.
    pub(crate) fn are_smooth(&self) -> bool {
        self.nonsmooth.is_empty()
    }

    /// The derivative of a pair; `None` where it is not known, or changes with the size of the probe.
    pub(crate) fn smooth(&self, output: Handle, input: Handle) -> Option<f64> {
        let row = self.outputs.iter().position(|known| *known == output)?;
        let column = self.inputs.iter().position(|known| *known == input)?;
        let is_smooth = !self.nonsmooth.contains(&(row, column));
        is_smooth.then(|| self.values[row * self.inputs.len() + column])
    }

    /// Whether the output was measured not to depend on the input.
    pub(crate) fn is_inert(&self, output: Handle, input: Handle) -> bool {
        self.smooth(output, input) == Some(0.0)
    }
}

/// Sizes of the two probes, times that of [`CentralDifference`]. A choice: a factor of ten shows a kink
/// or friction, and leaves a smooth function as it is.
const SMALL: f64 = 1.0;
const LARGE: f64 = 10.0;
/// A derivative that differs by more than this part between the two probes is not smooth. A choice:
/// rounding makes less than 1e-6, a kink beside the point about a half.
pub(super) const SMOOTH: f64 = 0.05;

/// Measures the direct feed-through of `outputs` from `inputs` by central differences about the
/// present inputs `at`, within the ranges of the inputs' `variables`. The unit must be in
/// Initialization Mode, where get after set is legal.
pub(crate) fn probe(
    unit: &mut dyn Unit,
    inputs: &[Handle],
    outputs: &[Handle],
    at: &[f64],
    variables: &[&Variable],
) -> UnitResult<Gains> {
    let mut gains = Gains {
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        values: vec![0.0; inputs.len() * outputs.len()],
        nonsmooth: Vec::new(),
    };
    for (column, ((&input, &value), variable)) in inputs.iter().zip(at).zip(variables).enumerate() {
        let difference = CentralDifference::about(value, variable, LARGE);
        let small = slopes(unit, input, outputs, &difference, SMALL)?;
        let large = slopes(unit, input, outputs, &difference, LARGE)?;
        unit.set_reals(&[input], &[value])?;
        for (row, (small, large)) in small.into_iter().zip(large).enumerate() {
            // The larger probe has the smaller rounding error.
            gains.values[row * inputs.len() + column] = large;
            if (small - large).abs() > SMOOTH * large.abs().max(small.abs()) {
                gains.nonsmooth.push((row, column));
            }
        }
    }
    Ok(gains)
}

/// The first pair (output, input), as positions, whose derivative the unit gives otherwise than it was measured at the same point.
/// What was measured as 0 tells nothing: some units compute outputs in steps only.
pub(crate) fn contradiction(measured: &Gains, given: &Gains) -> Option<(usize, usize)> {
    let columns = measured.inputs.len();
    let differs = |&place: &usize| {
        let (measured, given) = (measured.values[place], given.values[place]);
        measured != 0.0 && (given - measured).abs() > SMOOTH * given.abs().max(measured.abs())
    };
    let pair = |place: usize| (place / columns, place % columns);
    let places = (0..measured.values.len()).filter(differs);
    places
        .map(pair)
        .find(|pair| !measured.nonsmooth.contains(pair))
}

/// The unit's own directional derivatives in place of the measured ones: some units compute
/// outputs in steps only, and show no feed-through while they are initialised.
pub(crate) fn read_derivatives(unit: &mut dyn Unit, measured: &Gains) -> UnitResult<Gains> {
    let mut gains = measured.clone();
    let mut column_values = vec![0.0; gains.outputs.len()];
    for (column, input) in gains.inputs.iter().enumerate() {
        unit.directional_derivative(&gains.outputs, &[*input], &[1.0], &mut column_values)?;
        for (row, value) in column_values.iter().enumerate() {
            gains.values[row * gains.inputs.len() + column] = *value;
        }
    }
    Ok(gains)
}

/// ∂outputs/∂input by a central difference of so many `times` its size; 0 where the change is rounding,
/// at most some dozens of last digits in an output of as many operations.
fn slopes(
    unit: &mut dyn Unit,
    input: Handle,
    outputs: &[Handle],
    difference: &CentralDifference,
    times: f64,
) -> UnitResult<Vec<f64>> {
    let mut response = [vec![0.0; outputs.len()], vec![0.0; outputs.len()]];
    for (at, response) in difference.points(times).into_iter().zip(&mut response) {
        unit.set_reals(&[input], &[at])?;
        unit.get_reals(outputs, response)?;
    }
    let [above, below] = response;
    let slope = |(above, below): (f64, f64)| {
        let rounding = 64.0 * f64::EPSILON * above.abs().max(below.abs());
        let change = above - below;
        if change.abs() > rounding {
            difference.derivative(change, times)
        } else {
            0.0
        }
    };
    Ok(above.into_iter().zip(below).map(slope).collect())
}
