//! Algebraic loops between steps: outputs that depend on each other at one instant, an output that feeds its own input, too.
//!
//! With the outputs y = G(u) of the units and the inputs u = K·y + o of the loop, Newton's method solves
//! (I − D·K)·Δ = D·(K·G(u) + o − u) for the change Δ of G(u), from the inputs of the step that has ended: those are
//! the solution of the last point, or the start values. D is ∂G/∂u. Units whose outputs can be found under other inputs are
//! asked until equations and units agree; of the others, G is the line through the outputs that the step left, so
//! one iteration solves it, and each communication point makes the next one (FMI 2.0 §4.2.4 forbids to read outputs
//! after inputs were set without a step between).
//!
//! Where units communicate at different rates, the outputs that are due are solved; the others stay as they were published.

use std::ops::Range;

use super::linear_equations::{factor, solve};
use super::loop_units::{LoopUnits, is_new, trial_length};
use crate::fault::{Cause, RunError, UnitFault};
use crate::figure;
use crate::graph::Graph;
use crate::state::{
    AlgebraicLoop, LoopMemory, LoopRecord, LoopWay, Pass, Passes, Signals, SystemState,
};
use crate::state_check;
use crate::step::Step;

/// A fault of a component.
pub(super) type ComponentFault = (usize, Box<UnitFault>);

/// Iterations at a point. Newton's method doubles the digits with each near a solution: 6 are many from the last point's.
const ITERATIONS: u32 = 25;
/// Residual of an output, relative to the terms of its equation, that counts as none: some thousand last digits.
const CONVERGED: f64 = 1e-12;
/// Residual that is accepted where a unit's own tolerance keeps the iteration from getting further: half of the digits.
const ACCEPTED: f64 = 1e-8;
/// Residual, relative to the largest magnitude of the output so far, above which a loop of which each point makes one iteration
/// counts as not solved. A choice: it shows in no plot, and a macro-step of half the size leaves a quarter.
const NOTICED: f64 = 1e-3;
/// D is measured again where an iteration leaves more than this part of the residual: one with the right D leaves its square.
const SLOW: f64 = 0.1;
/// Newton's method has diverged where so many changes, one after the other, are each larger than the one before: near a solution
/// each is the square of it, and the first ones from far away may grow.
const GROWTH: u32 = 10;
/// An output of so many times its largest magnitude so far has diverged. A choice.
const DIVERGED: f64 = 1e12;

/// Prepares the loops, whose passes stand side by side. Units that are to make trial steps are tried at the point of `step`.
pub(super) fn prepare_loops(
    state: &mut SystemState,
    loops: Vec<Range<usize>>,
    step: &Step,
    until: f64,
) -> Result<(), RunError> {
    for passes in loops {
        let mut ways = Vec::with_capacity(passes.len());
        for pass in passes.clone() {
            ways.push(way_of(state, pass, step, until)?);
        }
        let prepared = prepare(state, passes, ways, until);
        state.exchange.loops.push(prepared);
    }
    Ok(())
}

fn way_of(
    state: &mut SystemState,
    pass: usize,
    step: &Step,
    until: f64,
) -> Result<LoopWay, RunError> {
    let Pass {
        component,
        mode,
        is_smooth,
        ..
    } = state.exchange.passes[pass];
    if mode.facts().reads_again {
        return Ok(LoopWay::ReadAgain);
    }
    let capabilities = state.graph.components[component].description.capabilities;
    let member = &mut state.units.members[component];
    let rate = state.graph.components[component].rate;
    let length = trial_length(state.graph.macro_step * rate.ratio(), step.time);
    let may_try = is_smooth && capabilities.save_and_restore && capabilities.variable_step;
    if !may_try || step.time + length > until {
        return Ok(LoopWay::Linear);
    }
    let outputs = member.output_handles.clone();
    match state_check::check(member.slot.unit(), &outputs, step.time, length) {
        Ok(()) => Ok(LoopWay::TrialStep),
        Err(fault) if fault.cause == Cause::Unsupported => Ok(LoopWay::Linear),
        Err(fault) => Err(RunError::Fault(state.graph.fault(component, step, fault))),
    }
}

/// A loop with the memory of its solver.
fn prepare(
    state: &SystemState,
    passes: Range<usize>,
    ways: Vec<LoopWay>,
    until: f64,
) -> AlgebraicLoop {
    let graph = &state.graph;
    let (mut outputs, mut inputs, mut firsts) = (Vec::new(), Vec::new(), Vec::new());
    let of_loop = &state.exchange.passes[passes.clone()];
    for pass in of_loop {
        firsts.push((outputs.len(), inputs.len()));
        outputs.extend(&pass.outputs);
        inputs.extend(&pass.inputs);
    }
    let source = |input: &usize| {
        let source = graph.inputs[*input].source;
        outputs.iter().position(|output| *output == source)
    };
    let nominal = |output: &usize| graph.nominal_output(*output).unwrap_or(0.0);
    let (rows, columns) = (outputs.len(), inputs.len());
    let tallest = of_loop.iter().map(|pass| pass.outputs.len()).max();
    let gains = of_loop.iter().flat_map(|pass| pass.gains.iter().copied());
    let last_gains = gains.collect();
    let values = |size: usize| vec![0.0; size];
    let magnitudes: Vec<f64> = outputs.iter().map(nominal).collect();
    AlgebraicLoop {
        passes,
        sources: inputs.iter().map(source).collect(),
        until,
        memory: LoopMemory {
            tried: values(columns),
            given: values(columns),
            factors: values(columns),
            left: values(rows),
            found: values(rows),
            solved: values(rows),
            change: values(rows),
            after_trial: values(rows),
            best: values(columns),
            ways: ways.clone(),
            matrix: values(rows * rows),
            terms: values(rows * rows),
            order: vec![0; rows],
            right: values(rows),
            pair: [values(tallest.unwrap_or(0)), values(tallest.unwrap_or(0))],
            is_due: vec![false; ways.len()],
            saved: ways.iter().map(|_| None).collect(),
        },
        record: LoopRecord {
            magnitudes,
            last_gains,
            last_changes: values(columns),
            ..LoopRecord::default()
        },
        ways,
        outputs,
        inputs,
        firsts,
    }
}

/// Solves the loop at the communication point at which macro-step `next` starts, `now` s after the start, and
/// publishes the outputs.
pub(super) fn solve_loop(
    state: &mut SystemState,
    index: usize,
    step: &Step,
    now: f64,
) -> Result<(), ComponentFault> {
    let SystemState {
        graph,
        units,
        courses,
        signals,
        exchange: Passes { passes, loops, .. },
        counters,
        ..
    } = state;
    let algebraic_loop = &mut loops[index];
    let of_loop = algebraic_loop.passes.clone();
    for output in &algebraic_loop.outputs {
        signals.exchanged[*output] = 0.0;
    }
    let next = step.index + 1;
    let due = algebraic_loop.memory.is_due.iter_mut();
    for (due, pass) in due.zip(&passes[of_loop.clone()]) {
        *due = units.members[pass.component].is_due(next);
    }
    if !algebraic_loop.memory.is_due.contains(&true) {
        return Ok(());
    }
    for &input in &algebraic_loop.inputs {
        let course = &mut courses.inputs[input];
        if is_new(&units.members, course, next) && course.needs_substeps {
            course.observe(&signals.reals, f64::NAN, now);
        }
    }
    let graph: &Graph = graph;
    let mut solver = Solver {
        units: LoopUnits {
            graph,
            members: &mut units.members,
            courses,
            counters,
            passes: &mut passes[of_loop],
            of: algebraic_loop,
            time: step.end(&graph.clock),
            size: step.size,
        },
    };
    if !solver.units.begin(&signals.reals, next, now)? {
        return Ok(());
    }
    let result = solver.iterate();
    solver.units.end()?;
    let is_solved = result?;
    solver.record(is_solved);
    solver.publish(signals);
    Ok(())
}

/// The iteration at a point.
struct Solver<'a> {
    units: LoopUnits<'a>,
}

impl Solver<'_> {
    /// Finds outputs and inputs that agree; returns whether there are some.
    fn iterate(&mut self) -> Result<bool, ComponentFault> {
        self.units.measure(true, true)?;
        self.estimate_last_residual();
        let (mut least, mut last) = (f64::INFINITY, f64::INFINITY);
        let (mut size, mut has_grown) = (0.0, 0);
        for _ in 0..ITERATIONS {
            if !self.make_linear_step() {
                break;
            }
            let last_size = std::mem::replace(&mut size, self.size_of_change());
            has_grown = if size > last_size { has_grown + 1 } else { 0 };
            self.refuse_divergence(has_grown)?;
            self.units.try_inputs()?;
            let (residual, _) = self.residual();
            if residual < least {
                let memory = &mut self.units.of.memory;
                memory.best.copy_from_slice(&memory.tried);
            }
            least = least.min(residual);
            if residual <= CONVERGED {
                return Ok(true);
            }
            let is_slow = residual > SLOW * last;
            if is_slow && residual <= ACCEPTED {
                return Ok(true);
            }
            self.units.measure(false, is_slow)?;
            last = residual;
        }
        self.return_to_best(least)
    }

    /// The inputs with the least residual, or those of the step that has ended; whether that is a solution.
    fn return_to_best(&mut self, least: f64) -> Result<bool, ComponentFault> {
        let (residual, output) = if least == f64::INFINITY {
            let ignored = self.ignored();
            self.units.put_back()?;
            ignored
        } else {
            let memory = &mut self.units.of.memory;
            memory.tried.copy_from_slice(&memory.best);
            self.units.try_inputs()?;
            self.residual()
        };
        let record = &mut self.units.of.record;
        if residual > ACCEPTED && residual > record.residual {
            (record.residual, record.output) = (residual, output);
            record.time = self.units.time;
        }
        Ok(residual <= ACCEPTED)
    }

    /// The largest change of an output by new inputs alone, which outputs that stay as they are ignore; relative.
    fn ignored(&self) -> (f64, usize) {
        let of = &*self.units.of;
        let (mut worst, mut place) = (0.0, 0);
        for (row, change) in of.memory.right.iter().enumerate() {
            let value = of.record.magnitudes[row].max(of.memory.left[row].abs());
            let relative = change.abs() / value.max(change.abs());
            if relative > worst {
                (worst, place) = (relative, row);
            }
        }
        (worst, place)
    }

    /// The outputs of the equations that are linear about the inputs that were tried, and the inputs that follow from them;
    /// `false` where there are none.
    fn make_linear_step(&mut self) -> bool {
        self.assemble();
        let memory = &mut self.units.of.memory;
        let LoopMemory {
            matrix,
            terms,
            order,
            right,
            change,
            ..
        } = memory;
        if factor(matrix, terms, order) {
            solve(matrix, order, right, change);
        } else if right.iter().any(|value| *value != 0.0) {
            return false;
        } else {
            // The point is a solution, one of many.
            change.fill(0.0);
        }
        for (row, solved) in memory.solved.iter_mut().enumerate() {
            *solved = memory.found[row] + memory.change[row];
        }
        self.follow();
        true
    }

    /// I − D·K, and D·(K·G(u) + o − u).
    fn assemble(&mut self) {
        let AlgebraicLoop {
            memory,
            firsts,
            sources,
            inputs,
            ..
        } = &mut *self.units.of;
        let size = memory.found.len();
        memory.matrix.fill(0.0);
        memory.right.fill(0.0);
        for row in 0..size {
            memory.matrix[row * size + row] = 1.0;
        }
        for (place, pass) in self.units.passes.iter().enumerate() {
            if !memory.is_due[place] {
                continue;
            }
            let (first_row, first_column) = firsts[place];
            let columns = pass.inputs.len();
            for (at, gain) in pass.gains.iter().enumerate() {
                let (row, column) = (first_row + at / columns, first_column + at % columns);
                let factor = memory.factors[column];
                let fed = match sources[column].filter(|_| factor != 0.0) {
                    Some(source) => {
                        memory.matrix[row * size + source] -= gain * factor;
                        self.units.courses.inputs[inputs[column]].converted(memory.found[source])
                    }
                    None => memory.given[column],
                };
                memory.right[row] += gain * (fed - memory.tried[column]);
            }
        }
        for (term, value) in memory.terms.iter_mut().zip(&memory.matrix) {
            *term = value.abs();
        }
        for row in 0..size {
            // The terms of 1 − d are 1 and d.
            let at = row * size + row;
            memory.terms[at] = 1.0 + (1.0 - memory.matrix[at]).abs();
        }
    }

    /// The inputs of the outputs that were solved for.
    fn follow(&mut self) {
        let AlgebraicLoop {
            memory,
            sources,
            inputs,
            ..
        } = &mut *self.units.of;
        for column in 0..inputs.len() {
            memory.tried[column] = match sources[column].filter(|_| memory.factors[column] != 0.0) {
                Some(source) => {
                    self.units.courses.inputs[inputs[column]].converted(memory.solved[source])
                }
                None => memory.given[column],
            };
        }
    }

    /// The largest change by the linear equations, relative to the largest magnitude of its output so far.
    fn size_of_change(&self) -> f64 {
        let of = &*self.units.of;
        let relative = |row: usize| {
            let magnitude = of.record.magnitudes[row].max(of.memory.left[row].abs());
            of.memory.change[row].abs() / magnitude.max(f64::MIN_POSITIVE)
        };
        (0..of.outputs.len()).map(relative).fold(0.0, greater)
    }

    /// Refuses changes that have grown in so many iterations, one after the other, and values that are far from all before.
    fn refuse_divergence(&self, has_grown: u32) -> Result<(), ComponentFault> {
        let of = &*self.units.of;
        let is_lost = |row: &usize| {
            let magnitude = of.record.magnitudes[*row].max(of.memory.left[*row].abs());
            let is_within = of.memory.solved[*row].abs() <= DIVERGED * magnitude.max(1.0);
            !is_within
        };
        let lost = (0..of.outputs.len()).find(is_lost);
        let Some(row) = lost.or((has_grown >= GROWTH).then_some(0)) else {
            return Ok(());
        };
        let graph = self.units.graph;
        let output = of.outputs[row];
        let message = format!(
            "the algebraic loop {} diverges: Newton's method comes to {} = {}; make the macro-step smaller, give start \
             values nearer to a solution, or `exchange = \"stale\"` to one of its components",
            names(graph, &of.outputs),
            graph.output_name(output),
            figure(of.memory.solved[row])
        );
        let fault = UnitFault::new("exchange", Cause::Error, message);
        Err((graph.outputs[output].component, fault))
    }

    /// The largest difference between an output and the inputs that it feeds, relative to the terms of the output, to its value
    /// or its largest magnitude so far; with the position of the output.
    fn residual(&self) -> (f64, usize) {
        let of = &*self.units.of;
        let memory = &of.memory;
        let (mut worst, mut place) = (0.0, 0);
        for (column, input) in of.inputs.iter().enumerate() {
            let factor = memory.factors[column].abs();
            let Some(row) = of.sources[column].filter(|_| factor != 0.0) else {
                continue;
            };
            let fed = self.units.courses.inputs[*input].converted(memory.found[row]);
            let difference = (fed - memory.tried[column]).abs() / factor;
            let magnitude = of.record.magnitudes[row].max(memory.found[row].abs());
            let relative = match difference == 0.0 {
                true => 0.0,
                false => difference / self.terms_of(row).max(magnitude),
            };
            if relative.is_nan() {
                return (f64::INFINITY, row);
            }
            if relative > worst {
                (worst, place) = (relative, row);
            }
        }
        (worst, place)
    }

    /// Sum of the magnitudes of the terms D·u of an output.
    fn terms_of(&self, row: usize) -> f64 {
        let of = &*self.units.of;
        let place = of.firsts.partition_point(|(first, _)| *first <= row) - 1;
        let (first_row, first_column) = of.firsts[place];
        let pass = &self.units.passes[place];
        let columns = pass.inputs.len();
        let gains = &pass.gains[(row - first_row) * columns..][..columns];
        let inputs = &of.memory.tried[first_column..][..columns];
        let terms = gains.iter().zip(inputs);
        terms.map(|(gain, input)| (gain * input).abs()).sum()
    }

    /// The residual that the one iteration at the last point has left: half of the change of D by it, times the change of the
    /// inputs, as the trapezoidal rule has it. Where a unit gives its D at each point only.
    fn estimate_last_residual(&mut self) {
        let of = &mut *self.units.of;
        let record = &mut of.record;
        let (mut at, mut is_noticed) = (0, false);
        for (place, pass) in self.units.passes.iter().enumerate() {
            let (first_row, first_column) = of.firsts[place];
            let columns = pass.inputs.len();
            let is_linear = of.ways[place] == LoopWay::Linear;
            for row in 0..pass.outputs.len() {
                let gains = &pass.gains[row * columns..][..columns];
                let last = &record.last_gains[at + row * columns..][..columns];
                let changes = &record.last_changes[first_column..][..columns];
                let terms = gains.iter().zip(last).zip(changes);
                let left: f64 = terms
                    .map(|((new, old), change)| 0.5 * (new - old) * change)
                    .sum();
                let magnitude = record.magnitudes[first_row + row].max(f64::MIN_POSITIVE);
                let relative = left.abs() / magnitude;
                if !is_linear || !pass.by_unit || !of.memory.is_due[place] || relative <= NOTICED {
                    continue;
                }
                is_noticed = true;
                if relative > record.residual {
                    (record.residual, record.output) = (relative, first_row + row);
                    record.time = record.last_time;
                }
            }
            at += pass.gains.len();
        }
        record.unsolved += u64::from(is_noticed);
    }

    /// Records the solution of this point.
    fn record(&mut self, is_solved: bool) {
        let of = &mut *self.units.of;
        let (record, memory) = (&mut of.record, &of.memory);
        record.points += 1;
        record.unsolved += u64::from(!is_solved);
        record.last_time = self.units.time;
        for (magnitude, value) in record.magnitudes.iter_mut().zip(&memory.found) {
            *magnitude = greater(*magnitude, value.abs());
        }
        let mut at = 0;
        for pass in &*self.units.passes {
            record.last_gains[at..at + pass.gains.len()].copy_from_slice(&pass.gains);
            at += pass.gains.len();
        }
        for ((change, tried), input) in record
            .last_changes
            .iter_mut()
            .zip(&memory.tried)
            .zip(&of.inputs)
        {
            *change = tried - self.units.courses.values[*input];
        }
    }

    fn publish(&mut self, signals: &mut Signals) {
        let of = &*self.units.of;
        for (place, pass) in self.units.passes.iter_mut().enumerate() {
            if !of.memory.is_due[place] {
                continue;
            }
            let (first_row, first_column) = of.firsts[place];
            let found = &of.memory.found[first_row..][..pass.outputs.len()];
            for (&output, &value) in pass.outputs.iter().zip(found) {
                signals.exchanged[output] = value - signals.reals[output];
                signals.reals[output] = value;
            }
            let tried = &of.memory.tried[first_column..][..pass.inputs.len()];
            pass.new_inputs.copy_from_slice(tried);
            pass.new_outputs.copy_from_slice(found);
        }
    }
}

/// The greater one; the first where the other is no number.
fn greater(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// Names of outputs.
pub(super) fn names(graph: &Graph, outputs: &[usize]) -> String {
    let names: Vec<_> = outputs
        .iter()
        .map(|output| graph.output_name(*output))
        .collect();
    names.join(", ")
}
