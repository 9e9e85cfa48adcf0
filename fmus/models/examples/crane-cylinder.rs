//! The FMU CraneCylinder.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::CraneCylinder);
