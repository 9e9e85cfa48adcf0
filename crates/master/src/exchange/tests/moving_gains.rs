//! D that moves: measured again in steps that are taken back, or the outputs stay stale that it does not predict.

use super::{Immediate, started};
use crate::decision::Decision;
use crate::unit::{UnitDescription, UnitWrapper};
use crate::{ClosureUnit, LinearUnit, Run, System, Unit};

const H: f64 = 0.1;

/// A limit: D is 5 between −0.2 and 0.2, and 0 beyond.
fn limit() -> Immediate {
    Immediate::new(&["u"], &["y"], |u| vec![(5.0 * u[0]).clamp(-1.0, 1.0)])
}

/// The same, whose D can be read.
fn limit_with_derivatives() -> Immediate {
    limit().with_jacobian(|u| vec![if u[0].abs() < 0.2 { 5.0 } else { 0.0 }])
}

/// A unit that gets a signal of the number of the point, compensated by the choice of `auto`.
fn fed(unit: Immediate, signal: fn(i32) -> f64) -> System {
    let mut system = System::new(H);
    system
        .stop_time(120.0 * H)
        .method("jacobi")
        .exchange("auto")
        .extrapolation("hold");
    let source = ClosureUnit::new(&[], &[("u", signal(0))], move |call| {
        call.outputs[0] = signal(((call.time + call.step) / H).round() as i32);
    });
    system.add("source", source.memoryless());
    system.add("unit", unit);
    system.connect("source.u", "unit.u");
    system
}

/// The published outputs `names` of each point, and the run that has ended.
fn rows(system: System, names: [&str; 2]) -> (Vec<[f64; 2]>, Run) {
    let mut run = started(system);
    let outputs: Vec<_> = run.graph().real_outputs();
    let places = names.map(|name| outputs.iter().position(|known| known.name == name).unwrap());
    let mut rows = Vec::new();
    loop {
        rows.push(places.map(|place| run.view().reals[place]));
        if run.has_ended() {
            return (rows, run);
        }
        run.step().unwrap();
    }
}

const SIGNALS: [&str; 2] = ["source.u", "unit.y"];

fn of_output(run: &Run) -> Vec<Decision> {
    let decisions = run.report().decisions.into_iter();
    decisions
        .filter(|known| known.r#where == "unit.y")
        .collect()
}

/// 1 and −1 in turns.
fn turns(point: i32) -> f64 {
    f64::from(1 - 2 * (point % 2))
}

/// If the unit goes back, the outputs are those under the new inputs, but for one point at each passage.
#[test]
fn a_limit_is_followed_by_steps_that_are_taken_back() {
    let slow = |point| match point {
        ..10 => 0.0,
        _ => 0.6 * f64::sin(0.2 * f64::from(point - 10)),
    };
    let (rows, run) = rows(fed(limit().saving(), slow), SIGNALS);
    let is_wrong = |[u, y]: &&[f64; 2]| (y - (5.0 * u).clamp(-1.0, 1.0)).abs() > 1e-9;
    // Fourteen passages; at the last point no trial goes beyond the stop time.
    assert!(
        rows[..120].iter().filter(is_wrong).count() <= 14,
        "{rows:?}"
    );
    let decisions = of_output(&run);
    let measured = decisions
        .iter()
        .find(|known| known.what.starts_with("another D, "));
    assert!(
        (10.0 * H..20.0 * H).contains(&measured.unwrap().from),
        "{decisions:?}"
    );
}

/// No call is made if D predicts the outputs.
#[test]
fn a_line_is_never_measured_again() {
    let calls = |unit: Immediate| {
        let (_, run) = rows(fed(unit, turns), SIGNALS);
        assert!(of_output(&run).is_empty());
        let counters = run.report().counters;
        (counters.set_calls, counters.get_calls)
    };
    let line = || Immediate::new(&["u"], &["y"], |u| vec![5.0 * u[0]]);
    assert_eq!(calls(line().saving()), calls(line()));
}

/// A correction that no step has shown anything of yet is left out if it is far beyond the output.
#[test]
fn no_correction_is_far_beyond_the_output() {
    for unit in [limit(), limit_with_derivatives()] {
        let leaves = |point| {
            if point < 10 {
                0.1
            } else {
                20.0 + 3.0 * turns(point)
            }
        };
        let (rows, run) = rows(fed(unit, leaves), SIGNALS);
        assert!(rows.iter().all(|[_, y]| *y <= 1.0), "{rows:?}");
        assert!(rows[11..].iter().all(|[_, y]| *y == 1.0), "{rows:?}");
        let decisions = of_output(&run);
        let [decision] = &decisions[..] else {
            panic!("{decisions:?}")
        };
        assert!((decision.from - 10.0 * H).abs() < 1e-9, "{decision:?}");
    }
}

/// An input to and fro over the limit: D says five times what is seen. Between the limits D is right again.
#[test]
fn an_output_is_stale_while_its_corrections_miss() {
    let swings = |point| match point {
        ..10 => 0.1,
        10..30 => 0.25 + 0.06 * turns(point),
        _ => 0.1 * turns(point),
    };
    let (rows, run) = rows(fed(limit(), swings), SIGNALS);
    let is_kept = |[_, y]: &[f64; 2]| (0.95..=1.0).contains(y);
    assert!(rows[13..30].iter().all(is_kept), "{rows:?}");
    let is_right = |[u, y]: &[f64; 2]| (y - 5.0 * u).abs() < 1e-6;
    assert!(rows[..10].iter().all(is_right), "{rows:?}");
    assert!(rows[80..].iter().all(is_right), "{rows:?}");
    let decisions = of_output(&run);
    let [decision] = &decisions[..] else {
        panic!("{decisions:?}")
    };
    assert!(
        decision.what.starts_with("exchange stale, "),
        "{decision:?}"
    );
    assert!(
        (10.0 * H..13.0 * H).contains(&decision.from),
        "{decision:?}"
    );
}

/// D says one and a half times what is seen: too little for the output to be stale. The change that it has shown is right.
#[test]
fn a_correction_is_at_most_the_change_that_the_output_shows() {
    let unit = Immediate::new(&["u"], &["y"], |u| vec![u[0]]).with_jacobian(|_| vec![1.5]);
    let (rows, run) = rows(fed(unit, turns), SIGNALS);
    let is_right = |[u, y]: &[f64; 2]| (y - u).abs() < 1e-12;
    assert!(rows[10..].iter().all(is_right), "{rows:?}");
    let decisions = of_output(&run);
    let is_limit = |known: &Decision| known.what.starts_with("a limited correction, ");
    assert!(decisions.iter().any(is_limit), "{decisions:?}");
}

/// All numbers are exact.
#[test]
fn a_unit_that_d_predicts_keeps_its_bits() {
    let line = Immediate::new(&["u"], &["y"], |u| vec![4.0 * u[0]]).with_jacobian(|_| vec![4.0]);
    let rough = |point: i32| f64::from(point * point % 7) / 8.0;
    let (rows, run) = rows(fed(line, rough), SIGNALS);
    assert!(rows.iter().all(|[u, y]| *y == 4.0 * u), "{rows:?}");
    assert!(of_output(&run).is_empty());
}

/// A linear unit that does not declare that its outputs may be read again.
struct Undeclared(LinearUnit, UnitDescription);

impl UnitWrapper for Undeclared {
    fn inner(&self) -> &dyn Unit {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.0
    }

    fn description(&self) -> &UnitDescription {
        &self.1
    }
}

/// A force F on a mass m, from which a damper D hangs that relaxes in τ: ẋ = (v − x)/τ, y = D·(v − x). With a = exp(−H/τ) and steps
/// ΔV of the velocity the damper leaves y = D·ΔV·a/(1 − a) at their ends. Passed on stale, ΔV/H = F/(m + H·D·a/(1 − a)), and
/// disturbances fade by √(a·H·D/m) = 0.67 a step; with D·ΔV they grow by H·D/m − a = 1.78.
fn relaxing(exchange: &str) -> System {
    let rate = 1.5 / H;
    let damper = LinearUnit::new(
        &[0.0],
        &["v"],
        &["y"],
        [&[-rate], &[rate], &[-DAMPING], &[DAMPING]],
    );
    let mut description = damper.description().clone();
    description.capabilities.fresh_outputs = false;
    let damper = Undeclared(damper, description);
    // The second state is the force.
    let mass = LinearUnit::new(
        &[0.0, 1.0],
        &["y"],
        &["v"],
        [&[0.0, 1.0, 0.0, 0.0], &[-1.0, 0.0], &[1.0, 0.0], &[0.0]],
    );
    let mut system = System::new(H);
    system
        .stop_time(1000.0 * H)
        .method("jacobi")
        .exchange(exchange)
        .extrapolation("hold");
    system.add("mass", mass);
    system.add("unit", damper);
    system.connect("mass.v", "unit.v");
    system.connect("unit.y", "mass.y");
    system
}

const DAMPING: f64 = 20.0;

#[test]
fn a_stiff_coupling_that_relaxes_does_not_ring() {
    let (rows, run) = rows(relaxing("auto"), ["mass.v", "unit.y"]);
    let relaxed = f64::exp(-1.5);
    let acceleration = (rows[1000][0] - rows[600][0]) / (400.0 * H);
    let expected = 1.0 / (1.0 + H * DAMPING * relaxed / (1.0 - relaxed));
    assert!(
        (acceleration / expected - 1.0).abs() < 0.01,
        "{acceleration} {expected}"
    );
    // The first correction is D·F·H/m = 2.
    let greatest = rows
        .iter()
        .fold(0.0, |most, [_, y]| f64::max(most, y.abs()));
    assert!(greatest < 10.0, "{greatest}");
    assert_eq!(of_output(&run).len(), 1);
}

/// A file that names the mode gets it, so that published figures of it stay.
#[test]
fn compensated_by_name_is_never_stale() {
    let (rows, run) = rows(relaxing("compensated"), ["mass.v", "unit.y"]);
    let growth = rows[500][1] / rows[400][1];
    let expected = (H * DAMPING - f64::exp(-1.5)).powi(100);
    assert!((growth / expected).ln().abs() < 1e-3, "{growth} {expected}");
    assert!(of_output(&run).is_empty());
}

/// A run from a saved state knows the same of D.
#[test]
fn what_is_known_of_d_goes_back_with_the_state() {
    let swings = |point: i32| 0.05 + 0.06 * turns(point) + 0.2 * f64::from(point % 20 / 10);
    let mut run = started(fed(limit().saving(), swings));
    run.run_until(20.0 * H).unwrap();
    let saved = run.save().unwrap();
    let [first, second] = [0, 1].map(|_| {
        run.restore(&saved).unwrap();
        let mut rows = Vec::new();
        while run.time() < 50.0 * H {
            run.step().unwrap();
            rows.extend(run.view().reals.iter().map(|value| value.to_bits()));
        }
        (rows, of_output(&run))
    });
    assert!(!first.1.is_empty());
    assert_eq!(first, second);
}
