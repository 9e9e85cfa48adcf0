//! The FMU OscillatorForce.

fmu_kit::export!(fmu_models::OscillatorForce);
