//! `gyrator man`: manual pages of the program and its verbs.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::screen;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The folder, such as ~/.local/share/man/man1; it is created if missing
    #[arg(value_name = "DIRECTORY")]
    folder: PathBuf,
}

/// Writes a page for the program, and one for each verb.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let folder = &options.folder;
    let made = std::fs::create_dir_all(folder);
    let written = made.and_then(|()| clap_mangen::generate_to(super::command(), folder));
    written.map_err(|error| {
        let text = format!("{}: {error}", folder.display());
        Failure::new(Exit::Failed, Message::error(text))
    })?;
    screen::print(&format!("{}\n", folder.join("gyrator.1").display()))?;
    Ok(Exit::Success)
}
