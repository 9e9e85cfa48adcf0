//! Results as they are written, read, converted and compared.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod compare;
mod csv;
#[cfg(feature = "parquet")]
mod foreign;
#[cfg(feature = "parquet")]
mod forms;
#[cfg(feature = "parquet")]
mod large;
#[cfg(feature = "parquet")]
mod parquet;
