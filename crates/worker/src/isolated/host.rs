//! The worker's side: hosts one instance and does what it is asked.

use std::convert::Infallible;
use std::ffi::OsStr;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{FmuUnit, Handle, Period, SavedState, UnitResult, VariableType};
use gyrator::{Unit, Value};
use gyrator_fmu::{Fmu, Limits, OpenOptions};

use super::bytes::{Cursor, Malformed};
use super::log_lines::Writer;
use super::mailbox::{Mailbox, MailboxError, Side};
use super::reply::Reply;
use super::request::{CompilerOf, Operation, Rare, Start};
use super::wait_policy::WaitPolicy;
use super::{ROLE, layout};
use crate::channel::Received;
use crate::process::{self, Streams};
use crate::shared_memory::SharedMemory;
use crate::{crash_handler, leaving};

/// Exit code of a process that has written why it cannot continue: `EX_OSERR` of `sysexits.h`. An FMU is
/// not likely to leave with it between two calls.
pub(super) const CANNOT_GO_ON: u8 = 71;

/// States that an instance may have saved at a time.
const MOST_STATES: usize = 1 << 16;

/// In a process that was started to host a component, does that and never returns.
pub(crate) fn serve_if_asked() {
    if process::role().as_deref() != Some(ROLE) {
        return;
    }
    let Err(error) = serve();
    let advice = match &error {
        MailboxError::System(error) => process::advice(error),
        _ => "",
    };
    eprintln!("error: the process of an isolated component cannot go on: {error}{advice}");
    leaving::leave(CANNOT_GO_ON);
}

fn serve() -> Result<Infallible, MailboxError> {
    let channel = process::begin()?;
    // Output of the FMU goes to the standard error.
    let _streams = Streams::take()?;
    let Received::Message(message, files) = channel.receive()? else {
        return Err(io::Error::other("the run is silent").into());
    };
    let [file] = <[_; 1]>::try_from(files).map_err(|_| Malformed)?;
    let wait_policy = Cursor::new(&message).long()?;
    let wait_policy = WaitPolicy::new(Duration::from_nanos(wait_policy));
    // For notes that are made until the process ends.
    let lasting = SharedMemory::attach(file.as_fd().try_clone_to_owned()?)?.leak();
    gyrator_fmu::flight_recorder::record_to(layout::slots(lasting)?);
    crash_handler::install(layout::crash(lasting)?);
    let memory = Arc::new(SharedMemory::attach(file)?);
    let log = Writer::new(Arc::clone(&memory), layout::LOG);
    // No other subscriber is set: this is the first thing that the process does.
    let _ = tracing::subscriber::set_global_default(log);
    let mut mailbox = Mailbox::new(memory, Side::Worker, wait_policy)?;
    let mut host = Host::default();
    let mut request = Vec::new();
    // The run ends this process when it needs it no more, and it dies with the run.
    let mut while_quiet = || Ok::<_, MailboxError>(());
    loop {
        mailbox.receive(&mut request, usize::MAX, &mut while_quiet)?;
        host.answer(&request);
        mailbox.send(host.reply.bytes(), &mut while_quiet)?;
    }
}

/// The run has opened the FMU before, with the user's limits.
const UNLIMITED: Limits = Limits {
    entries: u64::MAX,
    total_size: u64::MAX,
    description_size: u64::MAX,
    ratio: u64::MAX,
    ratio_from: u64::MAX,
    depth: u64::MAX,
    free_space: 0,
};

/// The hosted instance with its states, and memory that is used again for each message.
#[derive(Default)]
struct Host {
    unit: Option<FmuUnit>,
    states: Vec<Option<SavedState>>,
    reply: Reply,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    handles: Vec<Handle>,
    others: Vec<Handle>,
    orders: Vec<i32>,
    reals: Vec<f64>,
    results: Vec<f64>,
    text: Option<Value>,
}

/// Why an operation was not made.
enum Refusal {
    NotLoaded(String),
    Fault(Box<UnitFault>),
}

impl From<Box<UnitFault>> for Refusal {
    fn from(fault: Box<UnitFault>) -> Self {
        Self::Fault(fault)
    }
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self::Fault(UnitFault::new(
            "a message",
            Cause::Error,
            malformed.to_string(),
        ))
    }
}

impl Host {
    /// Makes the operations of a message, until one fails, and writes the answer.
    fn answer(&mut self, request: &[u8]) {
        self.reply.clear();
        let mut cursor = Cursor::new(request);
        let mut index = 0;
        while !cursor.is_at_end() {
            let made = match Operation::take(&mut cursor) {
                Ok(operation) => self.make(&operation),
                Err(malformed) => Err(malformed.into()),
            };
            match made {
                Ok(()) => index += 1,
                Err(Refusal::Fault(fault)) => {
                    return self.reply.failed(index, &fault, self.warnings());
                }
                Err(Refusal::NotLoaded(message)) => return self.reply.not_loaded(&message),
            }
        }
        self.reply.done(self.warnings());
    }

    fn warnings(&self) -> u64 {
        self.unit.as_ref().map_or(0, Unit::warnings)
    }

    #[inline]
    fn make(&mut self, operation: &Operation<'_>) -> Result<(), Refusal> {
        if let Operation::Rare(Rare::Start(start)) = operation {
            self.unit = Some(load(start).map_err(Refusal::NotLoaded)?);
            return Ok(());
        }
        let Some(unit) = &mut self.unit else {
            return Err(UnitFault::new("a call", Cause::Error, "no FMU was loaded").into());
        };
        let (scratch, reply) = (&mut self.scratch, &mut self.reply);
        match operation {
            Operation::SetReals { handles, values } => {
                handles.words(&mut scratch.handles);
                values.reals(&mut scratch.reals);
                unit.set_reals(&scratch.handles, &scratch.reals)?;
            }
            Operation::Step { time, step } => reply.stepped(unit.step(*time, *step)?),
            Operation::GetReals { handles } => {
                handles.words(&mut scratch.handles);
                scratch.results.clear();
                scratch.results.resize(handles.len(), 0.0);
                unit.get_reals(&scratch.handles, &mut scratch.results)?;
                reply.reals(&scratch.results);
            }
            Operation::Rare(Rare::Leave) => {
                self.states.clear();
                self.unit = None;
            }
            Operation::Rare(rare) => make_rare(unit, rare, &mut self.states, reply)?,
            other => make_other(unit, other, scratch, reply)?,
        }
        Ok(())
    }
}

/// Loads the FMU into this process.
fn load(start: &Start<'_>) -> Result<FmuUnit, String> {
    let options = OpenOptions {
        preload: start.preload.iter().map(ToString::to_string).collect(),
        library_path: start
            .library_path
            .iter()
            .map(|path| path_of(path))
            .collect(),
        limits: UNLIMITED,
        cache: start.cache.map(path_of),
        compiler: start.compiler.as_ref().map(CompilerOf::compiler),
    };
    let fmu = Fmu::open_with(&path_of(start.fmu), &options).map_err(|error| error.to_string())?;
    FmuUnit::new(&fmu, start.name, start.logging).map_err(|error| error.to_string())
}

fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

fn make_other(
    unit: &mut FmuUnit,
    operation: &Operation<'_>,
    scratch: &mut Scratch,
    reply: &mut Reply,
) -> Result<(), Refusal> {
    match operation {
        Operation::SetValue { handle, value } => {
            let room = scratch
                .text
                .get_or_insert_with(|| Value::String(String::new()));
            value.read(room)?;
            unit.set_value(*handle, room)?;
        }
        Operation::GetValue { handle, kind } => {
            let room = scratch
                .text
                .get_or_insert_with(|| Value::String(String::new()));
            prepare(room, *kind);
            unit.get_value(*handle, room)?;
            reply.value(room);
        }
        Operation::SetInputDerivatives {
            handles,
            orders,
            values,
        } => {
            handles.words(&mut scratch.handles);
            orders.integers(&mut scratch.orders);
            values.reals(&mut scratch.reals);
            unit.set_input_derivatives(&scratch.handles, &scratch.orders, &scratch.reals)?;
        }
        Operation::OutputDerivatives { handles, orders } => {
            handles.words(&mut scratch.handles);
            orders.integers(&mut scratch.orders);
            scratch.results.clear();
            scratch.results.resize(handles.len(), 0.0);
            unit.output_derivatives(&scratch.handles, &scratch.orders, &mut scratch.results)?;
            reply.reals(&scratch.results);
        }
        Operation::DirectionalDerivative {
            unknowns,
            knowns,
            seed,
        } => {
            unknowns.words(&mut scratch.handles);
            knowns.words(&mut scratch.others);
            seed.reals(&mut scratch.reals);
            scratch.results.clear();
            scratch.results.resize(unknowns.len(), 0.0);
            unit.directional_derivative(
                &scratch.handles,
                &scratch.others,
                &scratch.reals,
                &mut scratch.results,
            )?;
            reply.reals(&scratch.results);
        }
        // The others are made elsewhere.
        _ => return Err(Malformed.into()),
    }
    Ok(())
}

/// A value of this kind to read into; texts are used again.
fn prepare(room: &mut Value, kind: VariableType) {
    match (kind.carrier(), room) {
        (VariableType::Real, room) => *room = Value::Real(0.0),
        (VariableType::Boolean, room) => *room = Value::Boolean(false),
        (VariableType::String, Value::String(_)) => {}
        (VariableType::String, room) => *room = Value::String(String::new()),
        (VariableType::Integer | VariableType::Enumeration, room) => *room = Value::Integer(0),
    }
}

fn make_rare(
    unit: &mut FmuUnit,
    operation: &Rare<'_>,
    states: &mut Vec<Option<SavedState>>,
    reply: &mut Reply,
) -> UnitResult {
    match operation {
        Rare::SetupExperiment(start, stop, tolerance) => unit.setup_experiment(&Period {
            start: *start,
            stop: *stop,
            tolerance: *tolerance,
        })?,
        Rare::EnterInitializationMode => unit.enter_initialization_mode()?,
        Rare::ExitInitializationMode => unit.exit_initialization_mode()?,
        Rare::Terminate => unit.terminate()?,
        Rare::Save(number) => {
            let number = *number as usize;
            if number >= MOST_STATES {
                let message = format!("{number} states are too many");
                return Err(UnitFault::new("fmi2GetFMUstate", Cause::Error, message));
            }
            if states.len() <= number {
                states.resize_with(number + 1, || None);
            }
            let previous = states[number].take();
            states[number] = Some(unit.save(previous)?);
        }
        Rare::Restore(number) => match states.get(*number as usize) {
            Some(Some(state)) => unit.restore(state)?,
            _ => {
                let message = "there is no such state";
                return Err(UnitFault::new("fmi2SetFMUstate", Cause::Error, message));
            }
        },
        Rare::Serialize => {
            let bytes = unit.serialize()?;
            reply.state(&bytes);
        }
        Rare::Deserialize(bytes) => unit.deserialize(bytes)?,
        // These are made elsewhere.
        Rare::Start(_) | Rare::Leave => {}
    }
    Ok(())
}
