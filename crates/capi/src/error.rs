//! Codes and messages of errors.

#![expect(unsafe_code, reason = "exports C names")]

use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use gyrator::{RunError, StartError};

/// Outcome of a function: 0 if it has done its work. The numbers are the exit codes of the program `gyrator`.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GyratorCode {
    /// Success.
    Ok = 0,
    /// A unit failed while the system ran, a value is not finite, or a result cannot be written.
    Failed = 1,
    /// Wrong use of a function: NULL, text that is not UTF-8, an unknown name, a run that has ended.
    Usage = 2,
    /// The description of the system is invalid.
    InvalidInput = 3,
    /// An FMU cannot be loaded.
    NotLoaded = 4,
    /// The library itself is wrong; the object must not be used any more.
    Panicked = 101,
}

/// Reason why a function has not done its work.
pub(crate) struct Refusal {
    code: GyratorCode,
    message: String,
}

impl Refusal {
    /// Wrong use of a function.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self {
            code: GyratorCode::Usage,
            message: message.into(),
        }
    }

    /// A failure outside of units.
    pub(crate) fn failed(message: impl ToString) -> Self {
        Self {
            code: GyratorCode::Failed,
            message: message.to_string(),
        }
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        let code = match error {
            RunError::Variable(_) | RunError::Ended(_) | RunError::NotSaved(_) => {
                GyratorCode::Usage
            }
            _ => GyratorCode::Failed,
        };
        Self {
            code,
            message: error.to_string(),
        }
    }
}

impl From<StartError> for Refusal {
    fn from(error: StartError) -> Self {
        let code = match error {
            StartError::Run(error) => return error.into(),
            StartError::Load(_) => GyratorCode::NotLoaded,
            _ => GyratorCode::InvalidInput,
        };
        Self {
            code,
            message: error.to_string(),
        }
    }
}

thread_local! {
    static MESSAGE: RefCell<CString> = RefCell::default();
}

/// Does the work of a function of the interface, and keeps the message of its error.
pub(crate) fn guard(work: impl FnOnce() -> Result<(), Refusal>) -> GyratorCode {
    let refusal = match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => return GyratorCode::Ok,
        Ok(Err(refusal)) => refusal,
        Err(panic) => Refusal {
            code: GyratorCode::Panicked,
            message: {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                format!("gyrator panicked: {}", text.unwrap_or("without a message"))
            },
        },
    };
    let message = refusal.message.replace('\0', "\u{fffd}");
    MESSAGE.set(CString::new(message).unwrap_or_default());
    refusal.code
}

/// Returns the message of the last error in this thread, which is valid until the next error in it; empty before the first one.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_last_error() -> *const c_char {
    MESSAGE.with_borrow(|message| message.as_ptr())
}

/// Returns the version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn gyrator_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
