//! Two masses on square-root springs, or with quadratic dampers: Rodríguez et al. (2022), section
//! 4.2.

use crate::assembly::{COMPENSATED, Configuration, FRESH, STALE};
use crate::benchmark::{Benchmark, Case, MeasureError, Progress};
use crate::figures;
use crate::oscillators::{FORCE, MOTION, Oscillators, Plan};
use crate::published::{
    Certainty::{Exact, Other, Rounded},
    Published,
};
use crate::reference::{Damper, Spring, StarOscillator};
use crate::role::Cast;
use crate::row::Metric;

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "nonlinear-oscillator",
    summary: "two masses on square-root springs, or with quadratic dampers",
    source: "Rodríguez et al. 2022, section 4.2, table 3",
    roles: &[FORCE, MOTION],
    cases: &[
        Case {
            name: "1",
            summary: "square-root springs, undamped",
        },
        Case {
            name: "2",
            summary: "linear springs, quadratic dampers of 0.001 N.s2/m2",
        },
    ],
    measure,
    figures: figures::nonlinear_oscillator::figures,
};

#[rustfmt::skip]
const PUBLISHED: &[Published<5>] = &[
    ("1", "stale", [872.155841246, 1006.99250853, 895.47266271, 3.07904834769, 1.25662360473], Rounded),
    ("1", "corrected", [309.859762031, 436.284672164, 330.486708726, 0.880288446588, 0.463273688783], Rounded),
    ("1", "corrected, nu 0.25", [109.061338743, 273.376951973, 166.998933966, 0.451613559925, 0.507239363198], Rounded),
    ("1", "corrected, mu 1", [-484.378767242, 534.038878001, -401.387948123, 2.58880228817, 1.61707035696], Rounded),
    ("1", "compensated", [26.4304619041, 174.470208191, 89.7016991671, 0.156836799386, 0.166918521695], Other),
    ("1", "fresh", [53.8293374309, 180.624579162, 107.954634125, 0.667703325271, 0.310871667793], Rounded),
    ("1", "monolithic", [53.8293374309, 180.624579162, 107.954634125, 0.667703325271, 0.310871667793], Rounded),
    ("2", "stale", [1180.47490194, 1221.31612647, 1170.83430071, 0.32877673623, 0.117800198336], Exact),
    ("2", "corrected", [5.94737763961, 134.934507253, 8.18519108535, 0.040265449729, 0.0483094080288], Rounded),
    ("2", "corrected, nu 0.25", [-16.7158038653, 138.833793353, -12.4798960376, 0.0378864643928, 0.057039385335], Rounded),
    ("2", "corrected, mu 1", [-443.34930544, 764.905769093, -455.374707184, 0.281578609272, 0.194982284626], Rounded),
    ("2", "compensated", [-2.30097615429, 114.694278129, -4.26401728988, 0.0130093572869, 0.00894398987805], Other),
    ("2", "fresh", [1.12613812344, 114.643715981, -2.00528893421, 0.0216362198938, 0.00944771233392], Exact),
    ("2", "monolithic", [1.12613812344, 114.643715981, -2.00528893421, 0.0216362198938, 0.00944771233392], Exact),
];

const SOURCE: &str =
    "independent reproduction of Rodríguez et al. 2022, table 3, H = 1 ms, T = 10 s";

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

fn measure(cast: &Cast, case: &'static Case, progress: &Progress<'_>) -> Result<(), MeasureError> {
    let plan = Plan {
        oscillators: table_3(case.name),
        case: case.name,
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
        published: PUBLISHED,
        source: SOURCE,
    };
    plan.measure(cast, progress, &|_, _, _| Vec::new())
}
