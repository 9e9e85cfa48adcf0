//! Consistent values at the start: outputs travel to inputs in the order of their dependencies,
//! algebraic loops are iterated.

use super::initial_loops::solve_loop;
use super::scenario::value_of_wire;
use super::{corrections, outputs, slopes};
use crate::exchange::{
    InitialPass, Stage, initial_stages, likely_wrong_senses, mark_hidden, prepare_passes,
    select_exchange, unsolved_at_start,
};
use crate::fault::{Cause, Fault, RunError};
use crate::graph::SignalSource;
use crate::plan::Store;
use crate::state::{SystemState, call};
use crate::step::Step;
use crate::unit::{Causality, Period, Value};

/// Notes for the user that do not stop the run.
pub(crate) type Notes = Vec<String>;

/// Messages of the start to the user; none of them stops the run.
pub(crate) struct StartMessages {
    pub(crate) notes: Notes,
    /// Likely mistakes of the description.
    pub(crate) warnings: Notes,
    /// Bonds on whose sense direct feed-through says nothing.
    pub(crate) open_senses: Vec<usize>,
}

/// Brings all units from their start values to the first communication point.
pub(crate) fn initialize(
    state: &mut SystemState,
    period: &Period,
) -> Result<StartMessages, RunError> {
    let start = Step {
        time: period.start,
        ..Step::default()
    };
    for component in 0..state.units.members.len() {
        let own = Period {
            tolerance: state.graph.components[component].tolerance,
            ..*period
        };
        call(state, component, &start, |unit| unit.setup_experiment(&own))?;
    }
    set_start_values(state, &start, false)?;
    for component in 0..state.units.members.len() {
        call(state, component, &start, |unit| {
            unit.enter_initialization_mode()
        })?;
    }
    set_start_values(state, &start, true)?;
    propagate(state, &start)?;
    let (gains, mut notes) = select_exchange(state, &start)?;
    let senses = likely_wrong_senses(state, &gains);
    read_start_values_back(state, &start, true, &mut notes)?;
    for component in 0..state.units.members.len() {
        call(state, component, &start, |unit| {
            unit.exit_initialization_mode()
        })?;
    }
    read_start_values_back(state, &start, false, &mut notes)?;
    read_all(state, &start)?;
    mark_hidden(state, &gains);
    let until = period.stop.unwrap_or(f64::INFINITY);
    let unsolved = prepare_passes(state, &gains, &start, until)?;
    corrections::begin(state);
    let mut warnings = senses.warnings;
    let open = unsolved
        .iter()
        .map(|open| unsolved_at_start(&state.graph, open));
    warnings.extend(open);
    slopes::read_slopes(state, &start, 0).map_err(RunError::Fault)?;
    outputs::observe(state, 0, 0.0);
    Ok(StartMessages {
        notes,
        warnings,
        open_senses: senses.open,
    })
}

/// Inputs get their start values in Initialization Mode, everything else before it, but after
/// `fmi2SetupExperiment`: FMUs of 20-sim go back to their default values in that call (C-31).
fn set_start_values(state: &mut SystemState, step: &Step, inputs: bool) -> Result<(), RunError> {
    let graph = std::sync::Arc::clone(&state.graph);
    for (component, node) in graph.components.iter().enumerate() {
        for (variable, value) in &node.start_values {
            let described = &node.description.variables[*variable];
            if (described.causality == Causality::Input) == inputs {
                call(state, component, step, |unit| {
                    unit.set_value(described.handle, value)
                })?;
            }
        }
    }
    Ok(())
}

/// Notes start values that their units have not kept. Outputs are read in Initialization Mode, all
/// others after it, when FMI 2.0 §4.2.4 lets every variable be read.
fn read_start_values_back(
    state: &mut SystemState,
    step: &Step,
    outputs: bool,
    notes: &mut Notes,
) -> Result<(), RunError> {
    let graph = std::sync::Arc::clone(&state.graph);
    for (component, node) in graph.components.iter().enumerate() {
        for (variable, value) in &node.start_values {
            let described = &node.description.variables[*variable];
            let is_output = described.causality == Causality::Output;
            if !described.keeps_start || is_output != outputs {
                continue;
            }
            let mut found = value.clone();
            let read = call(state, component, step, |unit| {
                unit.get_value(described.handle, &mut found)
            });
            match read {
                Ok(()) if is_kept(value, &found) => {}
                Ok(()) => notes.push(format!(
                    "{}.{}: the start value {} was set and not kept, the component has {}",
                    node.name,
                    described.name,
                    in_words(value),
                    in_words(&found)
                )),
                // Nothing asks for it.
                Err(RunError::Fault(fault))
                    if matches!(
                        fault.unit.cause,
                        Cause::Error | Cause::Discard | Cause::Unsupported
                    ) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(())
}

/// Whether a unit has the value that was set.
fn is_kept(set: &Value, found: &Value) -> bool {
    /// A unit that converts to its own unit of measure and back rounds twice.
    const RELATIVE: f64 = 1e-9;
    match (set, found) {
        (Value::Real(set), Value::Real(found)) => {
            set.to_bits() == found.to_bits() || (set - found).abs() <= RELATIVE * set.abs()
        }
        (set, found) => set == found,
    }
}

fn in_words(value: &Value) -> String {
    match value {
        Value::Real(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::String(value) => format!("{value:?}"),
    }
}

fn propagate(state: &mut SystemState, step: &Step) -> Result<(), RunError> {
    propagate_signals(state, step, false)?;
    let stages = initial_stages(&state.graph);
    propagate_reals(state, &stages, step)?;
    // Real outputs may depend on discrete ones and the other way round: as many rounds as a chain
    // can be long.
    let wires = &state.graph.signal_wires;
    let is_mixed = wires.iter().any(|wire| wire.has_real_end(&state.graph));
    for _ in 0..if is_mixed {
        state.units.members.len()
    } else {
        0
    } {
        let before = (state.signals.reals.clone(), state.signals.discrete.clone());
        propagate_signals(state, step, true)?;
        propagate_reals(state, &stages, step)?;
        if before == (state.signals.reals.clone(), state.signals.discrete.clone()) {
            break;
        }
    }
    // Inputs on which no output depends have not been set yet.
    for component in 0..state.units.members.len() {
        let range = state.units.members[component].inputs.clone();
        set_inputs(state, component, &range.collect::<Vec<_>>(), step)?;
    }
    match propagate_signals(state, step, is_mixed)? {
        Some(refused) => Err(RunError::Fault(refused)),
        None => Ok(()),
    }
}

fn propagate_reals(state: &mut SystemState, stages: &[Stage], step: &Step) -> Result<(), RunError> {
    for stage in stages {
        match stage {
            Stage::Pass(pass) => evaluate(state, pass, step)?,
            Stage::Loop(passes) => solve_loop(state, passes, step)?,
        }
    }
    Ok(())
}

/// Discrete outputs may depend on discrete inputs: as many rounds as a chain can be long. Real
/// outputs count `with_reals`, once they are known. Returns the fault of an output that has no value
/// of its input's type in the end; on the way there outputs have values that do not stay.
fn propagate_signals(
    state: &mut SystemState,
    step: &Step,
    with_reals: bool,
) -> Result<Option<Fault>, RunError> {
    let graph = std::sync::Arc::clone(&state.graph);
    let rounds = graph.components.len().max(1 + usize::from(with_reals));
    let mut refused = None;
    for round in 0..rounds {
        refused = None;
        let before = state.signals.discrete.clone();
        read_signals(state, step)?;
        for (index, wire) in graph.signal_wires.iter().enumerate() {
            let node = &graph.components[wire.component];
            let is_known = with_reals || matches!(wire.source, SignalSource::Discrete(_));
            if node.propagate_initial_inputs && is_known {
                let mut number = Value::Real(0.0);
                let (channels, signals) = (&state.scenario.channels, &state.signals);
                let place = (index, Store::Shown);
                let value = value_of_wire(&graph, channels, signals, place, &mut number).cloned();
                let handle = node.description.variables[wire.variable].handle;
                match value {
                    Ok(value) => call(state, wire.component, step, |unit| {
                        unit.set_value(handle, &value)
                    })?,
                    Err(cause) => refused = Some(graph.fault(wire.component, step, cause)),
                }
            }
        }
        // A change of the real outputs shows when they are read again.
        if before == state.signals.discrete && (round > 0 || !with_reals) {
            break;
        }
    }
    Ok(refused)
}

fn set_inputs(
    state: &mut SystemState,
    component: usize,
    inputs: &[usize],
    step: &Step,
) -> Result<(), RunError> {
    let graph = std::sync::Arc::clone(&state.graph);
    for &input in inputs {
        let handle =
            graph.components[component].description.variables[graph.inputs[input].variable].handle;
        if graph.components[component].propagate_initial_inputs {
            let value = state.courses.inputs[input].fed(&state.signals.reals);
            call(state, component, step, |unit| {
                unit.set_reals(&[handle], &[value])
            })?;
            state.courses.values[input] = value;
        } else {
            state.courses.values[input] =
                kept_input(state, component, graph.inputs[input].variable, step)?;
        }
    }
    Ok(())
}

/// The value of an input that keeps its start value. FMI 2.0 §4.2.4 lets outputs only be read in
/// Initialization Mode.
pub(super) fn kept_input(
    state: &mut SystemState,
    component: usize,
    variable: usize,
    step: &Step,
) -> Result<f64, RunError> {
    let node = &state.graph.components[component];
    let set = node.start_values.iter().find(|(set, _)| *set == variable);
    if let Some((_, Value::Real(value))) = set {
        return Ok(*value);
    }
    let described = &node.description.variables[variable];
    if let Some(start) = described.start {
        return Ok(start);
    }
    let (handle, mut value) = (described.handle, [0.0]);
    call(state, component, step, |unit| {
        unit.get_reals(&[handle], &mut value)
    })?;
    Ok(value[0])
}

pub(super) fn evaluate(
    state: &mut SystemState,
    pass: &InitialPass,
    step: &Step,
) -> Result<(), RunError> {
    set_inputs(state, pass.component, &pass.inputs, step)?;
    for &output in &pass.outputs {
        let handle = state.units.members[pass.component].output_handles
            [output - state.units.members[pass.component].outputs.start];
        let mut value = [0.0];
        call(state, pass.component, step, |unit| {
            unit.get_reals(&[handle], &mut value)
        })?;
        state.signals.reals[output] = value[0];
    }
    Ok(())
}

pub(super) fn read_outputs(
    state: &mut SystemState,
    component: usize,
    step: &Step,
) -> Result<(), RunError> {
    let member = &mut state.units.members[component];
    let result = member.slot.get_reals(
        &member.output_handles,
        &mut state.signals.reals[member.outputs.clone()],
    );
    result.map_err(|fault| RunError::Fault(state.graph.fault(component, step, fault)))
}

/// Reads the outputs that are not real of all components.
fn read_signals(state: &mut SystemState, step: &Step) -> Result<(), RunError> {
    let graph = std::sync::Arc::clone(&state.graph);
    for (index, signal) in graph.signals.iter().enumerate() {
        let value = super::read_variable(state, signal.component, signal.variable);
        state.signals.discrete[index] =
            value.map_err(|fault| RunError::Fault(graph.fault(signal.component, step, fault)))?;
    }
    Ok(())
}

/// Reads the outputs of all components, which may have changed at the end of Initialization Mode.
fn read_all(state: &mut SystemState, step: &Step) -> Result<(), RunError> {
    read_signals(state, step)?;
    for component in 0..state.units.members.len() {
        if !state.units.members[component].outputs.is_empty() {
            read_outputs(state, component, step)?;
        }
    }
    outputs::check_finite(&state.graph, &state.signals, step).map_err(RunError::Fault)
}
