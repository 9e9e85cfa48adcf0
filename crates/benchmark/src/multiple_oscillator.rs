//! Several masses, each coupled to the last one: Rodríguez et al. (2022), section 4.1.

use crate::assembly::{COMPENSATED, Configuration, FRESH, STALE};
use crate::benchmark::{Benchmark, Case, MeasureError, Progress};
use crate::figures;
use crate::oscillators::{FORCE, HUB_PARAMETERS, Oscillators, Plan};
use crate::published::{
    Certainty::{Exact, Rounded},
    Published,
};
use crate::reference::StarOscillator;
use crate::role::{Cast, Role};
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
        Case {
            name: "1",
            summary: "three masses, undamped",
        },
        Case {
            name: "2",
            summary: "three masses, all dampers 0.1 N.s/m",
        },
        Case {
            name: "3",
            summary: "five masses, undamped",
        },
        Case {
            name: "4",
            summary: "five masses, all dampers 0.1 N.s/m",
        },
    ],
    measure,
    figures: figures::none,
};

#[rustfmt::skip]
const PUBLISHED: &[Published<5>] = &[
    ("1", "stale", [42967.013975, 42967.013975, 37929.9814316, 1.99853744249, 0.191821556352], Exact),
    ("1", "corrected", [671.059262453, 934.615751549, 682.036952216, 0.0502492620811, 0.156649550631], Rounded),
    ("1", "compensated", [63.9791865786, 160.969573491, 2.60802357117, 0.024105330069, 0.00259363771946], Exact),
    ("1", "fresh", [63.9791865788, 160.969573492, 2.60802357139, 0.024105330069, 0.00259363771947], Exact),
    ("1", "monolithic", [63.9791865788, 160.969573492, 2.60802357139, 0.024105330069, 0.00259363771947], Exact),
    ("2", "stale", [1559.9511756, 2325.18341362, 1630.2104945, 0.598508265335, 0.0644481039175], Exact),
    ("2", "corrected", [167.887634645, 246.183518224, 181.535430344, 0.0313912440584, 0.0910407765011], Rounded),
    ("2", "compensated", [0.374131290901, 150.891009615, -1.11245123254, 0.0206512051864, 0.00939813981483], Exact),
    ("2", "fresh", [0.374131291091, 150.891009615, -1.11245123236, 0.0206512051885, 0.00939813981491], Exact),
    ("2", "monolithic", [0.374131291091, 150.891009615, -1.11245123236, 0.0206512051885, 0.00939813981491], Exact),
    ("3", "stale", [414297.428631, 415668.833035, 335820.169129, 6.42183748072, 0.520434899709], Exact),
    ("3", "corrected", [4213.26497105, 4295.42016394, 3670.21182781, 0.338787081991, 0.30141153652], Rounded),
    ("3", "compensated", [143.010010876, 234.819618379, 3.69889913734, 0.0310410415622, 0.0026580138914], Exact),
    ("3", "fresh", [143.010010876, 234.819618379, 3.69889913726, 0.0310410415622, 0.00265801389139], Exact),
    ("3", "monolithic", [143.010010876, 234.819618379, 3.69889913726, 0.0310410415622, 0.00265801389139], Exact),
    ("4", "stale", [1993.70800738, 4022.69683295, 2119.51641599, 0.867754436496, 0.128271402351], Exact),
    ("4", "corrected", [744.117935397, 873.402174035, 738.201752458, 0.176666714018, 0.178110228592], Rounded),
    ("4", "compensated", [6.72551778702, 208.199654187, -2.0096015105, 0.0187300494404, 0.00892541246246], Exact),
    ("4", "fresh", [6.72551778708, 208.199654188, -2.00960151038, 0.0187300494429, 0.00892541246262], Exact),
    ("4", "monolithic", [6.72551778708, 208.199654188, -2.00960151038, 0.0187300494429, 0.00892541246262], Exact),
];

const SOURCE: &str =
    "independent reproduction of Rodríguez et al. 2022, table 2, H = 1 ms, T = 10 s";

const CORRECTED: Configuration =
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

fn measure(cast: &Cast, case: &'static Case, progress: &Progress<'_>) -> Result<(), MeasureError> {
    let plan = Plan {
        oscillators: table_2(case.name),
        case: case.name,
        configurations: &[STALE, CORRECTED, COMPENSATED, FRESH],
        has_monolithic: true,
        positions: [
            Metric::mean_error("rms xn", "m"),
            Metric::mean_error("rms x1", "m"),
        ],
        published: PUBLISHED,
        source: SOURCE,
    };
    plan.measure(cast, progress, &|_, _, _| Vec::new())
}
