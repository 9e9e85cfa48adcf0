//! fmu-kit
