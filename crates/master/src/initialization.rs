//! Consistent values at the start: outputs travel to inputs in the order of their dependencies,
//! algebraic loops are iterated.

use nalgebra::{DMatrix, DVector};

use crate::exchange::{Pass, Stage, initial_stages};
use crate::fault::{Fault, RunError, UnitFault};
use crate::plant::{Plant, Step};
use crate::unit::{Causality, Period, Value};

/// Relative change below which the values of a loop count as settled.
const SETTLED: f64 = 1e-12;
/// Relative change that is accepted where rounding keeps a loop from settling further.
const ACCEPTED: f64 = 1e-8;
const FIXED_POINT_ITERATIONS: usize = 50;
const NEWTON_ITERATIONS: usize = 25;

/// Something worth telling the user that does not stop the run.
pub(crate) type Notes = Vec<String>;

impl Plant {
    /// Brings all units from their start values to the first communication point.
    pub(crate) fn initialize(&mut self, period: &Period) -> Result<Notes, RunError> {
        let start = Step {
            index: 0,
            from: 0,
            length: 0,
            time: period.start,
            size: 0.0,
        };
        for component in 0..self.members.len() {
            self.call(component, &start, |unit| unit.setup_experiment(period))?;
        }
        self.set_start_values(&start, false)?;
        for component in 0..self.members.len() {
            self.call(component, &start, |unit| unit.enter_initialization_mode())?;
        }
        self.set_start_values(&start, true)?;
        self.propagate(&start)?;
        let (gains, notes) = self.choose_exchange(&start)?;
        for component in 0..self.members.len() {
            self.call(component, &start, |unit| unit.exit_initialization_mode())?;
        }
        self.read_all(&start)?;
        let loops = self.prepare_exchange(&gains);
        let mut notes = notes;
        notes.extend(loops.iter().map(|members| {
            format!(
                "{} form an algebraic loop and are exchanged stale",
                self.names(members)
            )
        }));
        self.with_all(|plant, all| plant.read_slopes(all, &start, 0))
            .map_err(RunError::Fault)?;
        self.with_all(|plant, all| plant.observe(all, 0, 0.0));
        Ok(notes)
    }

    pub(crate) fn call<T>(
        &mut self,
        component: usize,
        step: &Step,
        call: impl FnOnce(&mut dyn crate::unit::Unit) -> Result<T, Box<UnitFault>>,
    ) -> Result<T, RunError> {
        let result = call(self.members[component].slot.unit());
        result.map_err(|fault| RunError::Fault(self.fault(component, step, fault)))
    }

    /// Inputs get their start values in Initialization Mode, everything else before it, but after
    /// `fmi2SetupExperiment`: FMUs of 20-sim go back to their default values in that call (C-31).
    fn set_start_values(&mut self, step: &Step, inputs: bool) -> Result<(), RunError> {
        let graph = std::sync::Arc::clone(&self.graph);
        for (component, node) in graph.components.iter().enumerate() {
            for (variable, value) in &node.start_values {
                let described = &node.description.variables[*variable];
                if (described.causality == Causality::Input) == inputs {
                    self.call(component, step, |unit| {
                        unit.set_value(described.handle, value)
                    })?;
                }
            }
        }
        Ok(())
    }

    fn propagate(&mut self, step: &Step) -> Result<(), RunError> {
        self.propagate_signals(step)?;
        let stages = initial_stages(&self.graph);
        for stage in &stages {
            match stage {
                Stage::Pass(pass) => self.evaluate(pass, step)?,
                Stage::Loop(passes) => self.iterate(passes, step)?,
            }
        }
        // Inputs on which no output depends have not been set yet.
        for component in 0..self.members.len() {
            let range = self.members[component].inputs.clone();
            self.set_inputs(component, &range.collect::<Vec<_>>(), step)?;
        }
        self.propagate_signals(step)
    }

    /// Discrete outputs may depend on discrete inputs: as many rounds as a chain can be long.
    fn propagate_signals(&mut self, step: &Step) -> Result<(), RunError> {
        let graph = std::sync::Arc::clone(&self.graph);
        for _ in 0..graph.components.len() {
            let before = self.signals.clone();
            for (index, signal) in graph.signals.iter().enumerate() {
                let value = self.read(signal.component, signal.variable);
                self.signals[index] = value
                    .map_err(|fault| RunError::Fault(self.fault(signal.component, step, fault)))?;
            }
            for wire in &graph.signal_wires {
                let node = &graph.components[wire.component];
                if node.propagate_initial_inputs {
                    let value = self.signals[wire.source].clone();
                    let handle = node.description.variables[wire.variable].handle;
                    self.call(wire.component, step, |unit| unit.set_value(handle, &value))?;
                }
            }
            if before == self.signals {
                break;
            }
        }
        Ok(())
    }

    fn set_inputs(
        &mut self,
        component: usize,
        inputs: &[usize],
        step: &Step,
    ) -> Result<(), RunError> {
        let graph = std::sync::Arc::clone(&self.graph);
        for &input in inputs {
            let handle = graph.components[component].description.variables
                [graph.inputs[input].variable]
                .handle;
            if graph.components[component].propagate_initial_inputs {
                let value = self.states[input].fed(&self.outputs);
                self.call(component, step, |unit| unit.set_reals(&[handle], &[value]))?;
                self.inputs[input] = value;
            } else {
                self.inputs[input] =
                    self.kept_input(component, graph.inputs[input].variable, step)?;
            }
        }
        Ok(())
    }

    /// The value of an input that keeps its start value. FMI 2.0 §4.2.4 lets outputs only be read in
    /// Initialization Mode.
    fn kept_input(
        &mut self,
        component: usize,
        variable: usize,
        step: &Step,
    ) -> Result<f64, RunError> {
        let node = &self.graph.components[component];
        let set = node.start_values.iter().find(|(set, _)| *set == variable);
        if let Some((_, Value::Real(value))) = set {
            return Ok(*value);
        }
        let described = &node.description.variables[variable];
        if let Some(start) = described.start {
            return Ok(start);
        }
        let (handle, mut value) = (described.handle, [0.0]);
        self.call(component, step, |unit| {
            unit.get_reals(&[handle], &mut value)
        })?;
        Ok(value[0])
    }

    fn evaluate(&mut self, pass: &Pass, step: &Step) -> Result<(), RunError> {
        self.set_inputs(pass.component, &pass.inputs, step)?;
        for &output in &pass.outputs {
            let handle = self.members[pass.component].output_handles
                [output - self.members[pass.component].outputs.start];
            let mut value = [0.0];
            self.call(pass.component, step, |unit| {
                unit.get_reals(&[handle], &mut value)
            })?;
            self.outputs[output] = value[0];
        }
        Ok(())
    }

    /// Fixed-point iteration; where it does not settle, Newton's method with differences.
    fn iterate(&mut self, passes: &[Pass], step: &Step) -> Result<(), RunError> {
        let unknowns: Vec<usize> = passes
            .iter()
            .flat_map(|pass| pass.outputs.iter().copied())
            .collect();
        for pass in passes {
            // A first guess: the outputs as the start values of the inputs make them.
            self.read_outputs(pass.component, step)?;
        }
        for _ in 0..FIXED_POINT_ITERATIONS {
            if self.round(passes, &unknowns, step)? <= SETTLED {
                return Ok(());
            }
        }
        let change = self.newton(passes, &unknowns, step)?;
        if change <= ACCEPTED {
            return Ok(());
        }
        Err(RunError::InitialLoop {
            members: self.names(&unknowns),
            change,
        })
    }

    /// One round of the fixed-point iteration; returns the largest relative change.
    fn round(&mut self, passes: &[Pass], unknowns: &[usize], step: &Step) -> Result<f64, RunError> {
        let before: Vec<f64> = unknowns
            .iter()
            .map(|output| self.outputs[*output])
            .collect();
        for pass in passes {
            self.evaluate(pass, step)?;
        }
        let after = unknowns.iter().map(|output| self.outputs[*output]);
        let change = |(before, after): (&f64, f64)| {
            let change = (after - before).abs() / before.abs().max(after.abs()).max(1e-300);
            if change.is_nan() {
                f64::INFINITY
            } else {
                change
            }
        };
        Ok(before.iter().zip(after).map(change).fold(0.0, f64::max))
    }

    /// The loop's outputs as functions of the loop's outputs: y → g(y), all set before any is read.
    fn image(
        &mut self,
        passes: &[Pass],
        unknowns: &[usize],
        at: &DVector<f64>,
        step: &Step,
    ) -> Result<DVector<f64>, RunError> {
        let mut image = DVector::zeros(unknowns.len());
        let mut position = 0;
        for pass in passes {
            for (output, value) in unknowns.iter().zip(at.iter()) {
                self.outputs[*output] = *value;
            }
            self.evaluate(pass, step)?;
            for &output in &pass.outputs {
                image[position] = self.outputs[output];
                position += 1;
            }
        }
        Ok(image)
    }

    fn newton(
        &mut self,
        passes: &[Pass],
        unknowns: &[usize],
        step: &Step,
    ) -> Result<f64, RunError> {
        let size = unknowns.len();
        let finite = |value: f64| if value.is_finite() { value } else { 0.0 };
        let mut at = DVector::from_iterator(
            size,
            unknowns.iter().map(|output| finite(self.outputs[*output])),
        );
        if at.amax() > 1e12 {
            at.fill(0.0);
        }
        let mut change = f64::INFINITY;
        for _ in 0..NEWTON_ITERATIONS {
            let residual = self.image(passes, unknowns, &at, step)? - &at;
            let mut jacobian = DMatrix::zeros(size, size);
            for column in 0..size {
                let shift = 1e-6 * at[column].abs().max(1.0);
                let mut moved = at.clone();
                moved[column] += shift;
                let difference =
                    (self.image(passes, unknowns, &moved, step)? - &moved - &residual) / shift;
                jacobian.set_column(column, &difference);
            }
            let Some(correction) = jacobian.lu().solve(&residual) else {
                break;
            };
            at -= &correction;
            let relative = |(c, y): (&f64, &f64)| c.abs() / y.abs().max(1e-300);
            change = correction
                .iter()
                .zip(at.iter())
                .map(relative)
                .fold(0.0, f64::max);
            if correction.amax() == 0.0 || change <= SETTLED {
                break;
            }
        }
        let settled = self.image(passes, unknowns, &at, step)?;
        for (output, value) in unknowns.iter().zip(settled.iter()) {
            self.outputs[*output] = *value;
        }
        let error = (settled - &at).amax() / at.amax().max(1e-300);
        Ok(if change <= ACCEPTED {
            error.min(change)
        } else {
            error
        })
    }

    fn read_outputs(&mut self, component: usize, step: &Step) -> Result<(), RunError> {
        let member = &mut self.members[component];
        let result = member.slot.get_reals(
            &member.output_handles,
            &mut self.outputs[member.outputs.clone()],
        );
        result.map_err(|fault| RunError::Fault(self.fault(component, step, fault)))
    }

    fn read_all(&mut self, step: &Step) -> Result<(), RunError> {
        for component in 0..self.members.len() {
            if !self.members[component].outputs.is_empty() {
                self.read_outputs(component, step)?;
            }
        }
        self.check_finite(step).map_err(RunError::Fault)
    }

    fn names(&self, outputs: &[usize]) -> String {
        let names: Vec<_> = outputs
            .iter()
            .map(|output| self.graph.output_name(*output))
            .collect();
        names.join(", ")
    }
}

/// Sets one variable of a running component.
pub(crate) fn write_value(
    plant: &mut Plant,
    component: usize,
    variable: usize,
    value: &Value,
    step: &Step,
) -> Result<(), Fault> {
    let handle = plant.graph.components[component].description.variables[variable].handle;
    let result = plant.members[component].slot.set_value(handle, value);
    result.map_err(|fault| plant.fault(component, step, fault))
}
