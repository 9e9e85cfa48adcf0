//! Components that step one after the other: those that come later receive what those before them
//! have just computed.

use super::{Plant, Step};
use crate::curve::Curve;
use crate::fault::Fault;
use crate::graph::Graph;

/// What a component receives from one that has stepped before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Passing {
    /// The line from the value at the start to the value at the end; the value at the end where
    /// the component cannot follow a line.
    End,
    /// The mean over the step.
    Mean,
}

/// The order of the components, and what is passed on within a macro-step.
pub(super) struct Turns {
    passing: Passing,
    order: Vec<usize>,
    /// Components that step when the last macro-step of their communication step is made, because
    /// something faster comes before them.
    is_late: Vec<bool>,
    /// Inputs whose source comes first, by input.
    is_led: Vec<bool>,
    /// Outputs at the end of their components' communication steps in progress.
    ahead: Vec<f64>,
    /// The macro-steps with which the components' communication steps in progress began.
    begun: Vec<Step>,
    /// What the source of each input was when the input's component began its step, and the sum of
    /// its means since then.
    starts: Vec<f64>,
    sums: Vec<f64>,
}

impl Turns {
    fn new(order: Vec<usize>, passing: Passing, graph: &Graph) -> Self {
        let mut turns = Self {
            passing,
            is_late: vec![false; graph.components.len()],
            is_led: vec![false; graph.inputs.len()],
            ahead: vec![0.0; graph.outputs.len()],
            begun: vec![Step::default(); graph.components.len()],
            starts: vec![0.0; graph.inputs.len()],
            sums: vec![0.0; graph.inputs.len()],
            order,
        };
        let every = |component: usize| graph.components[component].rate.every();
        for (place, &component) in turns.order.iter().enumerate() {
            let own = every(component);
            let inputs = graph.components[component].inputs.clone();
            let before = &turns.order[..place];
            let source = |input: usize| graph.outputs[graph.inputs[input].source].component;
            let from_before = inputs.filter(|input| before.contains(&source(*input)));
            for input in from_before {
                let from = source(input);
                let of_source = every(from);
                if own.is_multiple_of(of_source) {
                    turns.is_led[input] = true;
                    turns.is_late[component] |= of_source < own || turns.is_late[from];
                }
            }
        }
        for (place, &component) in turns.order.iter().enumerate() {
            for input in graph.components[component].inputs.clone() {
                let from = graph.outputs[graph.inputs[input].source].component;
                let is_slower =
                    every(from) > every(component) && every(from).is_multiple_of(every(component));
                turns.is_led[input] |=
                    is_slower && !turns.is_late[from] && turns.order[..place].contains(&from);
            }
        }
        turns
    }

    pub(super) fn passes_mean_to(&self, input: usize) -> bool {
        self.passing == Passing::Mean && self.is_led[input]
    }
}

impl Plant {
    /// Lets the components step one after the other from now on.
    pub(crate) fn take_turns(&mut self, order: Vec<usize>, passing: Passing) {
        let turns = Turns::new(order, passing, &self.graph);
        for (input, state) in self.states.iter_mut().enumerate() {
            if turns.is_led[input] && passing == Passing::End {
                state.degree = state.degree.max(1);
            }
        }
        self.turns = Some(Box::new(turns));
        self.find_traces();
        self.mark_corrected_inputs();
    }

    /// Feeds, advances and publishes all components, one after the other.
    ///
    /// # Errors
    /// As the phases.
    pub(crate) fn step_in_turns(&mut self, step: &Step) -> Result<(), Fault> {
        let Some(mut turns) = self.turns.take() else {
            return self.step_all(step);
        };
        let result = self.make_turns(&mut turns, step);
        self.turns = Some(turns);
        result?;
        self.with_all(|plant, all| plant.settle(all, step))
    }

    fn make_turns(&mut self, turns: &mut Turns, step: &Step) -> Result<(), Fault> {
        for place in 0..turns.order.len() {
            let component = turns.order[place];
            if self.members[component].is_due(step.index) {
                self.begin_turn(turns, component, step)?;
            }
            if turns.passing == Passing::Mean && turns.is_late[component] {
                self.add_means(turns, component, step);
            }
            if let Some(own_step) = self.turn(turns, component, step) {
                self.pass_on(turns, component, &own_step);
                self.give_inputs(component, &own_step)?;
                self.advance(&[component], &own_step)?;
                self.look_ahead(turns, component, &own_step)?;
            }
        }
        for member in self.members.iter().filter(|m| m.is_due(step.index + 1)) {
            let outputs = member.outputs.clone();
            self.outputs[outputs.clone()].copy_from_slice(&turns.ahead[outputs]);
        }
        Ok(())
    }

    /// What a component knows when its communication step begins.
    fn begin_turn(
        &mut self,
        turns: &mut Turns,
        component: usize,
        step: &Step,
    ) -> Result<(), Fault> {
        let now = self.graph.clock.duration(step.from);
        self.plan(component, step, now);
        turns.begun[component] = *step;
        for input in self.members[component].inputs.clone() {
            turns.starts[input] = self.outputs[self.states[input].source];
            turns.sums[input] = 0.0;
        }
        if self.graph.signal_wires.is_empty() {
            Ok(())
        } else {
            self.feed_signals(&[component], step)
        }
    }

    /// The step that the component makes now: its communication step, from its start.
    fn turn(&self, turns: &Turns, component: usize, step: &Step) -> Option<Step> {
        let member = &self.members[component];
        if turns.is_late[component] {
            member
                .is_due(step.index + 1)
                .then_some(turns.begun[component])
        } else {
            member.is_due(step.index).then_some(*step)
        }
    }

    /// Adds to each led input of a late component the mean of its source over this macro-step; where
    /// the source is late itself, over its communication step once it was made.
    fn add_means(&self, turns: &mut Turns, component: usize, step: &Step) {
        for input in self.members[component].inputs.clone() {
            if !turns.is_led[input] {
                continue;
            }
            let state = &self.states[input];
            let sender = &self.members[state.source_component];
            let (first, last) = (self.outputs[state.source], turns.ahead[state.source]);
            turns.sums[input] += if sender.substeps > 1 {
                self.mean_within_step(state.source, first, last)
            } else if turns.is_late[state.source_component] {
                if !sender.is_due(step.index + 1) {
                    continue;
                }
                (first + 0.5 * (last - first)) * sender.every as f64
            } else {
                let done = (step.index % sender.every) as f64 + 0.5;
                first + (last - first) * done / sender.every as f64
            };
        }
    }

    /// Puts what the components before have computed in place of the planned courses.
    fn pass_on(&mut self, turns: &Turns, component: usize, step: &Step) {
        let every = self.members[component].every;
        let follows = self.members[component].follows_curves;
        let length = step.size * every as f64;
        for input in self.members[component].inputs.clone() {
            if !turns.is_led[input] {
                continue;
            }
            let state = &self.states[input];
            let line = self.line(turns, input, step);
            let course = match turns.passing {
                Passing::End if follows => line,
                Passing::End if self.members[state.source_component].every <= every => {
                    Curve::constant(turns.ahead[state.source])
                }
                Passing::End => Curve::constant(line.at(length)),
                Passing::Mean if turns.is_late[component] => {
                    Curve::constant(turns.sums[input] / every as f64)
                }
                Passing::Mean => {
                    let mean = if self.members[state.source_component].substeps > 1 {
                        let last = turns.ahead[state.source];
                        self.mean_within_step(state.source, turns.starts[input], last)
                    } else {
                        line.mean(length)
                    };
                    Curve::constant(mean)
                }
            };
            let course = course
                .scaled(state.factor)
                .plus(&Curve::constant(state.offset))
                .plus(&state.added());
            self.states[input].curve = course;
            self.inputs[input] = course.coefficients[0];
        }
    }

    /// The line on which the source of an input moves, from the start of the receiver's step on.
    fn line(&self, turns: &Turns, input: usize, step: &Step) -> Curve {
        let state = &self.states[input];
        let sender = &self.members[state.source_component];
        let last = turns.ahead[state.source];
        let receiver_every = self.members[state.component].every;
        if sender.every <= receiver_every {
            let first = turns.starts[input];
            return Curve::line(first, (last - first) / (step.size * receiver_every as f64));
        }
        let first = self.outputs[state.source];
        let slope = (last - first) / (step.size * sender.every as f64);
        let since = (step.index % sender.every) as f64 * step.size;
        Curve::line(first + slope * since, slope)
    }

    /// Reads the outputs at the end of the step that a component has just made.
    fn look_ahead(
        &mut self,
        turns: &mut Turns,
        component: usize,
        step: &Step,
    ) -> Result<(), Fault> {
        let member = &mut self.members[component];
        let outputs = &mut turns.ahead[member.outputs.clone()];
        if outputs.is_empty() {
            return Ok(());
        }
        self.counters.get_calls += 1;
        let result = member.slot.get_reals(&member.output_handles, outputs);
        result.map_err(|fault| self.fault(component, step, fault))
    }

    /// The mean by the trapezoidal rule over a macro-step in which an output goes from `first` to
    /// `last`, with the values at its component's communication steps; as a difference to the first
    /// value, so that a constant is its own mean to the last digit.
    fn mean_within_step(&self, output: usize, first: f64, last: f64) -> f64 {
        let member = &self.members[self.graph.outputs[output].component];
        let within = member
            .trace
            .iter()
            .flat_map(|trace| trace.values_of(output));
        let sum: f64 = within.map(|value| value - first).sum();
        first + (sum + 0.5 * (last - first)) / f64::from(member.substeps)
    }
}
