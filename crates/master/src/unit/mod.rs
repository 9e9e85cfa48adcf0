//! One simulation unit as the master sees it.

mod closure_unit;
mod fmu_unit;
mod linear_unit;
mod physical_unit;
mod process_ties;
mod unit_maker;
mod unit_wrapper;

use std::any::Any;
use std::collections::BTreeMap;

use crate::fault::{Cause, UnitFault};
use crate::state_stream::{StateStream, Stored};
pub use closure_unit::{Call, ClosureUnit};
pub use fmu_unit::FmuUnit;
pub(crate) use fmu_unit::describe;
pub use linear_unit::{LinearUnit, ShapeError};
pub use physical_unit::PhysicalUnit;
pub(crate) use physical_unit::{Conversion, Quantity};
pub use process_ties::{ProcessChange, ProcessTies};
pub use unit_maker::{AroundFmu, InProcess, Made, UnitMaker, UnitOrder};
pub use unit_wrapper::UnitWrapper;

/// Names a variable to its unit; unique per [`VariableType`] only (C-52). An FMI value reference.
pub type Handle = u32;

/// Result of a call to a unit. The error is boxed, so that success costs nothing.
pub type UnitResult<T = ()> = Result<T, Box<UnitFault>>;

/// Base type of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum VariableType {
    /// A double.
    Real,
    /// A 32-bit integer.
    Integer,
    /// An integer with named values; handled like [`VariableType::Integer`] (C-56).
    Enumeration,
    /// True or false.
    Boolean,
    /// UTF-8 text.
    String,
}

impl VariableType {
    /// The kind that carries the values: an enumeration's are integers.
    #[must_use]
    pub fn carrier(self) -> Self {
        if self == Self::Enumeration {
            Self::Integer
        } else {
            self
        }
    }
}

/// A value of one variable.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a [`VariableType::Real`].
    Real(f64),
    /// Of a [`VariableType::Integer`] or [`VariableType::Enumeration`].
    Integer(i32),
    /// Of a [`VariableType::Boolean`].
    Boolean(bool),
    /// Of a [`VariableType::String`].
    String(String),
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl From<i32> for Value {
    fn from(value: i32) -> Self {
        Self::Integer(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Boolean(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::String(value.to_owned())
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Self {
        value.clone()
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::String(value)
    }
}

/// Causality of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Causality {
    /// Set before the run, constant in it.
    Parameter,
    /// A parameter that may also be set between steps.
    TunableParameter,
    /// Fed by the master.
    Input,
    /// Read by the master.
    Output,
    /// Can be read, feeds nothing.
    Local,
}

/// A variable of a unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// Name, unique in the unit.
    pub name: String,
    /// The unit's own name for it.
    pub handle: Handle,
    /// Base type.
    pub kind: VariableType,
    /// Its causality.
    pub causality: Causality,
    /// Physical unit; `None` if the description gives none, which connects to anything.
    pub unit: Option<PhysicalUnit>,
    /// Whether a start value may be set before initialisation (C-31).
    pub has_start: bool,
    /// Whether the unit keeps the start value that is set: it is not a guess (FMI 2.0
    /// §2.2.7, `initial = exact`).
    pub keeps_start: bool,
    /// Start value of a real variable, if the description gives one.
    pub start: Option<f64>,
    /// Least and greatest legal value of a real variable; infinite if none is given.
    pub range: (f64, f64),
    /// Usual magnitude of a real variable, if the description gives one.
    pub nominal: Option<f64>,
    /// The variable of the same unit whose derivative by time this one is, as an index.
    pub derivative_of: Option<usize>,
    /// It changes at events only, so that its past does not predict its future.
    pub is_discrete: bool,
    /// A real variable that is 0 or 1 at any time: it may feed a Boolean.
    pub is_switch: bool,
    /// Names of an enumeration's values.
    pub items: Vec<(i32, String)>,
}

impl Variable {
    /// A real variable without unit.
    pub fn real(name: impl Into<String>, handle: Handle, causality: Causality) -> Self {
        Self {
            name: name.into(),
            handle,
            kind: VariableType::Real,
            causality,
            unit: None,
            has_start: !matches!(causality, Causality::Output | Causality::Local),
            keeps_start: matches!(
                causality,
                Causality::Parameter | Causality::TunableParameter
            ),
            start: None,
            range: (f64::NEG_INFINITY, f64::INFINITY),
            nominal: None,
            derivative_of: None,
            is_discrete: false,
            is_switch: false,
            items: Vec::new(),
        }
    }

    /// The nominal value, if it is a magnitude: positive and finite.
    pub(crate) fn nominal_magnitude(&self) -> Option<f64> {
        self.nominal
            .filter(|nominal| *nominal > 0.0 && nominal.is_finite())
    }

    /// Magnitude of `value`, at least the nominal value, which is 1 if none is given (FMI 2.0
    /// §2.2.3, `nominal`).
    pub(crate) fn magnitude(&self, value: f64) -> f64 {
        value.abs().max(self.nominal_magnitude().unwrap_or(1.0))
    }
}

/// Optional capabilities of a unit; none by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Capabilities {
    /// Highest order of input derivatives that it accepts; 0: values only.
    pub input_derivatives: u32,
    /// Highest order of output derivatives that [`Unit::output_derivatives`] gives; 0: none.
    pub output_derivatives: u32,
    /// Outputs may be read again after inputs were set between two steps, and are then right.
    pub fresh_outputs: bool,
    /// [`Unit::directional_derivative`] works.
    pub directional_derivatives: bool,
    /// The communication step may change from step to step.
    pub variable_step: bool,
    /// [`Unit::save`] and [`Unit::restore`] work.
    pub save_and_restore: bool,
    /// [`Unit::serialize`] and [`Unit::deserialize`] work.
    pub serialize: bool,
}

impl Capabilities {
    /// All but derivatives by time: the abilities of a unit that takes and gives values.
    pub const OF_VALUES: Self = Self {
        input_derivatives: 0,
        output_derivatives: 0,
        fresh_outputs: true,
        directional_derivatives: true,
        variable_step: true,
        save_and_restore: true,
        serialize: true,
    };
}

/// Which outputs depend on which inputs at the same instant: direct feed-through.
///
/// One list of inputs per output, both as indices into [`UnitDescription::variables`].
pub type Feedthrough = BTreeMap<usize, Vec<usize>>;

/// Description of a unit, known before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct UnitDescription {
    /// All variables that the master may touch.
    pub variables: Vec<Variable>,
    /// Direct feed-through between steps. An output that is not listed depends on no input.
    pub feedthrough: Feedthrough,
    /// Direct feed-through while the unit is initialised: another graph (C-66).
    pub initial_feedthrough: Feedthrough,
    /// Its optional capabilities.
    pub capabilities: Capabilities,
    /// Relative tolerance that it gets if the experiment names none.
    pub default_tolerance: Option<f64>,
    /// A Boolean parameter that, started as true, withdraws the promise of fresh outputs.
    pub fresh_outputs_unless: Option<usize>,
    by_name: BTreeMap<String, usize>,
}

impl UnitDescription {
    /// A description of `variables`, with the same feed-through at the start and between steps.
    pub fn new(
        variables: Vec<Variable>,
        feedthrough: Feedthrough,
        capabilities: Capabilities,
    ) -> Self {
        let by_name = variables
            .iter()
            .enumerate()
            .map(|(i, v)| (v.name.clone(), i))
            .collect();
        Self {
            variables,
            initial_feedthrough: feedthrough.clone(),
            feedthrough,
            capabilities,
            default_tolerance: None,
            fresh_outputs_unless: None,
            by_name,
        }
    }

    /// Index of the variable `name`.
    pub fn index(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The variable `name`.
    pub fn variable(&self, name: &str) -> Option<&Variable> {
        self.index(name).map(|index| &self.variables[index])
    }

    /// Indices of all variables of one causality, in order.
    pub fn with_causality(&self, causality: Causality) -> impl Iterator<Item = usize> + '_ {
        let matches = move |(_, variable): &(usize, &Variable)| variable.causality == causality;
        self.variables
            .iter()
            .enumerate()
            .filter(matches)
            .map(|(index, _)| index)
    }
}

/// Start and stop time of a run, as they are passed to the units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Period {
    /// Start time, s.
    pub start: f64,
    /// Stop time, s; `None` for a run without an end.
    pub stop: Option<f64>,
    /// Relative tolerance for units with a solver of their own.
    pub tolerance: Option<f64>,
}

/// How a communication step ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum StepOutcome {
    /// The unit reached the end of the step.
    Done,
    /// The unit ends the simulation at this time, s, on its own wish (C-39).
    Terminated(f64),
}

/// The state of a unit at a communication point, as the unit keeps it.
pub type SavedState = Box<dyn Any + Send>;

/// The state that a unit has saved, in [`Unit::restore`], which names `call` in the fault.
///
/// # Errors
/// A state of another type, which another unit has saved.
pub fn own_state<'s, T: 'static>(call: &'static str, state: &'s SavedState) -> UnitResult<&'s T> {
    let message = "the state is another unit's";
    let fault = || UnitFault::new(call, Cause::Error, message);
    state.downcast_ref().ok_or_else(fault)
}

/// One simulation unit: an FMU, a Rust model, a closure of a test bench.
///
/// Calls come in FMI's order (4.2.4): [`setup_experiment`](Self::setup_experiment); start values of all
/// but inputs; [`enter_initialization_mode`](Self::enter_initialization_mode); inputs and outputs, in
/// any order; [`exit_initialization_mode`](Self::exit_initialization_mode); then set, step, get.
/// Arrays of handles and values have equal lengths.
pub trait Unit: Send {
    /// Description of the unit; the same for its whole life.
    fn description(&self) -> &UnitDescription;

    /// Gives the start and the stop time and the tolerance (`fmi2SetupExperiment`); the first call. A
    /// unit may go back to its default values in it, so start values are set after it. Does nothing
    /// by default, as the two calls that follow: a wrapper has to pass them on.
    ///
    /// # Errors
    /// As the unit reports.
    fn setup_experiment(&mut self, _period: &Period) -> UnitResult {
        Ok(())
    }

    /// Start values are set; the initial outputs are about to be computed
    /// (`fmi2EnterInitializationMode`).
    ///
    /// # Errors
    /// As the unit reports.
    fn enter_initialization_mode(&mut self) -> UnitResult {
        Ok(())
    }

    /// The initial values are final; steps follow (`fmi2ExitInitializationMode`).
    ///
    /// # Errors
    /// As the unit reports.
    fn exit_initialization_mode(&mut self) -> UnitResult {
        Ok(())
    }

    /// Sets real inputs or parameters.
    ///
    /// # Errors
    /// As the unit reports.
    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult;

    /// Reads real variables.
    ///
    /// # Errors
    /// As the unit reports.
    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult;

    /// Advances from `time` by `step`, both in s.
    ///
    /// # Errors
    /// As the unit reports.
    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome>;

    /// Begins a step as [`step`](Self::step) makes it. `None`: it goes on, in another process for example, until
    /// [`finish_step`](Self::finish_step); no other call comes between the two, while other units begin steps of their own.
    /// By default the step is made at once, and this is its outcome.
    ///
    /// # Errors
    /// As the unit reports.
    fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
        self.step(time, step).map(Some)
    }

    /// Waits for the end of a step that was begun and goes on.
    ///
    /// # Errors
    /// As the unit reports; no such step.
    fn finish_step(&mut self) -> UnitResult<StepOutcome> {
        let message = "no step was begun that goes on";
        Err(UnitFault::new("finish_step", Cause::Error, message))
    }

    /// Sets one variable that is not real.
    ///
    /// # Errors
    /// As the unit reports; unsupported unless the unit has such variables.
    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        match value {
            Value::Real(value) => self.set_reals(&[handle], &[*value]),
            _ => Err(unsupported(
                "set_value",
                "this unit has real variables only",
            )),
        }
    }

    /// Reads one variable of any kind into `value`, which has the kind that is wanted.
    ///
    /// # Errors
    /// As the unit reports; unsupported unless the unit has such variables.
    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        match value {
            Value::Real(value) => self.get_reals(&[handle], std::slice::from_mut(value)),
            _ => Err(unsupported(
                "get_value",
                "this unit has real variables only",
            )),
        }
    }

    /// Sets derivatives of real inputs for the coming step: `orders[i]`-th derivative of `handles[i]`,
    /// unit per sⁿ (FMI 2.0 §4.2.3).
    ///
    /// # Errors
    /// As the unit reports; unsupported by default.
    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        let _ = (handles, orders, values);
        Err(unsupported(
            "set_input_derivatives",
            "this unit takes no input derivatives",
        ))
    }

    /// Reads derivatives of real outputs at the present point: `values[i]` becomes the `orders[i]`-th
    /// derivative of `handles[i]`, unit per sⁿ (FMI 2.0 §4.2.3).
    ///
    /// # Errors
    /// As the unit reports; unsupported by default.
    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        let _ = (handles, orders, values);
        Err(unsupported(
            "output_derivatives",
            "this unit gives no output derivatives",
        ))
    }

    /// Σ ∂unknown/∂known · seed at the present state, one value per unknown (FMI 2.0 §2.1.9).
    ///
    /// # Errors
    /// As the unit reports; unsupported by default.
    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        let _ = (unknowns, knowns, seed, values);
        Err(unsupported(
            "directional_derivative",
            "this unit gives no directional derivatives",
        ))
    }

    /// The present state; `previous` may be reused.
    ///
    /// # Errors
    /// As the unit reports; unsupported by default.
    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        let _ = previous;
        Err(unsupported("save", "this unit cannot save its state"))
    }

    /// Goes back to a saved state, which stays valid.
    ///
    /// # Errors
    /// As the unit reports; unsupported by default.
    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let _ = state;
        Err(unsupported("restore", "this unit cannot restore a state"))
    }

    /// The present state as bytes, for a unit that was made alike (`fmi2SerializeFMUstate`, FMI 2.0 §2.1.8).
    ///
    /// # Errors
    /// As the unit reports; unsupported by default.
    fn serialize(&mut self) -> UnitResult<Vec<u8>> {
        Err(unsupported(
            "serialize",
            "this unit gives its state no bytes",
        ))
    }

    /// Goes to the state of these bytes, in the same phase of a run as the unit was that gave them.
    ///
    /// # Errors
    /// Bytes that do not belong to such a unit; unsupported by default.
    fn deserialize(&mut self, bytes: &[u8]) -> UnitResult {
        let _ = bytes;
        Err(unsupported(
            "deserialize",
            "this unit takes no state from bytes",
        ))
    }

    /// Warnings that calls have returned so far.
    fn warnings(&self) -> u64 {
        0
    }

    /// What ties the unit to its thread, and what it has changed of its process. By default nothing.
    fn process_ties(&self) -> ProcessTies {
        ProcessTies::default()
    }

    /// The run has ended well. Not called after an error.
    ///
    /// # Errors
    /// As the unit reports.
    fn terminate(&mut self) -> UnitResult {
        Ok(())
    }
}

fn unsupported(call: &'static str, message: &str) -> Box<UnitFault> {
    UnitFault::new(call, Cause::Unsupported, message)
}

/// Sets the inputs of a unit whose handles count its inputs first, and then its outputs.
pub(crate) fn set_inputs(inputs: &mut [f64], handles: &[Handle], values: &[f64]) -> UnitResult {
    for (&handle, &value) in handles.iter().zip(values) {
        let Some(input) = inputs.get_mut(handle as usize) else {
            let message = "an output cannot be set";
            return Err(UnitFault::new("set_reals", Cause::Error, message));
        };
        *input = value;
    }
    Ok(())
}

/// A value keeps its type, which is its variable's.
impl Stored for Value {
    fn transfer(&mut self, stream: &mut StateStream) {
        match self {
            Self::Real(value) => stream.keep(value),
            Self::Integer(value) => stream.keep(value),
            Self::Boolean(value) => stream.keep(value),
            Self::String(value) => stream.keep(value),
        }
    }
}

/// Reads a unit's state from bytes by a function that names its values.
pub(crate) fn read_state(bytes: &[u8], read: impl FnOnce(&mut StateStream)) -> UnitResult {
    let mut stream = StateStream::to_read(bytes);
    read(&mut stream);
    let has_trouble = stream.trouble().is_some();
    if has_trouble || stream.finish().is_none() {
        let message = "the bytes are not those of a state of this unit";
        return Err(UnitFault::new("deserialize", Cause::Error, message));
    }
    Ok(())
}
