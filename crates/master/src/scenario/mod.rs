//! Actions on variables: effects of a fault, or a test, on a value on its way to a unit.
//!
//! An action holds from the first communication point that is not before its time, until the first one
//! that is not before its end. Over a communication step it is affine in the value, and the same: an input
//! gets factor·u + offset. Integers, items of enumerations and truth values are computed as numbers, of which a double
//! has every one exactly.

mod actions;

use std::fmt;
use std::sync::Arc;

use crate::need::{Facts, Need};
use crate::registry::{Entry, EntryKind};
use crate::unit::{Value, VariableType};

pub(crate) use crate::block::reached;

/// A value u becomes factor·u + offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transformation {
    /// Factor, without unit.
    pub factor: f64,
    /// Offset, in the unit of the variable.
    pub offset: f64,
}

impl Transformation {
    /// The value stays as it is.
    pub const IDENTITY: Self = Self {
        factor: 1.0,
        offset: 0.0,
    };

    /// The value is replaced.
    #[must_use]
    pub const fn constant(value: f64) -> Self {
        Self {
            factor: 0.0,
            offset: value,
        }
    }

    /// This one, of the value that `first` gives.
    pub(crate) fn after(self, first: Self) -> Self {
        // 0·∞ would be NaN: the factor of a replaced value is not computed.
        if self.factor == 0.0 {
            return self;
        }
        Self {
            factor: self.factor * first.factor,
            offset: self.factor * first.offset + self.offset,
        }
    }

    /// The transformed value.
    pub(crate) fn of(self, value: f64) -> f64 {
        if self.factor == 0.0 {
            return self.offset;
        }
        self.factor * value + self.offset
    }
}

/// An action on a variable.
pub trait Action: fmt::Debug + Send + Sync {
    /// The transformation over the communication step that begins `since` s after the action has begun.
    /// `held` is the value that the variable had over the step before that.
    fn transformation(&self, since: f64, held: f64) -> Transformation;
}

/// An action on an output y, as one on an input u = factor·y + offset that it feeds: if y becomes
/// a·y + b, u becomes a·u + factor·b + (1 − a)·offset.
#[derive(Debug)]
pub(crate) struct PassedOn {
    pub(crate) action: Arc<dyn Action>,
    pub(crate) factor: f64,
    pub(crate) offset: f64,
}

impl Action for PassedOn {
    fn transformation(&self, since: f64, held: f64) -> Transformation {
        if self.factor == 0.0 {
            return Transformation::IDENTITY;
        }
        let held = (held - self.offset) / self.factor;
        let Transformation { factor, offset } = self.action.transformation(since, held);
        Transformation {
            factor,
            offset: self.factor * offset + (1.0 - factor) * self.offset,
        }
    }
}

/// Facts about an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ActionFacts {
    /// It ends all actions on the variable that have begun before it.
    pub ends_others: bool,
    /// The types of variables that it acts on.
    pub acts_on: ActsOn,
}

/// Types of variables that an action acts on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ActsOn {
    /// Real variables.
    #[default]
    Reals,
    /// Real and Integer variables: it makes whole numbers of whole numbers.
    Numbers,
    /// Variables of every type but String: it replaces values, or leaves them as they are.
    AnyType,
}

/// A value as the number that actions compute with; `None` for a text.
pub(crate) fn number_of(value: &Value) -> Option<f64> {
    match value {
        Value::Real(value) => Some(*value),
        Value::Integer(value) => Some(f64::from(*value)),
        Value::Boolean(value) => Some(f64::from(u8::from(*value))),
        Value::String(_) => None,
    }
}

/// The value of a type that is a number.
///
/// # Errors
/// A reason that follows the name of the variable.
pub(crate) fn value_of(kind: VariableType, number: f64) -> Result<Value, String> {
    let is_integer =
        number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number);
    match kind {
        VariableType::Real => Ok(Value::Real(number)),
        VariableType::Boolean if number == 0.0 || number == 1.0 => {
            Ok(Value::Boolean(number == 1.0))
        }
        VariableType::Boolean => Err(format!("{number}, which is neither true nor false")),
        VariableType::String => Err(format!("{number}, which is not a text")),
        VariableType::Integer | VariableType::Enumeration if is_integer => {
            Ok(Value::Integer(number as i32))
        }
        VariableType::Integer | VariableType::Enumeration => {
            Err(format!("{number}, which is not an Integer of 32 bits"))
        }
    }
}

impl Facts for ActionFacts {
    fn needs(&self) -> Vec<Need> {
        Vec::new()
    }
}

impl EntryKind for dyn Action {
    const NAME: &'static str = "action";
    type Made = Box<dyn Action>;
    type Context = ();
    type Facts = ActionFacts;
    const USUAL: () = ();
}

/// Every action, by its word in a scenario.
pub const ACTIONS: &[Entry<dyn Action>] = &[
    actions::OVERRIDE,
    actions::BIAS,
    actions::SCALE,
    actions::RAMP,
    actions::FREEZE,
    actions::DROP_OUT,
    actions::RESET,
];
