//! Components that make inner steps of the semi-implicit Euler method, and how many in a macro-step.
//!
//! Such a component takes its inputs as they are at the start of each inner step, as it takes its own states. What it has
//! then received is the mean of these values, not a mean over the step. Its outputs show the inner steps. Take an output x
//! and its derivative v, another output. With n inner steps of length H/n they have x(t+H) − x(t) = H·(v(t) + v(t+H))/2 +
//! σ·H·Δv + κ·H·Δ²v + …, σ = 1/(2n) (Euler & Maclaurin). An exact method has σ = 0. κ is −(1 − 1/n²)/12 for a smooth v, and
//! less if a held input curves it. Both are found by least squares over the first steps.

use crate::single_steps::{MOST_OUTPUTS, ordered_pairs};
use crate::state::SystemState;
use crate::state_stream::stored;
use crate::step_row::StepRow;

/// Steps from which n is found, at least, for two unknowns; and the last one that is looked at. Choices: later than that an
/// input that has been given wrong is not corrected.
const FEWEST: u32 = 5;
/// The same for single steps, which leave nothing to be found, and the part of H·Δv by which they may differ. Choices: three agree by chance
/// once in 10⁸ times.
const FEWEST_SINGLE: u32 = 3;
const SINGLE: f64 = 2e-3;
const LAST: u64 = 15;
/// Inner steps in a macro-step that differ from an exact method, at most; how near 1/(2σ) has to be to a whole number, and the
/// deviation of the steps from the formula, over σ. Choices: no unit of the random systems, which have Runge-Kutta steps, is taken for one.
const MOST: f64 = 20.0;
const WHOLE: f64 = 0.1;
const DEVIATION: f64 = 0.03;
/// Part of H·Δv that rounding may make of x.
const ROUNDING: f64 = 1e-4;
/// Δv and Δ²v are distinguished if the determinant of the least squares is at least this part of its greatest
/// value: a choice.
const INDEPENDENT: f64 = 1e-6;

/// Outputs of one component that may be an integral and its derivative.
#[derive(Debug, Clone, Copy)]
struct Pair {
    component: usize,
    integral: usize,
    derivative: usize,
    steps: u32,
    /// Sums of products: a², a·b, b², d·a, d·b and d², of a = H·Δv, b = H·Δ²v and d, which is to be a sum of both.
    sums: [f64; 6],
}

/// The pairs of outputs, and the outputs of the last steps.
#[derive(Debug, Clone, Default)]
pub(crate) struct InnerSteps {
    pairs: Vec<Pair>,
    /// One step and two steps before.
    outputs: [Vec<f64>; 2],
    /// Steps of this size, s, that have been seen in a row.
    seen: u32,
    size: f64,
}

impl InnerSteps {
    /// Of the components that receive means.
    pub(crate) fn new(state: &SystemState) -> Self {
        let receives_means = |component: usize| {
            let mut inputs = state.courses.inputs.iter();
            inputs.any(|input| {
                let extrapolation = input.extrapolation.as_ref();
                input.component == component
                    && extrapolation.is_some_and(|extrapolation| extrapolation.gives_means())
            })
        };
        let members = state.units.members.iter().enumerate();
        let shown = members.filter(|(component, member)| {
            member.every == 1 && member.outputs.len() <= MOST_OUTPUTS && receives_means(*component)
        });
        let pairs = shown.flat_map(|(component, member)| {
            ordered_pairs(member.outputs.clone()).map(move |(integral, derivative)| Pair {
                component,
                integral,
                derivative,
                steps: 0,
                sums: [0.0; 6],
            })
        });
        let reals = &state.signals.reals;
        Self {
            pairs: pairs.collect(),
            outputs: [reals.clone(), vec![0.0; reals.len()]],
            seen: 0,
            size: 0.0,
        }
    }

    /// Takes the outputs after a step. Returns whether [`of`](Self::of) may know more.
    pub(crate) fn look(&mut self, row: &StepRow<'_>) -> bool {
        let (step, now) = (row.step, &row.signals.reals);
        if self.pairs.is_empty() || step.index > LAST {
            return false;
        }
        if self.size != step.size {
            self.pairs.iter_mut().for_each(Pair::forget);
            (self.seen, self.size) = (0, step.size);
        }
        self.seen += 1;
        if self.seen > 1 {
            let [last, before] = &self.outputs;
            for pair in &mut self.pairs {
                pair.add([before, last, now], step.size);
            }
        }
        self.outputs.swap(0, 1);
        self.outputs[0].clone_from(now);
        true
    }

    /// The number of inner steps in a macro-step, if the component shows to make them.
    pub(crate) fn of(&self, component: usize) -> Option<u32> {
        let mut pairs = self.pairs.iter();
        pairs.find_map(|pair| match pair.component == component {
            true => pair.inner_steps(),
            false => None,
        })
    }
}

impl Pair {
    fn forget(&mut self) {
        (self.steps, self.sums) = (0, [0.0; 6]);
    }

    /// Adds the last of two steps between these outputs.
    fn add(&mut self, outputs: [&[f64]; 3], size: f64) {
        let [first, middle, last] = outputs.map(|outputs| outputs[self.derivative]);
        let [_, from, to] = outputs.map(|outputs| outputs[self.integral]);
        let change = size * (last - middle);
        let second_difference = change - size * (middle - first);
        let magnitude = from.abs().max(to.abs());
        let is_seen = 4.0 * f64::EPSILON * magnitude < ROUNDING * change.abs();
        if !is_seen {
            return;
        }
        let off = (to - from) - 0.5 * size * (middle + last);
        let products = [
            change * change,
            change * second_difference,
            second_difference * second_difference,
            off * change,
            off * second_difference,
            off * off,
        ];
        for (sum, product) in self.sums.iter_mut().zip(products) {
            *sum += product;
        }
        self.steps += 1;
    }

    fn inner_steps(&self) -> Option<u32> {
        let [aa, ab, bb, da, db, dd] = self.sums;
        // One step has σ = 1/2 and κ = 0, for any v.
        let from_single = dd - da + 0.25 * aa;
        if self.steps >= FEWEST_SINGLE && from_single <= SINGLE * SINGLE * aa {
            return Some(1);
        }
        if self.steps < FEWEST {
            return None;
        }
        let determinant = aa * bb - ab * ab;
        if determinant.is_nan() || determinant <= INDEPENDENT * aa * bb {
            return None;
        }
        let share = (da * bb - db * ab) / determinant;
        let bent = (db * aa - da * ab) / determinant;
        let count = 0.5 / share;
        let is_whole = (count - count.round()).abs() <= WHOLE && count.round() >= 1.0;
        let deviation = dd - share * da - bent * db;
        let fits = deviation <= (DEVIATION * share).powi(2) * aa;
        (is_whole && fits && count < MOST + WHOLE).then_some(count.round() as u32)
    }
}

stored!(InnerSteps {
    pairs,
    outputs,
    seen,
    size
});
stored!(Pair { steps, sums; component, integral, derivative });

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair of ẍ = −x + u, u being held, after eight steps with `inner` steps each: of the semi-implicit Euler method, or of
    /// the exact solution.
    fn found(step: f64, inner: u32, is_exact: bool) -> Option<u32> {
        let mut pair = Pair {
            component: 0,
            integral: 0,
            derivative: 1,
            steps: 0,
            sums: [0.0; 6],
        };
        let mut states = vec![[0.3, 0.8]];
        let part = step / f64::from(inner);
        for k in 0..8 {
            let [mut x, mut v] = states[k];
            let u = 0.2 * (0.7 * step * k as f64).cos();
            for _ in 0..inner {
                if is_exact {
                    let (sin, cos) = part.sin_cos();
                    (x, v) = (u + (x - u) * cos + v * sin, v * cos - (x - u) * sin);
                } else {
                    v += part * (u - x);
                    x += part * v;
                }
            }
            states.push([x, v]);
        }
        for outputs in states.windows(3) {
            pair.add([&outputs[0], &outputs[1], &outputs[2]], step);
        }
        pair.inner_steps()
    }

    #[test]
    fn inner_steps_are_counted_and_exact_steps_have_none() {
        for step in [1e-3, 0.02] {
            for inner in [1, 2, 5, 10] {
                assert_eq!(found(step, inner, false), Some(inner), "{step}");
            }
            assert_eq!(found(step, 1, true), None, "{step}");
        }
        assert_eq!(found(0.3, 1, false), Some(1));
        assert_eq!(found(1e-9, 1, false), None);
    }
}
