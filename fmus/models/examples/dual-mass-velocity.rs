//! The FMU DualMassVelocity.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::DualMassVelocity);
