//! The FMU PendulumMotion.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::PendulumMotion);
