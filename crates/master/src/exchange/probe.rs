use crate::unit::{Handle, Unit, UnitResult};

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

    /// Whether the output was measured not to depend on the input.
    pub(crate) fn is_inert(&self, output: Handle, input: Handle) -> bool {
        let row = self.outputs.iter().position(|known| *known == output);
        let column = self.inputs.iter().position(|known| *known == input);
        let (Some(row), Some(column)) = (row, column) else {
            return false;
        };
        self.values[row * self.inputs.len() + column] == 0.0
            && !self.nonsmooth.contains(&(row, column))
    }
}

/// Size of a probe, relative to the input's magnitude.
const PROBE: f64 = 1e-6;
/// A derivative that differs by more than this between two sizes of probe is not smooth.
const SMOOTH: f64 = 0.05;

/// Measures the direct feed-through of `outputs` from `inputs` by central differences about the
/// present inputs `at`, within the inputs' `ranges`. The unit must be in Initialization Mode, where
/// get after set is legal.
pub(crate) fn probe(
    unit: &mut dyn Unit,
    inputs: &[Handle],
    outputs: &[Handle],
    at: &[f64],
    ranges: &[(f64, f64)],
) -> UnitResult<Gains> {
    let mut gains = Gains {
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        values: vec![0.0; inputs.len() * outputs.len()],
        nonsmooth: Vec::new(),
    };
    for (column, ((&input, &value), range)) in inputs.iter().zip(at).zip(ranges).enumerate() {
        let size = PROBE * value.abs().max(1.0);
        // The middle of the larger probe must leave room on both sides.
        let middle = value.min(range.1 - 10.0 * size).max(range.0 + 10.0 * size);
        let small = slopes(unit, input, outputs, middle, size)?;
        let large = slopes(unit, input, outputs, middle, 10.0 * size)?;
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

/// Puts the unit's own directional derivatives in place of the measured ones: some units compute
/// outputs in steps only, and show no feed-through while they are initialised.
pub(crate) fn take_derivatives(unit: &mut dyn Unit, gains: &mut Gains) -> UnitResult {
    let mut column_values = vec![0.0; gains.outputs.len()];
    for (column, input) in gains.inputs.iter().enumerate() {
        unit.directional_derivative(&gains.outputs, &[*input], &[1.0], &mut column_values)?;
        for (row, value) in column_values.iter().enumerate() {
            gains.values[row * gains.inputs.len() + column] = *value;
        }
    }
    Ok(())
}

/// ∂outputs/∂input by a central difference of ±`size` about `middle`; 0 where only rounding moves.
fn slopes(
    unit: &mut dyn Unit,
    input: Handle,
    outputs: &[Handle],
    middle: f64,
    size: f64,
) -> UnitResult<Vec<f64>> {
    let mut response = [vec![0.0; outputs.len()], vec![0.0; outputs.len()]];
    for (at, response) in [middle + size, middle - size]
        .into_iter()
        .zip(&mut response)
    {
        unit.set_reals(&[input], &[at])?;
        unit.get_reals(outputs, response)?;
    }
    let [above, below] = response;
    let slope = |(above, below): (f64, f64)| {
        let rounding = 64.0 * f64::EPSILON * above.abs().max(below.abs());
        let change = above - below;
        if change.abs() > rounding {
            change / (2.0 * size)
        } else {
            0.0
        }
    };
    Ok(above.into_iter().zip(below).map(slope).collect())
}
