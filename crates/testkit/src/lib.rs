//! gyrator-testkit

mod fmu_fixture;

pub use fmu_fixture::fmu;
