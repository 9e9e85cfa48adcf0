//! Profiles by a clock that moves when a test moves it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::{OperationTime, Profile, ProfileReport, TraceEvent, Waits};
use crate::observer::{ObserverError, StopRequest};
use crate::unit::{Handle, StepOutcome, UnitResult, UnitWrapper};
use crate::{ClosureUnit, Observer, Run, RunOptions, System, Unit, View};

/// A clock that stands still, ns.
#[derive(Clone, Default)]
struct Clock(Arc<AtomicU64>);

impl Clock {
    fn advance(&self, microseconds: u64) {
        self.0.fetch_add(1000 * microseconds, Ordering::Relaxed);
    }

    fn profile(&self, most_events: Option<usize>) -> Profile {
        let time = Arc::clone(&self.0);
        let read = move || Duration::from_nanos(time.load(Ordering::Relaxed));
        Profile::by_clock(read, most_events)
    }
}

const SET: u64 = 1;
const STEP: u64 = 10;
const GET: u64 = 2;
const WAIT: u64 = 30;
const RECORD: u64 = 5;

/// A unit whose calls take known times, µs.
struct Slow {
    unit: Box<dyn Unit>,
    clock: Clock,
    waits: Option<Waits>,
}

impl UnitWrapper for Slow {
    fn inner(&self) -> &dyn Unit {
        &*self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut *self.unit
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.clock.advance(SET);
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.clock.advance(GET);
        self.unit.get_reals(handles, values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.clock.advance(STEP);
        if let Some(waits) = &self.waits {
            waits.during(|| self.clock.advance(WAIT));
        }
        self.unit.step(time, step)
    }
}

struct SlowRecorder(Clock);

impl Observer for SlowRecorder {
    fn activity(&self) -> &'static str {
        "record"
    }

    fn step(&mut self, _: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        self.0.advance(RECORD);
        Ok(ControlFlow::Continue(()))
    }
}

/// Two components that feed each other; the second one waits in its steps.
fn run(clock: &Clock, profile: Option<&Profile>, options: &RunOptions) -> Run {
    let mut system = System::new(0.1);
    system.extrapolation("hold");
    for name in ["left", "right"] {
        let add = |call: crate::unit::Call<'_>| call.outputs[0] += call.inputs[0] + 1.0;
        let waits = profile.filter(|_| name == "right");
        let unit = Slow {
            unit: Box::new(ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], add)),
            clock: clock.clone(),
            waits: waits.map(|profile| profile.waits("right")),
        };
        match profile {
            Some(profile) => system.add(name, profile.unit(name, unit)),
            None => system.add(name, unit),
        };
    }
    system.connect("left.y", "right.u");
    system.connect("right.y", "left.u");
    let mut run = system.start(options).unwrap();
    run.observe(SlowRecorder(clock.clone())).unwrap();
    if let Some(profile) = profile {
        run.profile(profile);
    }
    run
}

fn find<'a>(report: &'a ProfileReport, component: Option<&str>, word: &str) -> &'a OperationTime {
    let mut times = report.operations.iter();
    let is_it =
        |time: &&OperationTime| (time.component.as_deref(), time.operation) == (component, word);
    times
        .find(is_it)
        .unwrap_or_else(|| panic!("{component:?} {word} is not in {report:#?}"))
}

/// Calls, and whole microseconds.
fn numbers(time: &OperationTime) -> (u64, u64) {
    (time.calls, (1e6 * time.seconds).round() as u64)
}

#[test]
fn each_operation_has_its_own_time_and_together_they_are_all_of_it() {
    let clock = Clock::default();
    let profile = clock.profile(None);
    let mut run = run(&clock, Some(&profile), &RunOptions::default());
    let steps = 20;
    for _ in 0..steps {
        run.step().unwrap();
    }
    let report = profile.report();
    for component in ["left", "right"] {
        // Outputs are read once before the first macro-step.
        let expected = [
            ("set", steps, SET),
            ("step", steps, STEP),
            ("get", steps + 1, GET),
        ];
        for (word, calls, each) in expected {
            let time = find(&report, Some(component), word);
            assert_eq!(numbers(time), (calls, calls * each), "{component} {word}");
        }
    }
    assert_eq!(
        numbers(find(&report, Some("right"), "wait")),
        (steps, steps * WAIT)
    );
    assert_eq!(
        numbers(find(&report, None, "record")),
        (steps, steps * RECORD)
    );
    assert_eq!(numbers(find(&report, None, "ledger")), (steps, 0));
    assert_eq!(numbers(find(&report, None, "other")), (steps, 0));
    assert_eq!(report.macro_steps, steps);
    // The clock stands still while nothing of this is done.
    let in_steps = |time: &&OperationTime| time.operation != "initialize";
    let sum: f64 = report
        .operations
        .iter()
        .filter(in_steps)
        .map(|time| time.seconds)
        .sum();
    let all = steps * (2 * (SET + STEP + GET) + WAIT + RECORD);
    assert!((1e6 * sum - (all + 2 * GET) as f64).abs() < 1e-6, "{sum}");
    assert!(
        (1e6 * report.seconds - all as f64).abs() < 1e-6,
        "{report:#?}"
    );
    // By this clock it took no time to measure.
    assert_eq!(report.measuring_seconds, 0.0);
}

#[test]
fn measuring_has_its_price_where_each_look_at_the_clock_takes_time() {
    let clock = Arc::new(AtomicU64::new(0));
    let read = move || Duration::from_nanos(clock.fetch_add(50, Ordering::Relaxed));
    let profile = Profile::by_clock(read, None);
    let mut run = run(&Clock::default(), Some(&profile), &RunOptions::default());
    for _ in 0..10 {
        run.step().unwrap();
    }
    let report = profile.report();
    let stretches: u64 = report.operations.iter().map(|time| time.calls).sum();
    // Two looks a stretch; those around all trials add a little.
    let price = 1e9 * report.measuring_seconds / stretches as f64;
    assert!((100.0..101.0).contains(&price), "{price}");
}

/// Nothing takes time but the looks at the clock, most of which are in the macro-steps that stand for others.
#[test]
fn estimates_are_without_the_looks_at_the_clock() {
    let clock = Arc::new(AtomicU64::new(0));
    let read = move || Duration::from_nanos(clock.fetch_add(50, Ordering::Relaxed));
    let profile = Profile::by_clock(read, None);
    let mut run = run_of_one(&Clock::default(), &profile, |_| 0);
    for _ in 0..MANY {
        run.step().unwrap();
    }
    let report = profile.report();
    let parts: f64 = report.operations.iter().map(|time| time.seconds).sum();
    assert!(parts <= report.seconds, "{report:#?}");
}

#[test]
fn a_profile_changes_no_bit_and_leaves_the_steps_before_it_out() {
    let clock = Clock::default();
    let mut plain = run(&clock, None, &RunOptions::default());
    let mut profiled = run(&clock, None, &RunOptions::default());
    let profile = clock.profile(Some(100));
    for step in 0..50 {
        if step == 20 {
            profiled.profile(&profile);
        }
        for run in [&mut plain, &mut profiled] {
            run.step().unwrap();
        }
        assert_eq!(plain.view().reals, profiled.view().reals);
    }
    assert_eq!(profile.report().macro_steps, 30);
}

#[test]
fn calls_on_several_threads_are_counted_as_on_one() {
    let clock = Clock::default();
    let profile = clock.profile(Some(10_000));
    let options = RunOptions {
        threads: 2,
        ..RunOptions::default()
    };
    let mut run = run(&clock, Some(&profile), &options);
    for _ in 0..20 {
        run.step().unwrap();
    }
    let report = profile.report();
    for component in ["left", "right"] {
        assert_eq!(find(&report, Some(component), "step").calls, 20);
    }
    nest(&profile.events());
}

/// Events of a thread follow each other or lie within each other, and the clock does not go back.
fn nest(events: &[TraceEvent]) {
    let mut around: Vec<&TraceEvent> = Vec::new();
    for event in events {
        assert!(event.begin <= event.end, "{event:?}");
        around.retain(|outer| outer.thread == event.thread && outer.end > event.begin);
        for outer in &around {
            let is_within = outer.begin <= event.begin && event.end <= outer.end;
            assert!(is_within, "{event:?} is half in {outer:?}");
        }
        around.push(event);
    }
}

#[test]
fn a_trace_of_a_short_run_has_every_event() {
    let clock = Clock::default();
    let profile = clock.profile(Some(10_000));
    let mut run = run(&clock, Some(&profile), &RunOptions::default());
    for _ in 0..5 {
        run.step().unwrap();
    }
    let events = profile.events();
    nest(&events);
    let calls: u64 = profile
        .report()
        .operations
        .iter()
        .map(|time| time.calls)
        .sum();
    // A macro-step is an event, while the report has its rest.
    assert_eq!(events.len() as u64, calls);
    assert_eq!(profile.traced_interval(), 1);
    let of = |component: Option<&str>, operation: &str| {
        let is_it = |event: &&TraceEvent| {
            (event.component.as_deref(), event.operation) == (component, operation)
        };
        events.iter().filter(is_it).cloned().collect::<Vec<_>>()
    };
    let numbers: Vec<_> = of(None, "macro-step")
        .iter()
        .map(|event| event.macro_step)
        .collect();
    assert_eq!(numbers[2].unwrap().0, 2);
    assert!((numbers[2].unwrap().1 - 0.2).abs() < 1e-12);
    // The whole stretch, with the wait in it.
    let step = &of(Some("right"), "step")[0];
    assert_eq!(step.end - step.begin, Duration::from_micros(STEP + WAIT));
    assert!(
        of(Some("left"), "initialize")
            .iter()
            .all(|event| event.macro_step.is_none())
    );
}

#[test]
fn a_trace_of_a_long_run_is_bounded_and_reaches_to_its_end() {
    let clock = Clock::default();
    let (most, steps) = (300, 1000);
    let profile = clock.profile(Some(most));
    let mut run = run(&clock, Some(&profile), &RunOptions::default());
    for _ in 0..steps {
        run.step().unwrap();
    }
    let events = profile.events();
    nest(&events);
    assert!(
        events.len() <= most && events.len() > most / 4,
        "{}",
        events.len()
    );
    let interval = profile.traced_interval();
    let kept = |event: &TraceEvent| {
        event
            .macro_step
            .is_none_or(|(number, _)| number % interval == 0)
    };
    assert!(interval > 1 && events.iter().all(kept), "{interval}");
    let last = events
        .iter()
        .filter_map(|event| event.macro_step)
        .map(|(number, _)| number)
        .max();
    assert!(last.unwrap() + interval >= steps, "{last:?}");
    // All of a macro-step that is kept.
    let of_step = |wanted: u64| {
        let of = |event: &&TraceEvent| event.macro_step.is_some_and(|(number, _)| number == wanted);
        events.iter().filter(of).count()
    };
    assert_eq!(of_step(interval), of_step(last.unwrap()));
}

#[test]
fn a_macro_step_with_too_many_events_is_cut() {
    let clock = Clock::default();
    let profile = clock.profile(Some(7));
    let mut run = run(&clock, Some(&profile), &RunOptions::default());
    for _ in 0..10 {
        run.step().unwrap();
    }
    assert!(profile.events().len() <= 7);
    assert_eq!(profile.report().macro_steps, 10);
}

/// Macro-steps of a long run.
const MANY: u64 = 10_000;

/// A run of one unit whose steps take times that `step` gives, ns.
fn run_of_one(clock: &Clock, profile: &Profile, step: impl Fn(u64) -> u64 + Send + 'static) -> Run {
    let mut system = System::new(0.1);
    let (time, mut steps) = (Arc::clone(&clock.0), 0);
    let act = move |call: crate::unit::Call<'_>| {
        // Not for the outputs before the first step.
        if call.step > 0.0 {
            time.fetch_add(step(steps), Ordering::Relaxed);
            steps += 1;
        }
    };
    let unit = ClosureUnit::new(&[], &[("y", 0.0)], act);
    system.add("one", profile.unit("one", unit));
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.profile(profile);
    run
}

/// Calls and time, s, of the steps of that unit in a long run, by the profile and in truth.
fn long_run(step: fn(u64) -> u64) -> [(u64, f64); 2] {
    let clock = Clock::default();
    let profile = clock.profile(None);
    let mut run = run_of_one(&clock, &profile, step);
    for _ in 0..MANY {
        run.step().unwrap();
    }
    let report = profile.report();
    let steps = find(&report, Some("one"), "step");
    let truth = 1e-9 * (0..MANY).map(step).sum::<u64>() as f64;
    assert_eq!(report.macro_steps, MANY);
    assert!(
        (report.seconds / truth - 1.0).abs() < 0.05,
        "{report:#?}, {truth} s"
    );
    assert_eq!(find(&report, None, "other").calls, MANY);
    [(steps.calls, steps.seconds), (MANY, truth)]
}

#[test]
fn calls_of_a_long_run_are_counted_and_their_times_estimated() {
    let courses: [fn(u64) -> u64; 5] = [
        |_| 300,
        // Of a period that one macro-step in 16 would miss, or always meet.
        |step| if step % 16 == 3 { 900 } else { 100 },
        |step| if step % 32 < 5 { 700 } else { 50 },
        |step| 100 + step % 7 * 50,
        // The first macro-steps are slow.
        |step| if step < 50 { 900 } else { 200 },
    ];
    for course in courses {
        let [found, expected] = long_run(course);
        assert_eq!(found.0, expected.0);
        assert!(
            (found.1 / expected.1 - 1.0).abs() < 0.05,
            "{found:?} {expected:?}"
        );
    }
}

#[test]
fn calls_that_take_more_than_a_microsecond_are_all_timed() {
    // No sample would show the one step.
    let [found, expected] = long_run(|step| if step == 5003 { 10_000_000 } else { 1500 });
    assert_eq!(found.0, expected.0);
    assert!(
        (found.1 - expected.1).abs() < 1e-9,
        "{found:?} {expected:?}"
    );
}

/// An observer that writes now and then.
struct RareRecorder(Clock);

impl Observer for RareRecorder {
    fn activity(&self) -> &'static str {
        "record"
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        if view.steps % 1000 == 7 {
            self.0.advance(300);
        }
        Ok(ControlFlow::Continue(()))
    }
}

#[test]
fn what_observers_do_now_and_then_is_timed() {
    let clock = Clock::default();
    let profile = clock.profile(None);
    let mut run = run_of_one(&clock, &profile, |_| 100);
    run.observe(RareRecorder(clock.clone())).unwrap();
    for _ in 0..MANY {
        run.step().unwrap();
    }
    let report = profile.report();
    let record = find(&report, None, "record");
    assert_eq!(numbers(record), (MANY, MANY / 1000 * 300));
}

#[test]
fn a_long_run_looks_at_the_clock_in_one_macro_step_of_sixteen() {
    let looks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&looks);
    let profile = Profile::by_clock(
        move || Duration::from_nanos(counted.fetch_add(1, Ordering::Relaxed)),
        None,
    );
    let mut run = run_of_one(&Clock::default(), &profile, |_| 0);
    let looks_in = |run: &mut Run, macro_steps: u64| {
        let before = looks.load(Ordering::Relaxed);
        for _ in 0..macro_steps {
            run.step().unwrap();
        }
        looks.load(Ordering::Relaxed) - before
    };
    let of_all = looks_in(&mut run, 64);
    let of_some = looks_in(&mut run, 64 * 16);
    assert_eq!(of_some, of_all);
    assert!(of_all >= 64 * 4, "{of_all}");
}
