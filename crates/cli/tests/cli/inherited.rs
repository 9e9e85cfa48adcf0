//! Settings that the program inherits from the one that starts it.

#![cfg(target_os = "linux")]

use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, ProgramOutcome, lines, wait_until};
use crate::ends::signal;
use crate::faults::FAULTY;

/// Runs the program from a shell that has made `setting`.
fn run(bench: &Bench, setting: &str, arguments: &[&str]) -> ProgramOutcome {
    bench.write("system.toml", FAULTY);
    let script = format!("{setting}; exec \"$0\" \"$@\"");
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_gyrator")])
        .args(["run", "system.toml", "-o", "out.csv"])
        .args(["--summary", "summary.json"])
        .args(arguments)
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    ProgramOutcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Some programs let the system forget their children, and those that they start inherit that.
#[test]
fn r73_ends_of_children_are_heard_of_where_sigchld_is_ignored() {
    const CRASH: &[&str] = &["--start-value", "bad.fault=segfault"];
    for way in [&[][..], &["--isolate"], &["--isolate", "--no-supervisor"]] {
        for (fault, code, rows) in [(&[][..], 0, 11), (CRASH, 5, 5)] {
            let bench = Bench::new();
            let outcome = run(&bench, "trap '' CHLD", &[fault, way].concat());
            assert_eq!(outcome.code, Some(code), "{way:?} {}", outcome.stderr);
            assert_eq!(bench.rows("out.csv").1.len(), rows, "{way:?}");
            assert!(!bench.path("out.csv.part").exists());
        }
    }
}

/// No thread can be started if its stack would be this large.
#[test]
fn r74_a_run_needs_no_thread_beside_its_own() {
    let run = |way: &[&str]| {
        let setting = "export RUST_MIN_STACK=4000000000000000000";
        let bench = Bench::new();
        let outcome = run(&bench, setting, way);
        (bench, outcome)
    };
    for way in [&[][..], &["--no-supervisor"], &["--worker-threads", "2"]] {
        let (bench, outcome) = run(way);
        assert_eq!(outcome.code, Some(0), "{way:?} {}", outcome.stderr);
        assert_eq!(bench.rows("out.csv").1.len(), 11, "{way:?}");
        let expected = "warning: rows can be read by other programs only when the run has ended";
        assert!(
            outcome.stderr.contains(expected),
            "{way:?} {}",
            outcome.stderr
        );
    }
    let (bench, outcome) = run(&["--isolate"]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    let expected = "there can be no thread that starts processes";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    assert_eq!(bench.json("summary.json")["stop_reason"], "failed");
}

/// Starts a run that never ends by itself, from a shell that has made `setting`.
fn start(bench: &Bench, setting: &str, way: &[&str]) -> Child {
    bench.write("system.toml", FAULTY);
    let command =
        "run system.toml --start-value bad.fault=sleep --stop-time 1e6 --no-nan-check -o out.csv";
    let script = format!("{setting}; exec \"$0\" \"$@\"");
    let child = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_gyrator")])
        .args(command.split(' '))
        .args(way)
        .current_dir(bench.path(""))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("it runs", || lines(&bench.path("out.csv.part")) > 0);
    child
}

/// The warning is true that Ctrl-C ends the run at once.
#[test]
fn r74_without_a_thread_that_listens_signals_end_the_program() {
    use std::os::unix::process::ExitStatusExt as _;
    for way in [&[][..], &["--no-supervisor"]] {
        let bench = Bench::new();
        let mut child = start(&bench, "export RUST_MIN_STACK=4000000000000000000", way);
        signal("-TERM", child.id());
        assert_eq!(child.wait().unwrap().signal(), Some(15), "{way:?}");
    }
}

#[test]
fn r78_a_run_that_nohup_has_started_goes_on_without_its_terminal() {
    for way in [&[][..], &["--no-supervisor"]] {
        let bench = Bench::new();
        let mut child = start(&bench, "trap '' HUP", way);
        signal("-HUP", child.id());
        let before = lines(&bench.path("out.csv.part"));
        wait_until("it goes on", || {
            lines(&bench.path("out.csv.part")) > before + 5
        });
        signal("-TERM", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{way:?}");
    }
}
