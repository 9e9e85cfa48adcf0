//! Algebraic loops between steps, against closed forms.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    H, Immediate, SIGNAL, are_close, empty, kinked, looped, mode, published, quadruple, source,
    started,
};
use crate::exchange_mode::Exchange;
use crate::extrapolation::{Extrapolation, Sample, SignalSteps};
use crate::report::{AlgebraicLoopReport, Report};
use crate::unit::{Handle, StepOutcome, Unit, UnitResult, UnitWrapper};
use crate::{ClosureUnit, LinearUnit, Run, RunOptions, System};

/// Values of an output at each communication point, and the report.
fn run_to_end(system: System, name: &str) -> (Vec<f64>, Report) {
    let mut run = started(system);
    let mut outputs = run.graph().real_outputs().into_iter();
    let index = outputs.position(|output| output.name == name).unwrap();
    let mut values = vec![run.view().reals[index]];
    while !run.has_ended() {
        run.step().unwrap();
        values.push(run.view().reals[index]);
    }
    (values, run.report())
}

/// A unit whose output y feeds its own input u; the signal is its input w.
fn fed_back(unit: Immediate, signal: [f64; 5]) -> System {
    let mut system = empty();
    system.add("unit", unit).exchange("auto");
    system.add("source", source("y", "w", signal));
    system.connect("unit.y", "unit.u");
    system.connect("source.w", "unit.w");
    system.connect("unit.y", "source.y");
    system
}

/// y = u + back, and half of u, as units whose outputs are read again.
fn sum_and_half() -> [Immediate; 2] {
    let sum = Immediate::new(&["u", "back"], &["y"], |u| vec![u[0] + u[1]]);
    let half = Immediate::new(&["u"], &["y"], |u| vec![0.5 * u[0]]);
    [sum.fresh(), half.fresh()]
}

/// The loop of a report that has one.
#[track_caller]
fn only_loop(report: &Report) -> &AlgebraicLoopReport {
    match &report.algebraic_loops[..] {
        [algebraic_loop] => algebraic_loop,
        others => panic!("{others:?}"),
    }
}

/// y = u + y/2 has the solution 2·u, at the start and at each point after it.
#[test]
fn a_loop_of_two_units_is_solved_at_each_point() {
    for exchange in ["fresh", "compensated"] {
        let mut run = started(looped(|u| vec![u[0] + u[1]], exchange));
        let mut outputs = run.graph().real_outputs().into_iter();
        let index = outputs.position(|output| output.name == "first.y").unwrap();
        for (k, signal) in SIGNAL.into_iter().enumerate() {
            if k > 0 {
                let before = run.view().reals[index];
                run.step().unwrap();
                // The step leaves the solution of the last point.
                let exchanged = run.state.signals.exchanged[index];
                let change = run.view().reals[index] - before;
                assert!((exchanged - change).abs() < 1e-9, "{exchanged} {change}");
            }
            let value = run.view().reals[index];
            assert!(
                (value - 2.0 * signal).abs() < 1e-8,
                "{exchange} {k}: {value}"
            );
        }
        let report = run.report();
        assert_eq!(mode(&report, "first").word(), exchange);
        assert_eq!(mode(&report, "second").word(), exchange);
        let stale = run.view().audit.bond(0).unwrap().known_stale_energy();
        assert_eq!(stale, Some(0.0));
        let algebraic_loop = only_loop(&report);
        assert_eq!(algebraic_loop.outputs, ["first.y", "second.y"]);
        assert_eq!((algebraic_loop.points, algebraic_loop.unsolved), (4, 0));
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    }
}

/// Stale by request, the loop is open: y = u + the old y/2, without a warning.
#[test]
fn a_stale_loop_stays_open() {
    let (found, report) = run_to_end(looped(|u| vec![u[0] + u[1]], "stale"), "first.y");
    assert!(are_close(&found, &[2.0, 2.0, 4.0, 3.0, 7.0]), "{found:?}");
    assert!(report.algebraic_loops.is_empty());
    assert!(report.warnings.is_empty(), "{:?}", report.warnings);
}

/// Three units in a ring, each found in its own way; y₁ = u + y₃/2, y₂ = 1 − 2·y₁, y₃ = y₂/4.
#[test]
fn a_ring_of_three_units_mixes_the_ways() {
    let ring = |order: [usize; 3]| {
        let mut system = empty();
        for part in order {
            match part {
                0 => {
                    let first = Immediate::new(&["u", "back"], &["y"], |u| vec![u[0] + 0.5 * u[1]]);
                    system.add("first", first.fresh()).exchange("auto");
                }
                1 => {
                    let second = Immediate::new(&["u"], &["y"], |u| vec![1.0 - 2.0 * u[0]]);
                    let second = second.with_jacobian(|_| vec![-2.0]);
                    system.add("second", second).exchange("auto");
                }
                _ => {
                    let third = Immediate::new(&["u"], &["y"], |u| vec![0.25 * u[0]]);
                    system.add("third", third.saving()).exchange("auto");
                }
            }
        }
        system.add("source", source("y", "u", SIGNAL));
        system.connect("source.u", "first.u");
        system.connect("first.y", "second.u");
        system.connect("second.y", "third.u");
        system.connect("third.y", "first.back");
        system.connect("third.y", "source.y");
        system
    };
    let expected = SIGNAL.map(|u| (u + 0.125) / 1.25);
    let (found, report) = run_to_end(ring([0, 1, 2]), "first.y");
    let mut pairs = found.iter().zip(expected);
    assert!(
        pairs.all(|(a, b)| (a - b).abs() < 1e-8),
        "{found:?} {expected:?}"
    );
    let members = only_loop(&report).members.iter();
    let ways: Vec<_> = members
        .map(|member| (&*member.component, member.way))
        .collect();
    let known = [
        ("first", "fresh"),
        ("second", "linear"),
        ("third", "trial-steps"),
    ];
    assert_eq!(ways, known);
    // The order in which components are named changes no bit.
    let bits = |order| -> Vec<u64> {
        let (values, _) = run_to_end(ring(order), "third.y");
        values.into_iter().map(f64::to_bits).collect()
    };
    assert_eq!(bits([0, 1, 2]), bits([2, 0, 1]));
    assert_eq!(bits([0, 1, 2]), bits([1, 2, 0]));
    // The plan names the units and the ways.
    let text = crate::run::plan(&started(ring([0, 1, 2]))).to_string();
    let words = "loop: solves first.y, second.y, third.y by Newton's method (first: reads outputs again, measured D; \
                 second: D·(u − ũ), derivatives of the unit; third: trial steps from a saved state, measured D)";
    assert!(text.contains(words), "{text}");
}

/// y = (u − t)³ + u² − u − 1 with u = y: the equations of OMSimulator's `nls`. The time is an input.
fn cubic() -> Immediate {
    Immediate::new(&["u", "t"], &["y"], |of| {
        let (u, t) = (of[0], of[1]);
        vec![(u - t).powi(3) + u * u - u - 1.0]
    })
}

fn with_derivatives(unit: Immediate) -> Immediate {
    unit.with_jacobian(|of| {
        let square = 3.0 * (of[0] - of[1]).powi(2);
        vec![square + 2.0 * of[0] - 1.0, -square]
    })
}

fn cubic_system(unit: impl Unit + 'static, start: f64, step: f64) -> System {
    let mut system = System::new(step);
    system.stop_time(4.0);
    system.add("nls", unit).start("u", start);
    let clock = ClosureUnit::new(&[("y", 0.0)], &[("t", 0.0)], |call| {
        call.outputs[0] = call.time + call.step;
    });
    system.add("clock", clock);
    system.connect("nls.y", "nls.u");
    system.connect("nls.y", "clock.y");
    system.connect("clock.t", "nls.t");
    system
}

/// The root of (y − t)³ + y² − 2·y − 1 next to `near`, by Newton's method.
fn root(near: f64, t: f64) -> f64 {
    let mut y = near;
    for _ in 0..50 {
        let value = (y - t).powi(3) + y * y - 2.0 * y - 1.0;
        y -= value / (3.0 * (y - t).powi(2) + 2.0 * y - 2.0);
    }
    y
}

/// 2·cos(2π/7) and its conjugates are the roots at the start; at 4 s there is 2.8629 (OMSimulator,
/// `testsuite/simulation/nls.py`).
#[test]
fn start_values_decide_between_roots() {
    use std::f64::consts::TAU;
    for (start, angle) in [
        (2.0, TAU / 7.0),
        (-0.4, 2.0 * TAU / 7.0),
        (-2.0, 3.0 * TAU / 7.0),
    ] {
        let mut run = started(cubic_system(with_derivatives(cubic()), start, 0.01));
        let found = run.read_real("nls.y").unwrap();
        let expected = 2.0 * angle.cos();
        assert!((found - expected).abs() < 1e-10, "{found} from {start}");
    }
}

#[test]
fn an_output_that_feeds_its_own_input_is_solved_in_every_way() {
    for (unit, way, tolerance) in [
        (cubic().fresh(), "fresh", 1e-9),
        (with_derivatives(cubic()).fresh(), "fresh", 1e-9),
        (cubic().saving(), "trial-steps", 1e-9),
        (with_derivatives(cubic()).saving(), "trial-steps", 1e-9),
        // One iteration a step leaves half the second derivative times the square of the change, 1e-4.
        (with_derivatives(cubic()), "linear", 2e-3),
    ] {
        let (found, report) = run_to_end(cubic_system(unit, 2.0, 0.01), "nls.y");
        assert_eq!(only_loop(&report).members[0].way, way);
        assert_eq!(found.len(), 401);
        let mut expected = 1.25;
        for (k, found) in found.iter().enumerate() {
            expected = root(expected, 0.01 * k as f64);
            let error = (found - expected).abs();
            // No trial step goes beyond the stop time.
            let tolerance = if k == 400 { 2e-3 } else { tolerance };
            assert!(error < tolerance, "{way} at {k}: {found} {expected}");
        }
        assert!((found[400] - 2.8629).abs() < 2e-4, "{}", found[400]);
        assert_eq!(only_loop(&report).unsolved, 0, "{way}");
        assert!(report.warnings.is_empty(), "{:?}", report.warnings);
    }
}

/// A unit whose outputs depend on how often it has made a step: it does not go back as it claims.
struct Forgetting(Immediate, f64);

impl UnitWrapper for Forgetting {
    fn inner(&self) -> &dyn Unit {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.0
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.0.get_reals(handles, values)?;
        values.iter_mut().for_each(|value| *value += self.1);
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.1 += 1e-6;
        self.0.step(time, step)
    }
}

#[test]
fn a_unit_that_does_not_go_back_makes_no_trial_steps() {
    let unit = Forgetting(cubic().saving(), 0.0);
    let report = started(cubic_system(unit, 2.0, 0.01)).report();
    assert_eq!(only_loop(&report).members[0].way, "linear");
}

/// A trial step has a millionth of the macro-step, which may reach the stop time, and not go beyond it.
#[test]
fn a_trial_step_ends_with_the_run_at_the_latest() {
    for (stop, is_tried) in [(1.0 + 1e-6, true), (1.0 + 0.9e-6, false)] {
        let mut system = cubic_system(cubic().saving(), 2.0, 1.0);
        system.stop_time(stop);
        let (found, _) = run_to_end(system, "nls.y");
        let error = (found[1] - root(root(1.25, 0.0), 1.0)).abs();
        assert_eq!(error < 1e-9, is_tried, "{error} until {stop}");
    }
    // Steps may be long, and begin late.
    let mut system = cubic_system(cubic().saving(), 2.0, 4e6);
    system.start_time(1e8).stop_time(1.2e8);
    let report = started(system).report();
    assert_eq!(only_loop(&report).members[0].way, "trial-steps");
}

/// Counts the calls that set and get reals, and keeps the length of the last step, s, as bits.
struct Counting<U> {
    unit: U,
    calls: Arc<[AtomicU64; 2]>,
    step: Arc<AtomicU64>,
}

impl<U: Unit> Counting<U> {
    fn new(unit: U, calls: &Arc<[AtomicU64; 2]>) -> Self {
        Self {
            unit,
            calls: Arc::clone(calls),
            step: Arc::default(),
        }
    }
}

impl<U: Unit> UnitWrapper for Counting<U> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.calls[0].fetch_add(1, Ordering::Relaxed);
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.calls[1].fetch_add(1, Ordering::Relaxed);
        self.unit.get_reals(handles, values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.step.store(step.to_bits(), Ordering::Relaxed);
        self.unit.step(time, step)
    }
}

/// At the start a unit is tried with a step of the length that its trials will have.
#[test]
fn a_trial_step_has_a_millionth_of_the_communication_step() {
    for (every, length) in [(1_u8, 0.01e-6), (5, 0.05e-6)] {
        let nls = Counting::new(cubic().saving(), &Arc::default());
        let step = Arc::clone(&nls.step);
        let mut system = cubic_system(nls, 2.0, 0.01);
        let settings = system.component("nls").unwrap();
        settings.step_size(f64::from(every) * 0.01);
        let mut run = started(system);
        assert_eq!(only_loop(&run.report()).members[0].way, "trial-steps");
        let tried = f64::from_bits(step.load(Ordering::Relaxed));
        assert!((tried - length).abs() < 1e-15, "{tried}");
        for _ in 0..every {
            run.step().unwrap();
        }
        let tried = f64::from_bits(step.load(Ordering::Relaxed));
        assert!((tried - length).abs() < 1e-15, "{tried} at a point");
    }
}

#[test]
fn the_calls_of_every_way_are_counted() {
    for (unit, way) in [
        (cubic().fresh(), "fresh"),
        (with_derivatives(cubic()).fresh(), "fresh"),
        (cubic().saving(), "trial-steps"),
        (with_derivatives(cubic()).saving(), "trial-steps"),
        (with_derivatives(cubic()), "linear"),
    ] {
        let calls: Arc<[AtomicU64; 2]> = Arc::default();
        let mut system = System::new(0.01);
        system.method("jacobi");
        let nls = Counting::new(unit, &calls);
        system.add("nls", nls).start("u", 2.0);
        let clock = ClosureUnit::new(&[("y", 0.0)], &[("t", 0.0)], |call| {
            call.outputs[0] = call.time + call.step;
        });
        system.add("clock", Counting::new(clock, &calls));
        system.connect("nls.y", "nls.u");
        system.connect("nls.y", "clock.y");
        system.connect("clock.t", "nls.t");
        let mut run = started(system);
        let counts = |run: &Run| {
            let counters = run.report().counters;
            let made = [0, 1].map(|kind: usize| calls[kind].load(Ordering::Relaxed));
            [made[0] - counters.set_calls, made[1] - counters.get_calls]
        };
        let at_start = counts(&run);
        for _ in 0..5 {
            run.step().unwrap();
        }
        assert_eq!(counts(&run), at_start, "{way}");
        assert_eq!(only_loop(&run.report()).members[0].way, way);
    }
}

/// One iteration at each point: a macro-step of a tenth leaves a hundredth.
#[test]
fn one_iteration_a_step_is_of_second_order() {
    let error = |step: f64| {
        let system = cubic_system(with_derivatives(cubic()), 2.0, step);
        let (found, _) = run_to_end(system, "nls.y");
        let mut expected = 1.25;
        let mut errors = found.iter().enumerate().map(|(k, found)| {
            expected = root(expected, step * k as f64);
            (found - expected).abs()
        });
        errors.by_ref().fold(0.0, f64::max)
    };
    let ratio = error(0.01) / error(0.001);
    assert!((50.0..200.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_loop_that_one_iteration_does_not_solve_is_a_warning() {
    let (_, report) = run_to_end(cubic_system(with_derivatives(cubic()), 2.0, 1.0), "nls.y");
    let [warning] = &report.warnings[..] else {
        panic!("{:?}", report.warnings);
    };
    assert!(
        warning.contains("algebraic loop nls.y is not solved"),
        "{warning}"
    );
    assert!(warning.contains("of 4 communication points"), "{warning}");
    assert!(warning.contains("make the macro-step smaller"), "{warning}");
    // Where units are asked again, D may change as much as it will.
    for unit in [
        with_derivatives(cubic()).fresh(),
        with_derivatives(cubic()).saving(),
    ] {
        let mut system = cubic_system(unit, 2.0, 1.0);
        system.stop_time(5.0);
        let mut run = started(system);
        for _ in 0..4 {
            run.step().unwrap();
        }
        assert_eq!(only_loop(&run.report()).unsolved, 0);
    }
}

/// What one iteration leaves is the same where another unit passes the output on, ten times as large.
#[test]
fn what_an_iteration_leaves_is_that_of_all_units() {
    let (_, alone) = run_to_end(cubic_system(with_derivatives(cubic()), 2.0, 1.0), "nls.y");
    for passing_is_first in [true, false] {
        let tenfold = Immediate::new(&["u"], &["y"], |u| vec![10.0 * u[0]]);
        let mut system = System::new(1.0);
        system.stop_time(4.0);
        let names = if passing_is_first {
            ["a", "b"]
        } else {
            ["b", "a"]
        };
        let [passing, solving] = names;
        system.add(passing, tenfold.with_jacobian(|_| vec![10.0]));
        let nls = with_derivatives(cubic());
        system.add(solving, nls).start("u", 2.0);
        let clock = ClosureUnit::new(&[("y", 0.0)], &[("t", 0.0)], |call| {
            call.outputs[0] = call.time + call.step;
        });
        system.add("clock", clock);
        system.connect(&format!("{solving}.y"), &format!("{passing}.u"));
        let back = system.connect(&format!("{passing}.y"), &format!("{solving}.u"));
        back.gain(0.1);
        system.connect(&format!("{solving}.y"), "clock.y");
        system.connect("clock.t", &format!("{solving}.t"));
        let output = format!("{solving}.y");
        let (_, report) = run_to_end(system, &output);
        let (found, expected) = (only_loop(&report), only_loop(&alone));
        assert_eq!(found.unsolved, expected.unsolved);
        assert_eq!(found.residual_output, output);
        assert_eq!(found.residual_time, expected.residual_time);
        let ratio = found.residual / expected.residual;
        assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
    }
}

/// The same of two outputs of one unit, the second one ten times as large, which feed an input each.
#[test]
fn what_an_iteration_leaves_is_that_of_each_output() {
    let (_, alone) = run_to_end(cubic_system(with_derivatives(cubic()), 2.0, 1.0), "nls.y");
    let unit = Immediate::new(&["u", "v", "t"], &["y", "z"], |of| {
        let u = 0.5 * (of[0] + 0.1 * of[1]);
        let value = (u - of[2]).powi(3) + u * u - u - 1.0;
        vec![value, 10.0 * value]
    });
    let unit = unit.with_jacobian(|of| {
        let u = 0.5 * (of[0] + 0.1 * of[1]);
        let square = 3.0 * (u - of[2]).powi(2);
        let row = [0.5, 0.05].map(|part| part * (square + 2.0 * u - 1.0));
        let row = [row[0], row[1], -square];
        row.into_iter().chain(row.map(|gain| 10.0 * gain)).collect()
    });
    let mut system = System::new(1.0);
    system.stop_time(4.0);
    system.add("nls", unit).start("u", 2.0).start("v", 20.0);
    let clock = ClosureUnit::new(&[("y", 0.0)], &[("t", 0.0)], |call| {
        call.outputs[0] = call.time + call.step;
    });
    system.add("clock", clock);
    system.connect("nls.y", "nls.u");
    system.connect("nls.z", "nls.v");
    system.connect("nls.y", "clock.y");
    system.connect("clock.t", "nls.t");
    let (_, report) = run_to_end(system, "nls.y");
    let (found, expected) = (only_loop(&report), only_loop(&alone));
    assert_eq!(found.outputs, ["nls.y", "nls.z"]);
    assert_eq!(found.unsolved, expected.unsolved);
    let ratio = found.residual / expected.residual;
    assert!((ratio - 1.0).abs() < 1e-6, "{ratio}");
}

/// y = y² + w has no real solution for w > 1/4.
#[test]
fn a_loop_without_a_solution_is_a_warning() {
    let unit = Immediate::new(&["u", "w"], &["y"], |of| vec![of[0] * of[0] + of[1]]).fresh();
    let system = fed_back(unit, [0.1, 1.0, 1.0, 0.1, 0.1]);
    let (found, report) = run_to_end(system, "unit.y");
    let lower = 0.5 - (0.25_f64 - 0.1).sqrt();
    let upper = 1.0 - lower;
    assert!((found[0] - lower).abs() < 1e-9, "{found:?}");
    let last = found[4];
    assert!(
        (last - lower).abs() < 1e-9 || (last - upper).abs() < 1e-9,
        "{found:?}"
    );
    let of_loop = only_loop(&report);
    assert_eq!((of_loop.points, of_loop.unsolved), (4, 2));
    // What is left is the same in another unit of measure of the input, but for the rounding of D on ways that lead nowhere.
    let unit = |of: &[f64]| vec![0.0625 * of[0] * of[0] + of[1]];
    let unit = Immediate::new(&["u", "w"], &["y"], unit).fresh();
    let mut system = empty();
    system.add("unit", unit).exchange("auto");
    system.add("source", source("y", "w", [0.1, 1.0, 1.0, 0.1, 0.1]));
    system.connect("unit.y", "unit.u").gain(4.0);
    system.connect("source.w", "unit.w");
    system.connect("unit.y", "source.y");
    let (_, in_other_unit) = run_to_end(system, "unit.y");
    let ratio = only_loop(&in_other_unit).residual / of_loop.residual;
    assert!((ratio - 1.0).abs() < 0.1, "{ratio}");
    assert!(
        report.warnings[0].contains("not solved at 2 of 4"),
        "{:?}",
        report.warnings
    );
}

/// Newton's method for e·(1 + e²)^(−1/3), with e = y − w³, goes about twice as far to the other side each time.
#[test]
fn a_loop_that_diverges_is_an_error_with_its_name() {
    let unit = Immediate::new(&["u", "w"], &["y"], |of| {
        let distance = of[0] - of[1].powi(3);
        vec![of[0] - distance / (1.0 + distance * distance).cbrt()]
    });
    let mut system = fed_back(unit.fresh(), SIGNAL);
    let _ = system.component("unit").unwrap().start("u", 1.0);
    let mut run = started(system);
    let error = run.step().unwrap_err().to_string();
    assert!(
        error.contains("the algebraic loop unit.y diverges"),
        "{error}"
    );
    assert!(error.contains("t = 0"), "{error}");
}

/// A gain of 1 around the loop: y = y + w.
#[test]
fn a_singular_loop_stays_as_it_is() {
    let unit = Immediate::new(&["u", "w"], &["y"], |of| vec![of[0] + of[1]]).fresh();
    let system = fed_back(unit, [0.0, 1.0, 0.0, 0.0, 0.0]);
    let (found, report) = run_to_end(system, "unit.y");
    assert!(found.iter().all(|value| value.is_finite()), "{found:?}");
    assert!(only_loop(&report).unsolved > 0);
    assert!(
        report.warnings[0].contains("unit.y is not solved"),
        "{:?}",
        report.warnings
    );
    // With 4 at the start, the 1 that is ignored is a quarter.
    let unit = Immediate::new(&["u", "w"], &["y"], |of| vec![of[0] + of[1]]).fresh();
    let mut system = fed_back(unit, [0.0, 1.0, 0.0, 0.0, 0.0]);
    system.component("unit").unwrap().start("u", 4.0);
    let (found, report) = run_to_end(system, "unit.y");
    assert_eq!(found[..2], [4.0; 2]);
    let of_loop = only_loop(&report);
    assert!((of_loop.residual - 0.25).abs() < 1e-9, "{of_loop:?}");
    assert_eq!(of_loop.residual_time, H);
}

/// Before the loop is solved, an output is that under the inputs of the last step: no prediction is to be judged by it.
#[test]
fn predictions_see_the_solution_alone() {
    let mut system = System::new(H);
    system.stop_time(20.0 * H).method("jacobi");
    system.extrapolation("auto");
    let [first, second] = sum_and_half();
    system.add("first", first).exchange("fresh");
    system.add("second", second).exchange("fresh");
    let source = ClosureUnit::new(&[("y", 0.0)], &[("u", 0.0)], |call| {
        let end = call.time + call.step;
        call.outputs[0] = end.sin() + 0.1 * (4.0 * end).sin();
    });
    system.add("source", source);
    system.connect("source.u", "first.u");
    system.connect("first.y", "second.u");
    system.connect("second.y", "first.back");
    system.connect("second.y", "source.y");
    let mut run = started(system);
    let choice = gyrator_system::Choice::new("auto");
    let known = crate::registry::look_up(crate::extrapolation::EXTRAPOLATIONS, &choice);
    let mut expected = known.unwrap().build();
    let usual = <dyn Extrapolation as crate::registry::EntryKind>::USUAL;
    let steps = SignalSteps {
        follows: 0,
        takes_slopes: false,
        ..usual
    };
    expected.prepare(&steps).unwrap();
    let mut outputs = run.graph().real_outputs().into_iter();
    let index = outputs.position(|output| output.name == "first.y").unwrap();
    let component = run
        .graph()
        .component_names()
        .position(|name| name == "second");
    let input = run.graph().components[component.unwrap()].inputs.start;
    for step in 0..20_i32 {
        let time = f64::from(step) * H;
        expected.observe(Sample {
            time,
            value: run.view().reals[index],
            slope: None,
        });
        run.step().unwrap();
        let given = run.state.courses.values[input];
        let predicted = expected.curve(time, H).at(0.0);
        assert!(
            (given - predicted).abs() < 1e-9,
            "{given} {predicted} at {time}"
        );
    }
}

#[test]
fn a_loop_through_an_unknown_derivative_is_named_at_the_start() {
    let mut system = empty();
    system.add("kinked", kinked()).exchange("auto");
    system.add("gain", quadruple()).exchange("auto");
    let add = Immediate::new(&["u", "back"], &["y"], |of| vec![of[0] + 0.0 * of[1]]);
    system.add("source", source("y", "u", [1.0; 5]));
    system.add("sum", add).exchange("auto");
    system.connect("source.u", "sum.u");
    system.connect("sum.y", "kinked.u");
    system.connect("kinked.y", "gain.u");
    system.connect("gain.y", "sum.back");
    system.connect("gain.y", "source.y");
    // The sum does not follow its input, as was measured: there is no loop.
    assert!(started(system).report().warnings.is_empty());
    let kink = Immediate::new(&["u", "w"], &["y"], |of| {
        vec![of[1] + 0.5 * (of[0] - 1.0 - 3e-6).max(0.0)]
    });
    let report = started(fed_back(kink, [1.0; 5])).report();
    assert_eq!(mode(&report, "unit"), Exchange::STALE);
    let [warning] = &report.warnings[..] else {
        panic!("{:?}", report.warnings);
    };
    assert!(
        warning.contains("unit.y form an algebraic loop that is not solved"),
        "{warning}"
    );
}

/// The second unit communicates at every other point: between them it stays as it was published.
/// A filter in a loop has a memory: outputs in the loop stay stale, and those beside it do not.
#[test]
fn a_loop_through_a_filter_stays_stale_alone() {
    let mut system = empty();
    let first = Immediate::new(&["u", "back"], &["y", "z"], |u| {
        vec![u[0] + u[1], 2.0 * u[0]]
    });
    let second = Immediate::new(&["u"], &["y"], |u| vec![0.5 * u[0]]);
    system.add("first", first).exchange("compensated");
    system.add("second", second).exchange("compensated");
    for name in ["first", "second"] {
        let settings = system.component(name).unwrap().step_size(0.1 * H);
        settings.extrapolation(crate::Word::new("hinfinity").with("variant", "smoothed"));
    }
    let source = source("z", "u", SIGNAL);
    system.add("source", source).step_size(0.1 * H);
    system.connect("source.u", "first.u");
    system.connect("first.y", "second.u");
    system.connect("second.y", "first.back");
    system.connect("first.z", "source.z");
    let run = started(system);
    let report = run.report();
    assert!(
        report.warnings[0].contains("as an extrapolation in it has a memory"),
        "{:?}",
        report.warnings
    );
    assert_eq!(mode(&report, "first"), Exchange::COMPENSATED);
    assert_eq!(mode(&report, "second"), Exchange::STALE);
    for (output, name) in run.graph().real_outputs().iter().enumerate() {
        let error = run.state.signals.stale_errors[output];
        let is_in_loop = ["first.y", "second.y"].contains(&name.name.as_str());
        assert_eq!(error.is_nan(), is_in_loop, "{}", name.name);
    }
}

#[test]
fn a_slower_unit_joins_where_it_is_due() {
    let mut system = empty();
    let [first, second] = sum_and_half();
    system.add("first", first);
    system.add("second", second).step_size(2.0 * H);
    system.add("source", source("y", "u", SIGNAL));
    system.connect("source.u", "first.u");
    system.connect("first.y", "second.u");
    system.connect("second.y", "first.back");
    system.connect("second.y", "source.y");
    let found = published(system, "first.y");
    let [u0, u1, u2, u3, u4] = SIGNAL;
    let expected = [2.0 * u0, u1 + u0, 2.0 * u2, u3 + u2, 2.0 * u4];
    assert!(are_close(&found, &expected), "{found:?} {expected:?}");
}

/// Downstream of a loop, and upstream: everything agrees at each point.
#[test]
fn a_loop_stands_in_the_order_of_the_passes() {
    let mut system = empty();
    let [sum, half] = sum_and_half();
    system.add("a_after", quadruple().fresh());
    system.add("sum", sum);
    system.add("half", half);
    system.add("z_before", quadruple().fresh());
    system.add("source", source("y", "u", SIGNAL));
    system.connect("source.u", "z_before.u");
    system.connect("z_before.y", "sum.u");
    system.connect("sum.y", "half.u");
    system.connect("half.y", "sum.back");
    system.connect("half.y", "a_after.u");
    system.connect("a_after.y", "source.y");
    let found = published(system, "a_after.y");
    assert!(are_close(&found, &SIGNAL.map(|u| 16.0 * u)), "{found:?}");
}

/// A run that goes back to a snapshot has the same bits again.
#[test]
fn a_snapshot_brings_the_loop_back() {
    let mut system = System::new(0.125);
    system
        .add("nls", with_derivatives(cubic()).saving())
        .start("u", 2.0);
    let ramp = LinearUnit::new(&[0.0], &["u"], &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
    system.add("ramp", ramp);
    system.connect("nls.y", "nls.u");
    system.connect("nls.y", "ramp.u");
    system.connect("ramp.y", "nls.t");
    let values = |run: &mut Run| {
        let mut bits = Vec::new();
        for _ in 0..8 {
            run.step().unwrap();
            bits.push(run.read_real("nls.y").unwrap().to_bits());
        }
        bits
    };
    let mut run = system.start(&RunOptions::default()).unwrap();
    values(&mut run);
    let snapshot = run.save().unwrap();
    let first = values(&mut run);
    run.restore(&snapshot).unwrap();
    assert_eq!(values(&mut run), first);
}
