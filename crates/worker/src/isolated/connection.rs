//! The run's side of a worker: starting it, talking to it, and reporting how it ended.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use gyrator_fmu::flight_recorder::Slot;
use gyrator_fmu::leftovers;
use rustix::process::{Pid, Signal};

use super::bytes::{Malformed, Put as _};
use super::host::CANNOT_GO_ON;
use super::link::{Host, Link, Loss, LossCause, NotStarted};
use super::mailbox::{Mailbox, MailboxError, Side};
use super::reply::{Head, RequestOutcome};
use super::request::Request;
use super::wait_policy::{Spinning, WaitPolicy};
use super::{ROLE, layout, log_lines};
use crate::board::Crash;
use crate::channel::Channel;
use crate::death::{Cause, UNSEEN, is_unseen};
use crate::process;
use crate::shared_memory::SharedMemory;

/// A worker that owes an answer and is in no call for so long will not give it, if calls have
/// less time than this. It may be unpacking an archive, or wait for a core.
const IDLE: Duration = Duration::from_secs(60);

/// How long an instance may take to be freed if calls may take for ever.
const FREE_TIMEOUT: Duration = Duration::from_secs(10);

/// How a worker is started and talked to.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// Arguments of the worker's command line, which it does not read.
    pub(super) arguments: Vec<OsString>,
    /// `None`: the directory of the first thread of this process.
    pub(super) directory: Option<WorkingDirectory>,
    /// Longest time for one call of the FMU, as [`CallWatch`] has it; one answer may take many calls.
    /// `None` is for ever.
    pub(super) timeout: Option<Duration>,
    pub(super) spinning: Spinning,
    /// Bytes of memory that the worker may take.
    pub(super) memory_limit: Option<u64>,
    /// Keeps log lines for [`Connection::take_log`] instead of passing them on.
    pub(super) keeps_log: bool,
    /// Becomes true when no reply is wanted any more: the worker is ended.
    pub(super) abandoned: Option<Arc<AtomicBool>>,
}

/// Working directory of a worker.
#[derive(Debug, Clone)]
pub(super) enum WorkingDirectory {
    /// Shared with others.
    OfRun(PathBuf),
    /// Its own, which is made, and removed if it is empty at the end.
    Own(PathBuf),
}

impl WorkingDirectory {
    /// Makes it, if it is the worker's own.
    fn make(&self) -> io::Result<&Path> {
        match self {
            Self::OfRun(path) => Ok(path),
            Self::Own(path) => std::fs::create_dir_all(path).map(|()| &**path),
        }
    }

    /// Removes it, if it is the worker's own and empty.
    fn remove(&self) {
        if let Self::Own(path) = self {
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Starts workers on this machine.
pub(super) struct OwnProcess {
    terms: Terms,
    start: Request,
}

impl OwnProcess {
    /// Workers for the FMU that `start`, their first request, names.
    pub(super) const fn new(terms: Terms, start: Request) -> Self {
        Self { terms, start }
    }
}

impl Host for OwnProcess {
    type Link = Connection;

    fn open(&mut self) -> Result<Connection, NotStarted> {
        let no_process =
            |error| NotStarted::NotReached(format!("it gets no process of its own: {error}"));
        let mut connection = Connection::open(&self.terms).map_err(no_process)?;
        let mut reply = Vec::new();
        let asked = connection.ask(&self.start, &mut reply);
        asked.map_err(NotStarted::Lost)?;
        match Head::read(&reply).map(|head| head.outcome) {
            Ok(RequestOutcome::Done) => Ok(connection),
            Ok(RequestOutcome::NotLoaded(message)) => Err(NotStarted::NotLoaded(message)),
            Ok(RequestOutcome::Failed { fault, .. }) => Err(NotStarted::NotLoaded(fault.message)),
            Err(malformed) => Err(NotStarted::Lost(connection.lose_for(malformed))),
        }
    }
}

/// A worker process that hosts an instance, or is about to.
#[derive(Debug)]
pub(super) struct Connection {
    child: Child,
    directory: Option<WorkingDirectory>,
    mailbox: Mailbox,
    timeout: Option<Duration>,
    /// Last log line that came through.
    last_log: Option<String>,
    abandoned: Option<Arc<AtomicBool>>,
    /// Log lines as they have come, if they are kept.
    kept_log: Option<Vec<u8>>,
    /// The process is gone, and its number may be another one's.
    is_gone: bool,
}

/// Why the answer is missing.
#[derive(Debug)]
enum NoReply {
    Ended(std::process::ExitStatus),
    Timeout(Duration),
    Mailbox(MailboxError),
    Abandoned,
}

impl From<MailboxError> for NoReply {
    fn from(error: MailboxError) -> Self {
        Self::Mailbox(error)
    }
}

impl Connection {
    pub(super) fn open(terms: &Terms) -> io::Result<Self> {
        let memory = SharedMemory::create("gyrator-isolated", layout::LENGTH)?;
        let directory = terms.directory.as_ref();
        let directory = directory.map(WorkingDirectory::make).transpose()?;
        let (mut child, channel) = spawn(terms.arguments.clone(), directory)?;
        if let Some(limit) = terms.memory_limit {
            limit_memory(&child, limit).inspect_err(|_| end(&mut child))?;
        }
        let mut message = Vec::new();
        message.long(u64::try_from(terms.spinning.worker.as_nanos()).unwrap_or(u64::MAX));
        let sent = channel.send_first(&message, &[memory.as_fd()]);
        sent.inspect_err(|_| end(&mut child))?;
        let wait_policy = WaitPolicy::new(terms.spinning.run);
        Ok(Self {
            child,
            directory: terms.directory.clone(),
            mailbox: Mailbox::new(Arc::new(memory), Side::Run, wait_policy)?,
            timeout: terms.timeout,
            last_log: None,
            abandoned: terms.abandoned.clone(),
            kept_log: terms.keeps_log.then(Vec::new),
            is_gone: false,
        })
    }

    /// Whether the reply has come, after a short while in which it may.
    pub(super) fn has_reply(&mut self) -> bool {
        self.mailbox.spin()
    }

    /// The memory that the worker shares.
    pub(super) fn memory(&self) -> &Arc<SharedMemory> {
        self.mailbox.memory()
    }

    /// Takes the log lines that were kept.
    pub(super) fn take_log(&mut self) -> Vec<u8> {
        self.kept_log
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    #[inline]
    fn post_within(
        &mut self,
        timeout: Option<Duration>,
        request: &Request,
    ) -> Result<(), Box<Loss>> {
        let send = |mailbox: &mut Mailbox, while_quiet: &mut dyn FnMut() -> Result<(), NoReply>| {
            mailbox.send(request.bytes(), &mut || while_quiet())
        };
        let sent = self.exchange(timeout, send);
        sent.map_err(|silence| self.lose(&silence))
    }

    #[inline]
    fn receive_within(
        &mut self,
        timeout: Option<Duration>,
        request: &Request,
        reply: &mut Vec<u8>,
    ) -> Result<(), Box<Loss>> {
        let longest = request.longest_answer();
        let receive = |mailbox: &mut Mailbox,
                       while_quiet: &mut dyn FnMut() -> Result<(), NoReply>| {
            mailbox.receive(reply, longest, &mut || while_quiet())
        };
        let received = self.exchange(timeout, receive);
        if log_lines::has_come(self.mailbox.memory(), layout::LOG) {
            self.pass_log_on();
        }
        received.map_err(|silence| self.lose(&silence))
    }

    /// Sends or receives, and looks at the worker while nothing comes.
    #[inline]
    fn exchange(
        &mut self,
        timeout: Option<Duration>,
        act: impl FnOnce(&mut Mailbox, &mut dyn FnMut() -> Result<(), NoReply>) -> Result<(), NoReply>,
    ) -> Result<(), NoReply> {
        let (child, memory) = (&mut self.child, Arc::clone(self.mailbox.memory()));
        let abandoned = &self.abandoned;
        // The clock is not looked at before anything takes long.
        let mut watch = None;
        let mut while_quiet = || {
            let watch = watch.get_or_insert_with(|| CallWatch::begin(&memory));
            if let Ok(Some(status)) = child.try_wait() {
                return Err(NoReply::Ended(status));
            }
            if abandoned.as_ref().is_some_and(|flag| flag.load(Relaxed)) {
                return Err(NoReply::Abandoned);
            }
            match timeout.filter(|timeout| watch.is_longer_than(*timeout, &memory)) {
                Some(timeout) => Err(NoReply::Timeout(timeout)),
                None => Ok(()),
            }
        };
        act(&mut self.mailbox, &mut while_quiet)
    }

    #[cold]
    fn pass_log_on(&mut self) {
        let Some(lines) = log_lines::take(self.mailbox.memory(), layout::LOG) else {
            return;
        };
        match &mut self.kept_log {
            Some(kept) => kept.extend_from_slice(&lines),
            None => self.last_log = log_lines::pass_on(&lines).or(self.last_log.take()),
        }
    }

    #[cold]
    fn lose(&mut self, silence: &NoReply) -> Box<Loss> {
        let slots = layout::slots(self.mailbox.memory()).unwrap_or_default();
        let activity = slots
            .iter()
            .filter_map(Slot::read)
            .find_map(|reading| reading.activity);
        let cause = match silence {
            NoReply::Ended(status)
                if activity.is_none() && status.code() == Some(CANNOT_GO_ON.into()) =>
            {
                LossCause::CannotGoOn
            }
            NoReply::Ended(status) => LossCause::Death(self.cause_of(*status)),
            NoReply::Timeout(timeout) => LossCause::Death(Cause::Timeout(*timeout)),
            NoReply::Mailbox(error) => LossCause::Nonsense(error.to_string()),
            NoReply::Abandoned => LossCause::Nonsense("its run has ended".to_owned()),
        };
        self.kill();
        self.pass_log_on();
        let crash = layout::crash(self.mailbox.memory()).ok();
        Box::new(Loss {
            is_other_thread: crash.is_some_and(Crash::is_in_other_thread),
            place: crash.and_then(|crash| place(crash, silence)),
            cause,
            activity,
            log: self.last_log.take(),
        })
    }

    fn cause_of(&self, status: std::process::ExitStatus) -> Cause {
        let crash = layout::crash(self.mailbox.memory());
        let is_stack_overflow = crash.is_ok_and(|crash| crash.is_overflow.load(Acquire) != 0);
        match (status.signal(), status.code()) {
            (Some(number), _) => Cause::Signal {
                number,
                is_stack_overflow,
            },
            (None, code) => Cause::Exit {
                code: code.unwrap_or(0),
            },
        }
    }

    /// Ends the process and all that it has started, and removes what it has unpacked.
    fn kill(&mut self) {
        if std::mem::replace(&mut self.is_gone, true) {
            return;
        }
        let process = self.child.id();
        // It may not yet have a group of its own, or may be gone.
        if let Some(group) = Pid::from_raw(process.cast_signed()) {
            let _ = rustix::process::kill_process_group(group, Signal::KILL);
        }
        let _ = self.child.kill();
        // Also if it was waited for before.
        let _ = self.child.wait();
        leftovers::remove_of(process);
        if let Some(directory) = &self.directory {
            directory.remove();
        }
    }
}

impl Link for Connection {
    #[inline]
    fn post(&mut self, request: &Request) -> Result<(), Box<Loss>> {
        self.post_within(self.timeout, request)
    }

    #[inline]
    fn receive(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        self.receive_within(self.timeout, request, reply)
    }

    fn send_last(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        let timeout = Some(self.timeout.unwrap_or(FREE_TIMEOUT));
        self.post_within(timeout, request)?;
        self.receive_within(timeout, request, reply)
    }

    #[cold]
    fn lose_for(&mut self, malformed: Malformed) -> Box<Loss> {
        self.lose(&NoReply::Mailbox(malformed.into()))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Ends a worker that has got no message; it may have ended by itself.
fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Refuses a worker memory beyond so many bytes: what it asks for and not what it shares (`RLIMIT_DATA`).
fn limit_memory(child: &Child, limit: u64) -> io::Result<()> {
    let limit = rustix::process::Rlimit {
        current: Some(limit),
        maximum: Some(limit),
    };
    let process = Pid::from_raw(child.id().cast_signed());
    rustix::process::prlimit(process, rustix::process::Resource::Data, limit)?;
    Ok(())
}

fn place(crash: &Crash, silence: &NoReply) -> Option<String> {
    let is_unseen = || matches!(silence, NoReply::Ended(status) if is_unseen(*status, crash));
    let library = crash.library().map(|library| format!("in {library}"));
    library.or_else(|| is_unseen().then(|| UNSEEN.to_owned()))
}

/// How long a worker has been in the same call.
struct CallWatch {
    since: Instant,
    doing: (u64, bool),
}

impl CallWatch {
    fn begin(memory: &SharedMemory) -> Self {
        Self {
            since: Instant::now(),
            doing: doing(memory),
        }
    }

    /// Looks again. Between two calls, and before the first one, a worker may wait for a core.
    fn is_longer_than(&mut self, timeout: Duration, memory: &SharedMemory) -> bool {
        let now = doing(memory);
        if now != self.doing {
            *self = Self::begin(memory);
        }
        let timeout = if now.1 { timeout } else { timeout.max(IDLE) };
        self.since.elapsed() >= timeout
    }
}

/// Calls that the worker has made, and whether it is in one.
fn doing(memory: &SharedMemory) -> (u64, bool) {
    let slots = layout::slots(memory).unwrap_or_default();
    let progress = slots.iter().map(Slot::progress);
    progress.fold((0, false), |(sum, is_any), (marker, is_busy)| {
        (sum.wrapping_add(marker), is_any || is_busy)
    })
}

/// An order to start a worker, and the sender for the answer.
type Order = (
    Vec<OsString>,
    Option<PathBuf>,
    mpsc::Sender<io::Result<(Child, Channel)>>,
);

/// Starts a worker. It dies with the thread that has started it, so that thread has to live as long
/// as this process, whichever thread needs the worker.
fn spawn(arguments: Vec<OsString>, directory: Option<&Path>) -> io::Result<(Child, Channel)> {
    static STARTER: OnceLock<Mutex<mpsc::Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        let start = move || {
            for (arguments, directory, answer) in orders {
                let started = process::spawn(ROLE, arguments, directory.as_deref(), false);
                // The receiver of the answer may be gone.
                let _ = answer.send(started);
            }
        };
        // If no thread can be made, the orders find no receiver.
        let _ = std::thread::Builder::new()
            .name("starter".to_owned())
            .spawn(start);
        Mutex::new(sender)
    });
    let no_starter = || io::Error::other("there can be no thread that starts processes");
    let (answer, started) = mpsc::channel();
    let sent = starter
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .send((arguments, directory.map(Path::to_owned), answer));
    sent.map_err(|_| no_starter())?;
    started.recv().map_err(|_| no_starter())?
}
