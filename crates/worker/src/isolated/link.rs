//! The way to the process that hosts an FMU, on this machine or another, and the report of its loss.

use gyrator_fmu::flight_recorder::Activity;
use serde::{Deserialize, Serialize};

use super::bytes::{Cursor, Malformed, Put as _};
use super::calls;
use super::request::Request;
use crate::death::Cause;

/// Opens ways to processes that host the FMU of one component.
pub trait Host: Send {
    /// The way to such a process.
    type Link: Link;

    /// Starts a process and lets it load the FMU.
    ///
    /// # Errors
    /// If there can be no process, or it does not load the FMU.
    fn open(&mut self) -> Result<Self::Link, NotStarted>;

    /// Starts one instead of the process that was lost on this way.
    ///
    /// # Errors
    /// As of [`open`](Self::open).
    fn open_again(&mut self, lost: &Self::Link) -> Result<Self::Link, NotStarted> {
        let _ = lost;
        self.open()
    }
}

/// The way to a process that hosts an FMU. Requests and replies take turns.
pub trait Link: Send {
    /// Sends a request. After a loss the process is gone.
    ///
    /// # Errors
    /// If the process is lost.
    fn post(&mut self, request: &Request) -> Result<(), Box<Loss>>;

    /// Waits for the reply to the request that was [sent](Self::post). After a loss the process is gone.
    ///
    /// # Errors
    /// If the process is lost.
    fn receive(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>>;

    /// Sends the last request, for whose reply it waits for a limited time.
    ///
    /// # Errors
    /// If the process is lost.
    fn send_last(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>>;

    /// Gives the process up, because its reply makes no sense.
    fn lose_for(&mut self, malformed: Malformed) -> Box<Loss>;

    /// Time that the process took for the last reply by its own clock, ns, if it is measured.
    fn computing(&self) -> Option<u64> {
        None
    }

    /// Sends a request and waits for the reply.
    ///
    /// # Errors
    /// If the process is lost.
    fn ask(&mut self, request: &Request, reply: &mut Vec<u8>) -> Result<(), Box<Loss>> {
        self.post(request)?;
        self.receive(request, reply)
    }
}

/// Why no process hosts the FMU.
#[derive(Debug)]
pub enum NotStarted {
    /// The FMU cannot be loaded.
    NotLoaded(String),
    /// The machine that is to run it cannot be reached, or has no room, whatever the FMU; or there can be no process.
    NotReached(String),
    /// The process was lost while it loaded the FMU.
    Lost(Box<Loss>),
}

/// The end of a worker before its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Loss {
    pub(super) cause: LossCause,
    /// Activity at that time; `None` between calls.
    pub(super) activity: Option<Activity>,
    /// Whether another thread than the called one has crashed.
    pub(super) is_other_thread: bool,
    /// The place of the crash, if it is known.
    pub(super) place: Option<String>,
    /// Its last log line.
    pub(super) log: Option<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum LossCause {
    Death(Cause),
    /// It has written why, and the FMU is not to blame.
    CannotGoOn,
    /// It lives, but what it says makes no sense.
    Nonsense(String),
    /// As another machine, or the way there, reports it.
    Reported {
        sentence: String,
        call: &'static str,
        is_timeout: bool,
    },
    /// Its machine, or the way there, is lost.
    Host(String),
}

impl Loss {
    /// Whether a call did not return in time.
    pub fn is_timeout(&self) -> bool {
        match &self.cause {
            LossCause::Death(cause) => matches!(cause, Cause::Timeout(_)),
            LossCause::Reported { is_timeout, .. } => *is_timeout,
            LossCause::CannotGoOn | LossCause::Nonsense(_) | LossCause::Host(_) => false,
        }
    }

    /// Whether the process could not do its work, whatever the FMU.
    pub fn is_of_process(&self) -> bool {
        self.cause == LossCause::CannotGoOn
    }

    /// Whether the machine that runs the process, or the way there, is lost.
    pub fn is_of_host(&self) -> bool {
        matches!(self.cause, LossCause::Host(_))
    }

    /// Everything about it but the simulated time, in words.
    pub fn sentence(&self) -> String {
        match &self.place {
            Some(place) => format!("{self}, {place}"),
            None => self.to_string(),
        }
    }

    /// The call, such as `fmi2DoStep`.
    pub fn call(&self) -> &'static str {
        match self.cause {
            LossCause::Reported { call, .. } => call,
            LossCause::Host(_) => "its host",
            _ => self.activity.map_or("its process", Activity::name),
        }
    }
}

impl std::fmt::Display for Loss {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cause = match &self.cause {
            LossCause::Death(cause) => cause,
            LossCause::Nonsense(text) | LossCause::Host(text) => return f.write_str(text),
            LossCause::Reported { sentence, .. } => return f.write_str(sentence),
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

/// A [`Loss`] in a message.
#[derive(Debug, Serialize, Deserialize)]
struct Report<'a> {
    sentence: &'a str,
    /// Number of the call.
    call: u8,
    is_timeout: bool,
    is_of_process: bool,
    #[serde(borrow)]
    place: Option<&'a str>,
}

impl Loss {
    /// The loss of a machine that runs the process, or of the way there, in words.
    pub fn of_host(sentence: impl Into<String>) -> Self {
        Self::of(LossCause::Host(sentence.into()))
    }

    /// A loss that is reported in words: how the process was lost in `call`.
    pub fn reported(sentence: impl Into<String>, call: &'static str, is_timeout: bool) -> Self {
        Self::of(LossCause::Reported {
            sentence: sentence.into(),
            call,
            is_timeout,
        })
    }

    const fn of(cause: LossCause) -> Self {
        Self {
            cause,
            activity: None,
            is_other_thread: false,
            place: None,
            log: None,
        }
    }

    /// With the host of the process, in its words.
    #[must_use]
    pub fn on(mut self, host: &str) -> Self {
        let sentence = format!("{self} (on host {host})");
        if let LossCause::Reported { sentence: old, .. } = &mut self.cause {
            *old = sentence;
        }
        self
    }

    /// With the last line that the FMU logged, if none is known.
    #[must_use]
    pub fn with_log(mut self, line: Option<String>) -> Self {
        self.log = self.log.or(line);
        self
    }

    /// As bytes, for the run on another machine.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.postcard(&Report {
            sentence: &self.to_string(),
            call: calls::number(self.call()),
            is_timeout: self.is_timeout(),
            is_of_process: self.is_of_process(),
            place: self.place.as_deref(),
        });
        bytes
    }

    /// Reads what [`encode`](Self::encode) has written.
    ///
    /// # Errors
    /// If the bytes are not such a report.
    pub fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut cursor = Cursor::new(bytes);
        let report: Report<'_> = cursor.postcard()?;
        if !cursor.is_at_end() {
            return Err(Malformed);
        }
        let cause = match report.is_of_process {
            true => LossCause::CannotGoOn,
            false => LossCause::Reported {
                sentence: report.sentence.to_owned(),
                call: calls::name(report.call),
                is_timeout: report.is_timeout,
            },
        };
        Ok(Self {
            place: report.place.map(str::to_owned),
            ..Self::of(cause)
        })
    }
}
