//! Words of registries and values, as code gives them.

use gyrator_system::{Choice, Spanned, Value as FileValue};

use crate::unit::Value;

/// A word of a registry with values for its parameters, as the words of a system file:
///
/// ```
/// # use gyrator::{System, Word};
/// # let mut system = System::new(1e-3);
/// system.method("gauss-seidel");
/// system.step_control(("fixed", [("accumulate", true)]));
/// system.step_control(Word::new("ecco").with("safety", 0.8).with("indicator", "defect"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Word(Choice);

impl Word {
    /// A word whose parameters have their defaults.
    pub fn new(word: impl Into<String>) -> Self {
        Self(Choice::new(word))
    }

    /// The same word with a value for one more of its parameters.
    #[must_use]
    pub fn with(self, parameter: impl Into<String>, value: impl Into<Value>) -> Self {
        Self(self.0.with(parameter, value.into().into()))
    }

    pub(super) fn into_choice(self) -> Choice {
        self.0
    }
}

impl From<&str> for Word {
    fn from(word: &str) -> Self {
        Self::new(word)
    }
}

impl<V: Into<Value>, const N: usize> From<(&str, [(&str, V); N])> for Word {
    fn from((word, parameters): (&str, [(&str, V); N])) -> Self {
        let add = |word: Self, (parameter, value): (&str, V)| word.with(parameter, value);
        parameters.into_iter().fold(Self::new(word), add)
    }
}

impl<V: Into<Value> + Clone> From<(&str, &[(&str, V)])> for Word {
    fn from((word, parameters): (&str, &[(&str, V)])) -> Self {
        let parameters = parameters.iter().cloned();
        parameters.fold(Self::new(word), |word, (parameter, value)| {
            word.with(parameter, value)
        })
    }
}

/// A word of a description that was read.
impl From<Choice> for Word {
    fn from(choice: Choice) -> Self {
        Self(choice)
    }
}

impl From<Word> for Choice {
    fn from(word: Word) -> Self {
        word.0
    }
}

impl From<Value> for FileValue {
    fn from(value: Value) -> Self {
        match value {
            Value::Real(value) => Self::Real(value),
            Value::Integer(value) => Self::Integer(i64::from(value)),
            Value::Boolean(value) => Self::Boolean(value),
            Value::String(value) => Self::String(value),
        }
    }
}

pub(super) fn unplaced<T>(value: T) -> Option<Spanned<T>> {
    Some(Spanned::unplaced(value))
}
