//! The loader as its users see it, on archives and a misbehaving slave built for the purpose.

#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

mod archives;
mod building;
mod calls;
mod compiling;
mod descriptions;
mod loading;
mod logging;
mod places;
