//! Findings about an FMU, with their severity.

use std::fmt;

use gyrator_fmu::Position;
use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing, and allowed.
    Note,
    /// Legal and likely to be a mistake, or a rule that nearly all FMUs break and no importer
    /// relies on.
    Warning,
    /// Breaks the standard; the FMU can still be run.
    Error,
    /// The FMU cannot be run, or not safely.
    Fatal,
}

impl Severity {
    /// All, the least first.
    pub const ALL: [Self; 4] = [Self::Note, Self::Warning, Self::Error, Self::Fatal];

    /// The word for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Fatal => "fatal",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One thing that is wrong with an FMU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Number of the rule that is broken, as in V-07.
    pub rule: u8,
    /// How bad it is.
    pub severity: Severity,
    /// Description of the finding.
    pub message: String,
    /// Line in `modelDescription.xml`, from 1, if the finding is about one.
    pub line: Option<u32>,
    /// Column in that line, from 1, in characters.
    pub column: Option<u32>,
}

impl Finding {
    /// A finding of the rule of this number, about the FMU as a whole.
    pub(crate) fn new(rule: u8, severity: Severity, message: String) -> Self {
        Self {
            rule,
            severity,
            message,
            line: None,
            column: None,
        }
    }
}

impl fmt::Display for Finding {
    /// `error V-19 modelDescription.xml:12:5: …`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} V-{:02} ", self.severity, self.rule)?;
        if let (Some(line), Some(column)) = (self.line, self.column) {
            write!(f, "modelDescription.xml:{line}:{column}: ")?;
        }
        f.write_str(&self.message)
    }
}

/// Findings of one rule that are kept; a broken exporter may break it once a variable.
const KEPT_PER_RULE: usize = 100;

/// Collects what the check of one rule finds.
pub struct Findings<'a> {
    rule: u8,
    severity: Severity,
    kept: &'a mut Vec<Finding>,
    positions: &'a dyn Fn(usize) -> Position,
    count: usize,
    worst_dropped: Option<Severity>,
}

impl<'a> Findings<'a> {
    /// An empty collection for the rule of this number, whose findings usually have this severity; it adds to `kept`.
    /// `positions` turns an offset in the description into line and column.
    pub(crate) fn new(
        rule: u8,
        severity: Severity,
        kept: &'a mut Vec<Finding>,
        positions: &'a dyn Fn(usize) -> Position,
    ) -> Self {
        Self {
            rule,
            severity,
            kept,
            positions,
            count: 0,
            worst_dropped: None,
        }
    }

    /// The rule is broken as it usually is, by the FMU as a whole.
    pub fn add(&mut self, message: impl Into<String>) {
        self.push(self.severity, None, message.into());
    }

    /// The rule is broken at a byte offset of the description.
    pub fn at(&mut self, offset: usize, message: impl Into<String>) {
        self.push(self.severity, Some(offset), message.into());
    }

    /// As [`Self::add`], with a severity of its own.
    pub fn graded(&mut self, severity: Severity, message: impl Into<String>) {
        self.push(severity, None, message.into());
    }

    /// As [`Self::at`], with a severity of its own.
    pub fn graded_at(&mut self, severity: Severity, offset: usize, message: impl Into<String>) {
        self.push(severity, Some(offset), message.into());
    }

    fn push(&mut self, severity: Severity, offset: Option<usize>, message: String) {
        self.count += 1;
        if self.count > KEPT_PER_RULE {
            self.worst_dropped = self.worst_dropped.max(Some(severity));
            return;
        }
        let position = offset.map(self.positions);
        self.kept.push(Finding {
            line: position.map(|position| position.line),
            column: position.map(|position| position.column),
            ..Finding::new(self.rule, severity, message)
        });
    }

    /// Adds one finding for all that were not kept.
    pub(crate) fn finish(self) {
        if let Some(severity) = self.worst_dropped {
            let message = format!(
                "and {} more findings of this rule",
                self.count - KEPT_PER_RULE
            );
            self.kept.push(Finding::new(self.rule, severity, message));
        }
    }
}
