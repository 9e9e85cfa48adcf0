//! No unit is stepped beyond its stop time, not by rounding either (C-33).

use fmu_models::Faulty;
use gyrator::system::ComponentSettings;
use gyrator::{ClosureUnit, RunOptions, System, Unit};
use gyrator_system::{Choice, Value};
use gyrator_testkit::{ModelUnit, Spy};

/// Violations that a spy has found after a run of `steps` macro-steps of `step`, s, from `start`, s.
fn violations(
    start: f64,
    step: f64,
    steps: u32,
    change: impl FnOnce(ComponentSettings<'_>),
) -> Vec<String> {
    let stop = start + f64::from(steps) * step;
    let unit = ClosureUnit::new(&[], &[("y", 0.0)], |_| {});
    violations_of(unit, [start, stop], step, "fixed", change)
}

/// Violations that a spy on `unit` has found after a run from `start` to `stop`, s, in macro-steps of `step`, s.
fn violations_of(
    unit: impl Unit + 'static,
    [start, stop]: [f64; 2],
    step: f64,
    control: &str,
    change: impl FnOnce(ComponentSettings<'_>),
) -> Vec<String> {
    let mut system = System::new(step);
    system.step_control(control);
    system.start_time(start);
    system.stop_time(stop);
    let (unit, spied) = Spy::on(unit);
    change(system.add("unit", unit));
    system.start(&RunOptions::default()).unwrap().run().unwrap();
    assert!(spied.steps() > 0);
    spied.violations()
}

/// 9 · 0.002 + 0.002 is greater than 0.02 in doubles: libcosim's crane, among others, refuses it.
#[test]
fn a_rounded_last_step_stays_within_the_stop_time() {
    assert_eq!(violations(0.0, 0.002, 10, |_| {}), [""; 0]);
}

#[test]
fn no_start_size_and_number_of_steps_goes_beyond_the_stop_time() {
    for step in [0.001, 0.002, 0.003, 0.007, 0.01, 0.1, 1.0 / 3.0] {
        for steps in [1, 7, 10, 30, 101] {
            for start in [0.0, 0.1, -1.3, 1e4] {
                assert_eq!(violations(start, step, steps, |_| {}), [""; 0]);
            }
        }
    }
}

/// A sum of steps t + h, in doubles, as the other masters compute it: 0.1 ten times is less than 1,
/// 0.1 a hundred times is less than 10, and 0.1 a thousand times more than 100.
#[test]
fn summed_time_is_the_sum_of_the_steps_and_as_many_of_them() {
    for (stop, steps) in [(1.0, 10), (10.0, 100), (100.0, 1000), (0.25, 3)] {
        let (unit, spied) = Spy::on(ClosureUnit::new(&[], &[("y", 0.0)], |_| {}));
        let mut system = System::new(0.1);
        let control = Choice::new("fixed").with("accumulate", Value::Boolean(true));
        system.step_control(control);
        system.stop_time(stop);
        system.add("unit", unit);
        let mut run = system.start(&RunOptions::default()).unwrap();
        let (mut sum, mut made) = (0.0_f64, 0);
        while !run.has_ended() {
            assert_eq!(run.time(), sum);
            let goes_on = run.step().unwrap();
            sum += if goes_on || stop != 0.25 {
                0.1
            } else {
                0.25 - sum
            };
            made += 1;
        }
        assert_eq!((run.time(), made), (sum, steps));
        assert_eq!(spied.violations(), [""; 0], "stop {stop}");
    }
}

#[test]
fn components_with_rates_of_their_own_stay_within_it_too() {
    for (step, own) in [
        (0.002, 0.0005),
        (0.002, 0.02),
        (0.01, 0.001),
        (0.007, 0.001),
    ] {
        let found = violations(0.0, step, 70, |unit| {
            unit.step_size(own);
        });
        assert_eq!(found, [""; 0]);
    }
}

/// 0.00135 + 0.00035 is greater than 0.0017 in doubles.
#[test]
fn a_shortened_last_step_in_parts_stays_within_it() {
    for stop in [0.0017, 0.0113, 0.10073, 2.00031] {
        for parts in [1, 2, 3, 7, 10] {
            for start in [0.0, 0.1, -1.3, 1e4] {
                for control in ["fixed", "ecco"] {
                    let unit = ClosureUnit::new(&[], &[("y", 0.0)], |_| {});
                    let found = violations_of(unit, [start, start + stop], 1e-3, control, |unit| {
                        unit.step_size(1e-3 / f64::from(parts));
                    });
                    assert_eq!(found, [""; 0], "{parts} parts of {control} steps");
                }
            }
        }
    }
}

#[test]
fn halves_of_a_discarded_step_stay_within_it() {
    for step in [0.001, 0.003, 0.007, 0.01, 0.1, 1.0 / 3.0] {
        for steps in [2, 7, 10, 30, 101] {
            for start in [0.0, 0.1, -1.3, 1e4] {
                let stop = start + f64::from(steps) * step;
                let unit = ModelUnit::<Faulty>::new();
                let found = violations_of(unit, [start, stop], step, "fixed", |unit| {
                    unit.step_halvings(1)
                        .start("fault", "discard_once")
                        .start("function", "do_step")
                        .start("fault_time", stop - 0.5 * step);
                });
                assert_eq!(found, [""; 0]);
            }
        }
    }
}
