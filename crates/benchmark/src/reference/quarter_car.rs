//! The power through the cut of a quarter car, beside the exact one: the figures of its benchmark.

use fmu_models::QuarterCar;

/// The power through the cut of a quarter car, beside the exact one.
#[derive(Debug, Clone, PartialEq)]
pub struct QuarterCarPower {
    /// ΔP at each communication point but the first, W: Σ |P12 − P12 exact|·Δt so far, over the whole
    /// duration (Sadjina & Pedersen 2019, eq. 15a).
    pub errors: Vec<f64>,
    /// Mean of P12, from S1 to S2, to the end of the last step, W.
    pub mean: f64,
}

impl QuarterCarPower {
    /// Judges a run of `duration` s. `points` are times, s, force of the suspension, N, and velocity
    /// at the cut, m/s: of the chassis in reticulation 1, of the wheel in reticulation 2.
    #[must_use]
    pub fn of(
        car: &QuarterCar,
        reticulation: u32,
        duration: f64,
        points: &[(f64, f64, f64)],
    ) -> Self {
        let times: Vec<f64> = points.iter().map(|(time, ..)| *time).collect();
        let exact = car.motion(&times);
        let (mut errors, mut error, mut energy) = (Vec::new(), 0.0, 0.0);
        for (pair, exact) in points.windows(2).zip(exact.iter().skip(1)) {
            let (before, (time, force, velocity)) = (pair[0].0, pair[1]);
            let exact_velocity = if reticulation == 1 {
                exact.v_c
            } else {
                exact.v_w
            };
            error += (force * velocity - exact.force * exact_velocity).abs() * (time - before);
            energy -= force * velocity * (time - before);
            errors.push(error / duration);
        }
        Self {
            errors,
            mean: energy / times.last().copied().unwrap_or(f64::NAN),
        }
    }

    /// ΔP at the end, W.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.errors.last().copied().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The exact motion has no error, and a force that is 1 N too great one of the mean speed.
    #[test]
    fn errors_of_the_power() {
        let car = QuarterCar::linear();
        let times: Vec<f64> = (0..=1000).map(|k| 1e-3 * f64::from(k)).collect();
        let motion = car.motion(&times);
        let points = |more: f64| -> Vec<(f64, f64, f64)> {
            let pairs = times.iter().zip(&motion);
            pairs
                .map(|(time, exact)| (*time, exact.force + more, exact.v_w))
                .collect()
        };
        let exact = QuarterCarPower::of(&car, 2, 1.0, &points(0.0));
        assert_eq!(exact.error(), 0.0);
        let off = QuarterCarPower::of(&car, 2, 1.0, &points(1.0));
        let speed: f64 = motion[1..].iter().map(|exact| 1e-3 * exact.v_w.abs()).sum();
        assert!((off.error() - speed).abs() < 1e-9 * speed);
        let way: f64 = motion[1..].iter().map(|exact| 1e-3 * exact.v_w).sum();
        assert!((exact.mean - off.mean - way).abs() < 1e-9);
    }
}
