//! Integration by extrapolation of the modified midpoint rule (Gragg, Bulirsch and Stoer), in
//! adaptive steps that end at the times asked for.
//!
//! Every further column of the scheme raises the order by two, without a table of coefficients
//! to copy (Hairer, Nørsett, Wanner: Solving Ordinary Differential Equations I, section II.9).

/// Error allowed per step, relative to each number of the state and absolute.
const TOLERANCE: f64 = 1e-13;

/// Columns of the extrapolation: order 16 with the midpoint rule in 2, 4, …, 16 parts.
const COLUMNS: usize = 8;

/// Rows that are made at least, and columns in which the newest row has to agree with the one
/// above: if a rate has a kink, one column alone agrees by chance too often.
const FEWEST_ROWS: usize = 5;
const COMPARED_COLUMNS: usize = 3;

/// Step to try first, s.
const FIRST_STEP: f64 = 1e-3;

/// Shortest step relative to the time, or absolute in s: below, rounding errors prevail.
const SHORTEST_STEP: f64 = 1e-14;

/// The solution could not be continued.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
#[error("the reference solution cannot be continued from {time} s to {end} s")]
pub struct NotConverged {
    /// Where it stands, s.
    pub time: f64,
    /// Where it was asked to go, s.
    pub end: f64,
}

/// Writes the rates of a state, its second argument, at a time in s.
pub(super) type Rates<'a> = dyn Fn(f64, &[f64], &mut [f64]) + 'a;

/// A solution that moves forward in time.
pub(super) struct Integration {
    time: f64,
    state: Vec<f64>,
    /// Step to try next, s.
    step: f64,
    /// T_j,k of the present row, by column.
    row: [Vec<f64>; COLUMNS],
    midpoint: Midpoint,
}

impl Integration {
    pub(super) fn new(state: Vec<f64>) -> Self {
        let numbers = state.len();
        Self {
            time: 0.0,
            step: FIRST_STEP,
            row: std::array::from_fn(|_| vec![0.0; numbers]),
            midpoint: Midpoint::new(numbers),
            state,
        }
    }

    pub(super) fn state(&self) -> &[f64] {
        &self.state
    }

    pub(super) fn advance_to(&mut self, end: f64, rates: &Rates<'_>) -> Result<(), NotConverged> {
        let stuck = |time| NotConverged { time, end };
        if !(self.time..f64::INFINITY).contains(&end) {
            return Err(stuck(self.time));
        }
        while self.time < end {
            let left = end - self.time;
            let step = self.step.min(left);
            if step < SHORTEST_STEP * self.time.max(1.0) && step < left {
                return Err(stuck(self.time));
            }
            if self.try_step(step, rates) {
                self.time = if step == left { end } else { self.time + step };
                self.step = self.step.max(2.0 * step);
            } else {
                self.step = step / 2.0;
            }
        }
        Ok(())
    }

    /// Makes the step if its error is small enough.
    fn try_step(&mut self, step: f64, rates: &Rates<'_>) -> bool {
        for column in 0..COLUMNS {
            let mut carried = self
                .midpoint
                .solve(self.time, &self.state, step, column + 1, rates);
            let mut agrees = column + 1 >= FEWEST_ROWS;
            // Aitken and Neville: T_j,k+1 = T_j,k + (T_j,k − T_j−1,k) / ((n_j/n_j−k−1)² − 1).
            for k in 0..column {
                let ratio = (column + 1) as f64 / (column - k) as f64;
                let factor = 1.0 / (ratio * ratio - 1.0);
                let is_compared = k + COMPARED_COLUMNS >= column;
                for (new, old) in carried.iter_mut().zip(&mut self.row[k]) {
                    let above = std::mem::replace(old, *new);
                    let difference = *new - above;
                    agrees &= !is_compared || difference.abs() <= TOLERANCE * (1.0 + above.abs());
                    *new += factor * difference;
                }
            }
            self.row[column].copy_from_slice(&carried);
            if agrees && carried.iter().all(|number| number.is_finite()) {
                self.state.copy_from_slice(&carried);
                return true;
            }
        }
        false
    }
}

/// The modified midpoint rule, and its memory.
struct Midpoint {
    before: Vec<f64>,
    now: Vec<f64>,
    rates: Vec<f64>,
}

impl Midpoint {
    fn new(numbers: usize) -> Self {
        Self {
            before: vec![0.0; numbers],
            now: vec![0.0; numbers],
            rates: vec![0.0; numbers],
        }
    }

    /// The state after `step`, made in two times `pairs` parts.
    fn solve(
        &mut self,
        time: f64,
        start: &[f64],
        step: f64,
        pairs: usize,
        rates: &Rates<'_>,
    ) -> Vec<f64> {
        let parts = 2 * pairs;
        let part = step / parts as f64;
        self.before.copy_from_slice(start);
        rates(time, start, &mut self.rates);
        for ((now, start), rate) in self.now.iter_mut().zip(start).zip(&self.rates) {
            *now = start + part * rate;
        }
        for index in 1..parts {
            rates(time + index as f64 * part, &self.now, &mut self.rates);
            for (before, rate) in self.before.iter_mut().zip(&self.rates) {
                *before += 2.0 * part * rate;
            }
            std::mem::swap(&mut self.before, &mut self.now);
        }
        // Gragg's smoothing, so that a kink just before the end of the step is seen.
        rates(time + step, &self.now, &mut self.rates);
        let ends = self.before.iter().zip(&self.now).zip(&self.rates);
        ends.map(|((before, now), rate)| 0.5 * (before + now + part * rate))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_circle_is_followed_for_a_hundred_turns() {
        let mut circle = Integration::new(vec![1.0, 0.0]);
        let rates = |_: f64, state: &[f64], rates: &mut [f64]| {
            rates.copy_from_slice(&[-state[1], state[0]]);
        };
        for turn in 1..=100 {
            let angle = f64::from(turn) * 2.0 * std::f64::consts::PI;
            circle.advance_to(angle, &rates).unwrap();
            assert!((circle.state()[0] - 1.0).abs() < 1e-10);
            assert!(circle.state()[1].abs() < 1e-10);
        }
    }

    // x' = √|t − 1/3|: x = (2/3)·((1/3)^1.5 + (t − 1/3)^1.5) after the kink.
    #[test]
    fn a_kink_is_resolved() {
        let mut kink = Integration::new(vec![0.0]);
        let rates =
            |time: f64, _: &[f64], rates: &mut [f64]| rates[0] = (time - 1.0 / 3.0).abs().sqrt();
        kink.advance_to(1.0, &rates).unwrap();
        let third: f64 = 1.0 / 3.0;
        let exact = 2.0 / 3.0 * (third.powf(1.5) + (2.0 * third).powf(1.5));
        assert!((kink.state()[0] - exact).abs() < 1e-10);
    }

    // x' = x² from 1 grows without bound at t = 1.
    #[test]
    fn a_solution_that_ends_is_an_error() {
        let mut growth = Integration::new(vec![1.0]);
        let rates = |_: f64, state: &[f64], rates: &mut [f64]| rates[0] = state[0] * state[0];
        growth.advance_to(0.9, &rates).unwrap();
        assert!((growth.state()[0] - 10.0).abs() < 1e-9);
        let error = growth.advance_to(2.0, &rates).unwrap_err();
        assert!((error.time - 1.0).abs() < 1e-6, "{error}");
    }

    #[test]
    fn times_have_to_ascend() {
        let mut still = Integration::new(vec![1.0]);
        let rates = |_: f64, _: &[f64], rates: &mut [f64]| rates[0] = 0.0;
        still.advance_to(1.0, &rates).unwrap();
        for end in [0.5, f64::NAN, f64::INFINITY] {
            assert!(still.advance_to(end, &rates).is_err());
        }
    }
}
