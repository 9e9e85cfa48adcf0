use std::ops::Range;

use super::trace::Trace;
use super::{InputState, Step, StepParts};
use crate::fault::UnitFault;
use crate::fmu_unit::FmuUnit;
use crate::graph::Graph;
use crate::time::{Clock, Ticks};
use crate::unit::{Handle, StepOutcome, Unit, UnitResult, Value};

/// A unit in its place. FMUs stand in it by value and are called without a table of virtual
/// functions: at the speed of small FMUs the indirections would cost as much as the calls.
pub(crate) enum Slot {
    /// An FMU in this process.
    Fmu(FmuUnit),
    /// Anything else.
    Other(Box<dyn Unit>),
}

// The three hot calls are inlined always: each has two callers, and its result would else travel
// through memory.
impl Slot {
    #[inline(always)]
    pub(crate) fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        match self {
            Self::Fmu(unit) => unit.set_reals(handles, values),
            Self::Other(unit) => unit.set_reals(handles, values),
        }
    }

    #[inline(always)]
    pub(crate) fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        match self {
            Self::Fmu(unit) => unit.get_reals(handles, values),
            Self::Other(unit) => unit.get_reals(handles, values),
        }
    }

    #[inline(always)]
    pub(super) fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        match self {
            Self::Fmu(unit) => unit.step(time, step),
            Self::Other(unit) => unit.step(time, step),
        }
    }

    pub(crate) fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.unit().set_value(handle, value)
    }

    pub(crate) fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        self.unit().get_value(handle, value)
    }

    pub(crate) fn warnings(&self) -> u64 {
        match self {
            Self::Fmu(unit) => unit.warnings(),
            Self::Other(unit) => unit.warnings(),
        }
    }

    /// The unit behind its seam, for calls that need not be fast.
    pub(crate) fn unit(&mut self) -> &mut dyn Unit {
        match self {
            Self::Fmu(unit) => unit,
            Self::Other(unit) => &mut **unit,
        }
    }
}

/// A component while it runs.
pub(crate) struct Member {
    pub(crate) slot: Slot,
    pub(crate) input_handles: Box<[Handle]>,
    pub(crate) output_handles: Box<[Handle]>,
    /// Its connected real inputs among the plant's.
    pub(crate) inputs: Range<usize>,
    /// Its real outputs among the plant's.
    pub(crate) outputs: Range<usize>,
    pub(crate) substeps: u32,
    pub(crate) every: u64,
    /// Inputs are copies of outputs: no factor, curve or correction.
    pub(crate) plain: bool,
    /// Inputs move within the step and are set at each communication step of the component.
    pub(crate) follows_curves: bool,
    takes_derivatives: u32,
    /// Boxed, so that members lie close together.
    derivatives: Box<Derivatives>,
    /// Outputs that are wanted at each communication step.
    pub(crate) trace: Option<Box<Trace>>,
    pub(crate) selected: bool,
    pub(crate) outcome: StepOutcome,
    pub(crate) fault: Option<Box<UnitFault>>,
}

/// Arguments of `fmi2SetRealInputDerivatives`, built once.
#[derive(Default)]
struct Derivatives {
    handles: Vec<Handle>,
    orders: Vec<i32>,
    values: Vec<f64>,
}

impl Member {
    pub(crate) fn new(slot: Slot, component: usize, graph: &Graph) -> Self {
        let node = &graph.components[component];
        let handle = |variable: usize| node.description.variables[variable].handle;
        Self {
            slot,
            input_handles: node
                .inputs
                .clone()
                .map(|i| handle(graph.inputs[i].variable))
                .collect(),
            output_handles: node
                .outputs
                .clone()
                .map(|o| handle(graph.outputs[o].variable))
                .collect(),
            inputs: node.inputs.clone(),
            outputs: node.outputs.clone(),
            substeps: node.rate.substeps(),
            every: u64::from(node.rate.every()),
            plain: true,
            follows_curves: false,
            takes_derivatives: node.description.capabilities.input_derivatives,
            derivatives: Box::default(),
            trace: None,
            selected: true,
            outcome: StepOutcome::Done,
            fault: None,
        }
    }

    /// Whether a communication step of the component starts with macro-step `index`.
    #[inline]
    pub(crate) fn is_due(&self, index: u64) -> bool {
        self.every == 1 || index.is_multiple_of(self.every)
    }

    /// The component has inputs and outputs, its inputs are plain copies, and it steps with the
    /// macro-step.
    pub(crate) fn runs_straight(&self) -> bool {
        let has_ports = !self.inputs.is_empty() && !self.outputs.is_empty();
        has_ports && self.plain && !self.follows_curves && self.substeps == 1 && self.every == 1
    }

    /// Settles how the inputs are given, once the states know their degree.
    pub(crate) fn settle_inputs(&mut self, states: &[InputState]) {
        self.plain = states.iter().all(InputState::is_plain_copy);
        self.follows_curves = states.iter().any(|state| state.degree > 0)
            && (self.substeps > 1 || self.takes_derivatives > 0);
        *self.derivatives = Derivatives::default();
        if self.takes_derivatives > 0 {
            for (state, &handle) in states.iter().zip(&self.input_handles) {
                for order in 1..=state.degree.min(self.takes_derivatives as usize) {
                    self.derivatives.handles.push(handle);
                    self.derivatives.orders.push(order as i32);
                    self.derivatives.values.push(0.0);
                }
            }
        }
    }

    /// Highest degree of its inputs' curves that it follows.
    pub(crate) fn degree_taken(&self) -> usize {
        match self.takes_derivatives {
            0 if self.substeps > 1 => usize::MAX,
            degree => degree as usize,
        }
    }

    /// How far on its way an input that moves in a line over the step is on average, as the unit is
    /// given it: all the way where it gets the end value only.
    pub(crate) fn mean_progress(&self) -> f64 {
        if !self.follows_curves {
            1.0
        } else if self.takes_derivatives > 0 {
            0.5
        } else {
            // Each part is given the value at its start.
            0.5 - 0.5 / f64::from(self.substeps)
        }
    }

    /// Makes one communication step of the macro-step, or all of them if the component has several.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        states: &mut [InputState],
        inputs: &mut [f64],
        step: &Step,
        clock: &Clock,
    ) -> UnitResult {
        if !self.is_due(step.index) {
            return Ok(());
        }
        if self.substeps == 1 && !self.follows_curves {
            self.outcome = self.slot.step(step.time, step.size * self.every as f64)?;
            return Ok(());
        }
        self.advance_in_parts(states, inputs, step, clock)
    }

    fn advance_in_parts(
        &mut self,
        states: &mut [InputState],
        inputs: &mut [f64],
        step: &Step,
        clock: &Clock,
    ) -> UnitResult {
        let whole = Step {
            length: step.length * self.every as Ticks,
            size: step.size * self.every as f64,
            ..*step
        };
        if let Some(trace) = &mut self.trace {
            trace.begin();
        }
        let parts = StepParts::of(&whole, self.substeps, clock);
        for part in 0..self.substeps {
            let Step { time, size, .. } = parts.part(part);
            let since = f64::from(part) * size;
            if self.follows_curves {
                self.follow(states, inputs, since, size)?;
            }
            self.outcome = self.slot.step(time, size)?;
            if self.follows_curves && self.takes_derivatives > 0 {
                let degree = self.takes_derivatives as usize;
                for (input, state) in inputs.iter_mut().zip(states.iter()) {
                    *input = state.part(since).truncated(degree).at(size);
                }
            }
            if matches!(self.outcome, StepOutcome::Terminated(_)) {
                break;
            }
            if let Some(trace) = &mut self.trace {
                trace.read(&mut self.slot)?;
            }
        }
        Ok(())
    }

    /// Sets the inputs to their curves' values `since` the start of the step, with derivatives
    /// where the unit takes them.
    fn follow(
        &mut self,
        states: &mut [InputState],
        inputs: &mut [f64],
        since: f64,
        size: f64,
    ) -> UnitResult {
        for (input, state) in inputs.iter_mut().zip(states.iter_mut()) {
            *input = state.begin_part(since, size);
        }
        self.slot.set_reals(&self.input_handles, inputs)?;
        if self.derivatives.handles.is_empty() {
            return Ok(());
        }
        let mut values = self.derivatives.values.iter_mut();
        for state in states {
            let curve = state.part(since);
            for order in 1..=state.degree.min(self.takes_derivatives as usize) {
                if let Some(value) = values.next() {
                    *value = curve.derivative(order);
                }
            }
        }
        let Derivatives {
            handles,
            orders,
            values,
        } = &*self.derivatives;
        self.slot
            .unit()
            .set_input_derivatives(handles, orders, values)
    }
}

/// Steps the selected members, halving the work over the threads of the pool. Each member keeps
/// its own fault, so that the outcome does not depend on which thread was first.
pub(super) fn advance_in_parallel(
    members: &mut [Member],
    states: &mut [InputState],
    inputs: &mut [f64],
    step: &Step,
    clock: &Clock,
) {
    if members.len() <= 1 {
        for member in members.iter_mut().filter(|member| member.selected) {
            member.fault = member.advance(states, inputs, step, clock).err();
        }
        return;
    }
    let (left, right) = members.split_at_mut(members.len() / 2);
    let of_left: usize = left.iter().map(|member| member.inputs.len()).sum();
    let (left_states, right_states) = states.split_at_mut(of_left);
    let (left_inputs, right_inputs) = inputs.split_at_mut(of_left);
    rayon::join(
        || advance_in_parallel(left, left_states, left_inputs, step, clock),
        || advance_in_parallel(right, right_states, right_inputs, step, clock),
    );
}
