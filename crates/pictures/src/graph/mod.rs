//! Pictures of coupled systems: components with their ports, connections, and power bonds in the notation of bond
//! graphs.
//!
//! The command line calls it for pictures, summaries and reports. It never opens an FMU.
//!
//! ```no_run
//! let (system, _) = gyrator_system::toml_file::read("system.toml".as_ref())?;
//! let picture = gyrator_pictures::graph::svg(&gyrator_pictures::graph::Diagram::of(&system));
//! # Ok::<(), gyrator_system::toml_file::ReadError>(())
//! ```
//!
//! A [`Diagram`] takes all that it shows from a [`SystemFile`](gyrator_system::SystemFile), by its names: no FMU
//! is opened, and a system with mistakes is drawn as far as its names lead somewhere. A connection of many
//! variables (`plant.q[*]`) is one line. If a run has found out more, such as the exchange mode that `auto`
//! stands for, [`Diagram::set_exchange`] says so.
//!
//! The picture needs no other file, no script and no network. Its colours follow the scheme of the browser on screens;
//! on paper they are those for light. It is readable without colours, and may stand in a page of HTML more than once: it
//! has no identifiers.
//!
//! A summary has the graph as data, and not as a picture: a report is made where the system file is not, or is
//! another one by now, and options change the system. The data are a tenth of the picture, and can be drawn again
//! when drawing gets better.

mod boxes;
mod diagram;
mod dot;
mod drawing;
mod layout;
mod scene;
mod text;

pub use diagram::{Diagram, End};
pub use dot::dot;

/// The picture as SVG.
#[must_use]
pub fn svg(diagram: &Diagram) -> String {
    drawing::write(&scene::Scene::of(diagram))
}

/// A page of HTML with the picture alone.
#[must_use]
pub fn html(diagram: &Diagram) -> String {
    let title = text::escaped(&text::harmless(diagram.title()));
    let picture = svg(diagram);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title}</title>\n</head>\n<body>\n{picture}</body>\n</html>\n"
    )
}
