//! `gyrator serve`: the host of components of runs on other machines.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use gyrator_remote::Server;
use gyrator_remote::access::{self, Access, AccessError, Tokens, Validity};
use gyrator_remote::server::{Admission, ServerOptions};
use time::OffsetDateTime;

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::interrupt::on_signal;
use crate::options::{not_negative, time_limit};
use crate::screen;

#[derive(Debug, Args)]
pub(super) struct Options {
    /// Folder of the FMUs that runs may load
    #[arg(value_name = "FOLDER", required_unless_present = "init")]
    folder: Option<PathBuf>,
    /// Create a certificate authority, certificates and a token in this folder, or renew the certificates there; give
    /// its folder `client` to those who may run FMUs on this machine
    #[arg(
        long,
        value_name = "KEYS",
        conflicts_with = "folder",
        help_heading = "Certificates"
    )]
    init: Option<PathBuf>,
    /// Name or address by which runs reach this machine, for its certificate [repeatable] [default: the name of this
    /// machine, localhost, 127.0.0.1 and ::1]
    #[arg(
        long,
        value_name = "NAME",
        requires = "init",
        help_heading = "Certificates"
    )]
    name: Vec<String>,
    /// Days until the certificates expire
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "init",
        default_value = "365",
        help_heading = "Certificates"
    )]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3650))]
    #[arg(allow_negative_numbers = true)]
    valid_days: u32,
    /// The folder that --init has made
    #[arg(long, value_name = "KEYS", required_unless_present = "init")]
    keys: Option<PathBuf>,
    /// Address and port to listen at; 0.0.0.0 is all addresses of this machine, and port 0 any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7443")]
    listen: SocketAddr,
    /// Ask only for the token, without encryption and certificates; for addresses of this machine only
    #[arg(long)]
    plain_text: bool,
    /// SHA-256 of an FMU that runs may send [repeatable]
    #[arg(long, value_name = "SHA256", value_parser = hash, help_heading = "FMUs")]
    allow: Vec<[u8; 32]>,
    /// Let runs send any FMU: everyone with the token may then run programs on this machine
    #[arg(long, help_heading = "FMUs")]
    allow_upload: bool,
    /// Largest FMU that a run may send
    #[arg(long, value_name = "MIB", default_value = "512", help_heading = "FMUs")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 20))]
    #[arg(allow_negative_numbers = true)]
    largest_upload: u64,
    /// Keep unpacked FMUs in this directory
    #[arg(long, value_name = "DIRECTORY", help_heading = "FMUs")]
    fmu_cache: Option<PathBuf>,
    /// Most components at the same time
    #[arg(
        long,
        value_name = "NUMBER",
        default_value = "64",
        help_heading = "Limits"
    )]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=4096))]
    #[arg(allow_negative_numbers = true)]
    components: u16,
    /// Longest time of a call, even if a run allows more; 0: the run's limit
    #[arg(long, value_name = "SECONDS", value_parser = not_negative, default_value = "0", help_heading = "Limits")]
    #[arg(allow_negative_numbers = true)]
    timeout: f64,
    /// Limit of memory of a component's process
    #[arg(long, value_name = "MIB", help_heading = "Limits")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    #[arg(allow_negative_numbers = true)]
    memory_limit: Option<u64>,
}

/// A SHA-256 in hexadecimal digits.
fn hash(text: &str) -> Result<[u8; 32], String> {
    let wrong = || "a SHA-256 has 64 hexadecimal digits".to_owned();
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return Err(wrong());
    }
    for (byte, place) in hash.iter_mut().zip((0..64).step_by(2)) {
        *byte = u8::from_str_radix(&text[place..place + 2], 16).map_err(|_| wrong())?;
    }
    Ok(hash)
}

/// Serves until it is interrupted.
pub(super) fn run(options: &Options) -> Result<Exit, Failure> {
    match (&options.init, &options.folder, &options.keys) {
        (Some(keys), ..) => init(keys, options),
        (None, Some(folder), Some(keys)) => serve(folder, keys, options),
        // The command line has refused it.
        (None, ..) => Err(Failure::usage("a folder of FMUs and --keys are needed")),
    }
}

fn failed(error: &dyn std::fmt::Display) -> Failure {
    Failure::of(Exit::Failed, error)
}

fn init(keys: &Path, options: &Options) -> Result<Exit, Failure> {
    let mut names = options.name.clone();
    if names.is_empty() {
        let own = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let own = Some(own.trim().to_owned()).filter(|name| !name.is_empty());
        names.extend(own.filter(|name| name != "localhost"));
        names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    }
    let validity = Validity::days(options.valid_days);
    access::init(keys, &names, validity).map_err(|error| match error {
        AccessError::NoName(_) => Failure::usage(error.to_string()),
        _ => failed(&error),
    })?;
    let text = format!(
        "keys of a host that is reached as {}, valid for {} days\n  {}: for gyrator serve --keys {}\n  {}: hand it to those \
         who may run FMUs here, as `access` of the host in their system files\n",
        names.join(", "),
        options.valid_days,
        keys.display(),
        keys.display(),
        keys.join("client").display(),
    );
    screen::print(&text).map_err(|error| failed(&error))?;
    Ok(Exit::Success)
}

fn serve(folder: &Path, keys: &Path, options: &Options) -> Result<Exit, Failure> {
    let not_found = |text: String| Failure::new(Exit::InvalidInput, Message::error(text));
    if !folder.is_dir() {
        let text = format!("{}: there is no such folder of FMUs", folder.display());
        return Err(not_found(text));
    }
    let refused = |error: AccessError| {
        not_found(error.to_string())
            .help("make keys with `gyrator serve --init KEYS`, and name that folder")
    };
    let admission = match options.plain_text {
        true => Admission::PlainText(Tokens::read(&keys.join("host")).map_err(refused)?),
        false => Admission::Tls(Access::of_host(keys).map_err(refused)?),
    };
    let server_options = ServerOptions {
        allowed: options.allow.clone(),
        allow_upload: options.allow_upload,
        largest_upload: options.largest_upload << 20,
        components: usize::from(options.components),
        timeout: time_limit(options.timeout),
        memory_limit: options.memory_limit.map(|limit| limit << 20),
        cache: options.fmu_cache.clone(),
        ..ServerOptions::new(folder)
    };
    let server = Server::bind(options.listen, server_options, admission, Box::new(note));
    let server = server.map_err(|error| failed(&error))?;
    let address = server.address().map_err(|error| failed(&error))?;
    let stop = server.stop_handle();
    let heard = move || {
        note("stopped");
        stop.stop();
        gyrator_worker::end_orphans();
        gyrator_worker::program_ends();
        std::process::exit(Exit::Success.code().into());
    };
    if let Err(error) = on_signal(heard) {
        screen::message(&format!(
            "warning: Ctrl-C may leave files behind: {error}\n"
        ));
    }
    let scheme = if options.plain_text { "http" } else { "https" };
    note(&format!(
        "serving the FMUs of {} at {scheme}://{address}",
        folder.display()
    ));
    server.serve()
}

/// A line of the log, with the time in UTC as ISO 8601 has it.
fn note(text: &str) {
    let now = OffsetDateTime::now_utc();
    let (date, hour, minute, second) = (now.date(), now.hour(), now.minute(), now.second());
    // A log without a reader ends no run.
    let _ = writeln!(
        std::io::stderr().lock(),
        "{date}T{hour:02}:{minute:02}:{second:02}Z {}",
        screen::harmless(text)
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_has_64_digits() {
        assert_eq!(hash(&"0f".repeat(32)), Ok([15; 32]));
        for wrong in ["", "0f", &"0g".repeat(32), &"ä".repeat(32)] {
            assert!(hash(wrong).is_err(), "{wrong}");
        }
    }
}
