//! Components on other machines: the host that runs their FMUs, and the way to it from a run.
//!
//! The command line calls both sides. Neither ever believes the other.
//!
//! | file | what it is |
//! |---|---|
//! | `message.rs` | what the two sides say; `frame.rs`: as frames of a gRPC stream |
//! | `access.rs` | certificates and tokens: making, reading; `tls.rs`: their use |
//! | `client/` | the way from a run to a host: [`RemoteUnits`] |
//! | `server/` | the host: [`Server`] |
//!
//! A component has a stream, which a TLS connection of its own carries. On it are the messages that an
//! [isolated](gyrator_worker::isolated) component exchanges with its process, which the host passes on to one: a step
//! is one message there and one back. Neither side trusts the messages of the other: they are checked like messages of
//! a process that an FMU has broken.
//!
//! Linux only: elsewhere the crate is empty.
//!
//! The unit, its journal for restarts, the reads sent ahead and the bytes of requests and replies are shared with
//! isolated components: a second protocol would be a second place for every mistake. The bytes travel as one field of
//! a protobuf message in one stream of gRPC, which proxies, tools and other languages know; what comes once is
//! `postcard`, as between processes. A thread on each side drives one connection for each component, so that steps go
//! on at the same time and a slow one holds up no other. A lost connection is not opened again.
//!
//! Signs of life are messages of the host while a reply is waited for, not pings of HTTP/2. They show that the host
//! serves, carry the calls of the FMU, and need no thread of the run that answers pings while an FMU computes there.
//!
//! A host never believes a run: the one request that names an FMU is refused, paths are names within a folder, and
//! the file must have the hash that the run knows. Clients that have shown no token yet get places of their own, few
//! for each address: one counter for all connections let 128 silent ones keep every run away. Connections beyond 16
//! handshakes wait for their turn and are not refused, since a study begins as many runs at once as its machine has
//! cores.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

pub mod access;
pub mod client;
mod frame;
mod message;
pub mod server;
mod tls;

pub use client::RemoteUnits;
pub use message::{Hash, check_from_host, check_to_host};
pub use server::Server;

/// The method that a stream calls.
const METHOD: &str = "/gyrator.remote.v1.Host/Component";

/// Version of the messages. Both sides compare it, and the version of the program.
const PROTOCOL: u32 = 1;

/// The version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Limits of HTTP/2: bytes under way on a stream, and of the headers.
const WINDOW: u32 = 1 << 20;
const LONGEST_HEADERS: u32 = 16 << 10;

/// Bytes as hexadecimal digits.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// SHA-256 of a file, and its length in bytes.
///
/// # Errors
/// Errors of the operating system.
pub fn hash_of(path: &std::path::Path) -> std::io::Result<([u8; 32], u64)> {
    use sha2::Digest as _;
    use std::io::Read as _;
    let mut file = std::fs::File::open(path)?;
    let mut hasher = sha2::Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut length = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok((hasher.finalize().into(), length));
        }
        hasher.update(&buffer[..count]);
        length += count as u64;
    }
}
