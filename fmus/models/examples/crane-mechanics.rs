//! The FMU CraneMechanics.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::CraneMechanics);
