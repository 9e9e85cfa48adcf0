//! Interface of a model to the kit.

use serde::{Serialize, de::DeserializeOwned};

use crate::variable::Variable;

/// Why a model cannot go on. Each kind becomes the FMI status of that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The step or the value is refused, the model is as it was before (`fmi2Discard`).
    #[error("{0}")]
    Discard(String),
    /// As [`Discard`](Self::Discard), and the model asks for the end of the simulation here
    /// (`fmi2Discard`, status `fmi2Terminated` is true).
    #[error("{0}")]
    Finished(String),
    /// This instance cannot go on (`fmi2Error`).
    #[error("{0}")]
    Error(String),
    /// No instance of this FMU can go on (`fmi2Fatal`).
    #[error("{0}")]
    Fatal(String),
    /// A status of this number, which FMI may not know.
    #[error("{1}")]
    Other(i32, String),
}

/// Methods by which the kit advances the continuous states; a model chooses one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integrator {
    /// x += h·f(t, x, u(t)); order 1.
    ForwardEuler,
    /// v += h·a(t, x, v, u(t)), then x += h·v with the new v; states that are neither positions
    /// nor velocities as in forward Euler. Order 1, keeps the energy of an oscillator bounded.
    SymplecticEuler,
    /// The classic method of order 4; inputs at the start, the middle and the end of the step.
    RungeKutta4,
    /// x += h/2·(f(t, x, u(t)) + f(t+h, x', u(t+h))), solved by Newton's method; order 2, A-stable.
    Trapezoidal,
    /// The model's own, [`Model::advance`]; it sees the inputs at the start of the step.
    Own,
}

/// A model: named variables, continuous states and their rates, outputs.
///
/// The values live in the fields of the type; [`variables`](Self::variables) maps variables to
/// fields. Start values come from `Default`. `Clone` saves and restores the state of an
/// instance, `serde` serialises it.
///
/// The kit calls [`initialize`](Self::initialize) and [`outputs`](Self::outputs) as often as it
/// needs: both compute their result from parameters, states and inputs and from nothing else.
pub trait Model: Clone + Default + Serialize + DeserializeOwned + 'static {
    /// `modelName` and `modelIdentifier`: a C identifier.
    const NAME: &'static str;
    /// One sentence that says what the model is.
    const DESCRIPTION: &'static str;
    /// How the continuous states are advanced.
    const INTEGRATOR: Integrator = Integrator::ForwardEuler;
    /// How many of the states are positions: [`state`](Self::state) starts with this many
    /// positions, then come as many velocities, then all other states.
    const POSITIONS: usize = 0;
    /// Whether input derivatives may be set (`canInterpolateInputs`): the kit then moves the inputs
    /// within a communication step. Without, they keep their values over the step.
    const INTERPOLATES_INPUTS: bool = false;
    /// Whether the FMU follows FMI 2.0 (4.2.4) to the letter, to test importers. These are errors then:
    ///
    /// - a variable is read between steps after values were set;
    /// - an input or a parameter is read in Initialization Mode;
    /// - the importer returns to a time although it has promised not to.
    const IS_STRICT: bool = false;
    /// Whether `fmi2SetupExperiment` goes back to the start values of the description, as in FMUs of
    /// 20-sim: values that were set before it are lost.
    const RESETS_IN_SETUP: bool = false;
    /// Preferred communication step, s (`DefaultExperiment`).
    const STEP_SIZE: f64 = 1e-3;
    /// End of the default experiment, s.
    const STOP_TIME: f64 = 10.0;

    /// The table of variables, in the order of `modelDescription.xml`.
    fn variables() -> Vec<Variable<Self>>;

    /// The continuous states; their number never changes.
    fn state(&mut self) -> &mut [f64] {
        &mut []
    }

    /// Sets the states from the parameters, at `time` in s.
    ///
    /// # Errors
    /// A [`Fault`] when the parameters make no sense.
    fn initialize(&mut self, time: f64) -> Result<(), Fault> {
        let _ = time;
        Ok(())
    }

    /// Writes the time derivative of each state, from states and inputs, at `time` in s.
    fn derivatives(&self, time: f64, rates: &mut [f64]) {
        let _ = time;
        rates.fill(0.0);
    }

    /// Advances the states by one inner step from `start` by `step`, both in s, for
    /// [`Integrator::Own`]. Everything that changes is part of [`state`](Self::state).
    ///
    /// # Errors
    /// A [`Fault`]; the states are then as they were before.
    fn advance(&mut self, start: f64, step: f64) -> Result<(), Fault> {
        let _ = (start, step);
        Ok(())
    }

    /// The method of the next inner step; by default [`INTEGRATOR`](Self::INTEGRATOR). A model
    /// whose users choose reads a parameter.
    fn integrator(&self) -> Integrator {
        Self::INTEGRATOR
    }

    /// How many inner steps each communication step has, whatever its size; a parameter of the
    /// model that then takes the place of the kit's `step_size`. `None`, the default: `step_size`.
    fn micro_steps(&self) -> Option<i32> {
        None
    }

    /// Computes the outputs from states and inputs, at `time` in s.
    ///
    /// # Errors
    /// A [`Fault`] when they cannot be computed.
    fn outputs(&mut self, time: f64) -> Result<(), Fault> {
        let _ = time;
        Ok(())
    }

    /// Called after each inner step from `start` to `end` in s; place for discontinuous changes.
    ///
    /// # Errors
    /// A [`Fault`]; one that discards the step leaves the model as it was.
    fn after_step(&mut self, start: f64, end: f64) -> Result<(), Fault> {
        let _ = (start, end);
        Ok(())
    }

    /// Called before the instance is freed.
    fn free(&mut self) {}

    /// Called at the end of a run.
    ///
    /// # Errors
    /// A [`Fault`] when the model cannot end properly.
    fn terminate(&mut self) -> Result<(), Fault> {
        Ok(())
    }

    /// The partial derivative of the output `unknown` by the input `known` at fixed states, or
    /// `None` to let the kit take central differences.
    fn partial_derivative(&self, unknown: &str, known: &str) -> Option<f64> {
        let _ = (unknown, known);
        None
    }
}
