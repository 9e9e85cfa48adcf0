//! The FMU AllTypes.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::AllTypes);
