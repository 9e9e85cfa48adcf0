//! The FMU QuarterCarChassisSuspension.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::QuarterCarChassisSuspension);
