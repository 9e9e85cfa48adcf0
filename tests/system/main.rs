//! Tests of gyrator as a whole, one file per behaviour.

#![forbid(unsafe_code)]

mod allocation;
mod descriptions;
mod embedding;
mod faults;
mod fmus;
mod initialization;
mod rodriguez;
