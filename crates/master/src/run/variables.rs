//! Reading and writing variables between steps.

use super::Run;
use crate::engine::{read_variable, takes_free, write_variable};
use crate::fault::RunError;
use crate::graph::{Component, Graph, Signal, SignalWire};
use crate::observer::Watch;
use crate::unit::{Causality, Value, VariableType};
use crate::watch::Watched;

impl Run {
    /// The value of `component.variable` at the present communication point.
    ///
    /// An output has the value that was published last. Any other variable is read from its unit; where the
    /// unit's communication step is longer than the macro-step, it is the value at the end of the unit's last
    /// computed communication step: that in progress, or the one before it where the method lets the unit
    /// step last.
    ///
    /// # Errors
    /// A name that the system does not have; a unit that refuses; a variable that is no output
    /// after a [`write`](Self::write) and before the next step (FMI 2.0 §4.2.4, C-28).
    pub fn read(&mut self, name: &str) -> Result<Value, RunError> {
        let (component, variable) = find(&self.state.graph, name)?;
        if let Some(output) = self.state.graph.output_index(component, variable) {
            return Ok(Value::Real(self.state.signals.reals[output]));
        }
        let is_named =
            |signal: &Signal| (signal.component, signal.variable) == (component, variable);
        if let Some(signal) = self.state.graph.signals.iter().position(is_named) {
            return Ok(self.state.signals.discrete[signal].clone());
        }
        if self.written {
            let message = format!(
                "{name} cannot be read after a value was written; make a step first (C-28)"
            );
            return Err(RunError::Variable(message));
        }
        let step = self.timeline.next_step();
        read_variable(&mut self.state, component, variable)
            .map_err(|cause| RunError::Fault(self.state.graph.fault(component, &step, cause)))
    }

    /// The value of the real variable `component.variable`.
    ///
    /// # Errors
    /// As [`read`](Self::read), or a variable that is not real.
    pub fn read_real(&mut self, name: &str) -> Result<f64, RunError> {
        match self.read(name)? {
            Value::Real(value) => Ok(value),
            other => Err(RunError::Variable(format!(
                "{name} is not real but {other:?}"
            ))),
        }
    }

    /// Sets an input that no connection feeds, or a tunable parameter, from the next communication step of
    /// its component on. A component that is within a communication step gets the value when that has
    /// ended, and may refuse it then, so that all that is read from it stays legal (FMI 2.0 §4.2.4).
    ///
    /// # Errors
    /// A name that the system does not have, a variable that cannot be set now, a value of another
    /// kind, a unit that refuses.
    pub fn write(&mut self, name: &str, value: &Value) -> Result<(), RunError> {
        let (component, variable) = find(&self.state.graph, name)?;
        let described = &self.state.graph.components[component].description.variables[variable];
        let refuse = |why: &str| Err(RunError::Variable(format!("{name} {why}")));
        let signal = |wire: &SignalWire| (wire.component, wire.variable) == (component, variable);
        let is_fed = self.state.graph.input_index(component, variable).is_some()
            || self.state.graph.signal_wires.iter().any(signal);
        if is_fed {
            return refuse("is fed by a connection and cannot be written");
        }
        if !matches!(
            described.causality,
            Causality::Input | Causality::TunableParameter
        ) {
            return refuse("is neither an input nor a tunable parameter and cannot be written now");
        }
        let kind = match value {
            Value::Real(_) => VariableType::Real,
            Value::Integer(_) => VariableType::Integer,
            Value::Boolean(_) => VariableType::Boolean,
            Value::String(_) => VariableType::String,
        };
        if described.kind.carrier() != kind {
            return refuse(&format!(
                "is {:?} and cannot take {value:?}",
                described.kind
            ));
        }
        if takes_free(&mut self.state, (component, variable), value) {
            return Ok(());
        }
        let step = self.timeline.next_step();
        match write_variable(&mut self.state, component, variable, value, &step) {
            Ok(is_set) => {
                self.written |= is_set;
                Ok(())
            }
            Err(fault) => {
                self.faulty = Some(fault.component.clone());
                Err(self.fail(RunError::Fault(fault)))
            }
        }
    }

    /// Sets a real variable; see [`write`](Self::write).
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_real(&mut self, name: &str, value: f64) -> Result<(), RunError> {
        self.write(name, &Value::Real(value))
    }
}

/// The variables of these names, to be watched.
pub(super) fn watched(graph: &Graph, watches: &[Watch]) -> Result<Vec<Watched>, RunError> {
    let variable = |watch: &Watch| {
        let (component, variable) = find(graph, &watch.name)?;
        Ok(Watched::new(graph, component, variable, watch.once))
    };
    watches.iter().map(variable).collect()
}

/// Component and variable that `component.variable` names.
fn find(graph: &Graph, name: &str) -> Result<(usize, usize), RunError> {
    let components = &graph.components;
    let of = |(index, component): (usize, &Component)| {
        let variable = name
            .strip_prefix(component.name.as_str())?
            .strip_prefix('.')?;
        Some((index, component.description.index(variable)?))
    };
    components
        .iter()
        .enumerate()
        .filter_map(of)
        .next_back()
        .ok_or_else(|| {
            RunError::Variable(format!(
                "the system has no variable {name}; names are component.variable"
            ))
        })
}
