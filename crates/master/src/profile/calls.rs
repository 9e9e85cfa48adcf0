//! Times of the calls of a component's unit.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::sampling::Tally;
use super::{ComponentTime, OperationTime, seconds};

/// Purpose of a call.
#[derive(Debug, Clone, Copy)]
pub(super) enum Call {
    /// Loads the library, makes the instance.
    Load,
    /// Until Initialization Mode has ended, with the values that are set and read until then.
    Initialize,
    Set,
    Step,
    Get,
    /// Directional derivatives.
    Derivative,
    /// Saves and restores the state.
    State,
    /// For another process or thread, within another call.
    Wait,
    Terminate,
}

/// All calls, with their words.
const CALLS: [(Call, &str); 9] = [
    (Call::Load, "load"),
    (Call::Initialize, "initialize"),
    (Call::Set, "set"),
    (Call::Step, "step"),
    (Call::Get, "get"),
    (Call::Derivative, "derivative"),
    (Call::State, "state"),
    (Call::Wait, "wait"),
    (Call::Terminate, "terminate"),
];

impl Call {
    pub(super) fn word(self) -> &'static str {
        CALLS[self as usize].1
    }
}

/// Calls of a component. Only the thread that calls the unit writes them.
#[derive(Debug)]
pub(super) struct Calls {
    component: String,
    /// Place among the components of the profile.
    number: u32,
    tallies: [Tally; CALLS.len()],
    is_initialized: AtomicBool,
    /// Time that another process has measured for its calls, ns, if one does.
    elsewhere: AtomicU64,
    measures_elsewhere: AtomicBool,
}

impl Calls {
    pub(super) fn new(component: &str, number: u32) -> Self {
        Self {
            component: component.to_owned(),
            number,
            tallies: Default::default(),
            is_initialized: AtomicBool::new(false),
            elsewhere: AtomicU64::new(0),
            measures_elsewhere: AtomicBool::new(false),
        }
    }

    pub(super) fn component(&self) -> &str {
        &self.component
    }

    pub(super) const fn number(&self) -> u32 {
        self.number
    }

    #[inline]
    pub(super) const fn tally(&self, call: Call) -> &Tally {
        &self.tallies[call as usize]
    }

    /// Stretches that were measured.
    pub(super) fn stretches(&self) -> u64 {
        self.tallies.iter().map(Tally::timed_calls).sum()
    }

    /// Adds time that another process has measured, ns.
    pub(super) fn add_elsewhere(&self, nanoseconds: u64) {
        self.measures_elsewhere.store(true, Ordering::Relaxed);
        let sum = self.elsewhere.load(Ordering::Relaxed);
        // The number is another process's.
        let sum = sum.saturating_add(nanoseconds);
        self.elsewhere.store(sum, Ordering::Relaxed);
    }

    /// Its sums over the macro-steps, with the number and the time of calls that were made together with others.
    pub(super) fn sums(&self, together: impl Fn(Call) -> (u64, f64)) -> ComponentTime {
        let time = |call: Call| self.tally(call).seconds() + together(call).1;
        let calls = [
            Call::Set,
            Call::Step,
            Call::Get,
            Call::Derivative,
            Call::State,
        ];
        let wait = time(Call::Wait);
        let is_elsewhere = self.measures_elsewhere.load(Ordering::Relaxed);
        let elsewhere = is_elsewhere.then(|| seconds(self.elsewhere.load(Ordering::Relaxed)));
        ComponentTime {
            component: self.component.clone(),
            compute: elsewhere.unwrap_or_else(|| calls.map(time).iter().sum()),
            wait,
            transfer: elsewhere.map(|compute| (wait - compute).max(0.0)),
        }
    }

    /// Initialization Mode has ended.
    pub(super) fn is_initialized(&self) -> bool {
        self.is_initialized.load(Ordering::Relaxed)
    }

    pub(super) fn end_initialization(&self) {
        self.is_initialized.store(true, Ordering::Relaxed);
    }

    /// Those that were made, with the number and the time of those that were made together with others.
    pub(super) fn times(&self, together: impl Fn(Call) -> (u64, f64)) -> Vec<OperationTime> {
        let time = |(call, word): (Call, &'static str)| {
            let (calls, seconds) = together(call);
            OperationTime {
                component: Some(self.component.clone()),
                operation: word,
                calls: calls + self.tally(call).calls(),
                seconds: seconds + self.tally(call).seconds(),
            }
        };
        let times = CALLS.into_iter().map(time);
        times.filter(|time| time.calls > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_stands_at_its_place() {
        for (place, (call, _)) in CALLS.into_iter().enumerate() {
            assert_eq!(call as usize, place);
        }
    }
}
