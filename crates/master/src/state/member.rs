//! A component while it runs, with its communication steps. The steps of the engine call it, on any thread; it publishes nothing.

use std::ops::Range;

use super::{InputCourse, Slot, Trace};
use crate::fault::{Cause, UnitFault};
use crate::graph::Graph;
use crate::step::{Phase, Step, StepParts};
use crate::time::{Clock, Ticks};
use crate::unit::{Handle, StepOutcome, UnitResult};

/// A component while it runs.
pub(crate) struct Member {
    pub(crate) slot: Slot,
    pub(crate) input_handles: Box<[Handle]>,
    pub(crate) output_handles: Box<[Handle]>,
    /// Its connected real inputs among the system's.
    pub(crate) inputs: Range<usize>,
    /// Its real outputs among the system's.
    pub(crate) outputs: Range<usize>,
    pub(crate) substeps: u32,
    pub(crate) every: u64,
    /// It makes its communication step with the last macro-step of it.
    pub(crate) steps_late: bool,
    /// Inputs move within the step and are set at each communication step of the component.
    pub(crate) follows_curves: bool,
    takes_derivatives: u32,
    /// Boxed, so that members lie close together.
    derivatives: Box<Derivatives>,
    pub(crate) denied: Box<Denied>,
    /// Outputs that are wanted at each communication step.
    pub(crate) trace: Option<Box<Trace>>,
    /// It makes a communication step that was begun and is not finished.
    pub(crate) is_stepping: bool,
    /// Its unit makes steps beside others, as it has shown.
    pub(crate) overlaps: bool,
    /// Its unit has to be called by the thread that made it.
    pub(crate) keeps_thread: bool,
    /// Number of the communication step in progress, if there are several.
    part: u32,
    pub(crate) outcome: StepOutcome,
    pub(crate) fault: Option<Box<UnitFault>>,
}

/// Abilities that a unit declares and does not have, as calls have shown.
#[derive(Debug, Default)]
pub(crate) struct Denied {
    /// Partial derivatives of outputs.
    pub(crate) directional: bool,
    /// Derivatives of outputs with respect to time.
    pub(crate) of_outputs: bool,
    /// Derivatives of inputs with respect to time.
    of_inputs: bool,
    /// What users have to know.
    pub(crate) notes: Vec<String>,
}

impl Denied {
    /// Whether a fault only shows that the unit lacks this ability: it goes on without.
    #[cold]
    pub(crate) fn takes(&mut self, ability: fn(&mut Self) -> &mut bool, fault: &UnitFault) -> bool {
        if fault.cause != Cause::Unsupported {
            return false;
        }
        if !std::mem::replace(ability(self), true) {
            let UnitFault { call, message, .. } = fault;
            self.notes.push(format!(
                "{call} {message}, although the FMU declares this ability: the run goes on without it"
            ));
        }
        true
    }
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
            keeps_thread: slot.process_ties().keeps_thread,
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
            steps_late: false,
            follows_curves: false,
            takes_derivatives: node.description.capabilities.input_derivatives,
            derivatives: Box::default(),
            denied: Box::default(),
            trace: None,
            is_stepping: false,
            overlaps: false,
            part: 0,
            outcome: StepOutcome::Done,
            fault: None,
        }
    }

    /// Whether a communication step of the component starts with macro-step `index`.
    #[inline]
    pub(crate) fn is_due(&self, index: u64) -> bool {
        self.every == 1 || index.is_multiple_of(self.every)
    }

    /// Whether a communication step of the component starts with this macro-step, or ends with it.
    #[inline]
    pub(crate) fn is_due_at(&self, phase: Phase, step: &Step) -> bool {
        match phase {
            Phase::Begin => self.is_due(step.index),
            Phase::End => self.is_due(step.index + 1),
        }
    }

    /// It makes one communication step at a time, over which its inputs have one value each.
    pub(crate) fn takes_one_step(&self) -> bool {
        !self.follows_curves && self.substeps == 1
    }

    /// Selects how the inputs are given, once their courses have their degree.
    pub(crate) fn select_way_of_giving(&mut self, inputs: &[InputCourse]) {
        self.follows_curves = inputs.iter().any(|input| input.degree > 0)
            && (self.substeps > 1 || self.takes_derivatives > 0);
        *self.derivatives = Derivatives::default();
        if self.takes_derivatives > 0 {
            for (input, &handle) in inputs.iter().zip(&self.input_handles) {
                for order in 1..=input.degree.min(self.takes_derivatives as usize) {
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

    /// Mean of a linear input over the step as the unit is given it, as a fraction of its change: 1 if it
    /// gets the end value only.
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

    /// The middle of an input's course as the unit is given it; `None` if that is halfway between the ends.
    pub(crate) fn middle_of(&self, course: &InputCourse) -> Option<f64> {
        if !self.follows_curves || course.comes_in_pieces {
            return None;
        }
        let length = course.length;
        let at = if self.takes_derivatives > 0 {
            0.5 * length
        } else {
            // Each part is given the value at its start.
            self.mean_progress() * length
        };
        Some(match self.substeps {
            1 => course
                .part(0.0)
                .truncated(self.takes_derivatives as usize)
                .at(at),
            _ => course.curve.at(at),
        })
    }

    /// The mean by the trapezoidal rule over a macro-step in which an output goes from `first` to
    /// `last`, with the values at its component's communication steps; as a difference to the first
    /// value, so that a constant is its own mean to the last digit.
    pub(crate) fn mean_within_step(&self, output: usize, first: f64, last: f64) -> f64 {
        let traces = self.trace.iter();
        let within = traces.flat_map(|trace| trace.values_of(output));
        let sum: f64 = within.map(|value| value - first).sum();
        first + (sum + 0.5 * (last - first)) / f64::from(self.substeps)
    }

    /// Makes one communication step of the macro-step, or all of them if the component has several.
    #[inline]
    pub(crate) fn advance(
        &mut self,
        inputs: &mut [InputCourse],
        values: &mut [f64],
        step: &Step,
        clock: &Clock,
    ) -> UnitResult {
        if !self.is_due(step.index) {
            return Ok(());
        }
        if self.takes_one_step() {
            self.outcome = self.step(step.time, step.size * self.every as f64)?;
            return Ok(());
        }
        self.begin_in_parts(inputs, values, step, clock)?;
        self.overlaps |= self.is_stepping;
        while self.is_stepping {
            self.finish(inputs, values, step, clock)?;
        }
        Ok(())
    }

    /// Lets the unit make a step, and notes if it would make it beside others.
    #[inline(always)]
    pub(crate) fn step(&mut self, time: f64, size: f64) -> UnitResult<StepOutcome> {
        match self.slot.begin_step(time, size)? {
            Some(outcome) => Ok(outcome),
            None => self.finish_first(),
        }
    }

    #[cold]
    fn finish_first(&mut self) -> UnitResult<StepOutcome> {
        self.overlaps = true;
        self.slot.unit().finish_step()
    }

    /// As [`advance`](Self::advance), but a unit that makes its step beside others [is stepping](Self::is_stepping) until
    /// it has [finished](Self::finish).
    #[inline]
    pub(crate) fn begin(
        &mut self,
        inputs: &mut [InputCourse],
        values: &mut [f64],
        step: &Step,
        clock: &Clock,
    ) -> UnitResult {
        if !self.is_due(step.index) {
            return Ok(());
        }
        if !self.takes_one_step() {
            return self.begin_in_parts(inputs, values, step, clock);
        }
        let size = step.size * self.every as f64;
        match self.slot.begin_step(step.time, size)? {
            Some(outcome) => self.outcome = outcome,
            None => self.is_stepping = true,
        }
        Ok(())
    }

    /// Waits for the communication step that was begun, and begins the next one if the component has several.
    pub(crate) fn finish(
        &mut self,
        inputs: &mut [InputCourse],
        values: &mut [f64],
        step: &Step,
        clock: &Clock,
    ) -> UnitResult {
        self.is_stepping = false;
        let outcome = self.slot.unit().finish_step()?;
        if self.takes_one_step() {
            self.outcome = outcome;
            return Ok(());
        }
        let parts = self.parts(step, clock);
        match self.end_part(inputs, values, &parts, outcome)? {
            true => self.begin_parts(inputs, values, &parts),
            false => Ok(()),
        }
    }

    fn begin_in_parts(
        &mut self,
        inputs: &mut [InputCourse],
        values: &mut [f64],
        step: &Step,
        clock: &Clock,
    ) -> UnitResult {
        if let Some(trace) = &mut self.trace {
            trace.begin();
        }
        self.part = 0;
        let parts = self.parts(step, clock);
        self.begin_parts(inputs, values, &parts)
    }

    /// Makes the communication steps that are left, up to one that goes on.
    fn begin_parts(
        &mut self,
        inputs: &mut [InputCourse],
        values: &mut [f64],
        parts: &StepParts<'_>,
    ) -> UnitResult {
        loop {
            let Step { time, size, .. } = parts.part(self.part);
            if self.follows_curves {
                self.follow(inputs, values, f64::from(self.part) * size, size)?;
            }
            let Some(outcome) = self.slot.begin_step(time, size)? else {
                self.is_stepping = true;
                return Ok(());
            };
            if !self.end_part(inputs, values, parts, outcome)? {
                return Ok(());
            }
        }
    }

    /// Returns whether another one follows.
    fn end_part(
        &mut self,
        inputs: &[InputCourse],
        values: &mut [f64],
        parts: &StepParts<'_>,
        outcome: StepOutcome,
    ) -> UnitResult<bool> {
        self.outcome = outcome;
        if self.follows_curves && self.takes_derivatives > 0 && !self.denied.of_inputs {
            let size = parts.part(self.part).size;
            let since = f64::from(self.part) * size;
            let degree = self.takes_derivatives as usize;
            for (value, input) in values.iter_mut().zip(inputs) {
                *value = input.part(since).truncated(degree).at(size);
            }
        }
        if matches!(outcome, StepOutcome::Terminated(_)) {
            return Ok(false);
        }
        if let Some(trace) = &mut self.trace {
            trace.read(&mut self.slot)?;
        }
        self.part += 1;
        Ok(self.part < self.substeps)
    }

    /// The communication steps of a macro-step.
    fn parts<'a>(&self, step: &Step, clock: &'a Clock) -> StepParts<'a> {
        let whole = Step {
            length: step.length * self.every as Ticks,
            size: step.size * self.every as f64,
            ..*step
        };
        StepParts::of(&whole, self.substeps, clock)
    }

    /// Sets the inputs to their curves' values `since` the start of the step, with derivatives
    /// if the unit accepts them.
    fn follow(
        &mut self,
        inputs: &mut [InputCourse],
        values: &mut [f64],
        since: f64,
        size: f64,
    ) -> UnitResult {
        for (value, input) in values.iter_mut().zip(inputs.iter_mut()) {
            *value = input.begin_part(since, size);
        }
        if self.denied.of_inputs {
            return self.give_means(inputs, values, since, size);
        }
        self.slot.set_reals(&self.input_handles, values)?;
        if self.derivatives.handles.is_empty() {
            return Ok(());
        }
        let mut derivatives = self.derivatives.values.iter_mut();
        for input in inputs.iter() {
            let curve = input.part(since);
            for order in 1..=input.degree.min(self.takes_derivatives as usize) {
                if let Some(value) = derivatives.next() {
                    *value = curve.derivative(order);
                }
            }
        }
        let Derivatives {
            handles,
            orders,
            values: derivatives,
        } = &*self.derivatives;
        let unit = self.slot.unit();
        match unit.set_input_derivatives(handles, orders, derivatives) {
            Err(fault) if self.denied.takes(|denied| &mut denied.of_inputs, &fault) => {
                self.give_means(inputs, values, since, size)
            }
            given => given,
        }
    }

    /// Sets the inputs to the means of their curves over a part, for a unit that refuses derivatives.
    fn give_means(
        &mut self,
        inputs: &[InputCourse],
        values: &mut [f64],
        since: f64,
        size: f64,
    ) -> UnitResult {
        for (value, input) in values.iter_mut().zip(inputs) {
            let curve = input.part(since);
            // Simpson's rule is exact up to the third degree; a constant is its own mean to the last digit.
            let first = curve.at(0.0);
            let (middle, last) = (curve.at(0.5 * size) - first, curve.at(size) - first);
            *value = first + (4.0 * middle + last) / 6.0;
        }
        self.slot.set_reals(&self.input_handles, values)
    }
}
