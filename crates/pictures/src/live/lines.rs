//! Lines of JSON between two processes.

use std::io::{self, BufRead, Read as _, Write};

use serde::Serialize;

/// Bytes of the longest line: the report of a run with thousands of connections.
const LONGEST: u64 = 1 << 24;

/// Writes a value as one line.
///
/// # Errors
/// Errors of the stream.
pub(crate) fn write(stream: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    stream.flush()
}

/// Reads the next line into `line`, without its end; false at the end of the stream.
///
/// # Errors
/// Errors of the stream; a line without an end.
pub(crate) fn read(stream: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    stream.by_ref().take(LONGEST).read_until(b'\n', line)?;
    match line.pop() {
        None => Ok(false),
        Some(b'\n') => Ok(true),
        Some(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}
