//! A bond with a correction, while it runs. The operation `correct` asks it for additions; it sets no input itself.

use super::InputCourse;
use crate::correction::{BondFacts, BondPoint, Correction, CorrectionFacts, Increments, Side};
use crate::curve::Curve;
use crate::graph::{Axis, Bond, Graph};
use crate::state_stream::stored;
use crate::step::Step;

/// A bond with a correction, while it runs.
#[derive(Clone)]
pub(crate) struct Corrector {
    pub(crate) bond: usize,
    pub(crate) facts: CorrectionFacts,
    pub(crate) correction: Box<dyn Correction>,
    pub(crate) axes: Vec<Axis>,
    /// How the inputs of the effort and of the flow are received, axis by axis.
    receptions: Vec<[Reception; 2]>,
    pub(crate) every: u64,
    pub(crate) point: BondPoint,
    increments: Increments,
    /// The corrector of the first bond that corrects the same receiver by the same signals.
    pub(crate) group: usize,
    pub(crate) scale: f64,
    last_step: f64,
}

impl Corrector {
    pub(crate) fn all(graph: &Graph) -> Vec<Self> {
        let mut correctors: Vec<Self> = Vec::new();
        for (index, bond) in graph.bonds.iter().enumerate() {
            let Some(chosen) = &bond.correction else {
                continue;
            };
            let correction = chosen.build();
            let flows =
                |axes: &[Axis]| axes.iter().map(|axis| axis.flow_output).collect::<Vec<_>>();
            let same = |other: &Self| {
                flows(&other.axes) == flows(&bond.axes)
                    && other.correction.limit() == correction.limit()
            };
            let group = correctors.iter().position(same).unwrap_or(correctors.len());
            let axes = bond.axes.len();
            let side = Side::zero(axes);
            correctors.push(Self {
                bond: index,
                facts: chosen.facts(&()),
                correction,
                receptions: receptions(graph, bond),
                axes: bond.axes.clone(),
                every: u64::from(bond.every),
                point: BondPoint {
                    index: 0,
                    time: 0.0,
                    step: 0.0,
                    next_step: 0.0,
                    effort_by_flow: vec![0.0; axes * axes],
                    flow_by_effort: vec![0.0; axes * axes],
                    effort: side.clone(),
                    flow: side,
                    weight: bond.axes.iter().map(|axis| axis.weight).collect(),
                },
                increments: Increments::none(axes),
                group,
                scale: 1.0,
                last_step: 0.0,
            });
        }
        correctors
    }
}

/// How the receiver of an input follows its course over a step.
#[derive(Debug, Clone, Copy)]
struct Reception {
    /// Derivatives that it takes.
    derivatives: usize,
    /// Its communication steps within the step, each with a value of its own.
    parts: u32,
}

impl Reception {
    /// Mean over the step that was prepared, of what the receiver makes of it.
    fn mean(self, input: &InputCourse) -> f64 {
        let part = input.length / f64::from(self.parts);
        let mean = |index: u32| {
            let curve = input.curve.shifted(f64::from(index) * part);
            curve.truncated(self.derivatives).mean(part)
        };
        (0..self.parts).map(mean).sum::<f64>() / f64::from(self.parts)
    }
}

fn receptions(graph: &Graph, bond: &Bond) -> Vec<[Reception; 2]> {
    let reception = |side: usize| {
        let component = &graph.components[side];
        let parts = f64::from(bond.every) / component.rate.ratio();
        Reception {
            derivatives: component.description.capabilities.input_derivatives as usize,
            parts: parts.round().max(1.0) as u32,
        }
    };
    // The effort goes to the side that gives the flow, and back.
    let both = [reception(bond.flow_side), reception(bond.effort_side)];
    vec![both; bond.axes.len()]
}

fn facts(graph: &Graph, bond: &Bond, is_stale: bool) -> BondFacts {
    let step = |component: usize| graph.components[component].rate.ratio() / f64::from(bond.every);
    let degree = |input: usize| graph.inputs[input].facts.degree;
    let feeds_through =
        |output: usize, input: usize| graph.feedthrough(output, false).contains(&input);
    let any = |test: &dyn Fn(&Axis) -> bool| bond.axes.iter().any(test);
    BondFacts {
        axes: bond.axes.len(),
        effort_side_step: step(bond.effort_side),
        flow_side_step: step(bond.flow_side),
        effort_feedthrough: any(&|axis| {
            bond.axes
                .iter()
                .any(|other| feeds_through(axis.effort_output, other.flow_input))
        }),
        flow_feedthrough: any(&|axis| {
            bond.axes
                .iter()
                .any(|other| feeds_through(axis.flow_output, other.effort_input))
        }),
        effort_degree: bond
            .axes
            .iter()
            .map(|axis| degree(axis.effort_input))
            .max()
            .unwrap_or(0),
        flow_degree: bond
            .axes
            .iter()
            .map(|axis| degree(axis.flow_input))
            .max()
            .unwrap_or(0),
        is_stale,
    }
}

impl Corrector {
    /// Begins, once it is known how the outputs of the bond are exchanged.
    pub(crate) fn begin(&mut self, graph: &Graph, is_stale: bool) {
        let bond = &graph.bonds[self.bond];
        self.correction.begin(&facts(graph, bond, is_stale));
    }

    /// Moves to the point at which `step` starts.
    pub(crate) fn move_to(&mut self, step: &Step) {
        self.point.index = step.index / self.every;
        self.point.time = step.time;
        self.point.step = self.last_step;
        self.last_step = step.size * self.every as f64;
        self.point.next_step = self.last_step;
    }

    pub(crate) fn read_values(&mut self, outputs: &[f64], used: &[f64], inputs: &[InputCourse]) {
        let point = &mut self.point;
        for (index, axis) in self.axes.iter().enumerate() {
            let [of_effort, of_flow] = self.receptions[index];
            for (side, output, input, reception) in [
                (
                    &mut point.effort,
                    axis.effort_output,
                    axis.effort_input,
                    of_effort,
                ),
                (&mut point.flow, axis.flow_output, axis.flow_input, of_flow),
            ] {
                side.previous_output[index] = side.output[index];
                side.output[index] = outputs[output];
                side.fed[index] = inputs[input].fed(outputs);
                side.used[index] = used[input];
                side.applied[index] = reception.mean(&inputs[input]);
                side.missed[index] = inputs[input].error_at_end(outputs, used[input]);
            }
        }
    }

    pub(crate) fn read_errors(&mut self, errors: &[f64]) {
        let point = &mut self.point;
        for (index, axis) in self.axes.iter().enumerate() {
            for (side, output) in [
                (&mut point.effort, axis.effort_output),
                (&mut point.flow, axis.flow_output),
            ] {
                side.previous_error[index] = side.error[index];
                side.error[index] = errors[output];
            }
        }
    }

    /// Lets the correction propose.
    pub(crate) fn propose(&mut self) {
        self.increments.effort.fill(Curve::default());
        self.increments.flow.fill(Curve::default());
        self.scale = 1.0;
        self.correction.correct(&self.point, &mut self.increments);
    }

    pub(crate) fn increment(&self, axis: usize, flow: bool) -> f64 {
        let curves = if flow {
            &self.increments.flow
        } else {
            &self.increments.effort
        };
        curves[axis].coefficients[0]
    }

    pub(crate) fn signal(&self, axis: usize, flow: bool) -> f64 {
        if flow {
            self.point.flow.output[axis]
        } else {
            self.point.effort.output[axis]
        }
    }

    /// Adds the scaled increments to the inputs, and records their values at the end of the step.
    /// Returns whether any of them is not zero.
    pub(crate) fn apply(&mut self, inputs: &mut [InputCourse]) -> bool {
        let mut is_changed = false;
        for (index, axis) in self.axes.iter().enumerate() {
            let sides = [
                (
                    &mut self.point.effort,
                    &self.increments.effort,
                    axis.effort_input,
                ),
                (&mut self.point.flow, &self.increments.flow, axis.flow_input),
            ];
            for (side, curves, input) in sides {
                let scaled = Curve {
                    coefficients: curves[index].coefficients.map(|c| c * self.scale),
                };
                is_changed |= scaled.coefficients.iter().any(|c| *c != 0.0);
                inputs[input].correction = inputs[input].correction.plus(&scaled);
                side.correction[index] = scaled.at(self.last_step);
            }
        }
        is_changed
    }
}

stored!(Corrector {
    correction, point, increments, scale, last_step;
    bond, facts, axes, receptions, every, group
});
