//! FMUs that fail: exit code, message, and the rows until then.

use crate::bench::{Bench, ProgramOutcome};

/// The fault strikes in the step from 0.4 s to 0.5 s, the fifth one.
pub(crate) const FAULTY: &str = r#"
[experiment]
stop_time = 1.0
step_size = 0.1

[components.good]
fmu = "fmus/OscillatorMotion.fmu"

[components.bad]
fmu = "fmus/Faulty.fmu"
start_values = { fault_time = 0.5, sleep_time = 0.01 }

[[connections]]
from = "good.x"
to = "bad.u"
"#;

fn run(bench: &Bench, fault: &str, function: &str) -> ProgramOutcome {
    bench.write("system.toml", FAULTY);
    let (fault, function) = (
        format!("bad.fault={fault}"),
        format!("bad.function={function}"),
    );
    let values = ["--start-value", &fault, "--start-value", &function];
    let files = ["-o", "out.csv", "--summary", "summary.json"];
    bench.run(
        ["run", "system.toml"]
            .into_iter()
            .chain(values)
            .chain(files),
    )
}

/// The fault ends the run with `code` after `rows` rows, and the message has `parts`.
fn ends(fault: &str, function: &str, code: i32, rows: usize, parts: &[&str]) {
    let bench = Bench::new();
    let outcome = run(&bench, fault, function);
    assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
    for part in parts {
        assert!(
            outcome.stderr.contains(part),
            "no {part:?} in {}",
            outcome.stderr
        );
    }
    let (header, found) = bench.rows("out.csv");
    assert_eq!(found.len(), rows);
    for (index, row) in found.iter().enumerate() {
        assert_eq!(row.len(), header.len());
        assert!((row[0] - 0.1 * index as f64).abs() < 1e-12);
    }
    let summary = bench.json("summary.json");
    assert_eq!(summary["output"]["rows"], rows);
    assert_eq!(
        summary["stop_reason"],
        if code == 0 { "stop-time" } else { "failed" }
    );
}

const STEP: &str = "bad: fmi2DoStep at t = 0.4 s (step 4)";
const LOG: &str = "its last log line: fmi2DoStep: this is the fault that was asked for";
const KEPT: &str = "5 rows in out.csv";

#[test]
fn error() {
    ends(
        "error",
        "do_step",
        1,
        5,
        &[STEP, "returned Error", LOG, KEPT],
    );
}

#[test]
fn fatal() {
    ends(
        "fatal",
        "do_step",
        1,
        5,
        &[STEP, "returned Fatal", LOG, KEPT],
    );
}

#[test]
fn discard_once() {
    ends(
        "discard_once",
        "do_step",
        1,
        5,
        &[STEP, "Discard", LOG, KEPT],
    );
}

#[test]
fn discard_always() {
    ends(
        "discard_always",
        "do_step",
        1,
        5,
        &[STEP, "Discard", LOG, KEPT],
    );
}

#[test]
fn panic() {
    ends(
        "panic",
        "do_step",
        1,
        5,
        &[STEP, "returned Fatal", "panic", KEPT],
    );
}

#[test]
fn not_a_number() {
    ends(
        "nan",
        "do_step",
        1,
        5,
        &["bad", "t = 0.5 s", "bad.y is NaN", KEPT],
    );
}

#[test]
fn not_a_number_is_passed_on_if_asked_for() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let values = [
        "--start-value",
        "bad.fault=nan",
        "--no-nan-check",
        "-o",
        "out.csv",
    ];
    let outcome = bench.run(["run", "system.toml"].into_iter().chain(values));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (_, rows) = bench.rows("out.csv");
    assert_eq!(rows.len(), 11);
    assert_eq!(rows.iter().filter(|row| row[1].is_nan()).count(), 6);
}

#[test]
fn a_slow_fmu_is_no_fault() {
    ends("sleep", "do_step", 0, 11, &[]);
}

#[test]
fn error_in_initialization() {
    let bench = Bench::new();
    let outcome = run(&bench, "error", "initialization");
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("error: bad: fmi2"),
        "{}",
        outcome.stderr
    );
    assert!(outcome.stderr.contains("at t = 0 s"), "{}", outcome.stderr);
}

#[test]
fn error_in_reading() {
    ends(
        "error",
        "get",
        1,
        5,
        &[
            "bad: fmi2GetReal at t = 0.4 s (step 4): returned Error",
            KEPT,
        ],
    );
}

#[test]
fn error_in_terminating() {
    ends(
        "error",
        "terminate",
        1,
        11,
        &["bad: fmi2Terminate at t = 1 s", "11 rows in out.csv"],
    );
}

#[test]
fn an_fmu_that_ends_the_simulation() {
    let bench = Bench::new();
    let outcome = run(&bench, "finish", "do_step");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for words in [
        "ended by an FMU",
        "note: bad has ended the simulation at t = ",
    ] {
        assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    }
    assert_eq!(bench.json("summary.json")["stop_reason"], "terminated");
}

#[test]
fn log_lines_of_fmus() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let stderr = |level: &str| {
        let values = ["--start-value", "bad.fault=error", "--log-level", level];
        bench
            .run(["run", "system.toml"].into_iter().chain(values))
            .stderr
    };
    const LINE: &str =
        "error: bad: fmi2DoStep: this is the fault that was asked for [logStatusError]\n";
    assert!(stderr("warn").contains(LINE));
    assert!(!stderr("off").contains(LINE));
}

#[cfg(target_os = "linux")]
#[test]
fn r22_a_crash_in_an_initialiser_is_reported() {
    let bench = Bench::new();
    let fmu = crate::validation::build(&bench, 60);
    for (more, expected) in [
        (
            &[][..],
            "error: unruly60: SIGSEGV in loading the library, in unruly.so",
        ),
        (
            &["--isolate"],
            "error[fmu-not-loaded]: unruly60: SIGSEGV in loading the library",
        ),
    ] {
        let outcome = bench.run(["simulate", &fmu].into_iter().chain(more.iter().copied()));
        assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// The crash is in code of gyrator, which reads the text.
#[cfg(target_os = "linux")]
#[test]
fn r62_a_text_that_is_nowhere_names_its_component() {
    let bench = Bench::new();
    let fmu = crate::validation::build(&bench, 61);
    for more in [None, Some("--isolate")] {
        let options = ["--output-variable", "text", "-o", "out.csv"];
        let command = ["simulate", &fmu].into_iter().chain(options).chain(more);
        let outcome = bench.run(command);
        assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
        let expected = "error: unruly61: SIGSEGV in fmi2GetString at t = 0 s";
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

/// Calls one after the other while the system is initialized, each within the time.
#[cfg(target_os = "linux")]
#[test]
fn r25_many_long_calls_are_no_call_that_hangs() {
    let bench = Bench::new();
    let back = "\n[[connections]]\nfrom = \"bad.y\"\nto = \"good.f\"\n";
    bench.write("system.toml", &format!("{FAULTY}{back}"));
    let slow = "bad.fault=sleep bad.function=get bad.fault_time=0 bad.sleep_time=0.6";
    let slow = slow.split(' ').flat_map(|value| ["--start-value", value]);
    let options = "-e 0.1 --exchange compensated --timeout 3 -o out.csv";
    let command = ["run", "system.toml"].into_iter().chain(slow);
    let outcome = bench.run(command.chain(options.split(' ')));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(bench.rows("out.csv").1.len(), 2);
}
