//! A scenario while it runs, as data. The engine moves it on once a macro-step.

use std::sync::Arc;

use crate::scenario::{Action, Transformation, reached};
use crate::state_stream::{StateStream, Stored};
use crate::unit::VariableType;

/// The actions of a scenario on a running system.
#[derive(Default)]
pub(crate) struct RunningScenario {
    /// One for each variable that is acted on.
    pub(crate) channels: Vec<Channel>,
    /// Begins and ends so far.
    pub(crate) done: Vec<DoneAction>,
}

/// Begin or end of an action.
#[derive(Clone)]
pub(crate) struct DoneAction {
    /// The communication point, s.
    pub(crate) time: f64,
    pub(crate) variable: Arc<str>,
    pub(crate) action: &'static str,
    pub(crate) parameters: ActionParameters,
    pub(crate) event: &'static str,
}

/// Parameters of an action, by their names.
pub(crate) type ActionParameters = Arc<[(&'static str, f64)]>;

/// A variable with the actions on it.
pub(crate) struct Channel {
    /// Name of the variable.
    pub(crate) name: Arc<str>,
    pub(crate) target: Target,
    /// By time; at one time in the order of the scenario.
    pub(crate) actions: Vec<ChannelAction>,
}

impl Clone for Channel {
    fn clone(&self) -> Self {
        Self {
            name: Arc::clone(&self.name),
            target: self.target,
            actions: self.actions.clone(),
        }
    }

    /// Allocates nothing if `source` is of the same scenario.
    fn clone_from(&mut self, source: &Self) {
        self.name.clone_from(&source.name);
        self.target = source.target;
        self.actions.clone_from(&source.actions);
    }
}

/// The place of a variable. Values of all types are numbers ([`number_of`](crate::scenario::number_of)).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Target {
    /// Global index of a connected real input.
    Connected(usize),
    /// An end of a connection of which at least one end is not real.
    Wired {
        /// Index in the graph.
        wire: usize,
        end: WireEnd,
        kind: VariableType,
        /// The transformation over the coming step.
        applied: Transformation,
        /// The transformation at the start of a communication step which is made when it ends.
        kept: Transformation,
        /// Value over the step before.
        given: f64,
    },
    /// An input that nothing feeds, or a tunable parameter.
    Free {
        component: usize,
        variable: usize,
        kind: VariableType,
        /// Value without the scenario.
        base: f64,
        /// Value that the unit has.
        given: f64,
    },
}

impl Target {
    /// Whether two targets are the same place, whatever their values are.
    pub(crate) fn is_at_place_of(&self, other: &Self) -> bool {
        let place = |target: &Self| match *target {
            Self::Connected(input) => (0, input, 0),
            Self::Wired { wire, end, .. } => (1 + usize::from(end == WireEnd::Input), wire, 0),
            Self::Free {
                component,
                variable,
                ..
            } => (3, component, variable),
        };
        place(self) == place(other)
    }
}

/// An end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WireEnd {
    /// The output, before the conversion of its value.
    Output,
    /// The input, after it.
    Input,
}

/// An action and its times, s.
#[derive(Clone)]
pub(crate) struct ChannelAction {
    pub(crate) name: &'static str,
    pub(crate) parameters: ActionParameters,
    /// The variable that the scenario names: this one, or the output that feeds it. `None` if the begin and end of
    /// the action are reported at another input of that output.
    pub(crate) reported_as: Option<Arc<str>>,
    pub(crate) action: Arc<dyn Action>,
    pub(crate) ends_others: bool,
    pub(crate) time: f64,
    pub(crate) until: f64,
    pub(crate) phase: Phase,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Phase {
    Waiting,
    /// With the communication point at which it began, s, and the value over the step before; NaN until
    /// there is one.
    Acting {
        since: f64,
        held: f64,
    },
    Over,
}

impl Channel {
    /// Begins and ends the actions that are due at the communication point `time`, s, and returns whether
    /// there were any. `held` is the value over the step before.
    pub(crate) fn advance(&mut self, time: f64, held: f64, done: &mut Vec<DoneAction>) -> bool {
        let mut has_changed = false;
        for index in 0..self.actions.len() {
            let action = &mut self.actions[index];
            match action.phase {
                Phase::Waiting if reached(time, action.until) => action.phase = Phase::Over,
                Phase::Waiting if reached(time, action.time) => {
                    action.phase = Phase::Acting { since: time, held };
                    done.extend(action.report(time, "begin"));
                    has_changed = true;
                    if action.ends_others {
                        action.phase = Phase::Over;
                        self.end_all(index, time, done);
                    }
                }
                Phase::Acting { .. } if reached(time, action.until) => {
                    action.phase = Phase::Over;
                    done.extend(action.report(time, "end"));
                    has_changed = true;
                }
                _ => {}
            }
        }
        has_changed
    }

    fn end_all(&mut self, before: usize, time: f64, done: &mut Vec<DoneAction>) {
        for action in &mut self.actions[..before] {
            if matches!(action.phase, Phase::Acting { .. }) {
                done.extend(action.report(time, "end"));
                action.phase = Phase::Over;
            }
        }
    }

    /// Gives the actions that began with the simulation the first value of their variable.
    pub(crate) fn hold_first(&mut self, value: f64) {
        for action in &mut self.actions {
            if let Phase::Acting { held, .. } = &mut action.phase
                && held.is_nan()
            {
                *held = value;
            }
        }
    }

    /// All actions that hold at the communication point `time`, s, one after the other. One that needs a value
    /// over a step before changes nothing until there is one.
    pub(crate) fn transformation(&self, time: f64) -> Transformation {
        let mut whole = Transformation::IDENTITY;
        for action in &self.actions {
            if let Phase::Acting { since, held } = action.phase {
                let change = action.action.transformation(time - since, held);
                if !change.offset.is_nan() {
                    whole = change.after(whole);
                }
            }
        }
        whole
    }
}

impl ChannelAction {
    pub(crate) fn report(&self, time: f64, event: &'static str) -> Option<DoneAction> {
        Some(DoneAction {
            time,
            variable: Arc::clone(self.reported_as.as_ref()?),
            action: self.name,
            parameters: Arc::clone(&self.parameters),
            event,
        })
    }
}

impl Stored for Channel {
    fn transfer(&mut self, stream: &mut StateStream) {
        match &mut self.target {
            Target::Connected(_) => {}
            Target::Wired {
                applied,
                kept,
                given,
                ..
            } => {
                for transformation in [applied, kept] {
                    stream.keep(&mut transformation.factor);
                    stream.keep(&mut transformation.offset);
                }
                stream.keep(given);
            }
            Target::Free { base, given, .. } => {
                stream.keep(base);
                stream.keep(given);
            }
        }
        let mut phases: Vec<Phase> = self.actions.iter().map(|action| action.phase).collect();
        stream.keep(&mut phases);
        for (action, phase) in self.actions.iter_mut().zip(phases) {
            action.phase = phase;
        }
    }
}

impl Stored for Phase {
    fn transfer(&mut self, stream: &mut StateStream) {
        let (mut number, mut times) = match *self {
            Self::Waiting => (0, (0.0, 0.0)),
            Self::Acting { since, held } => (1, (since, held)),
            Self::Over => (2, (0.0, 0.0)),
        };
        stream.below(&mut number, 3);
        stream.keep(&mut times);
        *self = match number {
            0 => Self::Waiting,
            1 => Self::Acting {
                since: times.0,
                held: times.1,
            },
            _ => Self::Over,
        };
    }
}
