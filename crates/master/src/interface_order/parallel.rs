//! Both sides step over the same interval, and exchange values at its end. The multibody component receives nothing from
//! within the step: the force at its start, or its mean as linear models of both sides predict it.
//!
//! Source: Rahikainen et al. (2020) §2.3.1. Use it first, and if both sides should run at the same time. Limits: the
//! force at the start is one macro-step old at its end, so the two sides get different impulses.

use super::Order;
use super::fast_side::END;
use super::start::START;
use crate::interface_model::{
    DISPLACEMENT_CORRECTION, FORCE, INPUTS, LAG, MASS_FACTOR, Schedule, facts,
};
use crate::registry::Entry;

pub(super) const ORDER: Order = Order {
    entry: Entry {
        name: "parallel",
        summary: "both sides step over the same interval; the multibody component receives nothing from within it",
        source: "Rahikainen 2020 §2.3.1",
        parameters: &[FORCE, INPUTS, DISPLACEMENT_CORRECTION, MASS_FACTOR, LAG],
        facts,
        build: |arguments| {
            let mut schedule = Schedule::new("parallel", arguments);
            // The force at the start lets the stiff loop grow already.
            schedule.displacement_correction.get_or_insert(0.0);
            schedule
        },
    },
    begin: &START,
    end: &END,
};
