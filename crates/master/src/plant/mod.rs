//! The units of a running system, their inputs and outputs, and the three phases of a step:
//! feed, advance, publish.

mod corrector;
mod input;
mod interface_model;
mod jacobian;
mod member;
mod refresh;
mod slopes;
mod state;
mod step_parts;
mod trace;
mod turns;
mod watch;

use std::sync::Arc;

pub(crate) use corrector::Corrector;
pub(crate) use input::InputState;
use interface_model::RunningModel;
pub(crate) use member::{Member, Slot};
use slopes::SlopeReader;
pub(crate) use state::PlantState;
pub(crate) use step_parts::StepParts;
pub(crate) use turns::Passing;
use turns::Turns;

use crate::exchange::Exchange;
use crate::fault::{Cause, Fault, UnitFault};
use crate::graph::Graph;
use crate::learning::Player;
use crate::report::Counters;
use crate::time::Ticks;
use crate::unit::{Kind, StepOutcome, UnitResult, Value};

/// The macro-step that is being made.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Macro-steps made before.
    pub index: u64,
    /// Start of the step.
    pub from: Ticks,
    /// Length of the step.
    pub length: Ticks,
    /// Start of the step, s.
    pub time: f64,
    /// Length of the step, s.
    pub size: f64,
}

/// Everything that a method works on.
///
/// Values are what the units really used and gave: inputs hold the value at the end of the last
/// step, corrections included; outputs hold what was published last.
pub struct Plant {
    pub(crate) graph: Arc<Graph>,
    pub(crate) members: Vec<Member>,
    /// Value that each connected input had at the end of its component's last step.
    pub(crate) inputs: Vec<f64>,
    pub(crate) states: Vec<InputState>,
    /// The output that feeds each input: what a plain copy needs, and no more, side by side.
    sources: Vec<u32>,
    /// All components are fed by plain copies and make one communication step a macro-step, so the
    /// phases can run straight through the arrays.
    uniform: bool,
    /// Uniform, on one thread, with real values only and nothing to exchange: the phases of all
    /// components can run one after the other without asking anything.
    is_straight: bool,
    /// An extrapolation wants to see the communication steps within macro-steps.
    wants_substeps: bool,
    /// No input is extrapolated, so nobody has to be told what was published.
    all_hold: bool,
    /// Published real outputs.
    pub(crate) outputs: Vec<f64>,
    /// Published outputs of other kinds.
    pub(crate) signals: Vec<Value>,
    pub(crate) correctors: Vec<Corrector>,
    /// Where components step one after the other.
    turns: Option<Box<Turns>>,
    interface_models: Vec<RunningModel>,
    /// Components that are on the fast side of no interface model.
    macro_stepped: Vec<usize>,
    pub(crate) player: Player,
    pub(crate) modes: Vec<Exchange>,
    passes: Vec<refresh::Pass>,
    /// How far each published real output is from what the new inputs would make it: −D·(u − ũ) for
    /// stale direct feed-through; NaN where D is not known.
    pub(crate) stale_errors: Vec<f64>,
    pool: Option<rayon::ThreadPool>,
    all: Vec<usize>,
    pub(crate) counters: Counters,
    /// What sources declare as derivatives of their outputs.
    slope_readers: Vec<SlopeReader>,
    /// Declared derivative of the source of each input, per second; NaN where there is none.
    slopes: Vec<f64>,
    /// A discontinuity was found at the end of the last step.
    pub(crate) had_event: bool,
    /// Earliest time at which a unit ended the simulation, s.
    pub(crate) terminated: Option<f64>,
    /// Values that are NaN or infinite are passed on instead of ending the run.
    pub(crate) accept_not_finite: bool,
}

impl Plant {
    pub(crate) fn new(
        graph: Arc<Graph>,
        members: Vec<Member>,
        pool: Option<rayon::ThreadPool>,
    ) -> Self {
        let of = |(component, node): (usize, &crate::graph::Component)| {
            let inputs = node.inputs.clone();
            let state = |input: usize| InputState::new(component, &graph.inputs[input], &graph);
            inputs.map(state).collect::<Vec<_>>()
        };
        let states = graph.components.iter().enumerate().flat_map(of).collect();
        let signals = graph.signals.iter().map(|signal| {
            let variable =
                &graph.components[signal.component].description.variables[signal.variable];
            empty_value(variable.kind)
        });
        let mut plant = Self {
            states,
            sources: graph
                .inputs
                .iter()
                .map(|input| input.source as u32)
                .collect(),
            uniform: false,
            is_straight: false,
            all_hold: false,
            wants_substeps: false,
            inputs: vec![0.0; graph.inputs.len()],
            outputs: vec![0.0; graph.outputs.len()],
            signals: signals.collect(),
            correctors: Corrector::all(&graph),
            turns: None,
            interface_models: Vec::new(),
            macro_stepped: Vec::new(),
            player: Player::default(),
            modes: vec![Exchange::NoFeedthrough; members.len()],
            passes: Vec::new(),
            stale_errors: vec![0.0; graph.outputs.len()],
            pool,
            all: (0..members.len()).collect(),
            counters: Counters::default(),
            slope_readers: Vec::new(),
            slopes: vec![f64::NAN; graph.inputs.len()],
            had_event: false,
            terminated: None,
            accept_not_finite: false,
            members,
            graph,
        };
        plant.find_slopes();
        plant.prepare_interface_models();
        plant.find_traces();
        plant.mark_corrected_inputs();
        plant
    }

    /// Calls `phases` with all components, for methods that treat them alike.
    pub fn with_all<T>(&mut self, phases: impl FnOnce(&mut Self, &[usize]) -> T) -> T {
        let all = std::mem::take(&mut self.all);
        let result = phases(self, &all);
        self.all = all;
        result
    }

    /// Settles whether the phases can run straight, once all that could be in their way is known.
    pub(crate) fn settle_phases(&mut self) {
        let only_reals = self.signals.is_empty() && self.graph.signal_wires.is_empty();
        self.is_straight =
            self.uniform && only_reals && self.passes.is_empty() && self.pool.is_none();
    }

    /// Feeds, advances and publishes all components: what methods do that treat them alike.
    ///
    /// # Errors
    /// As the phases.
    #[inline]
    pub fn step_all(&mut self, step: &Step) -> Result<(), Fault> {
        if self.is_straight {
            self.feed_straight(step)?;
            self.advance_straight(step)?;
            self.publish_straight(step)?;
            return self.check_finite(step);
        }
        if !self.interface_models.is_empty() {
            return self.step_with_interface_models(step);
        }
        self.with_all(|plant, all| {
            plant.feed(all, step)?;
            plant.advance(all, step)?;
            plant.publish(all, step)
        })
    }

    /// Gives the due components among `components` their inputs for the step.
    ///
    /// # Errors
    /// The first refused call, in the order of the components.
    pub fn feed(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        if self.runs_straight(components) {
            self.feed_straight(step)?;
        } else {
            self.feed_due(components, step)?;
        }
        if self.graph.signal_wires.is_empty() {
            Ok(())
        } else {
            self.feed_signals(components, step)
        }
    }

    /// Steps the due components among `components`, on the pool's threads if there is one.
    ///
    /// # Errors
    /// The first refused call, in the order of the components, whatever thread saw it first.
    pub fn advance(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        if self.pool.is_some() && components.len() > 1 {
            self.advance_in_parallel(components, step)
        } else if self.runs_straight(components) {
            self.advance_straight(step)
        } else {
            self.advance_due(components, step)
        }
    }

    /// Makes the outputs visible whose time has come: those of components whose communication step
    /// ends with this macro-step.
    ///
    /// # Errors
    /// The first refused call, or the first value that is NaN or infinite.
    pub fn publish(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        if self.runs_straight(components) {
            self.publish_straight(step)?;
        } else {
            self.publish_due(components, step)?;
        }
        self.settle(components, step)
    }

    /// What follows once the real outputs of `components` are published: their other outputs, the
    /// exchange of direct feed-through, and the pasts of the inputs.
    fn settle(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        let next = step.index + 1;
        self.had_event = false;
        if !self.signals.is_empty() {
            self.publish_signals(components, step)?;
        }
        self.read_slopes(components, step, next)?;
        if self.wants_substeps {
            self.observe_substeps(components, step);
        }
        // A unit that has ended the simulation takes no further inputs (FMI 2.0 §4.2.4).
        if !self.passes.is_empty() && self.terminated.is_none() {
            let now = self.graph.clock.duration(step.from + step.length);
            self.refresh(step, next, now)?;
        }
        self.check_finite(step)?;
        if !self.all_hold {
            let now = self.graph.clock.duration(step.from + step.length);
            self.observe(components, next, now);
        }
        Ok(())
    }

    /// The value of an input at the start of its component's last step, correction included.
    #[inline]
    pub(crate) fn input_at_start(&self, input: usize) -> f64 {
        if self.uniform {
            self.inputs[input]
        } else {
            self.states[input].curve.at(0.0)
        }
    }

    /// All components are fed by plain copies and step with the macro-step.
    #[inline]
    pub(crate) fn is_uniform(&self) -> bool {
        self.uniform
    }

    #[inline]
    fn runs_straight(&self, components: &[usize]) -> bool {
        self.uniform && components.len() == self.members.len()
    }

    #[inline(always)]
    fn feed_straight(&mut self, step: &Step) -> Result<(), Fault> {
        for (input, source) in self.inputs.iter_mut().zip(&self.sources) {
            *input = self.outputs[*source as usize];
        }
        self.counters.set_calls += self.members.len() as u64;
        for component in 0..self.members.len() {
            let member = &mut self.members[component];
            let inputs = &self.inputs[member.inputs.clone()];
            if let Err(fault) = member.slot.set_reals(&member.input_handles, inputs) {
                return Err(self.fault(component, step, fault));
            }
        }
        Ok(())
    }

    fn feed_due(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        let now = self.graph.clock.duration(step.from);
        for &component in components {
            if self.members[component].is_due(step.index) {
                self.plan(component, step, now);
                self.give_inputs(component, step)?;
            }
        }
        Ok(())
    }

    /// Settles the courses of a component's inputs over its step, which starts `now`, s since the start.
    #[inline]
    fn plan(&mut self, component: usize, step: &Step, now: f64) {
        let member = &self.members[component];
        let range = member.inputs.clone();
        let length = step.size * member.every as f64;
        let inputs = self.inputs[range.clone()].iter_mut();
        for (input, state) in inputs.zip(&mut self.states[range]) {
            *input = state.plan(&self.outputs, now, length);
        }
    }

    /// Sets the inputs of a component, unless it follows their curves by itself.
    #[inline]
    fn give_inputs(&mut self, component: usize, step: &Step) -> Result<(), Fault> {
        let member = &mut self.members[component];
        let inputs = &self.inputs[member.inputs.clone()];
        if member.follows_curves || inputs.is_empty() {
            return Ok(());
        }
        self.counters.set_calls += 1;
        match member.slot.set_reals(&member.input_handles, inputs) {
            Ok(()) => Ok(()),
            Err(fault) => Err(self.fault(component, step, fault)),
        }
    }

    #[inline(always)]
    fn advance_straight(&mut self, step: &Step) -> Result<(), Fault> {
        self.counters.unit_steps += self.members.len() as u64;
        for component in 0..self.members.len() {
            match self.members[component].slot.step(step.time, step.size) {
                Ok(StepOutcome::Done) => {}
                Ok(StepOutcome::Terminated(time)) => self.note_termination(time),
                Err(fault) => return Err(self.fault(component, step, fault)),
            }
        }
        Ok(())
    }

    fn advance_due(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        let clock = self.graph.clock;
        for &component in components {
            let member = &mut self.members[component];
            let range = member.inputs.clone();
            let inputs = &mut self.inputs[range.clone()];
            if let Err(fault) = member.advance(&mut self.states[range], inputs, step, &clock) {
                return Err(self.fault(component, step, fault));
            }
            self.count_advance(component, step);
        }
        Ok(())
    }

    fn advance_in_parallel(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        for member in &mut self.members {
            member.selected = false;
        }
        for &component in components {
            self.members[component].selected = true;
        }
        let clock = self.graph.clock;
        let (members, states, inputs) = (&mut self.members, &mut self.states, &mut self.inputs);
        if let Some(pool) = &self.pool {
            pool.install(|| member::advance_in_parallel(members, states, inputs, step, &clock));
        }
        for &component in components {
            if let Some(fault) = self.members[component].fault.take() {
                return Err(self.fault(component, step, fault));
            }
            self.count_advance(component, step);
        }
        Ok(())
    }

    fn count_advance(&mut self, component: usize, step: &Step) {
        let member = &self.members[component];
        if !member.is_due(step.index) {
            return;
        }
        let substeps = u64::from(member.substeps);
        self.counters.unit_steps += substeps;
        self.counters.get_calls += member.trace.as_ref().map_or(0, |trace| trace.rows() as u64);
        self.counters.set_calls += if member.follows_curves { substeps } else { 0 };
        if let StepOutcome::Terminated(time) = member.outcome {
            self.note_termination(time);
        }
    }

    fn note_termination(&mut self, time: f64) {
        self.terminated = Some(self.terminated.map_or(time, |earlier| earlier.min(time)));
    }

    #[inline(always)]
    fn publish_straight(&mut self, step: &Step) -> Result<(), Fault> {
        self.counters.get_calls += self.members.len() as u64;
        for component in 0..self.members.len() {
            let member = &mut self.members[component];
            let outputs = &mut self.outputs[member.outputs.clone()];
            if let Err(fault) = member.slot.get_reals(&member.output_handles, outputs) {
                return Err(self.fault(component, step, fault));
            }
        }
        Ok(())
    }

    fn publish_due(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        for &component in components {
            let member = &mut self.members[component];
            if member.outputs.is_empty() || !member.is_due(step.index + 1) {
                continue;
            }
            self.counters.get_calls += 1;
            let outputs = &mut self.outputs[member.outputs.clone()];
            if let Err(fault) = member.slot.get_reals(&member.output_handles, outputs) {
                return Err(self.fault(component, step, fault));
            }
        }
        Ok(())
    }

    /// Tells the extrapolations what was published at `now`, s since the start.
    pub(crate) fn observe(&mut self, components: &[usize], next: u64, now: f64) {
        for (state, slope) in self.states.iter_mut().zip(&self.slopes) {
            let source = state.source_component;
            if components.contains(&source) && self.members[source].is_due(next) {
                self.had_event |= state.observe(&self.outputs, *slope, now);
            }
        }
    }

    #[inline]
    pub(crate) fn check_finite(&self, step: &Step) -> Result<(), Fault> {
        if self.accept_not_finite || all_finite(&self.outputs) {
            return Ok(());
        }
        self.first_not_finite(step)
    }

    #[cold]
    fn first_not_finite(&self, step: &Step) -> Result<(), Fault> {
        let found = self.outputs.iter().position(|value| !value.is_finite());
        let Some(output) = found else { return Ok(()) };
        let name = self.graph.output_name(output);
        let message = format!("{name} is {}", self.outputs[output]);
        let fault = UnitFault::new("output", Cause::NotFinite, message);
        let ended = Step {
            time: self.graph.clock.seconds(step.from + step.length),
            ..*step
        };
        Err(self.fault(self.graph.outputs[output].component, &ended, fault))
    }

    #[cold]
    pub(crate) fn fault(&self, component: usize, step: &Step, unit: Box<UnitFault>) -> Fault {
        Fault {
            component: self.graph.components[component].name.clone(),
            time: step.time,
            step: step.index,
            unit,
        }
    }

    fn feed_signals(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        let graph = Arc::clone(&self.graph);
        for wire in &graph.signal_wires {
            let member = &mut self.members[wire.component];
            if !components.contains(&wire.component) || !member.is_due(step.index) {
                continue;
            }
            let handle =
                graph.components[wire.component].description.variables[wire.variable].handle;
            if let Err(fault) = member.slot.set_value(handle, &self.signals[wire.source]) {
                return Err(self.fault(wire.component, step, fault));
            }
        }
        Ok(())
    }

    fn publish_signals(&mut self, components: &[usize], step: &Step) -> Result<(), Fault> {
        let graph = Arc::clone(&self.graph);
        for (index, signal) in graph.signals.iter().enumerate() {
            let member = &mut self.members[signal.component];
            if !components.contains(&signal.component) || !member.is_due(step.index + 1) {
                continue;
            }
            let handle =
                graph.components[signal.component].description.variables[signal.variable].handle;
            let before = self.signals[index].clone();
            if let Err(fault) = member.slot.get_value(handle, &mut self.signals[index]) {
                return Err(self.fault(signal.component, step, fault));
            }
            if before != self.signals[index] {
                self.forget_outputs_of(signal.component);
            }
        }
        Ok(())
    }

    /// Lowest order of extrapolation that is in use at the inputs of the bonds.
    pub(crate) fn order_in_use(&self) -> usize {
        let axes = self.graph.bonds.iter().flat_map(|bond| &bond.axes);
        let inputs = axes.flat_map(|axis| [axis.effort_input, axis.flow_input]);
        let order = |input: usize| {
            let state = &self.states[input];
            let order = state.extrapolation.as_ref().map_or(0, |e| e.order());
            let takes = self.members[state.component].degree_taken();
            // A curve that is cut keeps the order that it is cut to.
            if state.degree > takes {
                order.min(takes)
            } else {
                order
            }
        };
        inputs.map(order).min().unwrap_or(0)
    }

    /// A component has had an event: what its outputs were tells nothing of what they will be.
    fn forget_outputs_of(&mut self, component: usize) {
        for state in &mut self.states {
            if state.source_component == component {
                state.forget();
            }
        }
        self.had_event = true;
    }

    /// Reads a variable of a component by its index.
    pub(crate) fn read(&mut self, component: usize, variable: usize) -> UnitResult<Value> {
        let described = &self.graph.components[component].description.variables[variable];
        let mut value = empty_value(described.kind);
        self.members[component]
            .slot
            .get_value(described.handle, &mut value)?;
        Ok(value)
    }
}

/// Whether no value is NaN or infinite. Compared as integers, so that no comparison waits for
/// another one.
#[inline]
fn all_finite(values: &[f64]) -> bool {
    const EXPONENT: u64 = 0x7ff0_0000_0000_0000;
    let odd = |value: &f64| value.to_bits() & EXPONENT == EXPONENT;
    !values.iter().fold(false, |any, value| any | odd(value))
}

/// A value of `kind` to read into.
pub(crate) fn empty_value(kind: Kind) -> Value {
    match kind {
        Kind::Real => Value::Real(0.0),
        Kind::Integer | Kind::Enumeration => Value::Integer(0),
        Kind::Boolean => Value::Boolean(false),
        Kind::String => Value::String(String::new()),
    }
}
