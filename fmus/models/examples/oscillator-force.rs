//! The FMU OscillatorForce.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::OscillatorForce);
