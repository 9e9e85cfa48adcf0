//! The run's side of a worker: starting it, talking to it, and reporting how it ended.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Child;
use std::sync::atomic::Ordering::Acquire;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use gyrator_fmu::flight_recorder::{Activity, Slot};
use gyrator_fmu::leftovers;
use rustix::process::{Pid, Signal};

use super::bytes::{Malformed, Put as _};
use super::host::CANNOT_GO_ON;
use super::mailbox::{Mailbox, MailboxError, Side};
use super::request::Request;
use super::wait_policy::{Spinning, WaitPolicy};
use super::{ROLE, layout, log_lines};
use crate::board::Crash;
use crate::channel::Channel;
use crate::death::{Cause, UNSEEN, is_unseen};
use crate::process;
use crate::shared_memory::SharedMemory;

/// A worker that owes an answer and is in no call for so long will not give it, where calls have
/// less time than that. It may be unpacking an archive, or wait for a core.
const IDLE: Duration = Duration::from_secs(60);

/// How a worker is started and talked to.
#[derive(Debug, Clone)]
pub(super) struct Terms {
    /// Arguments of the worker's command line, which it does not read.
    pub(super) arguments: Vec<OsString>,
    /// Longest time for one call of the FMU, of which an answer may take many, as [`CallWatch`] has it;
    /// `None` is for ever.
    pub(super) timeout: Option<Duration>,
    pub(super) spinning: Spinning,
}

/// A worker process that hosts an instance, or is about to.
#[derive(Debug)]
pub(super) struct Connection {
    child: Child,
    mailbox: Mailbox,
    timeout: Option<Duration>,
    /// Last log line that came through.
    last_log: Option<String>,
    /// The process is gone, and its number may be another one's.
    is_gone: bool,
}

/// The end of a worker before its time.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Loss {
    cause: LossCause,
    /// Activity at that time; `None` between calls.
    activity: Option<Activity>,
    /// Whether another thread than the called one has crashed.
    is_other_thread: bool,
    /// Where the crash was, if it is known.
    pub(super) place: Option<String>,
    /// Its last log line.
    pub(super) log: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
enum LossCause {
    Death(Cause),
    /// It has written why, and the FMU is not to blame.
    CannotGoOn,
    /// It lives, but what it says makes no sense.
    Nonsense(String),
}

impl Loss {
    /// Whether a call did not return in time.
    pub(super) fn is_timeout(&self) -> bool {
        matches!(self.cause, LossCause::Death(Cause::Timeout(_)))
    }

    /// Whether the process could not do its work, whatever the FMU.
    pub(super) fn is_of_process(&self) -> bool {
        self.cause == LossCause::CannotGoOn
    }

    /// Everything about it but the simulated time, in words.
    pub(super) fn sentence(&self) -> String {
        match &self.place {
            Some(place) => format!("{self}, {place}"),
            None => self.to_string(),
        }
    }

    /// The call, such as `fmi2DoStep`.
    pub(super) fn call(&self) -> &'static str {
        self.activity.map_or("its process", Activity::name)
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cause = match &self.cause {
            LossCause::Death(cause) => cause,
            LossCause::Nonsense(text) => return f.write_str(text),
            LossCause::CannotGoOn => return f.write_str("its process cannot go on"),
        };
        write!(f, "{cause}")?;
        if self.is_other_thread {
            f.write_str(" in another thread")?;
        }
        match (self.activity, cause) {
            (None, _) => f.write_str(" between two calls"),
            (Some(activity), Cause::Timeout(_)) => write!(f, " from {}", activity.name()),
            (Some(activity), _) if self.is_other_thread => {
                write!(f, " during {}", activity.name())
            }
            (Some(activity), _) => write!(f, " in {}", activity.name()),
        }
    }
}

/// Why there is no answer.
#[derive(Debug)]
enum Silence {
    Ended(std::process::ExitStatus),
    Timeout(Duration),
    Mailbox(MailboxError),
}

impl From<MailboxError> for Silence {
    fn from(error: MailboxError) -> Self {
        Self::Mailbox(error)
    }
}

impl Connection {
    pub(super) fn open(terms: &Terms) -> io::Result<Self> {
        let memory = SharedMemory::create("gyrator-isolated", layout::LENGTH)?;
        let (mut child, channel) = spawn(terms.arguments.clone())?;
        let mut message = Vec::new();
        message.long(u64::try_from(terms.spinning.worker.as_nanos()).unwrap_or(u64::MAX));
        let sent = channel.send_first(&message, &[memory.as_fd()]);
        sent.inspect_err(|_| {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        })?;
        let wait_policy = WaitPolicy::new(terms.spinning.run);
        Ok(Self {
            child,
            mailbox: Mailbox::new(Arc::new(memory), Side::Run, wait_policy)?,
            timeout: terms.timeout,
            last_log: None,
            is_gone: false,
        })
    }

    /// Sends a request and waits for the reply. After a loss the process is gone.
    #[inline]
    pub(super) fn ask(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        self.ask_within(self.timeout, request, reply)
    }

    /// As [`Self::ask`], with a time of its own.
    pub(super) fn ask_within(
        &mut self,
        timeout: Option<Duration>,
        request: &Request,
        reply: &mut Vec<u8>,
    ) -> Result<(), Box<Loss>> {
        self.post_within(timeout, request)?;
        self.receive_within(timeout, request, reply)
    }

    /// Sends a request whose reply is [received](Self::receive) later. After a loss the process is gone.
    #[inline]
    pub(super) fn post(&mut self, request: &Request) -> Result<(), Box<Loss>> {
        self.post_within(self.timeout, request)
    }

    /// Waits for the reply to a request that was [sent](Self::post). After a loss the process is gone.
    #[inline]
    pub(super) fn receive(
        &mut self,
        request: &Request,
        reply: &mut Vec<u8>,
    ) -> Result<(), Box<Loss>> {
        self.receive_within(self.timeout, request, reply)
    }

    #[inline]
    fn post_within(
        &mut self,
        timeout: Option<Duration>,
        request: &Request,
    ) -> Result<(), Box<Loss>> {
        let send = |mailbox: &mut Mailbox, while_quiet: &mut dyn FnMut() -> Result<(), Silence>| {
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
                       while_quiet: &mut dyn FnMut() -> Result<(), Silence>| {
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
        act: impl FnOnce(&mut Mailbox, &mut dyn FnMut() -> Result<(), Silence>) -> Result<(), Silence>,
    ) -> Result<(), Silence> {
        let (child, memory) = (&mut self.child, Arc::clone(self.mailbox.memory()));
        // The clock is not looked at before anything takes long.
        let mut watch = None;
        let mut while_quiet = || {
            let watch = watch.get_or_insert_with(|| CallWatch::begin(&memory));
            if let Ok(Some(status)) = child.try_wait() {
                return Err(Silence::Ended(status));
            }
            match timeout.filter(|timeout| watch.is_longer_than(*timeout, &memory)) {
                Some(timeout) => Err(Silence::Timeout(timeout)),
                None => Ok(()),
            }
        };
        act(&mut self.mailbox, &mut while_quiet)
    }

    #[cold]
    fn pass_log_on(&mut self) {
        if let Some(last) = log_lines::pass_on(self.mailbox.memory(), layout::LOG) {
            self.last_log = Some(last);
        }
    }

    /// Reports the loss of a worker whose answer makes no sense.
    #[cold]
    pub(super) fn lose_for(&mut self, malformed: Malformed) -> Box<Loss> {
        self.lose(&Silence::Mailbox(malformed.into()))
    }

    #[cold]
    fn lose(&mut self, silence: &Silence) -> Box<Loss> {
        let slots = layout::slots(self.mailbox.memory()).unwrap_or_default();
        let activity = slots
            .iter()
            .filter_map(Slot::read)
            .find_map(|reading| reading.activity);
        let cause = match silence {
            Silence::Ended(status)
                if activity.is_none() && status.code() == Some(CANNOT_GO_ON.into()) =>
            {
                LossCause::CannotGoOn
            }
            Silence::Ended(status) => LossCause::Death(self.cause_of(*status)),
            Silence::Timeout(timeout) => LossCause::Death(Cause::Timeout(*timeout)),
            Silence::Mailbox(error) => LossCause::Nonsense(error.to_string()),
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
        // Also where it was waited for before.
        let _ = self.child.wait();
        leftovers::remove_of(process);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.kill();
    }
}

fn place(crash: &Crash, silence: &Silence) -> Option<String> {
    let is_unseen = || matches!(silence, Silence::Ended(status) if is_unseen(*status, crash));
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

/// An order to start a worker, and where to send it.
type Order = (Vec<OsString>, mpsc::Sender<io::Result<(Child, Channel)>>);

/// Starts a worker. It dies with the thread that has started it, so that thread has to live as long
/// as this process, whichever thread needs the worker.
fn spawn(arguments: Vec<OsString>) -> io::Result<(Child, Channel)> {
    static STARTER: OnceLock<Mutex<mpsc::Sender<Order>>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, orders) = mpsc::channel::<Order>();
        let start = move || {
            for (arguments, answer) in orders {
                // The receiver of the answer may be gone.
                let _ = answer.send(process::spawn(ROLE, arguments, false));
            }
        };
        // Where there can be no thread, the orders find no receiver.
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
        .send((arguments, answer));
    sent.map_err(|_| no_starter())?;
    started.recv().map_err(|_| no_starter())?
}
