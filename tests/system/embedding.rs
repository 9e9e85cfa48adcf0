//! A run in the loop of another program: reading, writing, stopping.

use fmu_models::{AllTypes, OscillatorForce, OscillatorMotion};
use gyrator::error::LoadError;
use gyrator::unit::{FmuUnit, Handle, UnitMaker, UnitOrder, UnitResult, UnitWrapper};
use gyrator::{LinearUnit, Run, RunError, RunOptions, StopReason, System, Unit, Value};
use gyrator_testkit::{Coupling, ModelUnit, TABLE_1, Trace};

const H: f64 = 0.1;

/// An integrator x' = u with output y = x, an echo of every type, and a force that motion feeds.
fn run() -> Run {
    let mut system = System::new(H);
    let integrator = LinearUnit::new(&[0.0], &["u"], &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
    system.add("integrator", integrator);
    system.add("echo", ModelUnit::<AllTypes>::new());
    system.add("force", ModelUnit::<OscillatorForce>::new());
    system.add("motion", ModelUnit::<OscillatorMotion>::new());
    system.connect("motion.x", "force.x2");
    system.start(&RunOptions::default()).unwrap()
}

// Closed form: the integral of a held input.
#[test]
fn what_is_written_acts_from_the_next_step_on() {
    let mut run = run();
    let mut expected = 0.0;
    for k in 0..10 {
        let input = f64::from(k);
        run.write_real("integrator.u", input).unwrap();
        assert!(run.step().unwrap());
        expected += input * H;
        assert!((run.read_real("integrator.y").unwrap() - expected).abs() < 1e-12);
        assert!((run.time() - f64::from(k + 1) * H).abs() < 1e-12);
    }
}

#[test]
fn values_of_every_type_can_be_written_and_read() {
    let mut run = run();
    let text = Value::String("text".into());
    run.write("echo.string_in", &text).unwrap();
    run.write("echo.boolean_in", &Value::Boolean(true)).unwrap();
    run.write("echo.colour_in", &Value::Integer(2)).unwrap();
    run.write_real("echo.gain", 3.0).unwrap();
    run.write_real("echo.real_in", 2.0).unwrap();
    run.step().unwrap();
    assert_eq!(run.read("echo.string_out").unwrap(), text);
    assert_eq!(run.read("echo.boolean_out").unwrap(), Value::Boolean(true));
    assert_eq!(run.read("echo.colour_out").unwrap(), Value::Integer(2));
    assert_eq!(run.read_real("echo.real_out").unwrap(), 6.0);
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, RunError>, why: &str) {
    match result {
        Err(RunError::Variable(message)) => assert!(message.contains(why), "{message}"),
        other => panic!("{other:?} instead of a refusal because {why}"),
    }
}

#[test]
fn what_cannot_be_read_or_written_is_refused_with_a_reason() {
    let mut run = run();
    refused(run.read("nobody.y"), "no variable nobody.y");
    refused(run.read_real("echo.string_out"), "is not real");
    refused(run.write_real("integrator.y", 1.0), "neither an input nor");
    refused(run.write_real("motion.m", 1.0), "neither an input nor");
    refused(run.write_real("force.x2", 1.0), "fed by a connection");
    refused(run.write_real("echo.integer_in", 1.0), "cannot take");
    refused(
        run.write("integrator.u", &Value::Boolean(true)),
        "cannot take",
    );
    assert!(!run.has_ended());
    run.step().unwrap();
}

#[test]
fn handles_read_and_write_as_names_do() {
    let mut run = run();
    let text = run.input("echo.string_in").unwrap();
    let flag = run.input("echo.boolean_in").unwrap();
    let colour = run.input("echo.colour_in").unwrap();
    let real = run.input("echo.real_in").unwrap();
    let gain = run.input("echo.gain").unwrap();
    run.write(text, "text".to_owned()).unwrap();
    run.write(flag, true).unwrap();
    run.write(colour, 2).unwrap();
    run.write(real, 2.0).unwrap();
    run.write(gain, 3.0).unwrap();
    run.step().unwrap();
    let text = run.output::<String>("echo.string_out").unwrap();
    let flag = run.output::<bool>("echo.boolean_out").unwrap();
    let colour = run.output::<i32>("echo.colour_out").unwrap();
    let real = run.output::<f64>("echo.real_out").unwrap();
    let gain = run.output::<f64>("echo.gain").unwrap();
    assert_eq!(run.read(text).unwrap(), "text");
    assert!(run.read(flag).unwrap());
    assert_eq!(run.read(colour).unwrap(), 2);
    assert_eq!(run.read(real).unwrap(), 6.0);
    assert_eq!(run.read(gain).unwrap(), 3.0);
}

#[test]
fn handles_that_do_not_fit_are_refused_with_a_remedy() {
    let mut run = run();
    let y = run.output::<f64>("integrator.y").unwrap();
    refused(
        run.input::<f64>("integrator.U"),
        "did you mean `integrator.u`?",
    );
    refused(run.input::<f64>("integrator.y"), "neither an input nor");
    refused(run.input::<f64>("force.x2"), "`Run::override_value`");
    refused(
        run.input::<f64>("echo.colour_in"),
        "its handle has the type i32",
    );
    refused(run.output::<f64>("integrator.u"), "`Run::input`");
    refused(
        run.output::<bool>("integrator.y"),
        "its handle has the type f64",
    );
    let mut other = self::run();
    refused(other.read(y), "take one from this run");
    assert_eq!(run.read(y).unwrap(), 0.0);
}

#[test]
fn a_run_goes_on_until_a_communication_point() {
    let mut run = run();
    // 3·0.1 is not 0.3 in doubles.
    for (until, steps) in [(0.3, 3), (0.3, 3), (0.45, 5), (0.1, 5), (0.7, 7)] {
        assert!(run.run_until(until).unwrap());
        assert_eq!(run.report().steps, steps, "{until}");
    }
    refused(run.run_until(f64::NAN), "NaN");
    run.stop().unwrap();
    assert!(!run.run_until(10.0).unwrap());
}

#[test]
fn after_a_write_outputs_are_those_of_the_point_and_the_rest_waits() {
    let mut run = run();
    run.step().unwrap();
    let before = run.read_real("integrator.y").unwrap();
    assert_eq!(run.read_real("motion.k").unwrap(), 1000.0);
    run.write_real("integrator.u", 100.0).unwrap();
    assert_eq!(run.read_real("integrator.y").unwrap(), before);
    refused(run.read_real("motion.k"), "make a step first");
    run.step().unwrap();
    assert_eq!(run.read_real("motion.k").unwrap(), 1000.0);
}

#[test]
fn a_run_can_be_stopped_and_is_then_over() {
    let mut run = run();
    let trace = Trace::of(&mut run).unwrap();
    run.step().unwrap();
    let report = run.stop().unwrap();
    assert_eq!((report.stop_reason, report.steps), (StopReason::Stopped, 1));
    assert_eq!(trace.finished(), 1);
    assert!(matches!(run.step(), Err(RunError::Ended(_))));
    assert_eq!(run.stop().unwrap().stop_reason, StopReason::Stopped);
    assert_eq!(trace.finished(), 1);
}

#[test]
fn stepping_by_hand_is_running() {
    let coupling = Coupling {
        stop_time: 0.5,
        ..Coupling::default()
    };
    let start = || {
        let system = TABLE_1[1].system(&coupling);
        let mut run = system.start(&RunOptions::default()).unwrap();
        let trace = Trace::of(&mut run).unwrap();
        (run, trace)
    };
    let ((mut by_hand, one), (mut at_once, other)) = (start(), start());
    while by_hand.step().unwrap() {}
    assert_eq!(at_once.run().unwrap(), by_hand.report());
    assert_eq!(one.bits(), other.bits());
}

/// The stop time need not be a multiple of the macro-step if the units can make a shorter step.
#[test]
fn the_last_step_may_be_shorter() {
    let mut system = System::new(H);
    let integrator = LinearUnit::new(&[0.0], &["u"], &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
    system.add("integrator", integrator);
    system.stop_time(0.25);
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.write_real("integrator.u", 4.0).unwrap();
    assert_eq!(run.run().unwrap().steps, 3);
    assert_eq!(run.time(), 0.25);
    assert!((run.read_real("integrator.y").unwrap() - 1.0).abs() < 1e-12);
}

/// Reads a disturbed output: a sensor with an offset.
struct Offset(FmuUnit, f64);

impl UnitWrapper for Offset {
    fn inner(&self) -> &dyn Unit {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.0
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.0.get_reals(handles, values)?;
        values.iter_mut().for_each(|value| *value += self.1);
        Ok(())
    }
}

/// Wraps the FMU of one component and leaves the others alone.
struct Disturb(&'static str);

impl UnitMaker for Disturb {
    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        if order.name() != self.0 {
            return Ok(None);
        }
        Ok(Some(Box::new(Offset(order.instantiate()?, 0.25))))
    }
}

#[test]
fn the_unit_of_an_fmu_can_be_wrapped() {
    let mut file = gyrator_system::SystemFile::new("system.toml");
    file.experiment.step_size = Some(gyrator_system::Spanned::unplaced(H));
    let fmu = gyrator_testkit::fmu("OscillatorMotion");
    file.add_component("clean", &fmu);
    file.add_component("disturbed", &fmu);
    let system = System::from_file(file).unwrap();
    let options = RunOptions::default();
    let mut run = system
        .start_with(&options, &mut Disturb("disturbed"))
        .unwrap();
    for _ in 0..5 {
        run.step().unwrap();
        let difference = run.read_real("disturbed.x").unwrap() - run.read_real("clean.x").unwrap();
        assert!((difference - 0.25).abs() < 1e-12, "{difference}");
    }
}

#[test]
fn isolation_is_refused_where_nothing_offers_it() {
    let mut file = gyrator_system::SystemFile::new("system.toml");
    file.experiment.step_size = Some(gyrator_system::Spanned::unplaced(H));
    let component = file.add_component("lonely", gyrator_testkit::fmu("OscillatorMotion"));
    component.isolate = Some(gyrator_system::Spanned::unplaced(true));
    let refused = System::from_file(file)
        .unwrap()
        .start(&RunOptions::default());
    let message = refused.map(drop).unwrap_err().to_string();
    assert!(
        message.contains("lonely: `isolate` asks for a process"),
        "{message}"
    );
}

/// The page on the library shows the program that is built and run in its example.
#[test]
fn the_page_on_the_library_has_its_example() {
    let page = include_str!("../../docs/library.md");
    let program = include_str!("../../examples/rust-bench/src/main.rs");
    assert!(page.contains(&format!("```rust\n{program}```\n")));
}
