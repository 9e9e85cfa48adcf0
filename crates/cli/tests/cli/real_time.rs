//! `run --real-time`: the same results, at times of the clock.

use crate::bench::{Bench, OSCILLATORS};
use crate::scenarios::SCENARIO;

/// A thread of its own writes the rows; they are the same, with a correction, a scenario and another type of column.
#[test]
fn results_are_the_same() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("faults.toml", SCENARIO);
    let run = "run system.toml -e 0.05 --correction residual-power --scenario faults.toml -o";
    let plain = bench.run(format!("{run} plain.csv").split(' '));
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    for (result, options) in [
        ("kept.csv", "--real-time"),
        ("late.csv", "--real-time=1e9"),
        ("skipped.csv", "--real-time=1e9 --overruns skip"),
        ("alone.csv", "--real-time=10 --no-supervisor"),
    ] {
        let timed = bench.run(format!("{run} {result} --summary s.json {options}").split(' '));
        assert_eq!(timed.code, Some(0), "{}", timed.stderr);
        assert_eq!(bench.read("plain.csv"), bench.read(result), "{options}");
        let timing = &bench.json("s.json")["real_time"];
        assert_eq!(timing["points"], 50, "{timing}");
        assert!(
            timed
                .stdout
                .contains("\nreal time: 50 communication points, "),
            "{}",
            timed.stdout
        );
    }
    // Every point of a run at a milliard times the speed of the clock comes too late.
    let timing = &bench.json("s.json")["real_time"];
    assert_eq!(timing["factor"], 10.0);
    bench.run(format!("{run} late.csv --summary s.json --real-time=1e9").split(' '));
    assert_eq!(bench.json("s.json")["real_time"]["overruns"], 50);
    bench.run(format!("{run} plain.csv --summary s.json").split(' '));
    assert_eq!(bench.json("s.json")["real_time"], serde_json::Value::Null);
}

#[test]
fn an_overrun_ends_the_run_where_it_shall() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let run = "run system.toml -e 0.05 -o out.csv --real-time=1e9 --overruns stop";
    let outcome = bench.run(run.split(' '));
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let text = "error: the communication point t = 0.001 s came ";
    let late = outcome
        .stderr
        .strip_prefix(text)
        .and_then(|rest| rest.split(" s too late").next());
    let late: Option<f64> = late.and_then(|seconds| seconds.parse().ok());
    assert!(late.is_some_and(|late| late > 0.0), "{}", outcome.stderr);
    let (_, rows) = bench.rows("out.csv");
    assert_eq!(rows.len(), 2);
}

#[test]
fn wrong_options_are_refused() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for (options, code, text) in [
        ("--real-time=0", 2, "it must be positive"),
        ("--overruns skip", 2, "--real-time"),
        ("--cpu 0", 2, "--real-time"),
        ("--real-time --fifo-priority 100", 2, "100 is not in 1..=99"),
        ("--real-time --error-bars", 2, "cannot be used with"),
        (
            "--real-time --cpu 1023",
            1,
            "the thread cannot run on CPU 1023",
        ),
    ] {
        let outcome = bench.run(format!("run system.toml -e 0.01 {options}").split(' '));
        assert_eq!(outcome.code, Some(code), "{options}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(text),
            "{options}: {}",
            outcome.stderr
        );
    }
}
