//! Systems packed as one FMU have the bits of direct runs.

use std::path::{Path, PathBuf};

use gyrator::system::FmuCache;
use gyrator::{RunOptions, StopReason, System};
use gyrator_fmu::{Fmu, Instance, InstanceOptions, StepOutcome};
use gyrator_packed_fmu::{PackOptions, pack};
use gyrator_system::{SystemFile, toml_file};
use gyrator_testkit::fmu;
use tempfile::TempDir;

/// The library of packed FMUs, which cargo builds as a dependency of this test.
fn library() -> Vec<u8> {
    let (prefix, suffix) = (std::env::consts::DLL_PREFIX, std::env::consts::DLL_SUFFIX);
    let test = std::env::current_exe().unwrap();
    let path = test.with_file_name(format!("{prefix}gyrator_packed_fmu_library{suffix}"));
    std::fs::read(path).unwrap()
}

/// Two masses with a spring between them: a bond with this correction, and the right one with this communication step, s.
fn oscillators(correction: &str, right_step: f64) -> SystemFile {
    let [left, right] = ["OscillatorForce", "OscillatorMotion"].map(fmu);
    let text = format!(
        "[experiment]\nstep_size = 1e-3\n\n[components.left]\nfmu = {left:?}\nstart_values = {{ k_c = 100.0, c_c = 0.3 }}\n\n\
         [components.right]\nfmu = {right:?}\nstep_size = {right_step:?}\nstart_values = {{ k = 1000.0, v_start = -100.0 }}\n\n\
         [[connections]]\nfrom = \"right.x\"\nto = \"left.x2\"\n\n[[bonds]]\nname = \"coupling\"\ncorrection = {correction:?}\n\
         effort = {{ from = \"left.f\", to = \"right.f\" }}\nflow = {{ from = \"right.v\", to = \"left.v2\" }}\n"
    );
    read(&text)
}

fn read(text: &str) -> SystemFile {
    let read = toml_file::parse(text.to_owned(), Path::new("system.toml"));
    read.unwrap_or_else(|problems| panic!("{problems}")).0
}

/// The system as an FMU of this name, in a folder that is deleted in the end.
fn packed(system: &SystemFile, name: &str, options: PackOptions) -> (PathBuf, TempDir) {
    let options = PackOptions {
        model_name: name.to_owned(),
        ..options
    };
    let packed = pack(system, &FmuCache::default(), &library(), &options);
    let packed = packed.unwrap_or_else(|error| panic!("{error}"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(format!("{name}.fmu"));
    std::fs::write(&path, packed.archive).unwrap();
    (path, folder)
}

/// The bits of these real variables at each point of a run.
fn course(system: &System, names: &[&str], points: &[f64]) -> Vec<Vec<u64>> {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let mut rows = Vec::new();
    for point in points {
        run.run_until(*point).unwrap();
        let values = names.iter().map(|name| run.read_real(name).unwrap());
        rows.push(values.map(f64::to_bits).collect());
    }
    rows
}

const NAMES: [&str; 5] = ["left.f", "left.x", "left.v", "right.x", "right.v"];

/// The bits of a packed system with these start values, and of the system itself.
#[track_caller]
fn expect_equal(file: &SystemFile, path: &Path, prefix: &str, step: f64) {
    let points: Vec<f64> = (0..50).map(|k| f64::from(k) * step).collect();
    let starts = [("left", "m", 1.25), ("right", "x_start", 0.1)];
    let mut direct = System::from_file(file.clone()).unwrap();
    let mut outer = System::new(step);
    let mut settings = outer.add_fmu("p", path).unwrap();
    for (component, variable, value) in starts {
        direct.component(component).unwrap().start(variable, value);
        settings = settings.start(&format!("{prefix}{component}.{variable}"), value);
    }
    let expected = course(&direct, &NAMES, &points);
    assert!(expected.windows(2).all(|rows| rows[0] != rows[1]));
    let names = NAMES.map(|name| format!("p.{prefix}{name}"));
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    assert_eq!(course(&outer, &names, &points), expected);
}

#[test]
fn a_packed_system_has_the_bits_of_a_direct_run() {
    for (correction, right_step, step) in [
        ("residual-power", 1e-3, 1e-3),
        ("residual-power", 1e-3, 3e-3),
        ("nepce", 4e-3, 1e-3),
        ("off", 2.5e-4, 1e-3),
    ] {
        let file = oscillators(correction, right_step);
        let (path, _folder) = packed(&file, "pair", PackOptions::default());
        expect_equal(&file, &path, "", step);
    }
}

#[test]
fn a_packed_system_can_be_packed_again() {
    let file = oscillators("residual-power", 1e-3);
    let (inner, _inner_folder) = packed(&file, "inner", PackOptions::default());
    let text =
        format!("[experiment]\nstep_size = 1e-3\n\n[components]\nc = {{ fmu = {inner:?} }}\n");
    let (outer, _outer_folder) = packed(&read(&text), "outer", PackOptions::default());
    expect_equal(&file, &outer, "c.", 1e-3);
}

fn instance(path: &Path) -> (Instance, Vec<u32>) {
    let fmu = Fmu::open(path).unwrap();
    let reference = |name: &&str| fmu.description().variable(name).unwrap().value_reference;
    let references = NAMES.iter().map(reference).collect();
    let instance = fmu.instantiate("p", &InstanceOptions::default()).unwrap();
    (instance, references)
}

fn initialize(instance: &mut Instance, stop: Option<f64>) {
    instance.setup_experiment(None, 0.0, stop).unwrap();
    instance.enter_initialization_mode().unwrap();
    instance.exit_initialization_mode().unwrap();
}

fn values(instance: &mut Instance, references: &[u32]) -> Vec<f64> {
    let mut values = vec![0.0; references.len()];
    instance.get_real(references, &mut values).unwrap();
    values
}

/// Seconds since 1970 have a resolution of 0.24 µs, so that the difference of two of them misses a multiple of the
/// macro-step by more than a part in a million.
#[test]
fn steps_between_late_times_are_multiples_of_the_macro_step() {
    let file = oscillators("off", 1e-3);
    let (path, _folder) = packed(&file, "pair", PackOptions::default());
    let course = |start: f64, stop: Option<f64>| {
        let (mut instance, references) = instance(&path);
        instance.setup_experiment(None, start, stop).unwrap();
        instance.enter_initialization_mode().unwrap();
        instance.exit_initialization_mode().unwrap();
        let point = |k: i32| start + f64::from(k) * 0.01;
        for k in 0..100 {
            let step = point(k + 1) - point(k);
            instance.do_step(point(k), step, false).unwrap();
        }
        values(&mut instance, &references)
    };
    // The oscillators do not depend on the time: all have made 1000 macro-steps.
    let expected = course(0.0, None);
    for start in [1e6, 1.7e9, -1.7e9] {
        assert_eq!(course(start, None), expected, "{start}");
        assert_eq!(course(start, Some(start + 1.0)), expected, "{start}");
    }
}

#[test]
fn a_late_step_that_is_no_multiple_of_the_macro_step_is_discarded() {
    let (path, _folder) = packed(&oscillators("off", 1e-3), "pair", PackOptions::default());
    let (mut instance, _) = instance(&path);
    instance.setup_experiment(None, 1.7e9, None).unwrap();
    instance.enter_initialization_mode().unwrap();
    instance.exit_initialization_mode().unwrap();
    let outcome = instance.do_step(1.7e9, 0.0105, false).unwrap();
    assert!(
        matches!(outcome, StepOutcome::Discarded { .. }),
        "{outcome:?}"
    );
}

#[test]
fn states_are_saved_and_restored_also_at_the_stop_time_and_across_a_reset() {
    let (path, _folder) = packed(
        &oscillators("residual-power", 1e-3),
        "pair",
        PackOptions::default(),
    );
    let (mut instance, references) = instance(&path);
    initialize(&mut instance, Some(0.01));
    for k in 0..9 {
        instance.do_step(f64::from(k) * 1e-3, 1e-3, false).unwrap();
    }
    let mut state = instance.save_state().unwrap();
    let mut expected = None;
    for _ in 0..3 {
        instance.do_step(9e-3, 1e-3, false).unwrap();
        let values = values(&mut instance, &references);
        assert_eq!(*expected.get_or_insert(values.clone()), values);
        instance.restore_state(&state).unwrap();
    }
    instance.reset().unwrap();
    initialize(&mut instance, Some(0.01));
    instance.do_step(0.0, 1e-3, false).unwrap();
    instance.restore_state(&state).unwrap();
    instance.do_step(9e-3, 1e-3, false).unwrap();
    assert_eq!(Some(values(&mut instance, &references)), expected);
    instance.save_state_over(&mut state).unwrap();
    instance.terminate().unwrap();
}

/// Bytes of a state go from one instance to another one, which continues with the same bits; also if they are asked for after
/// further steps, if packed FMUs are in packed FMUs, and if a correction and several rates have states of their own.
#[test]
fn states_go_to_other_instances_as_bytes() {
    let pair = oscillators("nepce", 4e-3);
    let (inner, _inner_folder) = packed(&pair, "inner", PackOptions::default());
    let text =
        format!("[experiment]\nstep_size = 1e-3\n\n[components]\nc = {{ fmu = {inner:?} }}\n");
    let (outer, _outer_folder) = packed(&read(&text), "outer", PackOptions::default());
    for (path, prefix) in [(&inner, ""), (&outer, "c.")] {
        let fmu = Fmu::open(path).unwrap();
        let description = fmu.description().co_simulation.as_ref().unwrap();
        assert!(description.can_serialize_fmu_state);
        let reference = |name: &str| {
            let name = format!("{prefix}{name}");
            fmu.description().variable(&name).unwrap().value_reference
        };
        let references = NAMES.map(reference);
        let start = || {
            let options = InstanceOptions::default();
            let mut instance = fmu.instantiate("p", &options).unwrap();
            instance.setup_experiment(None, 0.0, Some(1.0)).unwrap();
            instance.enter_initialization_mode().unwrap();
            instance
        };
        let steps = |instance: &mut Instance, from: u32, to: u32| {
            let mut rows = Vec::new();
            for k in from..to {
                instance.do_step(f64::from(k) * 1e-3, 1e-3, false).unwrap();
                rows.push(values(instance, &references));
            }
            rows
        };
        let mut one = start();
        let parameter = reference("left.m");
        one.set_real(&[parameter], &[1.25]).unwrap();
        let before = one.save_state().unwrap();
        let early = one.serialize_state(&before).unwrap();
        one.exit_initialization_mode().unwrap();
        let first = steps(&mut one, 0, 7);
        let state = one.save_state().unwrap();
        let at_once = one.serialize_state(&state).unwrap();
        let next = steps(&mut one, 7, 12);
        let later = one.serialize_state(&state).unwrap();
        let last = steps(&mut one, 12, 20);
        // The present state of the instance was not touched.
        one.restore_state(&state).unwrap();
        assert_eq!(steps(&mut one, 7, 12), next);
        assert_eq!(steps(&mut one, 12, 20), last);

        let mut other = start();
        other.exit_initialization_mode().unwrap();
        steps(&mut other, 0, 2);
        for bytes in [&at_once, &later] {
            let state = other.deserialize_state(bytes).unwrap();
            for _ in 0..2 {
                other.restore_state(&state).unwrap();
                assert_eq!(steps(&mut other, 7, 12), next);
            }
        }
        // In Initialization Mode, with the parameter that was set there.
        let mut third = start();
        let before = third.deserialize_state(&early).unwrap();
        third.restore_state(&before).unwrap();
        third.exit_initialization_mode().unwrap();
        assert_eq!(steps(&mut third, 0, 7), first);
        for cut in [0, 1, later.len() / 2, later.len() - 1] {
            if let Ok(state) = other.deserialize_state(&later[..cut]) {
                other.restore_state(&state).unwrap_err();
            }
        }
    }
}

#[test]
fn outputs_in_initialization_mode_follow_parameters() {
    let (path, _folder) = packed(&oscillators("off", 1e-3), "pair", PackOptions::default());
    let (mut instance, references) = instance(&path);
    let description = Fmu::open(&path).unwrap().description().clone();
    let parameter = description
        .variable("left.x_start")
        .unwrap()
        .value_reference;
    instance.setup_experiment(None, 0.0, None).unwrap();
    instance.enter_initialization_mode().unwrap();
    for start in [0.5, -2.0] {
        instance.set_real(&[parameter], &[start]).unwrap();
        // f = k_c·x + c_c·(v − v2), `Rodríguez et al. (2022)`; v = 100, v2 = −100.
        let force = 100.0 * start + 0.3 * 200.0;
        assert_eq!(values(&mut instance, &references)[..2], [force, start]);
    }
    instance.exit_initialization_mode().unwrap();
    assert_eq!(values(&mut instance, &references)[1], -2.0);
}

/// Observers of other tools read everything there.
#[test]
fn inputs_and_parameters_are_read_in_initialization_mode() {
    let text = format!(
        "[experiment]\nstep_size = 1e-3\n\n[components]\na = {{ fmu = {:?} }}\n",
        gyrator_testkit::fmu("AllTypes")
    );
    let (path, _folder) = packed(&read(&text), "all", PackOptions::default());
    let fmu = Fmu::open(&path).unwrap();
    let reference = |name: &str| [fmu.description().variable(name).unwrap().value_reference];
    let mut instance = fmu.instantiate("p", &InstanceOptions::default()).unwrap();
    instance.setup_experiment(None, 0.0, None).unwrap();
    instance.enter_initialization_mode().unwrap();
    let mut read_all = || {
        let (mut reals, mut integer) = ([[0.0]; 3], [0]);
        for (name, value) in ["a.real_in", "a.gain", "a.real_out"].iter().zip(&mut reals) {
            instance.get_real(&reference(name), value).unwrap();
        }
        instance
            .get_integer(&reference("a.integer_parameter"), &mut integer)
            .unwrap();
        let (mut boolean, mut string) = ([false], [String::new()]);
        instance
            .get_boolean(&reference("a.boolean_in"), &mut boolean)
            .unwrap();
        instance
            .get_string(&reference("a.string_parameter"), &mut string)
            .unwrap();
        instance.set_real(&reference("a.real_in"), &[2.5]).unwrap();
        (
            reals.concat(),
            integer[0],
            boolean[0],
            string[0].chars().next(),
        )
    };
    assert_eq!(read_all(), (vec![0.0, 1.0, 0.0], -7, false, Some('s')));
    assert_eq!(read_all(), (vec![2.5, 1.0, 2.5], -7, false, Some('s')));
}

#[test]
fn a_step_that_is_no_multiple_is_discarded_with_advice() {
    let (path, _folder) = packed(&oscillators("off", 1e-3), "pair", PackOptions::default());
    for step in [1.5e-3, 1e-4, 1e300] {
        let (mut instance, references) = instance(&path);
        initialize(&mut instance, None);
        let before = values(&mut instance, &references);
        let outcome = instance.do_step(0.0, step, true).unwrap();
        let (last_successful_time, terminated) = (Some(0.0), false);
        let expected = StepOutcome::Discarded {
            last_successful_time,
            terminated,
        };
        assert_eq!(outcome, expected);
        assert_eq!(values(&mut instance, &references), before);
    }
    let mut outer = System::new(1.5e-3);
    outer.add_fmu("p", &path).unwrap();
    let mut run = outer.start(&RunOptions::default()).unwrap();
    let error = run.step().unwrap_err().to_string();
    let advice = "not a multiple of the macro-step of the system inside, 0.001 s: step by 0.002 s";
    assert!(error.contains(advice), "{error}");
}

#[test]
fn two_instances_do_not_see_each_other() {
    let (path, _folder) = packed(
        &oscillators("residual-power", 1e-3),
        "pair",
        PackOptions::default(),
    );
    let ((mut one, references), (mut other, _)) = (instance(&path), instance(&path));
    initialize(&mut one, None);
    initialize(&mut other, None);
    for k in 0..5 {
        assert_eq!(
            one.do_step(f64::from(k) * 1e-3, 1e-3, true).unwrap(),
            StepOutcome::Done
        );
    }
    let after = values(&mut one, &references);
    for k in 0..5 {
        other.do_step(f64::from(k) * 1e-3, 1e-3, true).unwrap();
    }
    assert_eq!(values(&mut other, &references), after);
}

/// A source and the model of faults, which fails in its step from 5 ms on.
fn faulty(fault: &str) -> SystemFile {
    let path = fmu("Faulty");
    read(&format!(
        "[experiment]\nstep_size = 1e-3\n\n[components]\nsource = {{ block = \"ramp\" }}\n\
         bad = {{ fmu = {path:?}, start_values = {{ fault = {fault:?}, function = \"do_step\", fault_time = 0.005 }} }}\n\n\
         [[connections]]\nfrom = \"source.y\"\nto = \"bad.u\"\n"
    ))
}

#[test]
fn a_component_that_fails_is_named() {
    for (fault, status) in [("error", "Error"), ("fatal", "Fatal"), ("panic", "Fatal")] {
        let (path, _folder) = packed(&faulty(fault), "bad", PackOptions::default());
        let mut outer = System::new(1e-3);
        outer.add_fmu("p", &path).unwrap();
        outer.stop_time(0.1);
        let mut run = outer.start(&RunOptions::default()).unwrap();
        let error = run.run().unwrap_err().to_string();
        let inner = format!("bad: fmi2DoStep at t = 0.004 s (step 4): returned {status}");
        assert!(error.contains(&inner), "{error}");
        assert!((run.time() - 4e-3).abs() < 1e-12);
    }
}

#[test]
fn a_component_that_ends_the_simulation_ends_it_outside() {
    let (path, _folder) = packed(&faulty("finish"), "bad", PackOptions::default());
    let mut outer = System::new(1e-3);
    outer.add_fmu("p", &path).unwrap();
    outer.stop_time(0.1);
    let report = outer.start(&RunOptions::default()).unwrap().run().unwrap();
    assert_eq!(report.stop_reason, StopReason::Terminated);
}

#[test]
fn variables_are_chosen_and_renamed_and_equal_systems_give_equal_bytes() {
    let file = oscillators("residual-power", 1e-3);
    let options = PackOptions {
        expose: ["right.*", "bond.*", "verdict"].map(str::to_owned).to_vec(),
        rename: vec![("right.x".to_owned(), "position".to_owned())],
        ..PackOptions::default()
    };
    let (path, _folder) = packed(&file, "pair", options.clone());
    let (again, _again) = packed(&file, "pair", options.clone());
    assert!(std::fs::read(&path).unwrap() == std::fs::read(again).unwrap());
    let description = Fmu::open(&path).unwrap().description().clone();
    assert!(description.variable("position").is_some());
    assert!(description.variable("right.x").is_none() && description.variable("left.x").is_none());
    let mut outer = System::new(1e-3);
    outer.add_fmu("p", &path).unwrap();
    let mut run = outer.start(&RunOptions::default()).unwrap();
    run.run_until(0.05).unwrap();
    let mut direct = System::from_file(file.clone())
        .unwrap()
        .start(&RunOptions::default())
        .unwrap();
    direct.run_until(0.05).unwrap();
    let energy = direct.ledger().bond(0).unwrap();
    for (name, value) in [
        ("residual_energy", energy.residual_energy),
        ("residual_power", energy.residual_power),
        ("transferred_energy", energy.transferred_energy),
    ] {
        let packed = run.read_real(&format!("p.bond.coupling.{name}")).unwrap();
        assert_eq!(packed.to_bits(), value.to_bits(), "{name}");
        assert!(packed != 0.0);
    }
    let verdict = direct.report().verdict as i32 + 1;
    assert_eq!(run.read("p.verdict").unwrap(), verdict.into());
    let wrong = PackOptions {
        expose: vec!["rigth.*".to_owned()],
        ..options
    };
    let error = pack(&file, &FmuCache::default(), &[], &wrong).unwrap_err();
    assert!(error.to_string().contains("--expose rigth.*"), "{error}");
}
