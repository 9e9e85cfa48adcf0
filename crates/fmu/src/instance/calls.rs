//! The calls of a run, each checked before and after.

#![expect(unsafe_code, reason = "calls the functions of the FMU")]

use std::ffi::CString;

use fmi2_abi::{Boolean, Component, Function, State};

use super::{CallResult, Instance, StepOutcome};
use crate::description::BaseType;
use crate::error::{CallError, Refusal, Status};

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
        let setup_experiment = self.functions.setup_experiment;
        // SAFETY: the component is alive and the state allows the call.
        let status = unsafe {
            setup_experiment(
                self.component,
                Boolean::from(tolerance.is_some()),
                tolerance.unwrap_or(0.0),
                start,
                Boolean::from(stop.is_some()),
                stop.unwrap_or(0.0),
            )
        };
        self.conclude(F, status)?;
        self.is_set_up = true;
        Ok(())
    }

    /// `fmi2EnterInitializationMode`.
    ///
    /// # Errors
    /// If the state forbids the call, or the FMU refuses.
    pub fn enter_initialization_mode(&mut self) -> CallResult {
        const F: Function = Function::EnterInitializationMode;
        self.allow_rare(F)?;
        if !self.is_set_up {
            let detail = "fmi2SetupExperiment has to come first".to_owned();
            return Err(self.refuse(F, Refusal::State, detail));
        }
        self.command(
            F,
            self.functions.enter_initialization_mode,
            State::Initialization,
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
            self.functions.exit_initialization_mode,
            State::StepComplete,
        )
    }

    /// `fmi2Terminate`: ends the run. Values can still be read.
    ///
    /// # Errors
    /// If the state forbids the call, or the FMU refuses.
    pub fn terminate(&mut self) -> CallResult {
        const F: Function = Function::Terminate;
        self.allow_rare(F)?;
        self.command(F, self.functions.terminate, State::Terminated)
    }

    /// `fmi2Reset`: back to the state after instantiation, with default values. Everything has
    /// to be set again (C-30). Also the way out after an error.
    ///
    /// # Errors
    /// If the state forbids the call, the FMU lacks the function, or it refuses.
    pub fn reset(&mut self) -> CallResult {
        const F: Function = Function::Reset;
        self.allow_rare(F)?;
        let reset = self.capable(F, "fmi2Reset", true, self.functions.reset)?;
        self.command(F, reset, State::Instantiated)?;
        self.is_set_up = false;
        Ok(())
    }

    /// Calls a function without arguments; success leads to the state `next`.
    fn command(
        &mut self,
        function: Function,
        call: fmi2_abi::signature::Command,
        next: State,
    ) -> CallResult {
        // SAFETY: the component is alive and the state allows the call.
        let status = unsafe { call(self.component) };
        self.conclude(function, status)?;
        self.state = next;
        Ok(())
    }

    /// `fmi2SetReal`: `values[i]` is for the variable `refs[i]`, in its own unit.
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, or the FMU refuses a value.
    #[inline]
    pub fn set_real(&mut self, refs: &[u32], values: &[f64]) -> CallResult {
        const F: Function = Function::SetReal;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = unsafe {
            (self.functions.set_real)(self.component, refs.as_ptr(), refs.len(), values.as_ptr())
        };
        if status == fmi2_abi::OK {
            return Ok(());
        }
        self.conclude_values(F, status, BaseType::Real, refs, &|i| values[i].to_string())
    }

    /// `fmi2GetReal`: `values[i]` becomes the value of the variable `refs[i]`, in its own unit.
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, or the FMU fails.
    #[inline]
    pub fn get_real(&mut self, refs: &[u32], values: &mut [f64]) -> CallResult {
        const F: Function = Function::GetReal;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        let values = values.as_mut_ptr();
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status =
            unsafe { (self.functions.get_real)(self.component, refs.as_ptr(), refs.len(), values) };
        self.conclude(F, status)
    }

    /// `fmi2SetInteger`, also for enumerations.
    ///
    /// # Errors
    /// As [`Self::set_real`].
    pub fn set_integer(&mut self, refs: &[u32], values: &[i32]) -> CallResult {
        const F: Function = Function::SetInteger;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        let set = self.functions.set_integer;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = unsafe { set(self.component, refs.as_ptr(), refs.len(), values.as_ptr()) };
        self.conclude_values(F, status, BaseType::Integer, refs, &|i| {
            values[i].to_string()
        })
    }

    /// `fmi2GetInteger`, also for enumerations.
    ///
    /// # Errors
    /// As [`Self::get_real`].
    pub fn get_integer(&mut self, refs: &[u32], values: &mut [i32]) -> CallResult {
        const F: Function = Function::GetInteger;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        let get = self.functions.get_integer;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = unsafe {
            get(
                self.component,
                refs.as_ptr(),
                refs.len(),
                values.as_mut_ptr(),
            )
        };
        self.conclude(F, status)
    }

    /// `fmi2SetBoolean`; sends 0 and 1 (C-54).
    ///
    /// # Errors
    /// As [`Self::set_real`].
    pub fn set_boolean(&mut self, refs: &[u32], values: &[bool]) -> CallResult {
        const F: Function = Function::SetBoolean;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.integers.clear();
        self.integers
            .extend(values.iter().map(|value| Boolean::from(*value)));
        let (set, numbers) = (self.functions.set_boolean, self.integers.as_ptr());
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = unsafe { set(self.component, refs.as_ptr(), refs.len(), numbers) };
        self.conclude_values(F, status, BaseType::Boolean, refs, &|i| {
            values[i].to_string()
        })
    }

    /// `fmi2GetBoolean`; any number but 0 is true (C-54).
    ///
    /// # Errors
    /// As [`Self::get_real`].
    pub fn get_boolean(&mut self, refs: &[u32], values: &mut [bool]) -> CallResult {
        const F: Function = Function::GetBoolean;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.integers.clear();
        self.integers.resize(values.len(), fmi2_abi::FALSE);
        let (get, numbers) = (self.functions.get_boolean, self.integers.as_mut_ptr());
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = unsafe { get(self.component, refs.as_ptr(), refs.len(), numbers) };
        self.conclude(F, status)?;
        for (value, number) in values.iter_mut().zip(&self.integers) {
            *value = *number != fmi2_abi::FALSE;
        }
        Ok(())
    }

    /// `fmi2SetString`. The FMU keeps a copy.
    ///
    /// # Errors
    /// As [`Self::set_real`], and if a value holds a NUL, which C strings cannot.
    pub fn set_string(&mut self, refs: &[u32], values: &[&str]) -> CallResult {
        const F: Function = Function::SetString;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        let owned = self.c_strings(F, values)?;
        let pointers: Vec<fmi2_abi::String> = owned.iter().map(|s| s.as_ptr()).collect();
        let set = self.functions.set_string;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length
        // and the strings live during the call.
        let status = unsafe { set(self.component, refs.as_ptr(), refs.len(), pointers.as_ptr()) };
        self.conclude_values(F, status, BaseType::String, refs, &|i| {
            format!("{:?}", values[i])
        })
    }

    /// `fmi2GetString`. Bytes that are no UTF-8 are replaced; NULL reads as empty, counted as a
    /// warning (C-55).
    ///
    /// # Errors
    /// As [`Self::get_real`].
    pub fn get_string(&mut self, refs: &[u32], values: &mut [String]) -> CallResult {
        const F: Function = Function::GetString;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.strings.clear();
        self.strings.resize(values.len(), std::ptr::null());
        let (get, pointers) = (self.functions.get_string, self.strings.as_mut_ptr());
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = unsafe { get(self.component, refs.as_ptr(), refs.len(), pointers) };
        self.conclude(F, status)?;
        for (value, pointer) in values.iter_mut().zip(self.strings.drain(..)) {
            self.warnings_count += u64::from(pointer.is_null());
            // SAFETY: NULL or a C string that lives until the next call of the FMU.
            *value = unsafe { crate::logger::text(pointer) };
        }
        Ok(())
    }

    /// `fmi2SetRealInputDerivatives`: `values[i]` is the derivative of order `orders[i]` of the
    /// input `refs[i]` with respect to time, at the beginning of the next step. To be set before
    /// each step (C-69).
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, the FMU cannot interpolate inputs, or
    /// refuses.
    pub fn set_real_input_derivatives(
        &mut self,
        refs: &[u32],
        orders: &[i32],
        values: &[f64],
    ) -> CallResult {
        const F: Function = Function::SetRealInputDerivatives;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.same_length(F, refs.len(), orders.len())?;
        let claimed = self.abilities.interpolates_inputs;
        let function = self.functions.set_real_input_derivatives;
        let set = self.capable(F, "canInterpolateInputs", claimed, function)?;
        let (orders, numbers) = (orders.as_ptr(), values.as_ptr());
        // SAFETY: the component is alive, the state allows the call, all arrays have that length.
        let status = unsafe { set(self.component, refs.as_ptr(), refs.len(), orders, numbers) };
        self.conclude_values(F, status, BaseType::Real, refs, &|i| values[i].to_string())
    }

    /// `fmi2GetRealOutputDerivatives`: `values[i]` becomes the derivative of order `orders[i]` of
    /// the output `refs[i]` at the end of the last step (C-70).
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, an order exceeds
    /// `maxOutputDerivativeOrder`, or the FMU fails.
    pub fn get_real_output_derivatives(
        &mut self,
        refs: &[u32],
        orders: &[i32],
        values: &mut [f64],
    ) -> CallResult {
        const F: Function = Function::GetRealOutputDerivatives;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.same_length(F, refs.len(), orders.len())?;
        let highest = self.abilities.output_derivative_order;
        let fits = |order: &i32| u32::try_from(*order).is_ok_and(|o| (1..=highest).contains(&o));
        let claimed = orders.iter().all(fits);
        let function = self.functions.get_real_output_derivatives;
        let get = self.capable(F, "maxOutputDerivativeOrder for it", claimed, function)?;
        let (orders, values) = (orders.as_ptr(), values.as_mut_ptr());
        // SAFETY: the component is alive, the state allows the call, all arrays have that length.
        let status = unsafe { get(self.component, refs.as_ptr(), refs.len(), orders, values) };
        self.conclude(F, status)
    }

    /// `fmi2GetDirectionalDerivative`: `out = ∂unknowns/∂knowns · seed` (C-71). The two sides
    /// may have different lengths.
    ///
    /// # Errors
    /// If the state forbids the call, lengths do not fit, the FMU does not provide it, or fails.
    pub fn directional_derivative(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        out: &mut [f64],
    ) -> CallResult {
        const F: Function = Function::GetDirectionalDerivative;
        self.allow(F)?;
        self.same_length(F, knowns.len(), seed.len())?;
        self.same_length(F, unknowns.len(), out.len())?;
        let claimed = self.abilities.directional_derivative;
        let function = self.functions.get_directional_derivative;
        let get = self.capable(F, "providesDirectionalDerivative", claimed, function)?;
        // SAFETY: the component is alive, the state allows the call, the arrays have those lengths.
        let status = unsafe {
            get(
                self.component,
                unknowns.as_ptr(),
                unknowns.len(),
                knowns.as_ptr(),
                knowns.len(),
                seed.as_ptr(),
                out.as_mut_ptr(),
            )
        };
        self.conclude(F, status)
    }

    /// `fmi2DoStep`: from `time` by `step`, both in the unit of time of the FMU, usually s.
    /// `no_set_state_prior` promises that no state from before `time` will be restored (C-36).
    ///
    /// # Errors
    /// If the state forbids the call, the step is not a positive number, or the FMU fails.
    #[inline]
    pub fn do_step(
        &mut self,
        time: f64,
        step: f64,
        no_set_state_prior: bool,
    ) -> Result<StepOutcome, Box<CallError>> {
        const F: Function = Function::DoStep;
        self.allow(F)?;
        if !(step > 0.0 && step.is_finite()) {
            return Err(self.bad_step(time, step));
        }
        // SAFETY: the component is alive and the state allows the call.
        let status = unsafe {
            (self.functions.do_step)(
                self.component,
                time,
                step,
                Boolean::from(no_set_state_prior),
            )
        };
        if status == fmi2_abi::OK {
            return Ok(StepOutcome::Done);
        }
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
    fn conclude_step(
        &mut self,
        status: fmi2_abi::Status,
        time: f64,
        step: f64,
    ) -> Result<StepOutcome, Box<CallError>> {
        if Status::from_raw(status) == Status::Discard {
            self.state = State::StepFailed;
            return Ok(StepOutcome::Discarded {
                last_successful_time: self
                    .ask(
                        self.functions.get_real_status,
                        fmi2_abi::LAST_SUCCESSFUL_TIME,
                        f64::NAN,
                    )
                    .filter(|time| time.is_finite()),
                terminated: self
                    .ask(
                        self.functions.get_boolean_status,
                        fmi2_abi::TERMINATED,
                        fmi2_abi::FALSE,
                    )
                    .is_some_and(|terminated| terminated != fmi2_abi::FALSE),
            });
        }
        match self.conclude(Function::DoStep, status) {
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
        function: Option<fmi2_abi::signature::GetStatus<T>>,
        kind: fmi2_abi::StatusKind,
        mut answer: T,
    ) -> Option<T> {
        let get_status = function?;
        // SAFETY: the component is alive, the state allows the call, and the answer has the type
        // that belongs to the function.
        let status = unsafe { get_status(self.component, kind, &mut answer) };
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
        let set = self.capable(F, "the function", true, self.functions.set_debug_logging)?;
        let owned = self.c_strings(F, categories)?;
        let pointers: Vec<fmi2_abi::String> = owned.iter().map(|s| s.as_ptr()).collect();
        let on = Boolean::from(on);
        // SAFETY: the component is alive, the state allows the call, the strings live during it.
        let status = unsafe { set(self.component, on, pointers.len(), pointers.as_ptr()) };
        self.conclude(F, status)
    }

    /// Takes back a step that never came back, so that the instance can be freed.
    pub(super) fn cancel_step(&mut self) {
        let Some(cancel) = self.functions.cancel_step else {
            return;
        };
        // SAFETY: the component is alive and a step is in progress.
        let status = unsafe { cancel(self.component) };
        if self.conclude(Function::CancelStep, status).is_ok() {
            self.state = State::StepCanceled;
        }
    }

    /// The component, for the calls of the other files.
    pub(super) fn component(&self) -> Component {
        self.component
    }

    /// Gives a status its effect, naming the values if the FMU discards them.
    #[inline]
    fn conclude_values(
        &mut self,
        function: Function,
        status: fmi2_abi::Status,
        base_type: BaseType,
        refs: &[u32],
        value: &dyn Fn(usize) -> String,
    ) -> CallResult {
        let concluded = self.conclude(function, status);
        concluded.map_err(|error| self.name_values(error, base_type, refs, value))
    }

    fn c_strings(
        &self,
        function: Function,
        texts: &[&str],
    ) -> Result<Vec<CString>, Box<CallError>> {
        let convert = |text: &&str| {
            CString::new(*text).map_err(|_| {
                let detail = format!("{text:?} holds a NUL character");
                self.refuse(function, Refusal::Arguments, detail)
            })
        };
        texts.iter().map(convert).collect()
    }
}
