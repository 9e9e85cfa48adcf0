//! Empty: the tests are in `system/`, in one binary.
//!
//! `cargo test` runs them. They never download anything.

#![forbid(unsafe_code)]
