//! The way from a run to its hosts.

mod connection;
mod link;
mod maker;

pub use connection::{Opener, Terms};
pub use link::RemoteLink;
pub use maker::RemoteUnits;
