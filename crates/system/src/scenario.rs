//! Scenarios: changes of variables at given times, such as faults.

use std::sync::Arc;

use crate::problem::{Source, Spanned};
use crate::system_file::Choice;

/// Timed actions on the variables of a system.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scenario {
    /// The text that was read; problems point into it.
    pub source: Arc<Source>,
    /// The actions, in the order of the file.
    pub actions: Vec<TimedAction>,
}

/// An action on one variable.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedAction {
    /// Time from which it acts, s.
    pub time: Spanned<f64>,
    /// Time until which it acts, s; without end if `None`.
    pub until: Option<Spanned<f64>>,
    /// The variable, as `component.variable`.
    pub variable: Spanned<String>,
    /// Word of the registry of actions, with parameters.
    pub action: Choice,
}

impl Scenario {
    /// A scenario without actions.
    #[must_use]
    pub fn new() -> Self {
        Self {
            source: Arc::new(Source::new("<code>", "")),
            actions: Vec::new(),
        }
    }

    /// Adds an action on `variable`, from `time`, s, on. The returned description accepts its end.
    pub fn act(
        &mut self,
        time: f64,
        variable: &str,
        action: impl Into<Choice>,
    ) -> &mut TimedAction {
        self.actions.push_mut(TimedAction {
            time: Spanned::unplaced(time),
            until: None,
            variable: Spanned::unplaced(variable.to_owned()),
            action: action.into(),
        })
    }
}

impl TimedAction {
    /// Ends the action at `time`, s.
    pub fn until(&mut self, time: f64) -> &mut Self {
        self.until = Some(Spanned::unplaced(time));
        self
    }
}
