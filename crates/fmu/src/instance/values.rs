//! Getting and setting values (FMI 2.0.5 section 2.1.7).

#![expect(unsafe_code, reason = "calls the functions of the FMU")]

use std::ffi::CString;

use fmi2_abi::{Boolean, Function, SlaveState};

use super::{CallResult, Cold, Instance};
use crate::description::BaseType;
use crate::error::{CallError, Refusal};
use crate::float_control;

impl Instance {
    /// Calls between two steps are distinguished by the time of the step, others have to be
    /// counted: there may be many of them, and long ones, while a system is initialized.
    #[inline(always)]
    fn count_call(&self) {
        if self.state != SlaveState::StepComplete {
            self.slot.count_one();
        }
    }

    /// `fmi2SetReal`: `values[i]` is for the variable `refs[i]`, in its own unit.
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, or the FMU refuses a value.
    #[inline(always)]
    pub fn set_real(&mut self, refs: &[u32], values: &[f64]) -> CallResult {
        const F: Function = Function::SetReal;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.count_call();
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call_of_step(F, || unsafe {
            (self.set_real)(self.component, refs.as_ptr(), refs.len(), values.as_ptr())
        });
        if status == fmi2_abi::OK
            && self.float_control.seems_to_hold()
            && !float_control::all_are_watched()
        {
            return Ok(());
        }
        self.conclude_values(F, status, BaseType::Real, refs, &|i| values[i].to_string())
    }

    /// `fmi2GetReal`: `values[i]` becomes the value of the variable `refs[i]`, in its own unit.
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, or the FMU fails.
    #[inline(always)]
    pub fn get_real(&mut self, refs: &[u32], values: &mut [f64]) -> CallResult {
        const F: Function = Function::GetReal;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        let values = values.as_mut_ptr();
        self.count_call();
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call_of_step(F, || unsafe {
            (self.get_real)(self.component, refs.as_ptr(), refs.len(), values)
        });
        if status == fmi2_abi::OK
            && self.float_control.seems_to_hold()
            && !float_control::all_are_watched()
        {
            return Ok(());
        }
        self.conclude_slowly(F, status)
    }

    /// `fmi2SetInteger`, also for enumerations.
    ///
    /// # Errors
    /// As [`Self::set_real`].
    pub fn set_integer(&mut self, refs: &[u32], values: &[i32]) -> CallResult {
        const F: Function = Function::SetInteger;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        let set = self.cold.functions.set_integer;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call(F, || unsafe {
            set(self.component, refs.as_ptr(), refs.len(), values.as_ptr())
        });
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
        let get = self.cold.functions.get_integer;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call(F, || unsafe {
            get(
                self.component,
                refs.as_ptr(),
                refs.len(),
                values.as_mut_ptr(),
            )
        });
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
        self.cold.integers.clear();
        self.cold
            .integers
            .extend(values.iter().map(|value| Boolean::from(*value)));
        let (set, numbers) = (self.cold.functions.set_boolean, self.cold.integers.as_ptr());
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call(F, || unsafe {
            set(self.component, refs.as_ptr(), refs.len(), numbers)
        });
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
        self.cold.integers.clear();
        self.cold.integers.resize(values.len(), fmi2_abi::FALSE);
        let (get, numbers) = (
            self.cold.functions.get_boolean,
            self.cold.integers.as_mut_ptr(),
        );
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call(F, || unsafe {
            get(self.component, refs.as_ptr(), refs.len(), numbers)
        });
        self.conclude(F, status)?;
        for (value, number) in values.iter_mut().zip(&self.cold.integers) {
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
        let set = self.cold.functions.set_string;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length
        // and the strings live during the call.
        let status = self.slot.call(F, || unsafe {
            set(self.component, refs.as_ptr(), refs.len(), pointers.as_ptr())
        });
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
        self.cold.strings.clear();
        self.cold.strings.resize(values.len(), std::ptr::null());
        let (get, pointers) = (
            self.cold.functions.get_string,
            self.cold.strings.as_mut_ptr(),
        );
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call(F, || unsafe {
            get(self.component, refs.as_ptr(), refs.len(), pointers)
        });
        self.conclude(F, status)?;
        let Cold {
            strings,
            warnings_count,
            ..
        } = &mut *self.cold;
        // A pointer to nowhere is the FMU's fault, too.
        self.slot.call(F, || {
            for (value, pointer) in values.iter_mut().zip(strings.drain(..)) {
                *warnings_count += u64::from(pointer.is_null());
                // SAFETY: NULL or a C string that lives until the next call of the FMU.
                *value = unsafe { crate::logger::text(pointer) };
            }
        });
        Ok(())
    }

    /// Asks for a value that nothing depends on: if the FMU answers with an error, the state of the instance stays as it is.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn try_read(&mut self, read: impl FnOnce(&mut Self) -> CallResult) -> CallResult {
        let before = self.state;
        let answer = read(self);
        if self.state == SlaveState::Error {
            self.state = before;
        }
        answer
    }

    /// Gives a status its effect, naming the values if the FMU discards them.
    #[inline]
    pub(super) fn conclude_values(
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

    /// Texts as C strings.
    pub(super) fn c_strings(
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
