//! The state of a running system, in five parts without methods: units, courses of inputs, published
//! signals, bonds, exchange. The functions of [`engine`](crate::engine) and
//! [`exchange`](crate::exchange) borrow the parts that they need. Everything that a repeated step
//! rolls back is in [`Saved`].

mod algebraic_loop;
mod corrector;
mod group;
mod held_value;
mod input;
mod interface_model;
mod job;
mod jump;
mod member;
mod pass;
mod saved;
mod scenario;
mod slope;
mod slot;
mod stored;
mod trace;

use std::sync::Arc;

pub(crate) use algebraic_loop::{AlgebraicLoop, LoopMemory, LoopRecord, LoopWay};
pub(crate) use corrector::Corrector;
pub(crate) use group::Group;
pub(crate) use held_value::HeldValue;
pub(crate) use input::{FeedForwardSignal, InputCourse};
pub(crate) use interface_model::{Drive, FastInput, ReducedModel};
pub(crate) use job::Jobs;
pub(crate) use member::Member;
pub(crate) use pass::{Doubt, Pass, PassRecord, PassTrial, RowRecord, StepResponse};
pub(crate) use saved::{Saved, restore, save};
pub(crate) use scenario::{
    Channel, ChannelAction, DoneAction, Phase, RunningScenario, Target, WireEnd,
};
pub(crate) use slope::{SlopeReader, SlopeSource};
pub(crate) use slot::Slot;
pub(crate) use stored::{facts, transfer};
pub(crate) use trace::Trace;

use crate::counters::Counters;
use crate::dispatch::Dispatch;
use crate::exchange_mode::Exchange;
use crate::fault::RunError;
use crate::graph::{Axis, Graph};
use crate::step::Step;
use crate::unit::{SavedState, Unit, UnitResult, Value, VariableType};

/// Everything that a method works on.
///
/// Values are those that the units really used and gave: inputs hold the value at the end of the last
/// step, corrections included; outputs hold the value published last.
pub(crate) struct SystemState {
    pub(crate) graph: Arc<Graph>,
    pub(crate) units: Units,
    pub(crate) courses: Courses,
    pub(crate) signals: Signals,
    pub(crate) bonds: Bonds,
    pub(crate) exchange: Passes,
    pub(crate) models: ReducedModels,
    /// Actions on variables; empty without a scenario.
    pub(crate) scenario: RunningScenario,
    pub(crate) counters: Counters,
}

/// The units in their places.
pub(crate) struct Units {
    pub(crate) members: Vec<Member>,
    /// Several threads, if they are asked for.
    pub(crate) dispatch: Option<Dispatch>,
    /// Room for the pieces that threads take.
    pub(crate) jobs: Jobs,
    /// Units make their steps beside others, as they have shown.
    pub(crate) overlap: bool,
    /// The method replaces courses within a macro-step.
    pub(crate) replaces_courses: bool,
    /// The macro-steps with which postponed communication steps began, by component.
    pub(crate) begun: Vec<Step>,
    /// Earliest time at which a unit ended the simulation, s.
    pub(crate) terminated: Option<f64>,
    /// States of units from which an iteration starts again, by component.
    pub(crate) iterated: Vec<Option<SavedState>>,
    /// Values that wait for a component's next communication step.
    pub(crate) held: Vec<HeldValue>,
    /// FMUs that are called together, by the operations that step them.
    pub(crate) groups: Vec<Group>,
}

/// In place of an output that an input copies: it has a [course](InputCourse).
pub(crate) const NO_COPY: u32 = u32::MAX;

/// The courses of the connected real inputs over their components' communication steps.
pub(crate) struct Courses {
    pub(crate) inputs: Vec<InputCourse>,
    /// Value that each input had at the end of its component's last step.
    pub(crate) values: Vec<f64>,
    /// The output of which each input has the value over the whole step of its component; [`NO_COPY`] if it may have
    /// another one. Nothing but its value is prepared then.
    pub(crate) copies: Vec<u32>,
    /// The inputs that are extrapolated, whose pasts are kept.
    pub(crate) extrapolated: Vec<usize>,
    /// An extrapolation observes the communication steps within macro-steps.
    pub(crate) needs_substeps: bool,
    pub(crate) slope_readers: Vec<SlopeReader>,
    /// Declared derivative of the source of each input, per second; NaN if there is none.
    pub(crate) slopes: Vec<f64>,
    /// Learned feed-forward, by input.
    pub(crate) feed_forward: Vec<FeedForwardSignal>,
}

/// Values published last.
pub(crate) struct Signals {
    /// Real outputs.
    pub(crate) reals: Vec<f64>,
    /// Real outputs at the end of their components' communication steps in progress, if units after them see them.
    pub(crate) ahead: Vec<f64>,
    /// Outputs of other kinds.
    pub(crate) discrete: Vec<Value>,
    /// The ones that [are read ahead](Self::is_read_ahead), as `ahead`.
    pub(crate) discrete_ahead: Vec<Value>,
    /// Outputs of other kinds that units after them receive before they are published.
    pub(crate) is_read_ahead: Box<[bool]>,
    /// Wires that pass on values ahead of their time, in [`Graph::signal_wires`].
    pub(crate) is_led: Box<[bool]>,
    /// Difference of each published real output to the one that the new inputs would give: −D·(u − ũ)
    /// for stale direct feed-through; NaN if D is unknown.
    pub(crate) stale_errors: Vec<f64>,
    /// Difference of each published real output to the one that its unit gave at the end of its step:
    /// the work of the exchange; 0 if outputs are published as they are.
    pub(crate) exchanged: Vec<f64>,
    /// Difference of the output that its unit will have at the start of its coming step, under the new
    /// inputs without corrections, to the published one; NaN if unknown.
    pub(crate) start_changes: Vec<f64>,
    /// A discontinuity was found at the end of the last step.
    pub(crate) had_event: bool,
    /// Values that are NaN or infinite are passed on instead of ending the run.
    pub(crate) accepts_non_finite: bool,
}

/// The bonds that are corrected.
pub(crate) struct Bonds {
    pub(crate) correctors: Vec<Corrector>,
}

/// How outputs with direct feed-through are exchanged.
pub(crate) struct Passes {
    /// The mode of each component.
    pub(crate) modes: Vec<Exchange>,
    pub(crate) passes: Vec<Pass>,
    /// The algebraic loops that are solved between steps.
    pub(crate) loops: Vec<AlgebraicLoop>,
    /// How the outputs of each component follow its inputs in steps.
    pub(crate) step_responses: Vec<StepResponse>,
}

/// The interface models.
pub(crate) struct ReducedModels {
    pub(crate) running: Vec<ReducedModel>,
}

impl SystemState {
    /// The state of a system whose units have not been initialised.
    pub(crate) fn new(graph: Arc<Graph>, members: Vec<Member>, dispatch: Option<Dispatch>) -> Self {
        let of = |(component, node): (usize, &crate::graph::Component)| {
            let inputs = node.inputs.clone();
            let course = |input: usize| InputCourse::new(component, &graph.inputs[input], &graph);
            inputs.map(course).collect::<Vec<_>>()
        };
        let signals = graph.signals.iter().map(|signal| {
            let node = &graph.components[signal.component];
            empty_value(node.description.variables[signal.variable].kind)
        });
        let discrete: Vec<Value> = signals.collect();
        let models = &graph.interface_models;
        Self {
            courses: Courses {
                inputs: graph.components.iter().enumerate().flat_map(of).collect(),
                values: vec![0.0; graph.inputs.len()],
                copies: vec![NO_COPY; graph.inputs.len()],
                extrapolated: Vec::new(),
                needs_substeps: false,
                slope_readers: Vec::new(),
                slopes: vec![f64::NAN; graph.inputs.len()],
                feed_forward: Vec::new(),
            },
            signals: Signals {
                reals: vec![0.0; graph.outputs.len()],
                ahead: vec![0.0; graph.outputs.len()],
                discrete_ahead: discrete.clone(),
                is_read_ahead: vec![false; discrete.len()].into(),
                is_led: vec![false; graph.signal_wires.len()].into(),
                discrete,
                stale_errors: vec![0.0; graph.outputs.len()],
                exchanged: vec![0.0; graph.outputs.len()],
                start_changes: vec![0.0; graph.outputs.len()],
                had_event: false,
                accepts_non_finite: false,
            },
            bonds: Bonds {
                correctors: Corrector::all(&graph),
            },
            exchange: Passes {
                modes: vec![Exchange::NO_FEEDTHROUGH; members.len()],
                passes: Vec::new(),
                loops: Vec::new(),
                step_responses: vec![StepResponse::default(); members.len()],
            },
            models: ReducedModels {
                running: (0..models.len())
                    .map(|model| ReducedModel::new(model, &graph))
                    .collect(),
            },
            scenario: RunningScenario::default(),
            counters: Counters::default(),
            units: Units {
                begun: vec![Step::default(); members.len()],
                iterated: std::iter::repeat_with(|| None)
                    .take(members.len())
                    .collect(),
                members,
                dispatch,
                jobs: Jobs::default(),
                overlap: false,
                replaces_courses: false,
                terminated: None,
                held: Vec::new(),
                groups: Vec::new(),
            },
            graph,
        }
    }
}

/// A value of `kind` to read into.
pub(crate) fn empty_value(kind: VariableType) -> Value {
    match kind {
        VariableType::Real => Value::Real(0.0),
        VariableType::Integer | VariableType::Enumeration => Value::Integer(0),
        VariableType::Boolean => Value::Boolean(false),
        VariableType::String => Value::String(String::new()),
    }
}

/// Effort and flow output of an axis, as published last.
#[inline]
pub(crate) fn outputs_of(signals: &Signals, axis: &Axis) -> (f64, f64) {
    (
        signals.reals[axis.effort_output],
        signals.reals[axis.flow_output],
    )
}

/// Errors of the effort and the flow output of an axis; see [`Signals::stale_errors`].
pub(crate) fn errors_of(signals: &Signals, axis: &Axis) -> (f64, f64) {
    (
        signals.stale_errors[axis.effort_output],
        signals.stale_errors[axis.flow_output],
    )
}

/// The value of an input at the start of its component's last step, correction included.
#[inline]
pub(crate) fn input_at_start(state: &SystemState, input: usize) -> f64 {
    let courses = &state.courses;
    match courses.copies[input] {
        NO_COPY => courses.inputs[input].curve.at(0.0),
        _ => courses.values[input],
    }
}

/// Calls the unit of a component; a fault names the component, the time and the step.
pub(crate) fn call<T>(
    state: &mut SystemState,
    component: usize,
    step: &Step,
    call: impl FnOnce(&mut dyn Unit) -> UnitResult<T>,
) -> Result<T, RunError> {
    let result = call(state.units.members[component].slot.unit());
    result.map_err(|cause| RunError::Fault(state.graph.fault(component, step, cause)))
}
