//! The energies of bonds do not depend on how the engine keeps their accounts.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::{ClosureUnit, Report, RunOptions, System};
use gyrator_testkit::ModelUnit;

/// Pairs of masses with a spring between them (Rodríguez 2022, table 1, case 1), for 0.5 s. All inputs are held copies, which one of the
/// accounts takes; `is_apart` adds a unit without connections, with which the other one is kept.
fn report(pairs: usize, exchange: &str, is_apart: bool, in_rows: bool) -> Report {
    let mut system = System::new(1e-3);
    system.stop_time(0.5).method("jacobi").extrapolation("hold");
    system.exchange(exchange);
    for pair in 0..pairs {
        let [left, right] = ["left", "right"].map(|side| format!("{side}{pair}"));
        system
            .add(&left, ModelUnit::<OscillatorForce>::new())
            .start("k_c", 100.0 + 20.0 * pair as f64)
            .start("v_start", 100.0);
        system
            .add(&right, ModelUnit::<OscillatorMotion>::new())
            .start("k", 1000.0)
            .start("v_start", -100.0);
        let of = |component: &str, variable: &str| format!("{component}.{variable}");
        system.connect(&of(&right, "x"), &of(&left, "x2"));
        let effort = (of(&left, "f"), of(&right, "f"));
        let flow = (of(&right, "v"), of(&left, "v2"));
        let _ = system.bond(
            &format!("bond{pair}"),
            (&effort.0, &effort.1),
            (&flow.0, &flow.1),
        );
    }
    if is_apart {
        system.add("zz", ClosureUnit::new(&[], &[("y", 1.0)], |_| {}));
    }
    let mut run = system.start(&RunOptions::default()).unwrap();
    if in_rows {
        return run.run().unwrap();
    }
    while run.step().unwrap() {}
    run.report()
}

#[track_caller]
fn expect_equal(one: f64, other: f64, what: &str) {
    // Rounding of 500 sums.
    let difference = (one - other).abs();
    assert!(
        difference <= 1e-9 * one.abs() && one != 0.0,
        "{what}: {one} and {other}"
    );
}

fn compare(pairs: usize, exchange: &str) {
    for in_rows in [false, true] {
        let [alone, beside] =
            [false, true].map(|is_apart| report(pairs, exchange, is_apart, in_rows));
        for (alone, beside) in alone.bonds.iter().zip(&beside.bonds) {
            let what = format!("{} of {pairs}, {exchange}", alone.name);
            for (one, other, name) in [
                (
                    alone.energy.residual_energy_integrated,
                    beside.energy.residual_energy_integrated,
                    "integrated energy",
                ),
                (
                    alone.residual_energy_integrated_error,
                    beside.residual_energy_integrated_error,
                    "error of it",
                ),
            ] {
                expect_equal(one, other, &format!("{name} of {what}"));
            }
        }
    }
}

/// Inputs are copies of the outputs that follow them: these accounts are added four macro-steps at a time, or four bonds.
#[test]
fn a_unit_without_connections_changes_no_energy_of_fresh_outputs() {
    for pairs in [1, 2, 5] {
        compare(pairs, "fresh");
    }
}

#[test]
fn a_unit_without_connections_changes_no_energy_of_outputs_as_the_step_left_them() {
    for pairs in [1, 4] {
        compare(pairs, "stale");
    }
}

#[test]
fn a_unit_without_connections_changes_no_energy_of_compensated_outputs() {
    compare(2, "compensated");
}
