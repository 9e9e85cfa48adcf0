//! The plan of a macro-step while a method writes it.
//!
//! Methods and orders of interface models add operations; the start of a system verifies the draft and finishes it.
//! It is made of the graph alone: no unit exists yet.

use std::ops::Range;

use super::StepPlan;
use super::effect::Store;
use super::operation::{Operation, Selection};
use super::stage::Stage;
use crate::graph::Graph;
use crate::step::Phase;

/// The plan of a macro-step while a [method](crate::method::Method) writes it: from the resolved system, without units.
///
/// Operations act in the order in which they are added. Components are indices, in the order of
/// [`component_names`](Graph::component_names).
pub struct Draft<'a> {
    graph: &'a Graph,
    operations: Vec<Operation>,
    stages: Vec<Box<dyn Stage>>,
    /// As [`StepPlan::led_wires`].
    pub(crate) led_wires: Vec<usize>,
    refused: Vec<String>,
}

impl<'a> Draft<'a> {
    pub(crate) fn new(graph: &'a Graph) -> Self {
        Self {
            graph,
            operations: Vec::new(),
            stages: Vec::new(),
            led_wires: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// Refuses the system: the start ends with this message, which says where, what, and what to do.
    pub fn refuse(&mut self, message: String) {
        self.refused.push(message);
    }

    /// The reasons for which the method refuses the system.
    pub(crate) fn refusals(&mut self) -> Vec<String> {
        std::mem::take(&mut self.refused)
    }

    /// The system.
    pub fn graph(&self) -> &'a Graph {
        self.graph
    }

    /// Indices of all components.
    pub fn components(&self) -> Vec<usize> {
        (0..self.graph.components.len()).collect()
    }

    /// The connected real inputs of a component.
    pub fn inputs(&self, component: usize) -> Range<usize> {
        self.graph.components[component].inputs.clone()
    }

    /// The real output that feeds an input, and its component.
    pub fn source(&self, input: usize) -> (usize, usize) {
        let output = self.graph.inputs[input].source;
        (output, self.graph.outputs[output].component)
    }

    /// Macro-steps in a communication step of a component.
    pub fn every(&self, component: usize) -> u32 {
        self.graph.components[component].rate.every()
    }

    /// Whether interface models of the system have an order of their own.
    pub(crate) fn has_interface_models(&self) -> bool {
        !self.graph.interface_models.is_empty()
    }

    /// Learned feed-forward and corrections, which come before the courses that they change.
    pub fn head(&mut self) {
        let head = [
            Operation::FeedForward,
            Operation::Correct,
            Operation::TakeBack,
        ];
        self.operations.extend(head);
    }

    /// Prepares the courses of the inputs of components whose communication step begins.
    pub fn prepare(&mut self, components: &[usize]) {
        self.add(Operation::Prepare(selection(components, Phase::Begin)));
    }

    /// Sets the inputs of components that are due in `phase`, to the courses in force.
    pub fn give(&mut self, components: &[usize], phase: Phase) {
        self.add(Operation::Give(selection(components, phase)));
    }

    /// Sets the inputs that are not real of components whose communication step begins.
    pub fn give_signals(&mut self, components: &[usize]) {
        self.add(Operation::GiveSignals(selection(components, Phase::Begin)));
    }

    /// Keeps the start of a component's communication step, which is made at its end, and all that was to be set on its
    /// unit before; [`give_held`](Self::give_held) sets it.
    pub fn postpone(&mut self, component: usize) {
        self.add(Operation::Postpone(component));
    }

    /// Sets the values that wait for a postponed step, where the step ends.
    pub fn give_held(&mut self, component: usize) {
        self.add(Operation::GiveHeld(component));
    }

    /// Makes the communication steps of the components that are due in `phase`: where they begin, or where postponed ones
    /// end. Those of one operation run on all threads.
    pub fn step(&mut self, components: &[usize], phase: Phase) {
        self.add(Operation::Step(selection(components, phase)));
    }

    /// Reads the real outputs of the components that are due in `phase`; ahead of their time, also the others that
    /// units after them receive.
    pub fn read(&mut self, components: &[usize], store: Store, phase: Phase) {
        self.add(Operation::Read(selection(components, phase), store));
        if store == Store::Ahead {
            self.add(Operation::ReadSignalsAhead(selection(components, phase)));
        }
    }

    /// Publishes the outputs that were read ahead, of all components whose communication step ends.
    pub fn show(&mut self) {
        let all = self.components();
        self.add(Operation::Show(selection(&all, Phase::End)));
    }

    /// A stage of the method's own.
    pub fn own(&mut self, stage: impl Stage + 'static) {
        self.add(Operation::Own(self.stages.len()));
        self.stages.push(Box::new(stage));
    }

    /// Equal parts of the macro-step, with the operations that `body` adds in each.
    pub(crate) fn repeat(&mut self, parts: u32, body: impl FnOnce(&mut Self)) {
        let before = std::mem::take(&mut self.operations);
        body(self);
        let body = std::mem::replace(&mut self.operations, before);
        self.add(Operation::Repeat { parts, body });
    }

    /// The operations that `body` adds, again and again from the saved states of the components, until `test` has
    /// [converged](super::StageView::converge), at most `limit` times. `test` runs before the first pass, too, and puts
    /// [estimates](super::StageView::estimate) of outputs in place for each. The components save their states and
    /// communicate with every macro-step.
    ///
    /// Terminations count in the last pass only. A step that a unit discards in a pass after the first makes `test` try
    /// another estimate; in the first and the last pass it ends the run.
    pub fn iterate(
        &mut self,
        components: &[usize],
        limit: u32,
        body: impl FnOnce(&mut Self),
        test: impl Stage + 'static,
    ) {
        let before = std::mem::take(&mut self.operations);
        body(self);
        let body = std::mem::replace(&mut self.operations, before);
        self.add(Operation::Iterate {
            components: components.to_vec(),
            limit,
            test: self.stages.len(),
            body,
        });
        self.stages.push(Box::new(test));
    }

    /// A check of the published outputs, within [`repeat`](Self::repeat).
    pub(crate) fn check(&mut self) {
        self.add(Operation::Check);
    }

    /// All that follows once the real outputs are published: other outputs, slopes, sub-steps, the scenario, the exchange
    /// of direct feed-through, the check for values that are not finite, the pasts.
    pub fn tail(&mut self) {
        let tail = [
            Operation::ReadSignals,
            Operation::ReadSlopes,
            Operation::ObserveSubsteps,
            Operation::Scenario,
            Operation::ExchangeAll,
            Operation::Check,
            Operation::Observe,
        ];
        self.operations.extend(tail);
    }

    pub(crate) fn done(self) -> StepPlan {
        StepPlan {
            operations: self.operations,
            stages: self.stages,
            led_wires: self.led_wires,
            declared: Vec::new(),
        }
    }

    fn add(&mut self, operation: Operation) {
        self.operations.push(operation);
    }
}

fn selection(components: &[usize], phase: Phase) -> Selection {
    Selection::new(components.to_vec(), phase)
}
