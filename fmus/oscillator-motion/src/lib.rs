//! The FMU OscillatorMotion.

fmu_kit::export!(fmu_models::OscillatorMotion);
