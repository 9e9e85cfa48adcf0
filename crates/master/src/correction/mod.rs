//! Corrections of the inputs of a power bond.

mod auto;
mod equal_displacement;
mod nepce;
mod residual_power;

pub use crate::curve::Curve;
use crate::need::{Facts, Need};
use crate::registry::{Entry, EntryKind};
use crate::state_stream::{StateStream, Stored, stored};

/// Description of a bond for its correction, known before the run.
#[derive(Debug, Clone, PartialEq)]
pub struct BondFacts {
    /// Number of axes.
    pub axes: usize,
    /// Communication step of the component that gives the effort, over the bond's step.
    pub effort_side_step: f64,
    /// Communication step of the component that gives the flow, over the bond's step.
    pub flow_side_step: f64,
    /// The effort depends directly on the flow.
    pub effort_feedthrough: bool,
    /// The flow depends directly on the effort.
    pub flow_feedthrough: bool,
    /// Degree of the extrapolation of the effort, at the receiver.
    pub effort_degree: usize,
    /// Degree of the extrapolation of the flow, at the receiver.
    pub flow_degree: usize,
    /// Direct feed-through is known to be exchanged stale: outputs of the bond are a step late.
    pub is_stale: bool,
}

/// One direction of a bond at a communication point k: the efforts, or the flows, axis by axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Side {
    /// Outputs at k, as published.
    pub output: Vec<f64>,
    /// Outputs at k − 1.
    pub previous_output: Vec<f64>,
    /// Error of the outputs at k against the outputs for the new inputs: −D·(u − ũ) for stale
    /// direct feed-through; NaN if D is unknown.
    pub error: Vec<f64>,
    /// The same at k − 1, in effect during the step from k − 1 to k.
    pub previous_error: Vec<f64>,
    /// Values of the receiving inputs at k if the outputs were passed on unchanged (L·y).
    pub fed: Vec<f64>,
    /// Values of the receiving inputs in effect at k, at the end of the step from k − 1 (ũ),
    /// corrections included.
    pub used: Vec<f64>,
    /// Means of the receiving inputs over the step from k − 1 to k, as their units received them.
    pub applied: Vec<f64>,
    /// The difference that the receiving inputs missed at k: fed − used. If means of a prediction were given, the
    /// prediction for k counts.
    pub missed: Vec<f64>,
    /// Correction of the receiving inputs over the step from k − 1 to k, at its end.
    pub correction: Vec<f64>,
}

impl Side {
    /// Zeros on all axes.
    pub(crate) fn zero(axes: usize) -> Self {
        Self {
            output: vec![0.0; axes],
            previous_output: vec![0.0; axes],
            error: vec![0.0; axes],
            previous_error: vec![0.0; axes],
            fed: vec![0.0; axes],
            used: vec![0.0; axes],
            applied: vec![0.0; axes],
            missed: vec![0.0; axes],
            correction: vec![0.0; axes],
        }
    }
}

/// A bond at a communication point, as its correction sees it. All power is weight·effort·flow.
#[derive(Debug, Clone, PartialEq)]
pub struct BondPoint {
    /// Number of the point, 0 at the start.
    pub index: u64,
    /// Simulated time, s.
    pub time: f64,
    /// Length of the step that ended here, s.
    pub step: f64,
    /// Length of the step that starts here, s.
    pub next_step: f64,
    /// ∂fed effort/∂flow input used, as far as stale direct feed-through makes it: axes by axes, row
    /// by row. Zeros unless the correction [needs them](CorrectionFacts::needs_jacobian).
    pub effort_by_flow: Vec<f64>,
    /// ∂fed flow/∂effort input used, likewise.
    pub flow_by_effort: Vec<f64>,
    /// The efforts, which end a gives.
    pub effort: Side,
    /// The flows, which end b gives.
    pub flow: Side,
    /// Sense and gains, axis by axis.
    pub weight: Vec<f64>,
}

/// Corrections of the inputs of a bond over the coming step, axis by axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Increments {
    /// Added to the effort inputs at end b.
    pub effort: Vec<Curve>,
    /// Added to the flow inputs at end a.
    pub flow: Vec<Curve>,
}

impl Increments {
    /// Nothing on any axis.
    pub fn none(axes: usize) -> Self {
        Self {
            effort: vec![Curve::default(); axes],
            flow: vec![Curve::default(); axes],
        }
    }
}

/// The greatest correction, relative to the corrected signal and absolute. Bonds that correct the
/// same signals of one receiver are limited together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limit {
    /// Relative to the magnitude of the uncorrected signal at this point.
    pub relative: f64,
    /// In the unit of the signal.
    pub absolute: f64,
}

/// Facts about a correction before it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CorrectionFacts {
    /// Highest degree of the increments' curves.
    pub degree: usize,
    /// It needs the interface Jacobian at each point.
    pub needs_jacobian: bool,
    /// It removes the energy that stale feed-through adds, so that the energy audit can judge it.
    /// Corrections of other errors, of held inputs for example, are not judged.
    pub removes_stale_energy: bool,
}

impl Facts for CorrectionFacts {
    fn needs(&self) -> Vec<Need> {
        vec![Need::InputCourse, Need::LastValues]
    }
}

impl EntryKind for dyn Correction {
    const NAME: &'static str = "correction";
    const RESERVED: &'static [&'static str] = &["off"];
    type Made = Box<dyn Correction>;
    type Context = ();
    type Facts = CorrectionFacts;
    const USUAL: () = ();
}

/// Corrects the inputs of one bond.
pub trait Correction: Send {
    /// Called once, when the units are initialised.
    fn begin(&mut self, facts: &BondFacts);

    /// Computes the corrections over the step that starts at `point`; `increments` comes zeroed.
    fn correct(&mut self, point: &BondPoint, increments: &mut Increments);

    /// The limit on what [`correct`](Self::correct) asks for.
    fn limit(&self) -> Option<Limit> {
        None
    }

    /// Another one in the same state, to go back to.
    fn duplicate(&self) -> Box<dyn Correction>;

    /// Writes the state to a stream, or reads it from there into one that was made and begun alike: all that changes in a
    /// run. The default refuses: the state of a run with it is not kept in a file.
    fn transfer(&mut self, stream: &mut StateStream) {
        stream.unable();
    }

    /// Parameters in force, for the report, also those taken from a rule.
    fn parameters_in_force(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The choice that it has made by itself for the run.
    fn choice(&self) -> Option<CorrectionChoice> {
        None
    }
}

/// A choice that a correction has made by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CorrectionChoice {
    /// The choice.
    pub what: &'static str,
    /// The reason.
    pub why: &'static str,
}

impl Clone for Box<dyn Correction> {
    fn clone(&self) -> Self {
        self.duplicate()
    }
}

impl Stored for Box<dyn Correction> {
    fn transfer(&mut self, stream: &mut StateStream) {
        (**self).transfer(stream);
    }
}

/// Every correction, by its word in a system file.
pub const CORRECTIONS: &[Entry<dyn Correction>] = &[
    residual_power::ENTRY,
    nepce::ENTRY,
    nepce::WITH_FEEDTHROUGH,
    equal_displacement::ENTRY,
    auto::ENTRY,
];

stored!(BondPoint {
    index,
    time,
    step,
    next_step,
    effort_by_flow,
    flow_by_effort,
    effort,
    flow,
    weight
});
stored!(Side {
    output,
    previous_output,
    error,
    previous_error,
    fed,
    used,
    correction;
    applied,
    missed
});
stored!(Increments { effort, flow });

#[cfg(test)]
mod tests {
    use gyrator_system::{Choice, Value};

    use super::*;
    use crate::registry::look_up;

    /// The correction of this word with these numbers and words, for a bond with these facts.
    pub(super) fn begun(
        word: &str,
        parameters: &[(&str, Value)],
        facts: &BondFacts,
    ) -> Box<dyn Correction> {
        let choice =
            |choice: Choice, (name, value): &(&str, Value)| choice.with(*name, value.clone());
        let choice = parameters.iter().fold(Choice::new(word), choice);
        let mut correction = look_up(CORRECTIONS, &choice).unwrap().build();
        correction.begin(facts);
        correction
    }

    /// A bond of one step size, whose effort depends directly on its flow, with held inputs.
    pub(super) fn facts(axes: usize) -> BondFacts {
        BondFacts {
            axes,
            effort_side_step: 1.0,
            flow_side_step: 1.0,
            effort_feedthrough: true,
            flow_feedthrough: false,
            effort_degree: 0,
            flow_degree: 0,
            is_stale: true,
        }
    }

    /// A point of such a bond at which all signals are zero.
    pub(super) fn point(index: u64, axes: usize) -> BondPoint {
        let side = Side::zero(axes);
        BondPoint {
            index,
            time: index as f64,
            step: 1.0,
            next_step: 1.0,
            effort_by_flow: vec![0.0; axes * axes],
            flow_by_effort: vec![0.0; axes * axes],
            effort: side.clone(),
            flow: side,
            weight: vec![1.0; axes],
        }
    }

    /// Constants that the correction adds to the efforts and to the flows.
    pub(super) fn corrected(
        correction: &mut dyn Correction,
        point: &BondPoint,
    ) -> (Vec<f64>, Vec<f64>) {
        let mut increments = Increments::none(point.weight.len());
        correction.correct(point, &mut increments);
        let constants = |curves: Vec<Curve>| -> Vec<f64> {
            let constant = |curve: Curve| {
                assert_eq!(curve, curve.truncated(0));
                curve.at(0.0)
            };
            curves.into_iter().map(constant).collect()
        };
        (constants(increments.effort), constants(increments.flow))
    }

    #[test]
    fn the_registry_says_what_each_correction_removes() {
        let facts = |word| look_up(CORRECTIONS, &Choice::new(word)).unwrap().facts(&());
        for (word, needs_jacobian, removes_stale_energy) in [
            ("residual-power", false, true),
            ("nepce", false, false),
            ("nepce-feedthrough", true, false),
            ("equal-displacement", false, false),
            ("auto", false, false),
        ] {
            let expected = CorrectionFacts {
                degree: 0,
                needs_jacobian,
                removes_stale_energy,
            };
            assert_eq!(facts(word), expected, "{word}");
        }
    }

    #[test]
    fn a_correction_without_limit_and_parameters_has_none() {
        struct Nothing;
        impl Correction for Nothing {
            fn begin(&mut self, _facts: &BondFacts) {}
            fn correct(&mut self, _point: &BondPoint, _increments: &mut Increments) {}
            fn duplicate(&self) -> Box<dyn Correction> {
                Box::new(Self)
            }
        }
        assert_eq!(Nothing.limit(), None);
        assert_eq!(Nothing.parameters_in_force(), []);
        assert_eq!(Nothing.choice(), None);
        // Its state is not kept in a file.
        let mut stream = StateStream::to_write();
        Nothing.transfer(&mut stream);
        assert!(stream.trouble().is_some());
    }
}
