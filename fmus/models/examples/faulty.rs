//! The FMU Faulty.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::Faulty);
