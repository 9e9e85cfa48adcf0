//! Pictures: charts as SVG, results, coupled systems, and the report of a run as one HTML page.
//!
//! The command line, benchmarks and the demo call it. It reads result files and system files of others; it makes no run
//! and opens no FMU.

#![forbid(unsafe_code)]

pub mod chart;
pub mod graph;
pub mod plot;
pub mod report;
