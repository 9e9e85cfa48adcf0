//! Saved states (FMI 2.0.5 section 2.1.8).
//!
//! The pointers stay in a table of the instance, so that none of them can be used on another
//! instance, twice, or after the instance is gone.

#![expect(unsafe_code, reason = "calls the functions of the FMU")]

use std::sync::atomic::Ordering;

use fmi2_abi::{Function, SlaveState};

use super::{CallResult, Instance};
use crate::error::{CallError, Refusal};

/// Most bytes that a serialized state may take. A choice: so much fits into the memory of the
/// computers in use, and a size that an FMU has not set, or has computed wrongly, is refused before
/// it takes the memory.
pub const LONGEST_STATE: usize = 1 << 30;

/// A state that an instance has saved. It can be restored any number of times, and is given back
/// by [`Instance::free_state`], or with the instance.
#[derive(Debug)]
pub struct FmuState {
    instance: usize,
    slot: usize,
    /// The state of the call sequence at the time of saving.
    state: SlaveState,
}

/// The pointers behind the [`FmuState`]s of an instance.
#[derive(Debug, Default)]
pub(super) struct SavedStates {
    slots: Vec<fmi2_abi::FmuState>,
    /// How many of them are of a run that was terminated, and not used again.
    retired: usize,
}

impl SavedStates {
    /// Keeps a pointer.
    fn insert(&mut self, pointer: fmi2_abi::FmuState) -> usize {
        let mut present = self.slots[self.retired..].iter();
        match present.position(|slot| slot.is_null()) {
            Some(free) => {
                self.slots[self.retired + free] = pointer;
                self.retired + free
            }
            None => {
                self.slots.push(pointer);
                self.slots.len() - 1
            }
        }
    }
}

impl Instance {
    /// `fmi2GetFMUstate`: saves the state.
    ///
    /// # Errors
    /// If the state forbids the call, the FMU lacks `canGetAndSetFMUstate`, or it fails.
    pub fn save_state(&mut self) -> Result<FmuState, Box<CallError>> {
        let pointer = self.get_state(std::ptr::null_mut())?;
        Ok(FmuState {
            instance: self.cold.sink.id(),
            slot: self.cold.saved.insert(pointer),
            state: self.state,
        })
    }

    /// `fmi2GetFMUstate`: saves the state in the place of one that was saved before, whose memory is
    /// used again (C-72).
    ///
    /// # Errors
    /// As [`Self::save_state`], or if `saved` is of another instance; `saved` is not to be restored
    /// then.
    pub fn save_state_over(&mut self, saved: &mut FmuState) -> CallResult {
        let slot = self.own(Function::GetFmuState, saved)?;
        self.cold.saved.slots[slot] = self.get_state(self.cold.saved.slots[slot])?;
        saved.state = self.state;
        Ok(())
    }

    /// Saves the state behind `pointer`, which is NULL or points to a state of this instance.
    fn get_state(
        &mut self,
        mut pointer: fmi2_abi::FmuState,
    ) -> Result<fmi2_abi::FmuState, Box<CallError>> {
        const F: Function = Function::GetFmuState;
        self.allow_rare(F)?;
        let get = self.capable(
            F,
            SAVES,
            self.cold.capabilities.saves_state,
            self.cold.functions.get_fmu_state,
        )?;
        let component = self.component();
        // SAFETY: the component is alive, the state allows the call, and the pointer is NULL or
        // one that this instance gave.
        let status = self
            .slot
            .call(F, || unsafe { get(component, &mut pointer) });
        self.conclude(F, status)?;
        self.given(F, pointer)
    }

    /// Refuses the NULL that an FMU gives for a state although it says that all went well.
    fn given(
        &self,
        function: Function,
        pointer: fmi2_abi::FmuState,
    ) -> Result<fmi2_abi::FmuState, Box<CallError>> {
        if pointer.is_null() {
            let detail = "the FMU returned OK and NULL for the state".to_owned();
            return Err(self.refuse(function, Refusal::Arguments, detail));
        }
        Ok(pointer)
    }

    /// `fmi2SetFMUstate`: goes back to a saved state; also the way out after an error or a
    /// discarded step.
    ///
    /// # Errors
    /// As [`Self::save_state`].
    pub fn restore_state(&mut self, saved: &FmuState) -> CallResult {
        const F: Function = Function::SetFmuState;
        self.allow_rare(F)?;
        let set = self.capable(
            F,
            SAVES,
            self.cold.capabilities.saves_state,
            self.cold.functions.set_fmu_state,
        )?;
        let slot = self.own(F, saved)?;
        let (component, pointer) = (self.component(), self.cold.saved.slots[slot]);
        // SAFETY: the component is alive, the state allows the call, and the pointer is one that
        // this instance gave.
        let status = self.slot.call(F, || unsafe { set(component, pointer) });
        self.conclude(F, status)?;
        self.state = saved.state;
        Ok(())
    }

    /// `fmi2FreeFMUstate`: gives a saved state back.
    ///
    /// # Errors
    /// As [`Self::save_state`].
    pub fn free_state(&mut self, saved: FmuState) -> CallResult {
        const F: Function = Function::FreeFmuState;
        self.allow_rare(F)?;
        let free = self.cold.functions.free_fmu_state;
        let free = self.capable(F, SAVES, self.cold.capabilities.saves_state, free)?;
        if self.state == SlaveState::Terminated {
            // It was given back before.
            return Ok(());
        }
        let slot = self.own(F, &saved)?;
        self.give_back(free, slot)
    }

    /// Gives the state of a slot back, which is empty then.
    fn give_back(&mut self, free: fmi2_abi::signature::StateSlot, slot: usize) -> CallResult {
        const F: Function = Function::FreeFmuState;
        let mut pointer = std::mem::replace(&mut self.cold.saved.slots[slot], std::ptr::null_mut());
        let component = self.component();
        // SAFETY: the component is alive, the state allows the call, and the pointer is one that
        // this instance gave; it is not in the table any more.
        let status = self
            .slot
            .call(F, || unsafe { free(component, &mut pointer) });
        self.conclude(F, status)
    }

    /// `fmi2SerializeFMUstate`: a saved state as bytes, for the same FMU on the same platform
    /// (C-73).
    ///
    /// # Errors
    /// If the state forbids the call, the state is of another instance, the FMU lacks
    /// `canSerializeFMUstate`, or it fails.
    pub fn serialize_state(&mut self, saved: &FmuState) -> Result<Vec<u8>, Box<CallError>> {
        const SIZE: Function = Function::SerializedFmuStateSize;
        const F: Function = Function::SerializeFmuState;
        self.allow_rare(F)?;
        let claimed = self.cold.capabilities.serializes_state;
        let get_size = self.cold.functions.serialized_fmu_state_size;
        let get_size = self.capable(SIZE, SERIALIZES, claimed, get_size)?;
        let serialize = self.capable(
            F,
            SERIALIZES,
            claimed,
            self.cold.functions.serialize_fmu_state,
        )?;
        let slot = self.own(F, saved)?;
        let (component, pointer) = (self.component(), self.cold.saved.slots[slot]);
        let mut size = 0;
        // SAFETY: the component is alive, the state allows the call, and the pointer is one that
        // this instance gave.
        let status = self
            .slot
            .call(SIZE, || unsafe { get_size(component, pointer, &mut size) });
        self.conclude(SIZE, status)?;
        let mut bytes = Vec::new();
        if size > LONGEST_STATE || bytes.try_reserve_exact(size).is_err() {
            let detail = format!(
                "the FMU says that its state takes {size} bytes; {LONGEST_STATE} are the limit"
            );
            return Err(self.refuse(F, Refusal::Arguments, detail));
        }
        bytes.resize(size, 0_u8);
        // SAFETY: as above, and the buffer has that size.
        let status = self.slot.call(F, || unsafe {
            serialize(component, pointer, bytes.as_mut_ptr().cast(), size)
        });
        self.conclude(F, status)?;
        Ok(bytes)
    }

    /// `fmi2DeSerializeFMUstate`: a saved state from the bytes of [`Self::serialize_state`].
    /// Restoring it leads to the state of the call sequence that the instance is in now.
    ///
    /// # Errors
    /// As [`Self::serialize_state`].
    pub fn deserialize_state(&mut self, bytes: &[u8]) -> Result<FmuState, Box<CallError>> {
        const F: Function = Function::DeSerializeFmuState;
        self.allow_rare(F)?;
        let claimed = self.cold.capabilities.serializes_state;
        let function = self.cold.functions.deserialize_fmu_state;
        let deserialize = self.capable(F, SERIALIZES, claimed, function)?;
        let (component, mut pointer) = (self.component(), std::ptr::null_mut());
        // SAFETY: the component is alive, the state allows the call, the buffer has that size.
        let status = self.slot.call(F, || unsafe {
            deserialize(component, bytes.as_ptr().cast(), bytes.len(), &mut pointer)
        });
        self.conclude(F, status)?;
        let pointer = self.given(F, pointer)?;
        let slot = self.cold.saved.insert(pointer);
        Ok(FmuState {
            instance: self.cold.sink.id(),
            slot,
            state: self.state,
        })
    }

    /// The slot of a state, if it is of this instance.
    fn own(&self, function: Function, saved: &FmuState) -> Result<usize, Box<CallError>> {
        let detail = if saved.instance != self.cold.sink.id() {
            "the state was saved by another instance"
        } else if self.cold.saved.slots[saved.slot].is_null() {
            "the state was given back when the instance was terminated"
        } else {
            return Ok(saved.slot);
        };
        Err(self.refuse(function, Refusal::Arguments, detail.to_owned()))
    }

    /// Gives all states back, as has to be done before the instance is freed. Some FMUs cannot do it any more once they are
    /// terminated.
    pub(super) fn free_all_states(&mut self) {
        let Some(free) = self.cold.functions.free_fmu_state else {
            return;
        };
        self.cold.saved.retired = self.cold.saved.slots.len();
        for slot in 0..self.cold.saved.slots.len() {
            if self.cold.saved.slots[slot].is_null() {
                continue;
            }
            let legal = Function::FreeFmuState.legal_in().contains(self.state);
            if !legal || self.cold.fatal.load(Ordering::Acquire) {
                return;
            }
            // An error has no other effect than that memory is lost; a fatal one ends the loop.
            let before = self.state;
            let _ = self.give_back(free, slot);
            if self.state == SlaveState::Error {
                self.state = before;
            }
        }
    }
}

const SAVES: &str = "canGetAndSetFMUstate";
const SERIALIZES: &str = "canSerializeFMUstate";
