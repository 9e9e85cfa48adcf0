//! The FMU InterpolatingCraneCylinder.
#![forbid(unsafe_code)]

fmu_kit::export!(fmu_models::InterpolatingCraneCylinder);
