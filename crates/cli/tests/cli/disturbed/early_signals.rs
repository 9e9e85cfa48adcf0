//! Signals that ask a run to end, from its first call of the operating system on.
//!
//! Until the program listens, one of them ends it as it ends any program: nothing is begun then. From the
//! start of a worker or a result on, the run ends by itself, with exit code 130 if that was asked in time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use gyrator::random::SplitMix64;

use super::{Ended, end, start, strace};
use crate::bench::Bench;
use crate::faults::FAULTY;

const SIGNALS: [&str; 3] = ["TERM", "INT", "HUP"];

/// Ways to carry out the run; all of them take some steps of 10 ms.
const WAYS: [(&str, &str); 4] = [
    (
        "supervised",
        "run system.toml -o out.csv --summary summary.json",
    ),
    (
        "isolated",
        "run system.toml -o out.csv --summary summary.json --isolate",
    ),
    (
        "alone",
        "run system.toml -o out.csv --summary summary.json --no-supervisor",
    ),
    ("study", "study study.toml -o out.csv"),
];

fn prepare() -> Bench {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        &FAULTY.replace("fault_time = 0.5", "fault = \"sleep\""),
    );
    let study =
        "system = \"system.toml\"\nvary = [{ grid = { \"bad.sleep_time\" = [0.01, 0.02] } }]";
    bench.write("study.toml", study);
    bench
}

/// Makes a run under `strace` and returns it with its trace.
fn traced(way: &str, options: &[&str]) -> (Bench, Ended, Vec<strace::Call>) {
    let bench = prepare();
    let arguments: Vec<&str> = way.split(' ').collect();
    let mut command = strace::under_strace(options, &arguments);
    command
        .current_dir(bench.path(""))
        .stdin(std::process::Stdio::null());
    let child = start(&bench, command);
    let ended = end(&bench, child);
    let calls = strace::read(&bench.path("trace"));
    (bench, ended, calls)
}

/// The fault of the end of a run. `has_begun`: it has a worker or a result, as far as that is known.
fn contradiction(bench: &Bench, ended: &Ended, has_begun: bool) -> Option<String> {
    let is_left = |folder: &str, name: &str| {
        let entries = std::fs::read_dir(bench.path(folder)).unwrap().flatten();
        entries
            .map(|entry| entry.file_name())
            .any(|found| found.to_string_lossy().contains(name))
    };
    let found = [
        (ended.has_hung, "it does not end"),
        (!ended.processes.is_empty(), "processes are left"),
        (is_left("tmp", ""), "a directory is left"),
        (is_left("", ".part"), "a part of a result is left"),
        (
            ended.signal.is_some() && has_begun,
            "a signal has ended it after its begin",
        ),
        (
            ended.signal.is_some() && is_left("", "out.csv"),
            "a signal has ended it after its end",
        ),
        (
            !matches!(ended.code, None | Some(0 | 130)),
            "another exit code",
        ),
        (
            ended.code.is_some() && !is_left("", "out.csv"),
            "there is no result",
        ),
    ];
    let found = found.iter().find(|(is_found, _)| *is_found)?;
    Some(format!("{}: {ended:?}", found.1))
}

fn report(way: &str, counts: &BTreeMap<String, usize>) {
    let counts: Vec<_> = counts
        .iter()
        .map(|(end, count)| format!("{count} {end}"))
        .collect();
    println!("{way}: {}", counts.join(", "));
}

fn name_of(ended: &Ended) -> String {
    match (ended.code, ended.signal) {
        (Some(code), _) => format!("with exit code {code}"),
        (None, signal) => format!("by signal {}", signal.unwrap_or_default()),
    }
}

#[test]
#[ignore = "study: some hundred runs under strace"]
fn r77_a_signal_at_any_call_ends_a_run_as_it_says() {
    strace::require();
    super::require_hangup();
    let mut found = Vec::new();
    for (name, way) in WAYS {
        let (_, ended, calls) = traced(way, &[]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let mut numbers = BTreeMap::new();
        let mut counts = BTreeMap::new();
        for (index, call) in calls.iter().enumerate() {
            let number = numbers.entry(&call.name).or_insert(0);
            *number += 1;
            let signal = SIGNALS[index % SIGNALS.len()];
            let inject = format!("inject={}:signal={signal}:when={number}", call.name);
            let (bench, ended, calls) = traced(way, &["-e", "trace=all", "-e", &inject]);
            *counts.entry(name_of(&ended)).or_insert(0) += 1;
            let has_begun = calls.iter().any(|call| {
                let is_start = matches!(&*call.name, "clone" | "clone3" | "fork" | "vfork");
                is_start || call.arguments.contains("out.csv.part")
            });
            let wrong = contradiction(&bench, &ended, has_begun);
            found.extend(wrong.map(|wrong| format!("{name} {inject}: {wrong}")));
        }
        report(name, &counts);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
#[ignore = "study: a thousand short runs"]
fn r77_a_signal_at_any_moment_ends_a_run_as_it_says() {
    const RUNS: usize = 250;
    /// The program listens after some milliseconds; a run takes a tenth of a second.
    const LATEST: f64 = 0.015;
    super::require_hangup();
    let mut stream = SplitMix64::new(13);
    let mut found = Vec::new();
    for (name, way) in WAYS {
        let mut counts = BTreeMap::new();
        for run in 0..RUNS {
            let bench = prepare();
            let signal = SIGNALS[run % SIGNALS.len()];
            let moment = (stream.next_bits() >> 11) as f64 / (1_u64 << 53) as f64;
            let command = bench.command(way.split(' '));
            let begin = Instant::now();
            let child = start(&bench, command);
            while begin.elapsed() < Duration::from_secs_f64(moment * LATEST) {
                std::hint::spin_loop();
            }
            super::send(&format!("-{signal}"), child.id());
            let ended = end(&bench, child);
            *counts.entry(name_of(&ended)).or_insert(0) += 1;
            let wrong = contradiction(&bench, &ended, false);
            found.extend(wrong.map(|wrong| format!("{name}, {signal}: {wrong}")));
        }
        report(name, &counts);
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
