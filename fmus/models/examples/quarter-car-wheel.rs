//! The FMU QuarterCarWheel.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::QuarterCarWheel);
