//! Which function may be called in which state of a slave (FMI 2.0.5, table of section 4.2.4).

use crate::named;

named! {
    /// State of a slave, one bit each so that a set of states is one number.
    ///
    /// A slave that was freed, or is not there yet, has no state.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    #[repr(u16)]
    pub enum SlaveState {
        /// After `fmi2Instantiate` or `fmi2Reset`.
        Instantiated = 1 => "instantiated",
        /// Initialization Mode.
        Initialization = 1 << 1 => "initialization mode",
        /// Between steps (`stepComplete`), also right after Initialization Mode.
        StepComplete = 1 << 2 => "step complete",
        /// `fmi2DoStep` has returned Pending.
        StepInProgress = 1 << 3 => "step in progress",
        /// `fmi2DoStep` has returned Discard.
        StepFailed = 1 << 4 => "step failed",
        /// A pending step was canceled.
        StepCanceled = 1 << 5 => "step canceled",
        /// After `fmi2Terminate`.
        Terminated = 1 << 6 => "terminated",
        /// A function has returned Error.
        Error = 1 << 7 => "error",
        /// A function has returned Fatal: no function at all may be called.
        Fatal = 1 << 8 => "fatal",
    }
    /// Every state, in the order of the standard's table.
    ALL;
    /// Name for messages.
    name
}

/// A set of [`SlaveState`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct States(u16);

impl States {
    /// Whether `state` is one of the set.
    #[must_use]
    #[inline]
    pub const fn contains(self, state: SlaveState) -> bool {
        self.0 & state as u16 != 0
    }
}

const INSTANTIATED: u16 = SlaveState::Instantiated as u16;
const INITIALIZATION: u16 = SlaveState::Initialization as u16;
const COMPLETE: u16 = SlaveState::StepComplete as u16;
const IN_PROGRESS: u16 = SlaveState::StepInProgress as u16;
const FAILED: u16 = SlaveState::StepFailed as u16;
const CANCELED: u16 = SlaveState::StepCanceled as u16;
const TERMINATED: u16 = SlaveState::Terminated as u16;
const ERROR: u16 = SlaveState::Error as u16;

const ALL_BUT_FATAL: u16 = 0xff;
const ALL_BUT_RUNNING: u16 = ALL_BUT_FATAL & !IN_PROGRESS;
const READABLE: u16 = INITIALIZATION | COMPLETE | FAILED | CANCELED | TERMINATED | ERROR;

named! {
    /// A function of an FMU that acts on an instance.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
    #[expect(missing_docs, reason = "each variant is the C function of that name")]
    pub enum Function {
        SetDebugLogging => "fmi2SetDebugLogging",
        FreeInstance => "fmi2FreeInstance",
        SetupExperiment => "fmi2SetupExperiment",
        EnterInitializationMode => "fmi2EnterInitializationMode",
        ExitInitializationMode => "fmi2ExitInitializationMode",
        Terminate => "fmi2Terminate",
        Reset => "fmi2Reset",
        GetReal => "fmi2GetReal",
        GetInteger => "fmi2GetInteger",
        GetBoolean => "fmi2GetBoolean",
        GetString => "fmi2GetString",
        SetReal => "fmi2SetReal",
        SetInteger => "fmi2SetInteger",
        SetBoolean => "fmi2SetBoolean",
        SetString => "fmi2SetString",
        GetFmuState => "fmi2GetFMUstate",
        SetFmuState => "fmi2SetFMUstate",
        FreeFmuState => "fmi2FreeFMUstate",
        SerializedFmuStateSize => "fmi2SerializedFMUstateSize",
        SerializeFmuState => "fmi2SerializeFMUstate",
        DeSerializeFmuState => "fmi2DeSerializeFMUstate",
        GetDirectionalDerivative => "fmi2GetDirectionalDerivative",
        SetRealInputDerivatives => "fmi2SetRealInputDerivatives",
        GetRealOutputDerivatives => "fmi2GetRealOutputDerivatives",
        DoStep => "fmi2DoStep",
        CancelStep => "fmi2CancelStep",
        GetStatus => "fmi2GetStatus",
        GetRealStatus => "fmi2GetRealStatus",
        GetIntegerStatus => "fmi2GetIntegerStatus",
        GetBooleanStatus => "fmi2GetBooleanStatus",
        GetStringStatus => "fmi2GetStringStatus",
    }
    /// Every function.
    ALL;
    /// The C name.
    name
}

impl Function {
    /// The states in which the function may be called. Which *variables* may be read or set in a
    /// state (notes 1 to 3 and 6 of the table) is not part of it.
    #[must_use]
    pub const fn legal_in(self) -> States {
        States(match self {
            Self::SetDebugLogging => ALL_BUT_FATAL,
            Self::SetupExperiment | Self::EnterInitializationMode => INSTANTIATED,
            Self::ExitInitializationMode => INITIALIZATION,
            Self::Terminate => COMPLETE | FAILED,
            Self::GetReal | Self::GetInteger | Self::GetBoolean | Self::GetString => READABLE,
            Self::SetReal | Self::SetInteger | Self::SetBoolean | Self::SetString => {
                INSTANTIATED | INITIALIZATION | COMPLETE
            }
            Self::Reset
            | Self::FreeInstance
            | Self::GetFmuState
            | Self::SetFmuState
            | Self::FreeFmuState
            | Self::SerializedFmuStateSize
            | Self::SerializeFmuState
            | Self::DeSerializeFmuState => ALL_BUT_RUNNING,
            Self::GetDirectionalDerivative => READABLE,
            Self::SetRealInputDerivatives => INSTANTIATED | INITIALIZATION | COMPLETE,
            Self::GetRealOutputDerivatives => COMPLETE | FAILED | CANCELED | TERMINATED | ERROR,
            Self::DoStep => COMPLETE,
            Self::CancelStep => IN_PROGRESS,
            Self::GetStatus
            | Self::GetRealStatus
            | Self::GetIntegerStatus
            | Self::GetBooleanStatus
            | Self::GetStringStatus => COMPLETE | IN_PROGRESS | FAILED | TERMINATED,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as printed in section 4.2.4, columns in the order of [`SlaveState::ALL`].
    const TABLE: &[(&str, &[Function])] = {
        use Function::*;
        &[
            ("xxxxxxxx-", &[SetDebugLogging]),
            ("x--------", &[SetupExperiment, EnterInitializationMode]),
            ("-x-------", &[ExitInitializationMode]),
            ("--x------", &[DoStep]),
            ("---x-----", &[CancelStep]),
            ("-xx-xxxx-", &[GetReal, GetInteger, GetBoolean, GetString]),
            ("xxx------", &[SetReal, SetInteger, SetBoolean, SetString]),
            ("xxx------", &[SetRealInputDerivatives]),
            ("--x-xxxx-", &[GetRealOutputDerivatives]),
            ("-xx-xxxx-", &[GetDirectionalDerivative]),
            ("xxx-xxxx-", &[GetFmuState, SetFmuState, FreeFmuState]),
            (
                "xxx-xxxx-",
                &[
                    SerializedFmuStateSize,
                    SerializeFmuState,
                    DeSerializeFmuState,
                ],
            ),
            ("--xxx-x--", &[GetStatus, GetRealStatus, GetIntegerStatus]),
            ("--xxx-x--", &[GetBooleanStatus, GetStringStatus]),
            ("--x-x----", &[Terminate]),
            ("xxx-xxxx-", &[Reset, FreeInstance]),
        ]
    };

    #[test]
    fn c24_table_of_section_4_2_4() {
        for (row, functions) in TABLE {
            for function in *functions {
                for (state, cell) in SlaveState::ALL.into_iter().zip(row.chars()) {
                    let legal = function.legal_in().contains(state);
                    assert_eq!(
                        legal,
                        cell == 'x',
                        "{} in {}",
                        function.name(),
                        state.name()
                    );
                }
            }
        }
    }

    #[test]
    fn c26_nothing_is_legal_after_fatal() {
        for (_, functions) in TABLE {
            assert!(
                functions
                    .iter()
                    .all(|f| !f.legal_in().contains(SlaveState::Fatal))
            );
        }
    }
}
