//! Components that make one step of the semi-implicit Euler method in each communication step.
//!
//! They take an input as it is at the start of the step, as they take their own states: holding it makes no delay. Their outputs
//! show it. Of an output x and its derivative v, another output, such a step has x(t+H) − x(t) = H·v(t+H); an
//! exact one has H·(v(t) + v(t+H))/2. The explicit Euler method, with H·v(t), is not looked for: it makes an oscillator
//! grow as a delay does.

use std::ops::Range;

use crate::state::SystemState;
use crate::state_stream::{StateStream, Stored, stored};
use crate::step_row::StepRow;

/// Components with more real outputs are not looked at: there are as many pairs as the square. A choice.
pub(crate) const MOST_OUTPUTS: usize = 32;
/// The part of H·Δv by which the change of x may differ. An exact step differs by a half; rounding may make a tenth of this.
const TOLERANCE: f64 = 0.01;
/// Steps that have to agree. A choice: one in fifty agrees by chance.
const FEWEST: u32 = 4;

/// Outputs of one component that may be an integral and its derivative.
#[derive(Debug, Clone, Copy)]
struct Pair {
    component: usize,
    integral: usize,
    derivative: usize,
    agreed: u32,
}

/// The pairs that no step has contradicted.
#[derive(Debug, Clone, Default)]
pub(crate) struct SingleSteps {
    pairs: Vec<Pair>,
    /// The outputs after the step with this index.
    last: Option<u64>,
    outputs: Vec<f64>,
}

impl SingleSteps {
    pub(crate) fn new(state: &SystemState) -> Self {
        let members = state.units.members.iter().enumerate();
        let single = members.filter(|(_, member)| {
            member.substeps == 1 && member.every == 1 && member.outputs.len() <= MOST_OUTPUTS
        });
        let pairs = single.flat_map(|(component, member)| {
            ordered_pairs(member.outputs.clone()).map(move |(integral, derivative)| Pair {
                component,
                integral,
                derivative,
                agreed: 0,
            })
        });
        Self {
            pairs: pairs.collect(),
            last: None,
            outputs: state.signals.reals.clone(),
        }
    }

    /// Looks at the outputs after a step; those after the step before are needed to compare.
    pub(crate) fn look(&mut self, row: &StepRow<'_>) {
        let (step, now) = (row.step, &row.signals.reals);
        if self.last.is_some_and(|last| last + 1 == step.index) {
            let before = &self.outputs;
            self.pairs.retain_mut(|pair| {
                let agrees = pair.agrees(before, now, step.size);
                pair.agreed += u32::from(agrees == Some(true));
                agrees != Some(false)
            });
        }
        self.outputs.clone_from(now);
        self.last = Some(step.index);
    }

    /// Whether the component makes such steps.
    pub(crate) fn has(&self, component: usize) -> bool {
        let mut pairs = self.pairs.iter();
        pairs.any(|pair| pair.component == component && pair.agreed >= FEWEST)
    }
}

/// All outputs with all others: of each pair, the first may be the integral of the second.
pub(crate) fn ordered_pairs(outputs: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
    outputs.clone().flat_map(move |integral| {
        let others = outputs.clone().filter(move |other| *other != integral);
        others.map(move |derivative| (integral, derivative))
    })
}

impl Pair {
    /// Whether a step is one of the method; `None` if the derivative changes too little to see.
    fn agrees(&self, before: &[f64], now: &[f64], size: f64) -> Option<bool> {
        let change = now[self.integral] - before[self.integral];
        let derivative = now[self.derivative];
        let curvature = size * (derivative - before[self.derivative]).abs();
        let magnitude = now[self.integral].abs().max(before[self.integral].abs());
        let rounding = 4.0 * f64::EPSILON * magnitude;
        let is_seen = rounding < 0.1 * TOLERANCE * curvature;
        is_seen.then(|| (change - size * derivative).abs() <= TOLERANCE * curvature)
    }
}

/// Pairs that steps have contradicted are gone.
impl Stored for SingleSteps {
    fn transfer(&mut self, stream: &mut StateStream) {
        let Self {
            pairs,
            last,
            outputs,
        } = self;
        let mut left: Vec<LeftPair> = pairs.iter().map(LeftPair::of).collect();
        stream.list(&mut left, pairs.len());
        if stream.is_reading() {
            let find = |pair: &Pair| {
                let same = |left: &&LeftPair| left.place == LeftPair::of(pair).place;
                left.iter().find(same).map(|left| left.agreed)
            };
            let of_left = pairs.iter().filter_map(|pair| {
                let agreed = find(pair)?;
                Some(Pair { agreed, ..*pair })
            });
            *pairs = of_left.collect();
        }
        stream.keep(last);
        stream.keep(outputs);
    }
}

/// A pair as it is kept.
#[derive(Default)]
struct LeftPair {
    place: [u64; 3],
    agreed: u32,
}

impl LeftPair {
    fn of(pair: &Pair) -> Self {
        let place = [pair.component, pair.integral, pair.derivative];
        Self {
            place: place.map(|index| index as u64),
            agreed: pair.agreed,
        }
    }
}

stored!(LeftPair { place, agreed });

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of ẍ = −x by methods that take the velocity at these parts of the step.
    fn agrees(part: f64, step: f64) -> Option<bool> {
        let before = [0.3, 0.8];
        let velocity = before[1] - step * before[0];
        let change = step * (before[1] + part * (velocity - before[1]));
        let pair = Pair {
            component: 0,
            integral: 0,
            derivative: 1,
            agreed: 0,
        };
        pair.agrees(&before, &[before[0] + change, velocity], step)
    }

    #[test]
    fn the_semi_implicit_step_differs_from_the_exact_and_the_explicit_one() {
        for step in [1e-6, 1e-3, 0.1] {
            assert_eq!(agrees(1.0, step), Some(true), "{step}");
            assert_eq!(agrees(0.5, step), Some(false), "{step}");
            assert_eq!(agrees(0.0, step), Some(false), "{step}");
        }
        assert_eq!(agrees(1.0, 1e-9), None);
    }
}
