//! The FMU AllTypes.

fmu_kit::export!(fmu_models::AllTypes);
