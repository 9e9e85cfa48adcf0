//! Recordings, made again and compared.

use std::fs::File;
use std::io::{Cursor, Read as _, Seek as _};

use gyrator::unit::{Handle, Period};
use gyrator::{LinearUnit, Unit, Value};

use crate::replay::{
    Agreement, Answer, Call, CallLog, CallRecorder, Comparison, Head, Recording, compare, replay,
};

fn head() -> Head {
    Head {
        component: "plant".to_owned(),
        fmu: "Plant.fmu".to_owned(),
        sha256: None,
        model: "Plant".to_owned(),
        guid: "{1}".to_owned(),
        tool: None,
        gyrator: "0".to_owned(),
        platform: "here".to_owned(),
        logging: false,
    }
}

/// ẋ = −rate·x + u for each of `count` inputs, y = x.
fn plant(count: usize, rate: f64) -> Box<dyn Unit> {
    let names = |letter| -> Vec<String> { (0..count).map(|i| format!("{letter}{i}")).collect() };
    let (inputs, outputs) = (names('u'), names('y'));
    let of = |names: &[String]| -> Vec<&'static str> {
        names.iter().map(|name| &*name.clone().leak()).collect()
    };
    let diagonal = |value: f64| -> Vec<f64> {
        let element = |at: usize| {
            if at.is_multiple_of(count + 1) {
                value
            } else {
                0.0
            }
        };
        (0..count * count).map(element).collect()
    };
    let matrices = [diagonal(-rate), diagonal(1.0), diagonal(1.0), diagonal(0.0)];
    Box::new(LinearUnit::new(
        &vec![1.0; count],
        &of(&inputs),
        &of(&outputs),
        [&matrices[0], &matrices[1], &matrices[2], &matrices[3]],
    ))
}

fn recorder(unit: Box<dyn Unit>) -> (CallRecorder, File) {
    let file = tempfile::tempfile().unwrap();
    let log = CallLog::new(file.try_clone().unwrap(), &head()).unwrap();
    let recorder = CallRecorder::start::<String>(log, || Ok(unit));
    (recorder.unwrap().unwrap(), file)
}

fn bytes(mut file: File) -> Vec<u8> {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes
}

/// A run of so many steps, with a step that is taken back.
fn recorded(count: usize, steps: usize) -> Vec<u8> {
    let (mut unit, file) = recorder(plant(count, 1.0));
    let inputs: Vec<Handle> = (0..).take(count).collect();
    let outputs: Vec<Handle> = (0..).skip(count).take(count).collect();
    unit.setup_experiment(&Period {
        start: 0.0,
        stop: Some(1.0),
        tolerance: None,
    })
    .unwrap();
    unit.set_value(0, &Value::Real(2.0)).unwrap();
    assert!(unit.set_value(0, &Value::Boolean(true)).is_err());
    unit.enter_initialization_mode().unwrap();
    unit.exit_initialization_mode().unwrap();
    let (mut values, mut state) = (vec![0.0; count], None);
    for step in 0..steps {
        let time = 1e-3 * step as f64;
        unit.set_reals(&inputs, &values).unwrap();
        if step == steps / 2 {
            let saved = unit.save(state.take()).unwrap();
            unit.step(time, 2e-3).unwrap();
            unit.restore(&saved).unwrap();
            state = Some(unit.save(Some(saved)).unwrap());
        }
        unit.step(time, 1e-3).unwrap();
        unit.get_reals(&outputs, &mut values).unwrap();
    }
    unit.terminate().unwrap();
    drop(unit);
    bytes(file)
}

fn made_again(recording: &[u8], unit: Box<dyn Unit>) -> Comparison {
    let (unit, file) = recorder(unit);
    let open = |bytes| Recording::new(Cursor::new(bytes)).unwrap();
    replay(&mut open(recording), unit).unwrap();
    compare(&mut open(recording), &mut open(&bytes(file))).unwrap()
}

#[test]
fn equal_units_give_equal_answers() {
    let comparison = made_again(&recorded(2, 10), plant(2, 1.0));
    assert_eq!(comparison.agreement, Agreement::Equal);
    assert!((comparison.time.unwrap() - 1e-2).abs() < 1e-15);
    // The Boolean.
    assert_eq!(comparison.faults, 1);
    // Creation, setup, 2 values, 2 changes of mode, 10 steps of 3 calls, 4 more at the step that is taken back, 2 at the end.
    assert_eq!(comparison.equal, 6 + 30 + 4 + 2);
}

#[test]
fn another_unit_differs_in_its_first_values() {
    let comparison = made_again(&recorded(1, 3), plant(1, 1.5));
    let Agreement::Different(difference) = comparison.agreement else {
        panic!("{comparison:?}");
    };
    let (recorded, replayed) = (difference.recorded.unwrap(), difference.replayed.unwrap());
    assert_eq!(recorded.call, Call::GetReals { handles: vec![1] });
    // Closed form: ẋ = −r·x + u from 1, with the input 0 of the first step.
    let value = |rate: f64| (-1e-3 * rate).exp();
    for (answer, rate) in [(recorded.answer, 1.0), (replayed.answer, 1.5)] {
        let Some(Answer::Reals(values)) = answer else {
            panic!("{answer:?}");
        };
        assert!((values[0] - value(rate)).abs() < 1e-14);
    }
}

#[test]
fn a_recording_that_ends_within_a_call_is_made_again_up_to_it() {
    let whole = recorded(1, 10);
    let is_unanswered = |end: &usize| {
        let mut recording = Recording::new(Cursor::new(&whole[..*end])).unwrap();
        let mut last = None;
        while let Some(exchange) = recording.next().unwrap() {
            last = Some(exchange);
        }
        matches!(last, Some((Call::Step { .. }, None)))
    };
    let end = (0..whole.len()).rev().find(is_unanswered).unwrap();
    // The process that recorded was lost in this step; this one ends as usual.
    let comparison = made_again(&whole[..end], plant(1, 1.0));
    let Agreement::Different(difference) = comparison.agreement else {
        panic!("{comparison:?}");
    };
    assert_eq!(difference.recorded.unwrap().answer, None);
    assert_eq!(difference.replayed.unwrap().answer, Some(Answer::Done));
}

#[test]
fn a_thousand_steps_of_sixteen_inputs_and_outputs_take_less_than_a_megabyte() {
    assert!(recorded(16, 1000).len() < 400_000);
    assert!(recorded(8, 1000).len() < 300_000);
}

#[test]
fn any_part_of_a_recording_is_read_or_refused() {
    let whole = recorded(2, 3);
    for end in 0..whole.len() {
        if let Ok(mut recording) = Recording::new(Cursor::new(&whole[..end])) {
            while let Ok(Some(_)) = recording.next() {}
        }
    }
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x55;
        if let Ok(mut recording) = Recording::new(Cursor::new(&changed[..])) {
            while let Ok(Some(_)) = recording.next() {}
        }
    }
}
