//! System files as they are read, written and edited.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod bad_files;
mod editing;
mod round_trip;
mod several_files;
