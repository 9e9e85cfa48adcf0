//! Two masses on springs and dampers, coupled by a spring and damper: Rodríguez et al. (2022),
//! section 3.3, table 1.
//!
//! Half 1 gives the coupling force, which follows displacement and velocity of mass 2 at once. Both
//! halves are integrated by symplectic Euler at 1 ms; in six cases the force steps ten times slower
//! or faster. Exact solution: matrix exponential. Rows: error of the energy and of both displacements,
//! stale, corrected, compensated, fresh and as one system. It is the smallest system that shows the
//! energy of stale feed-through; look at it first.

use crate::assembly::{COMPENSATED, Configuration, FRESH, STALE};
use crate::benchmark::{Benchmark, Case, MeasureError, Progress, nothing_more};
use crate::figures;
use crate::oscillators::{FORCE, H, MOTION, Oscillators, Plan, VERDICT, mass, verdict};
use crate::recording::Recording;
use crate::reference::{Damper, Element, Reference, Spring, StarOscillator};
use crate::role::RoleAssignment;
use crate::row::{BenchmarkRow, Metric};

pub(crate) const BENCHMARK: Benchmark = Benchmark {
    name: "double-oscillator",
    summary: "two masses on springs and dampers, coupled by a spring and damper; single- and multi-rate",
    source: "Rodríguez et al. 2022, section 3.3, table 1",
    roles: &[FORCE, MOTION],
    cases: &[
        Case::new("1", "m 1, 1 kg; k 10, k_c 100, k_2 1000 N/m; undamped"),
        Case::new("2", "as case 1, all dampers 0.1 N.s/m"),
        Case::new(
            "3",
            "k 10, k_c 1000, k_2 100 N/m; undamped: a stiff coupling",
        ),
        Case::new("4", "as case 3, all dampers 0.1 N.s/m"),
        Case::new("5", "k 1000, k_c 100, k_2 10 N/m; undamped"),
        Case::new("6", "as case 5, all dampers 0.1 N.s/m"),
        Case::new("7", "as case 1, m 10, 1 kg"),
        Case::new("8", "as case 1, m 1, 10 kg"),
        Case::new(
            "slow-hold",
            "case 1, the force steps ten times slower, inputs held",
        ),
        Case::new("slow-linear", "the same, inputs extrapolated by lines"),
        Case::new(
            "slow-quadratic",
            "the same, inputs extrapolated by parabolas",
        ),
        Case::new(
            "fast-hold",
            "case 1, the force steps ten times faster, inputs held",
        ),
        Case::new("fast-linear", "the same, inputs extrapolated by lines"),
        Case::new(
            "fast-quadratic",
            "the same, inputs extrapolated by parabolas",
        ),
    ],
    measure,
    figures: figures::double_oscillator::figures,
    conclude: nothing_more,
};

/// Masses, kg, stiffnesses k_1, k_c, k_2, N/m, and damping, N·s/m (table 1).
const TABLE_1: [([f64; 2], [f64; 3], f64); 8] = [
    ([1.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    ([1.0, 1.0], [10.0, 100.0, 1000.0], 0.1),
    ([1.0, 1.0], [10.0, 1000.0, 100.0], 0.0),
    ([1.0, 1.0], [10.0, 1000.0, 100.0], 0.1),
    ([1.0, 1.0], [1000.0, 100.0, 10.0], 0.0),
    ([1.0, 1.0], [1000.0, 100.0, 10.0], 0.1),
    ([10.0, 1.0], [10.0, 100.0, 1000.0], 0.0),
    ([1.0, 10.0], [10.0, 100.0, 1000.0], 0.0),
];

const CORRECTED: Configuration = Configuration::corrected("corrected", &[("mu", 0.5)]);
const CORRECTED_NU: Configuration =
    Configuration::corrected("corrected, nu 0.25", &[("mu", 0.5), ("nu", 0.25)]);

/// Case `number` of table 1.
pub(crate) fn table_1(number: usize) -> Oscillators {
    let ([m1, m2], [k1, kc, k2], c) = TABLE_1[number - 1];
    let star = StarOscillator {
        arms: vec![(mass(m1, k1, c, 100.0), Element { k: kc, c })],
        hub: mass(m2, k2, c, -100.0),
        spring: Spring::Linear,
        damper: Damper::Linear,
    };
    Oscillators::single_rate(star, &MOTION, &["f"])
}

/// Case 1 with the force ten times slower or faster.
pub(crate) fn multi_rate(is_slow: bool, extrapolation: &'static str) -> Oscillators {
    Oscillators {
        steps: if is_slow {
            [H, H / 10.0]
        } else {
            [H / 10.0, H]
        },
        extrapolation,
        ..table_1(1)
    }
}

/// μ by eqs 20 and 21.
fn multi_rate_correction(name: &str) -> Configuration {
    match name {
        "slow-hold" => Configuration::corrected("corrected", &[("mu", 0.725)]),
        "fast-linear" | "fast-quadratic" => Configuration::corrected("corrected", &[("mu", 0.05)]),
        _ => CORRECTED,
    }
}

pub(crate) fn oscillators(name: &str) -> Oscillators {
    match name.split_once('-') {
        Some((rate, "hold")) => multi_rate(rate == "slow", "hold"),
        Some((rate, "linear")) => multi_rate(rate == "slow", "linear"),
        Some((rate, _)) => multi_rate(rate == "slow", "quadratic"),
        None => table_1(name.parse().unwrap_or(1)),
    }
}

/// Stale outputs, and the correction as the paper has it.
pub(crate) fn published(case: &str) -> Vec<Configuration> {
    let mut configurations = vec![STALE, multi_rate_correction(case)];
    if case == "7" {
        configurations.push(CORRECTED_NU);
    }
    configurations
}

fn measure(
    roles: &RoleAssignment,
    case: &'static Case,
    progress: &Progress<'_>,
) -> Result<(), MeasureError> {
    let is_single_rate = !case.name.contains('-');
    let mut configurations = published(case.name);
    configurations.extend([COMPENSATED, FRESH]);
    let oscillators = oscillators(case.name);
    let energy = oscillators.star.energy(&oscillators.star.start());
    let plan = Plan {
        oscillators,
        configurations: &configurations,
        has_monolithic: is_single_rate,
        positions: [
            Metric::mean_error("rms x2", "m"),
            Metric::mean_error("rms x1", "m"),
        ],
    };
    plan.measure(roles, progress, &|configuration, recording, errors| {
        audit_rows(case.name, configuration, recording, errors, energy)
    })
}

const STALE_ENERGY: Metric = Metric::figure("W_stale", "J");
const CORRECTION_ENERGY: Metric = Metric::figure("W_corr", "J");
const AUDIT_ERROR: Metric = Metric::figure("audit error", "%");
const HINDSIGHT: Metric = Metric::figure("mu in hindsight", "");

/// The audit, for the undamped cases, whose true energy error it should find.
fn audit_rows(
    case: &str,
    configuration: &Configuration,
    recording: &Recording,
    errors: &[f64],
    energy: f64,
) -> Vec<BenchmarkRow> {
    if !["1", "3", "5", "7", "8"].contains(&case) {
        return Vec::new();
    }
    let bond = &recording.report.bonds[0];
    let (Some(stale), Some(net)) = (bond.stale_energy, bond.net_energy_error) else {
        return Vec::new();
    };
    let error = net - errors.last().copied().unwrap_or(f64::NAN);
    let part = |of: f64| BenchmarkRow::new(AUDIT_ERROR, 100.0 * error.abs() / of);
    if configuration.name == STALE.name {
        let truth = net - error;
        let note = "distance of W_stale from the true energy error, relative to it";
        return vec![
            BenchmarkRow::new(STALE_ENERGY, stale),
            part(truth.abs()).note(note),
        ];
    }
    if configuration.name != CORRECTED.name {
        return Vec::new();
    }
    let note =
        "distance of W_stale + W_corr from the true energy error, relative to the initial energy";
    let verdict = BenchmarkRow::new(VERDICT, verdict(bond.correction_verdict));
    vec![
        BenchmarkRow::new(STALE_ENERGY, stale),
        BenchmarkRow::new(CORRECTION_ENERGY, net - stale),
        part(energy).note(note),
        BenchmarkRow::new(HINDSIGHT, bond.hindsight_mu.unwrap_or(f64::NAN)),
        match case {
            "3" => verdict.note(
                "the correction takes out 97 % of the system's energy, which is still less of an error than without it",
            ),
            _ => verdict,
        },
    ]
}
