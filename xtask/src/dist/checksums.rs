//! `SHA256SUMS`, for `sha256sum --check`.

use std::process::Command;

use super::{Dist, text, write as write_text};

const FILE: &str = "SHA256SUMS";

/// Writes the sums of all other files.
pub(super) fn write(dist: &Dist) -> Result<(), String> {
    let mut sums = Command::new("sh");
    sums.args(["-c", "LC_ALL=C; export LC_ALL; sha256sum -- *"]);
    let sums = text(sums.current_dir(&dist.files))?;
    write_text(&dist.files.join(FILE), &format!("{sums}\n"))
}
