//! An FMU as a unit.

use std::collections::BTreeMap;

use gyrator_fmu::{
    self as fmu, CallError, Dependencies, Instance, InstanceOptions, ModelDescription, Refusal,
    Status,
};

use crate::fault::{Cause, UnitFault};
use crate::unit::PhysicalUnit;
use crate::unit::{
    Capabilities, Causality, Feedthrough, Handle, Period, ProcessChange, ProcessTies, SavedState,
    StepOutcome, Unit, UnitDescription, UnitResult, Value, Variable, VariableType, own_state,
};

/// An instance of an FMU in this process, as a unit.
#[derive(Debug)]
pub struct FmuUnit {
    instance: Instance,
    /// A state was saved, so that a step may be taken back (C-36).
    has_saved: bool,
    /// Apart, so that the instances lie close together.
    description: Box<UnitDescription>,
}

impl FmuUnit {
    /// Loads the FMU's library and makes an instance called `name`, the only one of this process; with `logging` it
    /// logs all that it can.
    ///
    /// # Errors
    /// As [`fmu::Fmu::instantiate`].
    pub fn new(fmu: &fmu::Fmu, name: &str, logging: bool) -> Result<Self, fmu::LoadError> {
        let options = InstanceOptions {
            logging_on: logging,
            is_alone: true,
            ..InstanceOptions::default()
        };
        Self::instantiate(fmu, name, describe(fmu.description()), &options)
    }

    /// Loads the FMU's library and makes an instance.
    pub(crate) fn instantiate(
        fmu: &fmu::Fmu,
        name: &str,
        description: UnitDescription,
        options: &InstanceOptions,
    ) -> Result<Self, fmu::LoadError> {
        Ok(Self {
            instance: fmu.instantiate(name, options)?,
            has_saved: false,
            description: Box::new(description),
        })
    }

    #[cold]
    fn fault(error: &CallError) -> Box<UnitFault> {
        let cause = match error.status {
            Status::Discard => Cause::Discard,
            Status::Fatal => Cause::Fatal,
            Status::NotCalled(Refusal::Capability) => Cause::Unsupported,
            Status::TimedOut(_) => Cause::Timeout,
            Status::Interrupted => Cause::Interrupted,
            _ => Cause::Error,
        };
        let detail = error.detail.as_deref().unwrap_or_default();
        // As if the process of the unit or of the run was ended.
        let message = match (error.status, detail) {
            (Status::TimedOut(time), detail) => {
                let (time, call) = (time.as_secs_f64(), error.function);
                format!("no return within {time} s from {call} ({detail})")
            }
            (Status::Interrupted, detail) => {
                format!("interrupted; no return from {} ({detail})", error.function)
            }
            (status, "") => status.to_string(),
            (status, detail) => format!("{status}: {detail}"),
        };
        Box::new(UnitFault {
            log: error.last_log.clone(),
            ..*UnitFault::new(error.function, cause, message)
        })
    }

    /// Further advice against discarded steps.
    #[cold]
    fn advice_on_halving(&self) -> &'static str {
        let abilities = &self.description.capabilities;
        if abilities.save_and_restore && abilities.variable_step {
            ", or step_halvings"
        } else {
            ""
        }
    }

    /// The outcome of a step from `time` that was not simply done.
    #[cold]
    #[inline(never)]
    fn conclude_step(
        &self,
        outcome: Result<fmu::StepOutcome, Box<CallError>>,
        time: f64,
    ) -> UnitResult<StepOutcome> {
        match Self::check(outcome)? {
            fmu::StepOutcome::Done => Ok(StepOutcome::Done),
            fmu::StepOutcome::Discarded {
                last_successful_time,
                terminated: true,
            } => Ok(StepOutcome::Terminated(
                last_successful_time.unwrap_or(time),
            )),
            fmu::StepOutcome::Discarded {
                last_successful_time,
                terminated: false,
            } => {
                let reached = last_successful_time
                    .map_or("does not say how far it came".to_owned(), |time| {
                        format!("came to t = {time} s")
                    });
                let message = format!(
                    "returned Discard and {reached}; a smaller step_size may help{}",
                    self.advice_on_halving()
                );
                let log = self.instance.last_log();
                Err(Box::new(UnitFault {
                    call: "fmi2DoStep",
                    cause: Cause::Discard,
                    message,
                    place: None,
                    log,
                    reached: last_successful_time,
                }))
            }
        }
    }

    pub(crate) fn instance(&self) -> &Instance {
        &self.instance
    }

    /// The instance, and whether it may be promised that no state from before the coming step will be restored.
    #[inline(always)]
    pub(crate) fn for_lane(&self) -> (&Instance, bool) {
        (&self.instance, !self.has_saved)
    }

    #[inline(always)]
    pub(crate) fn instance_mut(&mut self) -> &mut Instance {
        &mut self.instance
    }

    /// As [`Instance::conclude_values_in_lane`].
    pub(crate) fn conclude_values(
        &mut self,
        interruption: &fmu::Interruption,
        values: Option<(&[Handle], &[f64])>,
    ) -> UnitResult {
        Self::check(self.instance.conclude_values_in_lane(interruption, values))
    }

    /// As [`Instance::conclude_step_in_lane`].
    pub(crate) fn conclude_step_in_lane(
        &mut self,
        interruption: &fmu::Interruption,
        time: f64,
        step: f64,
    ) -> UnitResult<StepOutcome> {
        let outcome = self
            .instance
            .conclude_step_in_lane(interruption, (time, step));
        self.conclude_step(outcome, time)
    }

    fn check<T>(result: Result<T, Box<CallError>>) -> UnitResult<T> {
        result.map_err(|error| Self::fault(&error))
    }
}

impl Unit for FmuUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        Self::check(
            self.instance
                .setup_experiment(period.tolerance, period.start, period.stop),
        )
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        Self::check(self.instance.enter_initialization_mode())
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        Self::check(self.instance.exit_initialization_mode())
    }

    #[inline(always)]
    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        Self::check(self.instance.set_real(handles, values))
    }

    #[inline(always)]
    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        Self::check(self.instance.get_real(handles, values))
    }

    #[inline(always)]
    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        match self.instance.do_step(time, step, !self.has_saved) {
            Ok(fmu::StepOutcome::Done) => Ok(StepOutcome::Done),
            other => self.conclude_step(other, time),
        }
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        let handle = [handle];
        Self::check(match value {
            Value::Real(value) => self.instance.set_real(&handle, &[*value]),
            Value::Integer(value) => self.instance.set_integer(&handle, &[*value]),
            Value::Boolean(value) => self.instance.set_boolean(&handle, &[*value]),
            Value::String(value) => self.instance.set_string(&handle, &[value]),
        })
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        use std::slice::from_mut;
        let handle = [handle];
        // The engine knows whether the run needs the value.
        Self::check(self.instance.try_read(|instance| match value {
            Value::Real(value) => instance.get_real(&handle, from_mut(value)),
            Value::Integer(value) => instance.get_integer(&handle, from_mut(value)),
            Value::Boolean(value) => instance.get_boolean(&handle, from_mut(value)),
            Value::String(value) => instance.get_string(&handle, from_mut(value)),
        }))
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        let set = self
            .instance
            .set_real_input_derivatives(handles, orders, values);
        Self::check(set).map_err(without_ability)
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        let got = self
            .instance
            .get_real_output_derivatives(handles, orders, values);
        Self::check(got).map_err(without_ability)?;
        all_finite("fmi2GetRealOutputDerivatives", values)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let got = self
            .instance
            .directional_derivative(unknowns, knowns, seed, values);
        Self::check(got).map_err(without_ability)?;
        all_finite("fmi2GetDirectionalDerivative", values)
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        let previous = previous.and_then(|state| state.downcast::<fmu::FmuState>().ok());
        let state = match previous {
            Some(mut state) => {
                Self::check(self.instance.save_state_over(&mut state))?;
                state
            }
            None => Box::new(Self::check(self.instance.save_state())?),
        };
        self.has_saved = true;
        Ok(state)
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let state = own_state("fmi2SetFMUstate", state)?;
        Self::check(self.instance.restore_state(state))
    }

    fn serialize(&mut self) -> UnitResult<Vec<u8>> {
        let state = Self::check(self.instance.save_state())?;
        let bytes = Self::check(self.instance.serialize_state(&state))?;
        Self::check(self.instance.free_state(state))?;
        Ok(bytes)
    }

    fn deserialize(&mut self, bytes: &[u8]) -> UnitResult {
        let state = Self::check(self.instance.deserialize_state(bytes))?;
        self.has_saved = true;
        Self::check(self.instance.restore_state(&state))?;
        Self::check(self.instance.free_state(state))
    }

    fn terminate(&mut self) -> UnitResult {
        Self::check(self.instance.terminate())
    }

    fn warnings(&self) -> u64 {
        self.instance.warnings_count()
    }

    fn process_ties(&self) -> ProcessTies {
        let changes = self.instance.process_changes().iter();
        let change = |change: &fmu::Change| ProcessChange {
            call: change.call,
            what: change.what.clone(),
            is_own_affair: change.is_own_affair(),
            is_put_back: change.is_put_back,
        };
        ProcessTies {
            keeps_thread: self.instance.keeps_thread(),
            changes: changes.map(change).collect(),
        }
    }
}

/// A refused call of a function that the FMU need not have: it lacks the ability, whatever it declares.
#[cold]
fn without_ability(mut fault: Box<UnitFault>) -> Box<UnitFault> {
    if matches!(fault.cause, Cause::Error | Cause::Discard) {
        fault.cause = Cause::Unsupported;
    }
    fault
}

/// Refuses derivatives that are none.
fn all_finite(call: &'static str, values: &[f64]) -> UnitResult {
    if values.iter().all(|value| value.is_finite()) {
        return Ok(());
    }
    let message = "gave a value that is not finite";
    Err(UnitFault::new(call, Cause::Unsupported, message))
}

/// Extracts from a model description what the master needs. The indices of variables are the same.
pub(crate) fn describe(model: &ModelDescription) -> UnitDescription {
    let variables: Vec<Variable> = model.variables.iter().map(|v| variable(model, v)).collect();
    let real = |causality: Causality| {
        let is_one = move |variable: &Variable| {
            variable.kind == VariableType::Real && variable.causality == causality
        };
        variables
            .iter()
            .enumerate()
            .filter(move |(_, variable)| is_one(variable))
            .map(|(index, _)| index)
    };
    let inputs: Vec<usize> = real(Causality::Input).collect();
    let (mut between_steps, mut at_start): (Feedthrough, Feedthrough) =
        (BTreeMap::new(), BTreeMap::new());
    for output in real(Causality::Output) {
        between_steps.insert(output, among(&inputs, model.output_dependencies(output)));
        // An output whose start value is exact is not an unknown of the initialisation.
        if model.variables[output].initial != Some(fmu::Initial::Exact) {
            at_start.insert(output, among(&inputs, model.initial_dependencies(output)));
        }
    }
    let capabilities = capabilities(model);
    let mut description = UnitDescription::new(variables, between_steps, capabilities);
    description.initial_feedthrough = at_start;
    description.default_tolerance = model.default_experiment.usable_tolerance();
    let unless = model.fresh_outputs_unless();
    description.fresh_outputs_unless = unless.and_then(|name| model.variable_index(&name));
    description
}

fn among(inputs: &[usize], dependencies: &Dependencies) -> Vec<usize> {
    match dependencies {
        Dependencies::All => inputs.to_vec(),
        Dependencies::Listed(list) => {
            let mut known: Vec<usize> = list.iter().map(|(index, _)| *index).collect();
            known.retain(|index| inputs.binary_search(index).is_ok());
            known
        }
    }
}

fn capabilities(model: &ModelDescription) -> Capabilities {
    let claims = model.co_simulation.as_ref();
    let claims = |test: fn(&fmu::CoSimulation) -> bool| claims.is_some_and(test);
    Capabilities {
        input_derivatives: model.input_derivative_order(),
        output_derivatives: model
            .co_simulation
            .as_ref()
            .map_or(0, |claims| claims.max_output_derivative_order),
        fresh_outputs: model.declares_fresh_outputs(),
        directional_derivatives: claims(|c| c.provides_directional_derivative),
        variable_step: claims(|c| c.can_handle_variable_communication_step_size),
        save_and_restore: claims(|c| c.can_get_and_set_fmu_state),
        serialize: claims(|c| c.can_get_and_set_fmu_state && c.can_serialize_fmu_state),
    }
}

fn variable(model: &ModelDescription, variable: &fmu::ScalarVariable) -> Variable {
    let kind = match &variable.kind {
        fmu::TypeAttributes::Real(_) => VariableType::Real,
        fmu::TypeAttributes::Integer { .. } => VariableType::Integer,
        fmu::TypeAttributes::Boolean { .. } => VariableType::Boolean,
        fmu::TypeAttributes::String { .. } => VariableType::String,
        fmu::TypeAttributes::Enumeration { .. } => VariableType::Enumeration,
    };
    let causality = match variable.causality {
        fmu::Causality::Parameter if variable.settable_between_steps() => {
            Causality::TunableParameter
        }
        fmu::Causality::Parameter => Causality::Parameter,
        fmu::Causality::Input => Causality::Input,
        fmu::Causality::Output => Causality::Output,
        _ => Causality::Local,
    };
    let items = model.enumeration_items(variable);
    Variable {
        name: variable.name.clone(),
        handle: variable.value_reference,
        kind,
        causality,
        unit: variable.real().and_then(|real| physical_unit(model, real)),
        has_start: causality == Causality::Input || variable.settable_before_initialization(),
        keeps_start: variable.initial == Some(fmu::Initial::Exact),
        start: variable.real().and_then(|real| real.start),
        range: variable
            .real()
            .map_or((f64::NEG_INFINITY, f64::INFINITY), |real| {
                (
                    real.min.unwrap_or(f64::NEG_INFINITY),
                    real.max.unwrap_or(f64::INFINITY),
                )
            }),
        nominal: variable.real().and_then(|real| real.nominal),
        derivative_of: variable.real().and_then(|real| real.derivative),
        is_discrete: variable.real().is_some()
            && variable.variability == fmu::Variability::Discrete,
        is_switch: false,
        items: items
            .iter()
            .map(|item| (item.value, item.name.clone()))
            .collect(),
    }
}

fn physical_unit(model: &ModelDescription, real: &fmu::RealAttributes) -> Option<PhysicalUnit> {
    let name = real.unit.as_ref()?;
    let base = model.unit(name).and_then(|unit| unit.base);
    Some(PhysicalUnit {
        name: name.clone(),
        exponents: base.map(|base| base.exponents),
        factor: base.map_or(1.0, |base| base.factor),
        offset: base.map_or(0.0, |base| base.offset),
        relative: real.relative_quantity,
    })
}
