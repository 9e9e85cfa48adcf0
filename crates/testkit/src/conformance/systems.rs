//! The systems on which every combination of words is tried.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::LinearUnit;

use super::draft::{Draft, Wire};
use crate::combination::Combination;
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
        name: "three units, two vector bonds on one of them",
        draft: star,
    },
    TestSystem {
        name: "chain with feed-through",
        draft: chain,
    },
];

/// Makes a system with the words of a combination.
type Twin = fn(&Combination, MadeOf) -> Draft;

/// Systems of FMUs of the kit, and of the same models in this process.
pub(super) const TWINS: &[(&str, Twin)] = &[
    ("single rate", |combination, made_of| {
        pairs(&[(1.0, 1.0)], combination, made_of)
    }),
    (
        "fast force side, slow motion side",
        |combination, made_of| pairs(&[(0.25, 3.0)], combination, made_of),
    ),
    ("three pairs, of two rates", |combination, made_of| {
        pairs(&[(1.0, 1.0), (1.0, 1.0), (4.0, 0.5)], combination, made_of)
    }),
];

/// What the components of a system are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MadeOf {
    Fmus,
    Models,
}

/// Double oscillators beside each other, each side with a communication step of so many macro-steps, the second with connections
/// in the place of its bond.
fn pairs(steps: &[(f64, f64)], combination: &Combination, made_of: MadeOf) -> Draft {
    const NAMES: [[&str; 2]; 3] = [
        ["force", "motion"],
        ["force 2", "motion 2"],
        ["force 3", "motion 3"],
    ];
    const PORTS: [[Wire; 3]; 3] = [
        [
            ("motion.x", "force.x2"),
            ("force.f", "motion.f"),
            ("motion.v", "force.v2"),
        ],
        [
            ("motion 2.x", "force 2.x2"),
            ("force 2.f", "motion 2.f"),
            ("motion 2.v", "force 2.v2"),
        ],
        [
            ("motion 3.x", "force 3.x2"),
            ("force 3.f", "motion 3.f"),
            ("motion 3.v", "force 3.v2"),
        ],
    ];
    // More macro-steps than are made in a row.
    let mut draft = Draft::new(1e-3).steps(96);
    for (index, (force, motion)) in steps.iter().enumerate() {
        let [of_force, of_motion] = NAMES[index];
        match made_of {
            MadeOf::Fmus => {
                draft.fmu(of_force, *force, "OscillatorForce", combination);
                draft.fmu(of_motion, *motion, "OscillatorMotion", combination);
            }
            MadeOf::Models => {
                draft.unit(
                    of_force,
                    *force,
                    ModelUnit::<OscillatorForce>::new(),
                    combination,
                );
                draft.unit(
                    of_motion,
                    *motion,
                    ModelUnit::<OscillatorMotion>::new(),
                    combination,
                );
            }
        }
        let [position, effort, flow] = PORTS[index];
        draft.connect(position.0, position.1);
        if index == 1 {
            draft.connect(effort.0, effort.1);
            draft.connect(flow.0, flow.1);
        } else {
            draft.bond(&[(effort, flow)]);
        }
    }
    draft
}

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
/// set if `fresh` says so.
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
    let mut draft = Draft::new(1e-2);
    draft.unit("force", 1.0, arm(), combination);
    draft.unit("motion", 0.5, hub(&["fx", "fy"]), combination);
    draft.connect("motion.px", "force.px");
    draft.connect("motion.py", "force.py");
    draft.bond(&[
        (("force.fx", "motion.fx"), ("motion.vx", "force.ux")),
        (("force.fy", "motion.fy"), ("motion.vy", "force.uy")),
    ]);
    draft
}

/// A mass in a plane with two arms, each on a bond with two axes.
pub(super) fn star(combination: &Combination) -> Draft {
    let mut draft = Draft::new(1e-2);
    draft.unit("hub", 1.0, hub(&["fx1", "fy1", "fx2", "fy2"]), combination);
    draft.unit("one", 1.0, arm(), combination);
    draft.unit("two", 0.25, arm(), combination);
    for (from, to) in [
        ("hub.px", "one.px"),
        ("hub.py", "one.py"),
        ("hub.px", "two.px"),
        ("hub.py", "two.py"),
    ] {
        draft.connect(from, to);
    }
    draft.bond(&[
        (("one.fx", "hub.fx1"), ("hub.vx", "one.ux")),
        (("one.fy", "hub.fy1"), ("hub.vy", "one.uy")),
    ]);
    draft.bond(&[
        (("two.fx", "hub.fx2"), ("hub.vx", "two.ux")),
        (("two.fy", "hub.fy2"), ("hub.vy", "two.uy")),
    ]);
    draft
}

/// A mass on springs in a plane that gives forces by a spring and a damper to a point that moves.
fn arm() -> LinearUnit {
    #[rustfmt::skip]
    let matrices: [&[f64]; 4] = [
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
    ];
    let inputs = ["px", "py", "ux", "uy"];
    LinearUnit::new(&[0.1, -0.2, 1.0, 0.5], &inputs, &["fx", "fy"], matrices)
}

/// A mass on springs in a plane that takes forces, along x and y in turn.
fn hub(forces: &[&str]) -> LinearUnit {
    let alternate =
        |first: f64, second: f64| (0..forces.len()).map(move |k| [first, second][k % 2]);
    let of_forces: Vec<f64> = [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (0.0, 1.0)]
        .into_iter()
        .flat_map(|(x, y)| alternate(x, y))
        .collect();
    let no_feedthrough = vec![0.0; 4 * forces.len()];
    #[rustfmt::skip]
    let of_states = [
        0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        -90.0, 0.0, 0.0, 0.0, 0.0, -70.0, 0.0, 0.0,
    ];
    #[rustfmt::skip]
    let outputs = [
        1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0,
        0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
    ];
    let matrices: [&[f64]; 4] = [&of_states, &of_forces, &outputs, &no_feedthrough];
    let start = [0.0, 0.0, -1.0, 2.0];
    LinearUnit::new(&start, forces, &["px", "py", "vx", "vy"], matrices)
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
