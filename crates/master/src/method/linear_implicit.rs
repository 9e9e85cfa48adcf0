//! Linearly implicit coupling: the interface equations of a macro-step, linearised about a trial step, are solved
//! once.
//!
//! With y all outputs by which the components of a loop feed each other, at the end of the macro-step, ŷ their
//! extrapolation and F(ŷ) the outputs after a trial step with it,
//!
//! ```text
//!     (I − S)·(y − ŷ) = F(ŷ) − ŷ,    S = ∂F/∂y
//! ```
//!
//! gives y. The components go back to the start of the step and repeat it with y. They get lines y(t) → y if they
//! follow them, y held, or the mean of y(t) and y. S has a block for each component. One trial step per output
//! measures it at the start of a run, after a change of the step's length, and if the last step shows that a block
//! with several columns has changed. After each step Broyden's update fits it to the trial step and the real one; a
//! block with one column is then the secant, and is never measured again.
//!
//! Sources: the first stage of a Rosenbrock method with inexact Jacobian (W-method, Steihaug & Wolfbrandt 1979),
//! applied to the interface; Broyden (1965) for the updates; COSTARICA (arXiv:2203.02441) for the idea to estimate the
//! end of a step instead of iterating. Use it for stiff loops if the passes of `iterative` cost too much: two steps of
//! each component a macro-step, for any loop. Exact for linear units. Limits: as `iterative`; for nonlinear units
//! inputs and outputs differ by the square of the change within the step.

use super::serial::{Held, Lines, LookAhead, Turn};
use super::{Method, MethodFacts, loops};
use crate::elimination::Elimination;
use crate::fault::{Cause, Fault};
use crate::graph::Graph;
use crate::plan::{Draft, Effect, Phase, Stage, StageView, Store};
use crate::registry::{Arguments, Entry, ParameterInfo};
use crate::state_stream::StateStream;

/// Units that feed each other step with the solution of their linearised interface equations.
struct LinearImplicit {
    held: Held,
    drift: f64,
}

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "linear-implicit",
    summary: "units of a loop make a trial step and one with the solution of their linearised interface equations; \
              implicit, without iteration",
    source: "Steihaug & Wolfbrandt 1979; Broyden 1965; arXiv:2203.02441 for the idea",
    parameters: &[
        Held::PARAMETER,
        // A W-method is stable with Jacobians that are off by more; a tenth keeps the second order of lines within a tenth
        // of their error.
        ParameterInfo::number(
            "drift",
            "share of the change of an output that the linearisation may miss before it is measured again",
            0.1,
            (0.0, f64::INFINITY),
        ),
    ],
    facts: |arguments, ()| MethodFacts {
        looks_ahead: true,
        passes_means: Held::of(arguments) == Held::Mean,
        iterates: true,
    },
    build: |arguments| Box::new(LinearImplicit::new(arguments)),
};

impl LinearImplicit {
    fn new(arguments: &Arguments) -> Self {
        Self {
            held: Held::of(arguments),
            drift: arguments.number("drift"),
        }
    }

    /// Adds the trial steps and the step of the components of a loop.
    fn add_loop(&self, draft: &mut Draft<'_>, turns: Vec<Turn>) {
        let graph = draft.graph();
        let mut members: Vec<usize> = turns.iter().map(|turn| turn.component).collect();
        members.sort_unstable();
        let turns = loops::lead_by_each_other(turns, graph);
        let inside = |_, led: &LookAhead| members.contains(&led.sender);
        let inputs = loops::estimated(&turns, inside);
        let mut fed = Vec::new();
        for led in turns.iter().flat_map(|turn| &turn.led) {
            fed.push((led.source, receiver(graph, led.input)));
        }
        draft.prepare(&members);
        draft.give_signals(&members);
        let equations = Equations::new(self.drift, &inputs, &fed, graph);
        let limit = inputs.len() as u32 + 2 + HALVINGS;
        let body = |draft: &mut Draft<'_>| {
            for turn in turns {
                draft.own(Lines::new(turn, self.held));
            }
            draft.give(&members, Phase::Begin);
            draft.step(&members, Phase::Begin);
            draft.read(&members, Store::Ahead, Phase::End);
        };
        draft.iterate(&members, limit, body, equations);
    }
}

/// The component that has an input.
fn receiver(graph: &Graph, input: usize) -> usize {
    let has = |node: &crate::graph::Component| node.inputs.contains(&input);
    graph.components.iter().position(has).unwrap_or_default()
}

impl Method for LinearImplicit {
    fn plan(&self, draft: &mut Draft<'_>) {
        loops::plan(draft, self.held, |draft, turns| self.add_loop(draft, turns));
    }
}

/// How often a step that a unit discards is tried again with half of the change: a choice.
const HALVINGS: u32 = 4;

/// Size of a trial change, relative to the magnitude of a signal, and least change from which an update learns. It is far
/// above the errors of units that integrate with tolerances of their own, some 1e-6, and small enough for units that are not
/// linear.
const TRIAL: f64 = 1e-3;

/// Change of the step's length that asks for another measurement: the linearisation follows it in proportion.
const OTHER_LENGTH: f64 = 0.1;

/// The pass that is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    /// With the extrapolated outputs.
    Trial,
    /// With one of them changed.
    Measuring(usize),
    /// With the solution.
    Last,
}

/// The linearised interface equations of a loop, and the outputs by which its components feed each other.
#[derive(Clone)]
struct Equations {
    drift: f64,
    /// The outputs, and for each an input that it feeds.
    outputs: Vec<usize>,
    inputs: Vec<usize>,
    /// Given nominal values, else 0.
    nominal: Vec<f64>,
    /// Whether an output belongs to a component that the other feeds, row by row.
    depends: Vec<bool>,
    /// S, row by row.
    response: Vec<f64>,
    /// Length of the step for which S was measured, s; 0 before.
    length: f64,
    is_outdated: bool,
    /// Greatest magnitudes so far.
    greatest: Vec<f64>,
    pass: Pass,
    /// ŷ, F(ŷ), y, and the outputs after the pass.
    extrapolated: Vec<f64>,
    tried: Vec<f64>,
    solution: Vec<f64>,
    found: Vec<f64>,
    system: Elimination,
}

impl Equations {
    fn new(drift: f64, inputs: &[LookAhead], fed: &[(usize, usize)], graph: &Graph) -> Self {
        let outputs: Vec<usize> = inputs.iter().map(|led| led.source).collect();
        let nominal = outputs.iter().map(|output| graph.nominal_output(*output));
        let depends = outputs.iter().flat_map(|row| {
            let component = graph.outputs[*row].component;
            let columns = outputs.iter();
            columns.map(move |column| fed.contains(&(*column, component)))
        });
        let count = outputs.len();
        let zeros = || vec![0.0; count];
        Self {
            drift,
            nominal: nominal.map(Option::unwrap_or_default).collect(),
            depends: depends.collect(),
            inputs: inputs.iter().map(|led| led.input).collect(),
            outputs,
            response: vec![0.0; count * count],
            length: 0.0,
            is_outdated: true,
            greatest: zeros(),
            pass: Pass::Trial,
            extrapolated: zeros(),
            tried: zeros(),
            solution: zeros(),
            found: zeros(),
            system: Elimination::new(count),
        }
    }

    /// Magnitude of an output: the greatest so far, or its nominal value, which is 1 if none is given (FMI 2.0 §2.2.7).
    fn magnitude(&self, place: usize) -> f64 {
        match self.greatest[place].max(self.nominal[place]) {
            0.0 => 1.0,
            magnitude => magnitude,
        }
    }

    fn begin(&mut self, view: &mut StageView<'_>) {
        self.pass = Pass::Trial;
        for (place, (&output, &input)) in self.outputs.iter().zip(&self.inputs).enumerate() {
            self.extrapolated[place] = view.expected(input);
            let magnitude = view.shown(output).abs();
            if magnitude.is_finite() {
                self.greatest[place] = self.greatest[place].max(magnitude);
            }
        }
        let length = view.step().size;
        let is_other = (length - self.length).abs() > OTHER_LENGTH * self.length;
        if self.is_outdated || is_other {
            self.is_outdated = true;
            self.length = length;
        }
        self.solution.copy_from_slice(&self.extrapolated);
    }

    /// Goes on to the next output to be measured, or to the solution if all have been.
    fn go_on(&mut self, measured: usize) {
        self.solution.copy_from_slice(&self.extrapolated);
        if self.is_outdated && measured < self.outputs.len() {
            self.solution[measured] += TRIAL * self.magnitude(measured);
            self.pass = Pass::Measuring(measured);
            return;
        }
        self.is_outdated = false;
        self.pass = Pass::Last;
        let count = self.outputs.len();
        self.system.clear();
        for row in 0..count {
            for column in 0..count {
                *self.system.entry(row, column) -= self.response[row * count + column];
            }
            *self.system.right(row) = self.tried[row] - self.extrapolated[row];
        }
        let is_solved = self.system.solve();
        for (row, solution) in self.solution.iter_mut().enumerate() {
            let change = *self.system.right(row);
            // Without a solution: the outputs of the trial step.
            *solution = match is_solved && change.is_finite() {
                true => *solution + change,
                false => self.tried[row],
            };
        }
    }

    /// The column of S by an output that was changed.
    fn measure(&mut self, column: usize) {
        let count = self.outputs.len();
        let change = self.solution[column] - self.extrapolated[column];
        for row in 0..count {
            let of_row = (self.found[row] - self.tried[row]) / change;
            self.response[row * count + column] = match self.depends[row * count + column] {
                true if of_row.is_finite() => of_row,
                _ => 0.0,
            };
        }
    }

    /// Broyden's update by the last step, weighted by magnitudes.
    fn update(&mut self) {
        let count = self.outputs.len();
        for row in 0..count {
            let columns = || (0..count).filter(|column| self.depends[row * count + column]);
            let change = |column: usize| self.solution[column] - self.extrapolated[column];
            let relative = |column: usize| change(column) / self.magnitude(column);
            let square: f64 = columns().map(|column| relative(column).powi(2)).sum();
            let expected =
                columns().map(|column| self.response[row * count + column] * change(column));
            let expected: f64 = expected.sum();
            let missed = self.found[row] - self.tried[row] - expected;
            let learns = square >= TRIAL * TRIAL && missed.is_finite();
            if !learns {
                continue;
            }
            let is_secant = columns().nth(1).is_none();
            self.is_outdated |= !is_secant && missed.abs() > self.drift * expected.abs();
            for column in 0..count {
                if self.depends[row * count + column] {
                    let magnitude = self.magnitude(column);
                    let change = self.solution[column] - self.extrapolated[column];
                    self.response[row * count + column] +=
                        missed * change / (magnitude * magnitude * square);
                }
            }
        }
    }

    fn failure(&self, view: &StageView<'_>, place: usize) -> Fault {
        let (name, component) = view.output(self.outputs[place]);
        let message = format!(
            "{name} is {} after {}",
            self.found[place],
            match self.pass {
                Pass::Last => "the step with the solution of the interface equations",
                _ => "a trial step",
            }
        );
        view.fault(component, Cause::NotFinite, message)
    }
}

impl Stage for Equations {
    fn effects(&self, _: &Graph) -> Vec<Effect> {
        loops::effects_of_estimates(&self.outputs)
    }

    fn words(&self, graph: &Graph) -> String {
        let names = loops::names(&self.outputs, graph);
        format!("a trial step, and one with the solution of the linearised equations of {names}")
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        if view.pass() == 0 {
            self.begin(view);
        } else if view.is_discarded() {
            match self.pass {
                // It keeps the column that it had.
                Pass::Measuring(column) => self.go_on(column + 1),
                _ => {
                    for (solution, known) in self.solution.iter_mut().zip(&self.extrapolated) {
                        *solution = 0.5 * (*solution + known);
                    }
                }
            }
        } else {
            for (found, &output) in self.found.iter_mut().zip(&self.outputs) {
                *found = view.ahead(output);
            }
            if let Some(place) = self.found.iter().position(|found| !found.is_finite()) {
                return Err(self.failure(view, place));
            }
            match self.pass {
                Pass::Trial => {
                    self.tried.copy_from_slice(&self.found);
                    self.go_on(0);
                }
                Pass::Measuring(column) => {
                    self.measure(column);
                    self.go_on(column + 1);
                }
                Pass::Last => {
                    self.update();
                    view.converge();
                    return Ok(());
                }
            }
        }
        for (&output, &estimate) in self.outputs.iter().zip(&self.solution) {
            view.estimate(output, estimate);
        }
        Ok(())
    }

    fn duplicate(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(self.clone()))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        stream.keep(&mut self.response);
        stream.keep(&mut self.length);
        stream.keep(&mut self.is_outdated);
        stream.keep(&mut self.greatest);
    }
}
