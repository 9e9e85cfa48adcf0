//! The interface between the state machine of a slave and what it simulates.

use fmi2_abi::{Causality, SlaveState, Variability};

use crate::in_process::{InProcess, Saved};
use crate::model::{Fault, Model};
use crate::table::{Scalar, ValueReference};

/// The arguments of an importer that asks for an instance (`fmi2Instantiate`).
#[derive(Debug, Clone, Copy)]
pub struct Instantiation<'a> {
    /// Name of the instance; never empty.
    pub instance_name: &'a str,
    /// The GUID that the importer has read in `modelDescription.xml`; the state machine compares it with
    /// [`Simulation::guid`].
    pub guid: &'a str,
    /// URI of the folder `resources`; `None` for NULL and for what is not UTF-8.
    pub resource_location: Option<&'a str>,
}

/// Times and tolerance of an experiment (`fmi2SetupExperiment`).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Experiment {
    /// Start time, s.
    pub start: f64,
    /// Stop time, s, which no step passes; `None` for an experiment without an end.
    pub stop: Option<f64>,
    /// Relative tolerance of inner solvers.
    pub tolerance: Option<f64>,
}

/// A variable as the call rules see it.
#[derive(Debug, Clone, Copy)]
pub struct VariableAccess<'a> {
    /// Name.
    pub name: &'a str,
    /// Causality.
    pub causality: Causality,
    /// When it may change.
    pub variability: Variability,
}

impl VariableAccess<'_> {
    /// Notes 1, 3 and 6 of the table in FMI 2.0.5, section 4.2.4: whether the variable may be
    /// set. An input that comes early is taken, see [`is_early_in`](Self::is_early_in).
    pub(crate) fn may_be_set_in(&self, state: SlaveState) -> bool {
        match (self.causality, state) {
            (Causality::Parameter, SlaveState::StepComplete) => {
                self.variability == Variability::Tunable
            }
            (Causality::Parameter, _) => true,
            (Causality::Input, _) => true,
            _ => false,
        }
    }

    /// Whether setting the variable is against note 1: inputs belong into Initialization Mode.
    /// Importers such as FMPy set them before, so it is worth a warning and no more.
    pub(crate) fn is_early_in(&self, state: SlaveState) -> bool {
        self.causality == Causality::Input && state == SlaveState::Instantiated
    }

    /// Note 2 of that table: whether an FMU that follows it to the letter lets the variable be read.
    pub(crate) fn may_be_read_in(&self, state: SlaveState) -> bool {
        state != SlaveState::Initialization || self.is_unknown()
    }

    /// Whether the model computes the variable.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self.causality, Causality::Output | Causality::Local)
    }
}

/// The variables of one base type `T`: `f64`, `i32` (also enumerations), `bool`, `String`.
pub trait Values<T> {
    /// The variable with this value reference.
    ///
    /// # Errors
    /// [`Fault::Error`] if it has none of the type.
    fn variable(&self, reference: ValueReference) -> Result<VariableAccess<'_>, Fault>;

    /// Its value.
    ///
    /// # Errors
    /// A [`Fault`] if it cannot be computed.
    fn get(&mut self, reference: ValueReference) -> Result<&T, Fault>;

    /// Sets it. The state machine has checked that it may be set now.
    ///
    /// # Errors
    /// [`Fault::Discard`] for a value that it may not have.
    fn set(&mut self, reference: ValueReference, value: T) -> Result<(), Fault>;
}

/// The simulation behind the C functions of one instance: a [`Model`] with the kit's integrators
/// ([`InProcess`]), or a whole of another kind, such as a coupled system.
///
/// The state machine calls it in the order of FMI 2.0.5, section 4.2.4, only: it has checked each call.
pub trait Simulation:
    Values<f64> + Values<i32> + Values<bool> + Values<String> + Sized + 'static
{
    /// Whether reads and returns that FMI 2.0 forbids are errors; see [`Model::IS_STRICT`].
    const IS_STRICT: bool = false;

    /// Whether input derivatives may be set (`canInterpolateInputs`).
    const INTERPOLATES_INPUTS: bool = false;

    /// A state to go back to.
    type Saved;

    /// Makes an instance.
    ///
    /// # Errors
    /// The reason, for the importer's log.
    fn instantiate(order: &Instantiation<'_>) -> Result<Self, String>;

    /// The GUID of the FMU.
    fn guid(&self) -> &str;

    /// Simulated time, s.
    fn time(&self) -> f64;

    /// `fmi2SetupExperiment`.
    ///
    /// # Errors
    /// A [`Fault`] if the experiment cannot be made.
    fn setup(&mut self, experiment: &Experiment) -> Result<(), Fault>;

    /// `fmi2ExitInitializationMode`: ends initialization.
    ///
    /// # Errors
    /// A [`Fault`] of the simulation.
    fn initialize(&mut self) -> Result<(), Fault>;

    /// What the user of an importer has to know about the simulation when it is initialised. It is logged as warnings, whatever
    /// categories the importer has chosen.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Advances from `time` by `step`, both in s.
    ///
    /// # Errors
    /// A [`Fault`]; one that discards leaves a state that can still be read.
    fn step(&mut self, time: f64, step: f64) -> Result<(), Fault>;

    /// Ends the run.
    ///
    /// # Errors
    /// A [`Fault`] of the simulation.
    fn terminate(&mut self) -> Result<(), Fault>;

    /// Is called before the instance is freed.
    fn free(&mut self) {}

    /// Goes back to start values, as a new instance has them.
    fn reset(&mut self);

    /// Saves the state.
    ///
    /// # Errors
    /// A [`Fault`] if it cannot be saved.
    fn save(&mut self) -> Result<Self::Saved, Fault>;

    /// Saves the state in place of an older one.
    ///
    /// # Errors
    /// As [`save`](Self::save).
    fn save_over(&mut self, saved: &mut Self::Saved) -> Result<(), Fault> {
        *saved = self.save()?;
        Ok(())
    }

    /// Goes back to a saved state of this instance.
    ///
    /// # Errors
    /// A [`Fault`] if that is not possible any more.
    fn restore(&mut self, saved: &Self::Saved) -> Result<(), Fault>;

    /// Simulated time of a saved state, s.
    fn time_of(saved: &Self::Saved) -> f64;

    /// A saved state as bytes.
    ///
    /// # Errors
    /// [`Fault::Error`], by default, if states cannot be serialised.
    fn to_bytes(_saved: &Self::Saved) -> Result<Vec<u8>, Fault> {
        let message = "canSerializeFMUstate is false: states cannot be serialised";
        Err(Fault::Error(message.to_owned()))
    }

    /// The state of these bytes, which may come from outside; `None`, by default, if they are not a state.
    fn from_bytes(_bytes: &[u8]) -> Option<Self::Saved> {
        None
    }

    /// Sets the `order`-th time derivative of a continuous input at the start of the next step, if inputs are
    /// interpolated.
    ///
    /// # Errors
    /// [`Fault::Error`] for a variable that is not a continuous input, or an order that it does not have.
    fn set_input_derivative(
        &mut self,
        _reference: ValueReference,
        _order: i32,
        _value: f64,
    ) -> Result<(), Fault> {
        Ok(())
    }

    /// ∂unknowns/∂knowns · seed; the state machine has checked that they are.
    ///
    /// # Errors
    /// [`Fault::Error`], by default, if there are none.
    fn directional_derivative(
        &mut self,
        _unknowns: &[ValueReference],
        _knowns: &[ValueReference],
        _seed: &[f64],
        _result: &mut [f64],
    ) -> Result<(), Fault> {
        let message = "providesDirectionalDerivative is false";
        Err(Fault::Error(message.to_owned()))
    }
}

impl<M: Model, T: Scalar> Values<T> for InProcess<M> {
    #[inline]
    fn variable(&self, reference: ValueReference) -> Result<VariableAccess<'_>, Fault> {
        let variable = self.variable_of(self.slot::<T>(reference)?);
        Ok(VariableAccess {
            name: variable.name,
            causality: variable.causality,
            variability: variable.variability,
        })
    }

    #[inline]
    fn get(&mut self, reference: ValueReference) -> Result<&T, Fault> {
        Self::get(self, reference)
    }

    #[inline]
    fn set(&mut self, reference: ValueReference, value: T) -> Result<(), Fault> {
        Self::set(self, reference, value)
    }
}

impl<M: Model> Simulation for InProcess<M> {
    const IS_STRICT: bool = M::IS_STRICT;
    const INTERPOLATES_INPUTS: bool = M::INTERPOLATES_INPUTS;

    type Saved = Saved<M>;

    fn instantiate(_order: &Instantiation<'_>) -> Result<Self, String> {
        Ok(Self::new())
    }

    fn guid(&self) -> &str {
        self.guid()
    }

    fn time(&self) -> f64 {
        self.time()
    }

    fn setup(&mut self, experiment: &Experiment) -> Result<(), Fault> {
        self.setup(experiment.start);
        Ok(())
    }

    fn initialize(&mut self) -> Result<(), Fault> {
        self.initialize()
    }

    fn step(&mut self, time: f64, step: f64) -> Result<(), Fault> {
        self.step(time, step)
    }

    fn terminate(&mut self) -> Result<(), Fault> {
        self.terminate()
    }

    fn free(&mut self) {
        self.free();
    }

    fn reset(&mut self) {
        self.reset();
    }

    fn save(&mut self) -> Result<Saved<M>, Fault> {
        Ok(Self::save(self))
    }

    fn save_over(&mut self, saved: &mut Saved<M>) -> Result<(), Fault> {
        Self::save_over(self, saved);
        Ok(())
    }

    fn restore(&mut self, saved: &Saved<M>) -> Result<(), Fault> {
        Self::restore(self, saved);
        Ok(())
    }

    fn time_of(saved: &Saved<M>) -> f64 {
        saved.time()
    }

    fn to_bytes(saved: &Saved<M>) -> Result<Vec<u8>, Fault> {
        postcard::to_stdvec(saved).map_err(|error| Fault::Error(error.to_string()))
    }

    fn from_bytes(bytes: &[u8]) -> Option<Saved<M>> {
        let mut saved: Saved<M> = postcard::from_bytes(bytes).ok()?;
        saved.fits().then_some(saved)
    }

    fn set_input_derivative(
        &mut self,
        reference: ValueReference,
        order: i32,
        value: f64,
    ) -> Result<(), Fault> {
        self.set_input_derivative(reference, order, value)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[ValueReference],
        knowns: &[ValueReference],
        seed: &[f64],
        result: &mut [f64],
    ) -> Result<(), Fault> {
        self.directional_derivative(unknowns, knowns, seed, result)
    }
}
