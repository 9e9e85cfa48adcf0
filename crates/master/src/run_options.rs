//! Options of a run that no system file holds.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use gyrator_fmu::InstanceOptions;

use crate::dispatch::StepClock;

/// How a run is made; none of it changes a result.
#[derive(Debug, Clone, Default)]
pub struct RunOptions {
    /// Threads that may step the units, if that is faster; 0 and 1 step them on the caller's.
    pub threads: usize,
    /// The clock by which it is found whether several threads are faster.
    pub step_clock: StepClock,
    /// FMUs log all that they can, not only what they must.
    pub log_fmu_calls: bool,
    /// NaN and infinite values are passed on instead of ending the run.
    pub accept_not_finite: bool,
    /// Ends the run at the next communication point once it is true, as an interruption.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// The run does not end at the stop time by itself: it stays there, so that its state can be saved and gone back
    /// from, until it is [stopped](crate::Run::stop).
    pub waits_at_stop_time: bool,
    /// Longest time of a step that an FMU makes in the background (`fmi2Pending`); `None` is a minute.
    pub pending_timeout: Option<Duration>,
    /// Units get no stop time (`stopTimeDefined`, FMI 2.0 §2.1.6): their states would have it, and they refuse steps beyond
    /// it. For a run whose state is [kept](crate::run::serialize) for one with a later stop time.
    pub open_end: bool,
    /// The run is the only one of its process, from the first to the last. What an FMU changes of the process, such as the
    /// locale, is left as it is if the system has no other FMU. Otherwise it is put back.
    pub is_only_run: bool,
}

impl RunOptions {
    /// The options of the instances of FMUs in this process.
    pub(crate) fn of_instances(&self) -> InstanceOptions {
        let usual = InstanceOptions::default();
        InstanceOptions {
            logging_on: self.log_fmu_calls,
            pending_timeout: self.pending_timeout.unwrap_or(usual.pending_timeout),
            interrupt: self.interrupt.clone(),
            ..usual
        }
    }
}
