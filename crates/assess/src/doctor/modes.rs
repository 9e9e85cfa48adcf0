//! Modes of a sampled signal: the eigenvalues of the linear map from one sample to the next.
//!
//! Dynamic mode decomposition of delayed samples (Schmid 2010, doi 10.1017/S0022112010001217; with delays: Tu et al. 2014,
//! doi 10.3934/jcd.2014.1.391): least squares for the map from each column of a Hankel matrix to the next one, in the
//! space of its largest singular values.

use nalgebra::{Complex, DMatrix, DVector};

use crate::doctor::accuracy::root_mean_square;

// Numbers without a reason are choices. The studies (docs/doctor-method.md) judge them by their result: how near the stability
// limits are to the limits of whole runs, and that no proposal is worse.

/// Fewest rows of the delayed samples, if there are samples enough: of few signals, delays tell the states.
const ROWS: usize = 40;
/// Singular values below this part of the largest are rounding, whose root of 1.5e-8 is in them, and what solvers of FMUs leave.
const NOISE: f64 = 1e-7;
/// Most states that are distinguished.
const MOST_STATES: usize = 30;
/// A mode that has less of the samples' last third, as root of the mean square, is one of noise.
const SIGNIFICANT: f64 = 1e-3;
/// One sample in so many, the last ones, is held back.
const HELD_BACK: usize = 4;
/// Modes that miss the samples held back by more than this part of them do not count: they come from a system that is not
/// linear, or from events.
const MISSED: f64 = 0.3;
/// Samples held back that are below this part of the others have faded; noise has no part in the judgement.
const FADED: f64 = 1e-3;
/// Magnitude below which samples are nothing, relative to the scale that they are given in.
const NOTHING: f64 = 1e-13;

/// A mode that has more of them rings in the signals.
const RINGING: f64 = 1e-2;

/// The modes of the map from one sample to the next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Modes {
    /// The largest magnitude of an eigenvalue; 0 if the samples vanish.
    pub(crate) radius: f64,
    /// How many times longer a step may be until the fastest mode changes its sign from each sample to the next without fading, if its
    /// force is held over each step. Infinite if no mode shows such a step.
    pub(crate) longest: f64,
}

/// The modes of some samples, `None` if there are too few, or the modes of the first ones do not predict the last ones. `samples`
/// has a row for each sample; columns are scaled by the caller, and 1 is a sizeable value.
pub(crate) fn modes(samples: &[Vec<f64>]) -> Option<Modes> {
    let signals = samples.first()?.len();
    let greatest = |samples: &[Vec<f64>]| {
        let values = samples.iter().flatten();
        values.fold(0.0, |greatest: f64, value| greatest.max(value.abs()))
    };
    let all = greatest(samples);
    if all == 0.0 || greatest(&samples[samples.len() / 2..]) <= NOTHING * all.max(1.0) {
        return Some(Modes {
            radius: 0.0,
            longest: f64::INFINITY,
        });
    }
    let (shown, held_back) = samples.split_at(samples.len() - samples.len() / HELD_BACK);
    let delays = ROWS.div_ceil(signals).min(shown.len() / 3).max(1);
    let columns = shown.len() + 1 - delays;
    if columns < 6 {
        return None;
    }
    let hankel = DMatrix::from_fn(delays * signals, columns, |row, column| {
        samples[column + row / signals][row % signals]
    });
    let map = reduced_map(&hankel)?;
    let eigenvalues = map.complex_eigenvalues();
    significant(&eigenvalues, shown, held_back)
}

/// The map from each column to the next one, in the space of the largest singular values.
fn reduced_map(hankel: &DMatrix<f64>) -> Option<DMatrix<f64>> {
    let columns = hankel.ncols();
    let before = hankel.columns(0, columns - 1).into_owned();
    let after = hankel.columns(1, columns - 1);
    // By the eigenvectors of the products of columns: nalgebra's singular vectors of a matrix of rank one that grows by
    // orders of magnitude are wrong.
    let scale = before.amax();
    let scaled = &before / scale;
    let products = scaled.transpose() * &scaled;
    let eigen = products.try_symmetric_eigen(f64::EPSILON, 10_000)?;
    let values = eigen.eigenvalues;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].total_cmp(&values[*a]));
    let most = MOST_STATES.min(columns / 3);
    let greatest = values.max();
    let is_kept = |index: &usize| values[*index] > NOISE * NOISE * greatest;
    let kept: Vec<usize> = order.into_iter().take(most).filter(is_kept).collect();
    let right = eigen.eigenvectors.select_columns(&kept);
    let inverse = kept.iter().map(|index| values[*index].sqrt().recip());
    let inverse = DMatrix::from_diagonal(&DVector::from_iterator(kept.len(), inverse));
    let left = &scaled * &right * &inverse;
    let map = left.transpose() * (after / scale) * right * inverse;
    map.iter().all(|value| value.is_finite()).then_some(map)
}

/// Of the eigenvalues whose modes have a part in the last third of the samples shown, if they predict those held back.
fn significant(
    eigenvalues: &DVector<Complex<f64>>,
    shown: &[Vec<f64>],
    held_back: &[Vec<f64>],
) -> Option<Modes> {
    let mut by_size: Vec<Complex<f64>> = eigenvalues.iter().copied().collect();
    by_size.sort_by(|a, b| b.norm().total_cmp(&a.norm()));
    let fit = Fit::of(by_size, shown)?;
    let shares = fit.shares(shown)?;
    if fit.missed(shown, held_back) > MISSED {
        return None;
    }
    let with = |part: f64| {
        let found = fit.eigenvalues.iter().zip(&shares);
        let found = found.filter(move |(_, share)| **share >= part);
        found.map(|(value, _)| *value)
    };
    let largest = fit.eigenvalues.first().map_or(0.0, |value| value.norm());
    Some(Modes {
        radius: with(SIGNIFICANT).next().map_or(largest, Complex::norm),
        longest: with(RINGING).map(longest).fold(f64::INFINITY, f64::min),
    })
}

/// How many times longer a step may be until a mode of this eigenvalue, stable now, has the eigenvalue -1. It is a mode of
/// the oscillator λ² − (2 − c·h − ω²·h²)·λ + 1 − c·h = 0, which a held force makes of a mass, or of λ = 1 − k·h.
fn longest(value: Complex<f64>) -> f64 {
    if value.im == 0.0 {
        return 2.0 / (1.0 - value.re).max(0.0);
    }
    let damping = 1.0 - value.norm_sqr();
    let stiffness = (2.0 - 2.0 * value.re - damping).max(0.0);
    // ω²·h² + 2·c·h = 4, without a difference of equal numbers.
    4.0 / (damping + (damping * damping + 4.0 * stiffness).max(0.0).sqrt()).max(0.0)
}

/// Amplitudes of modes by least squares.
struct Fit {
    eigenvalues: Vec<Complex<f64>>,
    /// A row for each mode, with a value for each signal.
    amplitudes: DMatrix<Complex<f64>>,
    count: usize,
}

impl Fit {
    fn of(eigenvalues: Vec<Complex<f64>>, samples: &[Vec<f64>]) -> Option<Self> {
        let mut fit = Self {
            amplitudes: DMatrix::zeros(0, 0),
            count: samples.len(),
            eigenvalues,
        };
        let powers = DMatrix::from_fn(fit.count, fit.eigenvalues.len(), |row, mode| {
            fit.power(mode, row)
        });
        let values = DMatrix::from_fn(fit.count, samples[0].len(), |row, signal| {
            Complex::new(samples[row][signal], 0.0)
        });
        let svd = powers.try_svd(true, true, f64::EPSILON, 10_000)?;
        fit.amplitudes = svd.solve(&values, 1e-12).ok()?;
        Some(fit)
    }

    /// A power of an eigenvalue, over its greatest one within the samples, so that none of them overflows.
    fn power(&self, mode: usize, row: usize) -> Complex<f64> {
        let value = self.eigenvalues[mode];
        let from = if value.norm() > 1.0 {
            self.count - 1
        } else {
            0
        };
        value.powi(row as i32 - from as i32)
    }

    /// The part that each mode has in the last third of the samples.
    fn shares(&self, samples: &[Vec<f64>]) -> Option<Vec<f64>> {
        let late = self.count - self.count / 3..self.count;
        let signals = samples[0].len();
        let whole = size(&samples[late.clone()]);
        let share = |mode: usize| {
            let part = late.clone().map(|row| {
                let power = self.power(mode, row);
                let signals = 0..signals;
                signals
                    .map(|signal| (power * self.amplitudes[(mode, signal)]).norm())
                    .collect()
            });
            size(&part.collect::<Vec<Vec<f64>>>()) / whole
        };
        let shares: Vec<f64> = (0..self.eigenvalues.len()).map(share).collect();
        let are_finite = shares.iter().all(|share| share.is_finite());
        are_finite.then_some(shares)
    }

    /// How far the modes miss the samples that follow, relative to these.
    fn missed(&self, shown: &[Vec<f64>], held_back: &[Vec<f64>]) -> f64 {
        let miss = held_back.iter().enumerate().map(|(row, values)| {
            let powers = (0..self.eigenvalues.len()).map(|mode| self.power(mode, self.count + row));
            let powers: Vec<Complex<f64>> = powers.collect();
            let miss = values.iter().enumerate().map(|(signal, value)| {
                let parts = powers.iter().enumerate();
                let parts = parts.map(|(mode, power)| power * self.amplitudes[(mode, signal)]);
                parts.sum::<Complex<f64>>().re - value
            });
            miss.collect()
        });
        let miss: Vec<Vec<f64>> = miss.collect();
        size(&miss) / size(held_back).max(FADED * size(shown))
    }
}

/// Root of the mean square of all values.
fn size(samples: &[Vec<f64>]) -> f64 {
    root_mean_square(samples.iter().flatten().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sums of rⁿ·cos(φ·n): the radius is the greatest r.
    #[test]
    fn the_radius_of_sums_of_oscillations_is_found() {
        for (parts, expected) in [
            (&[(0.9, 0.3), (0.5, 2.0)][..], 0.9),
            (&[(1.001, 0.1), (0.7, 0.0), (0.99, 1.5)], 1.001),
            (&[(1.3, 3.0), (1.0, 0.05)], 1.3),
            (&[(1.0, 0.02)], 1.0),
        ] {
            let sample = |n: usize| {
                let of = |shift: f64| {
                    let parts = parts.iter();
                    let values = parts.map(|(r, phi): &(f64, f64)| {
                        r.powi(n as i32) * (phi * n as f64 + shift).cos()
                    });
                    values.sum::<f64>()
                };
                vec![of(0.0), of(0.7)]
            };
            let samples: Vec<Vec<f64>> = (0..90).map(sample).collect();
            let found = modes(&samples).unwrap().radius;
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
    }

    #[test]
    fn equal_signals_of_one_mode_are_told_apart_from_nothing() {
        for radius in [0.5_f64, 1.378_414_230_005_442, 1.9, 3.0] {
            let sample = |n: i32| vec![(-radius).powi(n); 2];
            let samples: Vec<Vec<f64>> = (0..36).map(sample).collect();
            let found = modes(&samples).unwrap().radius;
            assert!((found / radius - 1.0).abs() < 1e-6, "{found} {radius}");
        }
    }

    /// Growth that ends, as at a bounded amplitude, does not come from a linear loop.
    #[test]
    fn modes_that_do_not_predict_what_follows_are_none() {
        let sample = |n: i32| vec![(1.2_f64.powi(n.min(50)) * f64::from(n)).cos()];
        let samples: Vec<Vec<f64>> = (0..90).map(sample).collect();
        assert_eq!(modes(&samples), None);
        let bounded = |n: i32| vec![1.2_f64.powi(n.min(66)), 1.0];
        let samples: Vec<Vec<f64>> = (0..90).map(bounded).collect();
        assert_eq!(modes(&samples), None);
    }

    #[test]
    fn what_vanishes_has_no_radius_and_few_samples_tell_nothing() {
        let samples: Vec<Vec<f64>> = (0..60)
            .map(|n| vec![if n < 3 { 1.0 } else { 0.0 }])
            .collect();
        assert_eq!(modes(&samples).unwrap().radius, 0.0);
        assert_eq!(modes(&samples[..2]), None);
        assert_eq!(modes(&[]), None);
    }

    /// Noise of the last digits, 1e-8 of the signal, does not make an eigenvalue outside of the unit circle significant.
    #[test]
    fn noise_makes_no_growth() {
        let noise = |n: usize| ((n * 7919 % 104_729) as f64 / 104_729.0 - 0.5) * 1e-8;
        let sample = |n: usize| vec![0.98_f64.powi(n as i32) * (0.4 * n as f64).cos() + noise(n)];
        let samples: Vec<Vec<f64>> = (0..96).map(sample).collect();
        let found = modes(&samples).unwrap().radius;
        assert!((found - 0.98).abs() < 1e-3, "{found}");
    }

    /// Of the leapfrog method for ω, which is stable below ω·h = 2, at ω·h = 0.3; the same with a slower mode beside it.
    #[test]
    fn the_longest_step_of_an_oscillator_under_held_forces_is_found() {
        let angle = (1.0 - 0.5 * 0.3_f64.powi(2)).acos();
        for others in [0.0, 1.0] {
            let sample =
                |n: usize| vec![(angle * n as f64).cos() + others * (0.1 * n as f64).sin()];
            let samples: Vec<Vec<f64>> = (0..60).map(sample).collect();
            let found = modes(&samples).unwrap().longest;
            assert!((found * 0.3 / 2.0 - 1.0).abs() < 1e-6, "{found}");
        }
        // x(n+1) = x(n) − 0.1·x(n).
        let samples: Vec<Vec<f64>> = (0..60).map(|n| vec![0.9_f64.powi(n)]).collect();
        assert!((modes(&samples).unwrap().longest - 20.0).abs() < 1e-6);
    }
}
