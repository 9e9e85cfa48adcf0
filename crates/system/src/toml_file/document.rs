//! Files in TOML: how one is opened and how its text is parsed, whatever it describes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml::de::DeTable;

use super::section::{Reader, Section};
use super::{has_errors, syntax_problem};
use crate::problem::{Problems, Source};

/// Why a file was not read. Messages call it by its kind: `the system file`.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file could not be read.
    #[error("cannot read {kind} {}: {source}", path.display())]
    Io {
        /// The kind of the file, with its article.
        kind: &'static str,
        /// The path as it was given.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The file is not UTF-8.
    #[error("{kind} {} is not UTF-8 text: look at byte {offset}", path.display())]
    NotText {
        /// The kind of the file, with its article.
        kind: &'static str,
        /// The path as it was given.
        path: PathBuf,
        /// Number of valid bytes before the first invalid one.
        offset: usize,
    },
    /// The text does not describe what it should.
    #[error(transparent)]
    Problems(#[from] Problems),
}

/// Reads the text of a file, which messages call `kind`.
///
/// # Errors
/// [`ReadError`] if the file cannot be read, or is not UTF-8.
pub fn read_text(kind: &'static str, path: &Path) -> Result<String, ReadError> {
    let bytes = std::fs::read(path).map_err(|source| ReadError::Io {
        kind,
        path: path.to_owned(),
        source,
    })?;
    String::from_utf8(bytes).map_err(|error| ReadError::NotText {
        kind,
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })
}

/// Reads a text that comes from `path` and is one table, which messages call `title`. `read` reports problems to the
/// reader and may return `None` after an error.
///
/// # Errors
/// All problems of the text in its order, if one of them is an error.
pub fn parse_document<T>(
    text: impl Into<String>,
    path: impl Into<PathBuf>,
    title: &str,
    read: impl FnOnce(Section<'_>, &mut Reader) -> Option<T>,
) -> Result<T, Problems> {
    let source = Arc::new(Source::new(path, text));
    let (document, errors) = DeTable::parse_recoverable(&source.text);
    let mut reader = Reader::new(Arc::clone(&source));
    let syntax = errors.iter();
    let syntax = syntax.map(|error| syntax_problem(error, &source.text, 0));
    reader.problems.extend(syntax);
    let found = match errors.is_empty() {
        true => read(Section::new(title, document.get_ref(), 0..0), &mut reader),
        false => None,
    };
    let mut list = reader.problems;
    list.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    match found {
        Some(found) if !has_errors(&list) => Ok(found),
        _ => Err(Problems { source, list }),
    }
}
