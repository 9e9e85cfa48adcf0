//! An FMU in a process of its own, as a unit.

use std::time::Duration;

use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{Handle, Period, SavedState, StepOutcome, UnitDescription, UnitResult};
use gyrator::{Unit, Value};

use gyrator_fmu::flight_recorder::{Activity, SlotGuard};

use super::bytes::{Cursor, Malformed};
use super::connection::{Connection, Loss, Terms};
use super::journal::Journal;
use super::read_ahead::{Known, ReadAhead};
use super::reply::{Answer, Ending, Head};
use super::request::{Rare, Request};

/// How long an instance may take to be freed where calls may take for ever.
const LONGEST_FAREWELL: Duration = Duration::from_secs(10);

/// An FMU in a process of its own.
///
/// Operations that change the instance are collected and sent with the next call that needs an
/// answer: one message takes the inputs and their derivatives, makes a step, and brings the outputs
/// back. A refused input is therefore reported by the step.
pub(super) struct IsolatedUnit {
    description: Box<UnitDescription>,
    hosted: Hosted,
    /// Operations that are not sent yet.
    queue: Request,
    question: Request,
    reply: Vec<u8>,
    ahead: ReadAhead,
    warnings: u64,
    /// Numbers of saved states that were given out.
    states: u32,
}

/// The worker, and what to do when it is lost.
struct Hosted {
    name: String,
    /// Shows a watching process that this one waits for the worker.
    claim: SlotGuard,
    connection: Connection,
    terms: Terms,
    start: Request,
    journal: Option<Journal>,
    /// Why there is no worker any more.
    lost: Option<Box<UnitFault>>,
}

/// Why a worker does not host the FMU.
pub(super) enum NotStarted {
    /// There can be no process, or the FMU cannot be loaded.
    NotLoaded(String),
    /// The process was lost while it loaded the FMU.
    Lost(Box<Loss>),
}

/// A state that the worker keeps.
struct KeptState(u32);

/// A state as bytes, which outlives the worker.
struct SerializedState(Vec<u8>);

impl IsolatedUnit {
    /// Starts a worker and lets it load the FMU. `start` is the request for that.
    pub(super) fn start(
        name: &str,
        description: UnitDescription,
        start: Request,
        terms: Terms,
        journal: Option<Journal>,
    ) -> Result<Self, NotStarted> {
        let mut reply = Vec::new();
        let claim = SlotGuard::new(name);
        let load = || load(&terms, &start, &mut reply);
        let loaded = claim.slot().during(Activity::OwnProcess, load);
        let connection = loaded?;
        let hosted = Hosted {
            name: name.to_owned(),
            claim,
            connection,
            terms,
            start,
            journal,
            lost: None,
        };
        Ok(Self {
            description: Box::new(description),
            hosted,
            queue: Request::default(),
            question: Request::default(),
            reply,
            ahead: ReadAhead::default(),
            warnings: 0,
            states: 0,
        })
    }

    /// Sends the collected operations. One that has failed is identified by its number.
    #[inline]
    fn send(&mut self) -> UnitResult<Head> {
        self.ahead.drop_answers();
        let head = self.hosted.ask(&self.queue, &mut self.reply);
        let head = match head {
            Ok(head) => head,
            Err(fault) => {
                self.queue.clear();
                return Err(fault);
            }
        };
        self.warnings = head.warnings;
        if head.ending == Ending::Done
            && let Some(journal) = &mut self.hosted.journal
        {
            journal.record(&self.queue);
        }
        self.queue.clear();
        Ok(head)
    }

    /// Sends what was collected, all of which has to succeed.
    fn send_all(&mut self) -> UnitResult<Head> {
        let head = self.send()?;
        match head.ending {
            Ending::Done => Ok(head),
            Ending::Failed { fault, .. } => Err(fault),
            Ending::NotLoaded(_) => Err(self.hosted.nonsense(Malformed)),
        }
    }

    /// Asks the question; its answer lies in these bytes of the reply.
    #[inline]
    fn ask(&mut self) -> UnitResult<std::ops::Range<usize>> {
        if self.queue.is_empty() {
            match self.ahead.look_up(&self.question) {
                Known::Answer(range) => return Ok(range),
                Known::Fault(fault) => return Err(fault),
                Known::Nothing => {}
            }
        }
        self.queue.append(&self.question);
        let head = self.send_all()?;
        Ok(0..head.length)
    }

    /// Asks the question and hands the answer to `accept`.
    #[inline]
    fn inquire(&mut self, accept: impl FnOnce(Answer<'_>) -> Result<(), Malformed>) -> UnitResult {
        let range = self.ask()?;
        let mut cursor = Cursor::new(self.reply.get(range.clone()).unwrap_or_default());
        let accepted = Answer::take(&mut cursor).and_then(accept);
        let end = range.end - cursor.rest().len();
        self.ahead.advance_to(end);
        accepted.map_err(|malformed| self.hosted.nonsense(malformed))
    }

    fn inquire_reals(&mut self, values: &mut [f64]) -> UnitResult {
        self.inquire(|answer| match answer {
            Answer::Reals(reals) if reals.copy_to(values) => Ok(()),
            _ => Err(Malformed),
        })
    }

    /// Begins a question.
    #[inline]
    fn question(&mut self) -> &mut Request {
        self.question.clear();
        &mut self.question
    }

    /// Begins an operation that changes the instance.
    #[inline]
    fn change(&mut self) -> &mut Request {
        self.ahead.forget();
        &mut self.queue
    }

    /// Takes the answer to a step, whose number in the request was `index`, out of the reply.
    fn conclude_step(
        &mut self,
        head: Head,
        index: u32,
        reads: u32,
        with_state: bool,
    ) -> UnitResult<StepOutcome> {
        let fault = match head.ending {
            Ending::Done => None,
            // The journal has none of what was sent, and must not go on without the step.
            Ending::Failed { index: at, fault } if at <= index || self.hosted.journal.is_some() => {
                return Err(fault);
            }
            Ending::Failed { fault, .. } => Some(fault),
            Ending::NotLoaded(_) => return Err(self.hosted.nonsense(Malformed)),
        };
        let mut cursor = Cursor::new(self.reply.get(..head.length).unwrap_or_default());
        let outcome = match Answer::take(&mut cursor) {
            Ok(Answer::Stepped(outcome)) => outcome,
            _ => return Err(self.hosted.nonsense(Malformed)),
        };
        if reads > 0 {
            let begin = head.length - cursor.rest().len();
            self.ahead.answered(begin..head.length, fault);
        }
        if with_state {
            let state = last_state(cursor, reads);
            match (state, &mut self.hosted.journal) {
                (Some(state), Some(journal)) => journal.keep(state),
                _ => return Err(self.hosted.nonsense(Malformed)),
            }
        }
        Ok(outcome)
    }

    /// The present state as bytes, which the journal begins anew from.
    fn state_as_bytes(&mut self) -> UnitResult<Vec<u8>> {
        self.change().rare(&Rare::Serialize);
        let head = self.send_all()?;
        let mut cursor = Cursor::new(self.reply.get(..head.length).unwrap_or_default());
        match (Answer::take(&mut cursor), &mut self.hosted.journal) {
            (Ok(Answer::State(state)), journal) => {
                journal.iter_mut().for_each(|journal| journal.keep(state));
                Ok(state.to_owned())
            }
            _ => Err(self.hosted.nonsense(Malformed)),
        }
    }
}

/// The state that stands after so many other answers.
fn last_state<'a>(mut cursor: Cursor<'a>, skipped: u32) -> Option<&'a [u8]> {
    for _ in 0..skipped {
        Answer::take(&mut cursor).ok()?;
    }
    match Answer::take(&mut cursor) {
        Ok(Answer::State(state)) => Some(state),
        _ => None,
    }
}

/// Starts a worker that hosts the FMU.
fn load(terms: &Terms, start: &Request, reply: &mut Vec<u8>) -> Result<Connection, NotStarted> {
    let no_process =
        |error| NotStarted::NotLoaded(format!("it gets no process of its own: {error}"));
    let mut connection = Connection::open(terms).map_err(no_process)?;
    connection.ask(start, reply).map_err(NotStarted::Lost)?;
    match Head::read(reply).map(|head| head.ending) {
        Ok(Ending::Done) => Ok(connection),
        Ok(Ending::NotLoaded(message)) => Err(NotStarted::NotLoaded(message)),
        Ok(Ending::Failed { fault, .. }) => Err(NotStarted::NotLoaded(fault.message)),
        Err(malformed) => Err(NotStarted::Lost(connection.lose_for(malformed))),
    }
}

impl Hosted {
    /// Asks the worker, and a new one where that is allowed.
    #[inline]
    fn ask(&mut self, request: &Request, reply: &mut Vec<u8>) -> UnitResult<Head> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let (slot, connection) = (self.claim.slot(), &mut self.connection);
        let ask = || connection.ask(request, reply);
        let loss = match slot.during(Activity::OwnProcess, ask) {
            Ok(()) => match Head::read(reply) {
                Ok(head) => return Ok(head),
                Err(malformed) => self.connection.lose_for(malformed),
            },
            Err(loss) => loss,
        };
        let slot = self.claim.slot();
        slot.during(Activity::OwnProcess, || {
            self.ask_anew(request, reply, &loss)
        })
    }

    /// Starts new workers until one answers the request that the last one was lost in.
    #[cold]
    fn ask_anew(
        &mut self,
        request: &Request,
        reply: &mut Vec<u8>,
        first: &Loss,
    ) -> UnitResult<Head> {
        let mut loss = first.clone();
        loop {
            let Some(replay) = self.journal.as_mut().and_then(Journal::restart) else {
                return Err(self.give_up(&loss));
            };
            self.report_restart(&loss);
            self.connection = match load(&self.terms, &self.start, reply) {
                Ok(connection) => connection,
                Err(NotStarted::NotLoaded(message)) => {
                    let fault = lost(&loss, &format!("; it cannot be started anew: {message}"));
                    return Err(self.lost.insert(fault).clone());
                }
                Err(NotStarted::Lost(next)) => {
                    loss = *next;
                    continue;
                }
            };
            match self.bring_up(&replay, request, reply) {
                Ok(head) => return Ok(head),
                Err(BringUp::Lost(next)) => loss = *next,
                Err(BringUp::Fault(fault)) => {
                    let why = format!(
                        "; it cannot be brought back to that time: {}",
                        fault.message
                    );
                    return Err(self.lost.insert(lost(&loss, &why)).clone());
                }
            }
        }
    }

    /// Lets a new worker do all that the old one has done, and then the request.
    fn bring_up(
        &mut self,
        replay: &Request,
        request: &Request,
        reply: &mut Vec<u8>,
    ) -> Result<Head, BringUp> {
        self.connection.ask(replay, reply)?;
        let read = |connection: &mut Connection, reply: &[u8]| {
            Head::read(reply).map_err(|malformed| connection.lose_for(malformed))
        };
        if let Ending::Failed { fault, .. } = read(&mut self.connection, reply)?.ending {
            return Err(BringUp::Fault(fault));
        }
        self.connection.ask(request, reply)?;
        Ok(read(&mut self.connection, reply)?)
    }

    fn report_restart(&self, loss: &Loss) {
        let (name, count) = (&self.name, self.journal.as_ref().map(Journal::count));
        if let Some((number, times)) = count {
            tracing::warn!(
                target: "gyrator",
                instance = name.as_str(),
                "{}; its process is started anew, {number} of {times} times",
                loss.sentence()
            );
        }
    }

    fn give_up(&mut self, loss: &Loss) -> Box<UnitFault> {
        let after = match self.journal.as_ref().map(Journal::count) {
            Some((times, _)) => format!(", after {times} restarts"),
            None => String::new(),
        };
        self.lost.insert(lost(loss, &after)).clone()
    }

    /// The worker says what it cannot say.
    #[cold]
    fn nonsense(&mut self, malformed: Malformed) -> Box<UnitFault> {
        let loss = self.connection.lose_for(malformed);
        self.lost.insert(lost(&loss, "")).clone()
    }
}

/// Why a new worker is not where the old one was.
enum BringUp {
    Lost(Box<Loss>),
    Fault(Box<UnitFault>),
}

impl From<Box<Loss>> for BringUp {
    fn from(loss: Box<Loss>) -> Self {
        Self::Lost(loss)
    }
}

fn lost(loss: &Loss, more: &str) -> Box<UnitFault> {
    let cause = match loss.is_timeout() {
        true => Cause::Timeout,
        false => Cause::Lost,
    };
    Box::new(UnitFault {
        log: loss.log.clone(),
        place: loss.place.clone(),
        ..*UnitFault::new(loss.call(), cause, format!("{loss}{more}"))
    })
}

impl Unit for IsolatedUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        let (stop, tolerance) = (period.stop, period.tolerance);
        let setup = Rare::SetupExperiment(period.start, stop, tolerance);
        self.change().rare(&setup);
        self.send_all().map(drop)
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.change().rare(&Rare::EnterInitializationMode);
        self.send_all().map(drop)
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.change().rare(&Rare::ExitInitializationMode);
        self.send_all()?;
        if let Some(journal) = &mut self.hosted.journal {
            journal.exit_initialization_mode();
        }
        Ok(())
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.change().set_reals(handles, values);
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.question().get_reals(handles);
        self.inquire_reals(values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        let index = self.queue.operations();
        self.queue.step(time, step);
        let mut reads = 0;
        if let Some(expected) = self.ahead.before_step() {
            reads = expected.operations();
            self.queue.append(expected);
        }
        let journal = self.hosted.journal.as_mut();
        let with_state = journal.is_some_and(Journal::count_step);
        if with_state {
            self.queue.rare(&Rare::Serialize);
        }
        let head = self.send()?;
        self.conclude_step(head, index, reads, with_state)
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.change().set_value(handle, value);
        Ok(())
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        self.question().get_value(handle, value);
        self.inquire(|answer| match answer {
            Answer::Value(sent) => sent.read(value),
            _ => Err(Malformed),
        })
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.change().set_input_derivatives(handles, orders, values);
        Ok(())
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        self.question().output_derivatives(handles, orders);
        self.inquire_reals(values)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        self.question()
            .directional_derivative(unknowns, knowns, seed);
        self.inquire_reals(values)
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        if self.hosted.journal.is_some() {
            return Ok(Box::new(SerializedState(self.state_as_bytes()?)));
        }
        let kept = previous.filter(|previous| previous.is::<KeptState>());
        let kept = kept.unwrap_or_else(|| {
            self.states += 1;
            Box::new(KeptState(self.states - 1))
        });
        if let Some(KeptState(number)) = kept.downcast_ref() {
            // Answers that were read ahead stay valid.
            self.queue.rare(&Rare::Save(*number));
        }
        Ok(kept)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        if let Some(SerializedState(bytes)) = state.downcast_ref() {
            self.change().rare(&Rare::Deserialize(bytes));
        } else if let Some(KeptState(number)) = state.downcast_ref() {
            let number = *number;
            self.change().rare(&Rare::Restore(number));
        } else {
            let message = "the state is another unit's";
            return Err(UnitFault::new("fmi2SetFMUstate", Cause::Error, message));
        }
        Ok(())
    }

    fn serialize(&mut self) -> UnitResult<Vec<u8>> {
        self.state_as_bytes()
    }

    fn deserialize(&mut self, bytes: &[u8]) -> UnitResult {
        self.change().rare(&Rare::Deserialize(bytes));
        self.send_all().map(drop)
    }

    fn warnings(&self) -> u64 {
        self.warnings
    }

    fn terminate(&mut self) -> UnitResult {
        self.change().rare(&Rare::Terminate);
        self.send_all().map(drop)
    }
}

impl Drop for IsolatedUnit {
    /// Frees the instance, as the run's own process would.
    fn drop(&mut self) {
        if self.hosted.lost.is_some() {
            return;
        }
        self.question().rare(&Rare::Leave);
        let timeout = self.hosted.terms.timeout.unwrap_or(LONGEST_FAREWELL);
        let request = &self.question;
        let (slot, connection) = (self.hosted.claim.slot(), &mut self.hosted.connection);
        let leave = || connection.ask_within(Some(timeout), request, &mut self.reply);
        if let Err(loss) = slot.during(Activity::OwnProcess, leave) {
            tracing::warn!(
                target: "gyrator",
                instance = self.hosted.name.as_str(),
                "{}, after the last step: the results are complete",
                loss.sentence()
            );
        }
    }
}
