//! Violations and errors that are tolerated.

use std::fmt;

/// A place in an XML file, both numbers counted from 1; the column counts characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line.
    pub line: u32,
    /// Column.
    pub column: u32,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Something an FMU does against the standard that does not stop it from being used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// Place in `modelDescription.xml`, if the warning is about one.
    pub position: Option<Position>,
    /// Description of the violation, and how it was handled.
    pub message: String,
}

impl Warning {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self {
            position: None,
            message: message.into(),
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(position) => write!(f, "modelDescription.xml:{position}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}
