//! Sources and functions without an FMU, against closed forms.

use std::f64::consts::TAU;
use std::path::PathBuf;

use gyrator::random::SplitMix64;
use gyrator::{Run, RunOptions, StartError, System};
use gyrator_system::toml_file;

/// A run of the components and connections of a text, from t = 0 in steps of 0.1 s.
fn run(text: &str) -> Run {
    system(text).start(&RunOptions::default()).unwrap()
}

fn system(text: &str) -> System {
    match assembled(text) {
        Ok(system) => system,
        Err(error) => panic!("{error}\n{text}"),
    }
}

fn assembled(text: &str) -> Result<System, StartError> {
    let text = format!("experiment.step_size = 0.1\n{text}");
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("system.toml");
    let (file, _) = toml_file::parse(text, path).unwrap_or_else(|problems| panic!("{problems}"));
    System::from_file(file)
}

/// Compares a variable with a function of time at the start and after each of 40 steps.
#[track_caller]
fn compare(text: &str, variable: &str, expected: impl Fn(f64) -> f64) {
    let mut run = run(text);
    for step in 0..=40 {
        let (time, expected) = (run.time(), expected(f64::from(step) * 0.1));
        let found = run.read_real(variable).unwrap();
        // A few roundings of numbers up to 10; times are sums of two doubles.
        assert!(
            (found - expected).abs() < 1e-12,
            "{text} at {time}: {found}, not {expected}"
        );
        run.step().unwrap();
    }
}

/// A source, and its closed form from t = 0 to 4 s.
fn source(block: &str, expected: impl Fn(f64) -> f64) {
    compare(&format!("components.s.block = {block}"), "s.y", expected);
}

#[test]
fn sources_are_their_closed_forms() {
    source("{ name = 'constant', value = 2.5 }", |_| 2.5);
    source(
        "{ name = 'step', height = 3, offset = -1, start_time = 0.7 }",
        |t| {
            if t > 0.65 { 2.0 } else { -1.0 }
        },
    );
    source(
        "{ name = 'ramp', height = -4, duration = 1.6, offset = 1, start_time = 0.5 }",
        |t| 1.0 - 4.0 * ((t - 0.5) / 1.6).clamp(0.0, 1.0),
    );
    source(
        "{ name = 'sine', amplitude = 2, frequency = 0.3, phase = 0.4, offset = 1, start_time = 0.55 }",
        |t| {
            let on = if t < 0.55 { 0.0 } else { 2.0 };
            1.0 + on * (TAU * 0.3 * (t - 0.55) + 0.4).sin()
        },
    );
    // From 0.2 Hz to 1.2 Hz within 2 s: f = 0.2 + 0.5·t, whose integral is 0.2·t + t²/4; 1.4 turns at 2 s.
    source(
        "{ name = 'chirp', start_frequency = 0.2, end_frequency = 1.2, duration = 2, amplitude = 3 }",
        |t| {
            let turns = if t < 2.0 {
                0.2 * t + t * t / 4.0
            } else {
                1.4 + 1.2 * (t - 2.0)
            };
            3.0 * (TAU * turns).sin()
        },
    );
}

#[test]
fn noise_is_the_stream_of_its_seed_whatever_the_steps() {
    let noise = |more: &str| {
        format!("components.s.block = {{ name = 'noise', seed = 7, interval = 0.2{more} }}")
    };
    let mut stream = SplitMix64::new(7);
    let normal: Vec<f64> = (0..25).map(|_| stream.next_normal()).collect();
    compare(&noise(", mean = 2, deviation = 0.5"), "s.y", |t| {
        2.0 + 0.5 * normal[(t / 0.2 + 0.01) as usize]
    });
    let mut stream = SplitMix64::new(7);
    let uniform = (0..25).map(|_| {
        let number = stream.next_unit();
        // One of each two, so that both distributions read the stream alike.
        stream.next_unit();
        3_f64.sqrt() * (2.0 * number - 1.0)
    });
    let uniform: Vec<f64> = uniform.collect();
    compare(&noise(", distribution = 'uniform'"), "s.y", |t| {
        uniform[(t / 0.2 + 0.01) as usize]
    });
    let mut coarse = run(&format!("{}\ncomponents.s.step_size = 0.4", noise("")));
    for interval in 0..5 {
        assert_eq!(coarse.read_real("s.y").unwrap(), normal[2 * interval]);
        for _ in 0..4 {
            coarse.step().unwrap();
        }
    }
}

/// A table in a file of its own, and the text of a component that reads it.
fn table(name: &str, csv: &str, more: &str) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(path, csv).unwrap();
    format!("components.s.block = {{ name = 'table', file = '{name}'{more} }}")
}

const JUMP: &str = "time,a,b.c\n0.5,0,1\n1.5,2,1\n1.5,5,3\n3.5,6,3\n";

#[test]
fn tables_interpolate_jump_and_end() {
    let linear = table("linear.csv", JUMP, "");
    compare(&linear, "s.a", |t| match t {
        t if t < 0.45 => 0.0,
        t if t < 1.45 => 2.0 * (t - 0.5),
        t if t < 3.45 => 5.0 + 0.5 * (t - 1.5),
        _ => 6.0,
    });
    compare(&linear, "s.b.c", |t| if t < 1.45 { 1.0 } else { 3.0 });
    compare(
        &table("hold.csv", JUMP, ", interpolation = 'hold'"),
        "s.a",
        |t| match t {
            t if t < 1.45 => 0.0,
            t if t < 3.45 => 5.0,
            _ => 6.0,
        },
    );
    compare(
        &table("next.csv", JUMP, ", interpolation = 'next'"),
        "s.a",
        |t| match t {
            t if t < 0.55 => 0.0,
            t if t < 1.45 => 2.0,
            t if t < 1.55 => 5.0,
            _ => 6.0,
        },
    );
    // A sawtooth: the row of the end is the row of the start, once more.
    let saw = table("saw.csv", "time,a\n0,0\n1,2\n1,0\n", ", outside = 'repeat'");
    compare(&saw, "s.a", |t| {
        let part = (t + 1e-9).rem_euclid(1.0);
        if part < 1e-6 {
            0.0
        } else {
            2.0 * (part - 1e-9)
        }
    });
    let short = table("short.csv", "time,a\n0,0\n0.3,2\n", ", outside = 'refuse'");
    let mut run = run(&short);
    for _ in 0..3 {
        run.step().unwrap();
    }
    let error = run.step().unwrap_err().to_string();
    assert!(error.contains("rows from t = 0 s to 0.3 s"), "{error}");
}

const SINE: &str = "components.a.block = { name = 'sine', frequency = 0.4, amplitude = 2 }\n";

/// Functions of the same instant show no delay.
#[test]
fn functions_are_computed_from_the_values_of_the_same_instant() {
    let sine = |t: f64| 2.0 * (TAU * 0.4 * t).sin();
    let text = format!(
        "{SINE}
        components.b.block = {{ name = 'ramp', duration = 4, height = 4 }}
        components.difference.block = {{ name = 'sum', signs = '+-+' }}
        components.double.block = {{ name = 'gain', gain = 2, offset = -1 }}
        components.limited.block = {{ name = 'limit', min = -1.5, max = 0.5 }}
        [[connections]]
        from = 'a.y'
        to = 'difference.u[1]'
        [[connections]]
        from = 'b.y'
        to = 'difference.u[2:3]'
        [[connections]]
        from = 'difference.y'
        to = 'double.u'
        [[connections]]
        from = 'double.y'
        to = 'limited.u'"
    );
    for method in ["jacobi", "gauss-seidel"] {
        let text = format!("experiment.method = '{method}'\n{text}");
        compare(&text, "difference.y", sine);
        compare(&text, "double.y", |t| 2.0 * sine(t) - 1.0);
        compare(&text, "limited.y", |t| {
            (2.0 * sine(t) - 1.0).clamp(-1.5, 0.5)
        });
    }
}

#[test]
fn memory_delays_and_limits_the_rate() {
    let connected = |source: &str, function: &str| {
        format!(
            "experiment.extrapolation = 'hold'\n\
             components.a.block = {source}\ncomponents.f.block = {function}\n\
             [[connections]]\nfrom = 'a.y'\nto = 'f.u'"
        )
    };
    let ramp = "{ name = 'ramp', duration = 10, height = 10 }";
    compare(
        &connected(ramp, "{ name = 'delay', delay = 0.25, initial = -1 }"),
        "f.y",
        |t| {
            if t < 0.25 { -1.0 } else { t - 0.25 }
        },
    );
    compare(
        &connected(ramp, "{ name = 'delay', delay = 0.3 }"),
        "f.y",
        |t| (t - 0.3).max(0.0),
    );
    // The value at the start of the last step of 0.1 s.
    compare(
        &connected(ramp, "{ name = 'unit-delay', initial = 3 }"),
        "f.y",
        |t| {
            if t < 0.05 { 3.0 } else { t - 0.1 }
        },
    );
    let step = "{ name = 'step', start_time = 0.5, height = -1, offset = 2 }";
    compare(
        &connected(step, "{ name = 'rate-limit', falling = 0.5 }"),
        "f.y",
        |t| 2.0 - (0.5 * (t - 0.5)).clamp(0.0, 1.0),
    );
}

#[test]
fn mistakes_name_the_block_and_the_remedy() {
    let message = |text: &str| match assembled(text) {
        Err(StartError::Invalid(problems)) => problems.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("{text} was accepted"),
    };
    for (block, part) in [
        ("'sinus'", "did you mean `sine`?"),
        (
            "{ name = 'sine', amplitud = 2 }",
            "did you mean `amplitude`?",
        ),
        ("{ name = 'sum', signs = '+*' }", "for each input"),
        (
            "{ name = 'limit', min = 2, max = 1 }",
            "`min` (2) is greater",
        ),
        ("{ name = 'table' }", "must be the path of a file"),
        ("{ name = 'table', file = 'missing.csv' }", "missing.csv"),
        ("{ name = 'delay', delay = 0 }", "must be a"),
    ] {
        let message = message(&format!("components.s.block = {block}"));
        assert!(message.contains(part), "{message}");
        assert!(message.contains("system.toml:2:"), "{message}");
    }
    let text = table("text.csv", "time,a\n0,\"x\"\n", "");
    assert!(message(&text).contains("a table has numbers"));
    let empty = table("empty.csv", "time,a\n", "");
    assert!(message(&empty).contains("there are no rows"));
}
