//! Interface models: a reduced model of a multibody component at its bonds, with which fast
//! components exchange values many times within a macro-step (Rahikainen et al. 2020 §2.3.1).
//!
//! The reduced model has one coordinate for each velocity at the bonds, and moves by
//! ẇ = b + W·λ (eqs 13–15): b is the free acceleration, W the inverse effective mass, λ the forces
//! of the fast components. An order says which side steps first and which force the multibody
//! component receives (§2.3.1): `parallel` the force at the start of the step, as in the paper, or
//! a predicted mean; `fast-first` and `pipelined` the mean over the step (own), so that both sides
//! get one impulse.
//!
//! Use it if a stiff, fast component (a hydraulic cylinder) on a heavy, slow one limits the
//! macro-step. Limits: W and b are constant over a macro-step, exchanges are of first order in their
//! step, and the component has to give W and b, or accelerations with their derivatives.

mod prediction;
mod schedule;

use crate::need::{Facts, Need, where_true};
use crate::registry::{Arguments, EntryKind, ParameterInfo, ParameterKind};

pub(crate) use prediction::{Prediction, Sides};
pub use schedule::{FastInputs, PassedForce, Schedule};

pub(crate) const FORCE: ParameterInfo = ParameterInfo {
    name: "force",
    summary: "force that the multibody component receives: the value at the start of the step, or its mean over the step as \
              linear models of both sides predict it",
    kind: ParameterKind::Word(&[PassedForce::Hold.word(), PassedForce::Predicted.word()]),
};

pub(crate) const MEAN_FORCE: ParameterInfo = ParameterInfo {
    name: "force",
    summary: "force that the multibody component receives: the mean over the exchange points of the step",
    kind: ParameterKind::Word(&[PassedForce::Mean.word()]),
};

pub(crate) const INPUTS: ParameterInfo = ParameterInfo {
    name: "inputs",
    summary: "inputs of the fast components between exchanges: held at the value of the end, or moving there in a line",
    kind: ParameterKind::Word(&[FastInputs::Hold.word(), FastInputs::Linear.word()]),
};

pub(crate) const DISPLACEMENT_CORRECTION: ParameterInfo = ParameterInfo::number_or_auto(
    "displacement_correction",
    "share of the difference between the true displacement and the one fed so far that is added to the fed \
              velocities over the next macro-step; auto: as much as the friction of the multibody component allows, at most \
              half, and nothing in order parallel or without positions",
    (0.0, 1.0),
);

pub(crate) const MASS_FACTOR: ParameterInfo = ParameterInfo::number(
    "mass_factor",
    "factor on the effective mass; rather under 1 than over where the mass is not certain",
    1.0,
    (1e-3, 1e3),
);

pub(crate) const LAG: ParameterInfo = ParameterInfo::whole_number(
    "lag",
    "age of the masses and free accelerations that are used, whole macro-steps",
    0,
    (0, 16),
);

/// Facts about the order of an interface model before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ScheduleFacts {
    /// It feeds displacement errors back, and needs the positions.
    pub needs_positions: bool,
    /// It predicts forces, and needs to know how the fast side's forces change.
    pub needs_force_rates: bool,
}

/// The facts that follow from the parameters.
pub(crate) fn facts(arguments: &Arguments, (): &()) -> ScheduleFacts {
    ScheduleFacts {
        needs_positions: arguments.number_or_auto("displacement_correction") > Some(0.0),
        needs_force_rates: arguments.word("force") == PassedForce::Predicted.word(),
    }
}

impl Facts for ScheduleFacts {
    fn needs(&self) -> Vec<Need> {
        where_true([
            (Need::Positions, self.needs_positions),
            (Need::ForceRates, self.needs_force_rates),
        ])
    }
}

impl EntryKind for Schedule {
    const NAME: &'static str = "order";
    type Made = Self;
    type Context = ();
    type Facts = ScheduleFacts;
    const USUAL: () = ();
}

/// An interface model of a resolved system: indices into the graph's components, inputs and outputs.
#[derive(Debug, Clone)]
pub(crate) struct InterfaceModel {
    pub(crate) name: String,
    /// The multibody component.
    pub(crate) component: usize,
    /// The fast components, ascending.
    pub(crate) fast: Vec<usize>,
    /// Exchanges in a macro-step.
    pub(crate) exchanges: u32,
    pub(crate) coordinates: Vec<Coordinate>,
    pub(crate) efforts: Vec<Effort>,
    pub(crate) mass: Mass,
    pub(crate) schedule: Schedule,
    /// Facts about its order.
    pub(crate) facts: ScheduleFacts,
}

/// A velocity at the bonds, with its variables.
#[derive(Debug, Clone)]
pub(crate) struct Coordinate {
    /// The multibody component's output.
    pub(crate) velocity: usize,
    pub(crate) position: Option<usize>,
    /// The fast component's output that is the whole force; without one, the efforts are.
    pub(crate) force: Option<usize>,
    /// −∂Ḟ/∂v and Ḟ, for the predicted force.
    pub(crate) stiffness: Option<usize>,
    pub(crate) force_rate: Option<usize>,
}

/// An axis of a bond: the effort that acts on a coordinate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) coordinate: usize,
    pub(crate) output: usize,
    pub(crate) input: usize,
    /// Force on the coordinate = weight · effort.
    pub(crate) weight: f64,
}

/// Where the inverse mass W (row by row) and the free acceleration b come from.
#[derive(Debug, Clone)]
pub(crate) enum Mass {
    /// Outputs of the multibody component; elements without one are 0.
    Outputs {
        inverse: Vec<Option<usize>>,
        free: Vec<usize>,
    },
    /// Accelerations a: W = ∂a/∂λ, b = a − W·λ.
    Accelerations(Vec<usize>),
}
