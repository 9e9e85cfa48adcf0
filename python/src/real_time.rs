//! Runs that keep step with the clock.

use gyrator::real_time::{Overruns, RealTime, StepThread};
use pyo3::prelude::*;

use crate::error;

/// Whether a run keeps step with the clock, and how many simulated seconds a second.
#[derive(FromPyObject)]
pub(crate) enum Pace {
    Wanted(bool),
    Factor(f64),
}

/// The other keywords of real time.
pub(crate) struct Options<'a> {
    pub(crate) overruns: &'a str,
    pub(crate) cpu: Option<usize>,
    pub(crate) fifo_priority: Option<u8>,
    pub(crate) lock_memory: bool,
}

impl Options<'_> {
    /// The observer that holds the run; `None` where it is not wanted.
    pub(crate) fn observer(&self, py: Python<'_>, pace: &Pace) -> PyResult<Option<RealTime>> {
        let factor = match pace {
            Pace::Wanted(false) => return Ok(None),
            Pace::Wanted(true) => 1.0,
            Pace::Factor(factor) => *factor,
        };
        if !(factor > 0.0 && factor.is_finite()) {
            let text = format!("`real_time` is {factor}; it must be finite and greater than 0");
            return Err(error::usage(py, text));
        }
        let policies = [Overruns::Warn, Overruns::Stop, Overruns::Skip];
        let mut named = policies.into_iter();
        let Some(policy) = named.find(|policy| policy.word() == self.overruns) else {
            let known = policies.map(Overruns::word).join(", ");
            let text = format!("there is no policy `{}`; known: {known}", self.overruns);
            return Err(error::usage(py, text));
        };
        let mut thread = StepThread::default();
        thread.cpu = self.cpu;
        thread.fifo_priority = self.fifo_priority;
        thread.locks_memory = self.lock_memory;
        let real_time = RealTime::new().factor(factor).overruns(policy);
        Ok(Some(real_time.thread(thread)))
    }
}
