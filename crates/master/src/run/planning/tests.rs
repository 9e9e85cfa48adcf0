//! Random systems with words of all registries: their plans keep the rules before and after they are finished, and their
//! units get the calls that the plan lists.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::correction::CORRECTIONS;
use crate::exchange_mode::Exchange;
use crate::extrapolation::EXTRAPOLATIONS;
use crate::fault::Fault;
use crate::graph::Graph;
use crate::method::{Draft, METHODS, Method, MethodFacts, Stage, StageView};
use crate::plan::{Effect, Known, Operation, Phase, StepPlan, Store, effects, verify};
use crate::random::SplitMix64;
use crate::registry::Entry;
use crate::run::{Run, plan};
use crate::state::SystemState;
use crate::step_control::STEP_CONTROLS;
use crate::unit::{Handle, StepOutcome, UnitResult, UnitWrapper};
use crate::{ClosureUnit, LinearUnit, RunOptions, StepClock, System, Unit};

/// Macro-step, s.
const H: f64 = 1e-3;

/// A call of a unit for real variables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Call {
    Set,
    Step,
    Get,
}

type Calls = Arc<Mutex<Vec<Call>>>;

/// Passes on the calls of a unit and keeps a list of them.
struct Recorder {
    unit: Box<dyn Unit>,
    calls: Calls,
}

impl Recorder {
    fn record(&self, call: Call) {
        self.calls.lock().unwrap().push(call);
    }
}

impl UnitWrapper for Recorder {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.record(Call::Set);
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.record(Call::Get);
        self.unit.get_reals(handles, values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.record(Call::Step);
        self.unit.step(time, step)
    }
}

/// Draws of one seed.
struct Draw(SplitMix64);

impl Draw {
    fn of_seed(seed: u64) -> Self {
        // Streams of neighbouring seeds overlap.
        Self(SplitMix64::new(SplitMix64::new(seed).next_bits()))
    }

    fn below(&mut self, count: usize) -> usize {
        (self.0.next_unit() * count as f64) as usize
    }

    fn word(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }
}

/// Whether the units of loops make steps again.
fn iterates(method: &str) -> bool {
    let entry = METHODS.iter().find(|entry| entry.name == method);
    let chosen = entry.and_then(|entry| entry.chosen(&gyrator_system::Choice::new(method)).ok());
    chosen.is_some_and(|chosen| chosen.usual_facts().iterates)
}

/// Two to six units at random rates in a ring, with further connections; every second one has direct feed-through. The
/// words of the registries are random. `is_reversed`: the same in the opposite order.
fn system(seed: u64, is_reversed: bool) -> (System, Vec<(String, Calls)>) {
    let mut draw = Draw::of_seed(seed);
    let mut system = System::new(H);
    system.stop_time(40.0 * H);
    let names: Vec<&str> = METHODS.iter().map(|entry| entry.name).collect();
    let method = draw.word(&names);
    let order = ["", "fast-first", "u2, u0"][draw.below(3)];
    let is_iterative = iterates(method);
    if method == "iterative" {
        system.method((
            method,
            [("order", ["gauss-seidel", "jacobi"][draw.below(2)])],
        ));
    } else if is_iterative || ["jacobi", "auto"].contains(&method) || order.is_empty() {
        system.method(method);
    } else {
        system.method((method, [("order", order)]));
    }
    let words: Vec<&str> = STEP_CONTROLS.iter().map(|entry| entry.name).collect();
    if draw.below(4) == 0 {
        system.step_control(draw.word(&words));
    }
    let words: Vec<&str> = EXTRAPOLATIONS.iter().map(|entry| entry.name).collect();
    let is_held = draw.below(3) == 0;
    system.extrapolation(if is_held { "hold" } else { draw.word(&words) });
    system.exchange(draw.word(&Exchange::WORDS));
    let count = 2 + draw.below(5);
    let rates: Vec<f64> = (0..count)
        .map(|_| [0.5, 1.0, 1.0, 1.0, 2.0, 3.0, 4.0, 6.0][draw.below(8)])
        .collect();
    // The loop of an iteration has one rate.
    let is_single_rate = draw.below(3) == 0 || is_iterative;
    let mut units: Vec<usize> = (0..count).collect();
    if is_reversed {
        units.reverse();
    }
    let mut calls = Vec::new();
    for &unit in &units {
        let name = format!("u{unit}");
        let inner: Box<dyn Unit> = if unit % 2 == 0 {
            let matrices: [&[f64]; 4] = [&[-3.0], &[1.0, 0.5], &[1.0, 2.0], &[0.1, 0.0, 0.0, 0.0]];
            Box::new(LinearUnit::new(&[0.2], &["a", "b"], &["y", "z"], matrices))
        } else {
            let inputs = [("a", 0.0), ("b", 0.0)];
            let outputs = [("y", 0.1), ("z", 0.0)];
            let unit = ClosureUnit::new(&inputs, &outputs, |call| {
                let sum = 0.3 * call.inputs[0] + 0.1 * call.inputs[1];
                call.outputs.copy_from_slice(&[sum, call.time]);
            });
            match is_iterative {
                true => Box::new(unit.memoryless()),
                false => Box::new(unit),
            }
        };
        let recorded = Calls::default();
        let recorder = Recorder {
            unit: inner,
            calls: Arc::clone(&recorded),
        };
        let ratio = if is_single_rate { 1.0 } else { rates[unit] };
        system.add(&name, recorder).step_size(ratio * H);
        calls.push((name, recorded));
    }
    let corrections = CORRECTIONS.iter().filter(|entry| {
        let chosen = entry.chosen(&gyrator_system::Choice::new(entry.name));
        // Derivatives by trial are calls of the correction's own.
        chosen.is_ok_and(|chosen| !chosen.usual_facts().needs_jacobian)
    });
    let words: Vec<&str> = std::iter::once("off")
        .chain(corrections.map(|entry| entry.name))
        .collect();
    let correction = draw.word(&words);
    let next = |unit: usize| (unit + 1) % count;
    // The first two units are the ends of a bond; the others go round.
    let bond = system.bond("bond", ("u0.y", "u1.a"), ("u1.y", "u0.a"));
    bond.correction(correction);
    for &unit in units.iter().filter(|unit| **unit > 1) {
        system.connect(&format!("u{unit}.y"), &format!("u{}.b", next(unit)));
        system.connect(&format!("u{}.z", unit - 1), &format!("u{unit}.a"));
    }
    calls.sort_by(|a, b| a.0.cmp(&b.0));
    (system, calls)
}

/// The calls of each unit that the plan lists for a macro-step with so many passes of its iteration.
/// With each, whether it may make trial steps after them.
fn planned(run: &Run, index: u64, passes: u64) -> Vec<(Vec<Call>, bool)> {
    let state = &run.state;
    let mut calls = vec![Vec::new(); state.units.members.len()];
    let mut tries = vec![false; calls.len()];
    let mut list = Vec::new();
    let is_due = |component: usize, phase: Phase| {
        let at = index + u64::from(phase == Phase::End);
        state.units.members[component].is_due(at)
    };
    add_effects(
        &run.plan.plan.operations,
        (&run.plan.plan, passes),
        state,
        &is_due,
        &mut list,
    );
    for effect in list {
        match effect {
            Effect::Tries { component } => tries[component] = true,
            Effect::Sets { component } => calls[component].push(Call::Set),
            Effect::Gets { component, .. } => calls[component].push(Call::Get),
            Effect::ReadsAgain { component, .. } => calls[component].extend([Call::Set, Call::Get]),
            Effect::Steps { component, sets } => {
                let member = &state.units.members[component];
                for part in 1..=member.substeps {
                    calls[component].extend(sets.then_some(Call::Set));
                    calls[component].push(Call::Step);
                    // The values of the end are read with all outputs.
                    let is_traced = member.trace.is_some() && part < member.substeps;
                    calls[component].extend(is_traced.then_some(Call::Get));
                }
            }
            _ => {}
        }
    }
    calls.into_iter().zip(tries).collect()
}

fn add_effects(
    operations: &[Operation],
    (plan, passes): (&StepPlan, u64),
    state: &SystemState,
    is_due: &dyn Fn(usize, Phase) -> bool,
    list: &mut Vec<Effect>,
) {
    for operation in operations {
        if let Operation::Iterate { body, .. } = operation {
            for _ in 0..passes {
                add_effects(body, (plan, passes), state, is_due, list);
            }
        }
        effects(operation, plan, Known::of_state(state), is_due, list);
    }
}

/// Each look comes 3 % sooner: several threads, which are measured last, are always worth it.
fn ticking() -> StepClock {
    let looks = AtomicI32::new(0);
    StepClock::new(move || {
        let look = looks.fetch_add(1, Ordering::Relaxed);
        Duration::from_secs_f64(1e9 * (1.0 - 0.97_f64.powi(look)))
    })
}

#[test]
fn units_get_the_calls_of_the_plan_and_every_plan_keeps_the_rules() {
    let (mut started, mut steps, mut with_slow, mut iterated) = (0, 0, 0, 0);
    for seed in 0..1300 {
        let (system, calls) = system(seed, false);
        let threads = 1 + (seed % 2) as usize;
        let options = RunOptions {
            threads,
            step_clock: ticking(),
            ..RunOptions::default()
        };
        // Words that do not go together are refused.
        let Ok(mut run) = system.start(&options) else {
            continue;
        };
        started += 1;
        with_slow += u32::from(run.state.units.members.iter().any(|m| m.every > 1));
        assert_rules(&run, seed);
        let repeats = run.checkpoint.is_some();
        for _ in 0..12 {
            let index = run.timeline.steps();
            for (_, recorded) in &calls {
                recorded.lock().unwrap().clear();
            }
            let before = run.state.counters.iterations;
            if run.step().is_err() {
                break;
            }
            let passes = run.state.counters.iterations - before;
            iterated += u32::from(passes > 1);
            let expected = planned(&run, index, passes);
            // A step that is made again is planned once.
            if repeats && run.state.counters.repeated_steps > 0 {
                break;
            }
            // Whether the units can go back was tried before the first one.
            if repeats && index == 0 {
                continue;
            }
            steps += 1;
            for ((name, recorded), (expected, tries)) in calls.iter().zip(&expected) {
                let mut found = recorded.lock().unwrap().clone();
                let beyond = found.get(expected.len()..).unwrap_or_default();
                let mut trials = beyond.chunks(3);
                if *tries && trials.all(|trial| trial == [Call::Set, Call::Step, Call::Get]) {
                    found.truncate(expected.len());
                }
                assert_eq!(
                    found,
                    *expected,
                    "seed {seed}, {name} in macro-step {index} of\n{}",
                    plan(&run)
                );
            }
        }
    }
    // Of the seeds above.
    assert!(
        started > 200 && steps > 2000 && with_slow > 60 && iterated > 200,
        "{started} {steps} {with_slow} {iterated}"
    );
}

/// The plan as it was drafted, and as it is executed.
fn assert_rules(run: &Run, seed: u64) {
    let Run { state, plan, .. } = run;
    let draft = &plan.draft;
    let stages = || plan.plan.duplicate_stages().unwrap();
    let of = |operations: Vec<Operation>| StepPlan {
        operations,
        stages: stages(),
        ..StepPlan::default()
    };
    assert_eq!(
        verify(&of(draft.clone()), &state.graph, None),
        [],
        "draft of seed {seed}"
    );
    assert_eq!(
        verify(&plan.plan, &state.graph, Some(state)),
        [],
        "plan of seed {seed}"
    );
}

#[test]
fn the_order_of_a_description_changes_no_plan() {
    let mut compared = 0;
    for seed in 0..300 {
        let start = |is_reversed| system(seed, is_reversed).0.start(&RunOptions::default());
        let (Ok(run), Ok(reversed)) = (start(false), start(true)) else {
            continue;
        };
        compared += 1;
        assert_eq!(plan(&run), plan(&reversed), "seed {seed}");
        assert_eq!(run.plan.draft, reversed.plan.draft, "seed {seed}");
    }
    assert!(compared > 100, "{compared}");
}

struct ThirdPass;

impl Stage for ThirdPass {
    fn effects(&self, _: &Graph) -> Vec<Effect> {
        Vec::new()
    }

    fn words(&self, _: &Graph) -> String {
        "the third pass is the last".to_owned()
    }

    fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
        if view.pass() == 3 {
            view.converge();
        }
        Ok(())
    }
}

/// Iterates the components that `ALL` or the integrator alone.
struct Iterated<const ALL: bool>;

impl<const ALL: bool> Method for Iterated<ALL> {
    fn plan(&self, draft: &mut Draft<'_>) {
        let all = draft.components();
        let (iterated, others) = all.split_at(if ALL { 2 } else { 1 });
        draft.head();
        draft.prepare(&all);
        draft.step(others, Phase::Begin);
        draft.read(others, Store::Ahead, Phase::End);
        let body = |draft: &mut Draft<'_>| {
            draft.give(iterated, Phase::Begin);
            draft.step(iterated, Phase::Begin);
            draft.read(iterated, Store::Ahead, Phase::End);
        };
        draft.iterate(iterated, 8, body, ThirdPass);
        draft.show();
        draft.tail();
    }
}

fn entry<const ALL: bool>(name: &'static str) -> Entry<dyn Method> {
    Entry {
        name,
        summary: "three passes",
        source: "this test",
        parameters: &[],
        facts: |_, ()| MethodFacts::default(),
        build: |_| Box::new(Iterated::<ALL>),
    }
}

/// An iteration goes back to the state in which it began, and ends when its test is content.
#[test]
fn an_iteration_goes_back() {
    let mut system = System::new(1.0);
    system.stop_time(4.0);
    let methods = &mut system.registries().methods;
    methods.add(entry::<false>("iterated")).unwrap();
    methods.add(entry::<true>("all")).unwrap();
    let calls = Calls::default();
    // ẋ = u: an integrator of a constant.
    let unit = LinearUnit::new(&[0.0], &["u"], &["x"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
    let recorder = Recorder {
        unit: Box::new(unit),
        calls: Arc::clone(&calls),
    };
    system.add("integrator", recorder);
    system.add("one", ClosureUnit::new(&[], &[("y", 1.0)], |_| ()));
    system.connect("one.y", "integrator.u");
    system.method("all");
    let error = system.start(&RunOptions::default()).err().unwrap();
    let message = error.to_string();
    assert!(
        message.contains("P-06") && message.contains("one"),
        "{message}"
    );
    system.method("iterated");
    let mut run = system.start(&RunOptions::default()).unwrap();
    calls.lock().unwrap().clear();
    run.step().unwrap();
    assert_eq!(
        *calls.lock().unwrap(),
        [Call::Set, Call::Step, Call::Get].repeat(3)
    );
    run.run().unwrap();
    assert_eq!(run.read_real("integrator.x").unwrap(), 4.0);
}

/// P-13: a stage touches nothing that it does not declare.
#[test]
fn a_stage_that_touches_more_than_it_declares_ends_the_run() {
    struct Peeks;

    impl Stage for Peeks {
        fn effects(&self, _: &Graph) -> Vec<Effect> {
            Vec::new()
        }

        fn words(&self, _: &Graph) -> String {
            "reads the first output".to_owned()
        }

        fn run(&mut self, view: &mut StageView<'_>) -> Result<(), Fault> {
            view.shown(0);
            Ok(())
        }
    }

    struct Peeking;

    impl Method for Peeking {
        fn plan(&self, draft: &mut Draft<'_>) {
            let all = draft.components();
            draft.head();
            draft.prepare(&all);
            draft.own(Peeks);
            draft.give(&all, Phase::Begin);
            draft.step(&all, Phase::Begin);
            draft.read(&all, Store::Shown, Phase::End);
            draft.tail();
        }
    }

    let mut system = System::new(1.0);
    let entry: Entry<dyn Method> = Entry {
        name: "peeking",
        summary: "reads more than it declares",
        source: "this test",
        parameters: &[],
        facts: |_, ()| MethodFacts::default(),
        build: |_| Box::new(Peeking),
    };
    system.registries().methods.add(entry).unwrap();
    system.method("peeking");
    system.add("one", ClosureUnit::new(&[], &[("y", 1.0)], |_| ()));
    let mut run = system.start(&RunOptions::default()).unwrap();
    let message = run.step().unwrap_err().to_string();
    assert!(
        message.contains("P-13") && message.contains("one.y"),
        "{message}"
    );
}
