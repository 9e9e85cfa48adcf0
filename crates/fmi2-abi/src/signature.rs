//! Signatures of the functions that an FMU for co-simulation exports (`fmi2FunctionTypes.h`).
//!
//! Each alias carries the name of its C function without the prefix `fmi2`. All of them are
//! `unsafe`: pointers have to be valid for the given lengths, and the call has to be legal in the
//! instance's state (see [`crate::call_state`]).

use crate::c_data::{
    Boolean, Byte, CallbackFunctions, Component, FmuState, Integer, Real, Status, StatusKind,
    String, Type, ValueReference,
};

/// `fmi2GetTypesPlatform`, `fmi2GetVersion`.
pub type GetText = unsafe extern "C" fn() -> String;
/// `fmi2SetDebugLogging`.
pub type SetDebugLogging = unsafe extern "C" fn(
    component: Component,
    logging_on: Boolean,
    category_count: usize,
    categories: *const String,
) -> Status;
/// `fmi2Instantiate`.
pub type Instantiate = unsafe extern "C" fn(
    instance_name: String,
    kind: Type,
    guid: String,
    resource_location: String,
    functions: *const CallbackFunctions,
    visible: Boolean,
    logging_on: Boolean,
) -> Component;
/// `fmi2FreeInstance`.
pub type FreeInstance = unsafe extern "C" fn(component: Component);
/// `fmi2SetupExperiment`.
pub type SetupExperiment = unsafe extern "C" fn(
    component: Component,
    tolerance_defined: Boolean,
    tolerance: Real,
    start_time: Real,
    stop_time_defined: Boolean,
    stop_time: Real,
) -> Status;
/// `fmi2EnterInitializationMode`, `fmi2ExitInitializationMode`, `fmi2Terminate`, `fmi2Reset`,
/// `fmi2CancelStep`.
pub type Command = unsafe extern "C" fn(component: Component) -> Status;

/// `fmi2GetReal`, `fmi2GetInteger`, `fmi2GetBoolean`, `fmi2GetString` for the value type `T`.
pub type Get<T> = unsafe extern "C" fn(
    component: Component,
    references: *const ValueReference,
    count: usize,
    values: *mut T,
) -> Status;
/// `fmi2SetReal`, `fmi2SetInteger`, `fmi2SetBoolean`, `fmi2SetString` for the value type `T`.
pub type Set<T> = unsafe extern "C" fn(
    component: Component,
    references: *const ValueReference,
    count: usize,
    values: *const T,
) -> Status;

/// `fmi2GetFMUstate`, `fmi2FreeFMUstate`.
pub type StateSlot = unsafe extern "C" fn(component: Component, state: *mut FmuState) -> Status;
/// `fmi2SetFMUstate`.
pub type SetFmuState = unsafe extern "C" fn(component: Component, state: FmuState) -> Status;
/// `fmi2SerializedFMUstateSize`.
pub type SerializedFmuStateSize =
    unsafe extern "C" fn(component: Component, state: FmuState, size: *mut usize) -> Status;
/// `fmi2SerializeFMUstate`.
pub type SerializeFmuState = unsafe extern "C" fn(
    component: Component,
    state: FmuState,
    bytes: *mut Byte,
    size: usize,
) -> Status;
/// `fmi2DeSerializeFMUstate`.
pub type DeSerializeFmuState = unsafe extern "C" fn(
    component: Component,
    bytes: *const Byte,
    size: usize,
    state: *mut FmuState,
) -> Status;

/// `fmi2GetDirectionalDerivative`: `result = ∂unknowns/∂knowns · seed`.
pub type GetDirectionalDerivative = unsafe extern "C" fn(
    component: Component,
    unknowns: *const ValueReference,
    unknown_count: usize,
    knowns: *const ValueReference,
    known_count: usize,
    seed: *const Real,
    result: *mut Real,
) -> Status;
/// `fmi2SetRealInputDerivatives`.
pub type SetRealInputDerivatives = unsafe extern "C" fn(
    component: Component,
    references: *const ValueReference,
    count: usize,
    orders: *const Integer,
    values: *const Real,
) -> Status;
/// `fmi2GetRealOutputDerivatives`.
pub type GetRealOutputDerivatives = unsafe extern "C" fn(
    component: Component,
    references: *const ValueReference,
    count: usize,
    orders: *const Integer,
    values: *mut Real,
) -> Status;
/// `fmi2DoStep`.
pub type DoStep = unsafe extern "C" fn(
    component: Component,
    current_communication_point: Real,
    communication_step_size: Real,
    no_set_fmu_state_prior_to_current_point: Boolean,
) -> Status;
/// `fmi2GetStatus`, `fmi2GetRealStatus`, `fmi2GetIntegerStatus`, `fmi2GetBooleanStatus`,
/// `fmi2GetStringStatus` for the value type `T`.
pub type GetStatus<T> =
    unsafe extern "C" fn(component: Component, kind: StatusKind, value: *mut T) -> Status;
