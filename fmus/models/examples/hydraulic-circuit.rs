//! The FMU HydraulicCircuit.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::HydraulicCircuit);
