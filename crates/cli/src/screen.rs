//! Output to the terminal. A reader that goes away ends nothing but the text.

use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use gyrator_record::write_whole;
use gyrator_worker::Worker;
use indicatif::ProgressBar;

/// The progress bar on show, which messages must not tear apart.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Shows or removes the progress bar around which messages are written.
pub(crate) fn set_bar(bar: Option<ProgressBar>) {
    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = bar;
}

/// A text of an FMU or a file as it may be shown: without control characters, which could do anything
/// to a terminal, and with its further lines indented, so that none passes for a message.
pub(crate) fn harmless(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.trim_end().chars() {
        match character {
            '\n' => shown.push_str("\n    "),
            '\t' => shown.push('\t'),
            other if other.is_control() => {}
            other => shown.push(other),
        }
    }
    shown
}

/// Writes a text to the standard output, without control characters that names in it may have.
///
/// # Errors
/// That of the operating system, unless the reader has gone: `gyrator list | head` is no error.
pub fn print(text: &str) -> io::Result<()> {
    let is_harmful = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
    let text = text.replace(is_harmful, "");
    let written = match Worker::current() {
        Some(worker) => worker.output().write_all(text.as_bytes()),
        None => {
            let mut output = io::stdout().lock();
            let written = output.write_all(text.as_bytes());
            written.and_then(|()| output.flush())
        }
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes a file that is whole or, where that fails, is not changed.
///
/// # Errors
/// That of the operating system.
pub fn file(path: &Path, text: &str) -> io::Result<()> {
    write_whole(path, |file| file.write_all(text.as_bytes()))
}

/// Writes a text that ends in a line feed to the standard error, above the progress bar.
pub fn message(text: &str) {
    // Where even the standard error is closed, no reader is left.
    let write = || match Worker::current() {
        Some(worker) => worker.say(text),
        None => drop(io::stderr().lock().write_all(text.as_bytes())),
    };
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Columns to wrap text at: those of the terminal within reason, 100 elsewhere.
pub(crate) fn width() -> usize {
    const ELSEWHERE: u16 = 100;
    let columns = io::stderr()
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(io::stderr()))
        .flatten()
        .map_or(ELSEWHERE, |(terminal_size::Width(columns), _)| columns);
    usize::from(columns.clamp(60, 120))
}

/// Whether messages may have colours: on a terminal, unless `NO_COLOR` is set.
pub(crate) fn has_colours() -> bool {
    io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
