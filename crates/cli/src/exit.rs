//! The published exit codes.

use std::process::ExitCode;

use gyrator_worker::Cause;

/// How the program ends, as other programs see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The run reached its stop time, or ended on the wish of an FMU; the output that was asked for was shown.
    Success,
    /// An FMU returned an error, a value became NaN or infinite, or a file could not be written.
    Failed,
    /// Wrong use of the command.
    Usage,
    /// The input is invalid: system file, FMU description, CSV.
    InvalidInput,
    /// An FMU could not be loaded.
    NotLoaded,
    /// An FMU crashed, hung or left; the rows until then are kept.
    Crashed,
    /// A limit was exceeded that was asked to be checked, or the coupling or learning diverges.
    CheckFailed,
    /// The program itself is wrong.
    Panicked,
    /// The user interrupted the run; its rows are on disk.
    Interrupted,
}

impl Exit {
    const ALL: [Self; 9] = [
        Self::Success,
        Self::Failed,
        Self::Usage,
        Self::InvalidInput,
        Self::NotLoaded,
        Self::Crashed,
        Self::CheckFailed,
        Self::Panicked,
        Self::Interrupted,
    ];

    /// Meaning of the exit code of a worker.
    pub(crate) fn of(code: u8) -> Self {
        let known = Self::ALL.into_iter().find(|exit| exit.code() == code);
        known.unwrap_or(Self::Failed)
    }

    /// After the death of a worker.
    pub(crate) const fn after(cause: &Cause) -> Self {
        match cause {
            Cause::Interrupted => Self::Interrupted,
            Cause::Panic => Self::Panicked,
            _ => Self::Crashed,
        }
    }

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::InvalidInput => 3,
            Self::NotLoaded => 4,
            Self::Crashed => 5,
            Self::CheckFailed => 6,
            Self::Panicked => 101,
            Self::Interrupted => 130,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// For the end of `gyrator --help`.
pub(crate) const HELP: &str = "\
Exit codes:
    0  the run reached its stop time
    1  the simulation failed: an FMU returned an error, a value became NaN or infinite
    2  wrong use of the command
    3  the input is invalid: system file, FMU description, CSV
    4  an FMU could not be loaded: no binary for this platform, missing library, wrong GUID
    5  an FMU crashed, hung or ended the process; the rows until then are kept
    6  a check that was asked for failed, or the coupling diverges
  101  an error of gyrator itself
  130  interrupted; the rows until then are on disk";
