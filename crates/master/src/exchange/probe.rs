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

/// Size of a probe, relative to the input's magnitude.
const PROBE: f64 = 1e-6;
/// A derivative that differs by more than this between two sizes of probe is not smooth.
const SMOOTH: f64 = 0.05;

/// Measures the direct feed-through of `outputs` from `inputs` by central differences about the
/// present inputs `at`. The unit must be in Initialization Mode, where get after set is legal.
pub(crate) fn probe(
    unit: &mut dyn Unit,
    inputs: &[Handle],
    outputs: &[Handle],
    at: &[f64],
) -> UnitResult<Gains> {
    let mut gains = Gains {
        inputs: inputs.to_vec(),
        outputs: outputs.to_vec(),
        values: vec![0.0; inputs.len() * outputs.len()],
        nonsmooth: Vec::new(),
    };
    let mut response = [vec![0.0; outputs.len()], vec![0.0; outputs.len()]];
    for (column, (&input, &value)) in inputs.iter().zip(at).enumerate() {
        let mut slopes = [vec![0.0; outputs.len()], vec![0.0; outputs.len()]];
        for (scale, slopes) in [1.0, 10.0].into_iter().zip(&mut slopes) {
            let size = scale * PROBE * value.abs().max(1.0);
            for (sign, response) in [1.0, -1.0].into_iter().zip(&mut response) {
                unit.set_reals(&[input], &[value + sign * size])?;
                unit.get_reals(outputs, response)?;
            }
            for (row, slope) in slopes.iter_mut().enumerate() {
                let change = response[0][row] - response[1][row];
                let rounding =
                    64.0 * f64::EPSILON * response[0][row].abs().max(response[1][row].abs());
                *slope = if change.abs() > rounding {
                    change / (2.0 * size)
                } else {
                    0.0
                };
            }
        }
        unit.set_reals(&[input], &[value])?;
        let [small, large] = slopes;
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
