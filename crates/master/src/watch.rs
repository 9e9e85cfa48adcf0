//! Variables that observers see besides the published outputs.

use crate::engine::value_of_wire;
use crate::fault::Fault;
use crate::graph::{Graph, SignalWire};
use crate::plan::Store;
use crate::state::{SystemState, empty_value, input_at_start};
use crate::step::Step;
use crate::unit::{Causality, UnitResult, Value};

/// A variable of any causality, as an observer has asked for it.
#[derive(Debug, Clone)]
pub struct Watched {
    component: usize,
    variable: usize,
    port: Port,
    /// It keeps the value that it has at first.
    once: bool,
    /// Value at this communication point. Of an input, the value that is applied from here on, as far
    /// as it is known before the step: without the correction of a bond.
    pub value: Value,
    /// Of an input, the value that was applied from the communication point before on.
    pub applied: Option<Value>,
}

/// Where the value comes from.
#[derive(Debug, Clone, Copy)]
enum Port {
    /// A published real output.
    Output(usize),
    /// A published output of another kind.
    Signal(usize),
    /// A connected real input.
    Input(usize),
    /// An input that a [`SignalWire`] feeds.
    Wire(usize),
    /// An input that nothing feeds.
    Free,
    /// Any other variable, which the unit is asked for.
    Inner,
}

impl Watched {
    pub(crate) fn new(graph: &Graph, component: usize, variable: usize, once: bool) -> Self {
        let described = &graph.components[component].description.variables[variable];
        let is_it = |of: (usize, usize)| of == (component, variable);
        let signal = || {
            graph
                .signals
                .iter()
                .position(|s| is_it((s.component, s.variable)))
        };
        let wire = |wire: &SignalWire| is_it((wire.component, wire.variable));
        let wire = || graph.signal_wires.iter().position(wire);
        let port = if let Some(output) = graph.output_index(component, variable) {
            Port::Output(output)
        } else if let Some(signal) = signal() {
            Port::Signal(signal)
        } else if let Some(input) = graph.input_index(component, variable) {
            Port::Input(input)
        } else if let Some(wire) = wire() {
            Port::Wire(wire)
        } else if described.causality == Causality::Input {
            Port::Free
        } else {
            Port::Inner
        };
        Self {
            component,
            variable,
            port,
            once,
            value: empty_value(described.kind),
            applied: None,
        }
    }

    fn update(&mut self, state: &mut SystemState, has_stepped: bool) -> UnitResult {
        match self.port {
            Port::Output(output) => self.value = Value::Real(state.signals.reals[output]),
            Port::Signal(signal) => self.value.clone_from(&state.signals.discrete[signal]),
            Port::Input(input) => {
                if has_stepped {
                    self.applied = Some(Value::Real(input_at_start(state, input)));
                }
                self.value = Value::Real(state.courses.inputs[input].fed(&state.signals.reals));
            }
            Port::Wire(wire) => {
                self.read(state, has_stepped)?;
                let graph = std::sync::Arc::clone(&state.graph);
                let (channels, signals) = (&state.scenario.channels, &state.signals);
                let mut number = Value::Real(0.0);
                // A value that cannot be converted ends the run with the next step.
                let place = (wire, Store::Shown);
                if let Ok(value) = value_of_wire(&graph, channels, signals, place, &mut number) {
                    self.value.clone_from(value);
                }
            }
            Port::Free => self.read(state, has_stepped)?,
            Port::Inner => self.read(state, false)?,
        }
        Ok(())
    }

    /// Reads the variable from its unit; an input has the value that was applied.
    fn read(&mut self, state: &mut SystemState, has_stepped: bool) -> UnitResult {
        let described =
            &state.graph.components[self.component].description.variables[self.variable];
        let slot = &mut state.units.members[self.component].slot;
        slot.get_value(described.handle, &mut self.value)?;
        if has_stepped {
            self.applied = Some(self.value.clone());
        }
        Ok(())
    }
}

/// Brings watched variables to the present communication point, after a step or at the start.
///
/// # Errors
/// A unit that refuses to give a variable.
pub(crate) fn update(
    state: &mut SystemState,
    watched: &mut [Watched],
    step: &Step,
    has_stepped: bool,
) -> Result<(), Fault> {
    for variable in watched
        .iter_mut()
        .filter(|variable| !(has_stepped && variable.once))
    {
        let updated = variable.update(state, has_stepped);
        updated.map_err(|cause| state.graph.fault(variable.component, step, cause))?;
    }
    Ok(())
}
