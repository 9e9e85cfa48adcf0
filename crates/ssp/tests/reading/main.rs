//! Systems as they are written, in all the ways the standard allows, and what becomes of them.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod bad_files;
mod files;
mod into_cps;
mod mastersim;
mod osp;
mod parameters;
mod round_trip;
mod structure;
mod units;
mod vectors;
