//! Pictures of results: signals of one unit share a panel, bonds follow, error bars are tubes, several runs lie over
//! each other.
//!
//! The command line calls it. It reads results, and computes no signal.

mod comparison;
mod facts;
mod selection;
mod signals;
mod study;

pub use comparison::comparison;
pub use facts::{BadSummary, Facts};
pub use selection::{Choice, UnknownName, choose};
pub use signals::{BUCKETS, Drawn, figure};
pub use study::{StudyPicture, StudyPlotError, StudyRows, StudyView};
