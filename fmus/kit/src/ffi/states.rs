//! Saving, restoring and serialising the state of an instance.
//!
//! A `fmi2FMUstate` is not an address but the number of a saved state within its instance, so
//! that a foreign or freed one is refused.

#![expect(unsafe_code, reason = "pointers come from C and go to C")]

use std::ptr;

use fmi2_abi as c;
use fmi2_abi::Function;

use super::arguments::{NULL_ARGUMENT, list, list_mut, place, with_slave};
use crate::model::Fault;
use crate::simulation::Simulation;
use crate::slave::{Handle, Slave};

fn handle(state: c::FmuState) -> Option<Handle> {
    Handle::new(state.addr())
}

/// Lets `body` work on the handle that `state` points to.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `state` is NULL or valid.
unsafe fn with_state<S: Simulation>(
    component: c::Component,
    function: Function,
    state: *mut c::FmuState,
    body: impl FnOnce(&mut Slave<S>, &mut Option<Handle>) -> c::Status,
) -> c::Status {
    // SAFETY: NULL or valid by the contract.
    let state = unsafe { place(state) };
    let body = |slave: &mut Slave<S>| {
        let Some(state) = state else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        let mut saved = handle(*state);
        let status = body(slave, &mut saved);
        *state = ptr::without_provenance_mut(saved.map_or(0, Handle::get));
        status
    };
    // SAFETY: the same contract.
    unsafe { with_slave(component, function, body) }
}

/// `fmi2GetFMUstate`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `state` is NULL or valid.
pub unsafe extern "C" fn get_fmu_state<S: Simulation>(
    component: c::Component,
    state: *mut c::FmuState,
) -> c::Status {
    // SAFETY: the same contract.
    unsafe { with_state::<S>(component, Function::GetFmuState, state, Slave::get_state) }
}

/// `fmi2SetFMUstate`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`.
pub unsafe extern "C" fn set_fmu_state<S: Simulation>(
    component: c::Component,
    state: c::FmuState,
) -> c::Status {
    let body = |slave: &mut Slave<S>| slave.set_state(handle(state));
    // SAFETY: the same contract.
    unsafe { with_slave(component, Function::SetFmuState, body) }
}

/// `fmi2FreeFMUstate`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `state` is NULL or valid.
pub unsafe extern "C" fn free_fmu_state<S: Simulation>(
    component: c::Component,
    state: *mut c::FmuState,
) -> c::Status {
    if state.is_null() {
        return c::OK;
    }
    // SAFETY: the same contract.
    unsafe { with_state::<S>(component, Function::FreeFmuState, state, Slave::free_state) }
}

/// `fmi2SerializedFMUstateSize`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `size` is NULL or valid.
pub unsafe extern "C" fn serialized_fmu_state_size<S: Simulation>(
    component: c::Component,
    state: c::FmuState,
    size: *mut usize,
) -> c::Status {
    let function = Function::SerializedFmuStateSize;
    // SAFETY: NULL or valid by the contract.
    let size = unsafe { place(size) };
    let body = |slave: &mut Slave<S>| {
        let Some(size) = size else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        slave.serialize_state(function, handle(state), |bytes| {
            *size = bytes.len();
            Ok(())
        })
    };
    // SAFETY: the same contract.
    unsafe { with_slave(component, function, body) }
}

/// `fmi2SerializeFMUstate`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `bytes` is NULL or has room for `size` bytes.
pub unsafe extern "C" fn serialize_fmu_state<S: Simulation>(
    component: c::Component,
    state: c::FmuState,
    bytes: *mut c::Byte,
    size: usize,
) -> c::Status {
    let function = Function::SerializeFmuState;
    // SAFETY: a list by the contract.
    let room = unsafe { list_mut(bytes.cast::<u8>(), size) };
    let body = |slave: &mut Slave<S>| {
        let Some(room) = room else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        slave.serialize_state(function, handle(state), |bytes| {
            let room = room.get_mut(..bytes.len());
            let room = room.ok_or_else(|| {
                Fault::Error(format!(
                    "{size} bytes are too few, {} are needed",
                    bytes.len()
                ))
            })?;
            room.copy_from_slice(bytes);
            Ok(())
        })
    };
    // SAFETY: the same contract.
    unsafe { with_slave(component, function, body) }
}

/// `fmi2DeSerializeFMUstate`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `bytes` is NULL or has `size` bytes; `state` is
/// NULL or valid.
pub unsafe extern "C" fn deserialize_fmu_state<S: Simulation>(
    component: c::Component,
    bytes: *const c::Byte,
    size: usize,
    state: *mut c::FmuState,
) -> c::Status {
    let function = Function::DeSerializeFmuState;
    // SAFETY: a list by the contract.
    let bytes = unsafe { list(bytes.cast::<u8>(), size) };
    let body = |slave: &mut Slave<S>, saved: &mut Option<Handle>| match bytes {
        Some(bytes) => slave.deserialize_state(bytes, saved),
        None => slave.reject(function, NULL_ARGUMENT),
    };
    // SAFETY: the same contract.
    unsafe { with_state(component, function, state, body) }
}
