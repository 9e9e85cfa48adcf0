//! A model that runs in the caller's process, behind a safe interface.
//!
//! The C interface of an FMU wraps this type, and tests use it directly, so both compute the same
//! numbers.

use std::sync::OnceLock;

use crate::description::describe;
use crate::input_curve::InputCurves;
use crate::integrator::Workspace;
use crate::model::{Fault, Model};
use crate::table::{Scalar, Slot, Table, ValueReference};
use crate::variable::{Place, Settings, Variable};

/// One instance of the model `M`.
///
/// The sequence of calls: [`setup`](Self::setup), set parameters, set inputs, read outputs
/// ([`initialize`](Self::initialize) ends the initialization), then set inputs,
/// [`step`](Self::step), read outputs, again and again.
#[derive(Debug)]
pub struct InProcess<M: Model> {
    table: Table<M>,
    /// GUID of the FMU, computed when an FMU asks for it.
    guid: OnceLock<String>,
    memory: Memory<M>,
    workspace: Workspace,
}

/// Everything that a saved state has to hold.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(bound = "M: Model")]
struct Memory<M: Model> {
    model: M,
    settings: Settings,
    time: f64,
    inputs: InputCurves,
    initializing: bool,
    outdated: bool,
}

/// A state of an [`InProcess`], to go back to.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
#[serde(bound = "M: Model")]
pub struct Saved<M: Model>(Memory<M>);

impl<M: Model> Saved<M> {
    /// Simulated time, s.
    pub(crate) fn time(&self) -> f64 {
        self.0.time
    }
}

impl<M: Model> Memory<M> {
    fn new(table: &Table<M>) -> Self {
        Self {
            model: M::default(),
            settings: Settings::default(),
            time: 0.0,
            inputs: InputCurves::new(table),
            initializing: true,
            outdated: true,
        }
    }

    fn value<T>(&mut self, place: Place<M, T>) -> &mut T {
        match place {
            Place::Model(access) => access(&mut self.model),
            Place::Settings(access) => access(&mut self.settings),
        }
    }

    /// As `clone_from`, without new memory if the old serves.
    fn copy_from(&mut self, other: &Self) {
        let Self {
            model,
            settings,
            time,
            inputs,
            initializing,
            outdated,
        } = other;
        self.model.clone_from(model);
        self.settings.clone_from(settings);
        self.time = *time;
        self.inputs.copy_from(inputs);
        self.initializing = *initializing;
        self.outdated = *outdated;
    }

    /// Brings the outputs up to date with states and inputs.
    fn refresh(&mut self) -> Result<(), Fault> {
        if self.outdated {
            if self.initializing {
                self.model.initialize(self.time)?;
            }
            self.model.outputs(self.time)?;
            self.outdated = false;
        }
        Ok(())
    }
}

impl<M: Model> InProcess<M> {
    /// A fresh instance with start values, at time 0.
    #[must_use]
    pub fn new() -> Self {
        let table = Table::new();
        Self {
            memory: Memory::new(&table),
            table,
            guid: OnceLock::new(),
            workspace: Workspace::new(M::default().state().len()),
        }
    }

    /// The GUID of the FMU of the model.
    pub(crate) fn guid(&self) -> &str {
        self.guid.get_or_init(|| describe::<M>().guid)
    }

    /// The variable behind `slot`.
    #[inline]
    pub(crate) fn variable_of<T>(&self, slot: &Slot<M, T>) -> &Variable<M> {
        &self.table.variables[slot.variable]
    }

    /// Name of the variable behind `slot`.
    fn name_of<T>(&self, slot: &Slot<M, T>) -> &'static str {
        self.variable_of(slot).name
    }

    /// The value reference of the variable called `name`, unique within its base type.
    #[must_use]
    pub fn reference(&self, name: &str) -> Option<ValueReference> {
        let index = self.table.index_of(name)?;
        Some(self.table.references[index])
    }

    /// Simulated time, s.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.memory.time
    }

    pub(crate) fn slot<T: Scalar>(&self, reference: ValueReference) -> Result<&Slot<M, T>, Fault> {
        let slot = T::slots(&self.table).get(reference as usize);
        slot.ok_or_else(|| unknown_reference::<T>(reference))
    }

    /// The value of a variable; outputs are brought up to date first.
    ///
    /// # Errors
    /// A [`Fault`] of the model's outputs, or an unknown reference.
    pub fn get<T: Scalar>(&mut self, reference: ValueReference) -> Result<&T, Fault> {
        self.memory.refresh()?;
        let place = self.slot::<T>(reference)?.place;
        Ok(self.memory.value(place))
    }

    /// Sets a variable. Which variables may be set when is the caller's affair.
    ///
    /// # Errors
    /// [`Fault::Discard`] when the value is out of range, [`Fault::Error`] for an unknown reference.
    pub fn set<T: Scalar>(&mut self, reference: ValueReference, value: T) -> Result<(), Fault> {
        let slot = self.slot::<T>(reference)?;
        if !slot.allows(&value) {
            let name = self.name_of(slot);
            return Err(Fault::Discard(format!(
                "the value of {name} is out of range"
            )));
        }
        let place = slot.place;
        *self.memory.value(place) = value;
        self.memory.outdated |= self.memory.initializing || !self.memory.settings.cached_outputs;
        Ok(())
    }

    /// Sets the `order`-th time derivative of a continuous input at the start of the next step;
    /// after that step it is forgotten.
    ///
    /// # Errors
    /// [`Fault::Error`] for a variable that is not a continuous input, or an order other than 1 to 3.
    pub fn set_input_derivative(
        &mut self,
        reference: ValueReference,
        order: i32,
        value: f64,
    ) -> Result<(), Fault> {
        let slot = self.slot::<f64>(reference)?;
        let name = self.name_of(slot);
        if !self.table.is_continuous_input(slot.variable) {
            return Err(Fault::Error(format!("{name} is not a continuous input")));
        }
        let result = self.memory.inputs.set_derivative(reference, order, value);
        result.map_err(|error| Fault::Error(format!("derivative of {name}: {error}")))
    }

    /// Starts initialization at `time` in s; a model that [resets](Model::RESETS_IN_SETUP) then goes back
    /// to its start values.
    pub fn setup(&mut self, time: f64) {
        if M::RESETS_IN_SETUP {
            self.memory = Memory::new(&self.table);
        }
        self.memory.time = time;
        self.memory.outdated = true;
    }

    /// Ends initialization: states and outputs follow from parameters and inputs.
    ///
    /// # Errors
    /// A [`Fault`] of the model.
    pub fn initialize(&mut self) -> Result<(), Fault> {
        self.memory.outdated = true;
        self.memory.refresh()?;
        self.memory.initializing = false;
        Ok(())
    }

    /// Advances from `time` by `step`, both in s, in inner steps of about `step_size`, or in as
    /// many as the model asks for.
    ///
    /// # Errors
    /// A [`Fault`] of the model; one that discards leaves the model, and [`time`](Self::time), at
    /// the end of the last inner step that was finished.
    pub fn step(&mut self, time: f64, step: f64) -> Result<(), Fault> {
        let count = match self.memory.model.micro_steps() {
            Some(count) => u64::try_from(count).unwrap_or(1).max(1),
            None => inner_steps(step, self.memory.settings.step_size)?,
        };
        let Self {
            table,
            memory,
            workspace,
            ..
        } = self;
        memory.time = time;
        memory.outdated = true;
        memory.inputs.begin(table, &mut memory.model, time);
        let inner = step / count as f64;
        for i in 0..count {
            memory.inner_step(table, workspace, time + i as f64 * inner, inner)?;
        }
        memory.time = time + step;
        memory.inputs.apply(table, &mut memory.model, time + step);
        memory.inputs.forget();
        if memory.settings.cached_outputs {
            memory.refresh()?;
        }
        Ok(())
    }

    /// ∂unknowns/∂knowns · seed at fixed states (in Initialization Mode: with states that follow
    /// the parameters), by the model's own derivatives or by central differences.
    ///
    /// # Errors
    /// A [`Fault`] of the model's outputs, or an unknown reference.
    pub fn directional_derivative(
        &mut self,
        unknowns: &[ValueReference],
        knowns: &[ValueReference],
        seed: &[f64],
        result: &mut [f64],
    ) -> Result<(), Fault> {
        for (unknown, result) in unknowns.iter().zip(result) {
            *result = 0.0;
            for (known, seed) in knowns.iter().zip(seed) {
                *result += seed * self.partial_derivative(*unknown, *known)?;
            }
        }
        Ok(())
    }

    fn partial_derivative(
        &self,
        unknown: ValueReference,
        known: ValueReference,
    ) -> Result<f64, Fault> {
        let (of, by) = (self.slot::<f64>(unknown)?, self.slot::<f64>(known)?);
        let (output, input) = (self.name_of(of), self.name_of(by));
        if let Some(own) = self.memory.model.partial_derivative(output, input) {
            return Ok(own);
        }
        let mut probe = self.memory.clone();
        let at = *probe.value(by.place);
        // The shift that balances the errors of truncation and rounding in a central difference.
        let shift = f64::EPSILON.cbrt() * at.abs().max(1.0);
        let mut output_at = |value: f64| {
            *probe.value(by.place) = value;
            probe.outdated = true;
            probe.refresh()?;
            Ok(*probe.value(of.place))
        };
        let (above, below) = (at + shift, at - shift);
        Ok((output_at(above)? - output_at(below)?) / (above - below))
    }

    /// Saves the state.
    #[must_use]
    pub fn save(&self) -> Saved<M> {
        Saved(self.memory.clone())
    }

    /// Saves the state in place of an older one.
    pub fn save_over(&self, saved: &mut Saved<M>) {
        saved.0.copy_from(&self.memory);
    }

    /// Goes back to a saved state.
    pub fn restore(&mut self, saved: &Saved<M>) {
        self.memory.copy_from(&saved.0);
    }

    /// Goes back to start values, as after [`new`](Self::new).
    pub fn reset(&mut self) {
        self.memory = Memory::new(&self.table);
    }

    /// Calls the model at the end of the run.
    ///
    /// # Errors
    /// A [`Fault`] of the model.
    pub fn terminate(&mut self) -> Result<(), Fault> {
        self.memory.model.terminate()
    }

    /// Calls the model before the instance is freed.
    pub fn free(&mut self) {
        self.memory.model.free();
    }
}

impl<M: Model> Default for InProcess<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Model> Saved<M> {
    /// Whether the state, which may come from outside, has as many continuous states as the model.
    pub(crate) fn fits(&mut self) -> bool {
        self.0.model.state().len() == M::default().state().len()
    }
}

impl<M: Model> Memory<M> {
    fn inner_step(
        &mut self,
        table: &Table<M>,
        workspace: &mut Workspace,
        start: f64,
        step: f64,
    ) -> Result<(), Fault> {
        let inputs = &self.inputs;
        let advanced = workspace.advance(&mut self.model, start, step, &mut |model, time| {
            inputs.apply(table, model, time);
        });
        let finished = advanced.and_then(|()| self.model.after_step(start, start + step));
        if let Err(fault) = finished {
            self.model.state().copy_from_slice(workspace.start());
            return Err(fault);
        }
        self.time = start + step;
        Ok(())
    }
}

/// Most inner steps that one communication step may have; more is a mistaken `step_size`.
const MAX_INNER_STEPS: f64 = 1e9;

/// How many equal inner steps a communication step is divided into.
fn inner_steps(step: f64, step_size: f64) -> Result<u64, Fault> {
    if step_size <= 0.0 {
        return Ok(1);
    }
    let count = (step / step_size).round().max(1.0);
    if count > MAX_INNER_STEPS {
        return Err(Fault::Error(format!(
            "step_size = {step_size} s divides a communication step of {step} s into too many inner steps"
        )));
    }
    Ok(count as u64)
}

fn unknown_reference<T: Scalar>(reference: ValueReference) -> Fault {
    Fault::Error(format!(
        "there is no {} variable with value reference {reference}",
        T::TYPE_NAME
    ))
}
