//! A worker process, as its own code sees it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::panic::AssertUnwindSafe;
use std::sync::{Mutex, OnceLock, PoisonError};

use rustix::process::Pid;

use crate::board::{Board, Phase, Position};
use crate::channel::{Channel, Received};
use crate::descendants::adopt_none;
use crate::equipment::Equipment;
use crate::kept_file::{self, KeptFile, Ring};
use crate::process::{self, Streams};
use crate::{address_space, crash_handler, isolated, leaving};

/// The message that comes with the parent's end of a [connection](Worker::connect); that with a kept file has its name.
pub(crate) const CONNECTION: &[u8] = &[2];

/// The role of a worker that carries out a whole run.
pub(crate) const RUN: &str = "run";

/// Exit code if code of the worker itself has panicked, as Rust has it.
pub(crate) const PANICKED: u8 = 101;

/// Exit code of a worker that could not begin; no FMU is to blame.
pub(crate) const NOT_STARTED: u8 = 1;

static CURRENT: OnceLock<Worker> = OnceLock::new();

/// The worker that this process is.
pub struct Worker {
    board: Board,
    channel: Channel,
    streams: Streams,
    job: Vec<u8>,
    for_parent: File,
    /// Memory for the rows of the one result that can be kept.
    ring: Mutex<Option<Ring>>,
}

/// Makes a program able to run workers: to be called first thing in `main`.
///
/// In a process that a [`Supervisor`](crate::Supervisor) has started, calls `main` and ends the
/// process with the exit code that it returns. One that hosts an [isolated](crate::isolated)
/// component does that, without calling `main`. In any other it does nothing.
///
/// ```no_run
/// # #[cfg(target_os = "linux")] {
/// gyrator_worker::hook(|worker| {
///     println!("to do: {:?}", worker.job());
///     0
/// });
/// // The program's own work.
/// # }
/// ```
pub fn hook(main: impl FnOnce(&'static Worker) -> u8) {
    isolated::serve_if_asked();
    if process::role().as_deref() == Some(RUN) {
        let worker = match Worker::begin() {
            Ok(worker) => worker,
            Err(error) => cannot_start(&error),
        };
        worker.carry_out(main);
    }
}

/// Calls `main` and returns its exit code, or, in a process that became a worker in it
/// ([`Supervisor::fork`](crate::Supervisor::fork)), ends the process with it.
pub fn end_if_worker(main: impl FnOnce() -> u8) -> u8 {
    let outcome = std::panic::catch_unwind(AssertUnwindSafe(main));
    match (Worker::current(), outcome) {
        (Some(worker), outcome) => worker.leave(outcome.unwrap_or(PANICKED)),
        (None, Ok(code)) => code,
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}

fn cannot_start(error: &io::Error) -> ! {
    eprintln!(
        "error: the worker process cannot start: {error}{}",
        process::advice(error)
    );
    leaving::leave(NOT_STARTED)
}

impl Worker {
    /// The worker that this process is; `None` in other processes.
    pub fn current() -> Option<&'static Self> {
        CURRENT.get()
    }

    fn begin() -> io::Result<&'static Self> {
        let channel = process::begin()?;
        let streams = Streams::take()?;
        let Received::Message(_, files) = channel.receive()? else {
            return Err(io::Error::other("the parent process is silent"));
        };
        let mut files = files.into_iter();
        let mut next = || {
            files
                .next()
                .ok_or_else(|| io::Error::other("the parent process gives too little"))
        };
        let board = Board::attach(next()?)?;
        let ring = Ring::attach(next()?)?;
        let job = read_job(next()?.into())?;
        let for_parent = next()?.into();
        Ok(Self::install(Self {
            board,
            channel,
            streams,
            job,
            for_parent,
            ring: Mutex::new(Some(ring)),
        }))
    }

    /// Makes a worker of this process, a copy of its parent; ends it if that fails.
    pub(crate) fn begin_as_copy(
        parent: Pid,
        channel: &Channel,
        equipment: Equipment,
        job: Vec<u8>,
    ) {
        let begin = || -> io::Result<()> {
            adopt_none();
            Self::install(Self {
                channel: process::begin_as_copy(parent, channel)?,
                streams: Streams::take()?,
                board: equipment.board,
                job,
                for_parent: equipment.for_parent,
                ring: Mutex::new(Some(equipment.ring)),
            });
            Ok(())
        };
        begin().unwrap_or_else(|error| cannot_start(&error));
    }

    /// Records calls and crashes of this process from now on.
    fn install(worker: Self) -> &'static Self {
        let board = worker.board;
        gyrator_fmu::flight_recorder::record_to(board.slots);
        crash_handler::install(&board.header.crash);
        note_panics(board);
        board.enter(Phase::Running, 0);
        CURRENT.get_or_init(|| worker)
    }

    fn carry_out(&'static self, main: impl FnOnce(&'static Self) -> u8) -> ! {
        let outcome = std::panic::catch_unwind(AssertUnwindSafe(|| main(self)));
        self.leave(outcome.unwrap_or(PANICKED))
    }

    fn leave(&self, code: u8) -> ! {
        self.board.enter(Phase::Leaving, code);
        leaving::leave(code)
    }

    /// Job that the parent has given, as bytes.
    #[must_use]
    pub fn job(&self) -> &[u8] {
        &self.job
    }

    /// A file in memory, empty at first, that the parent reads after the end of this process,
    /// whatever ended it.
    #[must_use]
    pub const fn for_parent(&self) -> &File {
        &self.for_parent
    }

    /// The standard output; FMUs cannot write to it.
    #[must_use]
    pub const fn output(&self) -> &File {
        &self.streams.output
    }

    /// The standard error, also after an FMU has closed its own.
    #[must_use]
    pub const fn errors(&self) -> &File {
        &self.streams.errors
    }

    /// Writes a message to the standard error; the parent does if an FMU has closed all
    /// descriptors.
    pub fn say(&self, text: &str) {
        use std::io::Write as _;
        if self.errors().write_all(text.as_bytes()).is_err() {
            self.board.leave_unsaid(text);
        }
    }

    /// Notes a communication point of the run, for messages about a crash after it.
    #[inline]
    pub fn at(&self, position: Position) {
        self.board.at(position);
    }

    /// Says that all results are written and only instances remain to be freed: a crash while that
    /// is done changes nothing but a warning. `code` is the exit code of the run (R-26).
    pub fn results_complete(&self, code: u8) {
        self.board.enter(Phase::Complete, code);
    }

    /// Calls `stop` on a thread of its own when the run is to end at its next communication point.
    ///
    /// # Errors
    /// If there can be no thread.
    pub fn on_stop(&'static self, stop: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let wait = move || {
            self.board.wait_for_stop();
            stop();
        };
        std::thread::Builder::new()
            .name("stop".to_owned())
            .spawn(wait)
            .map(drop)
    }

    /// A connection to the parent, for what [`Supervised::on_connection`](crate::Supervised::on_connection) does
    /// there. The parent takes the first one.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub fn connect(&self) -> io::Result<UnixStream> {
        let (here, there) = UnixStream::pair()?;
        self.channel.send(CONNECTION, &[there.as_fd()])?;
        Ok(process::private(here)?.into())
    }

    /// Lets the rows of a result file survive this process. One file of a run can be kept so; the
    /// result is `None` for a second one, or if the means are missing. `name` is shown
    /// to people.
    #[must_use]
    pub fn keep(&self, file: &File, name: &str) -> Option<KeptFile> {
        let mut ring = self.ring.lock().unwrap_or_else(PoisonError::into_inner);
        let copy = file.try_clone().ok()?;
        let name = &name[..name.floor_char_boundary(crate::channel::MAX_MESSAGE - 1)];
        let ring = ring.take()?;
        let has_places = kept_file::has_places(file);
        let message = [&[u8::from(has_places)], name.as_bytes()].concat();
        self.channel.send(&message, &[file.as_fd()]).ok()?;
        Some(KeptFile::new(copy, ring, &self.board, has_places))
    }
}

fn read_job(mut file: File) -> io::Result<Vec<u8>> {
    use std::io::{Read as _, Seek as _};
    let mut job = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut job)?;
    Ok(job)
}

/// Distinguishes panics of this program from crashes of FMUs.
fn note_panics(board: Board) {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        board.panicked(None);
        usual(panic);
        board.panicked(address_space::met_limit());
    }));
}
