//! The energies of bonds do not depend on what else is in the system.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::{ClosureUnit, Report, RunOptions, System};
use gyrator_testkit::ModelUnit;

/// Pairs of masses with a spring between them (Rodríguez 2022, table 1, case 1), for 0.5 s. All inputs are held copies;
/// `is_apart` adds a unit without connections.
fn report(pairs: usize, exchange: &str, is_apart: bool) -> Report {
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
    system.start(&RunOptions::default()).unwrap().run().unwrap()
}

/// To the bit.
fn compare(pairs: usize, exchange: &str) {
    let [alone, beside] = [false, true].map(|is_apart| report(pairs, exchange, is_apart));
    for (alone, beside) in alone.bonds.iter().zip(&beside.bonds) {
        assert_eq!(alone, beside, "{exchange}, {pairs}");
        assert_ne!(alone.energy.residual_energy_integrated, 0.0);
    }
}

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
