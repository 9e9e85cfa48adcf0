//! The FMU Strict.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::Strict);
