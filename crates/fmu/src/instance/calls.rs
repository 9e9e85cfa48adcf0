//! The phases of a run and its steps (FMI 2.0.5 sections 2.1.5, 2.1.6 and 4.2).

#![expect(unsafe_code, reason = "calls the functions of the FMU")]

use fmi2_abi::{Boolean, Component, Function, SlaveState};

use super::{CallResult, Instance, StepOutcome};
use crate::error::{CallError, Refusal, Status};
use crate::float_control;

impl Instance {
    /// `fmi2SetupExperiment`; has to be called before [`Self::enter_initialization_mode`].
    ///
    /// `tolerance` is relative; `start` and `stop` are in the unit of time of the FMU, usually s.
    /// An FMU may refuse to step past `stop` (C-33).
    ///
    /// # Errors
    /// If the state forbids the call, or the FMU refuses.
    pub fn setup_experiment(
        &mut self,
        tolerance: Option<f64>,
        start: f64,
        stop: Option<f64>,
    ) -> CallResult {
        const F: Function = Function::SetupExperiment;
        self.allow_rare(F)?;
        let setup_experiment = self.cold.functions.setup_experiment;
        self.slot.set_time(start);
        // SAFETY: the component is alive and the state allows the call.
        let status = self.slot.call(F, || unsafe {
            setup_experiment(
                self.component,
                Boolean::from(tolerance.is_some()),
                tolerance.unwrap_or(0.0),
                start,
                Boolean::from(stop.is_some()),
                stop.unwrap_or(0.0),
            )
        });
        self.conclude_slowly(F, status)?;
        self.cold.is_set_up = true;
        Ok(())
    }

    /// `fmi2EnterInitializationMode`.
    ///
    /// # Errors
    /// If the state forbids the call, or the FMU refuses.
    pub fn enter_initialization_mode(&mut self) -> CallResult {
        const F: Function = Function::EnterInitializationMode;
        self.allow_rare(F)?;
        if !self.cold.is_set_up {
            let detail = "fmi2SetupExperiment has to come first".to_owned();
            return Err(self.refuse(F, Refusal::SlaveState, detail));
        }
        self.command(
            F,
            self.cold.functions.enter_initialization_mode,
            SlaveState::Initialization,
        )
    }

    /// `fmi2ExitInitializationMode`.
    ///
    /// # Errors
    /// If the state forbids the call, or the FMU refuses.
    pub fn exit_initialization_mode(&mut self) -> CallResult {
        const F: Function = Function::ExitInitializationMode;
        self.allow_rare(F)?;
        self.command(
            F,
            self.cold.functions.exit_initialization_mode,
            SlaveState::StepComplete,
        )
    }

    /// `fmi2Terminate`: ends the run. Values can still be read. Saved states are given back before.
    ///
    /// # Errors
    /// If the state forbids the call, or the FMU refuses.
    pub fn terminate(&mut self) -> CallResult {
        const F: Function = Function::Terminate;
        self.allow_rare(F)?;
        self.free_all_states();
        self.command(F, self.cold.functions.terminate, SlaveState::Terminated)
    }

    /// `fmi2Reset`: back to the state after instantiation, with default values. Everything has
    /// to be set again (C-30). Also the way out after an error.
    ///
    /// # Errors
    /// If the state forbids the call, the FMU lacks the function, or it refuses.
    pub fn reset(&mut self) -> CallResult {
        const F: Function = Function::Reset;
        self.allow_rare(F)?;
        let reset = self.capable(F, "fmi2Reset", true, self.cold.functions.reset)?;
        self.command(F, reset, SlaveState::Instantiated)?;
        self.cold.is_set_up = false;
        Ok(())
    }

    /// Calls a function without arguments; success leads to the state `next`.
    fn command(
        &mut self,
        function: Function,
        call: fmi2_abi::signature::Command,
        next: SlaveState,
    ) -> CallResult {
        let (slot, component) = (self.slot, self.component);
        // SAFETY: the component is alive and the state allows the call.
        let act = || slot.call(function, || unsafe { call(component) });
        let is_watched = matches!(
            function,
            Function::EnterInitializationMode | Function::ExitInitializationMode
        );
        let status = match self.cold.watch.as_mut().filter(|_| is_watched) {
            Some(watch) => watch.during(function.name(), act),
            None => act(),
        };
        self.conclude_slowly(function, status)?;
        self.state = next;
        Ok(())
    }

    /// `fmi2DoStep`: from `time` by `step`, both in the unit of time of the FMU, usually s.
    /// `no_set_state_prior` promises that no state from before `time` will be restored (C-36).
    ///
    /// # Errors
    /// If the state forbids the call, the step is not a positive number or leads to no finite
    /// time, or the FMU fails.
    #[inline(always)]
    pub fn do_step(
        &mut self,
        time: f64,
        step: f64,
        no_set_state_prior: bool,
    ) -> Result<StepOutcome, Box<CallError>> {
        const F: Function = Function::DoStep;
        self.allow(F)?;
        if !(step > 0.0 && (time + step).is_finite()) {
            return Err(self.bad_step(time, step));
        }
        let number = self.step;
        self.step = number.wrapping_add(1);
        if float_control::is_due(number) {
            return self.watched_step(time, step, no_set_state_prior);
        }
        // SAFETY: the component is alive and the state allows the call.
        let status = self.slot.step(time, || unsafe {
            (self.do_step)(
                self.component,
                time,
                step,
                Boolean::from(no_set_state_prior),
            )
        });
        if status == fmi2_abi::OK && self.float_control.seems_to_hold() {
            return Ok(StepOutcome::Done);
        }
        self.conclude_step(status, time, step)
    }

    /// A step after which everything is looked at.
    #[cold]
    #[inline(never)]
    fn watched_step(
        &mut self,
        time: f64,
        step: f64,
        no_set_state_prior: bool,
    ) -> Result<StepOutcome, Box<CallError>> {
        if self.slot.is_asked_to_measure() {
            // Not every 16th only.
            float_control::watch_all();
        }
        let (slot, do_step, component) = (self.slot, self.do_step, self.component);
        // SAFETY: the component is alive and the state allows the call.
        let call = || unsafe { do_step(component, time, step, Boolean::from(no_set_state_prior)) };
        let act = || slot.measured_step(time, call);
        let is_first = self.step == 1;
        let watch = self.cold.watch.as_mut();
        let status = match watch.filter(|watch| is_first || watch.has_changing_steps()) {
            Some(watch) => {
                let status = watch.during(Function::DoStep.name(), act);
                if watch.has_changing_steps() {
                    // From now on every step comes here.
                    float_control::watch_all();
                }
                status
            }
            None => act(),
        };
        self.conclude_step(status, time, step)
    }

    #[cold]
    #[inline(never)]
    fn bad_step(&self, time: f64, step: f64) -> Box<CallError> {
        let detail = format!("a step from {time} by {step} is not possible");
        self.refuse(Function::DoStep, Refusal::Arguments, detail)
    }

    #[cold]
    #[inline(never)]
    pub(super) fn conclude_step(
        &mut self,
        status: fmi2_abi::Status,
        time: f64,
        step: f64,
    ) -> Result<StepOutcome, Box<CallError>> {
        const F: Function = Function::DoStep;
        self.restore_float_control(F.name());
        let status = if status == fmi2_abi::PENDING {
            self.wait_for_step()
                .map_err(|(status, detail)| self.failure(F, status, Some(detail)))?
        } else {
            status
        };
        if Status::from_raw(status) == Status::Discard {
            self.state = SlaveState::StepFailed;
            return Ok(StepOutcome::Discarded {
                last_successful_time: self
                    .ask(
                        Function::GetRealStatus,
                        self.cold.functions.get_real_status,
                        fmi2_abi::LAST_SUCCESSFUL_TIME,
                        f64::NAN,
                    )
                    .filter(|time| time.is_finite()),
                terminated: self
                    .ask(
                        Function::GetBooleanStatus,
                        self.cold.functions.get_boolean_status,
                        fmi2_abi::TERMINATED,
                        fmi2_abi::FALSE,
                    )
                    .is_some_and(|terminated| terminated != fmi2_abi::FALSE),
            });
        }
        match self.conclude(F, status) {
            Ok(()) => Ok(StepOutcome::Done),
            Err(mut error) => {
                error.detail = Some(format!("in the step from {time} by {step}"));
                Err(error)
            }
        }
    }

    /// Asks for details of a discarded step; the FMU may not know (C-39).
    fn ask<T>(
        &self,
        function: Function,
        get_status: Option<fmi2_abi::signature::GetStatus<T>>,
        kind: fmi2_abi::StatusKind,
        mut answer: T,
    ) -> Option<T> {
        let get_status = get_status?;
        // SAFETY: the component is alive, the state allows the call, and the answer has the type
        // that belongs to the function.
        let status = self.slot.call(function, || unsafe {
            get_status(self.component, kind, &mut answer)
        });
        matches!(Status::from_raw(status), Status::Ok | Status::Warning).then_some(answer)
    }

    /// `fmi2SetDebugLogging`; no categories means all (C-23).
    ///
    /// # Errors
    /// If the state forbids the call, a category is not one of the FMU, the FMU lacks the
    /// function, or it refuses.
    pub fn set_debug_logging(&mut self, on: bool, categories: &[&str]) -> CallResult {
        const F: Function = Function::SetDebugLogging;
        self.allow_rare(F)?;
        let known = &self.cold.description.log_categories;
        if let Some(unknown) = categories
            .iter()
            .find(|c| !known.iter().any(|k| k.name == **c))
        {
            let names: Vec<&str> = known
                .iter()
                .map(|category| category.name.as_str())
                .collect();
            let detail = format!("category {unknown:?} is none of {}", names.join(", "));
            return Err(self.refuse(F, Refusal::Arguments, detail));
        }
        let set = self.capable(
            F,
            "the function",
            true,
            self.cold.functions.set_debug_logging,
        )?;
        let owned = self.c_strings(F, categories)?;
        let pointers: Vec<fmi2_abi::String> = owned.iter().map(|s| s.as_ptr()).collect();
        let on = Boolean::from(on);
        // SAFETY: the component is alive, the state allows the call, the strings live during it.
        let status = self.slot.call(F, || unsafe {
            set(self.component, on, pointers.len(), pointers.as_ptr())
        });
        self.conclude(F, status)
    }

    /// Takes back a step that never came back, so that the instance can be freed.
    pub(super) fn cancel_step(&mut self) {
        let Some(cancel) = self.cold.functions.cancel_step else {
            return;
        };
        // SAFETY: the component is alive and a step is in progress.
        let status = self
            .slot
            .call(Function::CancelStep, || unsafe { cancel(self.component) });
        if self.conclude(Function::CancelStep, status).is_ok() {
            self.state = SlaveState::StepCanceled;
        }
    }

    /// The component, for the calls of the other files.
    pub(super) fn component(&self) -> Component {
        self.component
    }
}
