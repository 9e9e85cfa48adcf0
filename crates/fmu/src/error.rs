//! Errors of opening an FMU, loading its library and calling it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::description::XmlError;

/// An FMU could not be read.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The file cannot be read at all.
    #[error("{}: {source}", path.display())]
    Io {
        /// The FMU, or the directory it was to be unpacked to.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
    /// The file is not an archive, or a broken one.
    #[error("{}: not a readable ZIP archive: {reason}", path.display())]
    NotAnArchive {
        /// The FMU.
        path: PathBuf,
        /// Description of the error.
        reason: String,
    },
    /// An entry that could do harm, or that the standard does not allow.
    #[error("{}: entry {entry:?} {reason}; the archive is refused", path.display())]
    Entry {
        /// The FMU.
        path: PathBuf,
        /// Name of the entry.
        entry: String,
        /// Reason why the entry is refused.
        reason: String,
    },
    /// More than [`Limits`](crate::Limits) allow.
    #[error(
        "{}: {what}, more than the limit of {limit}; raise the limit {name} if the FMU is to be \
         trusted",
        path.display()
    )]
    Limit {
        /// The FMU.
        path: PathBuf,
        /// Quantity that exceeds the limit.
        what: String,
        /// The field of [`Limits`](crate::Limits).
        name: &'static str,
        /// The limit.
        limit: u64,
    },
    /// There is not enough space to unpack it.
    #[error(
        "{}: unpacking takes {needed} bytes, and {} has {free} bytes free, of which the limit \
         free_space keeps {kept}",
        path.display(),
        directory.display()
    )]
    NoSpace {
        /// The FMU.
        path: PathBuf,
        /// The directory for the unpacked files.
        directory: PathBuf,
        /// Bytes that it takes.
        needed: u64,
        /// Bytes that are free.
        free: u64,
        /// Bytes that have to stay free.
        kept: u64,
    },
    /// The archive has no `modelDescription.xml` at its root.
    #[error("{}: no modelDescription.xml at the root of the archive{found}", path.display())]
    NoDescription {
        /// The FMU.
        path: PathBuf,
        /// Contents found instead, as the end of a sentence.
        found: String,
    },
    /// The library that was to be compiled from the FMU's sources could not be made.
    #[error("{}: {reason}", path.display())]
    Compile {
        /// The FMU.
        path: PathBuf,
        /// The reason, with the first messages of the compiler.
        reason: String,
    },
    /// `modelDescription.xml` cannot be used.
    #[error("{}: {source}", path.display())]
    Description {
        /// The FMU.
        path: PathBuf,
        /// Place and reason.
        source: XmlError,
    },
}

/// Whether this machine or this process lacks something, whatever the FMU: descriptors, memory, room on a disk.
fn is_shortage(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{OutOfMemory, QuotaExceeded, StorageFull, WouldBlock};
    let kinds = [OutOfMemory, QuotaExceeded, StorageFull, WouldBlock];
    kinds.contains(&error.kind()) || is_shortage_in_words(&error.to_string())
}

/// The same of a message of the system, in the words of the GNU C library.
fn is_shortage_in_words(message: &str) -> bool {
    const WORDS: [&str; 4] = [
        "Too many open files",
        "annot allocate memory",
        "No space left on device",
        "Resource temporarily unavailable",
    ];
    WORDS.iter().any(|words| message.contains(words))
}

impl OpenError {
    /// Whether this machine or this process lacks something for it, whatever the FMU: descriptors, memory, room on a
    /// disk.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_shortage(source),
            Self::Entry { reason, .. } => is_shortage_in_words(reason),
            Self::NoSpace { .. } => true,
            _ => false,
        }
    }

    /// An error of the system with a file or a directory.
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + Copy {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}

/// An instance could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The FMU is for model exchange only.
    #[error("{model}: the FMU is for model exchange only; gyrator needs co-simulation")]
    NoCoSimulation {
        /// Name of the model.
        model: String,
    },
    /// No binary for this platform.
    #[error(
        "{model}: no binary for this platform ({}); the FMU has {}{}",
        wanted.join(" or "),
        list_or_none(available),
        if *has_sources { "; it has sources: compile them with --compile, or into a copy with `gyrator compile`, as components on other machines need" } else { "" }
    )]
    NoPlatform {
        /// Name of the model.
        model: String,
        /// Folders that would do.
        wanted: Vec<String>,
        /// Folders that are there.
        available: Vec<String>,
        /// Whether it carries sources.
        has_sources: bool,
    },
    /// The folder of the platform does not hold the library.
    #[error(
        "{model}: binaries/{platform} has no {expected}; it has {}",
        list_or_none(found)
    )]
    NoBinary {
        /// Name of the model.
        model: String,
        /// Folder.
        platform: String,
        /// File that should be there.
        expected: String,
        /// Files that are there.
        found: Vec<String>,
    },
    /// The library is not one that this machine can run.
    #[error("{model}: {file}: {reason}")]
    WrongBinary {
        /// Name of the model.
        model: String,
        /// File name of the library.
        file: String,
        /// Description of the mismatch.
        reason: String,
    },
    /// The system refuses to load the library.
    #[error("{model}: {file} does not load: {reason}{hint}")]
    Library {
        /// Name of the model.
        model: String,
        /// File name of the library.
        file: String,
        /// Message of the system; names the library or symbol that is missing.
        reason: String,
        /// Advice to the user.
        hint: String,
    },
    /// A library that was to be loaded first does not load.
    #[error("the library {name} to be loaded before {model} does not load: {reason}")]
    Preload {
        /// Name of the model.
        model: String,
        /// The library.
        name: String,
        /// Message of the system.
        reason: String,
    },
    /// The library lacks functions that no run can do without.
    #[error("{model}: {file} does not export {}", functions.join(", "))]
    MissingFunctions {
        /// Name of the model.
        model: String,
        /// File name of the library.
        file: String,
        /// C names of all that are missing.
        functions: Vec<&'static str>,
    },
    /// `fmi2Instantiate` has returned NULL.
    #[error("{instance}: fmi2Instantiate of {model} returned nothing; {explanation}")]
    Instantiate {
        /// Name of the instance.
        instance: String,
        /// Name of the model.
        model: String,
        /// Messages that the FMU has logged, or a possible cause if it was silent.
        explanation: String,
    },
    /// An instance of this FMU has returned Fatal: FMI 2.0 allows no further call to the FMU.
    #[error("{model}: another instance has reported a fatal error; the FMU cannot be used again")]
    AfterFatal {
        /// Name of the model.
        model: String,
    },
    /// The name of an instance is empty or holds a NUL.
    #[error("{name:?} cannot be the name of an instance")]
    InstanceName {
        /// The name.
        name: String,
    },
    /// The private copy of the binaries could not be made.
    #[error("{}: {source}", path.display())]
    Io {
        /// File or directory.
        path: PathBuf,
        /// Error of the system.
        source: std::io::Error,
    },
}

impl LoadError {
    /// As [`OpenError::is_shortage`].
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_shortage(source),
            Self::Library { reason, .. } | Self::Preload { reason, .. } => {
                self.is_lack_of_room().is_some() || is_shortage_in_words(reason)
            }
            _ => false,
        }
    }

    /// An error of the system with a file or a directory.
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Self + Copy {
        move |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// Why this process has no room for the library, although another one may have: static thread-local storage, memory,
    /// files.
    #[must_use]
    pub fn is_lack_of_room(&self) -> Option<&'static str> {
        /// Messages of the GNU C library, and what is lacking.
        const LACKING: [(&str, &str); 4] = [
            (
                "static TLS block",
                "this process has no static thread-local storage left",
            ),
            (
                "Too many open files",
                "this process has too many files open",
            ),
            ("annot allocate memory", "this process has no memory left"),
            (
                "cannot create shared object descriptor",
                "this process has no memory left",
            ),
        ];
        let message = match self {
            Self::Library { reason, .. } => reason.clone(),
            Self::Io { source, .. } => source.to_string(),
            _ => return None,
        };
        let found = LACKING.iter().find(|(words, _)| message.contains(words));
        found.map(|(_, lacking)| *lacking)
    }
}

fn list_or_none(names: &[String]) -> String {
    if names.is_empty() {
        "none".to_owned()
    } else {
        names.join(", ")
    }
}

/// Result of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// All well.
    Ok,
    /// Success, but something is not quite right.
    Warning,
    /// The FMU refuses; it is as before the call.
    Discard,
    /// The instance cannot continue.
    Error,
    /// All instances of the FMU are corrupt.
    Fatal,
    /// A step goes on in the background, or the call is none that may.
    Pending,
    /// A step in the background did not end within this time, and was cancelled.
    TimedOut(Duration),
    /// A step in the background did not end soon after the run was interrupted, and was cancelled.
    Interrupted,
    /// A number that FMI 2.0 does not know; handled like [`Status::Error`] (C-44).
    Unknown(i32),
    /// The call was not made: it would break the rules of FMI 2.0.
    NotCalled(Refusal),
}

/// Why a call was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The state of the instance does not allow it (4.2.4).
    SlaveState,
    /// The FMU does not have the function, or says it is not capable.
    Capability,
    /// The arguments do not fit each other or the function.
    Arguments,
}

impl Status {
    /// A status as it crosses the interface.
    #[must_use]
    pub const fn from_raw(status: fmi2_abi::Status) -> Self {
        match status {
            fmi2_abi::OK => Self::Ok,
            fmi2_abi::WARNING => Self::Warning,
            fmi2_abi::DISCARD => Self::Discard,
            fmi2_abi::ERROR => Self::Error,
            fmi2_abi::FATAL => Self::Fatal,
            fmi2_abi::PENDING => Self::Pending,
            unknown => Self::Unknown(unknown),
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("returned OK"),
            Self::Warning => f.write_str("returned Warning"),
            Self::Discard => f.write_str("returned Discard"),
            Self::Error => f.write_str("returned Error"),
            Self::Fatal => f.write_str("returned Fatal"),
            Self::Pending => f.write_str("returned Pending"),
            Self::TimedOut(time) => write!(f, "did not return within {} s", time.as_secs_f64()),
            Self::Interrupted => f.write_str("was interrupted, and did not return"),
            Self::Unknown(number) => {
                write!(f, "returned {number}, which is not a status of FMI 2.0")
            }
            Self::NotCalled(Refusal::SlaveState) => f.write_str("was not called"),
            Self::NotCalled(Refusal::Capability) => f.write_str("cannot be called"),
            Self::NotCalled(Refusal::Arguments) => f.write_str("was called wrongly"),
        }
    }
}

/// A call to an instance failed, or was not made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// Name of the instance.
    pub instance: String,
    /// C name of the function.
    pub function: &'static str,
    /// Its result.
    pub status: Status,
    /// Details, if they are known: the variable and value that was refused, the state.
    pub detail: Option<String>,
    /// The last line the FMU has logged.
    pub last_log: Option<String>,
}

impl std::error::Error for CallError {}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.instance, self.function, self.status)?;
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        match &self.last_log {
            Some(line) => write!(f, "; the FMU says: {line}"),
            None => Ok(()),
        }
    }
}
