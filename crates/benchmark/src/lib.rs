//! Benchmarks of co-simulation with their reference solutions.

#![forbid(unsafe_code)]

pub mod reference;
