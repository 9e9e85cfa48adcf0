//! The units of an algebraic loop: their outputs and D under inputs that are tried.

use super::algebraic_loop::ComponentFault;
use super::probing::CentralDifference;
use super::trial::outputs_after;
use crate::counters::Counters;
use crate::fault::Cause;
use crate::graph::Graph;
use crate::state::{AlgebraicLoop, Courses, InputCourse, LoopMemory, LoopWay, Member, Pass};
use crate::time::rounding;

/// Length of a trial step, as part of the communication step: states move by no more than a digit that is lost anyway, as
/// what the step itself does to the outputs is taken off; time, and what steps do with it, still shows.
const TRIAL: f64 = 1e-6;

/// Length of the trial step before a communication step of this `length`, s, at this time, s: the unit's time has to move.
pub(super) fn trial_length(length: f64, time: f64) -> f64 {
    (TRIAL * length).max(2.0 * rounding(time))
}

/// The units of a loop at a communication point.
pub(super) struct LoopUnits<'a> {
    pub(super) graph: &'a Graph,
    pub(super) members: &'a mut [Member],
    pub(super) courses: &'a mut Courses,
    pub(super) counters: &'a mut Counters,
    pub(super) passes: &'a mut [Pass],
    pub(super) of: &'a mut AlgebraicLoop,
    /// The communication point, s, and the length of the macro-step that ends there, s.
    pub(super) time: f64,
    pub(super) size: f64,
}

/// Whether the source of an input has a new value at the point at which macro-step `next` starts.
pub(super) fn is_new(members: &[Member], course: &InputCourse, next: u64) -> bool {
    members[course.source_component].is_due(next)
}

impl LoopUnits<'_> {
    /// Takes the outputs and inputs as the step has left them; `false` where one is not finite.
    pub(super) fn begin(
        &mut self,
        reals: &[f64],
        next: u64,
        now: f64,
    ) -> Result<bool, ComponentFault> {
        let AlgebraicLoop {
            memory,
            inputs,
            outputs,
            sources,
            firsts,
            ways,
            ..
        } = &mut *self.of;
        for (column, &input) in inputs.iter().enumerate() {
            let course = &self.courses.inputs[input];
            let is_live =
                |row: &usize| memory.is_due[firsts.partition_point(|(first, _)| first <= row) - 1];
            let is_fed = is_new(self.members, course, next) && !course.needs_substeps;
            let is_inside = is_fed && sources[column].as_ref().is_some_and(is_live);
            memory.factors[column] = if is_inside { course.factor } else { 0.0 };
            memory.given[column] = match is_fed {
                true => course.fed(reals),
                false => course.uncorrected(reals, now, 0.0).at(0.0),
            };
            memory.tried[column] = self.courses.values[input];
        }
        for (left, output) in memory.left.iter_mut().zip(outputs.iter()) {
            *left = reals[*output];
        }
        memory.found.copy_from_slice(&memory.left);
        memory.ways.copy_from_slice(ways);
        let values = [&memory.left, &memory.given, &memory.tried];
        if !values.into_iter().flatten().all(|value| value.is_finite()) {
            return Ok(false);
        }
        for place in 0..self.passes.len() {
            if self.of.memory.is_due[place] && self.of.memory.ways[place] == LoopWay::TrialStep {
                self.save(place)?;
            }
        }
        Ok(true)
    }

    /// Saves a unit, and makes a trial step with the inputs that it has.
    fn save(&mut self, place: usize) -> Result<(), ComponentFault> {
        let component = self.passes[place].component;
        if self.time + self.trial_length(place) > self.of.until {
            self.follow_last_line(place);
            return Ok(());
        }
        let unit = self.members[component].slot.unit();
        let kept = self.of.memory.saved[place].take();
        let saved = unit.save(kept).map_err(|fault| (component, fault))?;
        self.of.memory.saved[place] = Some(saved);
        if self.makes_trial(place, 0)? {
            let (first, _) = self.of.firsts[place];
            let LoopMemory {
                after_trial, pair, ..
            } = &mut self.of.memory;
            let rows = self.passes[place].outputs.len();
            after_trial[first..first + rows].copy_from_slice(&pair[0][..rows]);
        } else {
            self.follow_last_line(place);
        }
        Ok(())
    }

    /// Follows the line with the D of the last point.
    fn follow_last_line(&mut self, place: usize) {
        self.of.memory.ways[place] = LoopWay::Linear;
        let before: usize = self.passes[..place]
            .iter()
            .map(|pass| pass.gains.len())
            .sum();
        let gains = &mut self.passes[place].gains;
        let end = before + gains.len();
        gains.copy_from_slice(&self.of.record.last_gains[before..end]);
    }

    fn trial_length(&self, place: usize) -> f64 {
        let member = &self.members[self.passes[place].component];
        trial_length(self.size * member.every as f64, self.time)
    }

    /// Finds the outputs under the inputs that are tried.
    pub(super) fn try_inputs(&mut self) -> Result<(), ComponentFault> {
        for place in 0..self.passes.len() {
            if !self.of.memory.is_due[place] {
                continue;
            }
            match self.of.memory.ways[place] {
                LoopWay::ReadAgain => self.read_again(place)?,
                LoopWay::TrialStep => self.step_on_trial(place)?,
                LoopWay::Linear => self.follow_line(place),
            }
        }
        Ok(())
    }

    fn read_again(&mut self, place: usize) -> Result<(), ComponentFault> {
        let pass = &self.passes[place];
        let (row, column) = self.of.firsts[place];
        let LoopMemory { tried, found, .. } = &mut self.of.memory;
        let tried = &tried[column..column + pass.inputs.len()];
        let found = &mut found[row..row + pass.outputs.len()];
        let slot = &mut self.members[pass.component].slot;
        let set = slot.set_reals(&pass.input_handles, tried);
        let read = set.and_then(|()| slot.get_reals(&pass.output_handles, found));
        self.counters.set_calls += 1;
        self.counters.get_calls += 1;
        read.map_err(|fault| (pass.component, fault))
    }

    /// Adds the change by the tried inputs after a trial step to the outputs that the step left.
    fn step_on_trial(&mut self, place: usize) -> Result<(), ComponentFault> {
        if !self.makes_trial(place, 0)? {
            self.follow_line(place);
            return Ok(());
        }
        let (first, _) = self.of.firsts[place];
        let rows = self.passes[place].outputs.len();
        self.follow_line(place);
        let memory = &mut self.of.memory;
        let found = &mut memory.found[first..first + rows];
        let left = &memory.left[first..first + rows];
        let before = &memory.after_trial[first..first + rows];
        let after = &memory.pair[0][..rows];
        let is_still = before
            .iter()
            .zip(after)
            .all(|(before, after)| before == after);
        if is_still && found.iter().zip(left).any(|(found, left)| found != left) {
            // The unit computes its outputs in steps of a length of its own.
            return self.give_trials_up(place);
        }
        for (row, found) in found.iter_mut().enumerate() {
            *found = left[row] + (after[row] - before[row]);
        }
        Ok(())
    }

    /// Goes back to the saved state and follows the line from here on.
    fn give_trials_up(&mut self, place: usize) -> Result<(), ComponentFault> {
        self.of.memory.ways[place] = LoopWay::Linear;
        let component = self.passes[place].component;
        let unit = self.members[component].slot.unit();
        let saved = self.of.memory.saved[place].as_ref();
        let restored = saved.map_or(Ok(()), |saved| unit.restore(saved));
        restored.map_err(|fault| (component, fault))
    }

    /// The line through the outputs that the step left.
    fn follow_line(&mut self, place: usize) {
        let pass = &self.passes[place];
        let (first_row, first_column) = self.of.firsts[place];
        let columns = pass.inputs.len();
        let memory = &mut self.of.memory;
        for row in 0..pass.outputs.len() {
            let mut value = memory.left[first_row + row];
            for (column, input) in pass.inputs.iter().enumerate() {
                let change = memory.tried[first_column + column] - self.courses.values[*input];
                value += pass.gains[row * columns + column] * change;
            }
            memory.found[first_row + row] = value;
        }
    }

    /// A trial step from the saved state with the inputs that are tried; the outputs after it are those of the pair at `at`.
    /// From a step that the unit does not finish, it goes back and is followed by its line.
    fn makes_trial(&mut self, place: usize, at: usize) -> Result<bool, ComponentFault> {
        let (time, length) = (self.time, self.trial_length(place));
        let pass = &self.passes[place];
        let component = pass.component;
        let (_, column) = self.of.firsts[place];
        let memory = &mut self.of.memory;
        let Some(saved) = &memory.saved[place] else {
            return Ok(false);
        };
        let tried = &memory.tried[column..column + pass.inputs.len()];
        let outputs = &mut memory.pair[at][..pass.outputs.len()];
        let unit = self.members[component].slot.unit();
        let inputs = (&*pass.input_handles, tried);
        let made = outputs_after(
            unit,
            saved,
            (time, length),
            inputs,
            (&pass.output_handles, outputs),
        );
        self.counters.set_calls += 1;
        self.counters.get_calls += 1;
        if !matches!(made, Ok(true)) {
            memory.ways[place] = LoopWay::Linear;
        }
        made.map_err(|fault| (component, fault))
    }

    /// Finds D about the inputs that are tried: by the units where they give it, else by differences where `again`. That of a line
    /// is that of its point.
    pub(super) fn measure(&mut self, is_first: bool, again: bool) -> Result<(), ComponentFault> {
        for place in 0..self.passes.len() {
            if !self.of.memory.is_due[place] {
                continue;
            }
            let way = self.of.memory.ways[place];
            if self.passes[place].by_unit {
                if !is_first && way == LoopWay::Linear {
                    continue;
                }
                match self.read_derivatives(place) {
                    Err((component, fault))
                        if self.members[component]
                            .denied
                            .takes(|denied| &mut denied.directional, &fault) =>
                    {
                        // Gains that were measured at the start stay where nothing is read again.
                        self.passes[place].by_unit = false;
                        if way != LoopWay::Linear {
                            self.difference(place)?;
                        }
                    }
                    Err((_, fault))
                        if way == LoopWay::ReadAgain && fault.cause == Cause::Discard =>
                    {
                        self.difference(place)?;
                    }
                    read => read?,
                }
            } else if way != LoopWay::Linear && again {
                self.difference(place)?;
            }
        }
        Ok(())
    }

    fn read_derivatives(&mut self, place: usize) -> Result<(), ComponentFault> {
        let pass = &mut self.passes[place];
        let columns = pass.inputs.len();
        let column_values = &mut self.of.memory.pair[0][..pass.outputs.len()];
        let unit = self.members[pass.component].slot.unit();
        for (column, handle) in pass.input_handles.iter().enumerate() {
            self.counters.derivative_calls += 1;
            let known = std::slice::from_ref(handle);
            let given =
                unit.directional_derivative(&pass.output_handles, known, &[1.0], column_values);
            given.map_err(|fault| (pass.component, fault))?;
            for (row, gain) in column_values.iter().enumerate() {
                pass.gains[row * columns + column] = *gain;
            }
        }
        Ok(())
    }

    /// Central differences about each input.
    fn difference(&mut self, place: usize) -> Result<(), ComponentFault> {
        let (_, first) = self.of.firsts[place];
        let component = self.passes[place].component;
        let columns = self.passes[place].inputs.len();
        let graph = self.graph;
        let description = &graph.components[component].description;
        for column in 0..columns {
            let input = self.passes[place].inputs[column];
            let variable = &description.variables[graph.inputs[input].variable];
            let value = self.of.memory.tried[first + column];
            let difference = CentralDifference::about(value, variable, 1.0);
            for (at, point) in difference.points(1.0).into_iter().enumerate() {
                self.of.memory.tried[first + column] = point;
                let is_read = self.read_pair(place, at);
                self.of.memory.tried[first + column] = value;
                if !is_read? {
                    return Ok(());
                }
            }
            let [above, below] = &self.of.memory.pair;
            let pass = &mut self.passes[place];
            let responses = above.iter().zip(below).take(pass.outputs.len());
            for (row, (above, below)) in responses.enumerate() {
                pass.gains[row * columns + column] = difference.derivative(above - below, 1.0);
            }
        }
        self.set_tried(place)
    }

    /// Reads the outputs under the inputs that are tried into the pair at `at`.
    fn read_pair(&mut self, place: usize, at: usize) -> Result<bool, ComponentFault> {
        if self.of.memory.ways[place] == LoopWay::TrialStep {
            return self.makes_trial(place, at);
        }
        self.set_tried(place)?;
        let pass = &self.passes[place];
        let outputs = &mut self.of.memory.pair[at][..pass.outputs.len()];
        let slot = &mut self.members[pass.component].slot;
        self.counters.get_calls += 1;
        let read = slot.get_reals(&pass.output_handles, outputs);
        read.map_err(|fault| (pass.component, fault))?;
        Ok(true)
    }

    /// Sets the inputs that are tried on a unit that is read again.
    fn set_tried(&mut self, place: usize) -> Result<(), ComponentFault> {
        if self.of.memory.ways[place] != LoopWay::ReadAgain {
            return Ok(());
        }
        let pass = &self.passes[place];
        let (_, first) = self.of.firsts[place];
        let tried = &self.of.memory.tried[first..first + pass.inputs.len()];
        let slot = &mut self.members[pass.component].slot;
        self.counters.set_calls += 1;
        let set = slot.set_reals(&pass.input_handles, tried);
        set.map_err(|fault| (pass.component, fault))
    }

    /// Goes back to the inputs of the step that has ended.
    pub(super) fn put_back(&mut self) -> Result<(), ComponentFault> {
        let memory = &mut self.of.memory;
        for (tried, input) in memory.tried.iter_mut().zip(&self.of.inputs) {
            *tried = self.courses.values[*input];
        }
        memory.found.copy_from_slice(&memory.left);
        for place in 0..self.passes.len() {
            if self.of.memory.is_due[place] {
                self.set_tried(place)?;
            }
        }
        Ok(())
    }

    /// Takes the units back that have made trial steps.
    pub(super) fn end(&mut self) -> Result<(), ComponentFault> {
        for (place, pass) in self.passes.iter().enumerate() {
            let memory = &self.of.memory;
            let has_tried = memory.is_due[place] && memory.ways[place] == LoopWay::TrialStep;
            if let (true, Some(saved)) = (has_tried, &memory.saved[place]) {
                let unit = self.members[pass.component].slot.unit();
                unit.restore(saved)
                    .map_err(|fault| (pass.component, fault))?;
            }
        }
        Ok(())
    }
}
