//! Runs in real time, on a clock that only the tests move.

use std::cell::Cell;
use std::sync::Mutex;

use super::*;
use crate::learning::Learning;
use crate::observer::Observer;
use crate::{ClosureUnit, LinearUnit, Run, RunOptions, StartError, StopReason, System, Value};
use gyrator_system::{Choice, Scenario};

/// A clock that only its users move: a sleep takes 3 µs more than asked for, a look at it 1 µs.
#[derive(Clone, Default)]
struct FakeClock(Arc<Mutex<Fake>>);

#[derive(Default)]
struct Fake {
    now: Duration,
    slept: Vec<Duration>,
    interrupts_after: Option<(usize, Arc<AtomicBool>)>,
}

const LOOK: Duration = Duration::from_micros(1);

impl FakeClock {
    fn advance(&self, duration: Duration) {
        self.0.lock().unwrap().now += duration;
    }
}

impl Clock for FakeClock {
    fn now(&self) -> Duration {
        let mut fake = self.0.lock().unwrap();
        fake.now += LOOK;
        fake.now
    }

    fn sleep(&self, duration: Duration) {
        let mut fake = self.0.lock().unwrap();
        fake.now += duration + Duration::from_micros(3);
        fake.slept.push(duration);
        if let Some((sleeps, interrupt)) = &fake.interrupts_after
            && fake.slept.len() == *sleeps
        {
            interrupt.store(true, Ordering::Relaxed);
        }
    }

    fn spin(&self) {}
}

/// A run of 1 ms steps whose step number k takes `work(k)` on the clock.
fn run_with(clock: &FakeClock, work: impl Fn(u32) -> Duration + Send + 'static) -> Run {
    let mut system = System::new(1e-3);
    system.stop_time(0.1);
    let steps = Cell::new(0);
    let clock = clock.clone();
    let unit = ClosureUnit::new(&[], &[("x", 0.0)], move |call| {
        // It is also asked for its initial outputs.
        if call.step == 0.0 {
            return;
        }
        clock.advance(work(steps.get()));
        steps.set(steps.get() + 1);
    });
    system.add("unit", unit);
    system.start(&RunOptions::default()).unwrap()
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

#[test]
fn points_come_at_their_times() {
    let clock = FakeClock::default();
    let mut run = run_with(&clock, |step| micros(u64::from(step) * 5));
    let real_time = RealTime::with_clock(Box::new(clock.clone())).factor(0.5);
    let timing = real_time.timing();
    run.observe(real_time).unwrap();
    assert_eq!(timing.report(), None);
    run.run().unwrap();
    let report = timing.report().unwrap();
    assert_eq!((report.points, report.overruns), (100, 0));
    // 0.1 s at half the speed, from the look at the start on.
    let end = clock.now();
    assert!(end >= micros(200_000) && end < micros(200_010), "{end:?}");
    // A point is late by one or two looks at the clock.
    assert!(report.jitter.max <= 2.5e-6, "{report:?}");
    // The longest step takes 99 · 5 µs, and a look.
    assert!((report.step_time.max - 496e-6).abs() < 1.5e-6, "{report:?}");
    assert!((report.step_time.p50 - 246e-6).abs() < 6e-6, "{report:?}");
}

#[test]
fn a_delay_is_made_up_for() {
    let clock = FakeClock::default();
    // Step 10 ends 3.5 ms after its deadline; the others take 0.1 ms.
    let mut run = run_with(&clock, |step| micros(if step == 10 { 4_500 } else { 100 }));
    let real_time = RealTime::with_clock(Box::new(clock.clone()));
    let timing = real_time.timing();
    run.observe(real_time).unwrap();
    run.run().unwrap();
    let report = timing.report().unwrap();
    // Those at 11, 12, 13 and 14 ms come at 14.5 ms and every 0.1 ms after.
    assert_eq!(report.overruns, 4);
    assert!((report.max_delay - 3.5e-3).abs() < 1e-5, "{report:?}");
    assert_eq!(report.skipped_time, 0.0);
    assert!(clock.now() < micros(100_010));
}

#[test]
fn a_skipped_delay_moves_the_deadlines_by_whole_steps() {
    let clock = FakeClock::default();
    let mut run = run_with(&clock, |step| micros(if step == 10 { 4_500 } else { 100 }));
    let real_time = RealTime::with_clock(Box::new(clock.clone())).overruns(Overruns::Skip);
    let timing = real_time.timing();
    run.observe(real_time).unwrap();
    run.run().unwrap();
    let report = timing.report().unwrap();
    assert_eq!((report.overruns, report.skipped_time), (1, 4e-3));
    let end = clock.now();
    assert!(end >= micros(104_000) && end < micros(104_010), "{end:?}");
}

#[test]
fn an_overrun_can_end_the_run() {
    let clock = FakeClock::default();
    let mut run = run_with(&clock, |step| micros(if step == 10 { 4_500 } else { 100 }));
    let real_time = RealTime::with_clock(Box::new(clock)).overruns(Overruns::Stop);
    let timing = real_time.timing();
    run.observe(real_time).unwrap();
    let report = run.run().unwrap();
    let StopReason::Limit(limit) = report.stop_reason else {
        panic!("{report:?}");
    };
    assert!(
        limit.starts_with("the communication point t = 0.011 s came 0.00350"),
        "{limit}"
    );
    assert_eq!(timing.report().unwrap().points, 11);
}

/// A mass and a spring, with a bond between them that `describe` couples.
fn oscillator(describe: impl FnOnce(&mut System)) -> System {
    let mut system = System::new(1e-3);
    system.stop_time(0.1);
    // 1 kg and 0.5 N·s/m; 1 kN/m and 2 N·s/m.
    let mass = || LinearUnit::new(&[1.0], &["f"], &["v"], [&[-0.5], &[1.0], &[1.0], &[0.0]]);
    let spring = || LinearUnit::new(&[0.0], &["v"], &["f"], [&[0.0], &[1e3], &[1.0], &[2.0]]);
    system.add_with("mass", mass);
    system.add_with("spring", spring);
    system
        .bond("b", ("spring.f", "mass.f"), ("mass.v", "spring.v"))
        .sense(-1.0);
    describe(&mut system);
    system
}

/// The bits of all outputs at all points of a run, in real time on a clock by which a step takes `work`.
fn course(system: &System, work: Option<Duration>) -> Vec<[u64; 3]> {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let clock = FakeClock::default();
    let timing = work.map(|work| {
        let late = clock.clone();
        run.observe(Work(late, work)).unwrap();
        let real_time = RealTime::with_clock(Box::new(clock)).overruns(Overruns::Skip);
        let timing = real_time.timing();
        run.observe(real_time).unwrap();
        timing
    });
    let mut rows = Vec::new();
    loop {
        let values = ["spring.f", "mass.v"].map(|name| run.read_real(name).unwrap());
        rows.push([run.time(), values[0], values[1]].map(f64::to_bits));
        if run.has_ended() {
            break;
        }
        run.step().unwrap();
    }
    if let (Some(timing), Some(work)) = (timing, work) {
        let report = timing.report().unwrap();
        // Half the points are late if a step takes one and a half times its time: the deadlines have moved in between.
        let is_late = work > Duration::from_millis(1);
        assert_eq!(report.points, 100);
        assert_eq!(report.overruns > 40, is_late, "{report:?}");
    }
    rows
}

/// Takes its time on the clock at each point.
struct Work(FakeClock, Duration);

impl Observer for Work {
    fn step(&mut self, _: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.0.advance(self.1);
        Ok(ControlFlow::Continue(()))
    }
}

/// Corrections, learned feed-forward and scenarios see simulated time only, whether points come in time or late.
#[test]
fn no_bit_depends_on_the_clock() {
    let plain = course(&oscillator(|_| ()), None);
    let learned = Learning::default()
        .learn(
            &RunOptions::default(),
            || Ok::<_, StartError>(oscillator(|_| ())),
            &mut (),
        )
        .unwrap()
        .feed_forward;
    let mut scenario = Scenario::new();
    scenario.act(
        0.03,
        "mass.f",
        Choice::new("bias").with("value", Value::Real(5.0).into()),
    );
    scenario.act(0.06, "mass.f", Choice::new("reset"));
    let corrected = oscillator(|system| {
        system.correction(("residual-power", [("mu", 0.5)]));
    });
    let fed = oscillator(|system| {
        system.feed_forward(learned.clone());
    });
    let disturbed = oscillator(|system| {
        system.scenario(scenario.clone());
    });
    let all = oscillator(|system| {
        system.correction("nepce").scenario(scenario);
    });
    for (name, system) in [
        ("correction", corrected),
        ("feed-forward", fed),
        ("scenario", disturbed),
        ("correction and scenario", all),
    ] {
        let expected = course(&system, None);
        assert_eq!(expected.len(), 101);
        assert_ne!(expected, plain, "{name}");
        for work in [100, 1_500].map(micros) {
            assert_eq!(course(&system, Some(work)), expected, "{name}, {work:?}");
        }
    }
}

#[test]
fn a_wait_is_interrupted() {
    let clock = FakeClock::default();
    let interrupt = Arc::new(AtomicBool::new(false));
    clock.0.lock().unwrap().interrupts_after = Some((3, interrupt.clone()));
    let mut run = run_with(&clock, |_| Duration::ZERO);
    // A step takes 1000 s of the clock.
    let real_time = RealTime::with_clock(Box::new(clock.clone()))
        .factor(1e-6)
        .interrupt(interrupt);
    run.observe(real_time).unwrap();
    let report = run.run().unwrap();
    assert_eq!(report.stop_reason, StopReason::Interrupted);
    assert_eq!(report.steps, 1);
    assert_eq!(clock.0.lock().unwrap().slept, [LONGEST_SLEEP; 3]);
}

#[test]
fn wrong_settings_are_refused() {
    for factor in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut run = run_with(&FakeClock::default(), |_| Duration::ZERO);
        let error = run.observe(RealTime::new().factor(factor)).unwrap_err();
        assert!(error.to_string().contains("must be above 0"), "{error}");
        assert!(run.has_ended());
    }
    #[cfg(target_os = "linux")]
    {
        let mut run = run_with(&FakeClock::default(), |_| Duration::ZERO);
        let thread = StepThread {
            cpu: Some(1023),
            ..StepThread::default()
        };
        let error = run.observe(RealTime::new().thread(thread)).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("the thread cannot run on CPU 1023"),
            "{text}"
        );
        let usable = rustix::thread::sched_getaffinity(None).unwrap();
        let first = (0..).find(|cpu| usable.is_set(*cpu)).unwrap();
        let named = format!("this process may use {first}");
        assert!(text.contains(&named), "{text}");
    }
}

/// Times far away neither overflow nor end the run.
#[test]
fn deadlines_beyond_any_clock() {
    let mut schedule = Schedule::new(0.0, Duration::from_secs(5), 1e-300);
    assert_eq!(schedule.deadline(1e9), Duration::MAX);
    assert!(schedule.skip(Duration::from_secs(1)) >= Duration::from_secs(1));
    assert_eq!(schedule.deadline(f64::INFINITY), Duration::MAX);
}
