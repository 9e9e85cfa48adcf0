//! The command `gyrator`, as its users meet it.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod algebraic_loops;
mod bench;
mod benchmark;
mod checks;
mod comparing;
mod conversion;
mod cranes;
mod disturbed;
mod doctor;
mod ends;
mod equal_runs;
mod error_bars;
mod errors;
mod fault_table;
mod faults;
mod fit;
mod fmu_options;
#[cfg(target_os = "linux")]
mod foreign_fmus;
mod generalised;
mod graphs;
mod h_infinity;
mod inherited;
mod interface_models;
mod interrupts;
mod isolation;
mod killed;
mod learning;
mod limits;
#[cfg(target_os = "linux")]
mod live;
mod markdown;
mod new_fmu;
mod new_system;
mod osp;
mod other_tools;
mod outputs;
mod packing;
mod plots;
mod profile;
mod real_time;
mod recording;
mod refusals;
#[cfg(target_os = "linux")]
mod remote;
mod replay;
mod reports;
mod results;
mod rodriguez;
mod saved_states;
mod scenarios;
mod sharing;
mod single_fmu;
mod ssp;
mod strangers;
mod study;
#[cfg(target_os = "linux")]
mod study_leftovers;
mod study_parts;
mod suggestions;
mod tables;
mod texts;
mod units_of_measure;
mod validation;
mod verification;
