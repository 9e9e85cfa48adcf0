//! Pictures: charts as SVG, results, coupled systems, the report of a run as one HTML page, and its live page.
//!
//! The command line, benchmarks and the demo call it. It reads results and descriptions of systems; it makes no run and
//! opens no FMU.

#![forbid(unsafe_code)]

pub mod chart;
pub mod graph;
#[cfg(unix)]
pub mod live;
pub mod plot;
pub mod report;
