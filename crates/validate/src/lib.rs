//! Checks FMUs against FMI 2.0: their violations of the standard, their behaviour when they run,
//! and whether their results meet a reference.
//!
//! The verb `validate` calls it. It never changes an FMU, and runs one only in a process of its own.
//!
//! Every rule has a number, as in V-07; [`rules()`] lists them. [`examine`] looks at a file
//! without running anything of it:
//!
//! ```no_run
//! let report = gyrator_validate::examine("Motor.fmu".as_ref())?;
//! for finding in &report.findings {
//!     println!("{finding}");
//! }
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Real FMUs break many rules and run anyway: findings are graded, and only fatal ones mean
//! that an FMU cannot be run.

#![forbid(unsafe_code)]

pub mod dynamic;
mod finding;
mod literal;
mod model;
mod positions;
pub mod reference;
mod report;
mod rule;
mod rules;
mod schema;
mod subject;
mod trajectory;
mod trial;

pub use finding::{Finding, Findings, Severity};
pub use model::{Model, SimpleType, TypeElement, Unit, Unknown, Variable};
pub use report::{Report, examine, examine_subject};
pub use rule::{Check, Rule};
pub use rules::{GROUPS, rule, rules};
pub use subject::{ArchiveEntry, Contents, Subject};
