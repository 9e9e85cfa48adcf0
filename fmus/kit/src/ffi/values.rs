//! Values and derivatives of variables.

#![expect(unsafe_code, reason = "pointers come from C and go to C")]

use std::ptr;

use fmi2_abi as c;
use fmi2_abi::Function;

use super::arguments::{NULL_ARGUMENT, list, list_mut, text, with_instance, with_slave};
use super::instance::{Component, Instance, c_text};
use crate::model::Fault;
use crate::simulation::Simulation;
use crate::slave::Slave;

/// The pair of functions that get and set values of one type.
macro_rules! values {
    ($($get:ident $set:ident, $get_name:literal $set_name:literal, $get_function:ident
        $set_function:ident, $c_type:ty => $type:ty, $from_c:expr, $to_c:expr;)*) => {$(
        #[doc = concat!("`", $get_name, "`.")]
        ///
        /// # Safety
        /// Both lists are NULL or have `count` items.
        pub unsafe extern "C" fn $get<S: Simulation>(
            component: Component<'_, S>,
            references: *const c::ValueReference,
            count: usize,
            values: *mut $c_type,
        ) -> c::Status {
            let function = Function::$get_function;
            // SAFETY: a list by the contract.
            let references = unsafe { list(references, count) };
            // SAFETY: a list by the contract.
            let values = unsafe { list_mut(values, count) };
            let body = |slave: &mut Slave<S>| match (references, values) {
                (Some(references), Some(values)) => {
                    slave.get(function, references, |i, value: &$type| values[i] = $to_c(*value))
                }
                _ => slave.reject(function, NULL_ARGUMENT),
            };
            with_slave(component, function, body)
        }

        #[doc = concat!("`", $set_name, "`.")]
        ///
        /// # Safety
        /// Both lists are NULL or have `count` items.
        pub unsafe extern "C" fn $set<S: Simulation>(
            component: Component<'_, S>,
            references: *const c::ValueReference,
            count: usize,
            values: *const $c_type,
        ) -> c::Status {
            let function = Function::$set_function;
            // SAFETY: a list by the contract.
            let references = unsafe { list(references, count) };
            // SAFETY: a list by the contract.
            let values = unsafe { list(values, count) };
            let body = |slave: &mut Slave<S>| match (references, values) {
                (Some(references), Some(values)) => {
                    slave.set::<$type>(function, references, |i| Ok($from_c(values[i])))
                }
                _ => slave.reject(function, NULL_ARGUMENT),
            };
            with_slave(component, function, body)
        }
    )*};
}

values! {
    get_real set_real, "fmi2GetReal" "fmi2SetReal", GetReal SetReal,
        c::Real => f64, |value| value, |value| value;
    get_integer set_integer, "fmi2GetInteger" "fmi2SetInteger", GetInteger SetInteger,
        c::Integer => i32, |value| value, |value| value;
    get_boolean set_boolean, "fmi2GetBoolean" "fmi2SetBoolean", GetBoolean SetBoolean,
        c::Boolean => bool, |value| value != c::FALSE, c::Boolean::from;
}

/// `fmi2GetString`; the texts are valid until the next call of the function.
///
/// # Safety
/// Both lists are NULL or have `count` items.
pub unsafe extern "C" fn get_string<S: Simulation>(
    component: Component<'_, S>,
    references: *const c::ValueReference,
    count: usize,
    values: *mut c::String,
) -> c::Status {
    let function = Function::GetString;
    // SAFETY: a list by the contract.
    let references = unsafe { list(references, count) };
    // SAFETY: a list by the contract.
    let values = unsafe { list_mut(values, count) };
    let body = |instance: &mut Instance<S>| {
        let Instance { slave, strings } = instance;
        let (Some(references), Some(values)) = (references, values) else {
            return slave.reject(function, NULL_ARGUMENT);
        };
        strings.clear();
        let receive = |_, value: &String| strings.push(c_text(value));
        let status = slave.get(function, references, receive);
        let pointers = strings.iter().map(|text| text.as_ptr());
        for (value, pointer) in values
            .iter_mut()
            .zip(pointers.chain(std::iter::repeat(ptr::null())))
        {
            *value = pointer;
        }
        status
    };
    with_instance(component, function, body)
}

/// `fmi2SetString`.
///
/// # Safety
/// Both lists are NULL or have `count` items.
pub unsafe extern "C" fn set_string<S: Simulation>(
    component: Component<'_, S>,
    references: *const c::ValueReference,
    count: usize,
    values: *const c::String,
) -> c::Status {
    let function = Function::SetString;
    // SAFETY: a list by the contract.
    let references = unsafe { list(references, count) };
    // SAFETY: a list by the contract.
    let values = unsafe { list(values, count) };
    let value_of = |value: c::String| {
        // SAFETY: NULL or a text by the contract.
        let text = unsafe { text(value) };
        let refused = || Fault::Discard("a text is NULL or not UTF-8".to_owned());
        text.map(str::to_owned).ok_or_else(refused)
    };
    let body = |slave: &mut Slave<S>| match (references, values) {
        (Some(references), Some(values)) => {
            slave.set::<String>(function, references, |i| value_of(values[i]))
        }
        _ => slave.reject(function, NULL_ARGUMENT),
    };
    with_slave(component, function, body)
}

/// `fmi2SetRealInputDerivatives`.
///
/// # Safety
/// The lists are NULL or have `count` items.
pub unsafe extern "C" fn set_real_input_derivatives<S: Simulation>(
    component: Component<'_, S>,
    references: *const c::ValueReference,
    count: usize,
    orders: *const c::Integer,
    values: *const c::Real,
) -> c::Status {
    let function = Function::SetRealInputDerivatives;
    // SAFETY: a list by the contract.
    let references = unsafe { list(references, count) };
    // SAFETY: a list by the contract.
    let orders = unsafe { list(orders, count) };
    // SAFETY: a list by the contract.
    let values = unsafe { list(values, count) };
    let body = |slave: &mut Slave<S>| match (references, orders, values) {
        (Some(references), Some(orders), Some(values)) => {
            slave.set_input_derivatives(references, orders, values)
        }
        _ => slave.reject(function, NULL_ARGUMENT),
    };
    with_slave(component, function, body)
}

/// `fmi2GetRealOutputDerivatives`.
pub extern "C" fn get_real_output_derivatives<S: Simulation>(
    component: Component<'_, S>,
    _references: *const c::ValueReference,
    _count: usize,
    _orders: *const c::Integer,
    _values: *mut c::Real,
) -> c::Status {
    let function = Function::GetRealOutputDerivatives;
    with_slave(component, function, Slave::get_output_derivatives)
}

/// `fmi2GetDirectionalDerivative`.
///
/// # Safety
/// The lists are NULL or as long as their counts say.
pub unsafe extern "C" fn get_directional_derivative<S: Simulation>(
    component: Component<'_, S>,
    unknowns: *const c::ValueReference,
    unknown_count: usize,
    knowns: *const c::ValueReference,
    known_count: usize,
    seed: *const c::Real,
    result: *mut c::Real,
) -> c::Status {
    let function = Function::GetDirectionalDerivative;
    // SAFETY: a list by the contract.
    let unknowns = unsafe { list(unknowns, unknown_count) };
    // SAFETY: a list by the contract.
    let knowns = unsafe { list(knowns, known_count) };
    // SAFETY: a list by the contract.
    let seed = unsafe { list(seed, known_count) };
    // SAFETY: a list by the contract.
    let result = unsafe { list_mut(result, unknown_count) };
    let body = |slave: &mut Slave<S>| match (unknowns, knowns, seed, result) {
        (Some(unknowns), Some(knowns), Some(seed), Some(result)) => {
            slave.get_directional_derivative(unknowns, knowns, seed, result)
        }
        _ => slave.reject(function, NULL_ARGUMENT),
    };
    with_slave(component, function, body)
}
