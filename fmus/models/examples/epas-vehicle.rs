//! The FMU EpasVehicle.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::EpasVehicle);
