//! Life of an instance and its steps.

#![expect(unsafe_code, reason = "pointers come from C and go to C")]

use std::ffi::{CStr, CString};
use std::panic::{AssertUnwindSafe, catch_unwind};

use fmi2_abi as c;
use fmi2_abi::Function;

use super::arguments::{NULL_ARGUMENT, list, text, with_slave};
use crate::simulation::{Experiment, Instantiation, Simulation};
use crate::slave::{Sink, Slave};

/// A `fmi2Component`: NULL, or an instance that [`instantiate`] has made and [`free_instance`] has not yet taken. No two
/// calls of an instance go on at once (FMI 2.0.5, section 2.1.1).
pub type Component<'a, S> = Option<&'a mut Instance<S>>;

/// Instance that a `fmi2Component` points to.
#[expect(missing_debug_implementations, reason = "a simulation needs none")]
pub struct Instance<S: Simulation> {
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
/// Texts are NULL or closed by NUL; what `functions` has is valid until the instance is freed.
pub unsafe extern "C" fn instantiate<S: Simulation>(
    instance_name: c::String,
    kind: c::Type,
    guid: c::String,
    resource_location: c::String,
    functions: Option<&c::CallbackFunctions>,
    _visible: c::Boolean,
    logging_on: c::Boolean,
) -> Option<Box<Instance<S>>> {
    let functions = functions?;
    // SAFETY: NULL or texts by the contract.
    let [name, guid, resource_location] =
        [instance_name, guid, resource_location].map(|argument| unsafe { text(argument) });
    let (name, guid) = (name.unwrap_or_default(), guid.unwrap_or_default());
    crate::crash::remember(functions);
    let sink = logger(functions, name);
    if name.is_empty() || kind != c::CO_SIMULATION {
        let message = "fmi2Instantiate: needs an instance name and type fmi2CoSimulation";
        sink(c::ERROR, "logStatusError", message);
        return None;
    }
    let order = Instantiation {
        instance_name: name,
        guid,
        resource_location,
    };
    let make = || Slave::<S>::instantiate(&order, logging_on != c::FALSE, sink);
    let slave = catch_unwind(AssertUnwindSafe(make)).ok().flatten()?;
    let strings = Vec::new();
    Some(Box::new(Instance { slave, strings }))
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
pub extern "C" fn free_instance<S: Simulation>(component: Option<Box<Instance<S>>>) {
    let Some(mut instance) = component else {
        return;
    };
    if !instance.slave.may_be_freed() {
        Box::leak(instance);
        return;
    }
    let free = || {
        instance.slave.free();
        drop(instance);
    };
    // A panic while dropping has no receiver for a report.
    let _ = catch_unwind(AssertUnwindSafe(free));
}

/// `fmi2SetDebugLogging`.
///
/// # Safety
/// `categories` has `count` texts.
pub unsafe extern "C" fn set_debug_logging<S: Simulation>(
    component: Component<'_, S>,
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
    with_slave(component, function, body)
}

/// `fmi2SetupExperiment`.
pub extern "C" fn setup_experiment<S: Simulation>(
    component: Component<'_, S>,
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
    with_slave(component, Function::SetupExperiment, body)
}

/// Functions that take the instance and nothing else.
macro_rules! commands {
    ($($name:ident, $c_name:literal, $function:ident, $body:expr;)*) => {$(
        #[doc = concat!("`", $c_name, "`.")]
        pub extern "C" fn $name<S: Simulation>(component: Component<'_, S>) -> c::Status {
            with_slave(component, Function::$function, $body)
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
pub extern "C" fn do_step<S: Simulation>(
    component: Component<'_, S>,
    time: c::Real,
    step: c::Real,
    no_set_state_prior: c::Boolean,
) -> c::Status {
    let body = |slave: &mut Slave<S>| slave.do_step(time, step, no_set_state_prior != c::FALSE);
    with_slave(component, Function::DoStep, body)
}

/// `fmi2GetRealStatus`.
pub extern "C" fn get_real_status<S: Simulation>(
    component: Component<'_, S>,
    kind: c::StatusKind,
    value: Option<&mut c::Real>,
) -> c::Status {
    let function = Function::GetRealStatus;
    let body = |slave: &mut Slave<S>| match value {
        Some(value) => slave.get_real_status(kind, value),
        None => slave.reject(function, NULL_ARGUMENT),
    };
    with_slave(component, function, body)
}

/// `fmi2GetBooleanStatus`.
pub extern "C" fn get_boolean_status<S: Simulation>(
    component: Component<'_, S>,
    kind: c::StatusKind,
    value: Option<&mut c::Boolean>,
) -> c::Status {
    let function = Function::GetBooleanStatus;
    let body = |slave: &mut Slave<S>| {
        let Some(value) = value else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        let mut answer = false;
        let status = slave.get_boolean_status(kind, &mut answer);
        *value = c::Boolean::from(answer);
        status
    };
    with_slave(component, function, body)
}

/// `fmi2GetStatus`, `fmi2GetIntegerStatus`, `fmi2GetStringStatus`: never anything to say.
macro_rules! other_status {
    ($($name:ident, $c_name:literal, $function:ident, $value:ty;)*) => {$(
        #[doc = concat!("`", $c_name, "`.")]
        pub extern "C" fn $name<S: Simulation>(
            component: Component<'_, S>,
            _kind: c::StatusKind,
            _value: *mut $value,
        ) -> c::Status {
            let function = Function::$function;
            with_slave(component, function, |slave| slave.get_other_status(function))
        }
    )*};
}

other_status! {
    get_status, "fmi2GetStatus", GetStatus, c::Status;
    get_integer_status, "fmi2GetIntegerStatus", GetIntegerStatus, c::Integer;
    get_string_status, "fmi2GetStringStatus", GetStringStatus, c::String;
}
