//! The models that test importers: `AllTypes` and `Faulty`, in process.

use std::time::{Duration, Instant};

use fmu_kit::{Fault, InProcess};
use fmu_models::{AllTypes, Faulty};

#[test]
fn all_types_repeats_what_it_is_given() {
    let mut unit = InProcess::<AllTypes>::new();
    let by_name = |unit: &InProcess<AllTypes>, name: &str| unit.reference(name).unwrap();
    unit.set(by_name(&unit, "gain"), 3.0).unwrap();
    unit.set(by_name(&unit, "prefix"), "é-".to_owned()).unwrap();
    unit.set(by_name(&unit, "real_in"), 0.5).unwrap();
    unit.set(by_name(&unit, "integer_in"), i32::MIN).unwrap();
    unit.set(by_name(&unit, "boolean_in"), true).unwrap();
    unit.set(by_name(&unit, "string_in"), "日本".to_owned())
        .unwrap();
    unit.set(by_name(&unit, "colour_in"), 3).unwrap();
    unit.initialize().unwrap();
    for step in 0..2 {
        let real: f64 = *unit.get(by_name(&unit, "real_out")).unwrap();
        assert_eq!(real, 1.5);
        let integer: i32 = *unit.get(by_name(&unit, "integer_out")).unwrap();
        assert_eq!(integer, i32::MIN);
        assert!(*unit.get::<bool>(by_name(&unit, "boolean_out")).unwrap());
        let string: &String = unit.get(by_name(&unit, "string_out")).unwrap();
        assert_eq!(string, "é-日本");
        let colour: i32 = *unit.get(by_name(&unit, "colour_out")).unwrap();
        assert_eq!(colour, 3);
        unit.step(f64::from(step), 1.0).unwrap();
    }
    let discarded = unit.set(by_name(&unit, "colour_in"), 4);
    assert!(matches!(discarded, Err(Fault::Discard(_))));
}

const Y: u32 = 1;

/// A running unit with the given items of `fault` and `function`, at 0.2 s.
fn faulty(fault: i32, function: i32) -> InProcess<Faulty> {
    let mut unit = InProcess::<Faulty>::new();
    for (name, item) in [("fault", fault), ("function", function)] {
        let reference = unit.reference(name).unwrap();
        unit.set(reference, item).unwrap();
    }
    let fault_time = unit.reference("fault_time").unwrap();
    unit.set(fault_time, 0.3).unwrap();
    unit.initialize().unwrap();
    unit.step(0.0, 0.1).unwrap();
    unit.step(0.1, 0.1).unwrap();
    unit
}

const DO_STEP: i32 = 2;
const GET: i32 = 3;
const TERMINATE: i32 = 4;

#[test]
fn faults_come_in_the_step_that_reaches_their_time() {
    let step = |fault: i32| faulty(fault, DO_STEP).step(0.2, 0.1);
    assert_eq!(step(1), Ok(()));
    assert!(matches!(step(2), Err(Fault::Error(_))));
    assert!(matches!(step(3), Err(Fault::Fatal(_))));
    assert!(matches!(step(4), Err(Fault::Discard(_))));
    assert!(matches!(step(5), Err(Fault::Discard(_))));
    assert!(matches!(step(6), Err(Fault::Finished(_))));
    assert!(std::panic::catch_unwind(|| step(8)).is_err());
}

#[test]
fn discard_once_stays_once_across_going_back() {
    for (fault, second_try) in [(4, true), (5, false)] {
        let mut unit = faulty(fault, DO_STEP);
        let saved = unit.save();
        assert!(unit.step(0.2, 0.1).is_err());
        assert_eq!(unit.time(), 0.2);
        unit.restore(&saved);
        assert_eq!(unit.step(0.2, 0.1).is_ok(), second_try);
    }
}

#[test]
fn output_becomes_nan() {
    let mut unit = faulty(7, DO_STEP);
    assert_eq!(*unit.get::<f64>(Y).unwrap(), 0.0);
    unit.step(0.2, 0.1).unwrap();
    assert!(unit.get::<f64>(Y).unwrap().is_nan());
}

#[test]
fn sleep_takes_its_time() {
    let mut unit = faulty(12, DO_STEP);
    let sleep_time = unit.reference("sleep_time").unwrap();
    unit.set(sleep_time, 0.05).unwrap();
    let before = Instant::now();
    unit.step(0.2, 0.1).unwrap();
    assert!(before.elapsed() >= Duration::from_millis(50));
}

#[test]
fn faults_outside_of_steps() {
    let mut unit = faulty(2, GET);
    assert!(unit.get::<f64>(Y).is_ok());
    unit.step(0.2, 0.1).unwrap();
    assert!(unit.get::<f64>(Y).is_err());
    assert!(faulty(2, TERMINATE).terminate().is_err());
    let mut unit = InProcess::<Faulty>::new();
    for (name, item) in [("fault", 2), ("function", 1)] {
        let reference = unit.reference(name).unwrap();
        unit.set(reference, item).unwrap();
    }
    assert!(unit.initialize().is_err());
}
