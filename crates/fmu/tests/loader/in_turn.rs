//! Instances that have the variables of one load of their library in turn.

use gyrator_fmu::{Fmu, Instance, InstanceOptions, LibraryUse};

use crate::building::{DESCRIPTION, compile, fmu_with};

/// Instances: more than get copies.
const COUNT: usize = 28;

/// Copies of a library, with the load that instances have in turn as one.
const COPIES: usize = 24;

/// The FMU of `in_turn.c`.
fn keeper(name: &str, definitions: &[&str]) -> Fmu {
    let directory = tempfile::tempdir().unwrap();
    let source = format!("{}/tests/loader/in_turn.c", env!("CARGO_MANIFEST_DIR"));
    let defines = definitions.iter().map(|name| format!("-D{name}"));
    let arguments: Vec<String> = [source]
        .into_iter()
        .chain(defines)
        .chain(["-lm".to_owned()])
        .collect();
    let library = std::fs::read(compile(directory.path(), name, &arguments)).unwrap();
    let description = DESCRIPTION.replace("canBeInstantiatedOnlyOncePerProcess=\"true\"", "");
    fmu_with(&description, name, &library)
}

fn instances(fmu: &Fmu, library: LibraryUse) -> Vec<Instance> {
    let options = InstanceOptions {
        library,
        ..InstanceOptions::default()
    };
    let make = |number: usize| {
        let mut instance = fmu
            .instantiate(&format!("number {number}"), &options)
            .unwrap();
        instance.setup_experiment(None, 0.0, None).unwrap();
        instance.enter_initialization_mode().unwrap();
        instance.exit_initialization_mode().unwrap();
        instance
    };
    (0..COUNT).map(make).collect()
}

/// Makes a step of an instance, and says all that it gives.
fn step(instance: &mut Instance, number: usize, step: u32) -> String {
    let input = 0.1 * f64::from(step) + number as f64;
    instance.set_real(&[1], &[input]).unwrap();
    if step.is_multiple_of(3) {
        let saved = instance.save_state().unwrap();
        instance.set_real(&[1], &[7.0]).unwrap();
        instance.restore_state(&saved).unwrap();
        instance.free_state(saved).unwrap();
    }
    instance.do_step(0.1 * f64::from(step), 0.1, true).unwrap();
    let (mut reals, mut integers) = ([0.0; 2], [0]);
    let mut texts = [String::new(), String::new()];
    instance.get_real(&[0, 1], &mut reals).unwrap();
    instance.get_integer(&[0], &mut integers).unwrap();
    instance.get_string(&[0, 1], &mut texts).unwrap();
    format!("{:x?} {integers:?} {texts:?}", reals.map(f64::to_bits))
}

/// All that the instances give, where each makes a step in turn.
fn course(instances: &mut [Instance]) -> Vec<Vec<String>> {
    let mut given = vec![Vec::new(); instances.len()];
    for time in 0..8 {
        for (number, instance) in instances.iter_mut().enumerate() {
            given[number].push(step(instance, number, time));
        }
    }
    given
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn c16_variables_in_turn_are_those_that_a_copy_has() {
    let copied = keeper("each.so", &[]);
    let expected = course(&mut instances(&copied, LibraryUse::Copied));
    assert_eq!(copied.copies(), COUNT - 1);
    let fmu = keeper("in_turn.so", &[]);
    let mut first = instances(&fmu, LibraryUse::OneThread);
    assert_eq!(fmu.copies(), COPIES);
    assert_eq!(course(&mut first), expected);
    drop(first);
    // Libraries whose instances are gone serve others, with the variables of new ones.
    for _ in 0..2 {
        let again = course(&mut instances(&copied, LibraryUse::Copied));
        assert_eq!(again, expected);
        assert_eq!(copied.copies(), COUNT - 1);
        let again = course(&mut instances(&fmu, LibraryUse::OneThread));
        assert_eq!(again, expected);
        assert_eq!(fmu.copies(), COPIES);
    }
    // Where a copy is wanted, it is one.
    let _copies = instances(&fmu, LibraryUse::Auto);
    assert!(fmu.copies() > COPIES);
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn c76_variables_in_turn_are_safe_on_several_threads() {
    let expected = course(&mut instances(&keeper("each.so", &[]), LibraryUse::Copied));
    let fmu = keeper("in_turn.so", &[]);
    let mut instances = instances(&fmu, LibraryUse::OneThread);
    let step_all = |(number, instance): (usize, &mut Instance)| -> Vec<String> {
        (0..8).map(|time| step(instance, number, time)).collect()
    };
    let given: Vec<Vec<String>> = std::thread::scope(|scope| {
        let threads = instances.iter_mut().enumerate();
        let threads: Vec<_> = threads
            .map(|one| scope.spawn(move || step_all(one)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert_eq!(given, expected);
    assert_eq!(fmu.copies(), COPIES);
    // Another thread that makes instances does not wait for this one's.
    let options = InstanceOptions {
        library: LibraryUse::OneThread,
        ..InstanceOptions::default()
    };
    let other = || fmu.instantiate("other", &options).map(drop);
    std::thread::scope(|scope| scope.spawn(other).join().unwrap()).unwrap();
    assert_eq!(fmu.copies(), COPIES + 1);
}

/// More variables than are exchanged are put back nonetheless.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn c16_a_copy_that_is_used_again_has_the_variables_of_a_new_one() {
    let fmu = keeper("large.so", &["LARGE"]);
    let first = course(&mut instances(&fmu, LibraryUse::OneThread));
    for _ in 0..2 {
        assert_eq!(course(&mut instances(&fmu, LibraryUse::OneThread)), first);
        assert_eq!(fmu.copies(), COUNT - 1);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn c16_a_constructor_that_has_changed_a_variable_is_a_reason_for_copies() {
    let fmu = keeper("constructed.so", &["CONSTRUCTOR"]);
    let expected = course(&mut instances(
        &keeper("each.so", &["CONSTRUCTOR"]),
        LibraryUse::Copied,
    ));
    assert_eq!(
        course(&mut instances(&fmu, LibraryUse::OneThread)),
        expected
    );
    assert_eq!(fmu.copies(), COUNT - 1);
}
