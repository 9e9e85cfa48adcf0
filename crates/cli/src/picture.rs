//! Where a picture goes: a file, or the terminal.

use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_pictures::chart::Figure;
use gyrator_worker::surroundings;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::overwriting::Named;
use crate::screen;

// Options of the verbs that draw.
#[derive(Debug, Args)]
pub(crate) struct PictureOptions {
    /// Write the picture as SVG [default: show it in the terminal]
    #[arg(long, short = 'o', value_name = "FILE.svg", value_parser = svg)]
    output_file: Option<PathBuf>,
    /// Show the picture in the terminal even if it is written to a file
    #[arg(long)]
    preview: bool,
}

/// A path that ends in `.svg`.
pub(crate) fn svg(text: &str) -> Result<PathBuf, String> {
    let wrong = "pictures are SVG files: the name must end in .svg";
    with_ending(text, &["svg"], wrong)
}

/// A path that ends in `.html`.
pub(crate) fn html(text: &str) -> Result<PathBuf, String> {
    let wrong = "reports are HTML files: the name must end in .html";
    with_ending(text, &["html", "htm"], wrong)
}

/// A path that ends in one of these.
pub(crate) fn with_ending(text: &str, endings: &[&str], wrong: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let found = path.extension().unwrap_or_default();
    let mut endings = endings.iter();
    match endings.any(|ending| found.eq_ignore_ascii_case(ending)) {
        true => Ok(path),
        false => Err(wrong.to_owned()),
    }
}

impl PictureOptions {
    /// The file that is written, by its option.
    pub(crate) fn outputs(&self) -> Vec<Named<'_>> {
        let path = self.output_file.as_deref();
        path.map(|path| ("--output-file", path))
            .into_iter()
            .collect()
    }

    /// Writes the figure, or shows it.
    pub(crate) fn show(&self, figure: &Figure) -> Result<Exit, Failure> {
        let notes = figure.notes.iter().map(|note| format!("{note}\n"));
        let notes: String = notes.collect();
        if self.output_file.is_some() && !self.preview {
            screen::message(&notes);
        }
        self.show_as(
            || figure.to_svg(),
            |columns| format!("{}\n{}{notes}", figure.title, figure.to_text(columns)),
        )
    }

    /// Writes the picture, or shows it in so many columns of text.
    pub(crate) fn show_as(
        &self,
        svg: impl FnOnce() -> String,
        text: impl FnOnce(usize) -> String,
    ) -> Result<Exit, Failure> {
        if let Some(path) = &self.output_file {
            write(path, &svg())?;
        }
        if self.preview || self.output_file.is_none() {
            screen::print(&text(screen::width()))?;
        }
        Ok(Exit::Success)
    }
}

/// Writes a picture, whole or not at all.
pub(crate) fn write(path: &Path, svg: &str) -> Result<(), Failure> {
    surroundings::in_own(|| screen::file(path, svg))
        .map_err(|error| Failure::not_written(format!("the picture {}", path.display()), &error))
}
