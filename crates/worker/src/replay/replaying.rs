//! The calls of a recording, made again.

use std::collections::BTreeMap;
use std::io::{Read, Seek};

use gyrator::unit::{Period, SavedState};
use gyrator::{Unit, Value};

use crate::replay::call::{Answer, Call};
use crate::replay::recorder::CallRecorder;
use crate::replay::recording::{ReadError, Recording};

/// How far a recording was made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Replayed {
    /// Calls that were made.
    pub calls: u64,
    /// Whether all were: no call of the recording is left.
    pub is_complete: bool,
}

/// Makes the calls of a recording again, up to the first one that was not answered, or was answered by the loss of the FMU's process.
/// The answers are in the recording that `unit` writes; the unit was made before, and is freed when the recording says so.
///
/// # Errors
/// If the recording is damaged.
pub fn replay<R: Read + Seek>(
    recording: &mut Recording<R>,
    unit: CallRecorder,
) -> Result<Replayed, ReadError> {
    let mut player = Replayer {
        unit: Some(unit),
        states: BTreeMap::new(),
        reals: Vec::new(),
    };
    let mut calls = 0;
    while let Some((call, answer)) = recording.next()? {
        calls += 1;
        let is_last = answer.as_ref().is_none_or(Answer::is_loss);
        if !player.make(call) || is_last {
            let is_complete = recording.next()?.is_none();
            return Ok(Replayed { calls, is_complete });
        }
    }
    Ok(Replayed {
        calls,
        is_complete: true,
    })
}

struct Replayer {
    unit: Option<CallRecorder>,
    /// Saved states by their numbers.
    states: BTreeMap<u32, SavedState>,
    reals: Vec<f64>,
}

impl Replayer {
    /// Makes a call; `false` if it cannot be made: the state or the unit is missing.
    fn make(&mut self, call: Call) -> bool {
        let Some(unit) = &mut self.unit else {
            return false;
        };
        // Faults are recorded as answers.
        match call {
            // The unit is made.
            Call::Instantiate => {}
            Call::SetupExperiment {
                start,
                stop,
                tolerance,
            } => drop(unit.setup_experiment(&Period {
                start,
                stop,
                tolerance,
            })),
            Call::EnterInitializationMode => drop(unit.enter_initialization_mode()),
            Call::ExitInitializationMode => drop(unit.exit_initialization_mode()),
            Call::SetReals { handles, values } => drop(unit.set_reals(&handles, &values)),
            Call::GetReals { handles } => {
                drop(unit.get_reals(&handles, zeros(&mut self.reals, handles.len())));
            }
            Call::SetValue { handle, value } => drop(unit.set_value(handle, &Value::from(&value))),
            Call::GetValue { handle, value } => {
                drop(unit.get_value(handle, &mut Value::from(&value)));
            }
            Call::SetInputDerivatives {
                handles,
                orders,
                values,
            } => drop(unit.set_input_derivatives(&handles, &orders, &values)),
            Call::OutputDerivatives { handles, orders } => {
                let values = zeros(&mut self.reals, handles.len());
                drop(unit.output_derivatives(&handles, &orders, values));
            }
            Call::DirectionalDerivative {
                unknowns,
                knowns,
                seed,
            } => {
                let values = zeros(&mut self.reals, unknowns.len());
                drop(unit.directional_derivative(&unknowns, &knowns, &seed, values));
            }
            Call::Step { time, step } => drop(unit.step(time, step)),
            Call::Save { state, over } => {
                let over = over.and_then(|over| self.states.remove(&over));
                if let Ok(saved) = unit.save(over) {
                    self.states.insert(state, saved);
                }
            }
            Call::Restore { state } => match self.states.get(&state) {
                Some(saved) => drop(unit.restore(saved)),
                None => return false,
            },
            Call::Serialize => drop(unit.serialize()),
            Call::Deserialize { bytes } => drop(unit.deserialize(&bytes)),
            Call::Terminate => drop(unit.terminate()),
            Call::Free => {
                self.states.clear();
                self.unit = None;
            }
        }
        true
    }
}

fn zeros(reals: &mut Vec<f64>, count: usize) -> &mut [f64] {
    reals.clear();
    reals.resize(count, 0.0);
    reals
}
