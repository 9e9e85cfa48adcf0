//! Examinations of systems whose answers are known.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod benchmarks;
mod loops;
mod masses;
mod random;
