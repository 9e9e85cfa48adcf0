//! The FMU DualMassForce.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::DualMassForce);
