//! Two or four masses, each coupled to one more by a spring and damper: Rodríguez et al. (2022),
//! section 4.1, table 2.
//!
//! Two or four bonds end at one receiver, so their corrections are limited together (25 % of the
//! sum of the forces). Exact solution: matrix exponential. Rows: error of the energy and of the
//! displacements of the last and the first mass.

use crate::assembly::{COMPENSATED, Configuration, FRESH, STALE};
use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::figures;
use crate::oscillators::{FORCE, HUB_PARAMETERS, Oscillators, Plan};
use crate::reference::StarOscillator;
use crate::role::{Role, RoleAssignment};
use crate::row::Metric;

const HUB: Role = Role {
    name: "hub",
    model: "OscillatorHub",
    summary: "a mass on a spring and damper to the wall, moved by up to four forces",
    ports: &["f1", "f2", "f3", "f4", "x", "v"],
    parameters: HUB_PARAMETERS,
};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "multiple-oscillator",
    summary: "two or four masses, each coupled to one more by a spring and damper: two or four bonds",
    source: "Rodríguez et al. 2022, section 4.1, table 2",
    roles: &[FORCE, HUB],
    cases: &[
        Case::new("1", "three masses, undamped"),
        Case::new("2", "three masses, all dampers 0.1 N.s/m"),
        Case::new("3", "five masses, undamped"),
        Case::new("4", "five masses, all dampers 0.1 N.s/m"),
    ],
    measure,
    figures: figures::none,
    conclude: nothing_more,
};

pub(crate) const CORRECTED: Configuration =
    Configuration::corrected("corrected", &[("mu", 0.5), ("limit", 0.25)]);

/// Case `name` of table 2.
pub(crate) fn table_2(name: &str) -> Oscillators {
    let (masses, c) = match name {
        "1" => (3, 0.0),
        "2" => (3, 0.1),
        "3" => (5, 0.0),
        _ => (5, 0.1),
    };
    Oscillators::single_rate(
        StarOscillator::table_2(masses, c),
        &HUB,
        &["f1", "f2", "f3", "f4"],
    )
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let plan = Plan {
        oscillators: table_2(case.name),
        configurations: &[STALE, CORRECTED, COMPENSATED, FRESH],
        has_monolithic: true,
        positions: [
            Metric::mean_error("rms xn", "m"),
            Metric::mean_error("rms x1", "m"),
        ],
    };
    plan.measure(roles, progress, &|_, _, _| Vec::new())
}
