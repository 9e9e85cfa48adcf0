//! The FMU CraneLinks.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::CraneLinks);
