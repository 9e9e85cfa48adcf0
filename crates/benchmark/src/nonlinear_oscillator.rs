//! Two masses on square-root springs, or with quadratic dampers: Rodríguez et al. (2022), section
//! 4.2, table 3.
//!
//! The system of `double-oscillator` with a feed-through whose derivative D varies; D of the
//! square-root springs has no bound near rest. Exact solution: extrapolation to 1e-13 a step. Rows:
//! as there, for several μ and ν of the correction.

use crate::assembly::{COMPENSATED, Configuration, FRESH, STALE};
use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::figures;
use crate::oscillators::{FORCE, MOTION, Oscillators, Plan};
use crate::reference::{Damper, Spring, StarOscillator};
use crate::role::RoleAssignment;
use crate::row::Metric;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "nonlinear-oscillator",
    summary: "two masses on square-root springs, or with quadratic dampers",
    source: "Rodríguez et al. 2022, section 4.2, table 3",
    roles: &[FORCE, MOTION],
    cases: &[
        Case::new("1", "square-root springs, undamped"),
        Case::new("2", "linear springs, quadratic dampers of 0.001 N.s2/m2"),
    ],
    measure,
    figures: figures::nonlinear_oscillator::figures,
    conclude: nothing_more,
};

pub(crate) const CORRECTED: Configuration = Configuration::corrected("corrected", &[("mu", 0.5)]);
pub(crate) const CORRECTED_NU: Configuration =
    Configuration::corrected("corrected, nu 0.25", &[("mu", 0.5), ("nu", 0.25)]);
pub(crate) const CORRECTED_MU: Configuration =
    Configuration::corrected("corrected, mu 1", &[("mu", 1.0)]);

/// Case `name` of table 3.
pub(crate) fn table_3(name: &str) -> Oscillators {
    let (c, spring, damper) = match name {
        "1" => (0.0, Spring::SquareRoot, Damper::Linear),
        _ => (0.001, Spring::Linear, Damper::Quadratic),
    };
    let star = StarOscillator {
        spring,
        damper,
        ..StarOscillator::table_2(2, c)
    };
    Oscillators::single_rate(star, &MOTION, &["f"])
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let plan = Plan {
        oscillators: table_3(case.name),
        configurations: &[
            STALE,
            CORRECTED,
            CORRECTED_NU,
            CORRECTED_MU,
            COMPENSATED,
            FRESH,
        ],
        has_monolithic: true,
        positions: [
            Metric::mean_error("rms x2", "m"),
            Metric::mean_error("rms x1", "m"),
        ],
    };
    plan.measure(roles, progress, &|_, _, _| Vec::new())
}
