//! Benchmarks, and the reference solutions that they are judged by.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod cranes;
mod reference;
mod table;
