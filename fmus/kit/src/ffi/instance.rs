//! Life of an instance and its steps.

#![expect(unsafe_code, reason = "pointers come from C and go to C")]

use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fmi2_abi as c;
use fmi2_abi::Function;

use super::arguments::{NULL_ARGUMENT, list, place, text, with_instance, with_slave};
use crate::simulation::{Experiment, Instantiation, Simulation};
use crate::slave::{Sink, Slave};

/// Instance that a `fmi2Component` points to.
pub(super) struct Instance<S: Simulation> {
    pub(super) slave: Slave<S>,
    /// The texts handed out by the last `fmi2GetString`.
    pub(super) strings: Vec<CString>,
}

/// `fmi2GetTypesPlatform`.
pub extern "C" fn get_types_platform() -> c::String {
    c::TYPES_PLATFORM.as_ptr()
}

/// `fmi2GetVersion`.
pub extern "C" fn get_version() -> c::String {
    c::VERSION.as_ptr()
}

/// Keeps panics from printing to the importer's standard error; their text goes to the logger.
///
/// For an FMU only: there the library has a copy of the standard library of its own.
pub fn silence_panics() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

/// `fmi2Instantiate`.
///
/// # Safety
/// Texts are NULL or closed by NUL; `functions` is NULL or valid until the instance is freed.
pub unsafe extern "C" fn instantiate<S: Simulation>(
    instance_name: c::String,
    kind: c::Type,
    guid: c::String,
    resource_location: c::String,
    functions: *const c::CallbackFunctions,
    _visible: c::Boolean,
    logging_on: c::Boolean,
) -> c::Component {
    // SAFETY: NULL or valid by the contract.
    let Some(functions) = (unsafe { functions.as_ref() }) else {
        return std::ptr::null_mut();
    };
    // SAFETY: NULL or a text by the contract.
    let name = unsafe { text(instance_name) }.unwrap_or_default();
    // SAFETY: NULL or a text by the contract.
    let guid = unsafe { text(guid) }.unwrap_or_default();
    // SAFETY: NULL or a text by the contract.
    let resource_location = unsafe { text(resource_location) };
    crate::crash::remember(functions);
    let sink = logger(functions, name);
    if name.is_empty() || kind != c::CO_SIMULATION {
        let message = "fmi2Instantiate: needs an instance name and type fmi2CoSimulation";
        sink(c::ERROR, "logStatusError", message);
        return std::ptr::null_mut();
    }
    let order = Instantiation {
        instance_name: name,
        guid,
        resource_location,
    };
    let make = || Slave::<S>::instantiate(&order, logging_on != c::FALSE, sink);
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(Some(slave)) => {
            let strings = Vec::new();
            Box::into_raw(Box::new(Instance { slave, strings })).cast()
        }
        Ok(None) | Err(_) => std::ptr::null_mut(),
    }
}

/// Sends messages to the importer's logger.
fn logger(functions: &c::CallbackFunctions, instance_name: &str) -> Sink {
    let name = c_text(instance_name);
    let (logger, environment) = (functions.logger, functions.component_environment);
    Box::new(move |status, category, message| {
        let Some(logger) = logger else { return };
        let category = c_text(category);
        // A single # would start a reference to a variable (FMI 2.0.5, section 2.1.5).
        let message = c_text(&message.replace('#', "##"));
        let format = c"%s";
        // SAFETY: all texts are closed by NUL and outlive the call; the format takes one text.
        unsafe {
            logger(
                environment,
                name.as_ptr(),
                status,
                category.as_ptr(),
                format.as_ptr(),
                message.as_ptr(),
            );
        }
    })
}

/// A text for C, which ends before its first NUL.
pub(super) fn c_text(text: &str) -> CString {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    let cut = CStr::from_bytes_until_nul(&bytes);
    cut.map(CStr::to_owned).unwrap_or_default()
}

/// `fmi2FreeInstance`; after Fatal it does nothing.
///
/// # Safety
/// `component` is NULL or came from [`instantiate`] for the same model, and is not used again.
pub unsafe extern "C" fn free_instance<S: Simulation>(component: c::Component) {
    let instance = component.cast::<Instance<S>>();
    // SAFETY: NULL or a live instance by the contract.
    let may_be_freed = unsafe { instance.as_ref() }.is_some_and(|i| i.slave.may_be_freed());
    if may_be_freed {
        // SAFETY: made by Box::into_raw, live, and not used again.
        let mut instance = unsafe { Box::from_raw(instance) };
        let free = || {
            instance.slave.free();
            drop(instance);
        };
        // A panic while dropping has no receiver for a report.
        let _ = catch_unwind(AssertUnwindSafe(free));
    }
}

/// `fmi2SetDebugLogging`.
///
/// # Safety
/// `component` as in [`free_instance`] but live after; `categories` has `count` texts.
pub unsafe extern "C" fn set_debug_logging<S: Simulation>(
    component: c::Component,
    logging_on: c::Boolean,
    count: usize,
    categories: *const c::String,
) -> c::Status {
    let function = Function::SetDebugLogging;
    // SAFETY: the same contract.
    let categories = unsafe { list(categories, count) };
    let body = |slave: &mut Slave<S>| {
        // SAFETY: texts by the contract.
        let read = |text_pointer: &c::String| unsafe { text(*text_pointer) };
        let categories: Option<Vec<&str>> =
            categories.and_then(|list| list.iter().map(read).collect());
        match categories {
            Some(categories) => slave.set_debug_logging(logging_on != c::FALSE, &categories),
            None => slave.reject(function, NULL_ARGUMENT),
        }
    };
    // SAFETY: the same contract.
    unsafe { with_slave(component, function, body) }
}

/// `fmi2SetupExperiment`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; no other call on it runs.
pub unsafe extern "C" fn setup_experiment<S: Simulation>(
    component: c::Component,
    tolerance_defined: c::Boolean,
    tolerance: c::Real,
    start_time: c::Real,
    stop_time_defined: c::Boolean,
    stop_time: c::Real,
) -> c::Status {
    let experiment = Experiment {
        start: start_time,
        stop: (stop_time_defined != c::FALSE).then_some(stop_time),
        tolerance: (tolerance_defined != c::FALSE).then_some(tolerance),
    };
    let body = |slave: &mut Slave<S>| slave.setup_experiment(&experiment);
    // SAFETY: the same contract.
    unsafe { with_slave(component, Function::SetupExperiment, body) }
}

/// Functions that take the instance and nothing else.
macro_rules! commands {
    ($($name:ident, $c_name:literal, $function:ident, $body:expr;)*) => {$(
        #[doc = concat!("`", $c_name, "`.")]
        ///
        /// # Safety
        /// `component` is NULL or a live instance of `S`; no other call on it runs.
        pub unsafe extern "C" fn $name<S: Simulation>(component: c::Component) -> c::Status {
            // SAFETY: the same contract.
            unsafe { with_slave::<S>(component, Function::$function, $body) }
        }
    )*};
}

commands! {
    enter_initialization_mode, "fmi2EnterInitializationMode", EnterInitializationMode,
        Slave::enter_initialization_mode;
    exit_initialization_mode, "fmi2ExitInitializationMode", ExitInitializationMode,
        Slave::exit_initialization_mode;
    terminate, "fmi2Terminate", Terminate, Slave::terminate;
    reset, "fmi2Reset", Reset, Slave::reset;
    cancel_step, "fmi2CancelStep", CancelStep,
        |slave| slave.reject(Function::CancelStep, "no step is pending");
}

/// `fmi2DoStep`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; no other call on it runs.
pub unsafe extern "C" fn do_step<S: Simulation>(
    component: c::Component,
    time: c::Real,
    step: c::Real,
    no_set_state_prior: c::Boolean,
) -> c::Status {
    let body = |slave: &mut Slave<S>| slave.do_step(time, step, no_set_state_prior != c::FALSE);
    // SAFETY: the same contract.
    unsafe { with_slave(component, Function::DoStep, body) }
}

/// `fmi2GetRealStatus`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `value` is NULL or valid.
pub unsafe extern "C" fn get_real_status<S: Simulation>(
    component: c::Component,
    kind: c::StatusKind,
    value: *mut c::Real,
) -> c::Status {
    let function = Function::GetRealStatus;
    // SAFETY: NULL or valid by the contract.
    let value = unsafe { place(value) };
    let body = |slave: &mut Slave<S>| match value {
        Some(value) => slave.get_real_status(kind, value),
        None => slave.reject(function, NULL_ARGUMENT),
    };
    // SAFETY: the same contract.
    unsafe { with_slave(component, function, body) }
}

/// `fmi2GetBooleanStatus`.
///
/// # Safety
/// `component` is NULL or a live instance of `S`; `value` is NULL or valid.
pub unsafe extern "C" fn get_boolean_status<S: Simulation>(
    component: c::Component,
    kind: c::StatusKind,
    value: *mut c::Boolean,
) -> c::Status {
    let function = Function::GetBooleanStatus;
    // SAFETY: NULL or valid by the contract.
    let value = unsafe { place(value) };
    let body = |slave: &mut Slave<S>| {
        let Some(value) = value else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        let mut answer = false;
        let status = slave.get_boolean_status(kind, &mut answer);
        *value = c::Boolean::from(answer);
        status
    };
    // SAFETY: the same contract.
    unsafe { with_slave(component, function, body) }
}

/// `fmi2GetStatus`, `fmi2GetIntegerStatus`, `fmi2GetStringStatus`: never anything to say.
macro_rules! other_status {
    ($($name:ident, $c_name:literal, $function:ident, $value:ty;)*) => {$(
        #[doc = concat!("`", $c_name, "`.")]
        ///
        /// # Safety
        /// `component` is NULL or a live instance of `S`; no other call on it runs.
        pub unsafe extern "C" fn $name<S: Simulation>(
            component: c::Component,
            _kind: c::StatusKind,
            _value: *mut $value,
        ) -> c::Status {
            let function = Function::$function;
            let body = |instance: &mut Instance<S>| instance.slave.get_other_status(function);
            // SAFETY: the same contract.
            unsafe { with_instance(component, function, body) }
        }
    )*};
}

other_status! {
    get_status, "fmi2GetStatus", GetStatus, c::Status;
    get_integer_status, "fmi2GetIntegerStatus", GetIntegerStatus, c::Integer;
    get_string_status, "fmi2GetStringStatus", GetStringStatus, c::String;
}
