//! gyrator
