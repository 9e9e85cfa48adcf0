//! Rules for which the FMU has to run.

/// A run of an FMU for one rule.
#[derive(Debug)]
pub struct Trial;

/// Why a trial ended early.
#[derive(Debug)]
pub struct Stop;
