//! fmu-models
