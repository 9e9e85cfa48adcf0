//! The rules of a step plan, by number, and a breach of one.
//!
//! The verification names them, and so does docs/step-plan.md. How each is checked is beside this file.

use std::fmt;

/// A rule of a step plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// Between two steps of a unit its inputs are prepared exactly once and given at least once, or by the step itself;
    /// the last giving carries the course in force.
    P01,
    /// Every value that is read stands for the instant that its reader names, and no published value of an instant is
    /// read after a later one was written in its place.
    P02,
    /// Every unit makes its communication step exactly once, in the phase of its rate, or once in each of equal parts.
    P03,
    /// No output of a unit is read after its inputs were set, without a step between (FMI 2.0 §4.2.4), but where the
    /// unit declares it safe or the user asked for it.
    P04,
    /// Units that step on several threads at once are different ones.
    P05,
    /// An iteration saves all units that it steps, writes outputs ahead only, and leaves the others alone.
    P06,
    /// Nothing is published or observed within an iteration.
    P07,
    /// Lists of components are ascending, so that no plan depends on the order of a file.
    P08,
    /// Every output is read once a communication step, and published once when it ends.
    P09,
    /// A past receives each published value once, after the exchange, in rising time.
    P10,
    /// A bond is corrected once a period, before the courses of its inputs are prepared.
    P11,
    /// Published outputs are checked between their last change and their first reader.
    P12,
    /// Every index is in range; a stage touches only the values that it declares.
    P13,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "P-{:02}", *self as u8 + 1)
    }
}

/// A breach of a rule by an operation of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// The thing that is wrong, with the names of the system.
    pub message: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.message)
    }
}
