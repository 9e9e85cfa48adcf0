//! Scalar types, constants and structures (`fmi2TypesPlatform.h`, `fmi2FunctionTypes.h`).

use core::ffi::{c_char, c_int, c_uint, c_void};

/// `fmi2TypesPlatform`: what `fmi2GetTypesPlatform` returns on every platform in use.
pub const TYPES_PLATFORM: &core::ffi::CStr = c"default";
/// Version that `fmi2GetVersion` returns.
pub const VERSION: &core::ffi::CStr = c"2.0";

/// `fmi2Component`: an instance as the FMU sees it; opaque to the importer.
pub type Component = *mut c_void;
/// `fmi2ComponentEnvironment`: the importer's own pointer, opaque to the FMU.
pub type ComponentEnvironment = *mut c_void;
/// `fmi2FMUstate`: a saved state, owned by the instance that made it.
pub type FmuState = *mut c_void;
/// `fmi2ValueReference`: names a variable, unique within one base type only.
pub type ValueReference = c_uint;
/// `fmi2Real`.
pub type Real = f64;
/// `fmi2Integer`, also the type of enumerations.
pub type Integer = c_int;
/// `fmi2Boolean`: zero is false; any other number counts as true when read.
pub type Boolean = c_int;
/// `fmi2String`: UTF-8, closed by NUL.
pub type String = *const c_char;
/// `fmi2Byte`.
pub type Byte = c_char;

/// `fmi2False`.
pub const FALSE: Boolean = 0;
/// `fmi2True`.
pub const TRUE: Boolean = 1;

/// `fmi2Status` as it crosses the interface. An integer and not a Rust enum, because an FMU may
/// return any number.
pub type Status = c_int;
/// All well.
pub const OK: Status = 0;
/// Something is not quite right, the call succeeded.
pub const WARNING: Status = 1;
/// The call was refused (a value rejected, a step not finished); the instance is as before.
pub const DISCARD: Status = 2;
/// The instance cannot continue, other instances of the FMU can.
pub const ERROR: Status = 3;
/// All instances of the FMU are corrupt.
pub const FATAL: Status = 4;
/// The step continues in the background.
pub const PENDING: Status = 5;

/// `fmi2Type`, the kind of instance that is asked for.
pub type Type = c_int;
/// `fmi2ModelExchange`.
pub const MODEL_EXCHANGE: Type = 0;
/// `fmi2CoSimulation`.
pub const CO_SIMULATION: Type = 1;

/// `fmi2StatusKind`, what `fmi2GetXXXStatus` asks for.
pub type StatusKind = c_int;
/// `fmi2DoStepStatus` (a status): how a pending step goes.
pub const DO_STEP_STATUS: StatusKind = 0;
/// `fmi2PendingStatus` (a string): why a step is still pending.
pub const PENDING_STATUS: StatusKind = 1;
/// `fmi2LastSuccessfulTime` (a real): end of the last communication step that was finished.
pub const LAST_SUCCESSFUL_TIME: StatusKind = 2;
/// `fmi2Terminated` (a boolean): the slave asks for the end of the simulation.
pub const TERMINATED: StatusKind = 3;

/// `fmi2CallbackLogger`.
pub type Logger = unsafe extern "C" fn(
    environment: ComponentEnvironment,
    instance_name: String,
    status: Status,
    category: String,
    message: String,
    ...
);
/// `fmi2CallbackAllocateMemory`: zeroed memory for `count` objects of `size` bytes, or NULL.
pub type AllocateMemory = unsafe extern "C" fn(count: usize, size: usize) -> *mut c_void;
/// `fmi2CallbackFreeMemory`: gives memory back; NULL is allowed.
pub type FreeMemory = unsafe extern "C" fn(memory: *mut c_void);
/// `fmi2StepFinished`: an asynchronous step has ended.
pub type StepFinished = unsafe extern "C" fn(environment: ComponentEnvironment, status: Status);

/// `fmi2CallbackFunctions`: functions of the importer for an instance. It must keep its address
/// until `fmi2FreeInstance` has returned.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CallbackFunctions {
    /// Receives messages of the FMU.
    pub logger: Option<Logger>,
    /// Allocates zeroed memory.
    pub allocate_memory: Option<AllocateMemory>,
    /// Frees what `allocate_memory` gave.
    pub free_memory: Option<FreeMemory>,
    /// Called when an asynchronous step ends; `None` if stepping is synchronous.
    pub step_finished: Option<StepFinished>,
    /// Handed back as first argument of `logger` and `step_finished`.
    pub component_environment: ComponentEnvironment,
}
