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

fn instance() -> Box<Instance<Model>> {
    let guid = CString::new(describe::<Linear<FORWARD_EULER>>().guid).unwrap();
    let (name, guid, null) = (c"test".as_ptr(), guid.as_ptr(), ptr::null());
    let (kind, callbacks) = (c::CO_SIMULATION, Some(&CALLBACKS));
    // SAFETY: texts and callbacks are valid; the callbacks are constants.
    let instance = unsafe { instantiate(name, kind, guid, null, callbacks, 0, 0) };
    instance.unwrap()
}

fn running() -> Box<Instance<Model>> {
    let mut instance = instance();
    let status = setup_experiment(Some(&mut instance), 0, 0.0, 0.0, 0, 0.0);
    assert_eq!(status, c::OK);
    assert_eq!(enter_initialization_mode(Some(&mut instance)), c::OK);
    assert_eq!(exit_initialization_mode(Some(&mut instance)), c::OK);
    instance
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
    let callbacks = Some(&CALLBACKS);
    let cases = [
        (name, c::CO_SIMULATION, guid, None),
        (name, c::MODEL_EXCHANGE, guid, callbacks),
        (ptr::null(), c::CO_SIMULATION, guid, callbacks),
        (c"".as_ptr(), c::CO_SIMULATION, guid, callbacks),
        (name, c::CO_SIMULATION, ptr::null(), callbacks),
        (name, c::CO_SIMULATION, c"{0}".as_ptr(), callbacks),
    ];
    for (name, kind, guid, callbacks) in cases {
        // SAFETY: NULL or valid.
        let instance =
            unsafe { instantiate::<Model>(name, kind, guid, ptr::null(), callbacks, 0, 0) };
        assert!(instance.is_none());
    }
}

#[test]
fn null_is_refused() {
    assert_eq!(do_step::<Model>(None, 0.0, 1.0, 1), c::ERROR);
    free_instance::<Model>(None);
    let calls: [fn(Component<'_, Model>) -> c::Status; 6] = [
        // SAFETY: NULL lists are allowed, in this and the following.
        |i| unsafe { get_real(i, ptr::null(), 1, ptr::null_mut()) },
        // SAFETY: as above.
        |i| unsafe { set_real(i, &U, 1, ptr::null()) },
        // SAFETY: as above.
        |i| unsafe { get_string(i, ptr::null(), 1, ptr::null_mut()) },
        |i| get_fmu_state(i, None),
        |i| set_fmu_state(i, ptr::null_mut()),
        |i| get_real_status(i, c::LAST_SUCCESSFUL_TIME, None),
    ];
    for call in calls {
        let mut instance = running();
        assert_eq!(call(Some(&mut instance)), c::ERROR);
        free_instance(Some(instance));
    }
}

#[test]
fn empty_lists_may_be_null() {
    let mut instance = running();
    // SAFETY: empty lists.
    let status = unsafe { get_real(Some(&mut instance), ptr::null(), 0, ptr::null_mut()) };
    assert_eq!(status, c::OK);
    // SAFETY: empty lists.
    let status = unsafe { set_string(Some(&mut instance), ptr::null(), 0, ptr::null()) };
    assert_eq!(status, c::OK);
    free_instance(Some(instance));
}

#[test]
fn a_panic_is_fatal_and_nothing_works_after_it() {
    let mut instance = running();
    // SAFETY: lists of one item.
    let status = unsafe { set_real(Some(&mut instance), &U, 1, &1005.0) };
    assert_eq!(status, c::OK);
    assert_eq!(do_step(Some(&mut instance), 0.0, 1.0, 1), c::FATAL);
    // SAFETY: a live instance.
    let status = unsafe { get_real(Some(&mut instance), &X, 1, &mut 0.0) };
    assert_eq!(status, c::FATAL);
    free_instance(Some(instance));
}

#[test]
fn a_state_goes_out_and_comes_back() {
    let mut instance = running();
    let mut state = ptr::null_mut();
    let status = get_fmu_state(Some(&mut instance), Some(&mut state));
    assert_eq!(status, c::OK);
    let mut size = 0;
    let status = serialized_fmu_state_size(Some(&mut instance), state, Some(&mut size));
    assert_eq!(status, c::OK);
    let mut bytes = vec![0; size];
    let room: *mut c::Byte = bytes.as_mut_ptr();
    // SAFETY: `size` bytes of room.
    let status = unsafe { serialize_fmu_state(Some(&mut instance), state, room, size) };
    assert_eq!(status, c::OK);
    let mut copy = ptr::null_mut();
    // SAFETY: `size` bytes.
    let status = unsafe { deserialize_fmu_state(Some(&mut instance), room, size, Some(&mut copy)) };
    assert_eq!(status, c::OK);
    assert_ne!(copy, state);
    assert_eq!(set_fmu_state(Some(&mut instance), copy), c::OK);
    let status = free_fmu_state(Some(&mut instance), Some(&mut copy));
    assert_eq!(status, c::OK);
    assert!(copy.is_null());
    // SAFETY: too little room, which the size says.
    let status = unsafe { serialize_fmu_state(Some(&mut instance), state, room, size - 1) };
    assert_eq!(status, c::ERROR);
    free_instance(Some(instance));
}
