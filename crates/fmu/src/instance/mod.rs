//! An instance of an FMU: every call checked against the state table before it is made, every
//! status with one effect after it (FMI 2.0.5 sections 2.1.3 and 4.2.4).
//!
//! | status | effect |
//! |---|---|
//! | OK | success |
//! | Warning | success, counted |
//! | Discard | from `do_step` an outcome; from any other call an error that changes nothing |
//! | Error, any unknown number | an error; only restoring a state, reset, reading and freeing remain, except after calls for derivatives and [reads that are only tried](Instance::try_read) |
//! | Fatal | an error; nothing is called any more, the instance is leaked |
//! | Pending | from `do_step`: waits for the end of the step; from any other call an error |

mod calls;
mod derivatives;
mod lane;
mod making;
mod pending;
mod saved_state;
mod values;

pub use lane::{Held, Interruption, Lane, Ports};
pub use making::InstanceOptions;
pub(crate) use making::Making;
pub use saved_state::{FmuState, LONGEST_STATE};

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fmi2_abi::{Component, Function, SlaveState};

use crate::description::{BaseType, ModelDescription};
use crate::error::{CallError, Refusal, Status};
use crate::flight_recorder::{Slot, SlotGuard};
use crate::float_control::{self, FloatControl};
use crate::functions::Functions;
use crate::library::Library;
use crate::logger::LogSink;
use crate::surroundings::{Change, Watch};
use crate::warning::Warning;

/// Result of a call: one word, so that success costs one comparison.
pub type CallResult = Result<(), Box<CallError>>;

/// Outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepOutcome {
    /// The whole step was done.
    Done,
    /// The FMU has stopped before the end of the step (C-39). A saved state can be restored and
    /// a shorter step tried; the next step is not allowed without that.
    Discarded {
        /// Up to when it got, if it says so; in the unit of time of the FMU, usually s.
        last_successful_time: Option<f64>,
        /// Whether it asks for the end of the simulation.
        terminated: bool,
    },
}

/// A co-simulation slave.
///
/// Can be sent to another thread, but used by one at a time (C-76). Dropping it frees it.
#[repr(C)]
pub struct Instance {
    // `repr(C)`: the fields that every call needs come first and are kept together.
    component: Component,
    state: SlaveState,
    /// Number of the next step, for the checks that not every step needs.
    step: u16,
    /// The control words of the floating-point unit, which calls must not change (C-77).
    float_control: FloatControl,
    set_real: fmi2_abi::signature::Set<fmi2_abi::Real>,
    get_real: fmi2_abi::signature::Get<fmi2_abi::Real>,
    do_step: fmi2_abi::signature::DoStep,
    /// The slot in which each call is noted.
    slot: &'static Slot,
    cold: Box<Cold>,
}

/// Violations of FMI 2.0 that were tolerated.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Violations {
    /// Whether it has called the logger with another environment than it was given (2.1.5).
    pub logs_with_foreign_environment: bool,
    /// A name that it has called the logger with, and that is not the name of the instance.
    pub logs_with_name: Option<String>,
    /// Whether the floating-point control words were found changed after a call (C-77): by that call,
    /// or by an earlier one of any instance.
    pub changes_float_control: bool,
}

/// Capabilities that the FMU declares.
#[derive(Debug, Clone, Copy)]
struct Capabilities {
    interpolates_inputs: bool,
    output_derivative_order: u32,
    saves_state: bool,
    serializes_state: bool,
    directional_derivative: bool,
    runs_asynchronously: bool,
}

impl Capabilities {
    fn of(description: &ModelDescription) -> Self {
        let claims = description.co_simulation.as_ref();
        Self {
            interpolates_inputs: claims.is_some_and(|c| c.can_interpolate_inputs),
            output_derivative_order: claims.map_or(0, |c| c.max_output_derivative_order),
            saves_state: claims.is_some_and(|c| c.can_get_and_set_fmu_state),
            serializes_state: claims.is_some_and(|c| c.can_serialize_fmu_state),
            directional_derivative: claims.is_some_and(|c| c.provides_directional_derivative),
            runs_asynchronously: claims.is_some_and(|c| c.can_run_asynchronuously),
        }
    }
}

/// Data that calls need only in case of an error.
struct Cold {
    /// All functions; libraries are never unloaded.
    functions: &'static Functions,
    warnings_count: u64,
    /// Whether `fmi2SetupExperiment` was called, which Initialization Mode needs (C-31).
    is_set_up: bool,
    /// How long a step may run in the background.
    pending_timeout: Duration,
    interrupt: Option<Arc<AtomicBool>>,
    /// Whether it was said that the FMU changes the floating-point control words.
    has_changed_float_control: bool,
    /// Whether they were found changed.
    float_control_was_changed: bool,
    capabilities: Capabilities,
    /// Numbers and pointers on their way across the interface; kept to avoid allocation.
    integers: Vec<i32>,
    strings: Vec<fmi2_abi::String>,
    name: String,
    description: Arc<ModelDescription>,
    sink: Arc<LogSink>,
    load_warnings: Vec<Warning>,
    saved: saved_state::SavedStates,
    /// Shared by all instances of the FMU: one of them has reported Fatal.
    fatal: Arc<AtomicBool>,
    /// What it changes of the process, if that is watched.
    watch: Option<Watch>,
    keeps_thread: bool,
    _library: Library,
    _guard: SlotGuard,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance")
            .field("name", &self.cold.name)
            .field("model", &self.cold.description.model_name)
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

impl Instance {
    /// Name of the instance.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.cold.name
    }

    /// The model.
    #[must_use]
    pub fn description(&self) -> &Arc<ModelDescription> {
        &self.cold.description
    }

    /// The last line that the FMU has logged for this instance.
    #[must_use]
    pub fn last_log(&self) -> Option<String> {
        self.cold.sink.last()
    }

    /// How many calls have returned Warning.
    #[must_use]
    pub const fn warnings_count(&self) -> u64 {
        self.cold.warnings_count
    }

    /// Violations of FMI 2.0 by the FMU that were tolerated.
    #[must_use]
    pub fn violations(&self) -> Violations {
        let (logs_with_foreign_environment, logs_with_name) = self.cold.sink.foreign();
        Violations {
            logs_with_foreign_environment,
            logs_with_name,
            changes_float_control: self.cold.float_control_was_changed,
        }
    }

    /// Violations by the library that were tolerated while it was loaded.
    #[must_use]
    pub fn load_warnings(&self) -> &[Warning] {
        &self.cold.load_warnings
    }

    /// What its calls have changed of the process, such as the locale: [instantiation, initialisation and the first
    /// step](crate::Change).
    #[must_use]
    pub fn process_changes(&self) -> &[Change] {
        self.cold.watch.as_ref().map_or(&[], |watch| &watch.changes)
    }

    /// Whether it has to be called by the thread that made it: [`Sharing::keeps_thread`](crate::Sharing::keeps_thread).
    #[must_use]
    pub const fn keeps_thread(&self) -> bool {
        self.cold.keeps_thread
    }

    /// State by the table of section 4.2.4.
    #[must_use]
    pub const fn state(&self) -> SlaveState {
        self.state
    }

    /// Refuses a call that the state does not allow (C-24).
    #[inline(always)]
    fn allow(&self, function: Function) -> CallResult {
        if function.legal_in().contains(self.state) {
            Ok(())
        } else {
            Err(self.illegal(function))
        }
    }

    /// As [`Self::allow`], and refuses as well after Fatal of another instance (C-26). For calls
    /// that are made a few times per run.
    fn allow_rare(&self, function: Function) -> CallResult {
        self.allow(function)?;
        if self.cold.fatal.load(Ordering::Acquire) {
            let detail = "another instance of the FMU has reported a fatal error";
            return Err(self.refuse(function, Refusal::SlaveState, detail.to_owned()));
        }
        Ok(())
    }

    /// Refuses arrays that do not fit each other.
    #[inline(always)]
    fn same_length(&self, function: Function, references: usize, values: usize) -> CallResult {
        if references == values {
            Ok(())
        } else {
            Err(self.mismatch(function, references, values))
        }
    }

    /// Gives a status its effect.
    #[inline]
    fn conclude(&mut self, function: Function, status: fmi2_abi::Status) -> CallResult {
        let is_well = status == fmi2_abi::OK
            && self.float_control.seems_to_hold()
            && !float_control::all_are_watched();
        if is_well {
            Ok(())
        } else {
            self.conclude_slowly(function, status)
        }
    }

    /// Gives the thread its floating-point control words back after `call`, and
    /// says once that the FMU has changed them.
    #[cold]
    #[inline(never)]
    fn restore_float_control(&mut self, call: &str) {
        let found = FloatControl::current();
        if found == self.float_control {
            return;
        }
        self.float_control.restore();
        self.cold.float_control_was_changed = true;
        let is_certain = float_control::watch_all()
            || self.step <= 1
            || self.float_control.is_seen_at_once(&found);
        let who = match is_certain {
            true if std::mem::replace(&mut self.cold.has_changed_float_control, true) => return,
            true => "",
            false => ", or a call before it,",
        };
        self.cold.warnings_count += 1;
        let changes = self.float_control.changes_to(found);
        self.cold.sink.warn(&format!(
            "{call}{who} has changed {changes}, which FMI 2.0 forbids; it is put back after each call"
        ));
    }

    /// Looks at everything and gives a status its effect.
    #[cold]
    #[inline(never)]
    fn conclude_slowly(&mut self, function: Function, status: fmi2_abi::Status) -> CallResult {
        self.restore_float_control(function.name());
        let status = Status::from_raw(status);
        match status {
            Status::Ok | Status::NotCalled(_) => return Ok(()),
            Status::Warning => {
                self.cold.warnings_count += 1;
                return Ok(());
            }
            Status::Discard => {}
            Status::Error | Status::Unknown(_) => self.state = SlaveState::Error,
            Status::Fatal => {
                self.state = SlaveState::Fatal;
                self.cold.fatal.store(true, Ordering::Release);
            }
            Status::Pending | Status::TimedOut(_) | Status::Interrupted => {
                self.state = SlaveState::Error;
            }
        }
        Err(self.failure(function, status, None))
    }

    /// Names the values in the error of a call that has refused them (C-40).
    #[cold]
    #[inline(never)]
    fn name_values(
        &self,
        mut error: Box<CallError>,
        base_type: BaseType,
        references: &[u32],
        value: &dyn Fn(usize) -> String,
    ) -> Box<CallError> {
        const NAMED: usize = 5;
        let mut values: Vec<String> = references
            .iter()
            .take(NAMED)
            .enumerate()
            .map(|(index, reference)| {
                let variable = self
                    .cold
                    .description
                    .variable_by_reference(base_type, *reference);
                match variable {
                    Some(variable) => format!("{} = {}", variable.name, value(index)),
                    None => format!("value reference {reference} = {}", value(index)),
                }
            })
            .collect();
        if references.len() > NAMED {
            values.push(format!("and {} more", references.len() - NAMED));
        }
        error.detail = Some(values.join(", "));
        error
    }

    #[cold]
    #[inline(never)]
    fn failure(
        &self,
        function: Function,
        status: Status,
        detail: Option<String>,
    ) -> Box<CallError> {
        Box::new(CallError {
            instance: self.cold.name.clone(),
            function: function.name(),
            status,
            detail,
            last_log: self.last_log(),
        })
    }

    #[cold]
    #[inline(never)]
    fn refuse(&self, function: Function, refusal: Refusal, detail: String) -> Box<CallError> {
        let mut error = self.failure(function, Status::NotCalled(refusal), Some(detail));
        // The FMU has no part in a call that was not made, unless it failed before.
        if !matches!(self.state, SlaveState::Error | SlaveState::Fatal) {
            error.last_log = None;
        }
        error
    }

    #[cold]
    #[inline(never)]
    fn illegal(&self, function: Function) -> Box<CallError> {
        let detail = format!("FMI 2.0 forbids it in state \"{}\"", self.state.name());
        self.refuse(function, Refusal::SlaveState, detail)
    }

    #[cold]
    #[inline(never)]
    fn mismatch(&self, function: Function, references: usize, values: usize) -> Box<CallError> {
        let detail = format!("{references} value references with {values} values");
        self.refuse(function, Refusal::Arguments, detail)
    }

    /// An optional function, or why it cannot be used.
    fn capable<T>(
        &self,
        function: Function,
        claim: &str,
        claimed: bool,
        available: Option<T>,
    ) -> Result<T, Box<CallError>> {
        if !claimed {
            let detail = format!("the FMU does not declare {claim}");
            return Err(self.refuse(function, Refusal::Capability, detail));
        }
        available.ok_or_else(|| {
            let detail = "the library does not export it".to_owned();
            self.refuse(function, Refusal::Capability, detail)
        })
    }
}
