//! Runs that go back to a saved state.

use std::collections::BTreeSet;

use fmu_models::{OscillatorForce, OscillatorMotion};
use gyrator::correction::CORRECTIONS;
use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::method::METHODS;
use gyrator::run::{deserialize, serialize};
use gyrator::step_control::STEP_CONTROLS;
use gyrator::{ClosureUnit, Run, RunError, RunOptions, System};
use gyrator_system::{Problem, Severity};
use gyrator_testkit::{Combination, Coupling, ModelUnit, TABLE_1, fmu};

/// The bits of all that observers see at the present communication point.
fn bits(run: &Run) -> Vec<u64> {
    let view = run.view();
    let bonds = view.ledger.bonds();
    let energies = bonds.flat_map(|bond| [bond.residual_energy, bond.transferred_energy]);
    let control = view.control.iter().map(|(_, value)| *value);
    let times = [view.time, view.steps as f64].into_iter();
    let values = times.chain(view.reals.iter().copied());
    let values = values.chain(energies).chain(control);
    values.map(f64::to_bits).collect()
}

/// Steps until macro-step `until`; the bits of each communication point.
fn steps(run: &mut Run, until: u64) -> Vec<Vec<u64>> {
    let mut points = Vec::new();
    while run.view().steps < until {
        run.step().unwrap();
        points.push(bits(run));
    }
    points
}

/// A run that goes back, and one that goes on from the bytes of another one, have the bits of that one, and in the end its report.
#[track_caller]
fn expect_same(systems: [System; 3]) {
    let [mut whole, mut broken, mut resumed] =
        systems.map(|system| system.start(&RunOptions::default()).unwrap());
    steps(&mut whole, 13);
    // Giving the bytes changes nothing: the run that goes back has given none.
    let bytes = serialize(&mut whole).unwrap();
    let expected = steps(&mut whole, 40);

    steps(&mut broken, 13);
    let snapshot = broken.save().unwrap();
    assert_eq!(snapshot.time(), broken.time());
    for until in [14, 25] {
        let count = until as usize - 13;
        assert_eq!(steps(&mut broken, until), expected[..count]);
        broken.restore(&snapshot).unwrap();
    }
    assert_eq!(steps(&mut broken, 40), expected);

    deserialize(&mut resumed, &bytes).unwrap();
    assert_eq!(resumed.time(), snapshot.time());
    assert_eq!(serialize(&mut resumed).unwrap(), bytes);
    assert_eq!(steps(&mut resumed, 40), expected);

    let report = format!("{:?}", whole.stop().unwrap());
    for run in [&mut broken, &mut resumed] {
        assert_eq!(format!("{:?}", run.stop().unwrap()), report);
    }
}

/// Communication steps of both masses, s: equal and unlike ones.
const STEP_SIZES: [(f64, f64); 4] = [(1e-3, 1e-3), (1e-3, 1e-4), (4e-3, 1e-3), (1e-3, 2e-3)];

fn system_of(combination: &Combination, (force_step, motion_step): (f64, f64)) -> System {
    let correction = combination.correction;
    let coupling = Coupling {
        force_step,
        motion_step,
        extrapolation: combination.extrapolation,
        exchange: combination.exchange,
        correction: (correction != "off").then_some((correction, &[][..])),
        ..Coupling::default()
    };
    let force = ModelUnit::new().with_input_derivatives(2);
    let mut system = TABLE_1[1].system_of(&coupling, force, ModelUnit::new());
    system.method(combination.method);
    system.step_control(combination.step_control);
    system
}

/// Every combination of words that a system accepts, at all step sizes.
fn for_all_words(mut check: impl FnMut(&dyn Fn() -> System)) {
    let mut seen = BTreeSet::new();
    for combination in Combination::all() {
        let step_control = STEP_CONTROLS[0].name;
        let unusual = Combination {
            step_control,
            ..combination
        }
        .unusual_words();
        // Those that make steps again take several times as long.
        if !["fixed", "ecco"].contains(&combination.step_control) && unusual > 1 {
            continue;
        }
        let is_error = |problem: &Problem| problem.severity == Severity::Error;
        for sizes in STEP_SIZES {
            let system = || system_of(&combination, sizes);
            if system().check().iter().any(is_error) {
                continue;
            }
            check(&system);
            seen.extend([combination.extrapolation, combination.method]);
            seen.extend([combination.step_control, combination.correction]);
        }
    }
    let words = EXTRAPOLATIONS.iter().map(|entry| entry.name);
    let words = words.chain(METHODS.iter().map(|entry| entry.name));
    let words = words.chain(STEP_CONTROLS.iter().map(|entry| entry.name));
    let words = words.chain(CORRECTIONS.iter().map(|entry| entry.name));
    let missing: Vec<_> = words.filter(|word| !seen.contains(word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn saved_states_change_no_bit_whatever_the_words() {
    for_all_words(|system| expect_same([system(), system(), system()]));
}

/// FMUs give and take their states through `fmi2GetFMUstate` and `fmi2SetFMUstate`, and as bytes.
#[test]
fn fmus_go_back() {
    let system = || {
        let mut file = TABLE_1[1]
            .system(&Coupling {
                motion_step: 2.5e-4,
                extrapolation: "linear",
                correction: Some(("residual-power", &[])),
                ..Coupling::default()
            })
            .description()
            .clone();
        for component in &mut file.components {
            component.fmu.value = match component.name.value.as_str() {
                "force" => fmu("OscillatorForce"),
                _ => fmu("OscillatorMotion"),
            };
        }
        System::from_file(file).unwrap()
    };
    expect_same([system(), system(), system()]);
}

/// Values that are written for a slow component, and actions that are added, are part of the state.
#[test]
fn what_was_written_and_overridden_comes_back() {
    let coupling = Coupling {
        motion_step: 4e-3,
        ..Coupling::default()
    };
    let mut system = TABLE_1[1].system_of(
        &coupling,
        ModelUnit::<OscillatorForce>::new(),
        ModelUnit::<OscillatorMotion>::new(),
    );
    system.stop_time(None);
    let drive = |run: &mut Run| {
        let mut points = Vec::new();
        for step in 0..12 {
            if step == 3 {
                run.override_value("force.v2", 1.0).unwrap();
            }
            if step == 7 {
                run.release("force.v2").unwrap();
            }
            run.step().unwrap();
            points.push(bits(run));
        }
        points
    };
    let mut run = system.start(&RunOptions::default()).unwrap();
    steps(&mut run, 5);
    let before = run.save().unwrap();
    let first = drive(&mut run);
    run.override_value("force.x2", 0.5).unwrap();
    run.step().unwrap();
    let acting = run.save().unwrap();
    let next = bits_after(&mut run, 6);
    for _ in 0..2 {
        run.restore(&before).unwrap();
        assert_eq!(drive(&mut run), first);
        run.restore(&acting).unwrap();
        assert_eq!(bits_after(&mut run, 6), next);
    }
}

fn bits_after(run: &mut Run, count: u64) -> Vec<Vec<u64>> {
    let until = run.view().steps + count;
    steps(run, until)
}

#[test]
fn components_that_cannot_save_are_named() {
    let mut system = System::new(0.1);
    let bench = || ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], |_| {});
    system.add_with("bench", bench);
    system.add_with("rig", bench);
    let mut run = system.start(&RunOptions::default()).unwrap();
    let error = run.save().err().unwrap();
    assert!(matches!(error, RunError::NotSaved(_)), "{error}");
    assert!(error.to_string().contains("bench, rig"), "{error}");
    run.step().unwrap();
}

#[test]
fn a_snapshot_belongs_to_its_run() {
    let system = |_| TABLE_1[0].system(&Coupling::default());
    let [one, other] = [0, 1].map(system);
    let start = |system: &System| system.start(&RunOptions::default()).unwrap();
    let (mut one, mut other) = (start(&one), start(&other));
    let snapshot = one.save().unwrap();
    let error = other.restore(&snapshot).unwrap_err();
    assert!(error.to_string().contains("belongs to the run"), "{error}");
    one.stop().unwrap();
    assert!(matches!(one.restore(&snapshot), Err(RunError::Ended(_))));
    assert!(matches!(one.save(), Err(RunError::Ended(_))));
}
