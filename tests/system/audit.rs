//! The ledger accounts for the inputs that the units really used.

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::report::BondEnergy;
use gyrator::{RunOptions, System};
use gyrator_testkit::{Coupling, ModelUnit, Spy, TABLE_1};

const H: f64 = 1e-3;

/// Energies of the bond after 0.2 s, with a force unit that takes input derivatives up to `order`.
fn energies(coupling: &Coupling<'_>, order: u32) -> BondEnergy {
    let force = ModelUnit::new().with_input_derivatives(order);
    let motion = ModelUnit::new().with_input_derivatives(order);
    let system = TABLE_1[1].system_of(coupling, force, motion);
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.run().unwrap();
    *run.ledger().bond(0).unwrap()
}

/// Held inputs have no derivatives: units that would take some are booked like those that do not.
#[test]
fn derivatives_that_are_not_given_change_nothing() {
    for (force_step, motion_step) in [(H, H), (H, 0.1 * H), (0.1 * H, H), (4.0 * H, H)] {
        for correction in [None, Some(("residual-power", &[][..]))] {
            let coupling = Coupling {
                force_step,
                motion_step,
                correction,
                stop_time: 0.2,
                ..Coupling::default()
            };
            let expected = energies(&coupling, 0);
            assert!(expected.residual_energy != 0.0);
            for order in 1..=3 {
                assert_eq!(energies(&coupling, order), expected);
            }
        }
    }
}

/// Steps, and calls of directional derivatives between them, of a force that follows two inputs, and a motion.
fn derivative_calls(exchange: &str, extrapolation: &str, has_bond: bool) -> (u64, u64) {
    let mut system = System::new(H);
    system.stop_time(20.0 * H).method("jacobi");
    system.exchange(exchange).extrapolation(extrapolation);
    let (force, of_force) = Spy::on(ModelUnit::<OscillatorForce>::new());
    let (motion, of_motion) = Spy::on(ModelUnit::<OscillatorMotion>::new());
    system.add("force", force);
    system.add("motion", motion);
    system.connect("motion.x", "force.x2");
    let (effort, flow) = (("force.f", "motion.f"), ("motion.v", "force.v2"));
    if has_bond {
        let _ = system.bond("bond", effort, flow);
    } else {
        system.connect(effort.0, effort.1);
        system.connect(flow.0, flow.1);
    }
    let report = system.start(&RunOptions::default()).unwrap().run().unwrap();
    let calls = of_force.derivatives() + of_motion.derivatives();
    assert_eq!(report.counters.derivative_calls, calls);
    (report.steps, calls)
}

/// Without a bond nothing asks for the errors of stale outputs; those under held inputs need one call for all inputs together.
#[test]
fn derivatives_are_read_where_a_bond_or_the_exchange_needs_them() {
    for (exchange, extrapolation, has_bond, calls) in [
        ("stale", "hold", false, 0),
        ("stale", "linear", false, 0),
        ("stale", "auto", false, 0),
        ("stale", "hold", true, 1),
        ("stale", "linear", true, 2),
        ("compensated", "hold", false, 2),
        ("compensated", "hold", true, 2),
        ("compensated", "linear", true, 2),
        ("fresh", "hold", true, 0),
    ] {
        let (steps, found) = derivative_calls(exchange, extrapolation, has_bond);
        let case = format!("{exchange}, {extrapolation}, bond: {has_bond}");
        assert_eq!(found, calls * steps, "{case}");
    }
}

/// The ledger, which observes the inputs by itself, finds the steps in which a correction acted.
#[test]
fn the_steps_in_which_a_correction_acted_are_counted() {
    let counted = |correction| {
        let coupling = Coupling {
            correction,
            stop_time: 0.1,
            ..Coupling::default()
        };
        let mut run = TABLE_1[1]
            .system(&coupling)
            .start(&RunOptions::default())
            .unwrap();
        let (mut energy, mut changes) = (0.0, 0);
        while run.step().unwrap() {
            let now = run.ledger().bond(0).unwrap().correction_energy;
            changes += u64::from(now != std::mem::replace(&mut energy, now));
        }
        let now = run.ledger().bond(0).unwrap().correction_energy;
        changes += u64::from(now != energy);
        (run.report().counters.corrected_steps, changes)
    };
    assert_eq!(counted(None), (0, 0));
    assert_eq!(counted(Some(("residual-power", &[("mu", 0.0)]))), (0, 0));
    let (corrected, changes) = counted(Some(("residual-power", &[])));
    assert_eq!(corrected, changes);
    assert!((90..100).contains(&corrected), "{corrected} of 100");
}

/// The power that the force side gives is its force times the velocity that it used at the end of
/// its step, whatever the extrapolation and the order of derivatives.
#[test]
fn the_velocity_in_the_ledger_is_the_one_that_the_unit_used() {
    for force_step in [H, 0.25 * H] {
        for extrapolation in gyrator_testkit::extrapolations_of_any_step() {
            for order in 0..=3 {
                let coupling = Coupling {
                    force_step,
                    extrapolation: extrapolation.name,
                    ..Coupling::default()
                };
                let force = ModelUnit::new().with_input_derivatives(order);
                let system = TABLE_1[1].system_of(&coupling, force, ModelUnit::new());
                let mut run = system.start(&RunOptions::default()).unwrap();
                for _ in 0..20 {
                    run.step().unwrap();
                    let used = run.read_real("force.v2").unwrap();
                    let given = run.read_real("force.f").unwrap() * used;
                    let booked = run.ledger().bond(0).unwrap().given_power;
                    assert!(
                        (booked - given).abs() <= 1e-9 * given.abs(),
                        "{booked} W instead of {given} W: {} of order {order}",
                        extrapolation.name
                    );
                }
            }
        }
    }
}

/// A correction that may not correct anything changes how the plant is fed, and none of the energies of the bond.
#[test]
fn the_ledger_does_not_depend_on_how_inputs_are_fed() {
    for exchange in ["stale", "fresh", "compensated"] {
        let coupling = |correction| Coupling {
            exchange,
            correction,
            stop_time: 0.2,
            ..Coupling::default()
        };
        let plain = energies(&coupling(None), 0);
        let idle = energies(
            &coupling(Some(("residual-power", &[("limit", 0.0)][..]))),
            0,
        );
        for (plain, idle) in [
            (plain.residual_energy, idle.residual_energy),
            (plain.transferred_energy, idle.transferred_energy),
            (plain.applied_residual_energy, idle.applied_residual_energy),
            (
                plain.residual_energy_integrated,
                idle.residual_energy_integrated,
            ),
        ] {
            assert!(
                (plain - idle).abs() <= 1e-12 * plain.abs(),
                "{exchange}: {plain} J, {idle} J"
            );
        }
    }
}
