//! A rule that FMUs have to keep.

use std::fmt;

use crate::finding::{Findings, Severity};
use crate::model::Model;
use crate::subject::Subject;
use crate::trajectory::Trajectory;
use crate::trial::{Stop, Trial};

/// One rule.
#[derive(Clone, Copy)]
pub struct Rule {
    /// Its number, as in V-07.
    pub number: u8,
    /// The condition that has to hold.
    pub title: &'static str,
    /// How bad it is, as a rule, if it does not hold; single findings may be graded otherwise.
    pub severity: Severity,
    /// Its source: section of FMI 2.0.5, or the reason for it.
    pub source: &'static str,
    /// How it is checked.
    pub check: Check,
}

/// How a rule is checked.
#[derive(Clone, Copy)]
pub enum Check {
    /// By looking at the archive and the bytes of the description.
    Archive(fn(&Subject, &mut Findings<'_>)),
    /// By looking at a description that is well-formed.
    Description(fn(&Model<'_>, &mut Findings<'_>)),
    /// By running the FMU, in a process of its own.
    Dynamic(fn(&mut Trial) -> Result<(), Stop>),
    /// By running the FMU in two processes, which have to compute the same.
    Repeated(fn(&mut Trial) -> Result<Trajectory, Stop>),
    /// By comparing a run with a reference.
    Reference,
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "V-{:02} {}", self.number, self.title)
    }
}

impl Rule {
    /// Whether the FMU has to run for it.
    #[must_use]
    pub const fn is_dynamic(&self) -> bool {
        matches!(self.check, Check::Dynamic(_) | Check::Repeated(_))
    }
}
