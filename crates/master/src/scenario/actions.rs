//! The actions of the engine. Terms of fault injection: Avizienis et al. (2004), "Basic concepts and
//! taxonomy of dependable and secure computing"; override, bias, scale and reset as in the scenarios of
//! the Open Simulation Platform.

use super::{Action, ActionFacts, ActsOn, Transformation};
use crate::registry::{Arguments, Entry, ParameterInfo};

const OSP: &str = "scenarios of the Open Simulation Platform";
const TAXONOMY: &str = "Avizienis et al. (2004)";

/// An action that is a function of the time since it began, and of the value before.
#[derive(Debug)]
enum Change {
    Constant(Transformation),
    Ramp(f64),
    Freeze,
}

impl Action for Change {
    fn transformation(&self, since: f64, held: f64) -> Transformation {
        match self {
            Self::Constant(transformation) => *transformation,
            Self::Ramp(rate) => Transformation {
                offset: rate * since,
                ..Transformation::IDENTITY
            },
            Self::Freeze => Transformation::constant(held),
        }
    }
}

const REPLACES: ActionFacts = ActionFacts {
    ends_others: false,
    acts_on: ActsOn::AnyType,
};

/// Facts about a sum or a product with a number: whole numbers stay whole if it is one.
fn of_number(arguments: &Arguments, name: &str) -> ActionFacts {
    let is_whole = arguments.number(name).fract() == 0.0;
    ActionFacts {
        acts_on: if is_whole {
            ActsOn::Numbers
        } else {
            ActsOn::Reals
        },
        ..ActionFacts::default()
    }
}

pub(super) const OVERRIDE: Entry<dyn Action> = Entry {
    name: "override",
    summary: "the variable has this value, whatever it is given",
    source: OSP,
    parameters: &[ParameterInfo::any_number(
        "value",
        "in the unit of the variable; true or false; the name of an item",
        0.0,
    )],
    facts: |_, ()| REPLACES,
    build: |arguments| {
        let value = arguments.number("value");
        Box::new(Change::Constant(Transformation::constant(value)))
    },
};

pub(super) const BIAS: Entry<dyn Action> = Entry {
    name: "bias",
    summary: "u + value",
    source: OSP,
    parameters: &[ParameterInfo::any_number(
        "value",
        "in the unit of the variable",
        0.0,
    )],
    facts: |arguments, ()| of_number(arguments, "value"),
    build: |arguments| {
        Box::new(Change::Constant(Transformation {
            offset: arguments.number("value"),
            ..Transformation::IDENTITY
        }))
    },
};

pub(super) const SCALE: Entry<dyn Action> = Entry {
    name: "scale",
    summary: "factor·u",
    source: OSP,
    parameters: &[ParameterInfo::any_number("factor", "without unit", 1.0)],
    facts: |arguments, ()| of_number(arguments, "factor"),
    build: |arguments| {
        Box::new(Change::Constant(Transformation {
            factor: arguments.number("factor"),
            ..Transformation::IDENTITY
        }))
    },
};

pub(super) const RAMP: Entry<dyn Action> = Entry {
    name: "ramp",
    summary: "u + rate·t, t since the action began: a drift; constant over each communication step",
    source: TAXONOMY,
    parameters: &[ParameterInfo::any_number(
        "rate",
        "in the unit of the variable, per s",
        0.0,
    )],
    facts: |_, ()| ActionFacts::default(),
    build: |arguments| Box::new(Change::Ramp(arguments.number("rate"))),
};

pub(super) const FREEZE: Entry<dyn Action> = Entry {
    name: "freeze",
    summary: "the variable keeps the value that it had over the step before",
    source: TAXONOMY,
    parameters: &[],
    facts: |_, ()| REPLACES,
    build: |_| Box::new(Change::Freeze),
};

pub(super) const DROP_OUT: Entry<dyn Action> = Entry {
    name: "drop-out",
    summary: "the signal is lost: the variable is 0 or false",
    source: TAXONOMY,
    parameters: &[],
    facts: |_, ()| REPLACES,
    build: |_| Box::new(Change::Constant(Transformation::constant(0.0))),
};

pub(super) const RESET: Entry<dyn Action> = Entry {
    name: "reset",
    summary: "ends all actions on the variable that have begun before",
    source: OSP,
    parameters: &[],
    facts: |_, ()| ActionFacts {
        ends_others: true,
        ..REPLACES
    },
    build: |_| Box::new(Change::Constant(Transformation::IDENTITY)),
};
