//! Faults while a system runs: the unit, the call, the time and the reason.

use std::fmt;

use crate::figure;

/// Why a unit refused a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The unit reported an error (`fmi2Error`, or a status that FMI does not know).
    Error,
    /// The unit reported that it can never be used again (`fmi2Fatal`).
    Fatal,
    /// The unit rejected a value or could not finish a step (`fmi2Discard`).
    Discard,
    /// The unit lacks an ability that was asked for.
    Unsupported,
    /// An output is NaN or infinite.
    NotFinite,
    /// The process of the unit crashed or left. The message says which, and in which
    /// call.
    Lost,
    /// A call did not return in time. The message says which.
    Timeout,
    /// A call did not return soon after the run was interrupted. The message says which.
    Interrupted,
    /// The machine that runs the unit, or the way there, is lost. The message says which.
    HostLost,
}

/// A call that a unit refused, as the unit itself can describe it.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitFault {
    /// The call, such as `fmi2DoStep`.
    pub call: &'static str,
    /// Why.
    pub cause: Cause,
    /// Message of the unit or the master about it.
    pub message: String,
    /// The unit's last log line, if it wrote one.
    pub log: Option<String>,
    /// Where a lost process has crashed, if it is known: `in Wheel.so`.
    pub place: Option<String>,
    /// How far a discarded step came by the unit's own word, s (`fmi2LastSuccessfulTime`); not checked.
    pub reached: Option<f64>,
}

impl UnitFault {
    /// A fault without a log line. Boxed, so that results of hot calls stay one word long.
    pub fn new(call: &'static str, cause: Cause, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            call,
            cause,
            message: message.into(),
            log: None,
            place: None,
            reached: None,
        })
    }
}

impl fmt::Display for UnitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.call, self.message)
    }
}

impl std::error::Error for UnitFault {}

/// A fault of a unit in a running system.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Name of the component.
    pub component: String,
    /// Simulated time of the call, s.
    pub time: f64,
    /// Macro-steps finished before it.
    pub step: u64,
    /// The refused call.
    pub unit: Box<UnitFault>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let UnitFault {
            call,
            message,
            log,
            place,
            ..
        } = &*self.unit;
        let Self {
            component,
            time,
            step,
            ..
        } = self;
        if matches!(
            self.unit.cause,
            Cause::Lost | Cause::Timeout | Cause::Interrupted | Cause::HostLost
        ) {
            write!(f, "{component}: {message} at t = {time} s (step {step})")?;
            if let Some(place) = place {
                write!(f, ", {place}")?;
            }
        } else {
            write!(
                f,
                "{component}: {call} at t = {time} s (step {step}): {message}"
            )?;
        }
        if let Some(log) = log {
            write!(f, "; its last log line: {log}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Fault {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.unit)
    }
}

/// Why a run ended before its time.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// A unit failed.
    #[error(transparent)]
    Fault(Fault),
    /// The outputs of an algebraic loop did not converge at the start.
    #[error(
        "the start values of the algebraic loop {members} do not converge (last change {}); \
         give start values nearer to a solution, or `propagate_initial_inputs = false` on one of its components",
        figure(*change)
    )]
    InitialLoop {
        /// The outputs of the loop.
        members: String,
        /// Largest relative change of the last iteration.
        change: f64,
    },
    /// An observer failed: a result could not be written, for example.
    #[error(transparent)]
    Observer(Box<dyn std::error::Error + Send + Sync>),
    /// A variable was named that the system does not have, or that cannot be read or written so.
    #[error("{0}")]
    Variable(String),
    /// The state of the run cannot be saved or restored.
    #[error("the run cannot be saved or go back: {0}")]
    NotSaved(String),
    /// The run cannot go on from a saved state.
    #[error("the state cannot be taken: {0}")]
    NotRestored(String),
    /// The plan of a method breaks a rule.
    #[error("the plan of method `{method}` breaks the rule {broken}")]
    Plan {
        /// The method.
        method: String,
        /// Number of the rule and the breach.
        broken: String,
    },
    /// The run had already ended.
    #[error("the run has ended ({0}); start a new one")]
    Ended(&'static str),
}
