//! gyrator-record
