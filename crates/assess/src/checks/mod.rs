//! Checks of a run: requirements on its signals, its energies and its verdict.
//!
//! A [`Check`] is made in code, or [`read`] from a file. [`Judging`] finds the things that checks are about in a
//! system, sees them at every communication point while the run goes on, and says at its end which checks hold.
//!
//! ```
//! use gyrator::{ClosureUnit, RunOptions, System};
//! use gyrator_assess::{Check, Checks, Judging};
//!
//! let mut system = System::new(0.01);
//! system.stop_time(2.0);
//! let decay = ClosureUnit::new(&[], &[("y", 1.0)], |call| {
//!     call.outputs[0] = (-(call.time + call.step)).exp();
//! });
//! system.add("decay", decay);
//! let mut run = system.start(&RunOptions::default())?;
//!
//! let checks = Checks::from([
//!     Check::never_above("decay.y", 1.0),
//!     Check::within("decay.y", 0.25, 0.15).from(1.0),
//! ]);
//! let judging = Judging::new(&checks, run.graph(), 0.0, Some(2.0))?;
//! run.observe(judging.observer())?;
//! let report = run.run()?;
//! assert!(judging.conclude(&report).iter().all(|finding| finding.holds()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod balance_above;
mod balance_below;
mod bounds;
mod case;
mod ending;
mod energy_error_below;
mod energy_limit;
mod finding;
mod judging;
mod net_energy_error_below;
mod never_above;
mod never_below;
mod place;
mod reaches;
mod reading;
mod recording;
mod residual_energy_below;
mod rows;
mod settles;
#[cfg(test)]
mod tests;
mod verdict_at_least;
mod within;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use gyrator::View;
use gyrator::record::BondValue;
use gyrator_system::toml_file::section::Reader;
use gyrator_system::{Source, Spanned};
use toml::Spanned as Placed;
use toml::de::DeValue;

pub use ending::{BondEnd, RunEnd};
pub use energy_limit::EnergyLimit;
pub use finding::{Finding, Outcome};
pub use gyrator::short;
pub use judging::Judging;
pub use reading::{parse, read};
pub use recording::Recording;
pub use rows::Rows;

/// Every kind of check, by its word in a file of checks.
pub const KINDS: &[Kind] = &[
    never_above::KIND,
    never_below::KIND,
    within::KIND,
    settles::KIND,
    reaches::KIND,
    energy_error_below::KIND,
    residual_energy_below::KIND,
    net_energy_error_below::KIND,
    balance_above::KIND,
    balance_below::KIND,
    verdict_at_least::KIND,
];

/// Reads the value of a key.
pub type ReadRequirement = fn(&Placed<DeValue<'_>>, &mut Reader) -> Option<Arc<dyn Requirement>>;

/// A kind of check.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The key in a file of checks.
    pub word: &'static str,
    /// The value that the key takes, and the meaning of the check.
    pub summary: &'static str,
    /// The quantity that it looks at.
    pub quantity: Quantity,
    /// Reads the value of the key; reports what is wrong with it.
    pub read: ReadRequirement,
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word)
    }
}

/// The quantity that a kind of check looks at.
#[derive(Clone, Copy)]
pub enum Quantity {
    /// A variable of the system, or `bond.NAME.VALUE`.
    Signal,
    /// This value of a bond, or its sum over all power bonds.
    OfBonds(BondValue),
    /// This value of a component.
    OfComponent(fn(&View<'_>, usize) -> f64),
    /// The report on a bond, or on the run.
    Report,
}

impl Quantity {
    /// The key of a file that says which signals, bonds or components are meant.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Signal => "signal",
            Self::OfBonds(_) | Self::Report => "bond",
            Self::OfComponent(_) => "component",
        }
    }

    /// Whether it is about the whole system if the key is left out.
    pub const fn may_be_whole(self) -> bool {
        matches!(self, Self::OfBonds(_) | Self::Report)
    }
}

/// The part of a run that is looked at, s; both ends belong to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    /// From when on; the start if `None`.
    pub from: Option<Spanned<f64>>,
    /// Until when; the end if `None`.
    pub until: Option<Spanned<f64>>,
}

/// The demand of a check.
pub trait Requirement: fmt::Debug + Send + Sync {
    /// In words that follow the name of a signal: `is never above 0.6`.
    fn text(&self) -> String;

    /// The part of the run that is looked at, if the check gives `window`.
    fn window(&self, window: Window) -> Window {
        window
    }

    /// The words for a value that is not a number.
    fn not_a_number(&self) -> &'static str {
        "is not a number"
    }

    /// Begins to judge one signal, bond or component.
    fn judge(&self) -> Box<dyn Judge>;
}

/// Judges one signal, bond or component while the run goes on.
pub trait Judge: Send {
    /// Takes the value at a communication point of the window; never NaN.
    fn see(&mut self, time: f64, value: f64) {
        let _ = (time, value);
    }

    /// The worst that was seen against the requirement; `None` if it holds.
    fn violation(&self, end: &End<'_>) -> Option<Violation>;
}

/// The end of a run, as a [`Judge`] sees it.
#[derive(Debug, Clone, Copy)]
pub struct End<'a> {
    /// The run.
    pub run: &'a RunEnd,
    /// The bond that is judged, in the order of the report; `None` if it is the whole system.
    pub bond: Option<usize>,
}

/// How a requirement is not met.
#[derive(Debug, Clone, PartialEq)]
pub struct Violation {
    /// In words that follow the name of the signal: `is 0.7, 0.1 above 0.6`.
    pub text: String,
    /// The worst value, in the unit of the signal.
    pub value: Option<f64>,
    /// The time of it, s.
    pub time: Option<f64>,
    /// How far it is beyond what is allowed, in the unit of the signal.
    pub excess: Option<f64>,
    /// A run that ends early also shows it: later values change nothing.
    pub is_definite: bool,
}

/// A requirement on signals, bonds, components or the run.
#[derive(Debug, Clone)]
pub struct Check {
    name: Option<String>,
    kind: Kind,
    /// Names, with `*` and `?` for any text and any character; the whole system if `None`.
    subject: Option<Spanned<String>>,
    window: Window,
    requirement: Arc<dyn Requirement>,
    /// The bytes of the file that say it.
    span: Range<usize>,
}

impl Check {
    fn new(kind: Kind, subject: Option<&str>, requirement: impl Requirement + 'static) -> Self {
        Self {
            name: None,
            kind,
            subject: subject.map(|name| Spanned::unplaced(name.to_owned())),
            window: Window::default(),
            requirement: Arc::new(requirement),
            span: 0..0,
        }
    }

    /// Calls it `name` in findings.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Looks from `time` on, s.
    #[must_use]
    pub fn from(mut self, time: f64) -> Self {
        self.window.from = Some(Spanned::unplaced(time));
        self
    }

    /// Looks until `time`, s.
    #[must_use]
    pub fn until(mut self, time: f64) -> Self {
        self.window.until = Some(Spanned::unplaced(time));
        self
    }

    /// The part of the run that is looked at.
    fn window(&self) -> Window {
        self.requirement.window(self.window.clone())
    }

    /// The check of this signal, bond or component in a sentence.
    fn sentence(&self, subject: &str) -> String {
        let window = &self.window;
        let time = |time: &Option<Spanned<f64>>, word: &str| {
            let time = time.as_ref();
            time.map_or(String::new(), |time| format!(" {word} {} s", time.value))
        };
        let (from, until) = (time(&window.from, "from"), time(&window.until, "until"));
        format!("{subject} {}{from}{until}", self.requirement.text())
    }
}

/// Checks of one run.
#[derive(Debug, Clone)]
pub struct Checks {
    source: Arc<Source>,
    list: Vec<Check>,
}

impl<const N: usize> From<[Check; N]> for Checks {
    fn from(list: [Check; N]) -> Self {
        Vec::from(list).into()
    }
}

impl From<Check> for Checks {
    fn from(check: Check) -> Self {
        [check].into()
    }
}

impl From<Vec<Check>> for Checks {
    fn from(list: Vec<Check>) -> Self {
        Self {
            source: Arc::new(Source::new("<code>", "")),
            list,
        }
    }
}

impl Checks {
    /// The checks, in the order of the file.
    pub fn list(&self) -> &[Check] {
        &self.list
    }

    /// The findings if nothing could be judged, for the reason `why`. Patterns stay as they are.
    #[must_use]
    pub fn not_judged(&self, why: &str) -> Vec<Finding> {
        let findings = self.list.iter().map(|check| {
            let subject = place::shown(check, check.subject.as_ref().map(|name| &*name.value));
            Finding::not_judged(check, &subject, why.to_owned())
        });
        finding::with_unlike_names(findings.collect())
    }
}
