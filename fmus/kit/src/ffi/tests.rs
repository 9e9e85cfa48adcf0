//! The C functions with arguments that only a careless importer passes.

#![expect(unsafe_code, reason = "calls the C functions")]

use std::ffi::{CStr, CString};
use std::ptr;

use fmi2_abi as c;

use super::*;
use crate::describe;
use crate::in_process::InProcess;
use crate::test_model::{FORWARD_EULER, Linear, U, X};

type Model = InProcess<Linear<FORWARD_EULER>>;

const CALLBACKS: c::CallbackFunctions = c::CallbackFunctions {
    logger: None,
    allocate_memory: None,
    free_memory: None,
    step_finished: None,
    component_environment: ptr::null_mut(),
};

fn instance() -> c::Component {
    let guid = CString::new(describe::<Linear<FORWARD_EULER>>().guid).unwrap();
    let (name, kind) = (c"test".as_ptr(), c::CO_SIMULATION);
    // SAFETY: texts and callbacks are valid; the callbacks are constants.
    let instance =
        unsafe { instantiate::<Model>(name, kind, guid.as_ptr(), ptr::null(), &CALLBACKS, 0, 0) };
    assert!(!instance.is_null());
    instance
}

fn running() -> c::Component {
    let instance = instance();
    // SAFETY: a live instance.
    let status = unsafe { setup_experiment::<Model>(instance, 0, 0.0, 0.0, 0, 0.0) };
    assert_eq!(status, c::OK);
    // SAFETY: a live instance.
    let status = unsafe { enter_initialization_mode::<Model>(instance) };
    assert_eq!(status, c::OK);
    // SAFETY: a live instance.
    let status = unsafe { exit_initialization_mode::<Model>(instance) };
    assert_eq!(status, c::OK);
    instance
}

fn free(instance: c::Component) {
    // SAFETY: a live instance, not used again.
    unsafe { free_instance::<Model>(instance) };
}

#[test]
fn version_and_platform() {
    // SAFETY: constant texts.
    assert_eq!(unsafe { CStr::from_ptr(get_version()) }, c"2.0");
    // SAFETY: constant texts.
    assert_eq!(unsafe { CStr::from_ptr(get_types_platform()) }, c"default");
}

#[test]
fn no_instance_without_callbacks_name_guid_or_for_model_exchange() {
    let guid = CString::new(describe::<Linear<FORWARD_EULER>>().guid).unwrap();
    let (guid, name) = (guid.as_ptr(), c"test".as_ptr());
    let cases: [(c::String, c::Type, c::String, *const c::CallbackFunctions); 6] = [
        (name, c::CO_SIMULATION, guid, ptr::null()),
        (name, c::MODEL_EXCHANGE, guid, &CALLBACKS),
        (ptr::null(), c::CO_SIMULATION, guid, &CALLBACKS),
        (c"".as_ptr(), c::CO_SIMULATION, guid, &CALLBACKS),
        (name, c::CO_SIMULATION, ptr::null(), &CALLBACKS),
        (name, c::CO_SIMULATION, c"{0}".as_ptr(), &CALLBACKS),
    ];
    for (name, kind, guid, callbacks) in cases {
        // SAFETY: NULL or valid.
        let instance =
            unsafe { instantiate::<Model>(name, kind, guid, ptr::null(), callbacks, 0, 0) };
        assert!(instance.is_null());
    }
}

#[test]
fn null_is_refused() {
    let nothing = ptr::null_mut();
    // SAFETY: NULL is allowed.
    assert_eq!(unsafe { do_step::<Model>(nothing, 0.0, 1.0, 1) }, c::ERROR);
    free(nothing);
    let calls: [fn(c::Component) -> c::Status; 6] = [
        // SAFETY: NULL lists are allowed, in this and the following.
        |i| unsafe { get_real::<Model>(i, ptr::null(), 1, ptr::null_mut()) },
        // SAFETY: as above.
        |i| unsafe { set_real::<Model>(i, &U, 1, ptr::null()) },
        // SAFETY: as above.
        |i| unsafe { get_string::<Model>(i, ptr::null(), 1, ptr::null_mut()) },
        // SAFETY: as above.
        |i| unsafe { get_fmu_state::<Model>(i, ptr::null_mut()) },
        // SAFETY: as above.
        |i| unsafe { set_fmu_state::<Model>(i, ptr::null_mut()) },
        // SAFETY: as above.
        |i| unsafe { get_real_status::<Model>(i, c::LAST_SUCCESSFUL_TIME, ptr::null_mut()) },
    ];
    for call in calls {
        let instance = running();
        assert_eq!(call(instance), c::ERROR);
        free(instance);
    }
}

#[test]
fn empty_lists_may_be_null() {
    let instance = running();
    // SAFETY: empty lists.
    let status = unsafe { get_real::<Model>(instance, ptr::null(), 0, ptr::null_mut()) };
    assert_eq!(status, c::OK);
    // SAFETY: empty lists.
    let status = unsafe { set_string::<Model>(instance, ptr::null(), 0, ptr::null()) };
    assert_eq!(status, c::OK);
    free(instance);
}

#[test]
fn a_panic_is_fatal_and_nothing_works_after_it() {
    let instance = running();
    // SAFETY: lists of one item.
    let status = unsafe { set_real::<Model>(instance, &U, 1, &1005.0) };
    assert_eq!(status, c::OK);
    // SAFETY: a live instance.
    assert_eq!(unsafe { do_step::<Model>(instance, 0.0, 1.0, 1) }, c::FATAL);
    // SAFETY: a live instance.
    let status = unsafe { get_real::<Model>(instance, &X, 1, &mut 0.0) };
    assert_eq!(status, c::FATAL);
    free(instance);
}

#[test]
fn a_state_goes_out_and_comes_back() {
    let instance = running();
    let mut state = ptr::null_mut();
    // SAFETY: a live instance and a place for the state.
    let status = unsafe { get_fmu_state::<Model>(instance, &mut state) };
    assert_eq!(status, c::OK);
    let mut size = 0;
    // SAFETY: a live instance and its state.
    let status = unsafe { serialized_fmu_state_size::<Model>(instance, state, &mut size) };
    assert_eq!(status, c::OK);
    let mut bytes = vec![0; size];
    let room: *mut c::Byte = bytes.as_mut_ptr();
    // SAFETY: `size` bytes of room.
    let status = unsafe { serialize_fmu_state::<Model>(instance, state, room, size) };
    assert_eq!(status, c::OK);
    let mut copy = ptr::null_mut();
    // SAFETY: `size` bytes.
    let status = unsafe { deserialize_fmu_state::<Model>(instance, room, size, &mut copy) };
    assert_eq!(status, c::OK);
    assert_ne!(copy, state);
    // SAFETY: a state of this instance.
    assert_eq!(unsafe { set_fmu_state::<Model>(instance, copy) }, c::OK);
    // SAFETY: a state of this instance.
    let status = unsafe { free_fmu_state::<Model>(instance, &mut copy) };
    assert_eq!(status, c::OK);
    assert!(copy.is_null());
    // SAFETY: too little room, which the size says.
    let status = unsafe { serialize_fmu_state::<Model>(instance, state, room, size - 1) };
    assert_eq!(status, c::ERROR);
    free(instance);
}
