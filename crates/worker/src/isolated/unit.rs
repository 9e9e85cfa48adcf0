//! An FMU in a process of its own, as a unit.

use gyrator::error::{Cause, LoadError, LoadErrorKind, UnitFault};
use gyrator::profile::Profile;
use gyrator::unit::{
    Handle, Period, SavedState, StepOutcome, UnitDescription, UnitOrder, UnitResult, own_state,
};
use gyrator::{Unit, Value};

use super::bytes::{Cursor, Malformed};
use super::hosted::Hosted;
use super::journal::Journal;
use super::link::{Host, Loss, NotStarted};
use super::read_ahead::{Known, ReadAhead};
use super::reply::{Answer, Head, RequestOutcome};
use super::request::{Rare, Request};

/// An FMU in a process of its own, on this machine or another.
///
/// Operations that change the instance are collected and sent with the next call that needs an
/// answer: one message takes the inputs and their derivatives, makes a step, and brings the outputs
/// back. A refused input is therefore reported by the step.
pub struct IsolatedUnit<H: Host> {
    description: Box<UnitDescription>,
    hosted: Hosted<H>,
    /// Operations that are not sent yet.
    queue: Request,
    question: Request,
    reply: Vec<u8>,
    ahead: ReadAhead,
    warnings: u64,
    /// It has taken derivatives of inputs once.
    takes_input_derivatives: bool,
    /// Numbers of saved states that were given out.
    states: u32,
    /// The step that was begun and is not finished, and whether the worker has it.
    begun: Option<(RequestedStep, Result<(), Box<Loss>>)>,
}

/// A step among the operations of a request.
#[derive(Clone, Copy)]
struct RequestedStep {
    /// Its number.
    index: u32,
    /// Reads that follow it.
    reads: u32,
    /// The state as bytes follows them, for the journal.
    with_state: bool,
}

/// A state that the worker keeps.
struct KeptState(u32);

/// A state as bytes, which outlives the worker.
struct SerializedState(Vec<u8>);

impl<H: Host> IsolatedUnit<H> {
    /// Lets `host` start a process that loads the FMU of the component `name`, and again as `restart` says if it is
    /// lost; its time is measured by `profile`.
    ///
    /// # Errors
    /// In the words of the run if the process does not start.
    pub fn start(
        order: &UnitOrder<'_>,
        host: H,
        profile: Option<&Profile>,
    ) -> Result<Self, LoadError> {
        let restart = order.component.restart.as_ref();
        if restart.is_some() && !can_serialize(order) {
            return Err(order.refuse(
                "`restart` needs an FMU that can put its state into bytes \
                 (canSerializeFMUstate); this one says that it cannot",
            ));
        }
        let journal = restart.map(|restart| Journal::new(restart.value));
        let hosted = Hosted::start(order.name(), host, journal);
        let mut hosted = hosted.map_err(|error| match error {
            NotStarted::NotLoaded(message) => order.refuse(message),
            NotStarted::NotReached(message) => LoadError {
                kind: LoadErrorKind::HostLost,
                ..order.refuse(message)
            },
            NotStarted::Lost(loss) => LoadError {
                kind: match loss.is_of_process() || loss.is_of_host() {
                    true => LoadErrorKind::HostLost,
                    false => LoadErrorKind::Lost,
                },
                ..order.refuse(loss.sentence())
            },
        })?;
        hosted.waits = profile.map(|profile| profile.waits(order.name()));
        Ok(Self {
            description: Box::new(order.description.clone()),
            hosted,
            queue: Request::default(),
            question: Request::default(),
            reply: Vec::new(),
            ahead: ReadAhead::default(),
            warnings: 0,
            takes_input_derivatives: false,
            states: 0,
            begun: None,
        })
    }

    /// Sends the collected operations. One that has failed is identified by its number.
    #[inline]
    fn send(&mut self) -> UnitResult<Head> {
        self.ahead.drop_answers();
        let sent = self.hosted.post(&self.queue);
        self.receive(sent)
    }

    /// Waits for the answer to the collected operations, which were sent.
    #[inline]
    fn receive(&mut self, sent: Result<(), Box<Loss>>) -> UnitResult<Head> {
        let head = match self.hosted.conclude(sent, &self.queue, &mut self.reply) {
            Ok(head) => head,
            Err(fault) => {
                self.queue.clear();
                return Err(fault);
            }
        };
        self.warnings = head.warnings;
        if head.outcome == RequestOutcome::Done
            && let Some(journal) = &mut self.hosted.journal
        {
            journal.record(&self.queue);
        }
        self.queue.clear();
        Ok(head)
    }

    /// Sends all that was collected; all of it has to succeed.
    fn send_all(&mut self) -> UnitResult<Head> {
        let head = self.send()?;
        match head.outcome {
            RequestOutcome::Done => Ok(head),
            RequestOutcome::Failed { fault, .. } => Err(fault),
            RequestOutcome::NotLoaded(_) => Err(self.hosted.nonsense(Malformed)),
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

    /// Adds a step to the collected operations, and reads that are expected after it.
    #[inline]
    fn request_step(&mut self, time: f64, step: f64) -> RequestedStep {
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
        RequestedStep {
            index,
            reads,
            with_state,
        }
    }

    /// Takes the answer to a step out of the reply.
    fn conclude_step(&mut self, head: Head, step: RequestedStep) -> UnitResult<StepOutcome> {
        let RequestedStep {
            index,
            reads,
            with_state,
        } = step;
        let fault = match head.outcome {
            RequestOutcome::Done => None,
            // The journal has nothing of what was sent, and must not be continued without the step.
            RequestOutcome::Failed { index: at, fault }
                if at <= index || self.hosted.journal.is_some() =>
            {
                return Err(fault);
            }
            RequestOutcome::Failed { fault, .. } => Some(fault),
            RequestOutcome::NotLoaded(_) => return Err(self.hosted.nonsense(Malformed)),
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

    /// The present state as bytes, which the journal begins again from.
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

fn can_serialize(order: &UnitOrder<'_>) -> bool {
    let claims = order.fmu.description().co_simulation.as_ref();
    claims.is_some_and(|claims| claims.can_serialize_fmu_state && claims.can_get_and_set_fmu_state)
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

impl<H: Host> Unit for IsolatedUnit<H> {
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
        let step = self.request_step(time, step);
        let head = self.send()?;
        self.conclude_step(head, step)
    }

    fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
        let step = self.request_step(time, step);
        self.ahead.drop_answers();
        let sent = self.hosted.post(&self.queue);
        self.begun = Some((step, sent));
        Ok(None)
    }

    fn finish_step(&mut self) -> UnitResult<StepOutcome> {
        let Some((step, sent)) = self.begun.take() else {
            let message = "no step was begun";
            return Err(UnitFault::new("finish_step", Cause::Error, message));
        };
        let head = self.receive(sent)?;
        self.conclude_step(head, step)
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
        // The engine can only do without them if it hears of the refusal before the step.
        match std::mem::replace(&mut self.takes_input_derivatives, true) {
            true => Ok(()),
            false => self.send_all().map(drop),
        }
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
        } else {
            let KeptState(number) = *own_state("fmi2SetFMUstate", state)?;
            self.change().rare(&Rare::Restore(number));
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

impl<H: Host> Drop for IsolatedUnit<H> {
    /// Frees the instance, as the run's own process would.
    fn drop(&mut self) {
        // One that still makes a step answers no farewell; its process ends with the connection.
        if self.begun.is_none() {
            self.question().rare(&Rare::Leave);
            self.hosted.leave(&self.question, &mut self.reply);
        }
    }
}
