//! Derivatives of inputs and outputs (FMI 2.0.5 section 4.2.1) and partial derivatives (2.1.9).

#![expect(unsafe_code, reason = "calls the functions of the FMU")]

use fmi2_abi::Function;

use super::{CallResult, Instance};
use crate::description::BaseType;
use crate::error::Status;

impl Instance {
    /// `fmi2SetRealInputDerivatives`: `values[i]` is the derivative of order `orders[i]` of the
    /// input `refs[i]` with respect to time, at the beginning of the next step. To be set before
    /// each step (C-69).
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, the FMU cannot interpolate inputs, or
    /// refuses; the instance can continue then.
    pub fn set_real_input_derivatives(
        &mut self,
        refs: &[u32],
        orders: &[i32],
        values: &[f64],
    ) -> CallResult {
        const F: Function = Function::SetRealInputDerivatives;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.same_length(F, refs.len(), orders.len())?;
        let claimed = self.cold.capabilities.interpolates_inputs;
        let function = self.cold.functions.set_real_input_derivatives;
        let set = self.capable(F, "canInterpolateInputs", claimed, function)?;
        let (orders, numbers) = (orders.as_ptr(), values.as_ptr());
        // SAFETY: the component is alive, the state allows the call, all arrays have that length.
        let status = self.slot.call(F, || unsafe {
            set(self.component, refs.as_ptr(), refs.len(), orders, numbers)
        });
        let concluded = self.conclude_ability(F, status);
        concluded.map_err(|error| {
            self.name_values(error, BaseType::Real, refs, &|i| values[i].to_string())
        })
    }

    /// `fmi2GetRealOutputDerivatives`: `values[i]` becomes the derivative of order `orders[i]` of
    /// the output `refs[i]` at the end of the last step (C-70).
    ///
    /// # Errors
    /// If the state forbids the call, the lengths differ, an order exceeds
    /// `maxOutputDerivativeOrder`, or the FMU fails.
    pub fn get_real_output_derivatives(
        &mut self,
        refs: &[u32],
        orders: &[i32],
        values: &mut [f64],
    ) -> CallResult {
        const F: Function = Function::GetRealOutputDerivatives;
        self.allow(F)?;
        self.same_length(F, refs.len(), values.len())?;
        self.same_length(F, refs.len(), orders.len())?;
        let highest = self.cold.capabilities.output_derivative_order;
        let fits = |order: &i32| u32::try_from(*order).is_ok_and(|o| (1..=highest).contains(&o));
        let claimed = orders.iter().all(fits);
        let function = self.cold.functions.get_real_output_derivatives;
        let get = self.capable(F, "a maxOutputDerivativeOrder that high", claimed, function)?;
        let (orders, values) = (orders.as_ptr(), values.as_mut_ptr());
        // SAFETY: the component is alive, the state allows the call, all arrays have that length.
        let status = self.slot.call(F, || unsafe {
            get(self.component, refs.as_ptr(), refs.len(), orders, values)
        });
        self.conclude_ability(F, status)
    }

    /// `fmi2GetDirectionalDerivative`: `out = ∂unknowns/∂knowns · seed` (C-71). The two sides
    /// may have different lengths.
    ///
    /// # Errors
    /// If the state forbids the call, lengths do not fit, the FMU does not provide it, or fails.
    pub fn directional_derivative(
        &mut self,
        unknowns: &[u32],
        knowns: &[u32],
        seed: &[f64],
        out: &mut [f64],
    ) -> CallResult {
        const F: Function = Function::GetDirectionalDerivative;
        self.allow(F)?;
        self.same_length(F, knowns.len(), seed.len())?;
        self.same_length(F, unknowns.len(), out.len())?;
        let claimed = self.cold.capabilities.directional_derivative;
        let function = self.cold.functions.get_directional_derivative;
        let get = self.capable(F, "providesDirectionalDerivative", claimed, function)?;
        // SAFETY: the component is alive, the state allows the call, the arrays have those lengths.
        let status = self.slot.call(F, || unsafe {
            get(
                self.component,
                unknowns.as_ptr(),
                unknowns.len(),
                knowns.as_ptr(),
                knowns.len(),
                seed.as_ptr(),
                out.as_mut_ptr(),
            )
        });
        self.conclude_ability(F, status)
    }

    /// Gives a status its effect. A refusal only shows that the FMU lacks an ability that it declares: its state stays as it is,
    /// since such FMUs run well without these calls.
    fn conclude_ability(&mut self, function: Function, status: fmi2_abi::Status) -> CallResult {
        match Status::from_raw(status) {
            refused @ (Status::Error | Status::Unknown(_)) => {
                self.restore_float_control(function.name());
                Err(self.failure(function, refused, None))
            }
            _ => self.conclude(function, status),
        }
    }
}
