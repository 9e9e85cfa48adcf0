//! Errors of the library as exceptions of the package.

use std::sync::{Arc, Mutex, PoisonError};

use gyrator::{RunError, StartError};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

/// The exception that a unit's Python code has raised, until the run ends with it.
pub(crate) type Raised = Arc<Mutex<Option<PyErr>>>;

/// Exit codes of the program (docs/command-line.md).
const FAILED: u8 = 1;
const USAGE: u8 = 2;
const INVALID_INPUT: u8 = 3;
const NOT_LOADED: u8 = 4;

/// Wrong use of a function.
pub(crate) fn usage(py: Python<'_>, message: impl Into<String>) -> PyErr {
    error(py, USAGE, message.into())
}

/// Input that is not valid.
pub(crate) fn invalid(py: Python<'_>, message: impl Into<String>) -> PyErr {
    error(py, INVALID_INPUT, message.into())
}

/// A run that ended before its time; the cause is what Python code has raised in it.
pub(crate) fn of_run(py: Python<'_>, failed: &RunError, raised: &Raised) -> PyErr {
    let code = match failed {
        RunError::Variable(_) | RunError::Ended(_) | RunError::NotSaved(_) => USAGE,
        _ => FAILED,
    };
    with_cause(py, error(py, code, failed.to_string()), raised)
}

/// A system that could not be read or started.
pub(crate) fn of_start(py: Python<'_>, failed: &StartError, raised: &Raised) -> PyErr {
    let code = match failed {
        StartError::Run(failed) => return of_run(py, failed, raised),
        StartError::Load(_) => NOT_LOADED,
        _ => INVALID_INPUT,
    };
    with_cause(py, error(py, code, failed.to_string()), raised)
}

fn with_cause(py: Python<'_>, error: PyErr, raised: &Raised) -> PyErr {
    let cause = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    match cause {
        // Ctrl-C and an exit go on as they are.
        Some(cause) if !cause.is_instance_of::<PyException>(py) => cause,
        cause => {
            error.set_cause(py, cause);
            error
        }
    }
}

fn error(py: Python<'_>, code: u8, message: String) -> PyErr {
    let made = py
        .import("gyrator._errors")
        .and_then(|module| module.getattr("error_of")?.call1((code, message)));
    made.map_or_else(|error| error, PyErr::from_value)
}
