//! Benchmarks of co-simulation with their reference solutions.
//!
//! The program `gyrator-benchmark` and nightly checks call it. It prints nothing, and nothing of it is linked into
//! `gyrator`.
//!
//! A [`Benchmark`] has roles for FMUs, cases, the configurations that it runs them in, an exact
//! solution and published figures. Each run becomes [`BenchmarkRow`]s: the measured figure, its
//! reference, and whether it is within tolerance.
//!
//! Any FMU can be put into a role ([`RoleAssignment::substitute`]); it is judged by the exact
//! solution.

#![forbid(unsafe_code)]

mod assembly;
mod benchmark;
mod channel;
mod crane;
mod cranes;
mod curve_unit;
mod double_oscillator;
mod dual_mass;
mod epas;
mod figures;
mod learned_oscillator;
mod macro_steps;
mod metrics;
mod multiple_oscillator;
mod nonlinear_oscillator;
mod oscillator_order;
mod oscillators;
mod pendula;
mod published;
mod quarter_car;
mod quarter_car_better;
mod quarter_car_robustness;
mod quarter_car_run;
mod quarter_car_tables;
mod random_oscillators;
mod recording;
pub mod reference;
mod residual_share;
mod role;
mod row;
mod step_changes;
mod sweep_signal;
mod untuned;

pub use benchmark::{Benchmark, BenchmarkError, Case, MeasureError};
pub use dual_mass::{DUAL_MASS_PARAMETERS, dual_mass_systems};
pub use role::{Role, RoleAssignment, RoleError, RoleVariable, Substitute, folder_of_fmus};
pub use row::{Bar, BenchmarkRow, Figure};
pub use untuned::benchmark_systems;

/// Measures so many cases at the same time, and no longer one for each core. For the whole process, before the first case.
///
/// # Errors
/// There can be no such threads, in words.
pub fn use_threads(number: std::num::NonZeroUsize) -> Result<(), String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number.get());
    pool.build_global().map_err(|error| error.to_string())
}

/// All benchmarks. To add one: a file that makes a [`Benchmark`], and a word here.
pub static BENCHMARKS: &[Benchmark] = &[
    double_oscillator::BENCHMARK,
    residual_share::BENCHMARK,
    random_oscillators::BENCHMARK,
    oscillator_order::BENCHMARK,
    multiple_oscillator::BENCHMARK,
    nonlinear_oscillator::BENCHMARK,
    pendula::BENCHMARK,
    crane::BENCHMARK,
    cranes::BENCHMARK,
    quarter_car::BENCHMARK,
    learned_oscillator::BENCHMARK,
    dual_mass::BENCHMARK,
    sweep_signal::BENCHMARK,
    step_changes::BENCHMARK,
    epas::BENCHMARK,
    untuned::BENCHMARK,
    macro_steps::BENCHMARK,
];
