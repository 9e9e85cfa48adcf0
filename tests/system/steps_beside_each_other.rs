//! Units whose steps go on while other units make theirs.

use std::sync::{Arc, Mutex};

use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{StepOutcome, UnitResult, UnitWrapper};
use gyrator::{ClosureUnit, LinearUnit, RunError, RunOptions, System, Unit};
use gyrator_testkit::Trace;

/// Calls of all units, in their order.
type Log = Arc<Mutex<Vec<String>>>;

/// A unit that steps when its step is finished.
struct Beside {
    unit: LinearUnit,
    name: &'static str,
    log: Log,
    begun: Option<(f64, f64)>,
    /// Time from which it refuses to finish, s.
    fails_at: f64,
}

impl Beside {
    fn write(&self, what: &str) {
        let line = format!("{what} {}", self.name);
        self.log.lock().unwrap().push(line);
    }
}

impl UnitWrapper for Beside {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn set_reals(&mut self, handles: &[u32], values: &[f64]) -> UnitResult {
        assert!(self.begun.is_none(), "{} is stepping", self.name);
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[u32], values: &mut [f64]) -> UnitResult {
        assert!(self.begun.is_none(), "{} is stepping", self.name);
        self.unit.get_reals(handles, values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.write("step");
        self.unit.step(time, step)
    }

    fn begin_step(&mut self, time: f64, step: f64) -> UnitResult<Option<StepOutcome>> {
        self.write("begin");
        assert!(self.begun.replace((time, step)).is_none());
        Ok(None)
    }

    fn finish_step(&mut self) -> UnitResult<StepOutcome> {
        self.write("finish");
        let (time, step) = self.begun.take().unwrap();
        if time + 1e-9 > self.fails_at {
            return Err(UnitFault::new("finish_step", Cause::Error, "as asked"));
        }
        self.unit.step(time, step)
    }
}

/// Only steps are written, however they are made.
struct Plain(Beside);

impl UnitWrapper for Plain {
    fn inner(&self) -> &dyn Unit {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.0
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.0.write("wrapped");
        UnitWrapper::step(&mut self.0, time, step)
    }
}

/// x′ = −x/2 + u, y = x.
fn lag(name: &'static str, log: &Log) -> Beside {
    Beside {
        unit: LinearUnit::new(&[1.0], &["u"], &["y"], [&[-0.5], &[1.0], &[1.0], &[0.0]]),
        name,
        log: Arc::clone(log),
        begun: None,
        fails_at: f64::INFINITY,
    }
}

/// A ring of two lags, and a sum in this thread between them.
fn ring(is_beside: bool, settings: impl FnOnce(&mut System), log: &Log) -> System {
    let mut system = System::new(0.25);
    system.stop_time(1.0);
    for name in ["a", "c"] {
        match is_beside {
            true => system.add(name, lag(name, log)),
            false => system.add(name, Plain(lag(name, log))),
        };
    }
    let sum = ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], {
        let log = Arc::clone(log);
        move |call| {
            log.lock().unwrap().push("step b".to_owned());
            call.outputs[0] = 1.0 - call.inputs[0];
        }
    });
    system.add("b", sum);
    system.connect("a.y", "b.u");
    system.connect("b.y", "c.u");
    system.connect("c.y", "a.u");
    settings(&mut system);
    system
}

/// The bits of a run, and the calls that it made.
fn finished(is_beside: bool, settings: impl FnOnce(&mut System)) -> (Vec<u64>, Vec<String>) {
    let log = Log::default();
    let mut run = ring(is_beside, settings, &log)
        .start(&RunOptions::default())
        .unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    let calls = std::mem::take(&mut *log.lock().unwrap());
    (trace.bits(), calls)
}

fn plain(_: &mut System) {}

fn linear(system: &mut System) {
    system.extrapolation("linear");
}

fn several_rates(system: &mut System) {
    system.extrapolation("linear");
    let _ = system.component("a").unwrap().step_size(0.25 / 3.0);
    let _ = system.component("c").unwrap().step_size(0.5);
}

fn gauss_seidel(system: &mut System) {
    system.method("gauss-seidel");
}

#[test]
fn units_that_step_beside_each_other_change_no_bit() {
    for settings in [plain, linear, several_rates, gauss_seidel] {
        assert_eq!(finished(true, settings).0, finished(false, settings).0);
    }
}

/// The first step shows which units go on; from then on they begin first, and are waited for last.
#[test]
fn all_steps_begin_before_one_is_waited_for() {
    let (_, calls) = finished(true, plain);
    let start = calls.iter().position(|call| call == "begin a").unwrap();
    let (first, others) = calls[start..].split_at(5);
    assert_eq!(
        first.join(", "),
        "begin a, finish a, step b, begin c, finish c"
    );
    let expected = "begin a, begin c, step b, finish a, finish c";
    for step in others.chunks(5) {
        assert_eq!(step.join(", "), expected);
    }
    // A component with three steps to one of the others goes on with its next one at once.
    let (_, calls) = finished(true, several_rates);
    let text = calls.join(", ");
    let expected =
        "begin a, begin c, step b, finish a, begin a, finish c, finish a, begin a, finish a";
    assert!(text.contains(expected), "{text}");
}

/// A wrapper that overrides the step alone has all of them.
#[test]
fn a_wrapper_of_steps_makes_them_whole() {
    let (_, calls) = finished(false, plain);
    assert_eq!(
        calls
            .iter()
            .filter(|call| call.starts_with("wrapped"))
            .count(),
        8
    );
    assert!(
        !calls.iter().any(|call| call.starts_with("begin")),
        "{calls:?}"
    );
}

/// The fault comes from the first component, and no step is left unfinished.
#[test]
fn a_unit_that_fails_beside_others_ends_the_run() {
    for (failing, named) in [(["a"].as_slice(), "a"), (&["c"], "c"), (&["a", "c"], "a")] {
        let log = Log::default();
        let mut system = System::new(0.25);
        system.stop_time(1.0);
        for name in ["a", "c"] {
            let mut unit = lag(name, &log);
            if failing.contains(&name) {
                unit.fails_at = 0.5;
            }
            system.add(name, unit);
        }
        system.connect("a.y", "c.u");
        system.connect("c.y", "a.u");
        let mut run = system.start(&RunOptions::default()).unwrap();
        let RunError::Fault(fault) = run.run().unwrap_err() else {
            panic!("no fault");
        };
        assert_eq!((fault.component.as_str(), fault.step), (named, 2));
        let calls = log.lock().unwrap().join(", ");
        assert!(
            calls.ends_with("begin a, begin c, finish a, finish c"),
            "{calls}"
        );
    }
}
