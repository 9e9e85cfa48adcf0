//! The FMU Ishigami.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::Ishigami);
