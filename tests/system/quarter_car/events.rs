//! A second road step, steps that are made again, rates under a variable step, and what is refused.

use fmu_models::{QuarterCar, QuarterCarChassis, QuarterCarWheelSuspension};
use gyrator::{RunOptions, System};
use gyrator_system::Value;
use gyrator_testkit::{ModelUnit, TABLE_1, Trace};

use super::{Case, Coupling, LIN1, LIN2, PLAIN, word};

/// The road falls by 5 cm at 2 s, when the steps have grown.
fn second_step() -> QuarterCar {
    QuarterCar {
        second_road_step: -0.05,
        second_road_time: 2.0,
        ..QuarterCar::linear()
    }
}

fn linear_ecco(tolerance: f64) -> Coupling<'static> {
    Coupling {
        extrapolation: ("linear", &[]),
        ecco: Some((tolerance, "sum-abs")),
        ..PLAIN
    }
}

/// Length of the step that ends first after `time`, and of the shortest one within 20 ms of it.
fn steps_about(points: &[(f64, f64, f64)], time: f64) -> (f64, f64) {
    let steps: Vec<(f64, f64)> = points
        .windows(2)
        .map(|pair| (pair[1].0, pair[1].0 - pair[0].0))
        .collect();
    let over = steps.iter().find(|(end, _)| *end > time).unwrap().1;
    let near = steps
        .iter()
        .filter(|(end, _)| (time..time + 0.02).contains(end));
    (
        over,
        near.map(|(_, step)| *step).fold(f64::INFINITY, f64::min),
    )
}

#[test]
fn a_jump_shrinks_the_step_at_once() {
    let case = Case {
        car: second_step,
        ..LIN2
    };
    let outcome = case.run(&linear_ecco(1e-6));
    let (over, shortest) = steps_about(&outcome.points, 2.0);
    assert!(over > 1e-3, "{over}");
    assert_eq!((shortest * 1e8).round(), 1e3, "{shortest}");
}

/// Steps that are made again lead from long steps into the jump, so that less energy is made there.
#[test]
fn steps_are_made_again() {
    let case = Case {
        car: second_step,
        ..LIN2
    };
    let plain = case.run(&linear_ecco(1e-6));
    assert_eq!(plain.repeated, 0);
    let repeating = case.run(&Coupling {
        more_ecco: &[("reject_above", 5.0)],
        ..linear_ecco(1e-6)
    });
    println!(
        "without: {} steps, dP {} W; with: {} steps, {} repeated, dP {} W",
        plain.steps, plain.power_error, repeating.steps, repeating.repeated, repeating.power_error
    );
    assert!(repeating.repeated > 0);
    assert!(repeating.power_error < 0.2 * plain.power_error);
}

/// A repetition leaves no trace: the run goes on as if it had begun with the step that was kept.
#[test]
fn what_is_made_again_leaves_no_trace() {
    let run = |first_step: f64, reject_above: f64| {
        let mut system = TABLE_1[0].system(&gyrator_testkit::Coupling::default());
        system.stop_time(0.2);
        let parameters = [
            ("tolerance", 1e-6),
            ("energy_scale", 1e5),
            ("first_step", first_step),
            ("reject_above", reject_above),
        ];
        let parameters = parameters.map(|(key, value)| (key.to_owned(), Value::Real(value)));
        system.step_control(word("ecco", parameters));
        system.extrapolation(word("auto", []));
        let mut run = system.start(&RunOptions::default()).unwrap();
        let trace = Trace::of(&mut run).unwrap();
        let report = run.run().unwrap();
        let counters = report.counters;
        (trace, counters.repeated_steps, report.bonds[0].energy)
    };
    let (repeating, repeated, energy) = run(1e-2, 100.0);
    assert!(repeated > 0);
    let kept = repeating.times()[1];
    assert!(kept <= 5e-3, "{kept}");
    let (plain, repeated, plain_energy) = run(kept, 1e9);
    assert_eq!(repeated, 0);
    assert_eq!(plain.bits(), repeating.bits());
    assert_eq!(plain_energy, energy);
}

/// The shortest step is a whole number of ticks, which may be more than the limit of the step control: a
/// step that cannot be made shorter stands, however great its error is.
#[test]
fn a_step_that_cannot_be_made_shorter_is_not_made_again() {
    let mut system = TABLE_1[0].system(&gyrator_testkit::Coupling::default());
    system.stop_time(2e-3);
    let parameters = [("tolerance", 1e-12), ("reject_above", 1.0)];
    let parameters = parameters.map(|(key, value)| (key.to_owned(), Value::Real(value)));
    system.step_control(word("ecco", parameters));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let report = run.run().unwrap();
    assert_eq!(report.stop_reason, gyrator::StopReason::StopTime);
    // The shortest step is a hundredth of the macro-step of 1 ms.
    assert!(report.steps >= 199, "{}", report.steps);
}

fn multirate(chassis_step: f64, suspension_step: f64) -> System {
    let mut system = System::new(1e-3);
    system.stop_time(0.5);
    let parameters = [("tolerance", 1e-5), ("energy_scale", 750.0)];
    let parameters = parameters.map(|(key, value)| (key.to_owned(), Value::Real(value)));
    system.step_control(word("ecco", parameters));
    let chassis = ModelUnit::<QuarterCarChassis>::new();
    system.add("a", chassis).step_size(chassis_step);
    let suspension = ModelUnit::<QuarterCarWheelSuspension>::new();
    system.add("b", suspension).step_size(suspension_step);
    system.bond("suspension", ("b.F", "a.F"), ("a.v_c", "b.v_c"));
    system
}

/// A slow chassis makes one step in three macro-steps of equal length, a fast suspension three in one.
#[test]
fn rates_are_kept_under_a_variable_step() {
    for (chassis, suspension) in [(3e-3, 1e-3), (1e-3, 1e-3 / 3.0), (2e-3, 0.5e-3)] {
        let system = multirate(chassis, suspension);
        let cycle = (chassis / 1e-3_f64).round() as usize;
        // The slow half cannot end between two of its steps.
        let duration = if cycle == 3 { 0.501 } else { 0.5 };
        let mut system = system;
        system.stop_time(duration);
        let mut run = system.start(&RunOptions::default()).unwrap();
        let trace = Trace::of(&mut run).unwrap();
        let report = run.run().unwrap();
        assert_eq!(run.time(), duration);
        assert_eq!(report.steps as usize % cycle, 0);
        let times = trace.times();
        let mut sizes = Vec::new();
        for points in times.windows(cycle + 1).step_by(cycle) {
            let length = (points[cycle] - points[0]) / cycle as f64;
            for pair in points.windows(2) {
                assert!((pair[1] - pair[0] - length).abs() < 1e-12);
            }
            sizes.push(length);
        }
        let most = sizes.iter().copied().fold(0.0, f64::max);
        assert!(most > 20.0 * sizes[0], "{} to {most}", sizes[0]);
    }
}

#[test]
fn components_that_need_equal_steps_are_named() {
    let mut system = System::new(1e-3);
    system.stop_time(1.0);
    system.step_control(word("ecco", []));
    system.add(
        "chassis",
        ModelUnit::<QuarterCarChassis>::new().with_fixed_step(),
    );
    system.add("rest", ModelUnit::<QuarterCarWheelSuspension>::new());
    system.bond(
        "suspension",
        ("rest.F", "chassis.F"),
        ("chassis.v_c", "rest.v_c"),
    );
    let Err(error) = system.start(&RunOptions::default()) else {
        panic!("equal steps are needed");
    };
    let text = error.to_string();
    assert!(text.contains("which chassis cannot follow"), "{text}");
}

#[test]
fn the_last_step_ends_at_the_stop_time() {
    let coupling = linear_ecco(1e-6);
    let last = |outcome: super::QuarterCarOutcome| outcome.points[outcome.points.len() - 1].0;
    assert_eq!(last(LIN1.run(&coupling)), 4.0);
    let beyond = last(LIN1.run(&Coupling {
        overshoot: true,
        ..coupling
    }));
    assert!(beyond > 4.0 && beyond < 4.0 + 1e-2, "{beyond}");
}
