//! Zero-order hold (ZOH): ũ(t + s) = y(t), the newest published value until the next exchange.
//!
//! Source: FMI 2.0 §4.1; Rodríguez et al. (2022) §2. Use it for signals with jumps, for units that
//! take values only, and if stability comes before accuracy: higher degrees amplify fast signals.
//! Limits: error O(H); the signal arrives H/2 late on average, which makes energy at a stiff bond.

use super::{Extrapolation, ExtrapolationFacts, Sample};
use crate::curve::Curve;
use crate::registry::Entry;
use crate::state_stream::{keeps_its_state, stored};

/// Zero-order hold: the newest value, constant.
#[derive(Debug, Clone, Default)]
struct Hold {
    value: f64,
}

pub(super) const ENTRY: Entry<dyn Extrapolation> = Entry {
    name: "hold",
    summary: "the newest value, held constant (zero-order hold)",
    source: "FMI 2.0 §4.1; Rodríguez 2022 §2",
    parameters: &[],
    facts: |_, _| ExtrapolationFacts {
        is_plain_hold: true,
        ..ExtrapolationFacts::polynomial(0)
    },
    build: |_| Box::<Hold>::default(),
};

impl Extrapolation for Hold {
    fn observe(&mut self, sample: Sample) {
        self.value = sample.value;
    }

    fn curve(&self, _now: f64, _step: f64) -> Curve {
        Curve::constant(self.value)
    }

    fn clear(&mut self) {}

    fn order(&self) -> usize {
        0
    }

    keeps_its_state!(dyn Extrapolation);
}

stored!(Hold { value });
