//! The couplings of the dual mass, and what an independent reproduction found with them.

use gyrator_h_infinity::{Design, Specification, SynthesisError};

use super::coupling::{Coupling, STEPS};
use crate::channel::Channel;

/// A coupling and its known figures; NaN where there is none.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    make: fn(&Designs) -> Coupling,
    /// Spectral radii of the systems of figures 7 to 10.
    pub(crate) radii: [f64; 4],
    /// Errors of velocity and force of those systems with pulses of 200 ms.
    pub(crate) errors: [[f64; 2]; 4],
    /// How many of the 2000 random systems are unstable.
    pub(crate) unstable: f64,
    /// How many have an error above each threshold, pulse by pulse.
    pub(crate) inaccurate: [[f64; 5]; 3],
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
            one_sided: Specification::one_sided().design()?,
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

const NO: f64 = f64::NAN;

/// The velocity compensated without a smoother, the force held.
#[rustfmt::skip]
pub(crate) const ONE_SIDED: Method = Method { name: "one-sided, fresh", make: one_sided,
    radii: [0.98608, 0.73866, 0.55831, 0.80250], errors: [[NO; 2]; 4], unstable: 186.0,
    inaccurate: [[NO, 1794.0, 904.0, NO, 217.0], [NO, 1502.0, 413.0, NO, 205.0],
        [NO, 691.0, 254.0, NO, 184.0]] };

#[rustfmt::skip]
pub(crate) const METHODS: &[Method] = &[
    Method { name: "hold, stale", make: |_| polynomial(0, false),
        radii: [0.98483, 0.74638, 0.59498, 1.18543],
        errors: [[0.1465, 0.1290], [0.0267, 0.0705], [0.0324, 0.0735], [NO, NO]], unstable: 362.0,
        inaccurate: [[1989.0, 1823.0, 883.0, 495.0, 358.0], [2000.0, 1735.0, 690.0, 491.0, 390.0],
            [1979.0, 1236.0, 579.0, 447.0, 366.0]] },
    Method { name: "linear, stale", make: |_| polynomial(1, false),
        radii: [0.98834, 0.73223, 0.60516, 2.36006],
        errors: [[0.0526, 0.0479], [0.0253, 0.0602], [0.0257, 0.0497], [NO, NO]], unstable: 836.0,
        inaccurate: [[1997.0, 1925.0, 1314.0, 978.0, 842.0], [1987.0, 1810.0, 1292.0, 1026.0, 892.0],
            [1692.0, 1082.0, 866.0, 827.0, 794.0]] },
    Method { name: "quadratic, stale", make: |_| polynomial(2, false),
        radii: [0.98888, 1.01987, 0.99279, 3.52333],
        errors: [[0.0231, 0.0228], [0.452, 0.816], [0.1276, 0.1868], [NO, NO]], unstable: 1664.0,
        inaccurate: [[1997.0, 1978.0, 1840.0, 1744.0, 1663.0], [1994.0, 1932.0, 1814.0, 1748.0, 1695.0],
            [1837.0, 1742.0, 1679.0, 1659.0, 1638.0]] },
    Method { name: "h-infinity, stale", make: paper,
        radii: [0.98662, 0.73734, 0.50781, 0.91469],
        errors: [[0.0806, 0.0716], [0.0290, 0.0966], [0.0315, 0.0950], [0.1933, 0.1464]], unstable: 330.0,
        inaccurate: [[1999.0, 1973.0, 1679.0, 1306.0, 780.0], [2000.0, 1904.0, 725.0, 472.0, 361.0],
            [1959.0, 1245.0, 469.0, 380.0, 330.0]] },
    Method { name: "h-infinity with nepce, stale", make: |designs| paper(designs).with_nepce([0.1; 2]),
        radii: [NO; 4], errors: [[NO; 2]; 4], unstable: 379.0,
        inaccurate: [[NO, 1857.0, 884.0, NO, 370.0], [NO, 1928.0, 871.0, NO, 417.0],
            [NO, 1387.0, 547.0, NO, 374.0]] },
    Method { name: "hold, fresh", make: |_| polynomial(0, true),
        radii: [0.98483, 0.75037, 0.59657, 0.98202],
        errors: [[0.1459, 0.1287], [0.0210, 0.0692], [0.0319, 0.0736], [0.1642, 0.1444]], unstable: 196.0,
        inaccurate: [[1989.0, 1766.0, 632.0, 306.0, 194.0], [2000.0, 1425.0, 402.0, 269.0, 216.0],
            [1972.0, 776.0, 291.0, 225.0, 196.0]] },
    Method { name: "linear, fresh", make: |_| polynomial(1, true),
        radii: [NO; 4], errors: [[NO; 2]; 4], unstable: 417.0,
        inaccurate: [[1997.0, 1920.0, 866.0, 523.0, 426.0], [1987.0, 1772.0, 870.0, 585.0, 474.0],
            [1621.0, 857.0, 505.0, 441.0, 412.0]] },
    Method { name: "quadratic, fresh", make: |_| polynomial(2, true),
        radii: [NO; 4], errors: [[NO; 2]; 4], unstable: 836.0,
        inaccurate: [[1998.0, 1966.0, 1609.0, 1062.0, 871.0], [1995.0, 1900.0, 1605.0, 1242.0, 978.0],
            [1720.0, 1331.0, 989.0, 889.0, 837.0]] },
    ONE_SIDED,
    Method { name: "one-sided with nepce, fresh", make: |designs| one_sided(designs).with_nepce([0.1, 0.0]),
        radii: [NO; 4], errors: [[NO; 2]; 4], unstable: 195.0,
        inaccurate: [[NO, 1382.0, 251.0, NO, 190.0], [NO, 1576.0, 448.0, NO, 218.0],
            [NO, 736.0, 272.0, NO, 200.0]] },
];
