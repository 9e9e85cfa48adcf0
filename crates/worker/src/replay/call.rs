//! Calls of a unit and their answers, as a recording holds them.

use std::fmt;

use gyrator::Value;
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{Handle, StepOutcome, UnitResult};
use serde::{Deserialize, Serialize};

/// A call of a unit. Each stands for one function of FMI.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Call {
    /// `fmi2Instantiate`, with the loading of the library before it.
    Instantiate,
    /// `fmi2SetupExperiment`.
    SetupExperiment {
        /// Start time, s.
        start: f64,
        /// Stop time, s.
        stop: Option<f64>,
        /// Relative tolerance.
        tolerance: Option<f64>,
    },
    /// `fmi2EnterInitializationMode`.
    EnterInitializationMode,
    /// `fmi2ExitInitializationMode`.
    ExitInitializationMode,
    /// `fmi2SetReal`.
    SetReals {
        /// Value references.
        handles: Vec<Handle>,
        /// One value each.
        values: Vec<f64>,
    },
    /// `fmi2GetReal`.
    GetReals {
        /// Value references.
        handles: Vec<Handle>,
    },
    /// `fmi2SetReal`, `fmi2SetInteger`, `fmi2SetBoolean` or `fmi2SetString` of one variable.
    SetValue {
        /// Value reference.
        handle: Handle,
        /// The value, which says the type.
        value: Datum,
    },
    /// The function that reads one variable of the type of `value`.
    GetValue {
        /// Value reference.
        handle: Handle,
        /// The value before the call, which says the type.
        value: Datum,
    },
    /// `fmi2SetRealInputDerivatives`.
    SetInputDerivatives {
        /// Value references.
        handles: Vec<Handle>,
        /// Orders, one each.
        orders: Vec<i32>,
        /// Derivatives, one each.
        values: Vec<f64>,
    },
    /// `fmi2GetRealOutputDerivatives`.
    OutputDerivatives {
        /// Value references.
        handles: Vec<Handle>,
        /// Orders, one each.
        orders: Vec<i32>,
    },
    /// `fmi2GetDirectionalDerivative`.
    DirectionalDerivative {
        /// Value references of the unknowns.
        unknowns: Vec<Handle>,
        /// Value references of the knowns.
        knowns: Vec<Handle>,
        /// One number for each known.
        seed: Vec<f64>,
    },
    /// `fmi2DoStep`.
    Step {
        /// Communication point, s.
        time: f64,
        /// Communication step, s.
        step: f64,
    },
    /// `fmi2GetFMUstate`.
    Save {
        /// Number of the state in this recording.
        state: u32,
        /// Number of a state whose memory is used again, and which is gone.
        over: Option<u32>,
    },
    /// `fmi2SetFMUstate`.
    Restore {
        /// Number of the state.
        state: u32,
    },
    /// `fmi2Terminate`.
    Terminate,
    /// `fmi2FreeInstance`.
    Free,
    /// `fmi2SerializeFMUstate` of the present state. Its bytes may hold what differs from process to process, and are
    /// not recorded.
    Serialize,
    /// `fmi2DeSerializeFMUstate`, and `fmi2SetFMUstate` with what it gives.
    Deserialize {
        /// The state.
        bytes: Vec<u8>,
    },
}

/// A value of one of FMI's types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Datum {
    /// `fmi2Real`.
    Real(f64),
    /// `fmi2Integer`, also of an enumeration.
    Integer(i32),
    /// `fmi2Boolean`.
    Boolean(bool),
    /// `fmi2String`.
    String(String),
}

impl From<&Value> for Datum {
    fn from(value: &Value) -> Self {
        match value {
            Value::Real(value) => Self::Real(*value),
            Value::Integer(value) => Self::Integer(*value),
            Value::Boolean(value) => Self::Boolean(*value),
            Value::String(value) => Self::String(value.clone()),
        }
    }
}

impl From<&Datum> for Value {
    fn from(value: &Datum) -> Self {
        match value {
            Datum::Real(value) => Self::Real(*value),
            Datum::Integer(value) => Self::Integer(*value),
            Datum::Boolean(value) => Self::Boolean(*value),
            Datum::String(value) => Self::String(value.clone()),
        }
    }
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Answer {
    /// Success, without values.
    Done,
    /// Values that were read, one for each handle.
    Reals(Vec<f64>),
    /// One value that was read.
    Value(Datum),
    /// A step with which the FMU ends the simulation, at this time, s.
    Terminated(f64),
    /// A refused call.
    Fault {
        /// Why.
        cause: Cause,
        /// Message of the FMU or the master about it.
        message: String,
    },
}

impl Answer {
    /// The answer to a call without values.
    pub(crate) fn of<T>(result: &UnitResult<T>) -> Self {
        result
            .as_ref()
            .map_or_else(|fault| Self::fault(fault), |_| Self::Done)
    }

    /// The answer to a call that reads these values.
    pub(crate) fn reals(result: &UnitResult, values: &[f64]) -> Self {
        match result {
            Ok(()) => Self::Reals(values.to_vec()),
            Err(fault) => Self::fault(fault),
        }
    }

    /// The answer to a step.
    pub(crate) fn step(result: &UnitResult<StepOutcome>) -> Self {
        match result {
            Ok(StepOutcome::Done) => Self::Done,
            Ok(StepOutcome::Terminated(time)) => Self::Terminated(*time),
            Err(fault) => Self::fault(fault),
        }
    }

    pub(crate) fn fault(fault: &UnitFault) -> Self {
        Self::Fault {
            cause: fault.cause,
            message: fault.message.clone(),
        }
    }

    /// Whether the process of the FMU is gone with this answer: its call has come to no end.
    #[must_use]
    pub fn is_loss(&self) -> bool {
        matches!(
            self,
            Self::Fault {
                cause: Cause::Lost | Cause::Timeout | Cause::Interrupted | Cause::HostLost,
                ..
            }
        )
    }

    /// Whether two answers are the same in every bit. Messages of faults may differ: they hold paths and counts.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let bits = |values: &[f64]| -> Vec<u64> { values.iter().map(|v| v.to_bits()).collect() };
        match (self, other) {
            (Self::Reals(a), Self::Reals(b)) => bits(a) == bits(b),
            (Self::Terminated(a), Self::Terminated(b))
            | (Self::Value(Datum::Real(a)), Self::Value(Datum::Real(b))) => {
                a.to_bits() == b.to_bits()
            }
            (Self::Fault { cause: a, .. }, Self::Fault { cause: b, .. }) => a == b,
            _ => self == other,
        }
    }
}

impl Call {
    /// The function of FMI.
    #[must_use]
    pub fn function(&self) -> &'static str {
        match self {
            Self::Instantiate => "fmi2Instantiate",
            Self::SetupExperiment { .. } => "fmi2SetupExperiment",
            Self::EnterInitializationMode => "fmi2EnterInitializationMode",
            Self::ExitInitializationMode => "fmi2ExitInitializationMode",
            Self::SetReals { .. } => "fmi2SetReal",
            Self::GetReals { .. } => "fmi2GetReal",
            Self::SetValue { value, .. } => match value {
                Datum::Real(_) => "fmi2SetReal",
                Datum::Integer(_) => "fmi2SetInteger",
                Datum::Boolean(_) => "fmi2SetBoolean",
                Datum::String(_) => "fmi2SetString",
            },
            Self::GetValue { value, .. } => match value {
                Datum::Real(_) => "fmi2GetReal",
                Datum::Integer(_) => "fmi2GetInteger",
                Datum::Boolean(_) => "fmi2GetBoolean",
                Datum::String(_) => "fmi2GetString",
            },
            Self::SetInputDerivatives { .. } => "fmi2SetRealInputDerivatives",
            Self::OutputDerivatives { .. } => "fmi2GetRealOutputDerivatives",
            Self::DirectionalDerivative { .. } => "fmi2GetDirectionalDerivative",
            Self::Step { .. } => "fmi2DoStep",
            Self::Save { .. } => "fmi2GetFMUstate",
            Self::Restore { .. } => "fmi2SetFMUstate",
            Self::Terminate => "fmi2Terminate",
            Self::Free => "fmi2FreeInstance",
            Self::Serialize => "fmi2SerializeFMUstate",
            Self::Deserialize { .. } => "fmi2DeSerializeFMUstate",
        }
    }

    /// Whether its lists have equal lengths, as in recorded calls.
    pub(crate) fn is_whole(&self) -> bool {
        match self {
            Self::SetReals { handles, values } => handles.len() == values.len(),
            Self::SetInputDerivatives {
                handles,
                orders,
                values,
            } => handles.len() == values.len() && handles.len() == orders.len(),
            Self::OutputDerivatives { handles, orders } => handles.len() == orders.len(),
            Self::DirectionalDerivative { knowns, seed, .. } => knowns.len() == seed.len(),
            _ => true,
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Real(value) => write!(f, "{value}"),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Boolean(value) => write!(f, "{value}"),
            Self::String(value) => write!(f, "{value:?}"),
        }
    }
}
