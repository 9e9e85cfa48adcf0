//! The fast side steps first; the multibody component then receives the mean of its force, so that both sides get the
//! same impulse.
//!
//! Source: Rahikainen et al. (2020) §2.3.1, with the impulse instead of the force. Use it if forces change much
//! within a macro-step. Limits: the multibody component waits for the fast side.

use super::Order;
use super::fast_side::END;
use super::start::START;
use crate::interface_model::{
    DISPLACEMENT_CORRECTION, INPUTS, LAG, MASS_FACTOR, MEAN_FORCE, Schedule, facts,
};
use crate::registry::Entry;

pub(super) const ORDER: Order = Order {
    entry: Entry {
        name: "fast-first",
        summary: "the fast side steps first; the multibody component receives its mean force, so that both get one impulse",
        source: "Rahikainen 2020 §2.3.1, with the impulse in place of the force",
        parameters: &[
            MEAN_FORCE,
            INPUTS,
            DISPLACEMENT_CORRECTION,
            MASS_FACTOR,
            LAG,
        ],
        facts,
        build: |arguments| Schedule::new("fast-first", arguments),
    },
    begin: &START,
    end: &END,
};
