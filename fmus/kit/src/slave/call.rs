//! Steps common to all calls: legality, status, change of state, log line.

use fmi2_abi::{Function, SlaveState, Status};

use super::Slave;
use crate::model::Fault;
use crate::simulation::Simulation;

impl<S: Simulation> Slave<S> {
    /// Runs `body` if `function` may be called now, and turns its result into a status.
    #[inline]
    pub(super) fn call(
        &mut self,
        function: Function,
        body: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Status {
        if !function.legal_in().contains(self.state) {
            return self.refuse(function);
        }
        match body(self) {
            Ok(()) => fmi2_abi::OK,
            Err(fault) => self.fail(function, &fault),
        }
    }

    #[cold]
    fn refuse(&mut self, function: Function) -> Status {
        if self.state == SlaveState::Fatal {
            return fmi2_abi::FATAL;
        }
        let state = self.state.name();
        let message = format!("illegal call in state \"{state}\"");
        self.fail(function, &Fault::Error(message))
    }

    #[cold]
    fn fail(&mut self, function: Function, fault: &Fault) -> Status {
        let status = match fault {
            Fault::Discard(_) | Fault::Finished(_) => fmi2_abi::DISCARD,
            Fault::Error(_) => fmi2_abi::ERROR,
            Fault::Fatal(_) => fmi2_abi::FATAL,
            Fault::Other(status, _) => *status,
        };
        let message = format!("{}: {fault}", function.name());
        self.log.status(status, &message);
        match fault {
            Fault::Discard(_) | Fault::Finished(_) if function == Function::DoStep => {
                self.clock.terminated = matches!(fault, Fault::Finished(_));
                self.go_to(SlaveState::StepFailed);
            }
            Fault::Discard(_) | Fault::Finished(_) => {}
            Fault::Other(..) => {}
            Fault::Error(_) => self.go_to(SlaveState::Error),
            Fault::Fatal(_) => self.go_to(SlaveState::Fatal),
        }
        status
    }

    /// Refuses a call whose arguments make no sense, such as a NULL pointer.
    pub(crate) fn reject(&mut self, function: Function, reason: &str) -> Status {
        self.call(function, |_| Err(Fault::Error(reason.to_owned())))
    }

    /// Ends everything after a panic in `function`.
    pub(crate) fn panicked(&mut self, function: Function, message: &str) -> Status {
        self.fail(function, &Fault::Fatal(format!("panic: {message}")))
    }

    /// Whether `fmi2FreeInstance` may be called.
    pub(crate) fn may_be_freed(&self) -> bool {
        Function::FreeInstance.legal_in().contains(self.state)
    }

    pub(super) fn go_to(&mut self, state: SlaveState) {
        self.state = state;
        self.log.state_change(state.name());
    }
}
