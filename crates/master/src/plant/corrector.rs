use super::{InputState, Member, Plant, Step};
use crate::correction::{BondFacts, BondPoint, Correction, Increments, Side};
use crate::curve::Curve;
use crate::fault::Fault;
use crate::graph::{Axis, Bond, Graph};

/// A bond with a correction, while it runs.
#[derive(Clone)]
pub(crate) struct Corrector {
    pub(crate) bond: usize,
    pub(crate) correction: Box<dyn Correction>,
    pub(super) axes: Vec<Axis>,
    pub(super) every: u64,
    pub(super) point: BondPoint,
    increments: Increments,
    /// The corrector of the first bond that corrects the same receiver by the same signals.
    group: usize,
    scale: f64,
    last_step: f64,
}

impl Corrector {
    pub(crate) fn all(graph: &Graph) -> Vec<Self> {
        let mut correctors: Vec<Self> = Vec::new();
        for (index, bond) in graph.bonds.iter().enumerate() {
            let Some((entry, arguments)) = &bond.correction else {
                continue;
            };
            let mut correction = (entry.build)(arguments);
            correction.begin(&facts(graph, bond));
            let flows =
                |axes: &[Axis]| axes.iter().map(|axis| axis.flow_output).collect::<Vec<_>>();
            let same = |other: &Self| {
                flows(&other.axes) == flows(&bond.axes)
                    && other.correction.limit() == correction.limit()
            };
            let group = correctors.iter().position(same).unwrap_or(correctors.len());
            let axes = bond.axes.len();
            let side = Side {
                output: vec![0.0; axes],
                previous_output: vec![0.0; axes],
                error: vec![0.0; axes],
                previous_error: vec![0.0; axes],
                fed: vec![0.0; axes],
                used: vec![0.0; axes],
                correction: vec![0.0; axes],
            };
            correctors.push(Self {
                bond: index,
                correction,
                axes: bond.axes.clone(),
                every: u64::from(bond.every),
                point: BondPoint {
                    index: 0,
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

fn facts(graph: &Graph, bond: &Bond) -> BondFacts {
    let step = |component: usize| graph.components[component].rate.ratio() / f64::from(bond.every);
    let degree = |input: usize| {
        let (entry, arguments) = &graph.inputs[input].extrapolation;
        (entry.build)(arguments).degree()
    };
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
    }
}

impl Plant {
    /// Marks the inputs that corrections may change, and settles how all inputs are given.
    pub(crate) fn mark_corrected_inputs(&mut self) {
        for corrector in &self.correctors {
            let degree = corrector.correction.degree();
            for axis in &corrector.axes {
                for input in [axis.effort_input, axis.flow_input] {
                    self.states[input].is_corrected = true;
                    self.states[input].degree = self.states[input].degree.max(degree);
                }
            }
        }
        self.mark_fed_forward_inputs();
        for member in &mut self.members {
            member.settle_inputs(&self.states[member.inputs.clone()]);
        }
        self.uniform = self.turns.is_none()
            && self.graph.interface_models.is_empty()
            && self.members.iter().all(Member::runs_straight);
        self.all_hold = self
            .states
            .iter()
            .all(|state| state.extrapolation.is_none());
    }

    /// Asks learned feed-forward and the corrections for what they add over the step. To be called before the step's inputs
    /// are fed.
    ///
    /// # Errors
    /// A unit that refuses the derivatives that a correction needs.
    #[inline]
    pub fn correct(&mut self, step: &Step) -> Result<(), Fault> {
        self.play_feed_forward(step);
        if self.correctors.is_empty() {
            return Ok(());
        }
        self.correct_bonds(step)
    }

    fn correct_bonds(&mut self, step: &Step) -> Result<(), Fault> {
        self.measure_jacobians(step)?;
        for corrector in &mut self.correctors {
            for axis in &corrector.axes {
                for input in [axis.effort_input, axis.flow_input] {
                    if step.index.is_multiple_of(corrector.every) {
                        self.states[input].correction = Curve::default();
                    }
                }
            }
        }
        for corrector in &mut self.correctors {
            if step.index.is_multiple_of(corrector.every) {
                corrector.move_to(step);
                corrector.take_values(&self.outputs, &self.inputs, &self.states);
                corrector.take_errors(&self.stale_errors);
                corrector.propose();
            }
        }
        self.limit_groups();
        for corrector in &mut self.correctors {
            if step.index.is_multiple_of(corrector.every) {
                corrector.apply(&mut self.states);
            }
        }
        Ok(())
    }

    /// Scales the proposals of each group of bonds down to its limit (Rodríguez 2022 eq. 17, on the
    /// sum of the forces that act on one receiver).
    fn limit_groups(&mut self) {
        for first in 0..self.correctors.len() {
            if self.correctors[first].group != first {
                continue;
            }
            let Some(limit) = self.correctors[first].correction.limit() else {
                continue;
            };
            let group = || {
                self.correctors
                    .iter()
                    .filter(|corrector| corrector.group == first)
            };
            let mut scale = 1.0_f64;
            for flows in [false, true] {
                let (mut asked, mut signal) = (0.0, 0.0);
                for axis in 0..self.correctors[first].axes.len() {
                    asked += group()
                        .map(|c| c.increment(axis, flows))
                        .sum::<f64>()
                        .powi(2);
                    signal += group().map(|c| c.signal(axis, flows)).sum::<f64>().powi(2);
                }
                let (asked, signal) = (asked.sqrt(), signal.sqrt());
                let allowed = (limit.relative * signal).min(limit.absolute);
                // A limit of infinity times a signal of 0 is no number, and no limit.
                if asked > allowed {
                    scale = scale.min(allowed / asked);
                }
            }
            for corrector in self
                .correctors
                .iter_mut()
                .filter(|corrector| corrector.group == first)
            {
                corrector.scale = scale;
            }
        }
    }
}

impl Corrector {
    /// Moves to the point at which `step` starts.
    fn move_to(&mut self, step: &Step) {
        self.point.index = step.index / self.every;
        self.point.step = self.last_step;
        self.last_step = step.size * self.every as f64;
        self.point.next_step = self.last_step;
    }

    fn take_values(&mut self, outputs: &[f64], inputs: &[f64], states: &[InputState]) {
        let point = &mut self.point;
        for (index, axis) in self.axes.iter().enumerate() {
            for (side, output, input) in [
                (&mut point.effort, axis.effort_output, axis.effort_input),
                (&mut point.flow, axis.flow_output, axis.flow_input),
            ] {
                side.previous_output[index] = side.output[index];
                side.output[index] = outputs[output];
                side.fed[index] = states[input].fed(outputs);
                side.used[index] = inputs[input];
            }
        }
    }

    fn take_errors(&mut self, errors: &[f64]) {
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
    fn propose(&mut self) {
        self.increments.effort.fill(Curve::default());
        self.increments.flow.fill(Curve::default());
        self.scale = 1.0;
        self.correction.correct(&self.point, &mut self.increments);
    }

    fn increment(&self, axis: usize, flow: bool) -> f64 {
        let curves = if flow {
            &self.increments.flow
        } else {
            &self.increments.effort
        };
        curves[axis].coefficients[0]
    }

    fn signal(&self, axis: usize, flow: bool) -> f64 {
        if flow {
            self.point.flow.output[axis]
        } else {
            self.point.effort.output[axis]
        }
    }

    /// Adds the scaled increments to the inputs, and notes what they are at the end of the step.
    fn apply(&mut self, states: &mut [InputState]) {
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
                states[input].correction = states[input].correction.plus(&scaled);
                side.correction[index] = scaled.at(self.last_step);
            }
        }
    }
}
