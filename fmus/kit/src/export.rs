//! The macro that makes a library an FMU.

/// Exports the C functions of FMI 2.0 for co-simulation for one [`Model`](crate::Model), or for one
/// [`Simulation`](crate::Simulation): `export!(simulation Type)`.
///
/// To be called once, in a crate that is a `cdylib` and nothing else: two crates that export the
/// same C names must never be linked into one binary.
#[macro_export]
macro_rules! export {
    ($model:ty) => {
        $crate::export! { simulation $crate::InProcess<$model> }
    };

    (simulation $simulation:ty) => {
        const _: () = {
            use $crate::ffi::abi::{
                Boolean, Byte, CallbackFunctions, FmuState, Integer, Real, Status, StatusKind, String, Type,
                ValueReference,
            };

            type Own = $crate::ffi::Instance<$simulation>;
            type Component<'a> = $crate::ffi::Component<'a, $simulation>;

            #[unsafe(no_mangle)]
            extern "C" fn fmi2GetTypesPlatform() -> String {
                $crate::ffi::get_types_platform()
            }

            #[unsafe(no_mangle)]
            extern "C" fn fmi2GetVersion() -> String {
                $crate::ffi::get_version()
            }

            #[unsafe(no_mangle)]
            unsafe extern "C" fn fmi2Instantiate(
                instance_name: String,
                kind: Type,
                guid: String,
                resource_location: String,
                functions: Option<&CallbackFunctions>,
                visible: Boolean,
                logging_on: Boolean,
            ) -> Option<Box<Own>> {
                $crate::ffi::silence_panics();
                // SAFETY: the contract of fmi2Instantiate.
                unsafe {
                    $crate::ffi::instantiate::<$simulation>(
                        instance_name,
                        kind,
                        guid,
                        resource_location,
                        functions,
                        visible,
                        logging_on,
                    )
                }
            }

            $crate::export! { @functions [] $simulation;
                fmi2FreeInstance = free_instance(Option<Box<Own>>) -> ();
                fmi2SetupExperiment = setup_experiment(Component<'_>, Boolean, Real, Real, Boolean, Real) -> Status;
                fmi2EnterInitializationMode = enter_initialization_mode(Component<'_>) -> Status;
                fmi2ExitInitializationMode = exit_initialization_mode(Component<'_>) -> Status;
                fmi2Terminate = terminate(Component<'_>) -> Status;
                fmi2Reset = reset(Component<'_>) -> Status;
                fmi2GetFMUstate = get_fmu_state(Component<'_>, Option<&mut FmuState>) -> Status;
                fmi2SetFMUstate = set_fmu_state(Component<'_>, FmuState) -> Status;
                fmi2FreeFMUstate = free_fmu_state(Component<'_>, Option<&mut FmuState>) -> Status;
                fmi2SerializedFMUstateSize = serialized_fmu_state_size(Component<'_>, FmuState, Option<&mut usize>) -> Status;
                fmi2GetRealOutputDerivatives = get_real_output_derivatives(Component<'_>, *const ValueReference, usize, *const Integer, *mut Real) -> Status;
                fmi2DoStep = do_step(Component<'_>, Real, Real, Boolean) -> Status;
                fmi2CancelStep = cancel_step(Component<'_>) -> Status;
                fmi2GetStatus = get_status(Component<'_>, StatusKind, *mut Status) -> Status;
                fmi2GetRealStatus = get_real_status(Component<'_>, StatusKind, Option<&mut Real>) -> Status;
                fmi2GetIntegerStatus = get_integer_status(Component<'_>, StatusKind, *mut Integer) -> Status;
                fmi2GetBooleanStatus = get_boolean_status(Component<'_>, StatusKind, Option<&mut Boolean>) -> Status;
                fmi2GetStringStatus = get_string_status(Component<'_>, StatusKind, *mut String) -> Status;
            }

            $crate::export! { @functions [unsafe] $simulation;
                fmi2SetDebugLogging = set_debug_logging(Component<'_>, Boolean, usize, *const String) -> Status;
                fmi2GetReal = get_real(Component<'_>, *const ValueReference, usize, *mut Real) -> Status;
                fmi2GetInteger = get_integer(Component<'_>, *const ValueReference, usize, *mut Integer) -> Status;
                fmi2GetBoolean = get_boolean(Component<'_>, *const ValueReference, usize, *mut Boolean) -> Status;
                fmi2GetString = get_string(Component<'_>, *const ValueReference, usize, *mut String) -> Status;
                fmi2SetReal = set_real(Component<'_>, *const ValueReference, usize, *const Real) -> Status;
                fmi2SetInteger = set_integer(Component<'_>, *const ValueReference, usize, *const Integer) -> Status;
                fmi2SetBoolean = set_boolean(Component<'_>, *const ValueReference, usize, *const Boolean) -> Status;
                fmi2SetString = set_string(Component<'_>, *const ValueReference, usize, *const String) -> Status;
                fmi2SerializeFMUstate = serialize_fmu_state(Component<'_>, FmuState, *mut Byte, usize) -> Status;
                fmi2DeSerializeFMUstate = deserialize_fmu_state(Component<'_>, *const Byte, usize, Option<&mut FmuState>) -> Status;
                fmi2GetDirectionalDerivative = get_directional_derivative(Component<'_>, *const ValueReference, usize, *const ValueReference, usize, *const Real, *mut Real) -> Status;
                fmi2SetRealInputDerivatives = set_real_input_derivatives(Component<'_>, *const ValueReference, usize, *const Integer, *const Real) -> Status;
            }
        };
    };

    (@functions $safety:tt $simulation:ty; $($name:ident = $generic:ident($($type:ty),*) -> $result:ty;)*) => {$(
        $crate::export! { @function $safety $simulation; $name = $generic
            [a b c d e f g] [$($type),*] [] -> $result }
    )*};

    // Gives each argument a name, one after the other.
    (@function $safety:tt $simulation:ty; $name:ident = $generic:ident [$next:ident $($names:ident)*]
        [$type:ty $(, $types:ty)*] [$($done:tt)*] -> $result:ty) => {
        $crate::export! { @function $safety $simulation; $name = $generic
            [$($names)*] [$($types),*] [$($done)* ($next: $type)] -> $result }
    };
    (@function [] $simulation:ty; $name:ident = $generic:ident [$($names:ident)*]
        [] [$(($argument:ident: $type:ty))*] -> $result:ty) => {
        #[unsafe(no_mangle)]
        extern "C" fn $name($($argument: $type),*) -> $result {
            $crate::ffi::$generic::<$simulation>($($argument),*)
        }
    };
    (@function [unsafe] $simulation:ty; $name:ident = $generic:ident [$($names:ident)*]
        [] [$(($argument:ident: $type:ty))*] -> $result:ty) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the contract of the C function of that name.
            unsafe { $crate::ffi::$generic::<$simulation>($($argument),*) }
        }
    };
}
