//! The FMU Faulty.

fmu_kit::export!(fmu_models::Faulty);
