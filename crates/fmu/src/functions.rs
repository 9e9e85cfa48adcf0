//! The functions of FMI 2.0 that a library exports (FMI 2.0.5 section 2.1.1 and 4.2), found by their names.

#![expect(unsafe_code, reason = "looks up functions by their names")]

use std::mem::offset_of;

use fmi2_abi::signature as f;
use fmi2_abi::{Boolean, Integer, Real};

use crate::description::{BaseType, ModelDescription};

#[cfg(not(unix))]
pub(crate) use libloading::Library as Handle;
#[cfg(unix)]
pub(crate) use libloading::os::unix::Library as Handle;

/// A function of an FMU that has a component. `c_library.rs` implements it, for functions of any number of arguments.
pub(crate) trait Guarded: Copy {
    /// A function that calls the one at the byte `AT` of [`Functions`], which is of the same type, with the state of the
    /// instance in place.
    fn guarded<const AT: usize>(self) -> Self;
}

/// Declares [`Functions`] and how to find them by name.
macro_rules! functions {
    (
        required { $($required:ident: $kind:ty = $required_name:literal $(for $base:ident or $refuse:ident)?,)* }
        optional { $($optional:ident: $optional_kind:ty = $optional_name:literal,)* }
    ) => {
        /// The functions of an FMU. Real FMUs lack some, and a run needs few: functions that may be
        /// missing are optional (C-06).
        #[derive(Clone, Copy)]
        #[repr(C)]
        pub(crate) struct Functions {
            $(pub(crate) $required: $kind,)*
            $(pub(crate) $optional: Option<$optional_kind>,)*
        }

        /// C names of the functions that no run can do without: an FMU that does not export all of
        /// them is refused (C-06).
        pub const REQUIRED_FUNCTIONS: &[&str] = &[$($required_name,)*];

        /// The functions of the values of a type.
        const OF_TYPES: &[(&str, BaseType)] = &[$($(($required_name, BaseType::$base),)?)*];

        impl Functions {
            /// Functions that call these, with the instance's own state of the C library in place.
            pub(crate) fn guarded(&self) -> Self {
                Self {
                    $($required: self.$required.guarded::<{ offset_of!(Self, $required) }>(),)*
                    $($optional: self.$optional.map(|function| {
                        function.guarded::<{ offset_of!(Self, $optional) }>()
                    }),)*
                }
            }

            /// Finds the functions, or all names in `needed` that are missing.
            pub(crate) fn look_up(handle: &Handle, needed: &[&str]) -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(
                    // SAFETY: the type is the one that FMI 2.0 gives to this name.
                    let $required = unsafe { symbol::<$kind>(handle, $required_name) };
                    $(
                        let is_needed = needed.contains(&$required_name);
                        let $required = $required.or((!is_needed).then_some($refuse as $kind));
                    )?
                    if $required.is_none() {
                        missing.push($required_name);
                    }
                )*
                $(
                    // SAFETY: as above.
                    let $optional = unsafe { symbol::<$optional_kind>(handle, $optional_name) };
                )*
                match ($($required,)*) {
                    ($(Some($required),)*) => Ok(Self { $($required,)* $($optional,)* }),
                    _ => Err(missing),
                }
            }
        }
    };
}

// The functions of every step come first, to lie together.
functions! {
    required {
        set_real: f::Set<Real> = "fmi2SetReal" for Real or refuse_set,
        get_real: f::Get<Real> = "fmi2GetReal" for Real or refuse_get,
        do_step: f::DoStep = "fmi2DoStep",
        set_integer: f::Set<Integer> = "fmi2SetInteger" for Integer or refuse_set,
        get_integer: f::Get<Integer> = "fmi2GetInteger" for Integer or refuse_get,
        set_boolean: f::Set<Boolean> = "fmi2SetBoolean" for Boolean or refuse_set,
        get_boolean: f::Get<Boolean> = "fmi2GetBoolean" for Boolean or refuse_get,
        set_string: f::Set<fmi2_abi::String> = "fmi2SetString" for String or refuse_set,
        get_string: f::Get<fmi2_abi::String> = "fmi2GetString" for String or refuse_get,
        instantiate: f::Instantiate = "fmi2Instantiate",
        free_instance: f::FreeInstance = "fmi2FreeInstance",
        setup_experiment: f::SetupExperiment = "fmi2SetupExperiment",
        enter_initialization_mode: f::Command = "fmi2EnterInitializationMode",
        exit_initialization_mode: f::Command = "fmi2ExitInitializationMode",
        terminate: f::Command = "fmi2Terminate",
    }
    optional {
        set_real_input_derivatives: f::SetRealInputDerivatives = "fmi2SetRealInputDerivatives",
        get_real_output_derivatives: f::GetRealOutputDerivatives = "fmi2GetRealOutputDerivatives",
        get_directional_derivative: f::GetDirectionalDerivative = "fmi2GetDirectionalDerivative",
        reset: f::Command = "fmi2Reset",
        cancel_step: f::Command = "fmi2CancelStep",
        set_debug_logging: f::SetDebugLogging = "fmi2SetDebugLogging",
        get_status: f::GetStatus<fmi2_abi::Status> = "fmi2GetStatus",
        get_string_status: f::GetStatus<fmi2_abi::String> = "fmi2GetStringStatus",
        get_real_status: f::GetStatus<Real> = "fmi2GetRealStatus",
        get_boolean_status: f::GetStatus<Boolean> = "fmi2GetBooleanStatus",
        get_fmu_state: f::StateSlot = "fmi2GetFMUstate",
        set_fmu_state: f::SetFmuState = "fmi2SetFMUstate",
        free_fmu_state: f::StateSlot = "fmi2FreeFMUstate",
        serialized_fmu_state_size: f::SerializedFmuStateSize = "fmi2SerializedFMUstateSize",
        serialize_fmu_state: f::SerializeFmuState = "fmi2SerializeFMUstate",
        deserialize_fmu_state: f::DeSerializeFmuState = "fmi2DeSerializeFMUstate",
    }
}

/// C names of the functions that a run of this FMU needs. Functions for the values of a type are needed only if it has
/// variables of this type. Some tools leave the others out.
#[must_use]
pub fn required_functions(description: &ModelDescription) -> Vec<&'static str> {
    let is_needed = |name: &&&str| {
        let of_type = OF_TYPES.iter().find(|(function, _)| function == *name);
        of_type.is_none_or(|(_, base_type)| {
            let mut variables = description.variables.iter();
            variables.any(|variable| variable.kind.base_type() == *base_type)
        })
    };
    REQUIRED_FUNCTIONS
        .iter()
        .filter(is_needed)
        .copied()
        .collect()
}

/// Replaces a function that the library lacks, for a type without variables in the FMU.
extern "C" fn refuse_get<T>(
    _component: fmi2_abi::Component,
    _references: *const fmi2_abi::ValueReference,
    count: usize,
    _values: *mut T,
) -> fmi2_abi::Status {
    if count == 0 {
        fmi2_abi::OK
    } else {
        fmi2_abi::ERROR
    }
}

/// As [`refuse_get`].
extern "C" fn refuse_set<T>(
    _component: fmi2_abi::Component,
    _references: *const fmi2_abi::ValueReference,
    count: usize,
    _values: *const T,
) -> fmi2_abi::Status {
    if count == 0 {
        fmi2_abi::OK
    } else {
        fmi2_abi::ERROR
    }
}

/// Looks up a function.
///
/// # Safety
/// `T` is the type of the function with this name.
pub(crate) unsafe fn symbol<T: Copy>(handle: &Handle, name: &str) -> Option<T> {
    // SAFETY: the type is right by the contract of this function; a NULL symbol is an error.
    let symbol = unsafe { handle.get::<Option<T>>(name) };
    symbol.ok().and_then(|symbol| *symbol)
}
