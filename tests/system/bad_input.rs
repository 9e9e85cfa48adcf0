//! The library answers every program with a value or an error: it never panics.

use gyrator::{ClosureUnit, LinearUnit, Recorder, Run, RunOptions, System, Value, Word};
use proptest::prelude::*;
use proptest::sample::select;

const NAMES: [&str; 16] = [
    "a", "b", "a.b", "", ".", " ", "u", "y", "a.u", "a.y", "b.u", "b.y", "*", "é\0\n", "a.*",
    "bond.p",
];

const NUMBERS: [f64; 12] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -1.0,
    -0.0,
    0.0,
    1e-300,
    1e300,
    f64::MAX,
    1e-3,
    0.5,
    1.0,
];

const WORDS: [&str; 14] = [
    "",
    "jacobi",
    "gauss-seidel",
    "mean-force",
    "fixed",
    "ecco",
    "hold",
    "linear",
    "hinfinity",
    "auto",
    "residual-power",
    "nepce",
    "fresh",
    "off",
];

/// A call of the library, with what it is given.
#[derive(Debug, Clone)]
enum Call {
    Closure(&'static str, &'static str, &'static str, f64),
    Linear(&'static str, Vec<f64>),
    Connect(&'static str, &'static str, f64),
    Bond(&'static str, [&'static str; 4], f64),
    Component(&'static str, f64, &'static str),
    Start(&'static str, f64),
    Stop(f64),
    Words([&'static str; 5], &'static str, f64),
    Model(&'static str, &'static str, f64),
}

fn name() -> impl Strategy<Value = &'static str> {
    select(&NAMES[..])
}

fn number() -> impl Strategy<Value = f64> {
    select(&NUMBERS[..])
}

fn word() -> impl Strategy<Value = &'static str> {
    select(&WORDS[..])
}

fn call() -> impl Strategy<Value = Call> {
    let words =
        || (word(), word(), word(), word(), word()).prop_map(|(a, b, c, d, e)| [a, b, c, d, e]);
    let names = || (name(), name(), name(), name()).prop_map(|(a, b, c, d)| [a, b, c, d]);
    prop_oneof![
        4 => (name(), name(), name(), number()).prop_map(|(n, u, y, x)| Call::Closure(n, u, y, x)),
        4 => (name(), prop::collection::vec(number(), 0..5)).prop_map(|(n, m)| Call::Linear(n, m)),
        4 => (name(), name(), number()).prop_map(|(from, to, gain)| Call::Connect(from, to, gain)),
        2 => (name(), names(), number()).prop_map(|(n, ends, sense)| Call::Bond(n, ends, sense)),
        2 => (name(), number(), word()).prop_map(|(n, step, word)| Call::Component(n, step, word)),
        1 => (name(), number()).prop_map(|(n, start)| Call::Start(n, start)),
        1 => number().prop_map(Call::Stop),
        1 => (words(), name(), number()).prop_map(|(w, n, x)| Call::Words(w, n, x)),
        1 => (name(), name(), number()).prop_map(|(n, c, step)| Call::Model(n, c, step)),
    ]
}

fn make(system: &mut System, call: &Call) {
    match call {
        Call::Closure(name, input, output, start) => {
            let (inputs, outputs) = ([(*input, *start)], [(*output, *start)]);
            let unit = move || {
                ClosureUnit::new(&inputs, &outputs, |call| call.outputs[0] = call.inputs[0])
            };
            system.add_with(name, unit);
        }
        Call::Linear(name, numbers) => {
            let part = |from: usize| numbers.get(from..=from).unwrap_or_default();
            let matrices = [part(0), part(1), part(2), part(3)];
            if let Ok(unit) = LinearUnit::try_new(&[1.0], &["u"], &["y"], matrices) {
                system.add(name, unit).start("u", numbers[0]);
            }
        }
        Call::Connect(from, to, gain) => {
            system.connect(from, to).gain(*gain);
        }
        Call::Bond(name, [a, b, c, d], sense) => {
            system
                .bond(name, (a, b), (c, d))
                .max_residual_energy(*sense);
        }
        Call::Component(name, step, word) => {
            if let Some(component) = system.component(name) {
                component
                    .step_size(*step)
                    .extrapolation(*word)
                    .exchange(word);
            }
        }
        Call::Start(name, value) => {
            if let Some(component) = system.component("a") {
                component.start(name, *value);
            }
        }
        Call::Stop(time) => {
            system.stop_time(*time);
        }
        Call::Words([method, control, exchange, extrapolation, correction], parameter, value) => {
            system
                .method(*method)
                .step_control((*control, [(*parameter, *value)]));
            system.exchange(exchange).extrapolation(*extrapolation);
            system.correction(Word::new(*correction).with(*parameter, *value));
        }
        Call::Model(name, component, step) => {
            system.interface_model(name, component, *step);
        }
    }
}

/// Everything that a program may ask of a run.
fn use_up(run: &mut Run, names: &[&str], numbers: &[f64]) {
    let (recorder, rows) = Recorder::memory();
    let recorder = recorder.interval(numbers[0]);
    let _ = run.observe(recorder.variables([names[0]]));
    let snapshot = run.save();
    for (name, number) in names.iter().zip(numbers) {
        let _ = run.write(*name, *number);
        let _ = run.write(*name, Value::String((*name).to_owned()));
        let _ = run.override_value(name, *number);
        if let Ok(input) = run.input(name) {
            let _ = run.write(input, *number);
        }
        let _ = run.output::<i32>(name);
        let _ = run.read(*name);
        if run.step().is_err() {
            break;
        }
    }
    if let Ok(snapshot) = snapshot {
        let _ = run.restore(&snapshot);
    }
    let time = run.time();
    let _ = run.run_until(if numbers[1].is_finite() {
        time
    } else {
        numbers[1].min(time)
    });
    let _ = run.stop();
    let recorded = rows.take();
    for column in &recorded.columns {
        let _ = recorded.reals(&column.column.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nothing_that_a_program_says_panics(
        step in number(),
        calls in prop::collection::vec(call(), 0..12),
        names in prop::collection::vec(name(), 4),
        numbers in prop::collection::vec(number(), 4),
    ) {
        let mut system = System::new(step);
        for call in &calls {
            make(&mut system, call);
        }
        let _ = system.check();
        if let Ok(mut run) = system.start(&RunOptions::default()) {
            use_up(&mut run, &names, &numbers);
        }
    }

    /// Systems that start: two units in a loop, and odd values only while they run.
    #[test]
    fn nothing_that_is_asked_of_a_run_panics(
        word in prop_oneof![Just("hold"), Just("linear"), Just("auto")],
        gain in number(),
        names in prop::collection::vec(name(), 6),
        numbers in prop::collection::vec(number(), 6),
    ) {
        let mut system = System::new(0.5);
        for name in ["a", "b"] {
            let matrices: [&[f64]; 4] = [&[-1.0], &[1.0], &[1.0], &[0.5]];
            system.add(name, LinearUnit::new(&[1.0], &["u"], &["y"], matrices));
        }
        system.connect("a.y", "b.u").gain(gain);
        system.extrapolation(word);
        if let Ok(mut run) = system.start(&RunOptions::default()) {
            use_up(&mut run, &names, &numbers);
        }
    }
}
