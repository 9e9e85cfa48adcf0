//! The FMU QuarterCarChassis.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::QuarterCarChassis);
