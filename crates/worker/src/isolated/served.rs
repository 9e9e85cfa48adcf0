//! A process that hosts an FMU for a run on another machine.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gyrator_fmu::OpenOptions;
use gyrator_fmu::flight_recorder::{Activity, Slot};

use super::connection::{Connection, OwnProcess, Terms};
use super::layout;
use super::link::{Host as _, Link as _, Loss, NotStarted};
use super::request::{Rare, Request, Start};
use super::wait_policy::Spinning;
use crate::shared_memory::SharedMemory;

/// The FMU that a process is to host, and its limits.
#[derive(Debug, Clone, Copy)]
pub struct ServedFmu<'a> {
    /// The FMU.
    pub path: &'a Path,
    /// Name of its instance.
    pub component: &'a str,
    /// Whether it logs all that it can.
    pub logging: bool,
    /// How it is opened.
    pub options: &'a OpenOptions,
    /// As [`Isolation::timeout`](super::Isolation::timeout).
    pub timeout: Option<Duration>,
    /// Bytes of memory that the process may take.
    pub memory_limit: Option<u64>,
    /// Components that this machine hosts at a time, with this one.
    pub components: usize,
    /// Becomes true when the run is gone: the process is ended, whatever it does.
    pub abandoned: &'a Arc<AtomicBool>,
}

/// A process that hosts an FMU for a run on another machine. Requests and replies take turns.
pub struct ServedProcess(Connection);

/// Activity of the FMU in a process, seen while a reply is waited for.
pub struct Progress(Arc<SharedMemory>);

impl ServedProcess {
    /// Starts the process and lets it load the FMU.
    ///
    /// # Errors
    /// If there can be no process, or it does not load the FMU.
    pub fn start(fmu: &ServedFmu<'_>) -> Result<Self, NotStarted> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let terms = Terms {
            directory: None,
            arguments: vec!["served".into(), fmu.component.into()],
            timeout: fmu.timeout,
            // A thread beside each process passes its messages on.
            spinning: Spinning::on(cores, fmu.components, fmu.components),
            memory_limit: fmu.memory_limit,
            keeps_log: true,
            abandoned: Some(Arc::clone(fmu.abandoned)),
        };
        let mut request = Request::default();
        let start = Start::new(fmu.path, fmu.component, fmu.logging, fmu.options);
        request.rare(&Rare::Start(start));
        OwnProcess::new(terms, request).open().map(Self)
    }

    /// Sends a request.
    ///
    /// # Errors
    /// If the process is lost.
    pub fn post(&mut self, request: &Request) -> Result<(), Box<Loss>> {
        self.0.post(request)
    }

    /// Whether the reply has come, after a short while in which it may.
    pub fn has_reply(&mut self) -> bool {
        self.0.has_reply()
    }

    /// Waits for the reply.
    ///
    /// # Errors
    /// If the process is lost.
    pub fn receive(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        self.0.receive(request, reply)
    }

    /// Takes the lines that the FMU has logged, for [`pass_log_on`](super::pass_log_on) on the machine of the run.
    pub fn take_log(&mut self) -> Vec<u8> {
        self.0.take_log()
    }

    /// Shows the activity of the FMU.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress(Arc::clone(self.0.memory()))
    }
}

impl Progress {
    /// Calls and returns so far, and the call in which the FMU is.
    #[must_use]
    pub fn read(&self) -> (u64, Option<&'static str>) {
        let slots = layout::slots(&self.0).unwrap_or_default();
        let count = slots.iter().map(|slot| slot.progress().0);
        let calls = slots.iter().filter_map(Slot::read);
        let call = calls.filter_map(|reading| reading.activity).next();
        (count.fold(0, u64::wrapping_add), call.map(Activity::name))
    }
}
