//! The report of a run: one HTML page that opens offline, from the run's summary and its signals.
//!
//! The command line calls it. It never reads a result file.
//!
//! [`Page::html`] writes it. Style, script and the plotting library stand in the page, which asks no host for
//! anything; a content security policy holds that. Names of FMUs and variables, and all messages, are text: the page
//! escapes them. Tables have four digits, and all digits of the summary as titles; plots are drawn from [`Drawing`].

mod advice;
mod drawing;
mod facts;
mod html;
mod packed;
mod page;
mod plots;
mod ranking;
mod sections;

pub use drawing::Drawing;
pub use page::{Page, update};
pub use sections::sections;
