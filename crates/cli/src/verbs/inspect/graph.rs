//! The picture of a system.

use std::path::Path;

use gyrator_pictures::graph::Diagram;
use gyrator_system::SystemFile;

use crate::failure::Failure;
use crate::overwriting::Named;
use crate::screen;

/// Draws a diagram in a form.
type Draw = fn(&Diagram) -> String;

/// Forms of pictures, by the endings of their files' names.
const FORMS: [(&str, Draw); 4] = [
    ("svg", gyrator_pictures::graph::svg),
    ("html", gyrator_pictures::graph::html),
    ("dot", gyrator_pictures::graph::dot),
    ("gv", gyrator_pictures::graph::dot),
];

/// A picture to be written.
pub(super) struct GraphFile<'a> {
    path: &'a Path,
    draw: Draw,
}

impl<'a> GraphFile<'a> {
    /// The picture, in the form that its file extension selects.
    pub(super) fn new(path: &'a Path) -> Result<Self, Failure> {
        let ending = path.extension().unwrap_or_default();
        let mut forms = FORMS.iter();
        let Some((_, draw)) = forms.find(|(known, _)| ending.eq_ignore_ascii_case(known)) else {
            let text = format!(
                "--graph {}: there is no such form of picture",
                path.display()
            );
            let help = "the name must end in .svg, .html, .dot or .gv; `dot -Tpng` makes pixels of a .dot file";
            return Err(Failure::usage(text).help(help));
        };
        Ok(Self { path, draw: *draw })
    }

    /// The file, by its option.
    pub(super) fn named(&self) -> Named<'a> {
        ("--graph", self.path)
    }

    /// Draws the system as its file describes it.
    pub(super) fn write(&self, system: &SystemFile) -> Result<(), Failure> {
        let picture = (self.draw)(&Diagram::of(system));
        screen::file(self.path, &picture).map_err(|error| {
            Failure::not_written(format!("the graph {}", self.path.display()), &error)
        })
    }
}
