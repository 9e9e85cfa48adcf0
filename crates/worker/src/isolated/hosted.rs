//! The worker that hosts an FMU, and a new one where it is lost and may be started anew.

use std::time::Duration;

use gyrator::error::{Cause, UnitFault};
use gyrator::profile::Waits;
use gyrator::unit::UnitResult;
use gyrator_fmu::flight_recorder::{Activity, SlotGuard};

use super::bytes::Malformed;
use super::connection::{Connection, Loss, Terms};
use super::journal::Journal;
use super::reply::{Ending, Head};
use super::request::Request;

/// How long an instance may take to be freed where calls may take for ever.
const LONGEST_FAREWELL: Duration = Duration::from_secs(10);

/// The worker, and what to do when it is lost.
pub(super) struct Hosted {
    name: String,
    /// Shows a watching process that this one waits for the worker.
    claim: SlotGuard,
    connection: Connection,
    terms: Terms,
    start: Request,
    pub(super) journal: Option<Journal>,
    /// Why there is no worker any more.
    lost: Option<Box<UnitFault>>,
    /// Measures how long the worker is waited for.
    pub(super) waits: Option<Waits>,
}

/// Why a worker does not host the FMU.
pub(super) enum NotStarted {
    /// There can be no process, or the FMU cannot be loaded.
    NotLoaded(String),
    /// The process was lost while it loaded the FMU.
    Lost(Box<Loss>),
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
    /// Starts a worker and lets it load the FMU. `start` is the request for that.
    pub(super) fn start(
        name: &str,
        start: Request,
        terms: Terms,
        journal: Option<Journal>,
        reply: &mut Vec<u8>,
    ) -> Result<Self, NotStarted> {
        let claim = SlotGuard::new(name);
        let load = || load(&terms, &start, reply);
        let connection = claim.slot().during(Activity::OwnProcess, load)?;
        Ok(Self {
            name: name.to_owned(),
            claim,
            connection,
            terms,
            start,
            journal,
            lost: None,
            waits: None,
        })
    }

    /// Sends a request to the worker, if it is still there.
    #[inline]
    pub(super) fn post(&mut self, request: &Request) -> Result<(), Box<Loss>> {
        if self.lost.is_some() {
            return Ok(());
        }
        let (slot, connection) = (self.claim.slot(), &mut self.connection);
        slot.during(Activity::OwnProcess, || connection.post(request))
    }

    /// Waits for the reply to a request that was sent; where the worker is lost, a new one is asked if that is allowed.
    #[inline]
    pub(super) fn conclude(
        &mut self,
        sent: Result<(), Box<Loss>>,
        request: &Request,
        reply: &mut Vec<u8>,
    ) -> UnitResult<Head> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        let (slot, connection) = (self.claim.slot(), &mut self.connection);
        let receive = || connection.receive(request, reply);
        let receive = || slot.during(Activity::OwnProcess, receive);
        let received = sent.and_then(|()| match &self.waits {
            None => receive(),
            Some(waits) => waits.during(receive),
        });
        let loss = match received {
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
    pub(super) fn nonsense(&mut self, malformed: Malformed) -> Box<UnitFault> {
        let loss = self.connection.lose_for(malformed);
        self.lost.insert(lost(&loss, "")).clone()
    }

    /// Says farewell to a worker that is still there.
    pub(super) fn leave(&mut self, farewell: &Request, reply: &mut Vec<u8>) {
        if self.lost.is_some() {
            return;
        }
        let timeout = self.terms.timeout.unwrap_or(LONGEST_FAREWELL);
        let (slot, connection) = (self.claim.slot(), &mut self.connection);
        let leave = || connection.ask_within(Some(timeout), farewell, reply);
        if let Err(loss) = slot.during(Activity::OwnProcess, leave) {
            tracing::warn!(
                target: "gyrator",
                instance = self.name.as_str(),
                "{}, after the last step: the results are complete",
                loss.sentence()
            );
        }
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
