//! SHA-256 of a file.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// Bytes that are read at a time.
const BLOCK: usize = 1 << 16;

/// SHA-256 of a file, in hexadecimal digits; `None` for a directory, as of an FMU that is not packed, and for a pipe, which would wait
/// for another writer.
///
/// # Errors
/// If the file cannot be read.
pub fn fingerprint(path: &Path) -> io::Result<Option<String>> {
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut block = vec![0; BLOCK];
    loop {
        match file.read(&mut block)? {
            0 => break,
            count => hash.update(&block[..count]),
        }
    }
    let mut text = String::new();
    for byte in hash.finalize() {
        write!(text, "{byte:02x}").map_err(io::Error::other)?;
    }
    Ok(Some(text))
}
