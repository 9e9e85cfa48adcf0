//! The FMU EpasSteering.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::EpasSteering);
