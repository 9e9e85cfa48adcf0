//! D that moves: measured again in steps that are taken back, or the output stays stale.

use super::{Immediate, started};
use crate::decision::Decision;
use crate::{ClosureUnit, Run, System};

const H: f64 = 0.1;

/// A limit: D is 5 between −1 and 1, and 0 beyond.
fn limit() -> Immediate {
    Immediate::new(&["u"], &["y"], |u| vec![(5.0 * u[0]).clamp(-1.0, 1.0)])
}

fn line() -> Immediate {
    Immediate::new(&["u"], &["y"], |u| vec![5.0 * u[0]])
}

/// A unit that gets a signal of time, compensated.
fn fed(unit: Immediate, signal: fn(f64) -> f64) -> System {
    let mut system = System::new(H);
    system.stop_time(6.0).method("jacobi").extrapolation("hold");
    let source = ClosureUnit::new(&[], &[("u", signal(0.0))], move |call| {
        call.outputs[0] = signal(call.time + call.step);
    });
    system.add("source", source.memoryless());
    system.add("unit", unit);
    system.connect("source.u", "unit.u");
    system
}

/// The published outputs and inputs of each point, and the run that has ended.
fn rows(system: System) -> (Vec<[f64; 2]>, Run) {
    let mut run = started(system);
    let names: Vec<_> = run.graph().real_outputs();
    let place = |name: &str| names.iter().position(|output| output.name == name).unwrap();
    let (u, y) = (place("source.u"), place("unit.y"));
    let mut rows = Vec::new();
    loop {
        rows.push([run.view().reals[u], run.view().reals[y]]);
        if run.has_ended() {
            return (rows, run);
        }
        run.step().unwrap();
    }
}

fn of_output(run: &Run) -> Vec<Decision> {
    let decisions = run.report().decisions.into_iter();
    decisions
        .filter(|known| known.r#where == "unit.y")
        .collect()
}

/// At rest at first, and then to and fro over the limit.
fn swings(t: f64) -> f64 {
    if t < 1.0 {
        0.0
    } else {
        3.0 * (2.0 * (t - 1.0)).sin()
    }
}

/// If the unit goes back, the outputs are those under the new inputs from the second point of a new D on.
#[test]
fn a_limit_is_followed_by_steps_that_are_taken_back() {
    let unit = limit().saving();
    let (rows, run) = rows(fed(unit, swings));
    let late: Vec<f64> = rows
        .iter()
        .map(|[u, y]| (y - (5.0 * u).clamp(-1.0, 1.0)).abs())
        .collect();
    // One point for each of the four passages; at the last point no trial goes beyond the stop time.
    let wrong = late[..60].iter().filter(|error| **error > 1e-9).count();
    assert!(wrong <= 4, "{late:?}");
    let decisions = of_output(&run);
    let [decision] = &decisions[..] else {
        panic!("{decisions:?}")
    };
    assert!(decision.what.starts_with("another D, "), "{decision:?}");
    assert!((1.0..3.0).contains(&decision.from), "{decision:?}");
}

/// No call is made if D predicts the outputs.
#[test]
fn a_line_is_never_measured_again() {
    let calls = |unit: Immediate| {
        let (rows, run) = rows(fed(unit, swings));
        assert!(rows.iter().all(|[u, y]| (y - 5.0 * u).abs() < 1e-6));
        assert!(of_output(&run).is_empty());
        let counters = run.report().counters;
        (counters.set_calls, counters.get_calls)
    };
    assert_eq!(calls(line().saving()), calls(line()));
}

/// An input that rings beside the limit: with the D of the start the output would ring, and from the sixth turn on it is stale.
#[test]
fn an_output_whose_correction_rings_stays_stale() {
    let ringing = |t: f64| match t {
        t if t < 1.0 => 0.0,
        t => 2.0 + (t / H * std::f64::consts::PI).cos(),
    };
    let (rows, run) = rows(fed(limit(), ringing));
    assert!(rows[20..].iter().all(|[_, y]| *y == 1.0), "{rows:?}");
    let decisions = of_output(&run);
    let [decision] = &decisions[..] else {
        panic!("{decisions:?}")
    };
    assert_eq!(decision.what, "exchange stale");
    assert!((1.5..1.9).contains(&decision.from), "{decision:?}");
}

/// A run from a saved state knows the same of D.
#[test]
fn what_is_known_of_d_goes_back_with_the_state() {
    let mut run = started(fed(limit().saving(), swings));
    run.run_until(2.0).unwrap();
    let saved = run.save().unwrap();
    let [first, second] = [0, 1].map(|_| {
        run.restore(&saved).unwrap();
        let mut rows = Vec::new();
        while run.time() < 5.0 {
            run.step().unwrap();
            rows.extend(run.view().reals.iter().map(|value| value.to_bits()));
        }
        (rows, of_output(&run))
    });
    assert!(!first.1.is_empty());
    assert_eq!(first, second);
}
