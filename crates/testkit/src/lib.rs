//! gyrator-testkit
