//! Whether the bytes of a state are one: another run goes on from them, and gives the same values.
//!
//! Many FMUs that say `canSerializeFMUstate` refuse their own bytes, have addresses of their process in them, or leave a part
//! of their state out. All of that shows when instances in new processes take the bytes.

use super::Run;
use super::serialized::read;
use crate::engine::read_variable;
use crate::fault::RunError;
use crate::unit::{Causality, Value};

/// A run that goes on from the state of another one, for a comparison.
pub struct Handover {
    run: Run,
}

impl Handover {
    /// Hands the bytes of `original` over to `run`, which was started from the same system with units in other processes, and
    /// has made no step. Both may be at their stop time.
    ///
    /// # Errors
    /// [`RunError::NotSaved`] with the first component that does not take its state, or gives another value of an output.
    pub fn begin(mut run: Run, bytes: &[u8], original: &mut Run) -> Result<Self, RunError> {
        read(&mut run, bytes).map_err(not_taken)?;
        let mut handover = Self { run };
        handover.compare(original)?;
        Ok(handover)
    }

    /// Simulated time, s.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.run.time()
    }

    /// Makes a macro-step from the state, unless it is the last one.
    ///
    /// # Errors
    /// [`RunError::NotSaved`] with the component that fails.
    pub fn step(&mut self) -> Result<(), RunError> {
        if self.run.timeline.is_over() {
            return Ok(());
        }
        self.run.step().map(drop).map_err(not_taken)
    }

    /// Compares the outputs of all components with the original's at the same time. An output that one of them cannot be
    /// asked for is left out.
    ///
    /// # Errors
    /// [`RunError::NotSaved`] with the first component that gives another value.
    pub fn compare(&mut self, original: &mut Run) -> Result<(), RunError> {
        if original.written {
            // Nothing can be read until the next step (C-28).
            return Ok(());
        }
        let graph = std::sync::Arc::clone(&original.state.graph);
        for (component, node) in graph.components.iter().enumerate() {
            for (place, variable) in node.description.variables.iter().enumerate() {
                if variable.causality != Causality::Output {
                    continue;
                }
                let read = |run: &mut Run| read_variable(&mut run.state, component, place);
                let (Ok(before), Ok(after)) = (read(original), read(&mut self.run)) else {
                    continue;
                };
                if !is_same(&before, &after) {
                    let name = graph.variable_name(component, place);
                    return Err(RunError::NotSaved(format!(
                        "{} goes on with other numbers from its state in a new process: {name} is {}, and {} here",
                        node.name,
                        words(&after),
                        words(&before)
                    )));
                }
            }
        }
        Ok(())
    }
}

/// A value in a message.
fn words(value: &Value) -> String {
    match value {
        Value::Real(value) => format!("{value:?}"),
        Value::Integer(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::String(value) => format!("{value:?}"),
    }
}

/// Equal to the last bit.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Real(one), Value::Real(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

/// The refusal for the fault of a component that has taken its state.
fn not_taken(error: RunError) -> RunError {
    match error {
        RunError::Fault(fault) => RunError::NotSaved(format!(
            "{} does not go on from its state in a new process: {fault}",
            fault.component
        )),
        other => other,
    }
}
