//! A model of the FMUs as a unit in this process, without the C interface.

use std::collections::BTreeMap;

use fmu_kit::{BaseType, Fault, InProcess, Model, Saved, ScalarVariable, Variability};
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{
    Capabilities, Causality, Feedthrough, Handle, Period, PhysicalUnit, SavedState, StepOutcome,
    UnitDescription, UnitResult, Variable, VariableType, own_state,
};
use gyrator::{Unit, Value};

/// The model `M` as a unit: the results of its FMU, without archive, library and C calls.
///
/// It comes with the abilities of the FMU, and takes input derivatives if the model interpolates
/// its inputs. Those that a vendor's FMU may lack can be taken away.
pub struct ModelUnit<M: Model> {
    description: UnitDescription,
    instance: InProcess<M>,
}

impl<M: Model + Send> Default for ModelUnit<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Model + Send> ModelUnit<M> {
    /// A fresh instance with start values.
    #[must_use]
    pub fn new() -> Self {
        let unit = Self {
            description: describe(&fmu_kit::scalar_variables::<M>()),
            instance: InProcess::new(),
        };
        // FMI 2.0 does not say up to which order `canInterpolateInputs` goes.
        unit.with_input_derivatives(u32::from(M::INTERPOLATES_INPUTS))
    }

    /// Takes input derivatives up to `order`, at most 3.
    #[must_use]
    pub fn with_input_derivatives(mut self, order: u32) -> Self {
        self.description.capabilities.input_derivatives = order.min(3);
        self
    }

    /// Takes values of inputs only, no derivatives: the inputs are held over each step.
    #[must_use]
    pub fn values_only(self) -> Self {
        self.with_input_derivatives(0)
    }

    /// Does not declare that outputs may be read again after inputs were set.
    #[must_use]
    pub fn without_fresh(mut self) -> Self {
        self.description.capabilities.fresh_outputs = false;
        self
    }

    /// Gives no directional derivatives, so that the master has to probe.
    #[must_use]
    pub fn without_derivatives(mut self) -> Self {
        self.description.capabilities.directional_derivatives = false;
        self
    }

    /// Makes steps of one length only.
    #[must_use]
    pub fn with_fixed_step(mut self) -> Self {
        self.description.capabilities.variable_step = false;
        self
    }

    /// Computes its outputs at the end of a step only, as many vendors' FMUs do.
    ///
    /// # Panics
    /// If the kit has no parameter `cached_outputs`: an error of the program.
    #[must_use]
    pub fn cached_outputs(mut self) -> Self {
        let reference = self.instance.reference("cached_outputs");
        let reference = reference.expect("every model has the parameter");
        let set = self.instance.set(reference, true);
        set.expect("any Boolean is allowed");
        self.without_fresh()
    }
}

fn describe(rows: &[ScalarVariable]) -> UnitDescription {
    let variables = rows.iter().map(variable).collect();
    let index: BTreeMap<&str, usize> = rows.iter().zip(0..).map(|(row, i)| (row.name, i)).collect();
    let inputs = |row: &ScalarVariable| row.depends_on.iter().map(|name| index[name]).collect();
    let feedthrough: Feedthrough = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !row.depends_on.is_empty())
        .map(|(output, row)| (output, inputs(row)))
        .collect();
    UnitDescription::new(variables, feedthrough, Capabilities::OF_VALUES)
}

fn variable(row: &ScalarVariable) -> Variable {
    let causality = match (row.causality, row.variability) {
        (fmu_kit::Causality::Parameter, Variability::Tunable) => Causality::TunableParameter,
        (fmu_kit::Causality::Parameter, _) => Causality::Parameter,
        (fmu_kit::Causality::Input, _) => Causality::Input,
        (fmu_kit::Causality::Output, _) => Causality::Output,
        _ => Causality::Local,
    };
    let (kind, items) = match row.base_type {
        BaseType::Real => (VariableType::Real, Vec::new()),
        BaseType::Integer => (VariableType::Integer, Vec::new()),
        BaseType::Boolean => (VariableType::Boolean, Vec::new()),
        BaseType::String => (VariableType::String, Vec::new()),
        BaseType::Enumeration(enumeration) => {
            let names = enumeration.items.iter().map(|(name, _)| (*name).to_owned());
            (VariableType::Enumeration, (1..).zip(names).collect())
        }
    };
    Variable {
        kind,
        unit: row.unit.map(|unit| physical_unit(&unit)),
        items,
        ..Variable::real(row.name, row.reference, causality)
    }
}

fn physical_unit(unit: &fmu_kit::unit::Unit) -> PhysicalUnit {
    const BASE: [&str; 8] = ["kg", "m", "s", "A", "K", "mol", "cd", "rad"];
    let exponent = |base: &str| {
        let found = unit.exponents.iter().find(|(name, _)| *name == base);
        found.map_or(0, |(_, exponent)| i32::from(*exponent))
    };
    PhysicalUnit {
        name: unit.name.to_owned(),
        exponents: Some(BASE.map(exponent)),
        factor: 1.0,
        offset: 0.0,
        relative: false,
    }
}

fn refused(call: &'static str, fault: Fault) -> Box<UnitFault> {
    let cause = match fault {
        Fault::Discard(_) | Fault::Finished(_) => Cause::Discard,
        Fault::Error(_) => Cause::Error,
        Fault::Fatal(_) => Cause::Fatal,
        Fault::Other(..) => Cause::Error,
    };
    UnitFault::new(call, cause, fault.to_string())
}

impl<M: Model + Send> Unit for ModelUnit<M> {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.instance.setup(period.start);
        Ok(())
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        let ended = self.instance.initialize();
        ended.map_err(|fault| refused("exit_initialization_mode", fault))
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        for (&handle, &value) in handles.iter().zip(values) {
            let set = self.instance.set(handle, value);
            set.map_err(|fault| refused("set_reals", fault))?;
        }
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (&handle, value) in handles.iter().zip(values) {
            let read = self.instance.get::<f64>(handle);
            *value = *read.map_err(|fault| refused("get_reals", fault))?;
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        match self.instance.step(time, step) {
            Ok(()) => Ok(StepOutcome::Done),
            Err(Fault::Finished(_)) => Ok(StepOutcome::Terminated(self.instance.time())),
            Err(fault) => Err(refused("step", fault)),
        }
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        let set = match value {
            Value::Real(value) => self.instance.set(handle, *value),
            Value::Integer(value) => self.instance.set(handle, *value),
            Value::Boolean(value) => self.instance.set(handle, *value),
            Value::String(value) => self.instance.set(handle, value.clone()),
        };
        set.map_err(|fault| refused("set_value", fault))
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        let instance = &mut self.instance;
        let read = match value {
            Value::Real(value) => instance.get(handle).map(|read| *value = *read),
            Value::Integer(value) => instance.get(handle).map(|read| *value = *read),
            Value::Boolean(value) => instance.get(handle).map(|read| *value = *read),
            Value::String(value) => instance
                .get::<String>(handle)
                .map(|read| value.clone_from(read)),
        };
        read.map_err(|fault| refused("get_value", fault))
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        for ((&handle, &order), &value) in handles.iter().zip(orders).zip(values) {
            let set = self.instance.set_input_derivative(handle, order, value);
            set.map_err(|fault| refused("set_input_derivatives", fault))?;
        }
        Ok(())
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let computed = self
            .instance
            .directional_derivative(unknowns, knowns, seed, values);
        computed.map_err(|fault| refused("directional_derivative", fault))
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        let previous = previous.and_then(|state| state.downcast::<Saved<M>>().ok());
        let Some(mut state) = previous else {
            return Ok(Box::new(self.instance.save()));
        };
        self.instance.save_over(&mut state);
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        self.instance.restore(own_state("restore", state)?);
        Ok(())
    }

    fn serialize(&mut self) -> UnitResult<Vec<u8>> {
        let bytes = postcard::to_stdvec(&self.instance.save());
        bytes.map_err(|error| UnitFault::new("serialize", Cause::Error, error.to_string()))
    }

    fn deserialize(&mut self, bytes: &[u8]) -> UnitResult {
        let state: Saved<M> = postcard::from_bytes(bytes)
            .map_err(|error| UnitFault::new("deserialize", Cause::Error, error.to_string()))?;
        self.instance.restore(&state);
        Ok(())
    }

    fn terminate(&mut self) -> UnitResult {
        let ended = self.instance.terminate();
        ended.map_err(|fault| refused("terminate", fault))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fmu_models::{AllTypes, OscillatorForce};

    #[test]
    fn the_description_is_that_of_the_model() {
        let unit = ModelUnit::<OscillatorForce>::new();
        let description = unit.description();
        let force = description.index("f").unwrap();
        let inputs = ["x2", "v2"].map(|name| description.index(name).unwrap());
        assert_eq!(description.feedthrough.get(&force).unwrap(), &inputs);
        assert_eq!(description.feedthrough.len(), 1);
        let unit = description.variables[force].unit.as_ref().unwrap();
        assert_eq!(unit.exponents, Some([1, 1, -2, 0, 0, 0, 0, 0]));
        assert_eq!(
            description.variable("spring").unwrap().items[1],
            (2, "sqrt".into())
        );
    }

    #[test]
    fn values_of_every_type_pass() {
        let mut unit = ModelUnit::<AllTypes>::new();
        let handle = |unit: &ModelUnit<AllTypes>, name: &str| {
            unit.description().variable(name).unwrap().handle
        };
        for (name, given, empty) in [
            ("real", Value::Real(2.5), Value::Real(0.0)),
            ("integer", Value::Integer(-3), Value::Integer(0)),
            ("boolean", Value::Boolean(true), Value::Boolean(false)),
            (
                "string",
                Value::String("ω".into()),
                Value::String(String::new()),
            ),
            ("colour", Value::Integer(3), Value::Integer(0)),
        ] {
            unit.set_value(handle(&unit, &format!("{name}_in")), &given)
                .unwrap();
            let mut read = empty;
            unit.get_value(handle(&unit, &format!("{name}_out")), &mut read)
                .unwrap();
            assert_eq!(read, given);
        }
    }

    #[test]
    fn a_saved_state_is_gone_back_to() {
        let mut unit = ModelUnit::<OscillatorForce>::new();
        let x = unit.description().variable("x").unwrap().handle;
        unit.setup_experiment(&Period {
            start: 0.0,
            stop: None,
            tolerance: None,
        })
        .unwrap();
        unit.enter_initialization_mode().unwrap();
        unit.exit_initialization_mode().unwrap();
        let after = |unit: &mut ModelUnit<OscillatorForce>| {
            unit.step(0.0, 0.01).unwrap();
            let mut value = [0.0];
            unit.get_reals(&[x], &mut value).unwrap();
            value[0]
        };
        let start = unit.save(None).unwrap();
        let first = after(&mut unit);
        unit.restore(&start).unwrap();
        assert_eq!(after(&mut unit).to_bits(), first.to_bits());
        let start = unit.save(Some(start)).unwrap();
        let second = after(&mut unit);
        unit.restore(&start).unwrap();
        assert_eq!(after(&mut unit).to_bits(), second.to_bits());
    }
}
