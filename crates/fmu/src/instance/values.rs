//! Getting and setting values (FMI 2.0.5 section 2.1.7).

#![expect(unsafe_code, reason = "calls the functions of the FMU")]

use std::ffi::CString;

use fmi2_abi::{Boolean, Function, SlaveState};

use super::{CallResult, Instance};
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
        let set = (Function::SetInteger, self.cold.functions.set_integer);
        self.set(set, BaseType::Integer, refs, values, &|i| {
            values[i].to_string()
        })
    }

    /// `fmi2GetInteger`, also for enumerations.
    ///
    /// # Errors
    /// As [`Self::get_real`].
    pub fn get_integer(&mut self, refs: &[u32], values: &mut [i32]) -> CallResult {
        let get = (Function::GetInteger, self.cold.functions.get_integer);
        self.get(get, refs, values)
    }

    /// `fmi2SetBoolean`; sends 0 and 1 (C-54).
    ///
    /// # Errors
    /// As [`Self::set_real`].
    pub fn set_boolean(&mut self, refs: &[u32], values: &[bool]) -> CallResult {
        let set = (Function::SetBoolean, self.cold.functions.set_boolean);
        let mut numbers = std::mem::take(&mut self.cold.integers);
        numbers.clear();
        numbers.extend(values.iter().map(|value| Boolean::from(*value)));
        let done = self.set(set, BaseType::Boolean, refs, &numbers, &|i| {
            values[i].to_string()
        });
        self.cold.integers = numbers;
        done
    }

    /// `fmi2GetBoolean`; any number but 0 is true (C-54).
    ///
    /// # Errors
    /// As [`Self::get_real`].
    pub fn get_boolean(&mut self, refs: &[u32], values: &mut [bool]) -> CallResult {
        let get = (Function::GetBoolean, self.cold.functions.get_boolean);
        let mut numbers = std::mem::take(&mut self.cold.integers);
        numbers.clear();
        numbers.resize(values.len(), fmi2_abi::FALSE);
        let done = self.get(get, refs, &mut numbers);
        if done.is_ok() {
            for (value, number) in values.iter_mut().zip(&numbers) {
                *value = *number != fmi2_abi::FALSE;
            }
        }
        self.cold.integers = numbers;
        done
    }

    /// `fmi2SetString`. The FMU keeps a copy.
    ///
    /// # Errors
    /// As [`Self::set_real`], and if a value holds a NUL, which C strings cannot.
    pub fn set_string(&mut self, refs: &[u32], values: &[&str]) -> CallResult {
        const F: Function = Function::SetString;
        self.allow(F)?;
        let owned = self.c_strings(F, values)?;
        let pointers: Vec<fmi2_abi::String> = owned.iter().map(|s| s.as_ptr()).collect();
        let set = (F, self.cold.functions.set_string);
        self.set(set, BaseType::String, refs, &pointers, &|i| {
            format!("{:?}", values[i])
        })
    }

    /// `fmi2GetString`. Bytes that are not UTF-8 are replaced; NULL reads as empty, counted as a
    /// warning (C-55).
    ///
    /// # Errors
    /// As [`Self::get_real`].
    pub fn get_string(&mut self, refs: &[u32], values: &mut [String]) -> CallResult {
        const F: Function = Function::GetString;
        let get = (F, self.cold.functions.get_string);
        let mut pointers = std::mem::take(&mut self.cold.strings);
        pointers.clear();
        pointers.resize(values.len(), std::ptr::null());
        self.get(get, refs, &mut pointers)?;
        let warnings_count = &mut self.cold.warnings_count;
        // A pointer to nowhere is also the FMU's fault.
        self.slot.call(F, || {
            for (value, pointer) in values.iter_mut().zip(pointers.drain(..)) {
                *warnings_count += u64::from(pointer.is_null());
                // SAFETY: NULL or a C string that lives until the next call of the FMU.
                *value = unsafe { crate::logger::text(pointer) };
            }
        });
        self.cold.strings = pointers;
        Ok(())
    }

    /// Calls a function that sets values of a type; pointers among them live during the call.
    fn set<T>(
        &mut self,
        (function, set): (Function, fmi2_abi::signature::Set<T>),
        base_type: BaseType,
        refs: &[u32],
        values: &[T],
        value: &dyn Fn(usize) -> String,
    ) -> CallResult {
        self.allow(function)?;
        self.same_length(function, refs.len(), values.len())?;
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call(function, || unsafe {
            set(self.component, refs.as_ptr(), refs.len(), values.as_ptr())
        });
        self.conclude_values(function, status, base_type, refs, value)
    }

    /// Calls a function that gets values of a type.
    fn get<T>(
        &mut self,
        (function, get): (Function, fmi2_abi::signature::Get<T>),
        refs: &[u32],
        values: &mut [T],
    ) -> CallResult {
        self.allow(function)?;
        self.same_length(function, refs.len(), values.len())?;
        let values = values.as_mut_ptr();
        // SAFETY: the component is alive, the state allows the call, both arrays have that length.
        let status = self.slot.call(function, || unsafe {
            get(self.component, refs.as_ptr(), refs.len(), values)
        });
        self.conclude(function, status)
    }

    /// Asks for a value that nothing depends on: if the FMU answers with an error, the state of the instance stays as it is.
    ///
    /// # Errors
    /// As `read`.
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
