//! The couplings of the dual mass.

use gyrator::h_infinity::{Design, Specification, SynthesisError};

use super::coupling::{Coupling, STEPS};
use crate::channel::Channel;

/// A coupling and its name.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    make: fn(&Designs) -> Coupling,
}

/// Lengths of the pulses, ms.
pub(crate) const PULSES: [usize; 3] = [1, 50, 200];
/// Errors beyond which a system counts as inaccurate (eq. 16).
pub(crate) const THRESHOLDS: [f64; 5] = [0.05, 0.1, 0.2, 0.3, 0.5];

/// The compensators in use.
pub(crate) struct Designs {
    /// As the paper has it, with its static gain of 1 − γ.
    pub(crate) paper: Design,
    /// For one signal.
    pub(crate) one_sided: Design,
}

impl Designs {
    pub(crate) fn new() -> Result<Self, SynthesisError> {
        let paper = Specification {
            static_gain: 0.983,
            ..Specification::of_order(1)
        };
        Ok(Self {
            paper: paper.design()?,
            one_sided: Specification::one_sided(1).design()?,
        })
    }
}

impl Method {
    pub(crate) fn coupling(&self, designs: &Designs) -> Coupling {
        (self.make)(designs)
    }
}

fn polynomial(degree: usize, is_fresh: bool) -> Coupling {
    let channel = || Channel::polynomial(degree);
    Coupling::new(channel(), channel(), is_fresh)
}

fn paper(designs: &Designs) -> Coupling {
    let channel = || Channel::compensated(&designs.paper, STEPS);
    Coupling::new(channel(), channel(), false)
}

fn one_sided(designs: &Designs) -> Coupling {
    let velocity = Channel::compensated(&designs.one_sided, STEPS);
    Coupling::new(velocity, Channel::polynomial(0), true)
}

/// The velocity compensated without a smoother, the force held.
pub(crate) const ONE_SIDED: Method = Method {
    name: "one-sided, fresh",
    make: one_sided,
};

pub(crate) const METHODS: &[Method] = &[
    Method {
        name: "hold, stale",
        make: |_| polynomial(0, false),
    },
    Method {
        name: "linear, stale",
        make: |_| polynomial(1, false),
    },
    Method {
        name: "quadratic, stale",
        make: |_| polynomial(2, false),
    },
    Method {
        name: "h-infinity, stale",
        make: paper,
    },
    Method {
        name: "h-infinity with nepce, stale",
        make: |designs| paper(designs).with_nepce([0.1; 2]),
    },
    Method {
        name: "hold, fresh",
        make: |_| polynomial(0, true),
    },
    Method {
        name: "linear, fresh",
        make: |_| polynomial(1, true),
    },
    Method {
        name: "quadratic, fresh",
        make: |_| polynomial(2, true),
    },
    ONE_SIDED,
    Method {
        name: "one-sided with nepce, fresh",
        make: |designs| one_sided(designs).with_nepce([0.1, 0.0]),
    },
];
