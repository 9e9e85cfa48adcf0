//! Starting this program once more as a worker, or copying this process, and what a worker does first.
//!
//! A worker learns its role from an environment variable, and talks to its parent over a socket that it
//! finds as its standard input. It need not inherit anything else, so other threads of the
//! parent may start programs of their own meanwhile.

#![expect(unsafe_code, reason = "calls fork and unshare")]

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions};

use crate::channel::Channel;
use crate::signals;

/// `<role> <parent's process>`. The number keeps programs that an FMU starts from taking
/// themselves for workers.
const VARIABLE: &str = "GYRATOR_WORKER";

/// Descriptors that FMUs do not close by accident begin here.
const PRIVATE_DESCRIPTORS: i32 = 10;

/// Starts this program with the same name, as a worker that dies with the calling thread, in this working directory, or in
/// the thread's.
///
/// # Errors
/// Errors of the operating system.
pub(crate) fn spawn(
    role: &str,
    arguments: impl IntoIterator<Item = OsString>,
    directory: Option<&Path>,
    is_quiet: bool,
) -> io::Result<(Child, Channel)> {
    let (parent, child) = Channel::pair()?;
    let mut command = Command::new(program());
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    command
        .args(arguments)
        .env(VARIABLE, format!("{role} {}", std::process::id()))
        .stdin(Stdio::from(child.into_socket()));
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    if is_quiet {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    // Until it has its own handlers: one that goes to all processes would end it.
    let _held = signals::hold();
    Ok((command.spawn()?, parent))
}

/// The program as it was started, also if its file has been replaced since. If another program runs
/// it, such as valgrind, the link leads to the other one.
fn program() -> PathBuf {
    use std::os::unix::fs::MetadataExt as _;
    let link = PathBuf::from("/proc/self/exe");
    let file = |path: &Path| path.metadata().map(|found| (found.dev(), found.ino()));
    match std::env::current_exe() {
        // No such file: it was replaced.
        Ok(named)
            if file(&named).is_ok_and(|named| file(&link).is_ok_and(|link| link != named)) =>
        {
            named
        }
        _ => link,
    }
}

/// Copies this process: `None` in the copy.
///
/// # Errors
/// `Unsupported` if this process has other threads; errors of the operating system.
pub(crate) fn fork() -> io::Result<Option<Pid>> {
    // The copy has the calling thread alone: a lock that another one holds is never released there.
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::ErrorKind::Unsupported.into());
    }
    // SAFETY: this is the only thread, so the copy may do whatever this process may.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        process => Ok(Pid::from_raw(process)),
    }
}

/// A worker that this process has started.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    pid: Pid,
    /// Once it has ended and was waited for: its number may be another one's then.
    status: Option<ExitStatus>,
}

impl WorkerProcess {
    pub(crate) const fn new(pid: Pid) -> Self {
        Self { pid, status: None }
    }

    pub(crate) fn of(child: &Child) -> Option<Self> {
        Pid::from_raw(child.id().cast_signed()).map(Self::new)
    }

    pub(crate) fn id(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    /// Readable as soon as the process has ended; `None` if the system has no such thing, such as Linux
    /// before 5.3.
    pub(crate) fn end(&self) -> Option<OwnedFd> {
        rustix::process::pidfd_open(self.pid, PidfdFlags::empty()).ok()
    }

    /// Returns how it has ended, if it has.
    pub(crate) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_with(WaitOptions::NOHANG)
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            if let Some(status) = self.wait_with(WaitOptions::empty())? {
                return Ok(status);
            }
        }
    }

    fn wait_with(&mut self, options: WaitOptions) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            let wait = || rustix::process::waitpid(Some(self.pid), options);
            let ended = rustix::io::retry_on_intr(wait)?;
            self.status = ended.map(|(_, status)| ExitStatus::from_raw(status.as_raw()));
        }
        Ok(self.status)
    }

    /// Ends it and all processes of its session.
    pub(crate) fn kill(&self) {
        // It may not yet have a group of its own, or may be gone.
        let _ = rustix::process::kill_process_group(self.pid, Signal::KILL);
        if self.status.is_none() {
            let _ = rustix::process::kill_process(self.pid, Signal::KILL);
        }
    }
}

/// Role of this process as a worker; `None` if it is none.
pub(crate) fn role() -> Option<String> {
    let (role, parent) = order()?;
    // The parent of a worker may be dead already. A program that an FMU starts inherits the variable,
    // but not the channel.
    let is_child = rustix::process::getppid() == Some(parent);
    (is_child || is_socket(rustix::stdio::stdin())).then_some(role)
}

/// The role that the environment gives, and the process that gave it.
fn order() -> Option<(String, Pid)> {
    let value = std::env::var(VARIABLE).ok()?;
    let (role, parent) = value.split_once(' ')?;
    Some((role.to_owned(), Pid::from_raw(parent.parse().ok()?)?))
}

fn is_socket(descriptor: BorrowedFd<'_>) -> bool {
    let domain = rustix::net::sockopt::socket_domain(descriptor);
    domain.is_ok_and(|domain| domain == rustix::net::AddressFamily::UNIX)
}

/// Makes a worker of this process, which [`spawn`] has started.
///
/// # Errors
/// As [`begin_as_copy`].
pub(crate) fn begin() -> io::Result<Channel> {
    begin_with(order().map(|(_, parent)| parent), rustix::stdio::stdin())
}

/// Makes a worker of this process, which `parent` has [copied](fork). The worker dies with its parent and does not get
/// the signals of the terminal. The channel to the parent is moved out of the way of FMUs.
///
/// # Errors
/// Errors of the operating system, or that the parent is dead already.
pub(crate) fn begin_as_copy(parent: Pid, channel: &Channel) -> io::Result<Channel> {
    begin_with(Some(parent), channel.as_fd())
}

fn begin_with(parent: Option<Pid>, socket: BorrowedFd<'_>) -> io::Result<Channel> {
    raise_descriptor_limit();
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have died before.
    if parent.is_none() || parent != rustix::process::getppid() {
        return Err(io::Error::other("the parent process has ended"));
    }
    // A session of its own: Ctrl-C and a closed terminal are the parent's to handle, and the
    // parent can end all processes that FMUs have started.
    rustix::process::setsid()?;
    signals::leave_ending_to_parent();
    let channel = Channel::new(private(socket)?);
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

/// A copy of a descriptor that FMUs do not close by accident.
///
/// # Errors
/// Errors of the operating system.
pub(crate) fn private(descriptor: impl std::os::fd::AsFd) -> io::Result<OwnedFd> {
    let copy = rustix::io::fcntl_dupfd_cloexec(descriptor, PRIVATE_DESCRIPTORS)?;
    Ok(copy)
}

/// Most descriptors that are asked for. Some programs close every descriptor that they could have, one by one.
const MOST_DESCRIPTORS: u64 = 1 << 20;

/// Lets this process open as many files as the system allows it to, without a change of the hard limit: FMUs may
/// keep files open. Does nothing if the system refuses.
pub fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(MOST_DESCRIPTORS, |hard| hard.min(MOST_DESCRIPTORS));
    if current.is_some_and(|current| current < wanted) {
        let current = Some(wanted);
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    }
}

/// Gives the calling thread its own working directory and mask of file rights, which equal the process's
/// until it changes them.
///
/// # Errors
/// If the system does not allow it, as in some containers.
pub(crate) fn leave_shared_directory() -> io::Result<()> {
    // SAFETY: descriptors stay shared; no code relies on another thread to change this one's working directory.
    unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::FS) }?;
    Ok(())
}

/// The remedy for an error of the operating system, to stand behind it.
pub(crate) fn advice(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::EMFILE) => "; raise the limit on open files (ulimit -n)",
        _ => "",
    }
}
