//! The FMU EpasController.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::EpasController);
