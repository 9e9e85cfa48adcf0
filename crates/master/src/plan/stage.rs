//! An act of a method's or an interface model's own in the plan, and the system as such an act sees it.
//!
//! The execution of a plan runs it. A stage can touch only the values that it declares.

use super::effect::{Effect, Store};
use crate::curve::Curve;
use crate::fault::{Cause, Fault, UnitFault};
use crate::graph::Graph;
use crate::state::SystemState;
use crate::state_stream::StateStream;
use crate::step::{Phase, Step};

/// An operation of a method's own, with effects that it declares: the values that it reads and the courses that it puts
/// in place of prepared ones. The plan is verified with them, and the stage can touch nothing else.
pub trait Stage: Send {
    /// Its effects in a macro-step, in their order.
    fn effects(&self, graph: &Graph) -> Vec<Effect>;

    /// One line for people: the thing that happens, with the names of components and variables.
    fn words(&self, graph: &Graph) -> String;

    /// Acts in a macro-step.
    ///
    /// # Errors
    /// The first fault of a unit.
    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault>;

    /// Another one in the same state, for a [`Snapshot`](crate::Snapshot); `None`, the default, where there can be
    /// none.
    fn duplicate(&self) -> Option<Box<dyn Stage>> {
        None
    }

    /// Writes the memory to a stream, or reads it from there into a stage that was made alike: all that changes in a run.
    /// The default refuses: the state of a run with it is not kept in a file.
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.unable();
    }
}

/// The system in a macro-step, as a [`Stage`] sees it.
pub struct StageView<'a> {
    pub(crate) state: &'a mut SystemState,
    /// The macro-step, or the part of it that is repeated.
    pub(crate) step: Step,
    /// Index of that part, or passes made of an iteration.
    pub(crate) part: u32,
    /// A unit has discarded its step in the pass that was just made.
    pub(crate) is_discarded: bool,
    /// The iteration that the stage tests is over.
    pub(crate) has_converged: bool,
    /// The values that the stage may touch.
    pub(crate) declared: &'a Declared,
    /// A value that it has touched and not declared: its component, and the breach.
    pub(crate) undeclared: Option<(usize, String)>,
}

/// The values that the effects of a stage name, ascending.
#[derive(Debug, Default)]
pub(crate) struct Declared {
    shown: Vec<usize>,
    ahead: Vec<usize>,
    replaced: Vec<usize>,
    estimated: Vec<usize>,
}

impl Declared {
    /// The values of a stage. One that replaces the course of an input may read the output that feeds it.
    pub(crate) fn of(stage: &dyn Stage, graph: &Graph) -> Self {
        let mut declared = Self::default();
        for effect in stage.effects(graph) {
            match effect {
                Effect::Reads { output, store, .. } => match store {
                    Store::Shown => declared.shown.push(output),
                    Store::Ahead => declared.ahead.push(output),
                },
                Effect::Replaces { input, .. } => {
                    declared.replaced.push(input);
                    declared.shown.push(graph.inputs[input].source);
                    declared.ahead.push(graph.inputs[input].source);
                }
                Effect::Estimates { output } => {
                    declared.shown.push(output);
                    declared.ahead.push(output);
                    declared.estimated.push(output);
                }
                _ => {}
            }
        }
        for list in [
            &mut declared.shown,
            &mut declared.ahead,
            &mut declared.replaced,
            &mut declared.estimated,
        ] {
            list.sort_unstable();
            list.dedup();
        }
        declared
    }
}

impl StageView<'_> {
    /// The macro-step that is being made.
    pub fn step(&self) -> &Step {
        &self.step
    }

    /// The macro-step with which the communication step of a component began that is made now.
    pub fn step_of(&self, component: usize) -> Step {
        let units = &self.state.units;
        match self.is_postponed(component) {
            true => units.begun[component],
            false => self.step,
        }
    }

    /// Whether the communication step of a component starts with the macro-step.
    pub fn begins(&self, component: usize) -> bool {
        self.is_due(component, Phase::Begin)
    }

    /// Whether the communication step of a component ends with the macro-step.
    pub fn ends(&self, component: usize) -> bool {
        self.is_due(component, Phase::End)
    }

    /// Whether the communication step of a component starts or ends with the macro-step.
    pub fn is_due(&self, component: usize, phase: Phase) -> bool {
        self.state.units.members[component].is_due_at(phase, &self.step)
    }

    /// Whether the steps of a component are made where they end.
    pub fn is_postponed(&self, component: usize) -> bool {
        self.state.units.members[component].steps_late
    }

    /// Macro-steps in a communication step of a component.
    pub fn every(&self, component: usize) -> u64 {
        self.state.units.members[component].every
    }

    /// Communication steps of a component in a macro-step.
    pub fn substeps(&self, component: usize) -> u32 {
        self.state.units.members[component].substeps
    }

    /// Whether the inputs of a component move within its step: it makes several in a macro-step, or takes derivatives.
    pub fn follows_courses(&self, component: usize) -> bool {
        self.state.units.members[component].follows_curves
    }

    /// A real output as it is published; NaN where the stage does not declare that it reads it, which ends the run.
    pub fn shown(&mut self, output: usize) -> f64 {
        if self.declared.shown.binary_search(&output).is_err() {
            return self.refuse_output(output);
        }
        self.state.signals.reals[output]
    }

    /// A real output that was read ahead of its time: at the end of its component's communication step in progress. NaN
    /// where the stage does not declare that it reads it, which ends the run.
    pub fn ahead(&mut self, output: usize) -> f64 {
        if self.declared.ahead.binary_search(&output).is_err() {
            return self.refuse_output(output);
        }
        self.state.signals.ahead[output]
    }

    #[cold]
    fn refuse_output(&mut self, output: usize) -> f64 {
        let graph = &self.state.graph;
        let found = graph.outputs.get(output);
        let (component, name) = found.map_or((0, format!("output {output}")), |known| {
            (known.component, graph.output_name(output))
        });
        let text = format!("a stage of the method uses {name}, which it does not declare (P-13)");
        self.undeclared.get_or_insert((component, text));
        f64::NAN
    }

    /// The line on which an output that was read ahead moves, from the start of the step of a receiver, when it was
    /// `start`.
    pub fn line(&mut self, output: usize, start: f64, receiver: usize) -> Curve {
        let sender = self.every(self.state.graph.outputs[output].component);
        let (step, every) = (self.step_of(receiver), self.every(receiver));
        let last = self.ahead(output);
        if sender <= every {
            return Curve::line(start, (last - start) / (step.size * every as f64));
        }
        let first = self.shown(output);
        let slope = (last - first) / (step.size * sender as f64);
        let since = (step.index % sender) as f64 * step.size;
        Curve::line(first + slope * since, slope)
    }

    /// The mean by the trapezoidal rule over a macro-step in which an output goes from `first` to `last`, with the values
    /// at its component's own communication steps.
    pub fn mean_within_step(&self, output: usize, first: f64, last: f64) -> f64 {
        let sender = self.state.graph.outputs[output].component;
        self.state.units.members[sender].mean_within_step(output, first, last)
    }

    /// The value that the course prepared for an input expects of its source at the end of the step, in the source's unit.
    pub fn expected(&self, input: usize) -> f64 {
        self.state.courses.inputs[input].expected(&self.state.signals.reals)
    }

    /// Puts an estimate in the place of a real output at the end of its component's communication step, for the coming pass
    /// of an iteration. One that the stage does not declare ends the run.
    pub fn estimate(&mut self, output: usize, value: f64) {
        if self.declared.estimated.binary_search(&output).is_err() {
            self.refuse_output(output);
            return;
        }
        self.state.signals.ahead[output] = value;
    }

    /// Passes made of the iteration whose test the stage is: 0 before the first one.
    pub fn pass(&self) -> u32 {
        self.part
    }

    /// A unit has discarded its step in the pass that was just made: its outputs stand for nothing.
    pub fn is_discarded(&self) -> bool {
        self.is_discarded
    }

    /// Ends the iteration whose test the stage is, after this pass.
    pub fn converge(&mut self) {
        self.has_converged = true;
    }

    /// The name of a real output, and its component.
    pub fn output(&self, output: usize) -> (String, usize) {
        let graph = &self.state.graph;
        (graph.output_name(output), graph.outputs[output].component)
    }

    /// The fault of an iteration that cannot go on, with the component that it names.
    pub fn fault(&self, component: usize, cause: Cause, message: String) -> Fault {
        let cause = UnitFault::new("iteration", cause, message);
        self.state.graph.fault(component, &self.step, cause)
    }

    /// Puts the course of an output, s since the start of the receiver's step, in place of the one that was prepared for
    /// an input; in the output's unit, to which conversion and corrections are added. An input that the stage does not
    /// declare ends the run.
    pub fn replace(&mut self, input: usize, curve: Curve) {
        if self.declared.replaced.binary_search(&input).is_err() {
            let courses = &self.state.courses.inputs;
            let component = courses.get(input).map_or(0, |course| course.component);
            let text = format!(
                "a stage of the method replaces the course of input {input}, which it does not declare (P-13)"
            );
            self.undeclared.get_or_insert((component, text));
            return;
        }
        let courses = &mut self.state.courses;
        let curve = courses.inputs[input].converted_curve(curve);
        replace(courses, input, curve);
    }
}

/// Puts `curve` in place of the course that was prepared for an input.
#[inline]
pub(crate) fn replace(courses: &mut crate::state::Courses, input: usize, curve: Curve) {
    courses.inputs[input].curve = curve;
    courses.values[input] = curve.coefficients[0];
}
