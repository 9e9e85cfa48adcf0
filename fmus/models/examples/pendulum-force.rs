//! The FMU PendulumForce.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::PendulumForce);
