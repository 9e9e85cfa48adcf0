//! Parameter studies: one system, many cases, a table of metrics.
//!
//! The command line and Python call it. It never prints, and supervises no process: the command line does.
//!
//! A [`StudyFile`] says which keys of a system file vary and what is measured. Its [`Cases`] are
//! one list, the same on every machine. [`run`] makes the runs of a [`Shard`] of the list on all
//! cores and keeps each finished row in a [`Journal`], from which an interrupted study
//! continues. [`write_table`] makes the table of one journal or of several parts. [`fit`] fits parameters to measured results.

#![forbid(unsafe_code)]

mod bond_columns;
mod cases;
mod cell;
mod columns;
mod crashed_run;
mod error;
mod error_columns;
pub mod fit;
mod fmus;
mod groups;
mod identity;
mod journal;
mod literal;
mod metrics;
mod options;
mod probe;
mod random;
mod reading;
mod reference;
mod renewal;
mod requirement;
mod run;
mod samples;
mod sampling;
mod sensitivity;
mod spread;
mod status;
mod study_file;
mod surroundings;
mod table;
mod tally;
mod trial;
mod variation;

pub use cases::{Cases, Place, Shard, ShardError};
pub use cell::{Cell, Column, ColumnKind, csv_line};
pub use crashed_run::{FailedRun, RunsInProgress, Trial};
pub use error::StudyError;
pub use identity::Identity;
pub use journal::{Header, Journal, JournalContents, JournalError, RowText, Writer, read_journal};
pub use literal::Literal;
pub use metrics::{Metric, Quantity, Window};
pub use options::Options;
pub use random::Distribution;
pub use reading::{parse, read};
pub use requirement::Requirement;
pub use run::{Progress, Study, Summary, run};
pub use sampling::{SAMPLINGS, Sampling};
pub use sensitivity::{NoSensitivity, Sensitivities};
pub use spread::{Spread, spreads};
pub use status::{PartState, PartStatus, Status, StudyStatus};
pub use study_file::{Design, Point, Reference, StudyFile, Variant};
pub use surroundings::{Subject, Surroundings, Unchanged};
pub use table::{TableError, check_ending, merge, write_table};
pub use tally::{Group, Tally};
pub use trial::MakeUnits;
