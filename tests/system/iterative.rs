//! Implicit coupling by method `iterative`, against closed forms of the coupled equations.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{
    Capabilities, Causality, Handle, SavedState, StepOutcome, UnitDescription, UnitResult,
    UnitWrapper, Variable,
};
use gyrator::{ClosureUnit, Run, RunOptions, StartError, System, Unit};
use gyrator_system::{Choice, Value};
use gyrator_testkit::{Coupling, ModelUnit, TABLE_1};
use nalgebra::{DMatrix, DVector, Matrix2, Vector2};

/// ẋ = A·x + B·u, y = C·x + D·u with one input and one output, exact for an input that is held or, if it `follows`, moves
/// on a line.
#[derive(Clone)]
pub(crate) struct Linear {
    pub(crate) a: DMatrix<f64>,
    pub(crate) b: DVector<f64>,
    pub(crate) c: DVector<f64>,
    pub(crate) d: f64,
    x: DVector<f64>,
    follows: bool,
    input: f64,
    slope: f64,
    /// Steps that it discards: those with an input beyond this.
    pub(crate) limit: f64,
    /// The output is computed within a step, and does not follow the input between steps.
    computed: Option<f64>,
    /// Its transition over steps of this length.
    known: Option<(f64, Transition)>,
}

type Transition = (DMatrix<f64>, DVector<f64>, DVector<f64>);

impl Linear {
    pub(crate) fn new(
        a: DMatrix<f64>,
        b: DVector<f64>,
        c: DVector<f64>,
        d: f64,
        x: DVector<f64>,
    ) -> Self {
        Self {
            a,
            b,
            c,
            d,
            x,
            follows: false,
            input: 0.0,
            slope: 0.0,
            limit: f64::INFINITY,
            computed: None,
            known: None,
        }
    }

    pub(crate) fn following(mut self, follows: bool) -> Self {
        self.follows = follows;
        self
    }

    fn output(&self) -> f64 {
        self.c.dot(&self.x) + self.d * self.input
    }

    /// e^(A·h), ∫e^(A·s)B ds and ∫e^(A·s)B·(h − s) ds (Van Loan 1978).
    fn transition(&self, h: f64) -> Transition {
        let n = self.x.len();
        let mut block = DMatrix::zeros(n + 2, n + 2);
        block.view_mut((0, 0), (n, n)).copy_from(&(&self.a * h));
        block.view_mut((0, n), (n, 1)).copy_from(&(&self.b * h));
        block[(n, n + 1)] = h;
        let all = block.exp();
        (
            all.view((0, 0), (n, n)).into_owned(),
            all.view((0, n), (n, 1)).column(0).into_owned(),
            all.view((0, n + 1), (n, 1)).column(0).into_owned(),
        )
    }

    /// The end state as a sum of a known part and `gain` times the input at the end of the step, which was `start` at its
    /// start.
    fn end(&self, h: f64, start: f64, held: &str) -> (DVector<f64>, DVector<f64>) {
        let (phi, held_gain, line_gain) = self.transition(h);
        let free = &phi * &self.x;
        match held {
            _ if self.follows => {
                let line_gain = line_gain / h;
                (free + (&held_gain - &line_gain) * start, line_gain)
            }
            "mean" => (free + &held_gain * (0.5 * start), held_gain * 0.5),
            _ => (free, held_gain),
        }
    }
}

impl Unit for Linear {
    fn description(&self) -> &UnitDescription {
        thread_local! {
            static KINDS: [&'static UnitDescription; 4] = [(false, false), (false, true), (true, false), (true, true)]
                .map(|(follows, feeds_through)| &*Box::leak(Box::new(description(follows, feeds_through))));
        }
        KINDS.with(|kinds| kinds[usize::from(self.follows) * 2 + usize::from(self.d != 0.0)])
    }

    fn set_reals(&mut self, _: &[Handle], values: &[f64]) -> UnitResult {
        (self.input, self.slope) = (values[0], 0.0);
        Ok(())
    }

    fn set_input_derivatives(&mut self, _: &[Handle], _: &[i32], values: &[f64]) -> UnitResult {
        self.slope = values[0];
        Ok(())
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            *value = match handle {
                0 => self.input,
                _ => self.computed.unwrap_or_else(|| self.output()),
            };
        }
        Ok(())
    }

    fn step(&mut self, _: f64, h: f64) -> UnitResult<StepOutcome> {
        if self.input.abs() > self.limit {
            return Err(UnitFault::new("step", Cause::Discard, "out of my range"));
        }
        if self.known.as_ref().is_none_or(|(known, _)| *known != h) {
            self.known = Some((h, self.transition(h)));
        }
        let Some((_, (phi, held, line))) = &self.known else {
            return Ok(StepOutcome::Done);
        };
        self.x = phi * &self.x + held * self.input + line * self.slope;
        self.input += self.slope * h;
        self.computed = self.computed.map(|_| self.output());
        Ok(StepOutcome::Done)
    }

    fn save(&mut self, _: Option<SavedState>) -> UnitResult<SavedState> {
        Ok(Box::new((
            self.x.clone(),
            self.input,
            self.slope,
            self.computed,
        )))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        match state.downcast_ref::<(DVector<f64>, f64, f64, Option<f64>)>() {
            Some(state) => {
                (self.x, self.input, self.slope, self.computed) = state.clone();
                Ok(())
            }
            None => Err(UnitFault::new("restore", Cause::Error, "another unit's")),
        }
    }
}

fn description(follows: bool, feeds_through: bool) -> UnitDescription {
    let variables = vec![
        Variable::real("u", 0, Causality::Input),
        Variable::real("y", 1, Causality::Output),
    ];
    let feedthrough = [(1, if feeds_through { vec![0] } else { Vec::new() })];
    let capabilities = Capabilities {
        input_derivatives: u32::from(follows),
        variable_step: true,
        save_and_restore: true,
        ..Capabilities::default()
    };
    UnitDescription::new(variables, feedthrough.into(), capabilities)
}

pub(crate) const K1: f64 = 10.0;
pub(crate) const KC: f64 = 100.0;
pub(crate) const K2: f64 = 1000.0;
pub(crate) const START: [f64; 2] = [100.0, -100.0];

pub(crate) fn matrix(size: usize, values: &[f64]) -> DMatrix<f64> {
    DMatrix::from_row_slice(size, size, values)
}

pub(crate) fn vector(values: &[f64]) -> DVector<f64> {
    DVector::from_row_slice(values)
}

/// Mass 1 on its spring, with the spring and the damper between the masses: states x₁, v₁ and the length of the spring, input
/// v₂, output force.
pub(crate) fn force(damping: f64) -> Linear {
    let a = matrix(3, &[0.0, 1.0, 0.0, -K1, -damping, -KC, 0.0, 1.0, 0.0]);
    let b = vector(&[0.0, damping, -1.0]);
    let start = vector(&[0.0, START[0], 0.0]);
    Linear::new(a, b, vector(&[0.0, damping, KC]), -damping, start)
}

/// Mass 2 of this mass on its spring: states x₂, v₂, input force, output v₂.
pub(crate) fn motion(mass: f64) -> Linear {
    let a = matrix(2, &[0.0, 1.0, -K2 / mass, 0.0]);
    let b = vector(&[0.0, 1.0 / mass]);
    Linear::new(a, b, vector(&[0.0, 1.0]), 0.0, vector(&[0.0, START[1]]))
}

pub(crate) fn system(units: [Linear; 2], h: f64, method: Choice) -> System {
    let [force, motion] = units;
    let mut system = System::new(h);
    system.add("force", force).exchange("stale");
    system.add("motion", motion);
    system.bond("bond", ("force.y", "motion.u"), ("motion.y", "force.u"));
    system.method(method);
    system
}

fn iterative(parameters: &[(&str, Value)]) -> Choice {
    let exact = [
        ("tolerance", Value::Real(1e-13)),
        ("absolute_tolerance", Value::Real(1e-13)),
    ];
    let all = exact.iter().chain(parameters).cloned();
    all.fold(Choice::new("iterative"), |choice, (key, value)| {
        choice.with(key, value)
    })
}

pub(crate) fn word(text: &str) -> Value {
    Value::String(text.to_owned())
}

pub(crate) fn start(system: &System) -> Run {
    system.start(&RunOptions::default()).unwrap()
}

/// Outputs of both units after each macro-step of the implicit coupling, whose equations are solved at once.
pub(crate) fn implicit(mut units: [Linear; 2], h: f64, steps: usize, held: &str) -> Vec<[f64; 2]> {
    // The outputs at the start, of consistent inputs.
    let mut outputs = [0.0, units[1].c.dot(&units[1].x)];
    outputs[0] = units[0].c.dot(&units[0].x) + units[0].d * outputs[1];
    let mut found = Vec::new();
    for _ in 0..steps {
        let ends = [0, 1].map(|unit| units[unit].end(h, outputs[1 - unit], held));
        // y = C·(known + gain·u) + D·u, with u the other one's y.
        let known = Vector2::from([0, 1].map(|unit| units[unit].c.dot(&ends[unit].0)));
        let gain = [0, 1].map(|unit| units[unit].c.dot(&ends[unit].1) + units[unit].d);
        let matrix = Matrix2::new(1.0, -gain[0], -gain[1], 1.0);
        let solved = matrix.lu().solve(&known).unwrap();
        outputs = solved.into();
        for unit in 0..2 {
            units[unit].x = &ends[unit].0 + &ends[unit].1 * outputs[1 - unit];
        }
        found.push(outputs);
    }
    found
}

/// Greatest difference of a run to these outputs, over the greatest of them.
pub(crate) fn difference(run: &mut Run, expected: &[[f64; 2]]) -> f64 {
    let scale = [0, 1].map(|unit| {
        expected
            .iter()
            .fold(0.0, |most: f64, y| most.max(y[unit].abs()))
    });
    let mut greatest: f64 = 0.0;
    for outputs in expected {
        run.step().unwrap();
        let found = ["force.y", "motion.y"].map(|name| run.read_real(name).unwrap());
        for unit in 0..2 {
            greatest = greatest.max((found[unit] - outputs[unit]).abs() / scale[unit]);
        }
    }
    greatest
}

const ORDERS: [&str; 2] = ["gauss-seidel", "jacobi"];
const ACCELERATORS: [&str; 3] = ["iqn-ils", "aitken", "fixed-point"];

#[test]
fn a_converged_step_solves_the_equations_of_the_implicit_coupling() {
    let h = 0.005;
    for (damping, held, follows) in [
        (0.0, "end", false),
        (2.0, "end", false),
        (0.0, "mean", false),
        (0.0, "end", true),
        (2.0, "end", true),
    ] {
        let units = || {
            [
                force(damping).following(follows),
                motion(1.0).following(follows),
            ]
        };
        let expected = implicit(units(), h, 40, held);
        for order in ORDERS {
            for accelerator in ACCELERATORS {
                let method = iterative(&[
                    ("order", word(order)),
                    ("accelerator", word(accelerator)),
                    ("held", word(held)),
                ]);
                let mut run = start(&system(units(), h, method));
                let difference = difference(&mut run, &expected);
                let case = format!("{damping} {held} {follows} {order} {accelerator}");
                assert!(difference < 1e-10, "{case}: {difference:e}");
                let counters = run.report().counters;
                assert_eq!(counters.unconverged_steps, 0, "{case}");
                let passes = counters.iterations as f64 / 40.0;
                let most = if accelerator == "iqn-ils" { 5.0 } else { 40.0 };
                assert!(
                    (2.0..=most).contains(&passes),
                    "{case}: {passes} passes a step"
                );
            }
        }
    }
}

/// ẋ = u and y = −g·x, whose fixed point in Gauss-Seidel order diverges by the factor g·H a pass (half of that with lines).
/// Converged, a step is x/(1 + g·H), or x·(1 − g·H/2)/(1 + g·H/2): backward Euler and the trapezoidal rule.
pub(crate) fn stiff_pair(gain: f64, follows: bool, method: Choice) -> System {
    let still = |d: f64| {
        Linear::new(
            matrix(1, &[0.0]),
            vector(&[0.0]),
            vector(&[0.0]),
            d,
            vector(&[0.0]),
        )
    };
    let mut integrator = still(0.0).following(follows);
    (integrator.b[0], integrator.c[0], integrator.x[0]) = (1.0, 1.0, 1.0);
    let mut system = System::new(0.1);
    system
        .add("gain", still(-gain).following(follows))
        .exchange("stale");
    system.add("state", integrator);
    system.connect("state.y", "gain.u");
    system.connect("gain.y", "state.u");
    system.method(method);
    system
}

#[test]
fn a_stiff_pair_diverges_with_the_fixed_point_and_converges_with_accelerators() {
    for gain in [30.0, 100.0] {
        for follows in [false, true] {
            let z = 0.1 * gain;
            let factor = if follows {
                (1.0 - z / 2.0) / (1.0 + z / 2.0)
            } else {
                1.0 / (1.0 + z)
            };
            // Aitken's factor is one number for all signals: in Jacobi order it does not converge here.
            for (order, accelerator) in [
                ("gauss-seidel", "iqn-ils"),
                ("gauss-seidel", "aitken"),
                ("jacobi", "iqn-ils"),
            ] {
                let method =
                    iterative(&[("order", word(order)), ("accelerator", word(accelerator))]);
                let mut run = start(&stiff_pair(gain, follows, method));
                let mut state: f64 = 1.0;
                for _ in 0..20 {
                    run.step().unwrap();
                    state *= factor;
                    let difference = run.read_real("state.y").unwrap() - state;
                    assert!(
                        difference.abs() < 1e-10,
                        "{gain} {follows} {order} {accelerator}: {difference:e}"
                    );
                }
                let passes = run.report().counters.iterations as f64 / 20.0;
                assert!(
                    accelerator == "aitken" || passes < 6.5,
                    "{order}: {passes} passes a step"
                );
            }
            let fixed_point = |failure| {
                iterative(&[
                    ("accelerator", word("fixed-point")),
                    ("on_failure", word(failure)),
                    ("max_iterations", Value::Integer(8)),
                ])
            };
            let mut run = start(&stiff_pair(gain, follows, fixed_point("stop")));
            let message = run.step().unwrap_err().to_string();
            for part in [
                "has not converged after 8 passes",
                "max_iterations",
                "t = 0 s",
            ] {
                assert!(message.contains(part), "{message}");
            }
            let mut run = start(&stiff_pair(gain, follows, fixed_point("accept")));
            run.run_until(0.3).unwrap();
            let report = run.report();
            assert_eq!(report.counters.unconverged_steps, 3);
            assert_eq!(report.counters.iterations, 24);
            let warned = |text: &String| text.contains("has not converged in 3 of 3 macro-steps");
            assert!(report.warnings.iter().any(warned), "{:?}", report.warnings);
        }
    }
}

/// Case 1 of the double oscillator, with the models' own steps of 1 ms: `crates/benchmark/reference/iteration.csv`.
#[test]
fn models_that_integrate_by_themselves_converge_to_the_reference() {
    let force = ModelUnit::<OscillatorForce>::new;
    let motion = ModelUnit::<OscillatorMotion>::new;
    let coupling = Coupling {
        macro_step: 0.01,
        force_step: 0.01,
        motion_step: 0.01,
        ..Coupling::default()
    };
    let held = || TABLE_1[0].system_of(&coupling, force().values_only(), motion().values_only());
    let lines = || {
        TABLE_1[0].system_of(
            &coupling,
            force().with_input_derivatives(1),
            motion().with_input_derivatives(1),
        )
    };
    let cases: [(&dyn Fn() -> System, f64, f64); 2] = [
        (&held, -2.808_799_315_174_02, 15.149_305_849_927_5),
        (&lines, -3.595_389_598_377_9, 24.542_602_409_388),
    ];
    for (system, x2, v2) in cases {
        for order in ORDERS {
            let mut system = system();
            for name in ["force", "motion"] {
                system.component(name).unwrap().start("step_size", 1e-3);
            }
            system.method(iterative(&[("order", word(order))]));
            let mut run = start(&system);
            run.run_until(1.0).unwrap();
            for (name, expected) in [("motion.x", x2), ("motion.v", v2)] {
                let found = run.read_real(name).unwrap();
                let difference = (found / expected - 1.0).abs();
                assert!(
                    difference < 1e-10,
                    "{order}: {name} is {found} instead of {expected}"
                );
            }
        }
    }
}

/// Greatest error at 1 s against the exact solution of the whole, relative to its greatest value.
pub(crate) fn error_at_one_second(units: [Linear; 2], steps: usize, method: Choice) -> f64 {
    let [force, motion] = &units;
    let mut whole = DMatrix::zeros(5, 5);
    whole.view_mut((0, 0), (3, 3)).copy_from(&force.a);
    whole.view_mut((3, 3), (2, 2)).copy_from(&motion.a);
    // u₁ = y₂, and y₁ = C₁·x₁ + D₁·y₂ feeds the other.
    whole
        .view_mut((0, 3), (3, 2))
        .copy_from(&(&force.b * motion.c.transpose()));
    whole
        .view_mut((3, 0), (2, 3))
        .copy_from(&(&motion.b * force.c.transpose()));
    let through = &motion.b * motion.c.transpose() * force.d;
    let corner = whole.view((3, 3), (2, 2)) + through;
    whole.view_mut((3, 3), (2, 2)).copy_from(&corner);
    let start = DVector::from_iterator(5, force.x.iter().chain(motion.x.iter()).copied());
    let exact = whole.exp() * start;
    let velocity = exact[4];
    let spring = KC * exact[2] - force.d * (exact[1] - velocity);
    let mut run = self::start(&system(units, 1.0 / steps as f64, method));
    run.run_until(1.0).unwrap();
    let found = ["force.y", "motion.y"].map(|name| run.read_real(name).unwrap());
    // Greatest force and velocity: from the energy at the start.
    let scale = [KC.sqrt() * 100.0, 100.0];
    let errors = [
        (found[0] - spring) / scale[0],
        (found[1] - velocity) / scale[1],
    ];
    errors[0].abs().max(errors[1].abs())
}

#[test]
fn lines_and_means_are_of_second_order_and_end_values_of_first() {
    for (damping, follows, held, expected) in [
        (0.0, true, "end", 2.0),
        (2.0, true, "end", 2.0),
        (0.0, false, "mean", 2.0),
        (0.0, false, "end", 1.0),
        (2.0, false, "end", 1.0),
    ] {
        let units = || {
            [
                force(damping).following(follows),
                motion(1.0).following(follows),
            ]
        };
        let method = || iterative(&[("held", word(held))]);
        let error = |steps| error_at_one_second(units(), steps, method());
        for steps in [1600, 3200] {
            let order = (error(steps) / error(2 * steps)).log2();
            assert!(
                (order - expected).abs() < 0.15,
                "{damping} {follows} {held}: {order}"
            );
        }
    }
}

#[test]
fn a_discard_within_an_iteration_goes_half_the_way_back() {
    let h = 0.02;
    let expected = implicit([force(20.0), motion(0.01)], h, 1, "end");
    let run_with = |limit: f64, passes: i64| {
        let mut motion = motion(0.01);
        motion.limit = limit;
        let method = iterative(&[("max_iterations", Value::Integer(passes))]);
        start(&system([force(20.0), motion], h, method))
    };
    let forces = expected[0][0].abs();
    // A pass without acceleration asks for more than the solution.
    let mut run = run_with(1.5 * forces.max(4000.0), 50);
    let difference = difference(&mut run, &expected);
    assert!(difference < 1e-10, "{difference:e}");
    // The first estimate leaves no way back.
    let message = run_with(1.0, 50).step().unwrap_err().to_string();
    assert!(
        message.contains("motion") && message.contains("out of my range"),
        "{message}"
    );
}

/// u beyond 3 ends the simulation.
struct Ends {
    inner: Linear,
}

impl UnitWrapper for Ends {
    fn inner(&self) -> &dyn Unit {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.inner
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        let is_beyond = self.inner.input > 3.0;
        self.inner.step(time, step)?;
        Ok(if is_beyond {
            StepOutcome::Terminated(time + step)
        } else {
            StepOutcome::Done
        })
    }
}

/// Keeps a part of its state when it goes back.
struct Forgetful {
    inner: Linear,
    part: usize,
}

impl UnitWrapper for Forgetful {
    fn inner(&self) -> &dyn Unit {
        &self.inner
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.inner
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let kept = self.inner.x[self.part];
        self.inner.restore(state)?;
        self.inner.x[self.part] = kept;
        Ok(())
    }
}

/// It shows before a step is made again.
#[test]
fn c75_a_unit_of_a_loop_that_does_not_go_back_is_named() {
    let system_of = |kept: Option<usize>, method: &Choice, control: Option<Choice>| {
        let mut system = System::new(0.01);
        system.add("force", force(2.0)).exchange("stale");
        let inner = motion(1.0);
        match kept {
            Some(part) => system.add("motion", Forgetful { inner, part }),
            None => system.add("motion", inner),
        };
        system.bond("bond", ("force.y", "motion.u"), ("motion.y", "force.u"));
        system.method(method.clone());
        control.into_iter().for_each(|control| {
            system.step_control(control);
        });
        system
    };
    let richardson = || Some(Choice::new("richardson").with("tolerance", Value::Real(1e-3)));
    for (method, control) in [
        (iterative(&[]), None),
        (Choice::new("linear-implicit"), None),
        (Choice::new("jacobi"), richardson()),
    ] {
        for part in [0, 1] {
            let system = system_of(Some(part), &method, control.clone());
            let message = match system.start(&RunOptions::default()) {
                Ok(mut run) => run.step().unwrap_err().to_string(),
                Err(error) => error.to_string(),
            };
            for words in ["motion", "two steps from one saved state differ: y = "] {
                assert!(message.contains(words), "{method:?}: {message}");
            }
        }
        let mut run = start(&system_of(None, &method, control));
        run.run_until(0.05).unwrap();
    }
}

/// y = gain·u + drive of the time at the end of the step, without states.
pub(crate) fn gain(gain: f64, drive: fn(f64) -> f64) -> impl Unit + 'static {
    ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], move |call| {
        call.outputs[0] = gain * call.inputs[0] + drive(call.time + call.step);
    })
    .memoryless()
}

#[test]
fn terminations_count_once_the_iteration_has_converged() {
    // The first pass gives 8, beyond the limit of 3; the solution of y = 8 − 3·y is 2.
    let still = || {
        Linear::new(
            matrix(1, &[0.0]),
            vector(&[0.0]),
            vector(&[0.0]),
            -3.0,
            vector(&[0.0]),
        )
    };
    let run_with = |drive: fn(f64) -> f64| {
        let mut system = System::new(0.1);
        system
            .add("ends", Ends { inner: still() })
            .exchange("stale");
        system.add("sum", gain(1.0, drive));
        system.connect("sum.y", "ends.u");
        system.connect("ends.y", "sum.u");
        system.method(iterative(&[]));
        let mut run = start(&system);
        let _ = run.run_until(1.0).unwrap();
        run
    };
    let mut run = run_with(|_| 8.0);
    assert!((run.read_real("sum.y").unwrap() - 2.0).abs() < 1e-10);
    assert_eq!(run.time(), 1.0);
    // 16 has the solution 4 from 0.5 s on.
    let run = run_with(|time| if time > 0.45 { 16.0 } else { 8.0 });
    assert!(run.has_ended());
    assert!((run.time() - 0.5).abs() < 1e-12, "{}", run.time());
}

#[test]
fn units_outside_of_loops_step_once_and_need_no_states() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    let steps = Arc::new(AtomicU64::new(0));
    let mut system = system([force(2.0), motion(1.0)], 0.01, iterative(&[]));
    let counted = Arc::clone(&steps);
    system.add(
        "source",
        ClosureUnit::new(&[], &[("y", 0.0)], |call| {
            call.outputs[0] = call.time + call.step;
        }),
    );
    let sink = ClosureUnit::new(
        &[("a", 0.0), ("b", 0.0)],
        &[("v", 0.0), ("t", 0.0)],
        move |call| {
            counted.fetch_add(1, Ordering::Relaxed);
            call.outputs.copy_from_slice(call.inputs);
        },
    );
    system.add("sink", sink).step_size(0.02);
    system.connect("motion.y", "sink.a");
    system.connect("source.y", "sink.b");
    let mut run = start(&system);
    steps.store(0, Ordering::Relaxed);
    run.run_until(0.2).unwrap();
    assert_eq!(steps.load(Ordering::Relaxed), 10);
    // It receives the values of the end of its own step, as from `gauss-seidel`.
    assert!((run.read_real("sink.t").unwrap() - 0.2).abs() < 1e-12);
    assert_eq!(
        run.read_real("sink.v").unwrap(),
        run.read_real("motion.y").unwrap()
    );
}

#[test]
fn units_of_loops_that_cannot_be_iterated_are_named_with_what_they_lack() {
    let refusal = |system: &System| match system.start(&RunOptions::default()) {
        Err(StartError::Invalid(problems)) => problems.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    };
    let mut forgetful = System::new(0.1);
    forgetful.add("one", gain(0.5, |_| 1.0));
    forgetful.add(
        "two",
        ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], |_| ()),
    );
    forgetful.connect("one.y", "two.u");
    forgetful.connect("two.y", "one.u");
    forgetful.method("iterative");
    let message = refusal(&forgetful);
    assert!(
        message.contains("`two`") && message.contains("canGetAndSetFMUstate"),
        "{message}"
    );
    assert!(!message.contains("`one`"), "{message}");
    let mut slow = System::new(0.1);
    slow.add("one", gain(0.5, |_| 1.0));
    slow.add("two", gain(0.5, |_| 1.0)).step_size(0.2);
    slow.connect("one.y", "two.u");
    slow.connect("two.y", "one.u");
    slow.method("iterative");
    let message = refusal(&slow);
    assert!(
        message.contains("`two`") && message.contains("every 2 macro-steps"),
        "{message}"
    );
}

#[test]
fn an_output_that_feeds_its_own_unit_is_iterated() {
    let mut system = System::new(0.1);
    // y = 1 + y/2 at the end of each step: 2.
    system.add("own", gain(0.5, |_| 1.0));
    system.connect("own.y", "own.u");
    system.method(iterative(&[]));
    let mut run = start(&system);
    run.step().unwrap();
    assert!((run.read_real("own.y").unwrap() - 2.0).abs() < 1e-12);
}

/// Outputs that follow inputs within a step belong to its end: none is late.
#[test]
fn feed_through_that_shows_in_steps_only_is_not_late() {
    let note = |method: Choice| {
        let mut force = force(2.0);
        force.computed = Some(force.output());
        let mut system = system([force, motion(1.0)], 0.005, method);
        system.stop_time(0.1);
        let report = start(&system).run().unwrap();
        report
            .notes
            .iter()
            .any(|note| note.contains("shows in steps only"))
    };
    assert!(note(Choice::new("jacobi")));
    assert!(!note(iterative(&[])));
}

#[test]
fn values_that_are_not_finite_end_the_run() {
    let mut system = System::new(0.1);
    system.add(
        "one",
        gain(1e200, |time| if time > 0.15 { 1.0 } else { 0.0 }),
    );
    system.add("two", gain(1e200, |_| 0.0));
    system.connect("one.y", "two.u");
    system.connect("two.y", "one.u");
    system.method(iterative(&[
        ("accelerator", word("fixed-point")),
        ("on_failure", word("accept")),
    ]));
    let mut run = start(&system);
    run.step().unwrap();
    let message = run.step().unwrap_err().to_string();
    assert!(message.contains("is inf in pass 2"), "{message}");
}

/// MasterSim's test `Math_003_control_loop` (ghorwin/MasterSim bcc3c2f): a schedule, a controller with three points, an
/// integrator; outputs change in steps only. Rows of its `values.csv` (14 digits) in which something changes: time, x1, x2,
/// x3, x4.
mod math_003 {
    use super::*;

    fn system(method: Choice) -> System {
        let mut system = System::new(0.01);
        system.stop_time(10.0);
        system.step_control(Choice::new("fixed").with("accumulate", Value::Boolean(true)));
        let schedule = ClosureUnit::new(&[], &[("x1", 0.0), ("x2", 0.0)], |call| {
            let end = call.time + call.step;
            call.outputs[0] = f64::from(!(end < 1.0 || (2.0..5.0).contains(&end)));
            call.outputs[1] = f64::from(!(end < 3.0 || (4.0..6.0).contains(&end)));
        });
        let inputs = [("x1", 0.0), ("x2", 0.0), ("x4", 0.0)];
        let controller = ClosureUnit::new(&inputs, &[("x3", 0.0)], |call| {
            let &[x1, x2, x4] = call.inputs else { return };
            call.outputs[0] = if x1 == 1.0 && x2 < 0.01 && x4 < 2.5 {
                3.0
            } else if x1 < 0.001 && x2 > 0.0 && x4 > -2.5 {
                -3.0
            } else {
                0.0
            };
        });
        // The state is its output and the end of its last step.
        let outputs = [("x4", 0.0), ("end", 0.0)];
        let integrator = ClosureUnit::new(&[("x3", 0.0)], &outputs, |call| {
            let end = call.time + call.step;
            call.outputs[0] += (end - call.outputs[1]) * call.inputs[0] * 2.0;
            call.outputs[1] = end;
        });
        system.add("part1", schedule.memoryless());
        system.add("part2", controller.memoryless());
        system.add("part3", integrator.memoryless());
        for (from, to) in [
            ("part1.x1", "part2.x1"),
            ("part1.x2", "part2.x2"),
            ("part3.x4", "part2.x4"),
            ("part2.x3", "part3.x3"),
        ] {
            system.connect(from, to);
        }
        system.method(method);
        system
    }

    /// GaussSeidel_2iters_adaptive_Richardson: 324 steps to x4 = 2.500020994944, while the solution has 2.5. Its steps cannot
    /// be repeated. MasterSim's error control also compares slopes, which makes more steps. On a rejection it leaves the
    /// clocks of the slaves in the middle of the step, so that the schedule acts too late. Steps whose iteration has no
    /// solution, at which x4 comes to 2.5, are made again shorter in both.
    #[test]
    fn error_control() {
        let method = Choice::new("iterative")
            .with("accelerator", word("fixed-point"))
            .with("tolerance", Value::Real(1e-4))
            .with("absolute_tolerance", Value::Real(1e-5))
            .with("max_iterations", Value::Integer(2));
        let mut system = system(method);
        let parameters = [
            ("tolerance", 1e-4),
            ("absolute_tolerance", 1e-5),
            ("first_step", 0.14),
            ("minimum_step", 1e-5),
            ("maximum_step", 0.14),
            ("largest_change", 2.0),
        ];
        let control = parameters
            .iter()
            .fold(Choice::new("richardson"), |choice, (key, value)| {
                choice.with(*key, Value::Real(*value))
            });
        system.step_control(control);
        let mut run = start(&system);
        let report = run.run().unwrap();
        let x4 = run.read_real("part3.x4").unwrap();
        assert!((x4 - 2.5).abs() < 5e-5, "{x4}");
        assert!(report.steps < 324, "{} steps", report.steps);
        assert_eq!(report.counters.unconverged_steps, 0);
    }

    /// Compares rows: number of the step, and the values.
    fn check(method: Choice, rows: &[(u64, [f64; 5])]) {
        let mut run = start(&system(method));
        let mut made = 0;
        for (step, row) in rows {
            while made < *step {
                run.step().unwrap();
                made += 1;
            }
            let names = ["part1.x1", "part1.x2", "part2.x3", "part3.x4"];
            let mut found = vec![run.time()];
            found.extend(names.map(|name| run.read_real(name).unwrap()));
            for (found, published) in found.iter().zip(row) {
                assert!(
                    (found - published).abs() < 1e-12,
                    "step {step}: {found} instead of {published}"
                );
            }
        }
    }

    /// GaussJacobi_1iters_fixedStep.
    #[test]
    fn jacobi() {
        let method = Choice::new("jacobi");
        check(
            method,
            &[
                (99, [0.99, 0.0, 0.0, 0.0, 0.0]),
                (100, [1.0, 1.0, 0.0, 0.0, 0.0]),
                (101, [1.01, 1.0, 0.0, 3.0, 0.0]),
                (143, [1.43, 1.0, 0.0, 3.0, 2.52]),
                (144, [1.44, 1.0, 0.0, 0.0, 2.58]),
                (199, [1.99, 1.0, 0.0, 0.0, 2.58]),
                (200, [2.0, 0.0, 0.0, 0.0, 2.58]),
                (300, [3.0, 0.0, 0.0, 0.0, 2.58]),
                (301, [3.01, 0.0, 1.0, 0.0, 2.58]),
                (302, [3.02, 0.0, 1.0, -3.0, 2.58]),
                (387, [3.87, 0.0, 1.0, -3.0, -2.5199999999999]),
                (388, [3.88, 0.0, 1.0, 0.0, -2.5799999999999]),
                (400, [4.0, 0.0, 1.0, 0.0, -2.5799999999999]),
                (401, [4.01, 0.0, 0.0, 0.0, -2.5799999999999]),
                (500, [4.9999999999999, 0.0, 0.0, 0.0, -2.5799999999999]),
                (501, [5.0099999999999, 1.0, 0.0, 0.0, -2.5799999999999]),
                (502, [5.0199999999999, 1.0, 0.0, 3.0, -2.5799999999999]),
                (587, [5.8699999999999, 1.0, 0.0, 3.0, 2.52]),
                (588, [5.8799999999999, 1.0, 0.0, 0.0, 2.58]),
                (600, [5.9999999999999, 1.0, 0.0, 0.0, 2.58]),
                (601, [6.0099999999999, 1.0, 1.0, 0.0, 2.58]),
                (1000, [9.9999999999998, 1.0, 1.0, 0.0, 2.58]),
            ],
        );
    }

    /// GaussSeidel_1iters_fixedStep.
    #[test]
    fn gauss_seidel() {
        let method = Choice::new("gauss-seidel").with("order", word("part1, part2, part3"));
        check(
            method,
            &[
                (99, [0.99, 0.0, 0.0, 0.0, 0.0]),
                (100, [1.0, 1.0, 0.0, 3.0, 0.06]),
                (141, [1.41, 1.0, 0.0, 3.0, 2.52]),
                (142, [1.42, 1.0, 0.0, 0.0, 2.52]),
                (199, [1.99, 1.0, 0.0, 0.0, 2.52]),
                (200, [2.0, 0.0, 0.0, 0.0, 2.52]),
                (300, [3.0, 0.0, 0.0, 0.0, 2.52]),
                (301, [3.01, 0.0, 1.0, -3.0, 2.46]),
                (384, [3.84, 0.0, 1.0, -3.0, -2.5199999999999]),
                (385, [3.85, 0.0, 1.0, 0.0, -2.5199999999999]),
                (400, [4.0, 0.0, 1.0, 0.0, -2.5199999999999]),
                (401, [4.01, 0.0, 0.0, 0.0, -2.5199999999999]),
                (500, [4.9999999999999, 0.0, 0.0, 0.0, -2.5199999999999]),
                (501, [5.0099999999999, 1.0, 0.0, 3.0, -2.4599999999999]),
                (584, [5.8399999999999, 1.0, 0.0, 3.0, 2.52]),
                (585, [5.8499999999999, 1.0, 0.0, 0.0, 2.52]),
                (600, [5.9999999999999, 1.0, 0.0, 0.0, 2.52]),
                (601, [6.0099999999999, 1.0, 1.0, 0.0, 2.52]),
                (1000, [9.9999999999998, 1.0, 1.0, 0.0, 2.52]),
            ],
        );
    }

    /// GaussSeidel_2iters_fixedStep, whose 95 unconverged steps have no fixed point.
    #[test]
    fn two_iterations() {
        let method = iterative(&[
            ("accelerator", word("fixed-point")),
            ("max_iterations", Value::Integer(2)),
            ("on_failure", word("accept")),
        ]);
        check(
            method,
            &[
                (99, [0.99, 0.0, 0.0, 0.0, 0.0]),
                (100, [1.0, 1.0, 0.0, 3.0, 0.06]),
                (140, [1.4, 1.0, 0.0, 3.0, 2.46]),
                (141, [1.41, 1.0, 0.0, 0.0, 2.46]),
                (199, [1.99, 1.0, 0.0, 0.0, 2.46]),
                (200, [2.0, 0.0, 0.0, 0.0, 2.46]),
                (300, [3.0, 0.0, 0.0, 0.0, 2.46]),
                (301, [3.01, 0.0, 1.0, -3.0, 2.4]),
                (382, [3.82, 0.0, 1.0, -3.0, -2.4599999999999]),
                (383, [3.83, 0.0, 1.0, 0.0, -2.4599999999999]),
                (400, [4.0, 0.0, 1.0, 0.0, -2.4599999999999]),
                (401, [4.01, 0.0, 0.0, 0.0, -2.4599999999999]),
                (500, [4.9999999999999, 0.0, 0.0, 0.0, -2.4599999999999]),
                (501, [5.0099999999999, 1.0, 0.0, 3.0, -2.3999999999999]),
                (582, [5.8199999999999, 1.0, 0.0, 3.0, 2.46]),
                (583, [5.8299999999999, 1.0, 0.0, 0.0, 2.46]),
                (600, [5.9999999999999, 1.0, 0.0, 0.0, 2.46]),
                (601, [6.0099999999999, 1.0, 1.0, 0.0, 2.46]),
                (1000, [9.9999999999998, 1.0, 1.0, 0.0, 2.46]),
            ],
        );
    }
}
