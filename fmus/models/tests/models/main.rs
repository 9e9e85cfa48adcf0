//! The models alone and coupled, in process.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod named;
mod oscillators;
mod pendula_and_crane;
mod quarter_car;
mod rahikainen_crane;
mod test_objects;
