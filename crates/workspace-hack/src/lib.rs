//! Nothing: its manifest is what this package is for.
//!
//! Builds of a part of the workspace name it. It has no code, and published packages never depend on it.
//!
//! Cargo compiles a package once for each set of its features, and a build of a part of the workspace asks for fewer
//! features of its dependencies than the whole: the demo, the wheel's two parts, the documentation of the published
//! packages, the model check. One feature more of `syn` or `libc`, and all that depends on it is compiled again. The
//! manifest lists these features. With `--package workspace-hack` beside the part, or as a dependency of what is not
//! published, the part is made of what is there.
//!
//! Published packages do not depend on it. `cargo build --unit-graph` (nightly) shows the features of each package; a
//! feature that is missing in the list costs time and nothing else. The name is that of `cargo hakari`, which writes
//! such a list for a whole workspace; here it would bring Arrow, TLS and HTTP into the demo.

#![forbid(unsafe_code)]
