//! No unit is stepped beyond the stop time that it was told, not by rounding either (C-33).

use gyrator::{ClosureUnit, ComponentSettings, RunOptions, System};
use gyrator_testkit::Spy;

/// What a spy says after a run of `steps` macro-steps of `step`, s, from `start`, s.
fn violations(
    start: f64,
    step: f64,
    steps: u32,
    settle: impl FnOnce(ComponentSettings<'_>),
) -> Vec<String> {
    let mut system = System::new(step);
    system.start_time(start);
    system.stop_time(start + f64::from(steps) * step);
    let (unit, spied) = Spy::on(ClosureUnit::new(&[], &[("y", 0.0)], |_| {}));
    settle(system.add("unit", unit));
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
