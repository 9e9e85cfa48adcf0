//! Linearly implicit coupling, against closed forms of the coupled equations and against `iterative`.

use gyrator::{ClosureUnit, RunOptions, StartError, System, Unit};
use gyrator_system::Choice;

use crate::iterative::{
    K1, K2, KC, Linear, START, difference, force, gain, implicit, matrix, motion, start,
    stiff_pair, system, vector, word,
};

fn linear_implicit(held: &str) -> Choice {
    Choice::new("linear-implicit").with("held", word(held))
}

/// Two outputs are measured when a run begins; each macro-step has a trial step and a step.
const fn passes(steps: u64) -> u64 {
    2 + 2 * steps
}

#[test]
fn a_step_of_linear_units_solves_the_equations_of_the_implicit_coupling() {
    for (damping, held, follows) in [
        (0.0, "end", false),
        (2.0, "end", false),
        (0.0, "mean", false),
        (0.0, "end", true),
        (2.0, "end", true),
    ] {
        // Also far beyond the step at which explicit methods are stable.
        for h in [0.005, 0.5] {
            let units = || {
                [
                    force(damping).following(follows),
                    motion(1.0).following(follows),
                ]
            };
            let expected = implicit(units(), h, 40, held);
            let mut run = start(&system(units(), h, linear_implicit(held)));
            let difference = difference(&mut run, &expected);
            let case = format!("{damping} {held} {follows} {h}");
            assert!(difference < 1e-10, "{case}: {difference:e}");
            let counters = run.report().counters;
            assert_eq!(counters.iterations, passes(40), "{case}");
            assert_eq!(counters.unconverged_steps, 0, "{case}");
        }
    }
}

/// ẋ = u, y = −g·x: x/(1 + g·H) a step, or, with lines, x·(1 − g·H/2)/(1 + g·H/2).
#[test]
fn a_stiff_pair_is_solved_by_one_trial_step() {
    for gain in [30.0, 100.0] {
        for follows in [false, true] {
            let z = 0.1 * gain;
            let factor = if follows {
                (1.0 - z / 2.0) / (1.0 + z / 2.0)
            } else {
                1.0 / (1.0 + z)
            };
            let mut run = start(&stiff_pair(gain, follows, linear_implicit("end")));
            let mut state: f64 = 1.0;
            for _ in 0..20 {
                run.step().unwrap();
                state *= factor;
                let difference = run.read_real("state.y").unwrap() - state;
                assert!(difference.abs() < 1e-10, "{gain} {follows}: {difference:e}");
            }
            assert_eq!(run.report().counters.iterations, passes(20));
        }
    }
}

/// y = −(10·u + 50·u³) and ẋ = y, from x = 1 with H = 0.1 s: the trial step of the first step is off by far more than x.
fn cubic(method: Choice) -> System {
    let mut system = System::new(0.1);
    let curve = ClosureUnit::new(&[("u", 1.0)], &[("y", -60.0)], |call| {
        let u = call.inputs[0];
        call.outputs[0] = -10.0 * u - 50.0 * u.powi(3);
    });
    let integrator = Linear::new(
        matrix(1, &[0.0]),
        vector(&[1.0]),
        vector(&[1.0]),
        0.0,
        vector(&[1.0]),
    );
    system.add("curve", curve.memoryless());
    system.add("state", integrator);
    system.connect("state.y", "curve.u");
    system.connect("curve.y", "state.u");
    system.method(method);
    system
}

#[test]
fn a_stiff_loop_that_is_not_linear_comes_to_rest_without_overshoot() {
    let mut run = start(&cubic(linear_implicit("end")));
    let mut last: f64 = 1.0;
    for _ in 0..60 {
        run.step().unwrap();
        let state = run.read_real("state.y").unwrap();
        assert!(state.abs() <= last.abs(), "{state} after {last}");
        last = state;
    }
    assert!(last.abs() < 1e-9, "{last}");
    // Both units have one input each: their secants are never measured again.
    assert_eq!(run.report().counters.iterations, passes(60));
}

/// y = −a·u₁ − b·u₂ + c, with a and b that change at 1 s.
fn two_inputs() -> impl Unit + 'static {
    ClosureUnit::new(&[("u1", 0.0), ("u2", 0.0)], &[("y", 0.0)], |call| {
        let (a, b) = if call.time < 0.99 {
            (40.0, 5.0)
        } else {
            (4.0, 80.0)
        };
        call.outputs[0] = 7.0 - a * call.inputs[0] - b * call.inputs[1];
    })
    .memoryless()
}

#[test]
fn a_block_of_several_columns_is_measured_again_once_it_has_changed() {
    let integrator = |gain: f64| {
        Linear::new(
            matrix(1, &[0.0]),
            vector(&[gain]),
            vector(&[1.0]),
            0.0,
            vector(&[0.0]),
        )
    };
    let mut system = System::new(0.1);
    system.add("sum", two_inputs());
    system.add("one", integrator(1.0));
    system.add("two", integrator(2.0));
    for (from, to) in [
        ("one.y", "sum.u1"),
        ("two.y", "sum.u2"),
        ("sum.y", "one.u"),
        ("sum.y", "two.u"),
    ] {
        system.connect(from, to);
    }
    system.method(linear_implicit("end"));
    let mut run = start(&system);
    run.run_until(1.0).unwrap();
    // Three outputs.
    assert_eq!(run.report().counters.iterations, 3 + 2 * 10);
    // Backward Euler: s = (s₀ + H·…)/(1 + H·(a + 2·b)) with s = a·x₁ + b·x₂.
    let (x1, x2): (f64, f64) = (
        run.read_real("one.y").unwrap(),
        run.read_real("two.y").unwrap(),
    );
    let factor = 1.0 + 0.1 * (40.0 + 2.0 * 5.0);
    let rest = 7.0 * (1.0 - f64::powi(factor, -10)) / (40.0 + 2.0 * 5.0);
    assert!((x1 - rest).abs() < 1e-10 && (x2 - 2.0 * rest).abs() < 1e-10);
    run.run_until(3.0).unwrap();
    let measured = run.report().counters.iterations - 2 * 30;
    assert!((6..=9).contains(&measured), "{measured}");
    let rest = 7.0 - 4.0 * run.read_real("one.y").unwrap() - 80.0 * run.read_real("two.y").unwrap();
    assert!(rest.abs() < 1e-9, "{rest}");
}

#[test]
fn a_step_that_a_unit_discards_is_made_with_half_of_the_change() {
    let h = 0.02;
    let forces = implicit([force(20.0), motion(0.01)], h, 1, "end")[0][0].abs();
    let run_with = |limit: f64| {
        let mut motion = motion(0.01);
        motion.limit = limit;
        start(&system([force(20.0), motion], h, linear_implicit("end")))
    };
    let mut run = run_with(1.001 * forces.max(4000.0));
    run.step().unwrap();
    let message = run_with(1.0).step().unwrap_err().to_string();
    assert!(
        message.contains("motion") && message.contains("out of my range"),
        "{message}"
    );
}

#[test]
fn units_of_loops_that_can_do_neither_are_named() {
    let mut system = System::new(0.1);
    system.add("one", gain(0.5, |_| 1.0));
    system.add(
        "two",
        ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], |_| ()),
    );
    system.connect("one.y", "two.u");
    system.connect("two.y", "one.u");
    system.method("linear-implicit");
    let message = match system.start(&RunOptions::default()) {
        Err(StartError::Invalid(problems)) => problems.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    };
    assert!(
        message.contains("`two`") && message.contains("canGetAndSetFMUstate"),
        "{message}"
    );
    assert!(!message.contains("`one`"), "{message}");
}

/// A mass on a spring to the ground, coupled by a spring and a damper to a second one.
#[derive(Clone, Copy)]
struct Pair {
    name: &'static str,
    masses: [f64; 2],
    springs: [f64; 2],
    coupling: f64,
    damping: f64,
    /// x₁, v₁, length of the coupling spring; x₂, v₂.
    start: [f64; 5],
    time: f64,
}

impl Pair {
    fn units(&self, follows: bool) -> [Linear; 2] {
        let Self {
            masses: [m1, m2],
            springs: [k1, k2],
            coupling: kc,
            damping: d,
            start: s,
            ..
        } = *self;
        let a = matrix(
            3,
            &[0.0, 1.0, 0.0, -k1 / m1, -d / m1, -kc / m1, 0.0, 1.0, 0.0],
        );
        let first = Linear::new(
            a,
            vector(&[0.0, d / m1, -1.0]),
            vector(&[0.0, d, kc]),
            -d,
            vector(&s[..3]),
        );
        let a = matrix(2, &[0.0, 1.0, -k2 / m2, 0.0]);
        let second = Linear::new(
            a,
            vector(&[0.0, 1.0 / m2]),
            vector(&[0.0, 1.0]),
            0.0,
            vector(&s[3..]),
        );
        [first.following(follows), second.following(follows)]
    }

    /// Force and velocity after each of `steps` parts of the time.
    fn exact(&self, steps: usize) -> Vec<[f64; 2]> {
        let [first, second] = self.units(false);
        let d = first.d;
        let mut whole = nalgebra::DMatrix::zeros(5, 5);
        whole.view_mut((0, 0), (3, 3)).copy_from(&first.a);
        whole
            .view_mut((0, 3), (3, 2))
            .copy_from(&(&first.b * second.c.transpose()));
        whole
            .view_mut((3, 0), (2, 3))
            .copy_from(&(&second.b * first.c.transpose()));
        let corner = &second.a + &second.b * second.c.transpose() * d;
        whole.view_mut((3, 3), (2, 2)).copy_from(&corner);
        let transition = (whole * (self.time / steps as f64)).exp();
        let mut state = vector(&self.start);
        let outputs = |state: &nalgebra::DVector<f64>| {
            let velocity = state[4];
            [
                first.c[1] * state[1] + first.c[2] * state[2] + d * velocity,
                velocity,
            ]
        };
        let after = |_| {
            state = &transition * &state;
            outputs(&state)
        };
        (0..steps).map(after).collect()
    }

    /// A run in so many steps.
    fn measured(
        &self,
        steps: usize,
        follows: bool,
        method: Choice,
        extrapolation: &str,
    ) -> Measured {
        let exact = self.exact(steps);
        let h = self.time / steps as f64;
        let mut system = system(self.units(follows), h, method);
        for name in ["force", "motion"] {
            system.component(name).unwrap().extrapolation(extrapolation);
        }
        let mut run = start(&system);
        let (mut errors, mut squares) = ([0.0; 2], [0.0; 2]);
        let (mut greatest, mut bounds) = ([0.0_f64; 2], [0.0_f64; 2]);
        let ends = exact.iter().take_while(|outputs| {
            let is_made = run.step().is_ok();
            for (place, name) in ["force.y", "motion.y"].into_iter().enumerate() {
                let found = run.read_real(name).unwrap();
                errors[place] += (found - outputs[place]).powi(2);
                squares[place] += outputs[place].powi(2);
                greatest[place] = greatest[place].max(found.abs());
                bounds[place] = bounds[place].max(10.0 * outputs[place].abs());
            }
            is_made
        });
        let is_whole = ends.count() == exact.len();
        let relative = [0, 1].map(|place| f64::sqrt(errors[place] / squares[place]));
        let cost = run.report().counters.iterations as f64 / steps as f64;
        Measured {
            error: relative[0].max(relative[1]),
            cost: cost.max(1.0),
            is_bounded: is_whole && greatest[0] <= bounds[0] && greatest[1] <= bounds[1],
        }
    }
}

/// A run of a [`Pair`].
struct Measured {
    /// Root mean square of the errors over the signal's, the greater of both.
    error: f64,
    /// Steps of a unit in a macro-step.
    cost: f64,
    /// No signal exceeds ten times the exact one.
    is_bounded: bool,
}

/// The undamped oscillators of [`force`] and [`motion`]; the quarter car of Sadjina & Pedersen (2019), §5, whose road has
/// fallen by 0.1 m; a light second mass on a stiff damper, which at first moves with the other one.
const PAIRS: [Pair; 3] = [
    Pair {
        name: "oscillators",
        masses: [1.0, 1.0],
        springs: [K1, K2],
        coupling: KC,
        damping: 0.0,
        start: [0.0, START[0], 0.0, 0.0, START[1]],
        time: 2.0,
    },
    Pair {
        name: "quarter car",
        masses: [400.0, 40.0],
        springs: [0.0, 150e3],
        coupling: 15e3,
        damping: 1e3,
        start: [0.0, 0.0, 0.0, 0.1, 0.0],
        time: 4.0,
    },
    Pair {
        name: "stiff pair",
        masses: [1.0, 0.01],
        springs: [100.0, 100.0],
        coupling: 1e3,
        damping: 100.0,
        start: [0.0, 1.0, 0.0, 0.0, 1.0],
        time: 2.0,
    },
];

/// The table of docs/coupling.md: errors and steps of a unit in a macro-step, and the longest macro-step with which no
/// signal exceeds ten times the exact one.
#[test]
#[ignore = "study: errors and longest macro-steps of explicit, iterative and linearly implicit coupling"]
fn errors_and_longest_macro_steps() {
    let iterative = |held: &str| Choice::new("iterative").with("held", word(held));
    let methods: [(&str, Choice, bool); 6] = [
        ("`jacobi`", Choice::new("jacobi"), true),
        ("`gauss-seidel`", Choice::new("gauss-seidel"), true),
        ("`iterative`", iterative("end"), true),
        ("`linear-implicit`", linear_implicit("end"), true),
        ("`iterative`, held", iterative("end"), false),
        ("`linear-implicit`, held", linear_implicit("end"), false),
    ];
    for pair in PAIRS {
        for (name, method, follows) in &methods {
            let measured = |steps| pair.measured(steps, *follows, method.clone(), "linear");
            let cells = [3200, 800, 200].map(|steps| {
                let found = measured(steps);
                match found.is_bounded {
                    true => format!("{:.1e} ({:.1})", found.error, found.cost),
                    false => "unstable".to_owned(),
                }
            });
            // From short steps to long ones, by a tenth.
            let (mut longest, mut steps) = (None, 20_000.0_f64);
            while steps >= 4.0 && measured(steps as usize).is_bounded {
                longest = Some(pair.time / steps.floor());
                steps /= 1.1;
            }
            let longest = match longest {
                None => "below 0.1 ms".to_owned(),
                Some(_) if steps < 4.0 => "any".to_owned(),
                Some(longest) => format!("{:.2} ms", 1e3 * longest),
            };
            println!(
                "| {} | {name} | {} | {longest} |",
                pair.name,
                cells.join(" | ")
            );
        }
    }
}
