//! The FMU OscillatorMotion.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::OscillatorMotion);
