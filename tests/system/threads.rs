//! Units on several threads: which steps are made there is chosen by the clock, and nothing else is.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{ThreadId, current};
use std::time::Duration;

use gyrator::error::{Cause, UnitFault};
use gyrator::unit::{Call, StepOutcome, UnitResult, UnitWrapper};
use gyrator::{ClosureUnit, Run, RunError, RunOptions, StepClock, StopReason, System, Unit};
use gyrator_testkit::{Trace, ticking};

/// The threads that have called a unit, call by call.
type Threads = Arc<Mutex<Vec<ThreadId>>>;

/// A unit of which `act` is done in each step, before it is made.
struct Acting<U, A> {
    unit: U,
    act: A,
}

impl<U: Unit, A: FnMut(f64) -> UnitResult + Send> UnitWrapper for Acting<U, A> {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        (self.act)(time)?;
        self.unit.step(time, step)
    }
}

/// A ring of units that weigh their inputs; `act` is done in each step of each, with the place of the unit and the time, s.
fn ring(count: usize, act: impl Fn(usize, f64) -> UnitResult + Clone + Send + 'static) -> System {
    let mut system = System::new(0.01);
    system.stop_time(1.0);
    for place in 0..count {
        let unit = ClosureUnit::new(&[("u", 0.5)], &[("y", 1.0)], move |call: Call<'_>| {
            let weight = 1.0 / (place as f64 + 3.0);
            call.outputs[0] = weight * (call.inputs[0] + call.time).cos();
        });
        let act = act.clone();
        let act = move |time| act(place, time);
        system.add(&format!("unit{place}"), Acting { unit, act });
    }
    for place in 0..count {
        let from = format!("unit{place}.y");
        system.connect(&from, &format!("unit{}.u", (place + 1) % count));
    }
    system
}

fn on(threads: usize, step_clock: StepClock) -> RunOptions {
    RunOptions {
        threads,
        step_clock,
        ..RunOptions::default()
    }
}

/// The bits of a run, and the threads that made its steps. A step lasts `alone` if none but its own thread has made steps
/// yet: the other threads come while it is made.
fn finished(count: usize, options: &RunOptions, alone: Duration) -> (Vec<u64>, Vec<ThreadId>) {
    let threads = Threads::default();
    let of_unit = Arc::clone(&threads);
    let system = ring(count, move |_, _| {
        let mut threads = of_unit.lock().unwrap();
        threads.push(current().id());
        let is_alone = threads.iter().all(|thread| *thread == current().id());
        drop(threads);
        std::thread::sleep(match is_alone {
            true => alone,
            false => Duration::from_micros(100),
        });
        Ok(())
    });
    let mut run = system.start(options).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    run.run().unwrap();
    let threads = std::mem::take(&mut *threads.lock().unwrap());
    (trace.bits(), threads)
}

#[test]
fn threads_and_clocks_change_no_bit() {
    let short = Duration::from_micros(100);
    let (expected, own) = finished(5, &RunOptions::default(), short);
    assert!(own.iter().all(|thread| *thread == current().id()));
    // Steps take no time, take time on one thread only, or less and less.
    let still = || StepClock::new(|| Duration::ZERO);
    let backwards = || {
        let looks = AtomicU64::new(1_000_000);
        StepClock::new(move || Duration::from_micros(looks.fetch_sub(7, Ordering::Relaxed)))
    };
    for threads in [2, 3, 64] {
        for clock in [still(), ticking(), backwards(), StepClock::default()] {
            let (bits, _) = finished(5, &on(threads, clock), short);
            assert!(bits == expected, "{threads} threads");
        }
    }
}

#[test]
fn the_clock_decides_which_threads_step() {
    let (_, threads) = finished(4, &on(2, StepClock::new(|| Duration::ZERO)), Duration::ZERO);
    assert!(threads.iter().all(|thread| *thread == current().id()));
    // Long enough in all for a thread that waits for a processor beside many others.
    let (_, threads) = finished(4, &on(2, ticking()), Duration::from_millis(10));
    // Eight macro-steps are measured on one thread.
    let (first, others) = threads.split_at(8 * 4);
    assert!(first.iter().all(|thread| *thread == current().id()));
    assert!(others.iter().any(|thread| *thread != current().id()));
}

fn refuses(place: usize, places: &[usize], time: f64) -> UnitResult {
    match places.contains(&place) && time > 0.5 {
        true => Err(UnitFault::new("step", Cause::Error, "as asked")),
        false => Ok(()),
    }
}

/// With any thread first, the fault comes from the first component, and the counters are as on one thread.
#[test]
fn a_unit_that_fails_on_a_thread_ends_the_run() {
    for failing in [&[0][..], &[3], &[1, 4], &[0, 1, 2, 3, 4]] {
        let fault = |threads: usize| {
            let system = ring(5, move |place, time| refuses(place, failing, time));
            let mut run = system.start(&on(threads, ticking())).unwrap();
            let error = run.run().unwrap_err();
            let again = run.step().unwrap_err();
            assert!(matches!(again, RunError::Ended(_)), "{again}");
            (error.to_string(), run.report().counters)
        };
        let expected = fault(1);
        let name = format!("unit{}", failing[0]);
        assert!(expected.0.contains(&name), "{}", expected.0);
        for threads in [2, 4] {
            let (error, counters) = fault(threads);
            assert_eq!(error, expected.0);
            // On one thread the units after it have made no step.
            assert_eq!(counters.macro_steps, expected.1.macro_steps);
        }
    }
}

#[test]
fn a_panic_on_a_thread_reaches_the_caller() {
    for place in [0, 2] {
        let system = ring(4, move |own, time| {
            std::thread::sleep(Duration::from_micros(200));
            if own == place && time > 0.5 {
                std::panic::resume_unwind(Box::new("as asked"));
            }
            Ok(())
        });
        let mut run = system.start(&on(2, ticking())).unwrap();
        let payload = catch_unwind(AssertUnwindSafe(|| run.run().map(drop))).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"as asked"));
        // The threads have left the units, and end with the run.
        drop(run);
    }
}

#[test]
fn a_run_on_threads_is_interrupted() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&interrupt);
    let system = ring(4, move |place, time| {
        if place == 1 && time > 0.5 {
            asks.store(true, Ordering::Relaxed);
        }
        Ok(())
    });
    let options = RunOptions {
        interrupt: Some(interrupt),
        ..on(2, ticking())
    };
    let report = system.start(&options).unwrap().run().unwrap();
    assert_eq!(report.stop_reason, StopReason::Interrupted);
    assert!(
        (report.stop_time - 0.52).abs() < 1e-9,
        "{}",
        report.stop_time
    );
}

/// Between two steps the threads spin or sleep; the end of the run is theirs.
#[test]
fn a_run_ends_while_its_threads_wait() {
    for pause in [Duration::ZERO, Duration::from_millis(2)] {
        for _ in 0..10 {
            let mut run = ring(4, |_, _| Ok(())).start(&on(3, ticking())).unwrap();
            for _ in 0..20 {
                run.step().unwrap();
            }
            std::thread::sleep(pause);
        }
    }
}

/// A run on several threads continues with the same results on another thread of the program.
#[test]
fn a_run_on_threads_goes_to_another_thread() {
    let (expected, _) = finished(4, &RunOptions::default(), Duration::ZERO);
    let mut run = ring(4, |_, _| Ok(())).start(&on(2, ticking())).unwrap();
    let trace = Trace::of(&mut run).unwrap();
    for _ in 0..30 {
        run.step().unwrap();
    }
    std::thread::spawn(move || run.run().map(drop))
        .join()
        .unwrap()
        .unwrap();
    assert!(trace.bits() == expected);
}

#[test]
fn a_run_on_threads_goes_back_to_a_snapshot() {
    let mut system = System::new(0.01);
    system.stop_time(1.0);
    for name in ["a", "b", "c"] {
        let unit = ClosureUnit::new(&[("u", 0.5)], &[("y", 1.0)], |call: Call<'_>| {
            call.outputs[0] = (call.inputs[0] + call.time).cos();
        });
        system.add(name, unit.memoryless());
    }
    for (from, to) in [("a.y", "b.u"), ("b.y", "c.u"), ("c.y", "a.u")] {
        system.connect(from, to);
    }
    let mut run = system.start(&on(2, ticking())).unwrap();
    let values = |run: &mut Run| {
        let values = (0..20).map(|_| {
            run.step().unwrap();
            run.read_real("c.y").unwrap().to_bits()
        });
        values.collect::<Vec<_>>()
    };
    values(&mut run);
    let snapshot = run.save().unwrap();
    let first = values(&mut run);
    run.restore(&snapshot).unwrap();
    assert_eq!(values(&mut run), first);
}
