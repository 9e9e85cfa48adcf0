//! The FMU QuarterCarWheelSuspension.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::QuarterCarWheelSuspension);
