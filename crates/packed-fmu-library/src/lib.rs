//! The library of every packed FMU: the C functions of FMI 2.0 for co-simulation, of a system that is read from the FMU's resources.

#![forbid(unsafe_code)]

fmu_kit::export!(simulation gyrator_packed_fmu::PackedSystem);
