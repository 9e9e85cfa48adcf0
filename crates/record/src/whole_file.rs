//! Files that are complete or not there.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Writes a file that is complete or not there: under its name with `.part` after it until it is
/// whole.
///
/// # Errors
///
/// What `write` or the operating system says; the unfinished file is then removed.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let mut name = path.as_os_str().to_owned();
    name.push(".part");
    let part = PathBuf::from(name);
    let mut file = File::create(&part)?;
    let written = write(&mut file)
        .and_then(|()| file.sync_data())
        .and_then(|()| std::fs::rename(&part, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}
