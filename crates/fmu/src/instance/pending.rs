//! Steps that continue in the background (FMI 2.0.5 sections 4.2.2 and 4.2.3, C-43).

#![expect(unsafe_code, reason = "calls the functions of the FMU")]

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fmi2_abi::{Function, SlaveState};

use super::Instance;
use crate::error::Status;
use crate::flight_recorder;

/// How long a step may continue after the user has interrupted the run.
const GRACE: Duration = Duration::from_secs(3);

/// Shortest and longest pause between two questions to the FMU.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(2));

impl Instance {
    /// Waits for the end of a step that has returned Pending: the status it ends with, or why
    /// there is none.
    pub(super) fn wait_for_step(&mut self) -> Result<fmi2_abi::Status, (Status, String)> {
        self.state = SlaveState::StepInProgress;
        if !self.calls_back() {
            let detail = "its description does not declare canRunAsynchronuously";
            return Err((Status::Pending, detail.into()));
        }
        // A watching process sees one call that has not returned, and ends it in the end.
        let status = self
            .slot
            .call_of_step(Function::DoStep, || self.ask_until_the_end());
        match status.map_err(|detail| (Status::Pending, detail))? {
            Ok(status) => {
                self.state = SlaveState::StepComplete;
                Ok(status)
            }
            Err(reason) => Err((reason, self.give_up())),
        }
    }

    /// The status that the step ends with, or the reason to wait no longer; an error if the FMU
    /// cannot be asked.
    fn ask_until_the_end(&self) -> Result<Result<fmi2_abi::Status, Status>, String> {
        let begin = Instant::now();
        let mut interrupted_since = None;
        let mut pause = PAUSES.0;
        loop {
            if let Some(status) = self.status_of_step()? {
                return Ok(Ok(status));
            }
            if !flight_recorder::is_watched() {
                if begin.elapsed() >= self.cold.pending_timeout {
                    return Ok(Err(Status::TimedOut(self.cold.pending_timeout)));
                }
                if self.is_interrupted()
                    && interrupted_since.get_or_insert_with(Instant::now).elapsed() >= GRACE
                {
                    return Ok(Err(Status::Interrupted));
                }
            }
            self.cold.sink.wait_for_step(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    /// The status of the pending step once it has ended. The answer of `fmi2GetStatus` counts more
    /// than the status that the FMU calls back, which may be late and about an earlier step.
    fn status_of_step(&self) -> Result<Option<fmi2_abi::Status>, String> {
        let called_back = self.cold.sink.take_step_status();
        let Some(get_status) = self.cold.functions.get_status else {
            return Ok(called_back);
        };
        let mut answer = fmi2_abi::PENDING;
        // SAFETY: the component is alive and a step is in progress, which allows the call.
        let status = unsafe { get_status(self.component, fmi2_abi::DO_STEP_STATUS, &mut answer) };
        match Status::from_raw(status) {
            Status::Ok | Status::Warning => Ok((answer != fmi2_abi::PENDING).then_some(answer)),
            Status::Discard => Ok(called_back),
            other => Err(format!("fmi2GetStatus {other}")),
        }
    }

    fn is_interrupted(&self) -> bool {
        let interrupt = self.cold.interrupt.as_ref();
        interrupt.is_some_and(|interrupt| interrupt.load(Ordering::Relaxed))
    }

    /// Whether the FMU was given `stepFinished`.
    fn calls_back(&self) -> bool {
        self.cold.capabilities.runs_asynchronously
    }

    /// Takes the step back, and says so with the reason that the FMU gives.
    fn give_up(&mut self) -> String {
        let reason = self.reason_of_pending();
        self.cancel_step();
        let reason = reason.map_or(String::new(), |text| format!("; the FMU says: {text}"));
        let end = match self.state {
            SlaveState::StepCanceled => "was cancelled",
            _ => "could not be cancelled",
        };
        format!("the step in the background {end}{reason}")
    }

    /// Reason why the step is still pending, if the FMU gives one.
    fn reason_of_pending(&self) -> Option<String> {
        let get_status = self.cold.functions.get_string_status?;
        let mut answer = std::ptr::null();
        // SAFETY: the component is alive and a step is in progress, which allows the call.
        let call = || unsafe { get_status(self.component, fmi2_abi::PENDING_STATUS, &mut answer) };
        let status = self.slot.call(Function::GetStringStatus, call);
        if !matches!(Status::from_raw(status), Status::Ok | Status::Warning) {
            return None;
        }
        // SAFETY: NULL or a C string that lives until the next call of the FMU.
        let text = unsafe { crate::logger::text(answer) };
        Some(text).filter(|text| !text.trim().is_empty())
    }
}
