//! The state machine of an FMI 2.0 slave, in safe Rust.
//!
//! Every method is one C function: it checks that the call is legal in the present state
//! (FMI 2.0.5, section 4.2.4), does its work, logs why it failed, and returns the FMI status.

mod call;
mod log;
mod saved_states;
mod step;

use fmi2_abi::{Function, SlaveState, Status};

use crate::model::Fault;
use crate::simulation::{Experiment, Instantiation, Simulation, Values};
use crate::table::ValueReference;
use log::Log;
pub(crate) use log::Sink;
pub(crate) use saved_states::Handle;
use saved_states::SavedStates;
use step::Clock;

/// One instance of an FMU.
pub(crate) struct Slave<S: Simulation> {
    unit: S,
    state: SlaveState,
    clock: Clock,
    log: Log,
    saved: SavedStates<S>,
    /// The importer has promised to restore no state from before this time, s.
    earliest: f64,
}

impl<S: Simulation> Slave<S> {
    /// `fmi2Instantiate`: refuses with a logged reason.
    pub(crate) fn instantiate(
        order: &Instantiation<'_>,
        logging_on: bool,
        sink: Sink,
    ) -> Option<Self> {
        let log = Log::new(logging_on, sink);
        let unit = S::instantiate(order).and_then(|unit| {
            let (own, given) = (unit.guid(), order.guid);
            match own == given {
                true => Ok(unit),
                false => Err(format!("the GUID is {own}, not {given}")),
            }
        });
        let unit = match unit {
            Ok(unit) => unit,
            Err(reason) => {
                log.status(fmi2_abi::ERROR, &format!("fmi2Instantiate: {reason}"));
                return None;
            }
        };
        log.state_change("instantiated");
        Some(Self {
            unit,
            state: SlaveState::Instantiated,
            clock: Clock::default(),
            log,
            saved: SavedStates::default(),
            earliest: f64::NEG_INFINITY,
        })
    }

    /// `fmi2SetDebugLogging`; no categories means all.
    pub(crate) fn set_debug_logging(&mut self, on: bool, categories: &[&str]) -> Status {
        self.call(Function::SetDebugLogging, |slave| {
            slave.log.select(on, categories).map_err(Fault::Error)
        })
    }

    /// `fmi2SetupExperiment`.
    pub(crate) fn setup_experiment(&mut self, experiment: &Experiment) -> Status {
        self.call(Function::SetupExperiment, |slave| {
            slave.clock.setup(experiment.start, experiment.stop)?;
            slave.unit.setup(experiment)
        })
    }

    /// `fmi2EnterInitializationMode`.
    pub(crate) fn enter_initialization_mode(&mut self) -> Status {
        self.call(Function::EnterInitializationMode, |slave| {
            slave.clock.require_setup()?;
            slave.go_to(SlaveState::Initialization);
            Ok(())
        })
    }

    /// `fmi2ExitInitializationMode`.
    pub(crate) fn exit_initialization_mode(&mut self) -> Status {
        self.call(Function::ExitInitializationMode, |slave| {
            slave.unit.initialize()?;
            let notes = slave.unit.notes();
            notes.iter().for_each(|note| slave.log.note(note));
            slave.go_to(SlaveState::StepComplete);
            Ok(())
        })
    }

    /// `fmi2Terminate`.
    pub(crate) fn terminate(&mut self) -> Status {
        self.call(Function::Terminate, |slave| {
            slave.unit.terminate()?;
            slave.go_to(SlaveState::Terminated);
            Ok(())
        })
    }

    /// Calls `Model::free`; comes before `fmi2FreeInstance`.
    pub(crate) fn free(&mut self) {
        self.unit.free();
    }

    /// `fmi2Reset`.
    pub(crate) fn reset(&mut self) -> Status {
        self.call(Function::Reset, |slave| {
            slave.unit.reset();
            slave.clock = Clock::default();
            slave.earliest = f64::NEG_INFINITY;
            slave.go_to(SlaveState::Instantiated);
            Ok(())
        })
    }

    /// `fmi2GetXXX`: hands each value, with its place in the list, to `receive`.
    pub(crate) fn get<T>(
        &mut self,
        function: Function,
        references: &[ValueReference],
        mut receive: impl FnMut(usize, &T),
    ) -> Status
    where
        S: Values<T>,
    {
        self.call(function, |slave| {
            slave.check_order()?;
            for (place, reference) in references.iter().enumerate() {
                let variable = Values::<T>::variable(&slave.unit, *reference)?;
                if S::IS_STRICT && !variable.may_be_read_in(slave.state) {
                    return Err(slave.not_in_this_state(variable.name, "read"));
                }
                receive(place, slave.unit.get(*reference)?);
            }
            Ok(())
        })
    }

    /// `fmi2SetXXX`; an input before Initialization Mode is taken with a warning.
    pub(crate) fn set<T>(
        &mut self,
        function: Function,
        references: &[ValueReference],
        mut value_of: impl FnMut(usize) -> Result<T, Fault>,
    ) -> Status
    where
        S: Values<T>,
    {
        let mut early = None;
        let status = self.call(function, |slave| {
            slave.clock.values_are_set = slave.state == SlaveState::StepComplete;
            for (place, reference) in references.iter().enumerate() {
                let variable = Values::<T>::variable(&slave.unit, *reference)?;
                if !variable.may_be_set_in(slave.state) {
                    return Err(slave.not_in_this_state(variable.name, "set"));
                }
                if early.is_none() && variable.is_early_in(slave.state) {
                    early = Some(variable.name.to_owned());
                }
                slave.unit.set(*reference, value_of(place)?)?;
            }
            Ok(())
        });
        match early {
            Some(name) if status == fmi2_abi::OK => self.warn_of_early_input(function, &name),
            _ => status,
        }
    }

    /// In a strict FMU nothing may be read between steps once values were set (section 4.2.4, C-28).
    #[inline]
    fn check_order(&self) -> Result<(), Fault> {
        if !S::IS_STRICT || !self.clock.values_are_set || self.state != SlaveState::StepComplete {
            return Ok(());
        }
        let message = "read after values were set, without a step between";
        Err(Fault::Error(message.to_owned()))
    }

    #[cold]
    fn warn_of_early_input(&self, function: Function, name: &str) -> Status {
        let name_of_function = function.name();
        let message = format!(
            "{name_of_function}: {name} is an input, to be set after fmi2EnterInitializationMode; taken"
        );
        self.log.status(fmi2_abi::WARNING, &message);
        fmi2_abi::WARNING
    }

    fn not_in_this_state(&self, name: &str, verb: &str) -> Fault {
        let state = self.state.name();
        Fault::Error(format!("{name} may not be {verb} in state \"{state}\""))
    }

    /// `fmi2SetRealInputDerivatives`; an error unless inputs are interpolated.
    pub(crate) fn set_input_derivatives(
        &mut self,
        references: &[ValueReference],
        orders: &[i32],
        values: &[f64],
    ) -> Status {
        self.call(Function::SetRealInputDerivatives, |slave| {
            if !S::INTERPOLATES_INPUTS {
                let message = "canInterpolateInputs is false: there are no input derivatives";
                return Err(Fault::Error(message.to_owned()));
            }
            for ((reference, order), value) in references.iter().zip(orders).zip(values) {
                slave
                    .unit
                    .set_input_derivative(*reference, *order, *value)?;
            }
            Ok(())
        })
    }

    /// `fmi2GetRealOutputDerivatives`: `maxOutputDerivativeOrder` is 0, so there are none.
    pub(crate) fn get_output_derivatives(&mut self) -> Status {
        self.call(Function::GetRealOutputDerivatives, |_| {
            let message = "maxOutputDerivativeOrder is 0: there are no output derivatives";
            Err(Fault::Error(message.to_owned()))
        })
    }

    /// `fmi2GetDirectionalDerivative`.
    pub(crate) fn get_directional_derivative(
        &mut self,
        unknowns: &[ValueReference],
        knowns: &[ValueReference],
        seed: &[f64],
        result: &mut [f64],
    ) -> Status {
        self.call(Function::GetDirectionalDerivative, |slave| {
            slave.check_directions(unknowns, knowns)?;
            slave
                .unit
                .directional_derivative(unknowns, knowns, seed, result)
        })
    }

    fn check_directions(
        &self,
        unknowns: &[ValueReference],
        knowns: &[ValueReference],
    ) -> Result<(), Fault> {
        for unknown in unknowns {
            let variable = Values::<f64>::variable(&self.unit, *unknown)?;
            if !variable.is_unknown() {
                let name = variable.name;
                return Err(Fault::Error(format!("{name} is not an output")));
            }
        }
        for known in knowns {
            let variable = Values::<f64>::variable(&self.unit, *known)?;
            // Knowns are what may be set at this point, section 2.1.9.
            if !variable.may_be_set_in(self.state) {
                let (name, state) = (variable.name, self.state.name());
                let message = format!("{name} is not a known in state \"{state}\"");
                return Err(Fault::Error(message));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
