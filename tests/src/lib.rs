//! What the fuzzers in `fuzz/` try. The tests are in `system/`, in one binary.
//!
//! `cargo test` runs them. They never download anything.

#![forbid(unsafe_code)]

pub mod fuzz_inputs;
