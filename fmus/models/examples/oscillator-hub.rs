//! The FMU OscillatorHub.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::OscillatorHub);
