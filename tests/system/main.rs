//! Tests of gyrator as a whole, one file per behaviour.

#![forbid(unsafe_code)]

mod fmus;
mod rodriguez;
