//! A trust region: how far a quadratic model of a function is believed.
//!
//! Nocedal and Wright, Numerical Optimization (2006): algorithm 4.1, and for its steps algorithm 7.2 (Steihaug 1983).

/// Length of the first step in coordinates, in which 1 is a change by the value itself, or by a good part of the
/// range. A choice.
const FIRST_RADIUS: f64 = 0.5;
/// No step is longer: no coordinate moves so far.
const LARGEST_RADIUS: f64 = 100.0;
/// A step is taken if it brings so much of what the model promises.
const LEAST_GAIN: f64 = 0.125;
/// A gradient that is so much smaller than the first one is none.
const NO_GRADIENT: f64 = 1e-9;

pub(crate) struct TrustRegion {
    radius: f64,
}

impl Default for TrustRegion {
    fn default() -> Self {
        Self {
            radius: FIRST_RADIUS,
        }
    }
}

impl TrustRegion {
    /// The step to the least value of the model within the region, by conjugate gradients, or to its boundary.
    pub(crate) fn step(&self, gradient: &[f64], hessian: &[Vec<f64>]) -> Vec<f64> {
        let mut step = vec![0.0; gradient.len()];
        let mut rest = gradient.to_vec();
        let mut direction: Vec<f64> = rest.iter().map(|value| -value).collect();
        let mut square = dot(&rest, &rest);
        let small = NO_GRADIENT * norm(&rest);
        if norm(&rest) < NO_GRADIENT {
            return step;
        }
        for _ in 0..2 * gradient.len() {
            let curved = product(hessian, &direction);
            let curvature = dot(&direction, &curved);
            let length = square / curvature;
            let next = moved(&step, length, &direction);
            if curvature <= 0.0 || norm(&next) >= self.radius {
                return moved(&step, self.to_boundary(&step, &direction), &direction);
            }
            step = next;
            rest = moved(&rest, length, &curved);
            if norm(&rest) < small {
                return step;
            }
            let square_before = square;
            square = dot(&rest, &rest);
            let turned: Vec<f64> = rest.iter().map(|value| -value).collect();
            direction = moved(&turned, square / square_before, &direction);
        }
        step
    }

    /// How many times the direction leads from a step within the region to its boundary.
    fn to_boundary(&self, step: &[f64], direction: &[f64]) -> f64 {
        let (a, b, c) = (
            dot(step, step),
            dot(direction, direction),
            dot(step, direction),
        );
        let root = libm::sqrt(b * (self.radius * self.radius - a) + c * c);
        (root - c) / b
    }

    /// Adapts the radius to what a step has changed, from `before` to `now`; whether the step is to be taken.
    pub(crate) fn judge(
        &mut self,
        step: &[f64],
        gradient: &[f64],
        hessian: &[Vec<f64>],
        (before, now): (f64, f64),
    ) -> bool {
        let promised = -dot(step, gradient) - 0.5 * dot(step, &product(hessian, step));
        let gain = (before - now) / promised;
        let length = norm(step);
        let is_at_boundary = (length - self.radius).abs() <= 1e-9 * self.radius;
        if gain < 0.25 {
            self.radius = 0.25 * length;
        } else if gain > 0.75 && is_at_boundary {
            self.radius = LARGEST_RADIUS.min(2.0 * self.radius);
        }
        gain > LEAST_GAIN
    }
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    libm::sqrt(dot(a, a))
}

fn product(matrix: &[Vec<f64>], vector: &[f64]) -> Vec<f64> {
    matrix.iter().map(|row| dot(row, vector)).collect()
}

/// a + length·direction.
fn moved(a: &[f64], length: f64, direction: &[f64]) -> Vec<f64> {
    let pairs = a.iter().zip(direction);
    pairs.map(|(a, d)| a + length * d).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least value of ½·xᵀHx + gᵀx is at −H⁻¹g; a smaller region ends on the way there, at its boundary.
    #[test]
    fn steps_lead_to_the_least_value_or_to_the_boundary() {
        let hessian = vec![vec![4.0, 1.0], vec![1.0, 3.0]];
        let gradient = [-1.0, -2.0];
        let whole = TrustRegion { radius: 1.0 }.step(&gradient, &hessian);
        for (found, exact) in whole.iter().zip([1.0 / 11.0, 7.0 / 11.0]) {
            assert!((found - exact).abs() < 1e-12, "{whole:?}");
        }
        let mut region = TrustRegion { radius: 0.25 };
        let part = region.step(&gradient, &hessian);
        assert!((norm(&part) - 0.25).abs() < 1e-12, "{part:?}");
        let model = |x: &[f64]| dot(&gradient, x) + 0.5 * dot(x, &product(&hessian, x));
        assert!(model(&part) < 0.0 && model(&whole) < model(&part));
        // A model that holds is believed further, one that does not is believed less far.
        assert!(region.judge(&part, &gradient, &hessian, (0.0, model(&part))));
        assert_eq!(region.radius, 0.5);
        assert!(!region.judge(&part, &gradient, &hessian, (0.0, f64::INFINITY)));
        assert!((region.radius - 0.0625).abs() < 1e-12);
        // Without a slope it does not step; without curvature the boundary is the end.
        assert_eq!(region.step(&[0.0, 0.0], &hessian), [0.0, 0.0]);
        let flat = region.step(&[0.0, 1.0], &[vec![0.0; 2], vec![0.0; 2]]);
        assert!(
            (flat[1] + 0.0625).abs() < 1e-12 && flat[0] == 0.0,
            "{flat:?}"
        );
    }
}
