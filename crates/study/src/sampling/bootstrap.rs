//! Confidence of sensitivities: how far they scatter over resamples of the groups (Archer, Saltelli & Sobol 1997).

use gyrator::random::SplitMix64;

/// Resamples that the scatter is estimated from; the estimate of a deviation from 1000 has an error of 2 %.
const RESAMPLES: usize = 1000;
/// Two-sided quantile of the normal distribution for 95 %.
const QUANTILE_95: f64 = 1.959_963_984_540_054;

/// Half of the 95 % intervals of some figures, which `figures` computes from the numbers of the groups of a resample.
pub(super) fn half_widths(
    groups: usize,
    seed: u64,
    mut figures: impl FnMut(&[usize]) -> Vec<f64>,
) -> Vec<f64> {
    let mut stream = SplitMix64::new(seed);
    let mut chosen = vec![0; groups];
    let (mut sums, mut squares) = (Vec::new(), Vec::new());
    let mut first: Vec<f64> = Vec::new();
    for resample in 0..RESAMPLES {
        for place in &mut chosen {
            *place = ((stream.next_unit() * groups as f64) as usize).min(groups - 1);
        }
        let figures = figures(&chosen);
        if resample == 0 {
            sums = vec![0.0; figures.len()];
            squares = vec![0.0; figures.len()];
            first.clone_from(&figures);
        }
        for (index, figure) in figures.iter().enumerate() {
            // Differences to the first keep the digits of figures that scatter little.
            let difference = figure - first[index];
            sums[index] += difference;
            squares[index] += difference * difference;
        }
    }
    let count = RESAMPLES as f64;
    let half_width = |(sum, square): (&f64, &f64)| {
        let variance = (square - sum * sum / count) / (count - 1.0);
        QUANTILE_95 * libm::sqrt(variance.max(0.0))
    };
    sums.iter().zip(&squares).map(half_width).collect()
}
