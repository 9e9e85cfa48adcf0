//! Units and observers that fail: the error names unit, call and time, and recorded rows stay.

use std::ops::ControlFlow;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fmu_models::{Faulty, OscillatorMotion};
use gyrator::error::{Cause, Fault};
use gyrator::observer::{ObserverError, StopRequest};
use gyrator::{
    ClosureUnit, Observer, Run, RunError, RunOptions, StartError, StopReason, System, Value, View,
};
use gyrator_testkit::{ModelUnit, Trace};

const H: f64 = 0.01;

/// A unit that does `fault` in `function` at `time` or later, fed by a ramp, beside one that is well.
fn system(fault: &str, function: &str, time: f64) -> System {
    let word = |word: &str| Value::String(word.to_owned());
    let mut system = System::new(H);
    system.stop_time(1.0);
    system.add("well", ModelUnit::<OscillatorMotion>::new());
    system
        .add("bad", ModelUnit::<Faulty>::new())
        .start("fault", word(fault))
        .start("function", word(function))
        .start("fault_time", time);
    let ramp = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
        call.outputs[0] = call.time + call.step;
    });
    system.add("ramp", ramp);
    system.connect("ramp.y", "bad.u");
    system
}

fn start(system: System) -> (Run, Trace) {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    (run, trace)
}

fn fault(error: RunError) -> Fault {
    match error {
        RunError::Fault(fault) => fault,
        other => panic!("not a fault: {other}"),
    }
}

#[test]
fn a_step_that_fails_is_named() {
    for (word, cause) in [
        ("error", Cause::Error),
        ("fatal", Cause::Fatal),
        ("discard_always", Cause::Discard),
    ] {
        let (mut run, trace) = start(system(word, "do_step", 0.05));
        let error = run.run().unwrap_err();
        let text = error.to_string();
        let fault = fault(error);
        assert_eq!((fault.component.as_str(), fault.step), ("bad", 4));
        assert!((fault.time - 0.04).abs() < 1e-12);
        assert_eq!((fault.unit.call, fault.unit.cause), ("step", cause));
        for part in [
            "bad",
            "step",
            "0.04",
            "this is the fault that was asked for",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(run.has_ended());
        assert!(matches!(run.report().stop_reason, StopReason::Failed(_)));
        assert_eq!((trace.times().len(), trace.finished()), (5, 1));
        assert!(matches!(run.step(), Err(RunError::Ended("failed"))));
    }
}

#[test]
fn c39_discarded_step_is_made_in_halves() {
    let mut halving = system("discard_once", "do_step", 0.05);
    halving.component("bad").unwrap().step_halvings(2);
    let (mut run, trace) = start(halving);
    run.run().unwrap();
    let (mut usual, expected) = start(system("none", "do_step", 0.05));
    usual.run().unwrap();
    assert_eq!(trace.times(), expected.times());
    assert_eq!(
        run.read_real("bad.y").unwrap(),
        usual.read_real("bad.y").unwrap()
    );
}

#[test]
fn c39_discard_for_ever_ends_the_run() {
    let mut system = system("discard_always", "do_step", 0.05);
    system.component("bad").unwrap().step_halvings(3);
    let (mut run, trace) = start(system);
    let error = run.run().unwrap_err().to_string();
    assert!(error.contains("halved down to 0.00125 s"), "{error}");
    assert_eq!((trace.times().len(), trace.finished()), (5, 1));
}

#[test]
fn c39_halving_is_in_vain_where_the_unit_cannot_go_back() {
    let mut system = system("none", "do_step", 0.05);
    system.component("ramp").unwrap().step_halvings(3);
    let warnings = system.check();
    let text = &warnings[0].message;
    assert!(text.contains("canGetAndSetFMUstate"), "{text}");
    system.start(&RunOptions::default()).unwrap().run().unwrap();
}

#[test]
fn the_first_fault_does_not_depend_on_threads() {
    for threads in [0, 2, 8] {
        let mut system = system("error", "do_step", 0.05);
        system
            .add("also bad", ModelUnit::<Faulty>::new())
            .start("fault", "error")
            .start("fault_time", 0.05);
        let options = RunOptions {
            threads,
            step_clock: gyrator_testkit::ticking(),
            ..RunOptions::default()
        };
        let error = system.start(&options).unwrap().run().unwrap_err();
        assert_eq!(fault(error).component, "also bad");
    }
}

#[test]
fn an_output_that_is_not_a_number_ends_the_run() {
    let (mut run, trace) = start(system("nan", "do_step", 0.05));
    let error = run.run().unwrap_err();
    assert!(error.to_string().contains("bad.y is NaN"), "{error}");
    let fault = fault(error);
    assert_eq!(fault.unit.cause, Cause::NotFinite);
    assert!((fault.time - 0.05).abs() < 1e-12);
    assert_eq!(trace.finished(), 1);
}

#[test]
fn not_a_number_is_passed_on_where_asked_for() {
    let options = RunOptions {
        accept_not_finite: true,
        ..RunOptions::default()
    };
    let system = system("nan", "do_step", 0.05);
    let mut run = system.start(&options).unwrap();
    assert_eq!(run.run().unwrap().stop_reason, StopReason::StopTime);
    assert!(run.read_real("bad.y").unwrap().is_nan());
}

#[test]
fn a_failing_initialization_and_read_are_named() {
    match system("error", "initialization", 0.0).start(&RunOptions::default()) {
        Err(StartError::Run(RunError::Fault(fault))) => {
            assert_eq!((fault.component.as_str(), fault.time), ("bad", 0.0));
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the run started"),
    }
    let (mut run, trace) = start(system("error", "get", 0.05));
    let fault = fault(run.run().unwrap_err());
    assert_eq!(
        (fault.component.as_str(), fault.unit.call),
        ("bad", "get_reals")
    );
    assert_eq!(trace.finished(), 1);
}

#[test]
fn a_unit_may_end_the_simulation() {
    let (mut run, trace) = start(system("finish", "do_step", 0.05));
    let report = run.run().unwrap();
    assert_eq!(report.stop_reason, StopReason::Terminated);
    assert_eq!((report.steps, trace.finished()), (5, 1));
    let end = |notes: &[String]| notes.iter().find(|note| note.contains("ended")).cloned();
    let note = end(&report.notes).unwrap();
    assert!(
        note.starts_with("bad has ended the simulation at t = 0.04"),
        "{note}"
    );
    assert!(
        note.ends_with("its values at t = 0.05 s are those of that time"),
        "{note}"
    );
}

#[test]
fn a_failing_end_is_reported() {
    let mut faulty = system("error", "terminate", 0.0);
    faulty.stop_time(0.05);
    let (mut run, trace) = start(faulty);
    let fault = fault(run.run().unwrap_err());
    assert_eq!(
        (fault.component.as_str(), fault.unit.call),
        ("bad", "terminate")
    );
    assert_eq!((trace.times().len(), trace.finished()), (6, 1));
}

/// Fails, or asks for a stop, at its n-th step.
struct After(u64, Result<StopRequest, &'static str>);

impl Observer for After {
    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        match &self.1 {
            _ if view.steps < self.0 => Ok(ControlFlow::Continue(())),
            Ok(request) => Ok(ControlFlow::Break(request.clone())),
            Err(message) => Err((*message).into()),
        }
    }
}

#[test]
fn an_observer_that_fails_ends_the_run_and_the_others_finish() {
    let (mut run, trace) = start(system("none", "do_step", 0.0));
    run.observe(After(3, Err("the disk is full"))).unwrap();
    let error = run.run().unwrap_err();
    assert!(error.to_string().contains("the disk is full"));
    assert_eq!((trace.times().len(), trace.finished()), (4, 1));
}

#[test]
fn an_observer_may_end_the_run() {
    let limit = StopRequest::Limit("energy".to_owned());
    for (request, reason) in [
        (StopRequest::Interrupted, StopReason::Interrupted),
        (limit, StopReason::Limit("energy".to_owned())),
    ] {
        let (mut run, trace) = start(system("none", "do_step", 0.0));
        run.observe(After(3, Ok(request))).unwrap();
        let report = run.run().unwrap();
        assert_eq!((report.stop_reason, report.steps), (reason, 3));
        assert_eq!(trace.finished(), 1);
    }
}

/// An interruption may come while FMUs are loaded.
#[test]
fn r76_observers_of_a_run_that_ended_before_its_first_step_finish() {
    let options = RunOptions {
        interrupt: Some(Arc::new(AtomicBool::new(true))),
        ..RunOptions::default()
    };
    let mut run = system("none", "do_step", 0.0).start(&options).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    assert_eq!(run.run().unwrap().stop_reason, StopReason::Interrupted);
    assert_eq!((trace.times().len(), trace.finished()), (1, 1));
}
