//! Reasons why a system cannot be started.

use gyrator_system::Problems;

use crate::fault::RunError;

/// Why a system could not be read or started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The file of the system could not be read.
    #[error(transparent)]
    NotRead(Box<dyn std::error::Error + Send + Sync>),
    /// The description does not make a system: all problems found.
    #[error("{0}")]
    Invalid(Problems),
    /// FMUs could not be loaded: all of them.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Load(Vec<LoadError>),
    /// FMUs could not be loaded, and the description has other problems.
    #[error("{}\n{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"), .1)]
    Several(Vec<LoadError>, Problems),
    /// A saved state does not fit.
    #[error(transparent)]
    State(#[from] StateFileError),
    /// The system could not be initialised.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// Why a state is not taken: the error, and the remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
#[non_exhaustive]
pub struct StateFileError {
    /// The fault.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl StateFileError {
    /// An error with its remedy.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), help.into());
        Self { message, help }
    }
}

/// An FMU that could not be loaded.
#[derive(Debug, thiserror::Error)]
#[error("{component}: {message}")]
pub struct LoadError {
    /// Name of the component.
    pub component: String,
    /// The error, and how to correct it.
    pub message: String,
    /// Of which kind it is.
    pub kind: LoadErrorKind,
}

/// Reason why an FMU could not be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// Its own description or archive is invalid.
    Invalid,
    /// Its library cannot be loaded here, or refuses.
    NotLoaded,
    /// Its process crashed, hung, or left while it was loaded.
    Lost,
    /// The machine that is to run it cannot be reached, or lacks something for it, whatever the FMU. This machine may
    /// also have no descriptors, no memory or no room left.
    HostLost,
}
