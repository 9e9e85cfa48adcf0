//! Starting this program once more as a worker, and what a worker does first.
//!
//! A worker learns its role from an environment variable, and talks to its parent over a socket
//! that it finds as its standard input: nothing else has to be inherited, so other threads of the
//! parent may start programs of their own meanwhile.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, PidfdFlags, Signal};

use crate::channel::Channel;
use crate::crash_handler;

/// `<role> <parent's process>`. The number keeps programs that an FMU starts from taking
/// themselves for workers.
const VARIABLE: &str = "GYRATOR_WORKER";

/// Descriptors that FMUs do not close by accident begin here.
const PRIVATE_DESCRIPTORS: i32 = 10;

/// Starts this program with the same name, as a worker that dies with the calling thread.
///
/// # Errors
/// Errors of the operating system.
pub(crate) fn spawn(
    role: &str,
    arguments: impl IntoIterator<Item = OsString>,
) -> io::Result<(Child, Channel)> {
    let (parent, child) = Channel::pair()?;
    // The program as it was started, also if its file has been replaced since.
    let mut command = Command::new("/proc/self/exe");
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    command
        .args(arguments)
        .env(VARIABLE, format!("{role} {}", std::process::id()))
        .stdin(Stdio::from(child.into_socket()));
    Ok((command.spawn()?, parent))
}

/// Readable as soon as the process has ended; `None` where the system has no such thing, as Linux
/// before 5.3.
pub(crate) fn end_of(child: &Child) -> Option<OwnedFd> {
    let process = Pid::from_raw(child.id().cast_signed())?;
    rustix::process::pidfd_open(process, PidfdFlags::empty()).ok()
}

/// Role of this process as a worker; `None` if it is none.
pub(crate) fn role() -> Option<String> {
    let value = std::env::var(VARIABLE).ok()?;
    let (role, parent) = value.split_once(' ')?;
    let parent: i32 = parent.parse().ok()?;
    let actual = rustix::process::getppid()?.as_raw_nonzero().get();
    (parent == actual).then(|| role.to_owned())
}

/// Lets this process die with its parent, keeps the signals of the terminal away from it, and
/// takes the channel to the parent out of the way of FMUs.
///
/// # Errors
/// Errors of the operating system, or that the parent is dead already.
pub(crate) fn begin() -> io::Result<Channel> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before.
    if role().is_none() {
        return Err(io::Error::other("the parent process has ended"));
    }
    // A session of its own: Ctrl-C and a closed terminal are the parent's to handle, and the
    // parent can end all processes that FMUs have started.
    rustix::process::setsid()?;
    crash_handler::leave_ending_to_parent();
    let channel = Channel::new(private(rustix::stdio::stdin())?);
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    Ok(channel)
}

/// The output and the errors of this process, for what FMUs must not write to or close.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) output: File,
    pub(crate) errors: File,
}

impl Streams {
    /// Takes both away from FMUs: their output goes to the standard error.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) fn take() -> io::Result<Self> {
        let streams = Self {
            output: private(rustix::stdio::stdout())?.into(),
            errors: private(rustix::stdio::stderr())?.into(),
        };
        rustix::stdio::dup2_stdout(&streams.errors)?;
        Ok(streams)
    }
}

fn private(descriptor: impl std::os::fd::AsFd) -> io::Result<OwnedFd> {
    let copy = rustix::io::fcntl_dupfd_cloexec(descriptor, PRIVATE_DESCRIPTORS)?;
    Ok(copy)
}
