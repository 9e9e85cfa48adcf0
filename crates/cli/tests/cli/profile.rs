//! How a run spends its time.

use serde_json::Value;

use crate::bench::{Bench, OSCILLATORS};
use crate::faults::FAULTY;

const WAYS: [&str; 5] = [
    "",
    " --no-supervisor",
    " --isolate",
    " --record-calls calls",
    " --worker-threads 2",
];

/// Sums of a profile in a summary: calls and seconds.
fn sums(profile: &Value, is_counted: impl Fn(&Value) -> bool) -> (u64, f64) {
    let operations = profile["operations"].as_array().unwrap().iter();
    operations
        .filter(|time| is_counted(time))
        .fold((0, 0.0), |(calls, seconds), time| {
            let own = time["seconds"].as_f64().unwrap();
            assert!(own >= 0.0, "{time}");
            (calls + time["calls"].as_u64().unwrap(), seconds + own)
        })
}

/// Events of a trace by thread, in its order; each a complete one, with begin and duration.
fn check_trace(text: &str) -> Vec<Value> {
    let trace: Value = serde_json::from_str(text).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let complete: Vec<Value> = events
        .iter()
        .filter(|event| event["ph"] == "X")
        .cloned()
        .collect();
    let mut around: Vec<(u64, f64)> = Vec::new();
    for event in &complete {
        let number = |key: &str| {
            event[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key} of {event}"))
        };
        let (begin, thread) = (number("ts"), event["tid"].as_u64().unwrap());
        let end = begin + number("dur");
        assert!(number("dur") >= 0.0 && !event["name"].as_str().unwrap().is_empty());
        // Times are whole nanoseconds, in microseconds.
        around.retain(|(other, until)| *other == thread && *until > begin + 1e-4);
        for (_, until) in &around {
            assert!(
                end < until + 1e-3,
                "{event} ends outside of the event around it"
            );
        }
        around.push((thread, end));
    }
    complete
}

#[test]
fn a_profile_accounts_for_the_time_in_every_mode_and_changes_no_result() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let plain = bench.run("run system.toml -e 0.1 -o plain.csv --summary plain.json".split(' '));
    assert_eq!(plain.code, Some(0));
    assert_eq!(bench.json("plain.json")["profile"], Value::Null);
    assert!(!plain.stdout.contains("profile:"));
    for way in WAYS {
        let run = format!(
            "run system.toml -e 0.1 -o out.csv --summary out.json --profile=trace.json{way}"
        );
        let outcome = bench.run(run.split(' '));
        assert_eq!(outcome.code, Some(0), "{way}: {}", outcome.stderr);
        assert_eq!(bench.read("plain.csv"), bench.read("out.csv"), "{way}");
        let (summary, steps) = (bench.json("out.json"), 100);
        let profile = &summary["profile"];
        assert_eq!(profile["macro_steps"], steps, "{way}");
        // Only a report has times of FMUs by themselves.
        assert_eq!(summary["component_times"], Value::Null);
        let calls = |component: Value, word: &str| {
            let is_it = |time: &Value| time["component"] == component && time["operation"] == word;
            sums(profile, is_it).0
        };
        for component in ["left", "right"] {
            assert_eq!(calls(component.into(), "step"), steps, "{way}: {profile}");
            assert_eq!(calls(component.into(), "load"), 1, "{way}");
            let has_waits = calls(component.into(), "wait") >= steps;
            assert_eq!(has_waits, way.contains("isolate"), "{way}: {profile}");
        }
        for word in ["ledger", "record", "exchange", "other"] {
            assert_eq!(calls(Value::Null, word), steps, "{way}, {word}: {profile}");
        }
        // On one thread no time is counted twice, and none is left out.
        let before = ["load", "initialize"];
        let in_steps = |time: &Value| before.iter().all(|word| time["operation"] != *word);
        let (_, sum) = sums(profile, in_steps);
        let all = profile["seconds"].as_f64().unwrap();
        let measuring = profile["measuring_seconds"].as_f64().unwrap();
        assert!(all > 0.0 && measuring > 0.0);
        if !way.contains("threads") {
            // A few calls stand before the first macro-step. Estimates are without the looks at the clock.
            let parts = sum + measuring;
            assert!(parts > (1.0 - 1e-9) * all, "{way}: {parts} of {all}");
        }
        assert!(
            outcome.stdout.contains("profile: "),
            "{way}: {}",
            outcome.stdout
        );
        assert!(
            outcome.stdout.contains("of which measuring took about"),
            "{way}"
        );
        let events = check_trace(&bench.read("trace.json"));
        let count = |name: &str| events.iter().filter(|event| event["name"] == name).count();
        assert_eq!((count("macro-step"), count("ledger")), (100, 100), "{way}");
        assert!(count("left: step") >= 100, "{way}");
        assert_eq!(count("left: wait") > 0, way.contains("isolate"), "{way}");
    }
}

#[test]
fn the_table_stands_before_the_verdict_with_the_longest_first() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let outcome = bench.run(["run", "system.toml", "-e", "0.1", "--profile"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (_, rest) = outcome.stdout.split_once("\nprofile: ").unwrap();
    let (table, _) = rest.split_once("\n\ncoupling error: ").unwrap();
    let lines: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(
        lines[1],
        [
            "time",
            "of",
            "operation",
            "calls",
            "s",
            "µs",
            "a",
            "call",
            "%"
        ]
    );
    let seconds: Vec<f64> = lines[2..]
        .iter()
        .map(|line| line[3].parse().unwrap())
        .collect();
    assert!(seconds.is_sorted_by(|one, other| one >= other), "{table}");
    for row in [["left", "step"], ["right", "get"], ["(run)", "ledger"]] {
        assert!(
            lines.iter().any(|line| line.starts_with(&row)),
            "{row:?}: {table}"
        );
    }
    // Nothing is recorded.
    assert!(!table.contains("record"), "{table}");
    let quiet = bench.run(["run", "system.toml", "-e", "0.1", "--profile", "--quiet"]);
    assert_eq!((quiet.code, quiet.stdout.as_str()), (Some(0), ""));
}

#[test]
fn one_fmu_has_a_profile_too() {
    let bench = Bench::new();
    let simulate = "simulate fmus/OscillatorForce.fmu -e 0.1 --step-size 0.001 --profile";
    let outcome = bench.run(simulate.split(' '));
    let profile = outcome.stdout.contains("profile: ");
    assert!(
        outcome.code == Some(0) && profile,
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
}

#[test]
fn a_run_that_fails_leaves_its_trace() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let fault = "--start-value bad.fault=error --start-value bad.function=do_step";
    let run = format!("run system.toml --profile=trace.json --summary out.json {fault}");
    let outcome = bench.run(run.split(' '));
    assert_ne!(outcome.code, Some(0));
    let events = check_trace(&bench.read("trace.json"));
    assert!(events.iter().any(|event| event["name"] == "bad: step"));
    // Also the one that has failed.
    assert_eq!(bench.json("out.json")["profile"]["macro_steps"], 5);
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let refuse = |option: &str, code: i32, parts: &[&str]| {
        let outcome = bench.run(["run", "system.toml", "-e", "0.1", option]);
        assert_eq!(outcome.code, Some(code), "{option}: {}", outcome.stderr);
        for part in parts {
            assert!(
                outcome.stderr.contains(part),
                "{option}: {}",
                outcome.stderr
            );
        }
    };
    let ending = "traces are JSON files: the name must end in .json";
    refuse("--profile=system.toml", 2, &[ending]);
    refuse(
        "--profile=no/trace.json",
        2,
        &["--profile no/trace.json: the folder no does not exist"],
    );
    std::fs::create_dir(bench.path("folder.json")).unwrap();
    refuse(
        "--profile=folder.json",
        2,
        &["--profile folder.json is a folder"],
    );
    // /proc takes no files.
    refuse(
        "--profile=/proc/trace.json",
        1,
        &["cannot write the trace /proc/trace.json"],
    );
    // A space instead of `=`.
    let outcome = bench.run(["run", "system.toml", "--profile", "trace.json"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let outcome = bench.run("run system.toml --summary a.json --profile=a.json".split(' '));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("a.json is --summary"),
        "{}",
        outcome.stderr
    );
}
