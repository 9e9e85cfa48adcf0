//! The parent of a supervised run: starts the worker, watches it, and keeps what it leaves.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gyrator_fmu::leftovers;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::board::{Board, Phase};
use crate::channel::{Channel, Received};
use crate::death::{Cause, Death};
use crate::descendants::{Watched, end_orphans};
use crate::equipment::Equipment;
use crate::kept_file::{self, Ring};
use crate::memory_watch::MemoryWatch;
use crate::process::{self, WorkerProcess};
use crate::stall::Stalls;
use crate::worker::{CONNECTION, NOT_STARTED, PANICKED, RUN, Worker};

/// How often the worker is looked at.
const INTERVAL: Duration = Duration::from_millis(20);

/// The same if the system does not report the end of a process.
const SHORT_INTERVAL: Duration = Duration::from_millis(1);

/// Longest time that a call may continue after the user has interrupted the run, and that a worker may
/// take to leave when all is done.
pub const GRACE: Duration = Duration::from_secs(3);

/// Longest time that an interrupted run may take after its last step, outside calls of FMUs: to
/// write results and to make a Parquet file of them.
const LONGEST_END: Duration = Duration::from_secs(60);

/// Least time for reading or unpacking an archive, which depends on its size and on what else the
/// machine does. It does not count as a call of the FMU, and other limits end what is made to be endless.
const LEAST_UNPACKING: Duration = Duration::from_secs(60);

/// The wish that a run ends, shared with a signal handler, for example.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicU32>);

impl Stop {
    /// Asks the run to end at its next communication point; the second time, at once.
    /// Returns how often it was asked before.
    pub fn request(&self) -> u32 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn requests(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs a job in a worker process that may crash, hang or leave.
///
/// The program has to call [`hook`](crate::hook) first thing in its `main`, because the worker is
/// this program once more.
///
/// ```no_run
/// # #[cfg(target_os = "linux")] {
/// use gyrator_worker::{WorkerOutcome, Stop, Supervisor};
/// gyrator_worker::hook(|worker| worker.job().len() as u8);
/// let ending = Supervisor::new().job(b"abc").supervise(&Stop::default()).unwrap();
/// match ending.outcome {
///     WorkerOutcome::Finished(code) => assert_eq!(code, 3),
///     WorkerOutcome::Died(death) => eprintln!("{death}"),
/// }
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Supervisor {
    job: Vec<u8>,
    arguments: Vec<OsString>,
    timeout: Option<Duration>,
    memory_limit: Option<u64>,
    is_quiet: bool,
    /// This process makes a run of its own meanwhile.
    is_beside: bool,
}

/// How a worker ended.
#[derive(Debug)]
pub struct WorkerEnd {
    /// By itself, or not.
    pub outcome: WorkerOutcome,
    /// False if it could not do its work at all, and has written the reason.
    pub has_begun: bool,
    /// The result file that it had asked to be kept ([`Worker::keep`](crate::Worker::keep)).
    pub results: Option<KeptResults>,
    /// Failures that leave the results unharmed.
    pub warnings: Vec<String>,
    /// Text that it could not write itself, because an FMU has closed its standard error.
    pub unsaid: Option<String>,
    /// The bytes that it has written to [`Worker::for_parent`](crate::Worker::for_parent).
    pub for_parent: File,
}

/// How a worker ended.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerOutcome {
    /// It did all it had to do, with this exit code.
    Finished(u8),
    /// It ended before its time.
    Died(Death),
}

/// A result file after the end of a worker.
#[derive(Debug)]
pub struct KeptResults {
    /// Its name, for people.
    pub name: String,
    /// Whole rows in it.
    pub rows: u64,
    /// Error of writing the last rows after the worker's death.
    pub error: Option<io::Error>,
    /// Bytes that the file should have; `None` if that is not known, and for anything but a file that
    /// was written from its beginning.
    pub length: Option<u64>,
    /// The file, also if its folder names it no more.
    pub file: File,
}

impl Supervisor {
    /// A supervisor without limits.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the bytes that the worker reads as [`Worker::job`](crate::Worker::job).
    #[must_use]
    pub fn job(mut self, job: &[u8]) -> Self {
        job.clone_into(&mut self.job);
        self
    }

    /// Arguments of the worker's command line.
    #[must_use]
    pub fn arguments(mut self, arguments: impl IntoIterator<Item = OsString>) -> Self {
        self.arguments.extend(arguments);
        self
    }

    /// Longest time that one call of an FMU may take, or loading its library; reading and unpacking
    /// its archive may take a minute if that is longer. `None`: for ever.
    #[must_use]
    pub const fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Most memory that the worker may use, bytes.
    #[must_use]
    pub const fn memory_limit(mut self, limit: Option<u64>) -> Self {
        self.memory_limit = limit;
        self
    }

    /// Throws away all that the worker and its FMUs print; has no effect on [`fork`](Self::fork).
    #[must_use]
    pub const fn quiet(mut self) -> Self {
        self.is_quiet = true;
        self
    }

    /// Leaves the children of this process alone when the worker has ended: they may belong to a run of its own.
    #[must_use]
    pub const fn beside(mut self) -> Self {
        self.is_beside = true;
        self
    }

    /// Starts the worker and waits for its end.
    ///
    /// # Errors
    /// If there can be no worker: the error of the operating system.
    pub fn supervise(self, stop: &Stop) -> io::Result<WorkerEnd> {
        self.start()?.wait(stop)
    }

    /// Starts the worker, which dies when the calling thread ends.
    ///
    /// # Errors
    /// If there can be no worker: the error of the operating system.
    pub fn start(self) -> io::Result<Supervised> {
        // First of all: until the worker asks for what it needs, it is made.
        let start = || {
            let (child, channel) =
                process::spawn(RUN, self.arguments.clone(), None, self.is_quiet)?;
            let process = WorkerProcess::of(&child).ok_or(io::ErrorKind::NotFound)?;
            Ok((process, channel))
        };
        let (mut process, channel, watched) = Watched::spawn(start)?;
        let equip = || {
            let equipment = Equipment::make(&self.job)?;
            channel.send_first(b"run", &equipment.files())?;
            Ok::<_, io::Error>(equipment)
        };
        let equipment = equip().inspect_err(|_| {
            // It may have ended by itself.
            process.kill();
            let _ = process.wait();
        })?;
        Ok(self.watch((process, watched), channel, equipment))
    }

    /// Starts the worker as a copy of this process, which takes less time than a new start of the program. Returns
    /// `None` in the worker; [`Worker::current`] returns the worker there from now on. The worker continues with whatever
    /// follows, and ends in [`end_if_worker`](crate::end_if_worker), which the program has to call around it. If this
    /// process has other threads, starts the program once more, as
    /// [`start`](Self::start) does.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn fork(self) -> io::Result<Option<Supervised>> {
        let equipment = Equipment::make(&self.job)?;
        let (channel, other_end) = Channel::pair()?;
        let parent = rustix::process::getpid();
        let copy = || match process::fork()? {
            Some(process) => Ok((WorkerProcess::new(process), ())),
            // A worker does not need the list of workers, which is locked.
            None => Err(io::ErrorKind::Other.into()),
        };
        let copied = Watched::spawn(copy);
        if rustix::process::getpid() != parent {
            drop(channel);
            Worker::begin_as_copy(parent, &other_end, equipment, self.job);
            return Ok(None);
        }
        match copied {
            Ok((process, (), watched)) => {
                Ok(Some(self.watch((process, watched), channel, equipment)))
            }
            Err(error) if error.kind() == io::ErrorKind::Unsupported => self.start().map(Some),
            Err(error) => Err(error),
        }
    }

    fn watch(
        &self,
        (process, watched): (WorkerProcess, Watched),
        channel: Channel,
        equipment: Equipment,
    ) -> Supervised {
        Supervised {
            board: equipment.board,
            ring: equipment.ring,
            end: process.end(),
            watched: Some(watched),
            ends_orphans: !self.is_beside,
            process,
            channel: Some(channel),
            for_parent: equipment.for_parent,
            results: None,
            connected: None,
            stalls: Stalls::default(),
            memory: MemoryWatch::new(self.memory_limit),
            timeout: self.timeout,
            next_look: Instant::now() + INTERVAL,
        }
    }
}

/// Takes the connection that a worker makes.
type Connected = Box<dyn FnOnce(UnixStream)>;

/// A worker that was started.
pub struct Supervised {
    board: Board,
    ring: Ring,
    process: WorkerProcess,
    watched: Option<Watched>,
    /// Processes that FMUs have left are ended with the worker.
    ends_orphans: bool,
    /// Readable when the worker has ended; `None` if the system has no such thing.
    end: Option<OwnedFd>,
    /// `None` once the worker has closed it.
    channel: Option<Channel>,
    for_parent: File,
    results: Option<Kept>,
    connected: Option<Connected>,
    stalls: Stalls,
    memory: MemoryWatch,
    timeout: Option<Duration>,
    /// When the worker is looked at next.
    next_look: Instant,
}

impl Supervised {
    /// Calls `take` with the [connection](Worker::connect) that the worker makes, if it makes one, on the thread that
    /// [waits](Self::wait). Its messages may come from an FMU.
    #[must_use]
    pub fn on_connection(mut self, take: impl FnOnce(UnixStream) + 'static) -> Self {
        self.connected = Some(Box::new(take));
        self
    }

    /// Watches the worker until its end. Without that it dies when the calling thread ends.
    ///
    /// # Errors
    /// Errors of the operating system; none is to be expected.
    pub fn wait(mut self, stop: &Stop) -> io::Result<WorkerEnd> {
        // While the worker works.
        let sweeper = leftovers::sweep_aside();
        let mut cause = self.memory.at_start();
        let (status, killed) = loop {
            if let Some(cause) = cause {
                let death = Death::new(cause, &self.board);
                self.process.kill();
                break (self.process.wait()?, Some(death));
            }
            self.listen();
            if let Some(status) = self.process.try_wait()? {
                break (status, None);
            }
            if Instant::now() < self.next_look {
                continue;
            }
            self.next_look = Instant::now() + INTERVAL;
            cause = self.reason_to_kill(stop);
        };
        self.drain();
        let interrupted = stop.requests() > 0;
        let (outcome, warnings) = self.judge(status, killed, interrupted);
        // Processes that FMUs have started have no partner any more.
        self.process.kill();
        drop(self.watched.take());
        if self.ends_orphans {
            end_orphans();
        }
        if self.board.phase().0 != Phase::Leaving {
            leftovers::remove_of(self.process.id());
        }
        if let Some(sweeper) = sweeper {
            // It cannot panic, and if it did, the next run would remove the rest.
            let _ = sweeper.join();
        }
        let results = self.results.take();
        let not_begun = WorkerOutcome::Finished(NOT_STARTED);
        Ok(WorkerEnd {
            has_begun: self.board.has_begun() || outcome != not_begun,
            results: results.map(|kept| kept.complete(&self.ring, &self.board)),
            outcome,
            warnings,
            unsaid: self.board.unsaid(),
            for_parent: self.for_parent,
        })
    }

    /// How the worker has ended, and what there is to warn of.
    fn judge(
        &self,
        status: ExitStatus,
        killed: Option<Death>,
        interrupted: bool,
    ) -> (WorkerOutcome, Vec<String>) {
        let mut warnings = self.memory.warnings();
        let (phase, code) = self.board.phase();
        let has_panicked = code == PANICKED && self.board.has_panicked();
        let is_left = status.code() == Some(code.into());
        if phase == Phase::Leaving && !has_panicked && (is_left || killed.is_some()) {
            return (WorkerOutcome::Finished(code), warnings);
        }
        if !self.board.has_begun() && status.code() == Some(NOT_STARTED.into()) {
            // It has written the reason.
            return (WorkerOutcome::Finished(NOT_STARTED), warnings);
        }
        let mut death = killed.unwrap_or_else(|| Death::of_status(status, &self.board));
        if interrupted && death.cause.is_wish_to_end() {
            // The signal went to all processes, and an FMU has put its own handler in place.
            death.cause = Cause::Interrupted;
        }
        if phase != Phase::Running && !death.cause.is_of_program() {
            warnings.push(format!(
                "{death}, after the last step: the results are complete"
            ));
            return (WorkerOutcome::Finished(code), warnings);
        }
        (WorkerOutcome::Died(death), warnings)
    }

    /// Waits for a message, for the end of the worker, or for the time to look at it.
    fn listen(&mut self) {
        let mut time = self.next_look.saturating_duration_since(Instant::now());
        if self.end.is_none() {
            time = time.min(SHORT_INTERVAL);
        }
        if self.hears_something(time) {
            self.receive();
        }
    }

    /// Waits for at most `time`. True if there is a message, or the channel is closed.
    fn hears_something(&self, time: Duration) -> bool {
        let end = self.end.as_ref().map(AsFd::as_fd);
        let channel = self.channel.as_ref().map(AsFd::as_fd);
        let mut sources: Vec<PollFd<'_>> = [channel, end]
            .into_iter()
            .flatten()
            .map(|source| PollFd::from_borrowed_fd(source, PollFlags::IN))
            .collect();
        let time = Timespec {
            tv_sec: 0,
            tv_nsec: time.subsec_nanos().into(),
        };
        // A signal may cut it short.
        let _ = rustix::event::poll(&mut sources, Some(&time));
        channel.is_some() && !sources[0].revents().is_empty()
    }

    /// Takes a message that has come.
    fn receive(&mut self) {
        let Some(channel) = &self.channel else {
            return;
        };
        match channel.receive() {
            Ok(Received::Message(message, files)) if message == CONNECTION => {
                let file = files.into_iter().next();
                if let Some((take, file)) = self.connected.take().zip(file) {
                    take(file.into());
                }
            }
            Ok(Received::Message(message, files)) => {
                // One file of a run can be kept.
                if self.results.is_none() {
                    self.results = Kept::read(&message, files);
                }
            }
            // It is about to end, if it has not only closed its files.
            Ok(Received::Closed) | Err(_) => self.channel = None,
        }
    }

    /// Reads what the worker has sent before its end.
    fn drain(&mut self) {
        while self.hears_something(Duration::ZERO) {
            self.receive();
        }
    }

    /// Why the worker must not continue.
    fn reason_to_kill(&mut self, stop: &Stop) -> Option<Cause> {
        let requests = stop.requests();
        if requests > 0 {
            self.board.request_stop();
        }
        let (phase, _) = self.board.phase();
        let idle = self.stalls.longest(&self.board, INTERVAL, requests > 0);
        if phase == Phase::Leaving {
            return (idle.leaving > GRACE).then_some(Cause::Timeout(GRACE));
        }
        let wait_policy = match self.board.position() {
            // It may be waiting for a file that no other program writes.
            None => GRACE,
            Some(_) => LONGEST_END,
        };
        if requests > 1 || idle.since_stop > GRACE || idle.outside > wait_policy {
            return Some(Cause::Interrupted);
        }
        if let Some(timeout) = self.timeout {
            let unpacking = timeout.max(LEAST_UNPACKING);
            for (time, limit) in [(idle.call, timeout), (idle.unpacking, unpacking)] {
                if time > limit {
                    return Some(Cause::Timeout(limit));
                }
            }
        }
        self.memory.look(self.process.id(), &self.board)
    }
}

/// A result file that the worker writes, as seen by this process.
struct Kept {
    name: String,
    file: File,
    has_places: bool,
}

impl Kept {
    /// Takes what [`Worker::keep`](crate::Worker::keep) has sent.
    fn read(message: &[u8], files: Vec<OwnedFd>) -> Option<Self> {
        let (has_places, name) = message.split_first()?;
        Some(Self {
            name: String::from_utf8_lossy(name).into_owned(),
            file: files.into_iter().next()?.into(),
            has_places: *has_places == 1,
        })
    }

    fn complete(self, ring: &Ring, board: &Board) -> KeptResults {
        let completed = kept_file::complete(&self.file, ring, board, self.has_places);
        KeptResults {
            name: self.name,
            rows: completed.rows,
            error: completed.error,
            length: completed.length,
            file: self.file,
        }
    }
}
