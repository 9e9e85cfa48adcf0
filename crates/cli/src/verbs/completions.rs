//! `gyrator completions`: completions of the command line for a shell.

use std::io;

use clap::Args;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::screen;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints the completions.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut super::command(), "gyrator", &mut text);
    let text = String::from_utf8(text).map_err(io::Error::other)?;
    screen::print(&text)?;
    Ok(Exit::Success)
}
