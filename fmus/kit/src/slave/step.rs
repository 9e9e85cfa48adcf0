//! `fmi2DoStep`, simulated time and the questions about the last step.

use fmi2_abi::{Function, SlaveState, Status, StatusKind};

use super::Slave;
use crate::model::Fault;
use crate::simulation::Simulation;

/// Times set by the importer, and progress of the slave.
#[derive(Debug, Clone, Copy, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Clock {
    is_set_up: bool,
    stop: Option<f64>,
    /// Values were set since the last step.
    pub(super) values_are_set: bool,
    /// The model asked for the end of the simulation.
    pub(super) terminated: bool,
}

/// Share of a step that two ways to compute the same communication point may differ by.
const TIME_TOLERANCE: f64 = 1e-6;

impl Clock {
    pub(super) fn setup(&mut self, start: f64, stop: Option<f64>) -> Result<(), Fault> {
        let ordered = stop.is_none_or(|stop| stop > start);
        if !start.is_finite() || !ordered {
            let message = format!("start time {start} s and stop time {stop:?} s make no sense");
            return Err(Fault::Error(message));
        }
        self.is_set_up = true;
        self.stop = stop;
        Ok(())
    }

    pub(super) fn require_setup(&self) -> Result<(), Fault> {
        if self.is_set_up {
            return Ok(());
        }
        let message = "fmi2SetupExperiment has to be called before";
        Err(Fault::Error(message.to_owned()))
    }

    /// Checks the arguments of `fmi2DoStep` against the slave's own time `now`.
    fn check(&self, now: f64, time: f64, step: f64) -> Result<(), Fault> {
        if !(step > 0.0 && step.is_finite()) {
            let message = format!("the communication step size is {step} s, not positive");
            return Err(Fault::Error(message));
        }
        let tolerance = TIME_TOLERANCE * step + 4.0 * f64::EPSILON * now.abs();
        let off = (time - now).abs();
        if off.is_nan() || off > tolerance {
            return Err(Fault::Error(format!(
                "the communication point is {time} s, the slave is at {now} s"
            )));
        }
        match self.stop {
            Some(stop) if time + step > stop + tolerance => Err(Fault::Error(format!(
                "the step from {time} s by {step} s passes the stop time {stop} s"
            ))),
            _ => Ok(()),
        }
    }
}

impl<S: Simulation> Slave<S> {
    /// `fmi2DoStep`, times in s; `no_way_back` promises that no state from before `time` will be
    /// restored.
    pub(crate) fn do_step(&mut self, time: f64, step: f64, no_way_back: bool) -> Status {
        self.call(Function::DoStep, |slave| {
            if no_way_back {
                slave.earliest = slave.unit.time();
            }
            slave.clock.check(slave.unit.time(), time, step)?;
            slave.clock.values_are_set = false;
            slave.unit.step(time, step)
        })
    }

    /// `fmi2GetRealStatus`: the last successful time, s.
    pub(crate) fn get_real_status(&mut self, kind: StatusKind, value: &mut f64) -> Status {
        self.call(Function::GetRealStatus, |slave| {
            if kind != fmi2_abi::LAST_SUCCESSFUL_TIME {
                return Err(no_such_status());
            }
            *value = slave.unit.time();
            Ok(())
        })
    }

    /// `fmi2GetBooleanStatus`: whether the model asks for the end of the simulation.
    pub(crate) fn get_boolean_status(&mut self, kind: StatusKind, value: &mut bool) -> Status {
        self.call(Function::GetBooleanStatus, |slave| {
            if kind != fmi2_abi::TERMINATED {
                return Err(no_such_status());
            }
            *value = slave.state == SlaveState::StepFailed && slave.clock.terminated;
            Ok(())
        })
    }

    /// `fmi2GetStatus`, `fmi2GetIntegerStatus`, `fmi2GetStringStatus`: steps are never pending,
    /// so there is nothing to say.
    pub(crate) fn get_other_status(&mut self, function: Function) -> Status {
        self.call(function, |_| Err(no_such_status()))
    }
}

fn no_such_status() -> Fault {
    Fault::Discard("this status is not available".to_owned())
}
