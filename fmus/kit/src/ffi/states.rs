//! Saving, restoring and serialising the state of an instance.
//!
//! A `fmi2FMUstate` is not an address but the number of a saved state within its instance, so
//! that a foreign or freed one is refused.

#![expect(unsafe_code, reason = "pointers come from C and go to C")]

use std::ptr;

use fmi2_abi as c;
use fmi2_abi::Function;

use super::arguments::{NULL_ARGUMENT, list, list_mut, with_slave};
use super::instance::Component;
use crate::model::Fault;
use crate::simulation::Simulation;
use crate::slave::{Handle, Slave};

fn handle(state: c::FmuState) -> Option<Handle> {
    Handle::new(state.addr())
}

/// Lets `body` work on the handle that `state` points to.
fn with_state<S: Simulation>(
    component: Component<'_, S>,
    function: Function,
    state: Option<&mut c::FmuState>,
    body: impl FnOnce(&mut Slave<S>, &mut Option<Handle>) -> c::Status,
) -> c::Status {
    let body = |slave: &mut Slave<S>| {
        let Some(state) = state else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        let mut saved = handle(*state);
        let status = body(slave, &mut saved);
        *state = ptr::without_provenance_mut(saved.map_or(0, Handle::get));
        status
    };
    with_slave(component, function, body)
}

/// `fmi2GetFMUstate`.
pub extern "C" fn get_fmu_state<S: Simulation>(
    component: Component<'_, S>,
    state: Option<&mut c::FmuState>,
) -> c::Status {
    with_state(component, Function::GetFmuState, state, Slave::get_state)
}

/// `fmi2SetFMUstate`.
pub extern "C" fn set_fmu_state<S: Simulation>(
    component: Component<'_, S>,
    state: c::FmuState,
) -> c::Status {
    let body = |slave: &mut Slave<S>| slave.set_state(handle(state));
    with_slave(component, Function::SetFmuState, body)
}

/// `fmi2FreeFMUstate`.
pub extern "C" fn free_fmu_state<S: Simulation>(
    component: Component<'_, S>,
    state: Option<&mut c::FmuState>,
) -> c::Status {
    if state.is_none() {
        return c::OK;
    }
    with_state(component, Function::FreeFmuState, state, Slave::free_state)
}

/// `fmi2SerializedFMUstateSize`.
pub extern "C" fn serialized_fmu_state_size<S: Simulation>(
    component: Component<'_, S>,
    state: c::FmuState,
    size: Option<&mut usize>,
) -> c::Status {
    let function = Function::SerializedFmuStateSize;
    let body = |slave: &mut Slave<S>| {
        let Some(size) = size else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        slave.serialize_state(function, handle(state), |bytes| {
            *size = bytes.len();
            Ok(())
        })
    };
    with_slave(component, function, body)
}

/// `fmi2SerializeFMUstate`.
///
/// # Safety
/// `bytes` is NULL or has room for `size` bytes.
pub unsafe extern "C" fn serialize_fmu_state<S: Simulation>(
    component: Component<'_, S>,
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
    with_slave(component, function, body)
}

/// `fmi2DeSerializeFMUstate`.
///
/// # Safety
/// `bytes` is NULL or has `size` bytes.
pub unsafe extern "C" fn deserialize_fmu_state<S: Simulation>(
    component: Component<'_, S>,
    bytes: *const c::Byte,
    size: usize,
    state: Option<&mut c::FmuState>,
) -> c::Status {
    let function = Function::DeSerializeFmuState;
    // SAFETY: a list by the contract.
    let bytes = unsafe { list(bytes.cast::<u8>(), size) };
    let body = |slave: &mut Slave<S>, saved: &mut Option<Handle>| match bytes {
        Some(bytes) => slave.deserialize_state(bytes, saved),
        None => slave.reject(function, NULL_ARGUMENT),
    };
    with_state(component, function, state, body)
}
