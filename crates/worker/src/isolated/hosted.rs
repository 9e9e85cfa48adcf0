//! The worker that hosts an FMU, and a new one if it is lost and may be started again.

use gyrator::error::{Cause, UnitFault};
use gyrator::profile::Waits;
use gyrator::unit::UnitResult;
use gyrator_fmu::flight_recorder::{Activity, SlotGuard};

use super::bytes::Malformed;
use super::journal::Journal;
use super::link::{Host, Link, Loss, NotStarted};
use super::reply::{Head, RequestOutcome};
use super::request::Request;

/// The worker, and what to do when it is lost.
pub(super) struct Hosted<H: Host> {
    name: String,
    /// Shows a watching process that this one waits for the worker.
    guard: SlotGuard,
    link: H::Link,
    host: H,
    pub(super) journal: Option<Journal>,
    /// Why the worker is gone.
    lost: Option<Box<UnitFault>>,
    /// Measures how long the worker is waited for.
    pub(super) waits: Option<Waits>,
}

impl<H: Host> Hosted<H> {
    /// Starts a worker and lets it load the FMU.
    pub(super) fn start(
        name: &str,
        mut host: H,
        journal: Option<Journal>,
    ) -> Result<Self, NotStarted> {
        let guard = SlotGuard::new(name);
        let link = guard.slot().during(Activity::OwnProcess, || host.open())?;
        Ok(Self {
            name: name.to_owned(),
            guard,
            link,
            host,
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
        let (slot, link) = (self.guard.slot(), &mut self.link);
        slot.during(Activity::OwnProcess, || link.post(request))
    }

    /// Waits for the reply to a request that was sent; if the worker is lost, a new one is asked if that is allowed.
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
        let (slot, link) = (self.guard.slot(), &mut self.link);
        let receive = || link.receive(request, reply);
        let receive = || slot.during(Activity::OwnProcess, receive);
        let received = sent.and_then(|()| match &self.waits {
            None => receive(),
            Some(waits) => waits.during(receive),
        });
        if let (Some(waits), Some(computing)) = (&self.waits, self.link.computing()) {
            waits.add_computing(computing);
        }
        let loss = match received {
            Ok(()) => match Head::read(reply) {
                Ok(head) => return Ok(head),
                Err(malformed) => self.link.lose_for(malformed),
            },
            Err(loss) => loss,
        };
        let slot = self.guard.slot();
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
            self.link = match self.host.open_again(&self.link) {
                Ok(link) => link,
                Err(NotStarted::NotLoaded(message) | NotStarted::NotReached(message)) => {
                    let fault = lost(&loss, &format!("; it cannot be started again: {message}"));
                    return Err(self.lost.insert(fault).clone());
                }
                Err(NotStarted::Lost(next)) => {
                    loss = *next;
                    continue;
                }
            };
            match self.bring_up(&replay, request, reply) {
                Ok(head) => return Ok(head),
                Err(RestartError::Lost(next)) => loss = *next,
                Err(RestartError::Fault(fault)) => {
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
    ) -> Result<Head, RestartError> {
        self.link.ask(replay, reply)?;
        let read = |link: &mut H::Link, reply: &[u8]| {
            Head::read(reply).map_err(|malformed| link.lose_for(malformed))
        };
        if let RequestOutcome::Failed { fault, .. } = read(&mut self.link, reply)?.outcome {
            return Err(RestartError::Fault(fault));
        }
        self.link.ask(request, reply)?;
        Ok(read(&mut self.link, reply)?)
    }

    fn report_restart(&self, loss: &Loss) {
        let (name, count) = (&self.name, self.journal.as_ref().map(Journal::count));
        if let Some((number, times)) = count {
            tracing::warn!(
                target: "gyrator",
                instance = name.as_str(),
                "{}; its process is started again, {number} of {times} times",
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
        let loss = self.link.lose_for(malformed);
        self.lost.insert(lost(&loss, "")).clone()
    }

    /// Says farewell to a worker that is still there.
    pub(super) fn leave(&mut self, farewell: &Request, reply: &mut Vec<u8>) {
        if self.lost.is_some() {
            return;
        }
        let (slot, link) = (self.guard.slot(), &mut self.link);
        let leave = || link.send_last(farewell, reply);
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

/// Why a new worker did not reach the point of the old one.
enum RestartError {
    Lost(Box<Loss>),
    Fault(Box<UnitFault>),
}

impl From<Box<Loss>> for RestartError {
    fn from(loss: Box<Loss>) -> Self {
        Self::Lost(loss)
    }
}

fn lost(loss: &Loss, more: &str) -> Box<UnitFault> {
    let cause = match (loss.is_timeout(), loss.is_of_host()) {
        (true, _) => Cause::Timeout,
        (_, true) => Cause::HostLost,
        _ => Cause::Lost,
    };
    Box::new(UnitFault {
        log: loss.log.clone(),
        place: loss.place.clone(),
        ..*UnitFault::new(loss.call(), cause, format!("{loss}{more}"))
    })
}
