//! Files of summaries: written whole; they overwrite only other summaries.
//!
//! A feature of all runs. Studies and fits write summaries of their own.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;

use crate::failure::Failure;
use crate::feature::{Ending, Feature, Needs};
use crate::overwriting::{self, Named};
use crate::screen;
use crate::summary::Summary;

// Whether programs get a summary.
#[derive(Args)]
pub(crate) struct SummaryOptions {
    /// Write the summary of the run as JSON
    #[arg(long, value_name = "FILE.json", help_heading = "Results")]
    summary: Option<PathBuf>,
}

impl Feature for SummaryOptions {
    fn output(&self) -> Option<Named<'_>> {
        let path = self.summary.as_deref();
        path.map(|path| ("--summary", path))
    }

    fn is_earlier(&self, output: &Path) -> bool {
        output.is_file() && is_summary(output)
    }

    fn needs(&self) -> Needs {
        Needs {
            summary: self.summary.is_some(),
            ..Needs::default()
        }
    }

    fn write(&self, _: &Ending<'_>, summary: &Summary<'_>) -> Result<(), Failure> {
        let path = self.summary.as_ref();
        path.map_or(Ok(()), |path| write(path, summary))
    }
}

/// Removes the summary of an earlier run, so that it stands for no later one; refuses a file that is not a summary.
///
/// # Errors
/// A wrong use of the command.
pub(crate) fn replace_earlier(path: &Path) -> Result<(), Failure> {
    if path.is_file() && !is_summary(path) {
        let text = format!("--summary {} is not a summary", path.display());
        return Err(Failure::usage(text).help("write to another file"));
    }
    if path.is_file() {
        // A file that cannot be removed is replaced, or that fails and is reported.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// Writes a summary for programs: the whole file at once; it overwrites only another summary.
///
/// # Errors
/// A file that cannot be written, or that is not a summary.
pub(crate) fn write(path: &Path, summary: &impl Serialize) -> Result<(), Failure> {
    let write = || {
        let text = screen::json(summary)?;
        overwriting::replace(path, &text, is_summary, "the file is not a summary")
    };
    write().map_err(|error| Failure::not_written(format!("the summary {}", path.display()), &error))
}

/// Whether a file may be a summary.
fn is_summary(path: &Path) -> bool {
    overwriting::begins_with(path, "{")
}
