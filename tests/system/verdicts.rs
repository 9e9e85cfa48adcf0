//! The verdict of a run on its own coupling.

use super::verification::verified;
use gyrator::report::Divergence;
use gyrator::{ClosureUnit, Report, RunOptions, System, Verdict};
use gyrator_system::{Choice, Value};
use gyrator_testkit::{Coupling, DoubleOscillator, OscillatorState, TABLE_1, Trace};

fn run(system: System) -> Report {
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.run().unwrap()
}

/// The report of a run that a second one verifies, of the system with this macro-step.
fn verified_run(step: f64, system: impl Fn(f64) -> System) -> Report {
    verified(|factor| system(factor * step).start(&RunOptions::default()).unwrap())
}

/// The greatest error of a state, relative to its range, against symplectic Euler on the whole system: what the coupling
/// makes. Root of the mean square.
fn greatest_error(oscillator: &DoubleOscillator, step: f64, states: &[OscillatorState]) -> f64 {
    let whole = oscillator.monolithic(step, states.len() - 1);
    let relative = |index: usize| {
        let values = whole.iter().map(|state| state[index]);
        let least = values.clone().fold(f64::INFINITY, f64::min);
        let greatest = values.fold(f64::NEG_INFINITY, f64::max);
        let errors = states.iter().zip(&whole);
        let squares: f64 = errors.map(|(a, b)| (a[index] - b[index]).powi(2)).sum();
        (squares / states.len() as f64).sqrt() / (greatest - least)
    };
    (0..4).map(relative).fold(0.0, f64::max)
}

/// Rodríguez et al. 2022, table 1, with 1 ms over 10 s: a stale force makes 10.2 kJ on 10 kJ in case 1, 1.89 MJ in
/// case 3, 6.8 kJ in case 5 (`crates/benchmark/reference/double_oscillator.py`). Passed on fresh, steps of 0.1 ms make some hundred J
/// of it in two seconds.
#[test]
fn oscillators_with_a_stale_force() {
    let judged = |case: usize, exchange: &str, step: f64, stop_time: f64| {
        let oscillator = TABLE_1[case - 1];
        let coupling = Coupling {
            exchange,
            macro_step: step,
            force_step: step,
            motion_step: step,
            stop_time,
            ..Coupling::default()
        };
        let mut run = oscillator
            .system(&coupling)
            .start(&RunOptions::default())
            .unwrap();
        let trace = Trace::of(&mut run).unwrap();
        let estimate = run.run().unwrap().coupling_error_estimate.unwrap();
        let report = verified_run(step, |step| {
            oscillator.system(&Coupling {
                macro_step: step,
                force_step: step,
                motion_step: step,
                ..coupling
            })
        });
        assert_eq!(report.verdict, report.bonds[0].verdict);
        let diverges = report.verdict == Verdict::Diverging;
        assert_eq!(report.advice.is_some(), diverges);
        let states = DoubleOscillator::states(&trace);
        let error = greatest_error(&oscillator, step, &states);
        (report, estimate, error)
    };
    for case in [1, 3, 5] {
        let (report, estimate, error) = judged(case, "stale", 1e-3, 10.0);
        assert!(
            (1.0 / 3.0..3.0).contains(&(estimate / error)),
            "case {case}: {estimate} instead of {error}"
        );
        let expected = match case {
            3 => vec![Verdict::Diverging],
            _ => [1.0, 1.5, 1.0 / 1.5]
                .map(|factor| Verdict::from_relative_error(factor * error))
                .to_vec(),
        };
        assert!(expected.contains(&report.verdict), "case {case}: {error}");
        let (fresh, ..) = judged(case, "fresh", 1e-4, 2.0);
        assert!(fresh.verdict <= Verdict::Visible, "case {case}");
    }
}

/// Both halves make one step of the semi-implicit Euler method in each communication step. Passed on fresh they are the same
/// method on the whole system: the coupling makes no error. A stale force makes the delay of a step.
#[test]
fn single_steps_take_held_inputs_without_delay() {
    for oscillator in TABLE_1 {
        let run = |exchange| {
            let coupling = Coupling {
                exchange,
                stop_time: 2.0,
                ..Coupling::default()
            };
            run(oscillator.system(&coupling))
        };
        assert_eq!(run("fresh").coupling_error_estimate, Some(0.0));
        assert!(run("stale").coupling_error_estimate.unwrap() > 0.0);
    }
}

/// x(k+1) = gain·x(k) over two connections; grows if |gain| > 1.
fn loop_of(gain: f64, steps: f64) -> Report {
    loop_from(1.0, gain, steps)
}

/// The same from another start than 1.
fn loop_from(start: f64, gain: f64, steps: f64) -> Report {
    verified_run(1.0, |step| loop_system(step, start, gain, steps))
}

fn loop_system(step: f64, start: f64, gain: f64, steps: f64) -> System {
    let mut system = System::new(step);
    system.stop_time(steps);
    let follower = |factor: f64| {
        ClosureUnit::new(&[("u", 0.0)], &[("y", start)], move |call| {
            if call.step > 0.0 {
                call.outputs[0] = factor * call.inputs[0];
            }
        })
    };
    system.add("a", follower(gain));
    system.add("b", follower(1.0));
    system.connect("a.y", "b.u");
    system.connect("b.y", "a.u");
    system
}

#[test]
fn a_loop_without_bonds_that_explodes() {
    let report = loop_of(-1.5, 100.0);
    assert_eq!(report.verdict, Verdict::Diverging);
    let advice = report.advice.unwrap();
    assert!(advice.contains("at half of every step, too"), "{advice}");
    // Without a second run it is not said.
    let alone = run(loop_system(1.0, 1.0, -1.5, 100.0));
    assert_eq!(
        (alone.verdict, alone.divergence),
        (Verdict::CannotTell, Divergence::Suspected)
    );
    assert_eq!(alone.advice, None);
    assert_ne!(loop_of(-0.9, 100.0).verdict, Verdict::Diverging);
}

/// Rounding noise in a system at rest is not a coupling error, whatever share of the noise it is.
#[test]
fn a_system_at_rest() {
    assert_eq!(loop_from(1e-16, -0.9, 100.0).verdict, Verdict::Small);
    assert!(loop_from(1e-12, -0.9, 100.0).verdict > Verdict::Small);
}

/// A unit that explodes by itself is not a diverging coupling: to 4e17, and to 1e200, whose square is
/// infinite.
#[test]
fn a_source_that_explodes() {
    for factor in [-1.5, -100.0] {
        let mut system = System::new(1.0);
        system.stop_time(100.0);
        let source = ClosureUnit::new(&[], &[("y", 1.0)], move |call| {
            if call.step > 0.0 {
                call.outputs[0] *= factor;
            }
        });
        system.add("source", source);
        let sink = ClosureUnit::new(&[("u", 0.0)], &[("z", 0.0)], |_| ());
        system.add("sink", sink);
        system.connect("source.y", "sink.u");
        assert_eq!(run(system).verdict, Verdict::Dominating);
    }
}

/// A signal that is still for long, and one that rises late, in one step.
#[test]
fn late_events_do_not_diverge() {
    let mut system = System::new(1e-3);
    system.stop_time(1.0);
    let step = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
        call.outputs[0] = f64::from(u8::from(call.time > 0.8));
    });
    system.add("step", step);
    system.add(
        "sink",
        ClosureUnit::new(&[("u", 0.0)], &[("z", 0.0)], |_| ()),
    );
    system.connect("step.y", "sink.u");
    let report = run(system);
    assert!(report.verdict <= Verdict::Visible, "{}", report.verdict);
    let connection = &report.connections[0];
    assert_eq!((&*connection.from, &*connection.to), ("step.y", "sink.u"));
    assert_eq!((connection.defect_max, connection.range), (1.0, 1.0));
}

/// Start values that do not fit make signals jump in the first step, in both directions; others grow with the square of the
/// time, as a process that warms up. None of them grows by the coupling.
#[test]
fn a_jump_at_the_start_beside_growing_signals_does_not_diverge() {
    let mut system = System::new(1e-2);
    system.stop_time(1.0);
    for name in ["left", "right"] {
        let inputs = [("u[1]", 0.0), ("u[2]", 0.0)];
        let outputs = [("jump", 0.0), ("heat", 0.0)];
        let unit = ClosureUnit::new(&inputs, &outputs, |call| {
            let end = call.time + call.step;
            call.outputs[0] = f64::from(u8::from(call.step > 0.0 && call.time == 0.0));
            call.outputs[1] = end * end;
        });
        system.add(name, unit);
    }
    for (from, to) in [("left", "right"), ("right", "left")] {
        system.connect(&format!("{from}.jump"), &format!("{to}.u[1]"));
        system.connect(&format!("{from}.heat"), &format!("{to}.u[2]"));
    }
    assert_eq!(run(system).verdict, Verdict::Dominating);
}

/// Held over H, y = exp(−t) at the end of a step is (exp(H) − 1)·y off, relative to 1. With r = 1e-2 the indicator is
/// 1 when H is 1e-2 at the start and 1e-2·exp(t) later, until 0.1, the greatest step.
#[test]
fn steps_are_controlled_by_defects_without_bonds() {
    let mut system = System::new(1e-2);
    system.extrapolation("hold");
    system.stop_time(2.0);
    let decay = ClosureUnit::new(&[], &[("y", 1.0)], |call| {
        call.outputs[0] = (-(call.time + call.step)).exp();
    });
    system.add("decay", decay);
    system.add(
        "sink",
        ClosureUnit::new(&[("u", 0.0)], &[("z", 0.0)], |_| ()),
    );
    system.connect("decay.y", "sink.u");
    let choice = Choice::new("ecco")
        .with("indicator", Value::String("defect".to_owned()))
        .with("tolerance", Value::Real(1e-2))
        .with("safety", Value::Real(1.0));
    system.step_control(choice);
    let mut run = system.start(&RunOptions::default()).unwrap();
    while !run.has_ended() && run.time() < 1.0 {
        run.step().unwrap();
    }
    let signals = run.view().control;
    let (size, indicator) = (signals[0].1, signals[1].1);
    let expected = 1e-2 * run.time().exp();
    assert!(
        (0.7..1.4).contains(&(size / expected)),
        "{size} s instead of {expected} s"
    );
    assert!((0.7..1.4).contains(&indicator), "{indicator}");
}
