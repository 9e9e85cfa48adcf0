//! A reduced interface model, while it runs, as data. Its stages compute with it.

use crate::curve::Curve;
use crate::elimination::Elimination;
use crate::graph::Graph;
use crate::interface_model::{InterfaceModel, Prediction};
use crate::state_stream::stored;

/// An interface model and the state of its reduced model. Vectors are by coordinate.
#[derive(Clone)]
pub(crate) struct ReducedModel {
    /// Index in the graph.
    pub(crate) model: usize,
    /// The inputs of the fast components, in their order.
    pub(crate) inputs: Vec<FastInput>,
    pub(crate) has_started: bool,
    pub(crate) position: Vec<f64>,
    pub(crate) velocity: Vec<f64>,
    /// Position and velocity at the start of the macro-step in progress, or of the exchange.
    pub(crate) position_before: Vec<f64>,
    pub(crate) velocity_before: Vec<f64>,
    /// Position and velocity that the fast components were given at the start of the macro-step.
    pub(crate) start: (Vec<f64>, Vec<f64>),
    /// W (row by row) and b, newest first, as often as they are used late.
    pub(crate) masses: Vec<(Vec<f64>, Vec<f64>)>,
    pub(crate) force: Vec<f64>,
    pub(crate) acceleration: Vec<f64>,
    /// Displacement that the fed velocities add up to.
    pub(crate) fed_displacement: Vec<f64>,
    /// Mean of each fed velocity over an exchange, as a fraction of its change.
    pub(crate) progress: Vec<f64>,
    pub(crate) displacement_error: Vec<f64>,
    /// Velocity that is added to the fed one, against the displacement error.
    pub(crate) feedback: Vec<f64>,
    /// Friction of the multibody component, by coordinate, and the equations that the share of the feedback is chosen with.
    pub(crate) friction: Vec<f64>,
    pub(crate) equations: Elimination,
    /// Mean efforts over the macro-step, by effort.
    pub(crate) means: Vec<f64>,
    pub(crate) first_efforts: Vec<f64>,
    pub(crate) prediction: Prediction,
    pub(crate) force_rate: Vec<f64>,
    pub(crate) stiffness: Vec<f64>,
}

/// An input of a fast component.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FastInput {
    pub(crate) input: usize,
    pub(crate) drive: Drive,
    /// Its course over the macro-step, if it comes from outside.
    pub(crate) planned: Curve,
    /// The value that the component used first in the macro-step.
    pub(crate) first: f64,
}

/// Source of an input of a fast component.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Drive {
    Position(usize),
    Velocity(usize),
    /// A fast component of the same interface model, at each exchange.
    Neighbour,
    /// Anything else, at the communication points.
    Outside,
}

impl ReducedModel {
    pub(crate) fn new(model: usize, graph: &Graph) -> Self {
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
            masses: vec![mass(); described.schedule.age + 1],
            force: zeros(),
            acceleration: zeros(),
            fed_displacement: zeros(),
            progress: vec![1.0; count],
            displacement_error: zeros(),
            feedback: zeros(),
            friction: zeros(),
            equations: Elimination::new(count),
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

stored!(ReducedModel {
    inputs,
    has_started,
    position,
    velocity,
    position_before,
    velocity_before,
    start,
    masses,
    force,
    acceleration,
    fed_displacement,
    progress,
    displacement_error,
    feedback,
    friction,
    means,
    first_efforts,
    prediction,
    force_rate,
    stiffness;
    model,
    equations
});
stored!(FastInput { planned, first; input, drive });
