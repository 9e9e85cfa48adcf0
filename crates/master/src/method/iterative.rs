//! Implicit coupling by waveform iteration over a macro-step: units that feed each other repeat the macro-step from
//! the same state. They stop when the ends of their inputs agree with the ends of the outputs that feed them. An
//! input follows the line y(t) → y(t + H), or holds y(t + H) or the mean of both if its unit takes values only.
//!
//! Sources: Küttler & Wall (2008) for Aitken's relaxation; Degroote, Bathe & Vierendeels (2009) for IQN-ILS;
//! Haelterman et al. (2016) for the filter of its columns. Use it for stiff loops, on which explicit methods diverge
//! at any affordable step, and as a reference. Limits: all units of a loop save and restore their states
//! (`canGetAndSetFMUstate`) and step with the macro-step; each pass costs a step of each; no real time. Units outside
//! of loops step once, in the order in which they feed each other.
//!
//! The unknowns are the outputs that a pass cannot know. They are written to the place of values ahead of their time,
//! so that the stage that feeds lines is the one of `gauss-seidel`. The test of the iteration is a stage as well, and
//! owns the accelerator; the executor saves, restores and counts. Why IQN-ILS is the default: docs/dev/coupling.md.

use super::serial::{Held, Lines, LookAhead, Turn};
use super::{Method, MethodFacts, loops};
use crate::fault::{Cause, Fault};
use crate::figure;
use crate::graph::Graph;
use crate::plan::{Draft, Effect, Phase, Stage, StageView, Store};
use crate::registry::{Arguments, Entry, ParameterInfo, ParameterKind};
use crate::state_stream::StateStream;

/// Units that feed each other step from the same state until their inputs agree with their outputs.
struct Iterative {
    steps_at_once: bool,
    held: Held,
    settings: Settings,
}

#[derive(Debug, Clone, Copy)]
struct Settings {
    accelerator: Accelerator,
    /// Tolerances of the change of a signal: relative to its value, and to its nominal value.
    tolerance: f64,
    absolute_tolerance: f64,
    relaxation: f64,
    limit: u32,
    accepts: bool,
}

/// How the next estimate follows from those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accelerator {
    FixedPoint,
    Aitken,
    LeastSquares,
}

const fn tolerance(name: &'static str, summary: &'static str) -> ParameterInfo {
    // Far below the errors of couplings that are worth their passes, and far above the rounding of units that
    // integrate by themselves with tolerances of their own.
    ParameterInfo::number(name, summary, 1e-6, (0.0, 1.0))
}

pub(super) const ENTRY: Entry<dyn Method> = Entry {
    name: "iterative",
    summary: "units of a loop repeat each macro-step until their inputs agree with the outputs at its end; implicit",
    source: "Küttler & Wall 2008; Degroote, Bathe & Vierendeels 2009",
    parameters: &[
        ParameterInfo {
            name: "order",
            summary: "within a pass: units one after the other, each with the newest outputs, or all at once, also on threads",
            kind: ParameterKind::Word(&["gauss-seidel", "jacobi"]),
        },
        ParameterInfo {
            name: "accelerator",
            summary: "the next estimate: by least squares over all passes of the step, relaxed by Aitken's formula, or the fixed point's",
            kind: ParameterKind::Word(&["iqn-ils", "aitken", "fixed-point"]),
        },
        tolerance(
            "tolerance",
            "greatest change of an output by the last pass, relative to its value",
        ),
        tolerance(
            "absolute_tolerance",
            "greatest change of an output by the last pass, relative to its nominal value; added to `tolerance`",
        ),
        ParameterInfo::whole_number(
            "max_iterations",
            "greatest number of passes in a macro-step",
            50,
            (1, 10_000),
        ),
        ParameterInfo::number(
            "relaxation",
            "share of the change that the second pass takes; with `fixed-point` that of each pass",
            1.0,
            (1e-6, 2.0),
        ),
        Held::PARAMETER,
        ParameterInfo {
            name: "on_failure",
            summary: "without convergence: stop the run, or accept the last pass and count the step",
            kind: ParameterKind::Word(&["stop", "accept"]),
        },
    ],
    facts: |arguments, ()| MethodFacts {
        looks_ahead: true,
        passes_means: Held::of(arguments) == Held::Mean,
        iterates: true,
    },
    build: |arguments| Box::new(Iterative::new(arguments)),
};

impl Iterative {
    fn new(arguments: &Arguments) -> Self {
        Self {
            steps_at_once: arguments.word("order") == "jacobi",
            held: Held::of(arguments),
            settings: Settings {
                accelerator: match arguments.word("accelerator") {
                    "fixed-point" => Accelerator::FixedPoint,
                    "aitken" => Accelerator::Aitken,
                    _ => Accelerator::LeastSquares,
                },
                tolerance: arguments.number("tolerance"),
                absolute_tolerance: arguments.number("absolute_tolerance"),
                relaxation: arguments.number("relaxation"),
                limit: arguments.whole_number("max_iterations") as u32,
                accepts: arguments.word("on_failure") == "accept",
            },
        }
    }

    /// Adds the iteration of the components of a loop, which step in this order.
    fn add_loop(&self, draft: &mut Draft<'_>, turns: Vec<Turn>) {
        let graph = draft.graph();
        let order: Vec<usize> = turns.iter().map(|turn| turn.component).collect();
        let mut members = order.clone();
        members.sort_unstable();
        let place = |component: usize| order.iter().position(|known| *known == component);
        let turns = loops::lead_by_each_other(turns, graph);
        let inputs = loops::estimated(&turns, |receiver, led| {
            let sender = place(led.sender);
            sender.is_some() && (self.steps_at_once || sender >= place(receiver))
        });
        draft.prepare(&members);
        draft.give_signals(&members);
        let test = Convergence::new(self.settings, &inputs, graph);
        let body = |draft: &mut Draft<'_>| {
            for turn in turns {
                let component = [turn.component];
                draft.own(Lines::new(turn, self.held));
                if !self.steps_at_once {
                    draft.give(&component, Phase::Begin);
                    draft.step(&component, Phase::Begin);
                    draft.read(&component, Store::Ahead, Phase::End);
                }
            }
            if self.steps_at_once {
                draft.give(&members, Phase::Begin);
                draft.step(&members, Phase::Begin);
                draft.read(&members, Store::Ahead, Phase::End);
            }
        };
        draft.iterate(&members.clone(), self.settings.limit, body, test);
    }
}

impl Method for Iterative {
    fn plan(&self, draft: &mut Draft<'_>) {
        loops::plan(draft, self.held, |draft, turns| self.add_loop(draft, turns));
    }
}

/// Estimates the outputs at the end of the step for each pass, and ends the iteration once they agree with those that the
/// units give.
#[derive(Clone)]
struct Convergence {
    settings: Settings,
    /// The estimated outputs, and for each an input that it feeds.
    outputs: Vec<usize>,
    inputs: Vec<usize>,
    nominal: Vec<f64>,
    /// One over the tolerance of each output when the step began.
    weights: Vec<f64>,
    /// The estimates of the pass that is made, and of the last one that was not discarded.
    estimates: Vec<f64>,
    kept: Vec<f64>,
    /// Outputs, and their differences to the estimates, in the last pass and in the one before it.
    found: Vec<f64>,
    residuals: Vec<f64>,
    last_found: Vec<f64>,
    last_residuals: Vec<f64>,
    /// Evaluated passes of this step.
    evaluated: u32,
    relaxation: f64,
    columns: LeastSquares,
}

impl Convergence {
    fn new(settings: Settings, inputs: &[LookAhead], graph: &Graph) -> Self {
        let outputs: Vec<usize> = inputs.iter().map(|led| led.source).collect();
        let nominal = outputs.iter().map(|output| graph.nominal_output(*output));
        let count = outputs.len();
        let zeros = || vec![0.0; count];
        let columns = match settings.accelerator {
            Accelerator::LeastSquares => count.min(settings.limit as usize),
            _ => 0,
        };
        Self {
            // FMI 2.0 §2.2.7: the nominal value is 1 if none is given.
            nominal: nominal.map(|nominal| nominal.unwrap_or(1.0)).collect(),
            inputs: inputs.iter().map(|led| led.input).collect(),
            outputs,
            weights: zeros(),
            estimates: zeros(),
            kept: zeros(),
            found: zeros(),
            residuals: zeros(),
            last_found: zeros(),
            last_residuals: zeros(),
            evaluated: 0,
            relaxation: settings.relaxation,
            columns: LeastSquares::new(count, columns),
            settings,
        }
    }

    /// The first estimates: the inputs' courses as they are prepared.
    fn begin(&mut self, view: &mut StageView<'_>) {
        self.evaluated = 0;
        self.relaxation = self.settings.relaxation;
        self.columns.clear();
        for (place, (&output, &input)) in self.outputs.iter().zip(&self.inputs).enumerate() {
            self.estimates[place] = view.expected(input);
            let tolerance = self.tolerance(place, view.shown(output));
            // Signals without any tolerance weigh alike.
            self.weights[place] = if tolerance > 0.0 {
                1.0 / tolerance
            } else {
                1.0
            };
        }
    }

    /// Greatest change by which an output of this value has converged.
    fn tolerance(&self, place: usize, value: f64) -> f64 {
        let Settings {
            tolerance,
            absolute_tolerance,
            ..
        } = self.settings;
        tolerance * value.abs() + absolute_tolerance * self.nominal[place]
    }

    /// The output that is farthest from its estimate, and how many tolerances it is away; `None` if all have converged.
    fn worst(&self) -> Option<(usize, f64)> {
        let found = self.found.iter().zip(&self.residuals).enumerate();
        let away = found.filter_map(|(place, (found, residual))| {
            let tolerance = self.tolerance(place, *found);
            let is_near = residual.is_finite() && residual.abs() <= tolerance;
            (!is_near).then_some((place, residual.abs() / tolerance))
        });
        away.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Moves the estimates towards the outputs that were found.
    fn advance(&mut self) {
        self.evaluated += 1;
        let is_first = self.evaluated == 1;
        self.kept.copy_from_slice(&self.estimates);
        match self.settings.accelerator {
            Accelerator::Aitken if !is_first => self.relax(),
            Accelerator::LeastSquares if !is_first => {
                let residuals = (&*self.residuals, &*self.last_residuals);
                let found = (&*self.found, &*self.last_found);
                self.columns.add(residuals, found, &self.weights);
                let solved = self.columns.solve(&self.residuals, &self.weights);
                if solved {
                    self.estimates.copy_from_slice(&self.found);
                    self.columns.add_to(&mut self.estimates);
                    self.remember();
                    return;
                }
            }
            _ => {}
        }
        for (estimate, residual) in self.estimates.iter_mut().zip(&self.residuals) {
            *estimate += self.relaxation * residual;
        }
        self.remember();
    }

    fn remember(&mut self) {
        self.last_found.copy_from_slice(&self.found);
        self.last_residuals.copy_from_slice(&self.residuals);
    }

    /// ω ← −ω · r₋₁ᵀ(r − r₋₁) / |r − r₋₁|² (Küttler & Wall 2008).
    fn relax(&mut self) {
        let residuals = self.residuals.iter().zip(&self.last_residuals);
        let (mut along, mut square) = (0.0, 0.0);
        for ((residual, last), weight) in residuals.zip(&self.weights) {
            let change = (residual - last) * weight;
            along += last * weight * change;
            square += change * change;
        }
        let relaxation = -self.relaxation * along / square;
        if relaxation.is_finite() && relaxation != 0.0 {
            self.relaxation = relaxation;
        }
    }

    fn failure(&self, view: &StageView<'_>, (place, away): (usize, f64)) -> Fault {
        let output = self.outputs[place];
        let (name, component) = view.output(output);
        let passes = view.pass();
        if !self.residuals[place].is_finite() {
            let value = self.found[place];
            let message = format!("{name} is {value} in pass {passes} of the iteration");
            return view.fault(component, Cause::NotFinite, message);
        }
        let message = format!(
            "{name} has not converged after {passes} passes: the last one changed it by {}, {away:.1e} times its tolerance; take a \
             smaller `step_size`, allow more `max_iterations` or a larger `tolerance`, or go on with `on_failure = \"accept\"`",
            figure(self.residuals[place].abs())
        );
        view.fault(component, Cause::Discard, message)
    }
}

impl Stage for Convergence {
    fn effects(&self, _: &Graph) -> Vec<Effect> {
        loops::effects_of_estimates(&self.outputs)
    }

    fn words(&self, graph: &Graph) -> String {
        let names = loops::names(&self.outputs, graph);
        let way = match self.settings.accelerator {
            Accelerator::FixedPoint => "the values that the pass gave, relaxed",
            Accelerator::Aitken => "the values that the pass gave, relaxed by Aitken's formula",
            Accelerator::LeastSquares => "IQN-ILS over the passes of the step",
        };
        format!(
            "ends where a pass changes {names} by no more than their tolerances; next estimates: {way}"
        )
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        if view.pass() == 0 {
            self.begin(view);
        } else if view.is_discarded() {
            // Half the way back to the last estimates that all units could step with.
            for (estimate, kept) in self.estimates.iter_mut().zip(&self.kept) {
                *estimate = 0.5 * (*estimate + kept);
            }
        } else {
            for (place, &output) in self.outputs.iter().enumerate() {
                self.found[place] = view.ahead(output);
                self.residuals[place] = self.found[place] - self.estimates[place];
            }
            let Some(worst) = self.worst() else {
                view.converge();
                return Ok(());
            };
            let is_finite = self.residuals.iter().all(|residual| residual.is_finite());
            if !is_finite || view.pass() == self.settings.limit && !self.settings.accepts {
                return Err(self.failure(view, worst));
            }
            if view.pass() == self.settings.limit {
                return Ok(());
            }
            self.advance();
        }
        for (&output, &estimate) in self.outputs.iter().zip(&self.estimates) {
            view.estimate(output, estimate);
        }
        Ok(())
    }

    fn duplicate(&self) -> Option<Box<dyn Stage>> {
        Some(Box::new(self.clone()))
    }

    fn transfer(&mut self, stream: &mut StateStream) {
        // Nothing of it lasts beyond a macro-step.
        let _ = stream;
    }
}

/// Changes of residuals and outputs from pass to pass, newest first, and the combination of them that makes the present
/// residual smallest (Degroote et al. 2009).
#[derive(Clone)]
struct LeastSquares {
    /// Changes of the residuals, weighted; orthonormal once solved.
    residuals: Vec<Vec<f64>>,
    basis: Vec<Vec<f64>>,
    outputs: Vec<Vec<f64>>,
    used: usize,
    right: Vec<f64>,
    /// The triangular factor, row by row.
    triangle: Vec<f64>,
    coefficients: Vec<f64>,
}

/// A column that others explain but for this share of it is left out: less than half of its digits would be its own.
const DEPENDENT: f64 = 1e-8;

impl LeastSquares {
    fn new(rows: usize, columns: usize) -> Self {
        let table = || vec![vec![0.0; rows]; columns];
        Self {
            residuals: table(),
            basis: table(),
            outputs: table(),
            used: 0,
            right: vec![0.0; rows],
            triangle: vec![0.0; columns * columns],
            coefficients: vec![0.0; columns],
        }
    }

    fn clear(&mut self) {
        self.used = 0;
    }

    /// Adds the changes by the last pass; the oldest ones leave if room is short.
    fn add(
        &mut self,
        (residuals, last_residuals): (&[f64], &[f64]),
        (found, last_found): (&[f64], &[f64]),
        weights: &[f64],
    ) {
        self.residuals.rotate_right(1);
        self.outputs.rotate_right(1);
        self.used = (self.used + 1).min(self.residuals.len());
        let (Some(change), Some(outputs)) = (self.residuals.first_mut(), self.outputs.first_mut())
        else {
            return;
        };
        for (row, weight) in weights.iter().enumerate() {
            change[row] = (residuals[row] - last_residuals[row]) * weight;
            outputs[row] = found[row] - last_found[row];
        }
    }

    /// Finds the coefficients by a QR factorisation (modified Gram-Schmidt), newest columns first; false if no column
    /// tells anything.
    fn solve(&mut self, residuals: &[f64], weights: &[f64]) -> bool {
        let count = self.residuals.len();
        for (right, (residual, weight)) in self.right.iter_mut().zip(residuals.iter().zip(weights))
        {
            *right = -residual * weight;
        }
        self.coefficients.fill(0.0);
        let mut is_any = false;
        for column in 0..self.used {
            let (before, rest) = self.basis.split_at_mut(column);
            let vector = &mut rest[0];
            vector.copy_from_slice(&self.residuals[column]);
            let length = norm(vector);
            for (row, known) in before.iter().enumerate() {
                let along = dot(known, vector);
                self.triangle[row * count + column] = along;
                subtract(vector, along, known);
            }
            let own = norm(vector);
            if own.is_nan() || own <= DEPENDENT * length {
                // Left out: a row of zeros, which the solution below passes over.
                vector.fill(0.0);
                self.triangle[column * count + column] = 0.0;
                continue;
            }
            is_any = true;
            vector.iter_mut().for_each(|value| *value /= own);
            self.triangle[column * count + column] = own;
            let along = dot(vector, &self.right);
            self.coefficients[column] = along;
            subtract(&mut self.right, along, vector);
        }
        for column in (0..self.used).rev() {
            let diagonal = self.triangle[column * count + column];
            let later = (column + 1)..self.used;
            let known =
                later.map(|other| self.triangle[column * count + other] * self.coefficients[other]);
            let rest = self.coefficients[column] - known.sum::<f64>();
            self.coefficients[column] = if diagonal > 0.0 { rest / diagonal } else { 0.0 };
        }
        is_any && self.coefficients.iter().all(|value| value.is_finite())
    }

    /// Adds the combination of the changes of the outputs.
    fn add_to(&self, values: &mut [f64]) {
        for (outputs, coefficient) in self.outputs.iter().zip(&self.coefficients).take(self.used) {
            subtract(values, -coefficient, outputs);
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

/// a ← a − factor · b
fn subtract(a: &mut [f64], factor: f64, b: &[f64]) {
    for (a, b) in a.iter_mut().zip(b) {
        *a -= factor * b;
    }
}
