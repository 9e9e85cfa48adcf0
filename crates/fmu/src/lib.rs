//! gyrator-fmu
