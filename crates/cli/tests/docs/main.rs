//! The documentation against the repository: links, commands, files and programs of README, `docs/` and the gallery.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod blocks;
mod links;
mod page;
mod programs;
mod reference;
mod toml_files;
