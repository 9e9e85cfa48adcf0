use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::LinearUnit;

use super::Combination;
use super::draft::Draft;
use crate::model_unit::ModelUnit;
use crate::spy::{Spied, Spy};

/// A system on which every combination is tried.
pub(super) struct TestSystem {
    pub(super) name: &'static str,
    pub(super) draft: fn(&Combination) -> Draft,
}

pub(super) const SYSTEMS: &[TestSystem] = &[
    TestSystem {
        name: "single rate",
        draft: |combination| oscillator(1.0, 1.0, 0, combination),
    },
    TestSystem {
        name: "single rate, input derivatives",
        draft: |combination| oscillator(1.0, 1.0, 2, combination),
    },
    TestSystem {
        name: "fast force side",
        draft: |combination| oscillator(0.25, 1.0, 0, combination),
    },
    TestSystem {
        name: "fast motion side, input derivatives",
        draft: |combination| oscillator(1.0, 0.25, 1, combination),
    },
    TestSystem {
        name: "slow force side",
        draft: |combination| oscillator(4.0, 1.0, 0, combination),
    },
    TestSystem {
        name: "slow motion side, fast force side",
        draft: |combination| oscillator(0.5, 3.0, 0, combination),
    },
    TestSystem {
        name: "vector bond",
        draft: vector_bond,
    },
    TestSystem {
        name: "chain with feed-through",
        draft: chain,
    },
];

/// The double oscillator, each side with a communication step of so many macro-steps.
fn oscillator(force: f64, motion: f64, derivatives: u32, combination: &Combination) -> Draft {
    let mut draft = Draft::new(1e-3);
    let unit = ModelUnit::<OscillatorForce>::new().with_input_derivatives(derivatives);
    draft.unit("force", force, unit, combination);
    let unit = ModelUnit::<OscillatorMotion>::new().with_input_derivatives(derivatives);
    draft.unit("motion", motion, unit, combination);
    draft.connect("motion.x", "force.x2");
    draft.bond(&[(("force.f", "motion.f"), ("motion.v", "force.v2"))]);
    draft
}

/// The double oscillator with a spy on each side. The force may be read again after its inputs were
/// set where `fresh` says so.
pub(super) fn spied_oscillator(
    force: f64,
    motion: f64,
    derivatives: u32,
    fresh: bool,
    combination: &Combination,
) -> (Draft, [Spied; 2]) {
    let mut draft = Draft::new(1e-3);
    let unit = ModelUnit::<OscillatorForce>::new().with_input_derivatives(derivatives);
    let unit = if fresh { unit } else { unit.without_fresh() };
    let (unit, of_force) = Spy::on(unit);
    draft.unit("force", force, unit, combination);
    let (unit, of_motion) = Spy::on(ModelUnit::<OscillatorMotion>::new());
    draft.unit("motion", motion, unit, combination);
    draft.connect("motion.x", "force.x2");
    draft.bond(&[(("force.f", "motion.f"), ("motion.v", "force.v2"))]);
    (draft, [of_force, of_motion])
}

/// Two masses in a plane, coupled by a spring and a damper along both axes.
fn vector_bond(combination: &Combination) -> Draft {
    const AXES: [(&str, &str); 2] = [("force.fx", "motion.fx"), ("force.fy", "motion.fy")];
    const BACK: [(&str, &str); 2] = [("motion.vx", "force.ux"), ("motion.vy", "force.uy")];
    let mut draft = Draft::new(1e-2);
    #[rustfmt::skip]
    let force = LinearUnit::new(&[0.1, -0.2, 1.0, 0.5], &["px", "py", "ux", "uy"], &["fx", "fy"], [
        &[
            0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
            -30.0, 0.0, -0.2, 0.0, 0.0, -45.0, 0.0, -0.2,
        ],
        &[
            0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
            20.0, 0.0, 0.1, 0.0, 0.0, 20.0, 0.0, 0.1,
        ],
        &[20.0, 0.0, 0.1, 0.0, 0.0, 20.0, 0.0, 0.1],
        &[-20.0, 0.0, -0.1, 0.0, 0.0, -20.0, 0.0, -0.1],
    ]);
    #[rustfmt::skip]
    let motion = LinearUnit::new(&[0.0, 0.0, -1.0, 2.0], &["fx", "fy"], &["px", "py", "vx", "vy"], [
        &[
            0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
            -90.0, 0.0, 0.0, 0.0, 0.0, -70.0, 0.0, 0.0,
        ],
        &[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        &[
            1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0,
            0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ],
        &[0.0; 8],
    ]);
    draft.unit("force", 1.0, force, combination);
    draft.unit("motion", 0.5, motion, combination);
    draft.connect("motion.px", "force.px");
    draft.connect("motion.py", "force.py");
    draft.bond(&[(AXES[0], BACK[0]), (AXES[1], BACK[1])]);
    draft
}

/// A lag whose output passes two units with feed-through before it comes back.
fn chain(combination: &Combination) -> Draft {
    let mut draft = Draft::new(1e-2);
    let lag = |gain: f64, feedthrough: f64| {
        let matrices: [&[f64]; 4] = [&[-3.0], &[gain], &[1.0], &[feedthrough]];
        LinearUnit::new(&[1.0], &["u"], &["y"], matrices)
    };
    draft.unit("first", 1.0, lag(-0.4, 0.0), combination);
    draft.unit("second", 2.0, lag(1.5, 0.8), combination);
    draft.unit("third", 0.5, lag(-2.0, 1.2), combination);
    draft.connect("first.y", "second.u");
    draft.connect("second.y", "third.u");
    draft.connect("third.y", "first.u");
    draft
}
