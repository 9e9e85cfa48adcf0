//! The engine in the program of a stranger: systems that are read or made in code, and run several times.

use std::error::Error;

use gyrator::error::Cause;
use gyrator::{ClosureUnit, LinearUnit, RunError, RunOptions, StartError, System, Word};
use gyrator_testkit::fmu;

/// ẋ = u, y = x, from x = 1.
fn integrator() -> LinearUnit {
    LinearUnit::new(&[1.0], &["u"], &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]])
}

/// An integrator whose input holds 2.
fn system_of(add: impl FnOnce(&mut System)) -> System {
    let mut system = System::new(0.5);
    add(&mut system);
    let two = || ClosureUnit::new(&[], &[("y", 2.0)], |_| {});
    system.add_with("two", two);
    system.connect("two.y", "integrator.u").gain(0.5);
    system
}

fn value_after(system: &System, steps: usize) -> f64 {
    let mut run = system.start(&RunOptions::default()).unwrap();
    for _ in 0..steps {
        run.step().unwrap();
    }
    run.read_real("integrator.y").unwrap()
}

#[test]
fn a_system_of_makers_runs_again_with_other_settings() {
    let mut system = system_of(|system| {
        system.add_with("integrator", integrator);
    });
    // x = 1 + t · 0.5 · 2
    assert_eq!(value_after(&system, 2), 2.0);
    assert_eq!(value_after(&system, 2), 2.0);
    system
        .component("integrator")
        .unwrap()
        .step_size(0.25)
        .exchange("stale");
    assert_eq!(value_after(&system, 4), 3.0);
    let mut first = system.start(&RunOptions::default()).unwrap();
    first.step().unwrap();
    let mut second = system.start(&RunOptions::default()).unwrap();
    second.step().unwrap();
    first.step().unwrap();
    assert_eq!(first.read_real("integrator.y").unwrap(), 2.0);
    assert_eq!(second.read_real("integrator.y").unwrap(), 1.5);
    assert!(system.component("none").is_none());
}

#[test]
fn a_unit_by_value_is_for_one_run() {
    let system = system_of(|system| {
        system.add("integrator", integrator());
    });
    assert_eq!(value_after(&system, 1), 1.5);
    let again = system.start(&RunOptions::default()).map(drop);
    let Err(StartError::Invalid(problems)) = again else {
        panic!("{again:?}");
    };
    let text = problems.to_string();
    assert!(text.contains("the unit of `integrator`"), "{text}");
    assert!(text.contains("System::add_with"), "{text}");
}

#[test]
fn a_maker_makes_equal_units() {
    let made = std::sync::atomic::AtomicUsize::new(0);
    let system = system_of(|system| {
        system.add_with("integrator", move || {
            let inputs: &[&str] = match made.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 => &["u"],
                _ => &["v"],
            };
            LinearUnit::new(&[1.0], inputs, &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]])
        });
    });
    assert_eq!(value_after(&system, 1), 1.5);
    let again = system.start(&RunOptions::default()).map(drop);
    let text = again.unwrap_err().to_string();
    assert!(text.contains("differs from the first one"), "{text}");
}

#[test]
fn fmus_and_words_in_code_are_those_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("system.toml");
    let text = format!(
        r#"
[experiment]
step_size = 1e-3
stop_time = 0.5
method = "gauss-seidel"
extrapolation = "linear"
exchange = "stale"

[components.force]
fmu = {:?}

[components.motion]
fmu = {:?}
step_size = 5e-4
start_values = {{ v_start = -10.0 }}

[[bonds]]
name = "coupling"
effort = {{ from = "force.f", to = "motion.f" }}
flow = {{ from = "motion.v", to = "force.v2" }}
correction = {{ name = "residual-power", mu = 0.25 }}

[[connections]]
from = "motion.x"
to = "force.x2"
"#,
        fmu("OscillatorForce"),
        fmu("OscillatorMotion")
    );
    std::fs::write(&path, text).unwrap();
    let read = System::from_path(&path).unwrap();

    let mut system = System::new(1e-3);
    system
        .stop_time(0.5)
        .method("gauss-seidel")
        .extrapolation("linear")
        .exchange("stale")
        .correction(Word::new("residual-power").with("mu", 0.25));
    system.add_fmu("force", fmu("OscillatorForce")).unwrap();
    let motion = system.add_fmu("motion", fmu("OscillatorMotion")).unwrap();
    motion.step_size(5e-4).start("v_start", -10.0);
    let _ = system.bond(
        "coupling",
        ("force.f", "motion.f"),
        ("motion.v", "force.v2"),
    );
    system.connect("motion.x", "force.x2");

    let mut energies = Vec::new();
    for system in [&read, &system, &read] {
        let mut run = system.start(&RunOptions::default()).unwrap();
        let report = run.run().unwrap();
        assert_eq!(report.steps, 500);
        energies.push((
            run.read_real("motion.x").unwrap(),
            *run.ledger().bond(0).unwrap(),
        ));
    }
    assert!(energies[0].1.correction_energy != 0.0);
    assert_eq!(energies[0], energies[1]);
    assert_eq!(energies[0], energies[2]);
}

#[test]
fn an_fmu_or_a_file_that_is_not_there_is_an_error() {
    let mut system = System::new(1e-3);
    let missing = system.add_fmu("force", "nowhere.fmu").map(drop);
    assert!(matches!(missing, Err(StartError::Load(_))), "{missing:?}");
    let text = missing.unwrap_err().to_string();
    assert!(text.contains("nowhere.fmu"), "{text}");
    for path in ["nowhere.toml", "nowhere.ssp"] {
        let text = System::from_path(path).map(drop).unwrap_err().to_string();
        assert!(text.contains(path), "{text}");
    }
}

#[test]
fn the_source_of_a_fault_is_the_call_of_the_unit() {
    let mut system = System::new(0.5);
    system.add(
        "bad",
        ClosureUnit::new(&[], &[("y", 0.0)], |call| {
            call.outputs[0] = if call.step > 0.0 { f64::NAN } else { 0.0 };
        }),
    );
    let mut run = system.start(&RunOptions::default()).unwrap();
    let error = run.step().unwrap_err();
    let RunError::Fault(fault) = &error else {
        panic!("{error}");
    };
    assert_eq!(fault.unit.cause, Cause::NotFinite);
    let source = error.source().expect("the refused call");
    assert!(error.to_string().contains(&fault.unit.message));
    assert!(source.to_string().contains(&fault.unit.message));
}

/// Three integrators of the input 1, fed by a connection, and of an input that nothing feeds.
fn fed_and_free(exchange: &str) -> System {
    let mut system = System::new(0.5);
    system.add_with("one", || ClosureUnit::new(&[], &[("y", 1.0)], |_| {}));
    for name in ["first", "second"] {
        system.add_with(name, integrator).exchange(exchange);
        system.connect("one.y", &format!("{name}.u"));
    }
    system.add_with("free", integrator).exchange(exchange);
    system
}

#[test]
fn a_program_overrides_inputs_and_releases_them() {
    for exchange in ["stale", "fresh"] {
        let system = fed_and_free(exchange);
        let mut run = system.start(&RunOptions::default()).unwrap();
        let mut values = |changes: &[(&str, Option<f64>)]| {
            for (name, value) in changes {
                match value {
                    Some(value) => run.override_value(name, *value).unwrap(),
                    None => run.release(name).unwrap(),
                }
            }
            run.step().unwrap();
            ["first.y", "second.y", "free.y"].map(|name| run.read_real(name).unwrap())
        };
        // Each step adds half of the input: 1, 1 and 0 if they are not overridden.
        assert_eq!(values(&[]), [1.5, 1.5, 1.0]);
        assert_eq!(
            values(&[("first.u", Some(-2.0)), ("free.u", Some(4.0))]),
            [0.5, 2.0, 3.0]
        );
        assert_eq!(values(&[("one.y", Some(0.0))]), [0.5, 2.0, 5.0]);
        assert_eq!(
            values(&[("first.u", None), ("free.u", None)]),
            [1.0, 2.0, 5.0],
            "an end of actions on an input ends those on its output there, too"
        );
        assert_eq!(values(&[("one.y", None)]), [1.5, 2.5, 5.0]);
        for step in 0..1000 {
            values(&[("second.u", Some(f64::from(step)))]);
        }
        assert_eq!(values(&[])[1], 2.5 + 0.5 * (999.0 * 500.0 + 999.0));
        assert!(run.report().actions.is_empty());
    }
}

#[test]
fn a_program_adds_actions_that_are_reported() {
    let system = fed_and_free("stale");
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.step().unwrap();
    let mut scenario = gyrator::system_file::Scenario::new();
    let bias = Word::new("bias").with("value", 2.0);
    scenario.act(1.0, "first.u", bias).until(1.5);
    run.act(&scenario).unwrap();
    let mut values = || {
        run.step().unwrap();
        run.read_real("first.y").unwrap()
    };
    assert_eq!([values(), values(), values()], [2.0, 3.5, 4.0]);
    let events: Vec<_> = run
        .report()
        .actions
        .iter()
        .map(|a| (a.time, a.event))
        .collect();
    assert_eq!(events, [(1.0, "begin"), (1.5, "end")]);

    let wrong = run.override_value("first.v", 1.0).unwrap_err().to_string();
    assert!(wrong.contains("`first.v`"), "{wrong}");
    assert_eq!(wrong.matches("error").count(), 1, "{wrong}");
    let other = run.override_value("first.z", 1.0).unwrap_err().to_string();
    assert_eq!(other.matches("`first.z`").count(), 1, "{other}");
    let text = run
        .override_value("first.u", "text")
        .unwrap_err()
        .to_string();
    assert!(text.contains("must be a finite number"), "{text}");
    run.write_real("free.u", 1.0).unwrap();
    let illegal = run.override_value("free.u", 1.0).unwrap_err().to_string();
    assert!(illegal.contains("make a step first"), "{illegal}");
    run.stop().unwrap();
    assert!(run.release("first.u").is_err());
}
