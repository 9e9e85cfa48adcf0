//! H∞ coupling of units: compensator on the source's steps, smoother on the receiver's.

use fmu_models::{DualMassForce, DualMassVelocity};
use gyrator::{RunOptions, System, Unit};
use gyrator_system::{Choice, Value};
use gyrator_testkit::{ModelUnit, Trace};

const MACRO_STEP: f64 = 0.05;

/// The dual mass-spring-damper with communication steps of both halves, s.
fn dual_mass(
    extrapolation: Choice,
    exchange: &str,
    steps: [f64; 2],
    force: impl Unit + 'static,
    velocity: impl Unit + 'static,
) -> System {
    let mut system = System::new(MACRO_STEP);
    system.stop_time(5.0);
    system.extrapolation(extrapolation);
    system
        .add("force", force)
        .step_size(steps[0])
        .exchange(exchange);
    system.add("velocity", velocity).step_size(steps[1]);
    system.bond(
        "coupling",
        ("force.F", "velocity.F"),
        ("velocity.v", "force.v2"),
    );
    system
}

fn word(variant: &str) -> Choice {
    Choice::new("hinfinity").with("variant", Value::String(variant.to_owned()))
}

fn force() -> ModelUnit<DualMassForce> {
    ModelUnit::new()
}

fn velocity() -> ModelUnit<DualMassVelocity> {
    ModelUnit::new()
}

fn refusal(system: System) -> String {
    system
        .start(&RunOptions::default())
        .err()
        .unwrap()
        .to_string()
}

#[test]
fn steps_that_are_too_coarse_are_refused() {
    let refused = |variant, steps| {
        refusal(dual_mass(
            word(variant),
            "fresh",
            steps,
            force(),
            velocity(),
        ))
    };
    let message = refused("one-sided", [MACRO_STEP; 2]);
    assert!(
        message.contains("`hinfinity` cannot feed `force.v2`"),
        "{message}"
    );
    assert!(message.contains("step_size of 0.01 s or less"), "{message}");
    // The compensated signal comes from `velocity`; the force is held and needs no steps.
    assert!(!message.contains("velocity.F"), "{message}");
    let message = refused("smoothed", [0.005, 0.01]);
    assert!(
        message.contains("`hinfinity` cannot feed `force.v2`"),
        "{message}"
    );
    assert!(
        message.contains("`hinfinity` cannot feed `velocity.F`"),
        "{message}"
    );
    let mut system = dual_mass(word("one-sided"), "fresh", [0.01; 2], force(), velocity());
    system.step_control("ecco");
    let message = refusal(system);
    assert!(message.contains("macro-steps of one length"), "{message}");
}

#[test]
fn threads_change_nothing() {
    for variant in ["one-sided", "smoothed"] {
        let trace = |threads| {
            let system = dual_mass(word(variant), "auto", [0.005; 2], force(), velocity());
            let options = RunOptions {
                threads,
                step_clock: gyrator_testkit::ticking(),
                ..RunOptions::default()
            };
            let mut run = system.start(&options).unwrap();
            let trace = Trace::of(&mut run).unwrap();
            run.run().unwrap();
            trace.bits()
        };
        assert_eq!(trace(1), trace(4), "{variant}");
    }
}

#[test]
fn no_step_allocates() {
    for variant in ["one-sided", "smoothed"] {
        for exchange in ["stale", "fresh", "compensated"] {
            for order in [0, 1] {
                let (force, velocity) = (
                    force().with_input_derivatives(order),
                    velocity().with_input_derivatives(order),
                );
                let system = dual_mass(word(variant), exchange, [0.005; 2], force, velocity);
                let mut run = system.start(&RunOptions::default()).unwrap();
                let mut go = |steps: usize| assert!((0..steps).all(|_| run.step().unwrap()));
                go(10);
                let counted = allocation_counter::measure(|| go(50));
                assert_eq!(counted.count_total, 0, "{variant} {exchange} {order}");
            }
        }
    }
}

/// The ledger uses the value that the unit used at the end of its step.
#[test]
fn the_velocity_in_the_ledger_is_the_one_that_the_unit_used() {
    for variant in ["one-sided", "smoothed"] {
        for order in [0, 1] {
            let force = force().with_input_derivatives(order);
            let system = dual_mass(word(variant), "stale", [0.005; 2], force, velocity());
            let mut run = system.start(&RunOptions::default()).unwrap();
            for _ in 0..60 {
                run.step().unwrap();
                let used = run.read_real("force.v2").unwrap();
                let given = run.read_real("force.F").unwrap() * used;
                let booked = run.ledger().bond(0).unwrap().given_power;
                assert!(
                    (booked - given).abs() <= 1e-9 * given.abs(),
                    "{variant} {order}"
                );
            }
        }
    }
}

/// A fast source and a slow receiver: the macro-steps are steps within the receiver's.
#[test]
fn a_slow_receiver_takes_the_macro_steps_as_the_sources_steps() {
    let system = |macro_step: f64| {
        let mut system = System::new(macro_step);
        system.stop_time(5.0);
        system.extrapolation(word("one-sided"));
        system
            .add("force", force())
            .step_size(MACRO_STEP)
            .exchange("fresh");
        system.add("velocity", velocity()).step_size(0.005);
        system.connect("velocity.v", "force.v2");
        system
    };
    let positions = |system: System, every: usize| {
        let mut run = system.start(&RunOptions::default()).unwrap();
        let trace = Trace::of(&mut run).unwrap();
        run.run().unwrap();
        let column = trace.column("force.x");
        column.iter().step_by(every).copied().collect::<Vec<f64>>()
    };
    let [inside, outside] = [
        positions(system(MACRO_STEP), 1),
        positions(system(0.005), 10),
    ];
    assert!(inside.iter().any(|position| *position != 0.0));
    for (inside, outside) in inside.iter().zip(outside) {
        assert!((inside - outside).abs() < 1e-15, "{inside} {outside}");
    }
}
