//! Tests of gyrator as a whole, one file per behaviour.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod allocation;
mod audit;
mod bad_input;
mod blocks;
mod call_order;
mod call_sequences;
mod combinations;
mod connections;
mod coupling_faults;
mod descriptions;
mod determinism;
mod embedding;
mod energy_limits;
mod error_bars;
mod faults;
mod fmus;
mod h_infinity;
mod initialization;
mod interface_model_limits;
mod interface_models;
mod iterative;
mod lanes;
mod learning;
mod learning_feed_forward;
mod linear_implicit;
mod methods;
mod nominal;
mod packed;
mod quarter_car;
mod random_choices;
mod random_corrections;
mod random_verdicts;
mod real_time;
mod recorders;
mod registries;
mod richardson;
mod rodriguez;
mod scenario_targets;
mod scenarios;
mod senses;
mod slopes;
mod slow_components;
mod snapshots;
mod start_values;
mod step_feedthrough;
mod step_limits;
mod steps_beside_each_other;
mod stop_time;
mod systems_in_code;
mod threads;
mod verdicts;
mod wrappers;
