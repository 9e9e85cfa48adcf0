//! A unit made of a closure: the quickest way to put a model, a controller or a physical part into
//! a system.

use std::collections::BTreeMap;

use crate::unit::{
    Capabilities, Causality, Handle, Period, StepOutcome, Unit, UnitDescription, UnitResult,
    Variable, set_inputs,
};

/// Arguments of a call to a [`ClosureUnit`], one call per communication step.
#[derive(Debug)]
pub struct Call<'a> {
    /// Time at the start of the step, s; the start time when the initial outputs are wanted.
    pub time: f64,
    /// Length of the step, s; 0 when the initial outputs are wanted.
    pub step: f64,
    /// The inputs, in the order of their declaration.
    pub inputs: &'a [f64],
    /// The outputs to be filled in, in the order of their declaration; they hold the last ones.
    pub outputs: &'a mut [f64],
}

/// A unit whose step is a Rust closure over real inputs and outputs.
///
/// The closure is called once per communication step, and once with `step = 0` for the initial
/// outputs. Outputs are those the step left: they do not depend on inputs that are set later, and
/// the initial outputs depend on no input.
pub struct ClosureUnit<F> {
    description: UnitDescription,
    inputs: Vec<f64>,
    outputs: Vec<f64>,
    time: f64,
    step: F,
}

impl<F: FnMut(Call<'_>) + Send> ClosureUnit<F> {
    /// A unit with these inputs and outputs (name, start value) that `step` advances.
    pub fn new(inputs: &[(&str, f64)], outputs: &[(&str, f64)], step: F) -> Self {
        let names = inputs.iter().map(|(name, _)| (*name, Causality::Input));
        let names = names.chain(outputs.iter().map(|(name, _)| (*name, Causality::Output)));
        let variables = names
            .zip(0..)
            .map(|((name, causality), handle)| Variable::real(name, handle, causality))
            .collect();
        let capabilities = Capabilities {
            input_derivatives: 0,
            output_derivatives: 0,
            fresh_outputs: false,
            directional_derivatives: false,
            variable_step: true,
            save_and_restore: false,
            serialize: false,
        };
        Self {
            description: UnitDescription::new(variables, BTreeMap::new(), capabilities),
            inputs: inputs.iter().map(|(_, start)| *start).collect(),
            outputs: outputs.iter().map(|(_, start)| *start).collect(),
            time: 0.0,
            step,
        }
    }

    fn call(&mut self, time: f64, step: f64) {
        (self.step)(Call {
            time,
            step,
            inputs: &self.inputs,
            outputs: &mut self.outputs,
        });
    }
}

impl<F: FnMut(Call<'_>) + Send> Unit for ClosureUnit<F> {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.time = period.start;
        Ok(())
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.call(self.time, 0.0);
        Ok(())
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        set_inputs(&mut self.inputs, handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        let inputs = self.inputs.len();
        for (&handle, value) in handles.iter().zip(values) {
            let handle = handle as usize;
            *value = if handle < inputs {
                self.inputs[handle]
            } else {
                self.outputs[handle - inputs]
            };
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.call(time, step);
        Ok(StepOutcome::Done)
    }
}
