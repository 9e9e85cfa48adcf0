//! Files of summaries: written whole, and in place of other summaries only.

use std::io::{self, Read as _};
use std::path::Path;

use gyrator_worker::surroundings;
use serde::Serialize;

use crate::failure::Failure;
use crate::screen;

/// Removes the summary of an earlier run, so that it stands for no later one.
pub(crate) fn remove_earlier(path: &Path) {
    // A file that cannot be removed is replaced, or that fails and is reported.
    if path.is_file() {
        let _ = std::fs::remove_file(path);
    }
}

/// As [`remove_earlier`], and refuses a file that is not a summary.
///
/// # Errors
/// A wrong use of the command.
pub(crate) fn replace_earlier(path: &Path) -> Result<(), Failure> {
    if path.is_file() && !is_summary(path) {
        let text = format!("--summary {} is not a summary", path.display());
        return Err(Failure::usage(text).help("write to another file"));
    }
    remove_earlier(path);
    Ok(())
}

/// Writes a summary for programs: the whole file at once, in place of another summary only.
///
/// # Errors
/// A file that cannot be written, or that is not a summary.
pub(crate) fn write(path: &Path, summary: &impl Serialize) -> Result<(), Failure> {
    let write = || {
        let text = screen::json(summary)?;
        surroundings::in_own(|| {
            if path.is_file() && !is_summary(path) {
                return Err(io::Error::other("the file is not a summary"));
            }
            screen::file(path, &text)
        })
    };
    write().map_err(|error| Failure::not_written(format!("the summary {}", path.display()), &error))
}

/// Whether a file may be a summary: a file that is none may be an input that was not read yet.
fn is_summary(path: &Path) -> bool {
    let mut first = [0];
    let file = std::fs::File::open(path).and_then(|mut file| file.read(&mut first));
    matches!(file, Ok(0)) || first == [b'{']
}
