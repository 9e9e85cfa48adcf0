//! Interface models while they run: the fast components make many exchanges in a macro-step with a
//! reduced model of the multibody component.

mod reading;

use std::sync::Arc;

use super::{Plant, Step, StepParts};
use crate::curve::Curve;
use crate::exchange::Exchange;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::interface_model::{FastInputs, InterfaceModel, InterfaceOrder, PassedForce, Prediction};

/// An interface model and the state of its reduced model. Vectors are by coordinate.
#[derive(Clone)]
pub(crate) struct RunningModel {
    /// Index in the graph.
    model: usize,
    /// The inputs of the fast components, in their order.
    inputs: Vec<FastInput>,
    has_started: bool,
    position: Vec<f64>,
    velocity: Vec<f64>,
    /// Position and velocity at the start of the macro-step in progress, or of the exchange.
    position_before: Vec<f64>,
    velocity_before: Vec<f64>,
    /// What the fast components were given at the start of the macro-step, s and v.
    start: (Vec<f64>, Vec<f64>),
    /// W (row by row) and b, newest first, as often as they are used late.
    masses: Vec<(Vec<f64>, Vec<f64>)>,
    force: Vec<f64>,
    acceleration: Vec<f64>,
    /// Displacement that the fed velocities add up to.
    fed_displacement: Vec<f64>,
    /// How far on its way over an exchange each fed velocity is on average.
    progress: Vec<f64>,
    displacement_error: Vec<f64>,
    /// Velocity that is added to what is fed, against the displacement error.
    feedback: Vec<f64>,
    /// Mean efforts over the macro-step, by effort.
    means: Vec<f64>,
    first_efforts: Vec<f64>,
    prediction: Prediction,
    force_rate: Vec<f64>,
    stiffness: Vec<f64>,
}

/// An input of a fast component.
#[derive(Debug, Clone, Copy)]
struct FastInput {
    input: usize,
    drive: Drive,
    /// Its course over the macro-step, where it comes from outside.
    planned: Curve,
    /// What the component used first in the macro-step.
    first: f64,
}

/// What an input of a fast component is fed by.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Drive {
    Position(usize),
    Velocity(usize),
    /// A fast component of the same interface model, at each exchange.
    Neighbour,
    /// Anything else, at the communication points.
    Outside,
}

impl RunningModel {
    fn new(model: usize, graph: &Graph) -> Self {
        let described = &graph.interface_models[model];
        let count = described.coordinates.len();
        let zeros = || vec![0.0; count];
        let mass = || (vec![0.0; count * count], zeros());
        let inputs = described.fast.iter();
        let inputs = inputs.flat_map(|fast| graph.components[*fast].inputs.clone());
        let input = |input: usize| FastInput {
            input,
            drive: drive(described, graph, input),
            planned: Curve::default(),
            first: 0.0,
        };
        Self {
            model,
            inputs: inputs.map(input).collect(),
            has_started: false,
            position: zeros(),
            velocity: zeros(),
            position_before: zeros(),
            velocity_before: zeros(),
            start: (zeros(), zeros()),
            masses: vec![mass(); described.schedule.age() + 1],
            force: zeros(),
            acceleration: zeros(),
            fed_displacement: zeros(),
            progress: vec![1.0; count],
            displacement_error: zeros(),
            feedback: zeros(),
            means: vec![0.0; described.efforts.len()],
            first_efforts: vec![0.0; described.efforts.len()],
            prediction: Prediction::new(count),
            force_rate: zeros(),
            stiffness: zeros(),
        }
    }
}

fn drive(model: &InterfaceModel, graph: &Graph, input: usize) -> Drive {
    let source = graph.inputs[input].source;
    let mut coordinates = model.coordinates.iter();
    if let Some(found) = coordinates.position(|c| c.velocity == source) {
        return Drive::Velocity(found);
    }
    let mut coordinates = model.coordinates.iter();
    if let Some(found) = coordinates.position(|c| c.position == Some(source)) {
        return Drive::Position(found);
    }
    if model.fast.contains(&graph.outputs[source].component) {
        Drive::Neighbour
    } else {
        Drive::Outside
    }
}

impl Plant {
    pub(super) fn prepare_interface_models(&mut self) {
        let graph = Arc::clone(&self.graph);
        let models = &graph.interface_models;
        let is_fast = |component: &usize| models.iter().any(|m| m.fast.contains(component));
        self.macro_stepped = (0..self.members.len()).filter(|c| !is_fast(c)).collect();
        for (index, model) in models.iter().enumerate() {
            let running = RunningModel::new(index, &graph);
            for &fast in &model.fast {
                self.members[fast].substeps /= model.exchanges;
            }
            if model.schedule.inputs == FastInputs::Linear {
                let driven = |input: &&FastInput| {
                    matches!(input.drive, Drive::Position(_) | Drive::Velocity(_))
                };
                for input in running.inputs.iter().filter(driven) {
                    let state = &mut self.states[input.input];
                    state.degree = state.degree.max(1);
                }
            }
            self.interface_models.push(running);
        }
    }

    /// A macro-step of a system with interface models.
    pub(super) fn step_with_interface_models(&mut self, step: &Step) -> Result<(), Fault> {
        let mut models = std::mem::take(&mut self.interface_models);
        let result = self.step_models(&mut models, step);
        self.interface_models = models;
        result?;
        self.with_all(|plant, all| plant.settle(all, step))
    }

    fn step_models(&mut self, models: &mut [RunningModel], step: &Step) -> Result<(), Fault> {
        let graph = Arc::clone(&self.graph);
        let outside = std::mem::take(&mut self.macro_stepped);
        let result = self.step_both_sides(models, &outside, &graph, step);
        self.macro_stepped = outside;
        result
    }

    fn step_both_sides(
        &mut self,
        models: &mut [RunningModel],
        outside: &[usize],
        graph: &Graph,
        step: &Step,
    ) -> Result<(), Fault> {
        let now = graph.clock.duration(step.from);
        for running in &mut *models {
            self.begin_model(running, step)?;
        }
        // All inputs are settled before the fast side publishes anything of this step.
        for &component in outside {
            if self.members[component].is_due(step.index) {
                self.plan(component, step, now);
            }
        }
        for running in &mut *models {
            self.step_fast_side(running, step)?;
            self.impose_means(running, graph);
        }
        for &component in outside {
            if self.members[component].is_due(step.index) {
                self.give_inputs(component, step)?;
            }
        }
        if !graph.signal_wires.is_empty() {
            self.feed_signals(outside, step)?;
        }
        self.advance(outside, step)?;
        self.publish_due(outside, step)
    }

    /// Reads what the multibody component has published, and settles where the reduced model starts.
    fn begin_model(&mut self, running: &mut RunningModel, step: &Step) -> Result<(), Fault> {
        let graph = Arc::clone(&self.graph);
        let model = &graph.interface_models[running.model];
        let schedule = &model.schedule;
        self.read_forces(running, model);
        self.read_mass(running, model, step)?;
        if !running.has_started && schedule.inputs == FastInputs::Linear {
            self.find_progress(running);
        }
        let is_free = schedule.order == InterfaceOrder::Pipelined && running.has_started;
        for (index, coordinate) in model.coordinates.iter().enumerate() {
            let position = coordinate
                .position
                .map_or(0.0, |output| self.outputs[output]);
            if !is_free {
                running.position[index] = position;
                running.velocity[index] = self.outputs[coordinate.velocity];
            }
            if !running.has_started {
                running.fed_displacement[index] = position;
            }
            let known_before = running.displacement_error[index];
            running.displacement_error[index] = position - running.fed_displacement[index];
            let error = if is_free {
                known_before
            } else {
                running.displacement_error[index]
            };
            running.feedback[index] = schedule.displacement_correction * error / step.size;
        }
        running.start.0.copy_from_slice(&running.position);
        running.start.1.copy_from_slice(&running.velocity);
        if is_free {
            self.read_fast_outputs_again(running, model, step)?;
            self.read_forces(running, model);
        }
        if schedule.force == PassedForce::Predicted {
            self.predict_means(running, model, step);
        }
        running.has_started = true;
        self.plan_fast_inputs(running, model, step)
    }

    /// Settles what the fed velocities are on average, from what the components are given that take
    /// them; where they differ, in the middle of them.
    fn find_progress(&self, running: &mut RunningModel) {
        for (coordinate, progress) in running.progress.iter_mut().enumerate() {
            let (mut sum, mut count) = (0.0, 0.0);
            for fast in &running.inputs {
                if fast.drive == Drive::Velocity(coordinate) {
                    let component = self.states[fast.input].component;
                    sum += self.members[component].mean_progress();
                    count += 1.0;
                }
            }
            *progress = if count > 0.0 { sum / count } else { 1.0 };
        }
    }

    fn plan_fast_inputs(
        &mut self,
        running: &mut RunningModel,
        model: &InterfaceModel,
        step: &Step,
    ) -> Result<(), Fault> {
        let now = self.graph.clock.duration(step.from);
        for fast in &mut running.inputs {
            if fast.drive == Drive::Outside {
                let state = &self.states[fast.input];
                fast.planned = state.uncorrected(&self.outputs, now, step.size);
            }
        }
        if self.graph.signal_wires.is_empty() {
            Ok(())
        } else {
            self.feed_signals(&model.fast, step)
        }
    }

    /// Lets the fast components that declare it safe compute their outputs from the reduced model's
    /// motion at the start of the macro-step.
    fn read_fast_outputs_again(
        &mut self,
        running: &mut RunningModel,
        model: &InterfaceModel,
        step: &Step,
    ) -> Result<(), Fault> {
        for fast in &running.inputs {
            let state = &self.states[fast.input];
            let value = match fast.drive {
                Drive::Position(index) => running.position[index],
                Drive::Velocity(index) => running.velocity[index],
                Drive::Neighbour | Drive::Outside => self.outputs[state.source],
            };
            self.inputs[fast.input] = value * state.factor + state.offset;
        }
        for &fast in &model.fast {
            if self.modes[fast] != Exchange::Fresh {
                continue;
            }
            let member = &mut self.members[fast];
            let inputs = &self.inputs[member.inputs.clone()];
            let outputs = &mut self.outputs[member.outputs.clone()];
            self.counters.set_calls += 1;
            self.counters.get_calls += 1;
            let set = member.slot.set_reals(&member.input_handles, inputs);
            let read = set.and_then(|()| member.slot.get_reals(&member.output_handles, outputs));
            read.map_err(|fault| self.fault(fast, step, fault))?;
        }
        Ok(())
    }

    /// The fast side's macro-step: exchanges with the reduced model every d.
    fn step_fast_side(&mut self, running: &mut RunningModel, step: &Step) -> Result<(), Fault> {
        let graph = Arc::clone(&self.graph);
        let model = &graph.interface_models[running.model];
        let takes_means = model.schedule.force == PassedForce::Mean;
        let exchanges = model.exchanges;
        if takes_means {
            self.begin_means(running, model);
        }
        let parts = StepParts::of(step, exchanges, &graph.clock);
        for exchange in 0..exchanges {
            let part = parts.part(exchange);
            let d = part.size;
            self.move_reduced_model(running, model, d);
            self.feed_fast_side(running, model, f64::from(exchange) * d, &part)?;
            self.advance(&model.fast, &part)?;
            self.publish_due(&model.fast, &part)?;
            self.check_finite(&part)?;
            if exchange == 0 {
                for fast in &mut running.inputs {
                    fast.first = self.states[fast.input].curve.at(0.0);
                }
            }
            self.read_forces(running, model);
            self.forget_feedback(running, model, &part)?;
            if takes_means {
                let weight = if exchange + 1 == exchanges { 0.5 } else { 1.0 };
                self.add_to_means(running, model, weight / f64::from(exchanges));
            }
            if self.terminated.is_some() {
                break;
            }
        }
        self.end_fast_side(running, model, step);
        Ok(())
    }

    /// Means by the trapezoidal rule, as differences to the first values, so that a constant is its
    /// own mean to the last digit.
    fn begin_means(&self, running: &mut RunningModel, model: &InterfaceModel) {
        let means = running.means.iter_mut().zip(&mut running.first_efforts);
        for ((mean, first), effort) in means.zip(&model.efforts) {
            *first = self.outputs[effort.output];
            *mean = *first;
        }
    }

    fn add_to_means(&self, running: &mut RunningModel, model: &InterfaceModel, weight: f64) {
        let means = running.means.iter_mut().zip(&running.first_efforts);
        for ((mean, first), effort) in means.zip(&model.efforts) {
            *mean += weight * (self.outputs[effort.output] - first);
        }
    }

    /// w += d·(b + W·λ)/f, s += d·w; and the displacement that is fed.
    fn move_reduced_model(&self, running: &mut RunningModel, model: &InterfaceModel, d: f64) {
        let count = model.coordinates.len();
        let Some((w, b)) = running.masses.last() else {
            return;
        };
        running.position_before.copy_from_slice(&running.position);
        running.velocity_before.copy_from_slice(&running.velocity);
        for row in 0..count {
            let of_forces: f64 = w[row * count..][..count]
                .iter()
                .zip(&running.force)
                .map(|(w, force)| w * force)
                .sum();
            let acceleration = (b[row] + of_forces) / model.schedule.mass_factor;
            running.velocity[row] += d * acceleration;
            running.position[row] += d * running.velocity[row];
            let (before, after) = (running.velocity_before[row], running.velocity[row]);
            let rest = 1.0 - running.progress[row];
            let fed = after - rest * (after - before);
            running.fed_displacement[row] += d * (fed + running.feedback[row]);
        }
    }

    /// Gives the fast components their inputs for an exchange that starts `since` the macro-step's start, s.
    fn feed_fast_side(
        &mut self,
        running: &mut RunningModel,
        model: &InterfaceModel,
        since: f64,
        part: &Step,
    ) -> Result<(), Fault> {
        let is_linear = model.schedule.inputs == FastInputs::Linear;
        for fast in &running.inputs {
            let state = &self.states[fast.input];
            let moves = is_linear && self.members[state.component].follows_curves;
            let course = |before: f64, after: f64| {
                let curve = if moves {
                    Curve::line(before, (after - before) / part.size)
                } else {
                    Curve::constant(after)
                };
                curve
                    .scaled(state.factor)
                    .plus(&Curve::constant(state.offset))
            };
            let curve = match fast.drive {
                Drive::Position(i) => course(running.position_before[i], running.position[i]),
                Drive::Velocity(i) => {
                    let added = running.feedback[i];
                    course(
                        running.velocity_before[i] + added,
                        running.velocity[i] + added,
                    )
                }
                Drive::Neighbour => Curve::constant(state.fed(&self.outputs)),
                Drive::Outside => fast.planned.shifted(since),
            };
            self.states[fast.input].curve = curve;
            self.inputs[fast.input] = curve.coefficients[0];
        }
        for &fast in &model.fast {
            self.give_inputs(fast, part)?;
        }
        Ok(())
    }

    /// The courses of the fast inputs over the whole macro-step, for the ledger; and, where the
    /// reduced model ran on by itself, the shift to where the multibody component really was.
    fn end_fast_side(&mut self, running: &mut RunningModel, model: &InterfaceModel, step: &Step) {
        for fast in &running.inputs {
            let last = self.inputs[fast.input];
            self.states[fast.input].curve =
                Curve::line(fast.first, (last - fast.first) / step.size);
        }
        if model.schedule.order != InterfaceOrder::Pipelined {
            return;
        }
        for (index, coordinate) in model.coordinates.iter().enumerate() {
            if let Some(output) = coordinate.position {
                running.position[index] += self.outputs[output] - running.start.0[index];
            }
            running.velocity[index] += self.outputs[coordinate.velocity] - running.start.1[index];
        }
    }

    /// Gives the multibody component means in place of the planned efforts.
    fn impose_means(&mut self, running: &RunningModel, graph: &Graph) {
        let model = &graph.interface_models[running.model];
        if model.schedule.force == PassedForce::Hold {
            return;
        }
        for (mean, effort) in running.means.iter().zip(&model.efforts) {
            let state = &mut self.states[effort.input];
            let value = mean * state.factor + state.offset;
            state.curve = Curve::constant(value);
            self.inputs[effort.input] = value;
        }
    }
}
