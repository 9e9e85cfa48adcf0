//! The calls that every unit gets, in order and with the bits of their arguments, and the published
//! results: one hash each for every combination of registry words.
//!
//! Two builds that should behave alike are compared by their lists:
//!
//! ```sh
//! GYRATOR_CALL_SEQUENCES=$PWD/before.txt cargo test --package system-tests -- --ignored call_sequences
//! ```
//!
//! `GYRATOR_CALLS_OF="multi-rate: jacobi + hold + off + auto + fixed"` adds the calls themselves to
//! the lines that begin with the text.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fmu_models::{AllTypes, OscillatorForce, OscillatorMotion};
use gyrator::correction::CORRECTIONS;
use gyrator::error::{Cause, UnitFault};
use gyrator::exchange_mode::Exchange;
use gyrator::extrapolation::EXTRAPOLATIONS;
use gyrator::interface_order::INTERFACE_ORDERS;
use gyrator::method::METHODS;
use gyrator::observer::{ObserverError, StopRequest};
use gyrator::step_control::STEP_CONTROLS;
use gyrator::unit::{Handle, Period, SavedState, StepOutcome, UnitResult, UnitWrapper};
use gyrator::{
    ClosureUnit, LinearUnit, Observer, RunOptions, StartError, System, Unit, Value, View,
};
use gyrator_system::{Choice, Spanned, Value as FileValue};
use gyrator_testkit::{ModelUnit, TABLE_1, needs_substeps};

/// Macro-step, s.
const H: f64 = 1e-3;
const STEPS: u32 = 12;

/// FNV-1a with 64 bits (Fowler, Noll, Vo; IETF draft-eastlake-fnv): the same on every machine.
#[derive(Clone, Copy, PartialEq)]
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn add_real(&mut self, value: f64) {
        self.add(&value.to_bits().to_le_bytes());
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The calls of one unit.
#[derive(Default)]
struct Calls {
    /// Until the end of the initialisation and of the look at the start values after it; from then on.
    hashes: [Hash; 2],
    has_left_initialization: bool,
    is_stepping: bool,
    /// One line a call; empty between calls unless all are kept.
    text: String,
    keeps_text: bool,
}

type SharedCalls = Arc<Mutex<Calls>>;

fn lock(calls: &SharedCalls) -> MutexGuard<'_, Calls> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Records the calls of a unit and passes them on. Steps longer than `longest` are discarded.
struct Recorder {
    unit: Box<dyn Unit>,
    calls: SharedCalls,
    longest: f64,
    saved: u64,
}

/// A saved state with its number, so that the record says which one was restored.
type NumberedState = (u64, SavedState);

impl Recorder {
    fn record(&self, call: &str, write: impl FnOnce(&mut String)) {
        let mut calls = lock(&self.calls);
        calls.is_stepping |= calls.has_left_initialization && call != "get_value";
        let start = calls.text.len();
        calls.text.push_str(call);
        write(&mut calls.text);
        calls.text.push('\n');
        let Calls {
            hashes,
            is_stepping,
            text,
            keeps_text,
            ..
        } = &mut *calls;
        hashes[usize::from(*is_stepping)].add(&text.as_bytes()[start..]);
        if !*keeps_text {
            text.clear();
        }
    }
}

fn write_reals(text: &mut String, values: &[f64]) {
    for value in values {
        let _ = write!(text, " {:016x}", value.to_bits());
    }
}

/// Kind and value; reals as bits.
fn write_value(text: &mut String, value: &Value) {
    if let Value::Real(value) = value {
        write_reals(text, &[*value]);
    } else {
        let _ = write!(text, " {value:?}");
    }
}

impl UnitWrapper for Recorder {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        self.record("setup_experiment", |text| {
            let _ = write!(text, " {period:?}");
        });
        self.unit.setup_experiment(period)
    }

    fn enter_initialization_mode(&mut self) -> UnitResult {
        self.record("enter_initialization_mode", |_| ());
        self.unit.enter_initialization_mode()
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.record("exit_initialization_mode", |_| ());
        lock(&self.calls).has_left_initialization = true;
        self.unit.exit_initialization_mode()
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        self.record("set_reals", |text| {
            let _ = write!(text, " {handles:?}");
            write_reals(text, values);
        });
        self.unit.set_reals(handles, values)
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.record("get_reals", |text| {
            let _ = write!(text, " {handles:?}");
        });
        self.unit.get_reals(handles, values)
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.record("step", |text| write_reals(text, &[time, step]));
        if step > self.longest {
            return Err(UnitFault::new("step", Cause::Discard, "too long"));
        }
        self.unit.step(time, step)
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.record("set_value", |text| {
            let _ = write!(text, " {handle}");
            write_value(text, value);
        });
        self.unit.set_value(handle, value)
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        self.record("get_value", |text| {
            let _ = write!(text, " {handle}");
        });
        self.unit.get_value(handle, value)
    }

    fn set_input_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &[f64],
    ) -> UnitResult {
        self.record("set_input_derivatives", |text| {
            let _ = write!(text, " {handles:?} {orders:?}");
            write_reals(text, values);
        });
        self.unit.set_input_derivatives(handles, orders, values)
    }

    fn output_derivatives(
        &mut self,
        handles: &[Handle],
        orders: &[i32],
        values: &mut [f64],
    ) -> UnitResult {
        self.record("output_derivatives", |text| {
            let _ = write!(text, " {handles:?} {orders:?}");
        });
        self.unit.output_derivatives(handles, orders, values)
    }

    fn directional_derivative(
        &mut self,
        unknowns: &[Handle],
        knowns: &[Handle],
        seed: &[f64],
        values: &mut [f64],
    ) -> UnitResult {
        self.record("directional_derivative", |text| {
            let _ = write!(text, " {unknowns:?} {knowns:?}");
            write_reals(text, seed);
        });
        self.unit
            .directional_derivative(unknowns, knowns, seed, values)
    }

    fn save(&mut self, previous: Option<SavedState>) -> UnitResult<SavedState> {
        let previous = previous.map(SavedState::downcast::<NumberedState>);
        let previous = previous.map(|state| *state.unwrap_or_else(|_| panic!("a foreign state")));
        self.record("save", |text| {
            let _ = write!(text, " {:?}", previous.as_ref().map(|(number, _)| number));
        });
        let state = self.unit.save(previous.map(|(_, state)| state))?;
        self.saved += 1;
        Ok(Box::new((self.saved, state)))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        let (number, state) = state.downcast_ref::<NumberedState>().unwrap();
        self.record("restore", |text| {
            let _ = write!(text, " {number}");
        });
        self.unit.restore(state)
    }

    fn terminate(&mut self) -> UnitResult {
        self.record("terminate", |_| ());
        self.unit.terminate()
    }
}

/// Hashes what is published at each communication point.
#[derive(Clone, Default)]
struct Results(Arc<Mutex<Hash>>);

impl Results {
    fn observe(&self, view: &View<'_>) -> ControlFlow<StopRequest> {
        let mut hash = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        hash.add_real(view.time);
        view.reals.iter().for_each(|value| hash.add_real(*value));
        for signal in view.signals {
            hash.add(format!("{signal:?}").as_bytes());
        }
        for bond in view.ledger.bonds() {
            hash.add_real(bond.transferred_energy);
            hash.add_real(bond.residual_energy);
            hash.add_real(bond.residual_energy_integrated);
            hash.add_real(bond.applied_residual_energy);
            hash.add_real(bond.correction_energy);
            hash.add_real(bond.max_residual_power);
        }
        ControlFlow::Continue(())
    }
}

impl Observer for Results {
    fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.observe(view))
    }

    fn step(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
        Ok(self.observe(view))
    }
}

/// One word of each registry.
#[derive(Clone, Copy)]
struct Words {
    setting: &'static str,
    method: &'static str,
    extrapolation: &'static str,
    correction: &'static str,
    exchange: &'static str,
    step_control: &'static str,
    /// In systems with an interface model.
    interface_order: Option<&'static str>,
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            setting,
            method,
            extrapolation,
            correction,
            exchange,
            step_control,
            interface_order,
        } = self;
        write!(
            f,
            "{setting}: {method} + {extrapolation} + {correction} + {exchange} + {step_control}"
        )?;
        interface_order.map_or(Ok(()), |order| write!(f, " + {order}"))
    }
}

impl Words {
    /// All combinations in one setting.
    fn all(setting: &'static str) -> Vec<Self> {
        let orders: Vec<_> = if setting == INTERFACE_MODEL {
            INTERFACE_ORDERS
                .iter()
                .map(|entry| Some(entry.name))
                .collect()
        } else {
            vec![None]
        };
        let corrections: Vec<_> = std::iter::once("off")
            .chain(CORRECTIONS.iter().map(|entry| entry.name))
            .collect();
        let mut all = Vec::new();
        for method in METHODS.iter().map(|entry| entry.name) {
            for extrapolation in EXTRAPOLATIONS.iter().map(|entry| entry.name) {
                for correction in corrections.iter().copied() {
                    for exchange in Exchange::WORDS {
                        for step_control in STEP_CONTROLS.iter().map(|entry| entry.name) {
                            all.extend(orders.iter().map(|interface_order| Self {
                                setting,
                                method,
                                extrapolation,
                                correction,
                                exchange,
                                step_control,
                                interface_order: *interface_order,
                            }));
                        }
                    }
                }
            }
        }
        all
    }

    /// How many words differ from the words of `usual`.
    fn unusual(&self, usual: &Self) -> usize {
        let words = [
            self.method != usual.method,
            self.extrapolation != usual.extrapolation,
            self.correction != usual.correction,
            self.exchange != usual.exchange,
            self.step_control != usual.step_control,
            self.interface_order != usual.interface_order,
        ];
        words.into_iter().filter(|differs| *differs).count()
    }
}

/// A system under construction, whose units are recorded.
struct Draft {
    system: System,
    words: Words,
    calls: BTreeMap<&'static str, SharedCalls>,
    keeps_text: bool,
}

impl Draft {
    fn new(words: Words, keeps_text: bool) -> Self {
        let mut system = System::new(H);
        // Half a step is left over at the end, if units and extrapolation can make it.
        let rest = if words.setting == MULTI_RATE || needs_substeps(words.extrapolation) {
            0.0
        } else {
            0.5
        };
        system.stop_time((f64::from(STEPS) + rest) * H);
        system.method(Choice::new(words.method));
        let mut control = Choice::new(words.step_control);
        if words.step_control != "fixed" {
            let parameters = [("minimum_step", 0.5 * H), ("maximum_step", 2.0 * H)];
            control.parameters = parameters
                .map(|(name, value)| {
                    let name = Spanned::unplaced(name.to_owned());
                    (name, Spanned::unplaced(FileValue::Real(value)))
                })
                .into();
        }
        system.step_control(control);
        Self {
            system,
            words,
            calls: BTreeMap::new(),
            keeps_text,
        }
    }

    /// Adds a unit whose communication step is `ratio` macro-steps; a tenth of one if the
    /// extrapolation needs it.
    fn unit(&mut self, name: &'static str, ratio: f64, unit: impl Unit + 'static) {
        self.unit_with_longest_step(name, ratio, f64::INFINITY, unit);
    }

    /// As [`unit`](Self::unit); steps longer than `longest` are discarded, and halved.
    fn unit_with_longest_step(
        &mut self,
        name: &'static str,
        ratio: f64,
        longest: f64,
        unit: impl Unit + 'static,
    ) {
        let ratio = if needs_substeps(self.words.extrapolation) {
            0.1
        } else {
            ratio
        };
        let calls = SharedCalls::default();
        lock(&calls).keeps_text = self.keeps_text;
        let recorder = Recorder {
            unit: Box::new(unit),
            calls: Arc::clone(&calls),
            longest,
            saved: 0,
        };
        self.calls.insert(name, calls);
        let mut settings = self.system.add(name, recorder).step_size(ratio * H);
        settings = settings
            .extrapolation(self.words.extrapolation)
            .exchange(self.words.exchange);
        if longest.is_finite() {
            settings.step_halvings(3);
        }
    }

    fn bond(&mut self, name: &str, effort: (&str, &str), flow: (&str, &str)) {
        let bond = self.system.bond(name, effort, flow);
        bond.correction(self.words.correction);
    }

    /// Two masses with a spring between them; the force depends on the velocity at once.
    fn oscillator(
        &mut self,
        ratios: [f64; 2],
        force: ModelUnit<OscillatorForce>,
        motion: ModelUnit<OscillatorMotion>,
    ) {
        self.unit("force", ratios[0], force);
        self.unit("motion", ratios[1], motion);
        for (name, value) in TABLE_1[1].force_parameters() {
            let force = self.system.component("force").unwrap();
            force.start(name, value);
        }
        for (name, value) in TABLE_1[1].motion_parameters() {
            let motion = self.system.component("motion").unwrap();
            motion.start(name, value);
        }
        self.system.connect("motion.x", "force.x2");
        self.bond(
            "coupling",
            ("force.f", "motion.f"),
            ("motion.v", "force.v2"),
        );
    }

    /// Signals of all kinds from one unit to the next.
    fn echoes(&mut self, ratio: f64) {
        self.unit("echo", 1.0, ModelUnit::<AllTypes>::new());
        self.unit("late echo", ratio, ModelUnit::<AllTypes>::new());
        for kind in ["integer", "boolean", "string", "colour"] {
            let (from, to) = (format!("echo.{kind}_out"), format!("late echo.{kind}_in"));
            self.system.connect(&from, &to);
        }
        self.system.connect("motion.v", "echo.real_in");
        self.system.connect("echo.real_out", "late echo.real_in");
    }
}

const MULTI_RATE: &str = "multi-rate";
const INTERFACE_MODEL: &str = "interface model";

type Build = fn(&mut Draft);

/// Systems, each for other ways through a macro-step.
const SETTINGS: [(&str, Build); 4] = [
    // One rate, values only.
    ("plain", |draft| {
        let (force, motion) = (ModelUnit::new(), ModelUnit::new());
        draft.oscillator([1.0, 1.0], force.values_only(), motion.values_only());
    }),
    (MULTI_RATE, multi_rate),
    // Outputs that may not be read again, and a unit that is probed.
    ("probed", |draft| {
        let force = ModelUnit::new().without_fresh().without_derivatives();
        let motion = ModelUnit::new().with_input_derivatives(3);
        draft.oscillator([0.25, 1.0], force, motion);
        draft.echoes(0.5);
    }),
    (INTERFACE_MODEL, interface_model),
];

/// Units slower and faster than the macro-step, with and without input derivatives; a loop with
/// direct feed-through; a unit that discards its steps; signals of all kinds.
fn multi_rate(draft: &mut Draft) {
    draft.oscillator(
        [0.25, 1.0],
        ModelUnit::new().with_input_derivatives(2),
        ModelUnit::new().with_input_derivatives(1),
    );
    let lag = |gain: f64, feedthrough: f64| {
        let matrices: [&[f64]; 4] = [&[-3.0], &[gain], &[1.0], &[feedthrough]];
        LinearUnit::new(&[1.0], &["u"], &["y"], matrices)
    };
    draft.unit("lag", 1.0, lag(-0.4, 0.0));
    draft.unit("slow lag", 4.0, lag(1.5, 0.8));
    draft.unit("fast lag", 0.5, lag(-2.0, 1.2));
    draft.system.connect("lag.y", "slow lag.u");
    draft.system.connect("slow lag.y", "fast lag.u");
    draft.system.connect("fast lag.y", "lag.u");
    let halved = ModelUnit::<OscillatorMotion>::new().with_input_derivatives(1);
    draft.unit_with_longest_step("halved", 1.0, 0.3 * H, halved);
    draft.system.connect("force.f", "halved.f");
    draft.echoes(2.0);
}

/// Two masses, coupled by their inertia, on a spring each: the masses and springs of
/// `interface_models.rs` without their inputs' first step.
fn interface_model(draft: &mut Draft) {
    const INVERSE_MASS: [[f64; 2]; 2] =
        [[1.0 / 1700.0, -1.0 / 9000.0], [-1.0 / 9000.0, 1.0 / 400.0]];
    const FREE: [f64; 2] = [0.3, -0.2];
    const START: [f64; 2] = [0.05, -0.02];
    const EXCHANGES: f64 = 5.0;
    let [[w11, w12], [_, w22]] = INVERSE_MASS;
    let outputs = [
        ("s1", 0.0),
        ("s2", 0.0),
        ("v1", START[0]),
        ("v2", START[1]),
        ("w11", w11),
        ("w12", w12),
        ("w22", w22),
        ("b1", FREE[0]),
        ("b2", FREE[1]),
    ];
    let masses = ClosureUnit::new(&[("f1", 0.0), ("f2", 0.0)], &outputs, |call| {
        let h = call.step;
        for (i, row) in INVERSE_MASS.iter().enumerate() {
            let a = FREE[i] + row[0] * call.inputs[0] + row[1] * call.inputs[1];
            call.outputs[i] += h * call.outputs[2 + i] + 0.5 * h * h * a;
            call.outputs[2 + i] += h * a;
        }
    });
    draft.unit("masses", 1.0, masses);
    for (name, ratio, k, c) in [
        ("spring1", 1.0 / EXCHANGES, 3e6, 1e4),
        ("spring2", 0.5 / EXCHANGES, 8e5, 3e3),
    ] {
        // ṗ = −k·v, f = p − c·v.
        let matrices: [&[f64]; 4] = [&[0.0], &[0.0, -k], &[1.0, 1.0], &[0.0, -c, 0.0, 0.0]];
        let spring = LinearUnit::new(&[0.0], &["s", "v"], &["f", "p"], matrices);
        draft.unit(name, ratio, spring);
    }
    for i in ["1", "2"] {
        let [position, velocity, force] = ["s", "v", "f"].map(|name| format!("masses.{name}{i}"));
        let [s, v, f] = ["s", "v", "f"].map(|name| format!("spring{i}.{name}"));
        draft.system.connect(&position, &s);
        draft.bond(&format!("bond {i}"), (&f, &force), (&velocity, &v));
    }
    let model = draft
        .system
        .interface_model("model", "masses", H / EXCHANGES)
        .bonds(&["bond 1", "bond 2"])
        .positions(&["s1", "s2"])
        .mass(&["w11", "w12", "w22"], &["b1", "b2"]);
    model.order(draft.words.interface_order.unwrap_or_default());
}

/// Result of one run.
#[derive(Default, PartialEq)]
struct Record {
    /// Calls of all units until the end of the initialisation, and after it.
    start: Hash,
    calls: Hash,
    results: Hash,
    text: String,
}

/// Runs a combination; `None` if it is refused.
fn record(words: Words, threads: usize, keeps_text: bool) -> Option<Record> {
    let mut draft = Draft::new(words, keeps_text);
    let (_, build) = SETTINGS
        .into_iter()
        .find(|(name, _)| *name == words.setting)?;
    build(&mut draft);
    let Draft { system, calls, .. } = draft;
    let options = RunOptions {
        threads,
        step_clock: gyrator_testkit::ticking(),
        ..RunOptions::default()
    };
    let mut run = match system.start(&options) {
        Ok(run) => run,
        Err(StartError::Invalid(_)) => return None,
        Err(error) => panic!("{words}: {error}"),
    };
    let results = Results::default();
    run.observe(results.clone()).unwrap();
    let mut step = 0;
    while !run.has_ended() {
        if calls.contains_key("echo") && step % 5 == 2 {
            let text = Value::String(format!("step {step}"));
            run.write("echo.string_in", &text).unwrap();
            run.write("echo.integer_in", &Value::Integer(step)).unwrap();
            run.write("echo.boolean_in", &Value::Boolean(step % 2 == 0))
                .unwrap();
            run.write("echo.colour_in", &Value::Integer(1 + step % 3))
                .unwrap();
            run.write_real("echo.gain", f64::from(step)).unwrap();
        }
        // A run that diverges ends with an error; its calls until then count.
        let _ = run.step();
        step += 1;
        assert!(step < 1000, "{words}: no end at {} s", run.time());
    }
    let mut record = Record::default();
    {
        let mut hash = results.0.lock().unwrap_or_else(PoisonError::into_inner);
        hash.add(run.report().stop_reason.word().as_bytes());
        record.results = *hash;
    }
    for (name, calls) in &calls {
        let calls = lock(calls);
        for (whole, part) in [&mut record.start, &mut record.calls]
            .into_iter()
            .zip(&calls.hashes)
        {
            whole.add(name.as_bytes());
            whole.add(&part.0.to_le_bytes());
        }
        for line in calls.text.lines() {
            let _ = writeln!(record.text, "    {name}: {line}");
        }
    }
    Some(record)
}

/// The record of a combination; it must be the same on two threads.
fn record_on_any_threads(words: Words, keeps_text: bool) -> Option<Record> {
    let one = record(words, 1, keeps_text);
    let two = record(words, 2, keeps_text);
    assert!(one == two, "{words}: two threads make other calls");
    one
}

fn combinations() -> impl Iterator<Item = Words> {
    SETTINGS.into_iter().flat_map(|(name, _)| Words::all(name))
}

/// Each word once beside the first of the other registries, so that the study below cannot rot.
#[test]
fn threads_change_no_call() {
    let mut ran = 0;
    for (setting, _) in SETTINGS {
        let all = Words::all(setting);
        let few = all.iter().filter(|words| words.unusual(&all[0]) <= 1);
        for words in few {
            ran += usize::from(record_on_any_threads(*words, false).is_some());
        }
    }
    assert!(ran > 2 * SETTINGS.len(), "only {ran} combinations ran");
}

#[test]
fn a_changed_call_changes_the_hash() {
    let usual = Words::all("plain")[0];
    let other = Words {
        extrapolation: "mean-hold",
        ..usual
    };
    let [usual, again, other] = [usual, usual, other].map(|words| record(words, 1, false).unwrap());
    assert!(usual == again);
    assert!(usual.start == other.start);
    assert!(usual.calls != other.calls && usual.results != other.results);
}

#[test]
#[ignore = "study: every combination of registry words"]
fn call_sequences() {
    let wanted = std::env::var("GYRATOR_CALLS_OF").ok();
    let mut list = String::new();
    for words in combinations() {
        let name = words.to_string();
        let keeps_text = wanted
            .as_ref()
            .is_some_and(|wanted| name.starts_with(wanted));
        let Some(record) = record_on_any_threads(words, keeps_text) else {
            let _ = writeln!(list, "{words} refused");
            continue;
        };
        let Record {
            start,
            calls,
            results,
            text,
        } = &record;
        let _ = writeln!(
            list,
            "{words} start={start} calls={calls} results={results}"
        );
        list.push_str(text);
    }
    match std::env::var_os("GYRATOR_CALL_SEQUENCES") {
        Some(path) => std::fs::write(path, list).unwrap(),
        None => print!("{list}"),
    }
}
