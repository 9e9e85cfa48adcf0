//! Raw arguments to references, slices and strings.

#![expect(unsafe_code, reason = "pointers come from C")]

use std::ffi::CStr;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fmi2_abi as c;
use fmi2_abi::Function;

use super::instance::{Component, Instance};
use crate::simulation::Simulation;
use crate::slave::Slave;

/// Calls `body` with the instance behind `component`; a panic makes the instance fatal.
pub(super) fn with_instance<S: Simulation>(
    component: Component<'_, S>,
    function: Function,
    body: impl FnOnce(&mut Instance<S>) -> c::Status,
) -> c::Status {
    let Some(instance) = component else {
        return c::ERROR;
    };
    catch_unwind(AssertUnwindSafe(|| body(instance)))
        .unwrap_or_else(|panic| instance.slave.panicked(function, panic_text(&*panic)))
}

/// As [`with_instance`], with the slave only.
pub(super) fn with_slave<S: Simulation>(
    component: Component<'_, S>,
    function: Function,
    body: impl FnOnce(&mut Slave<S>) -> c::Status,
) -> c::Status {
    with_instance(component, function, |instance| body(&mut instance.slave))
}

/// The message of a panic.
pub(super) fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}

/// The reason for a refused call.
pub(super) const NULL_ARGUMENT: &str = "an argument is NULL";

/// A list, or `None` if a list that is not empty is NULL.
///
/// # Safety
/// `pointer` is NULL or points to `count` values that do not change during `'a`.
pub(super) unsafe fn list<'a, T>(pointer: *const T, count: usize) -> Option<&'a [T]> {
    if count == 0 {
        return Some(&[]);
    }
    // SAFETY: not NULL and not empty, so valid by the contract.
    (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts(pointer, count) })
}

/// A list to write to, or `None` if a list that is not empty is NULL.
///
/// # Safety
/// `pointer` is NULL or points to `count` initialised values with no other access during `'a`.
pub(super) unsafe fn list_mut<'a, T>(pointer: *mut T, count: usize) -> Option<&'a mut [T]> {
    if count == 0 {
        return Some(&mut []);
    }
    // SAFETY: not NULL and not empty, so valid by the contract.
    (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts_mut(pointer, count) })
}

/// A text, or `None` for NULL and for what is not UTF-8.
///
/// # Safety
/// `pointer` is NULL or points to a text closed by NUL that does not change during `'a`.
pub(super) unsafe fn text<'a>(pointer: c::String) -> Option<&'a str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not NULL, so a text closed by NUL by the contract.
    let text = unsafe { CStr::from_ptr(pointer) };
    text.to_str().ok()
}
