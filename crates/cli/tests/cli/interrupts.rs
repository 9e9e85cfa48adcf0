//! Ctrl-C keeps what was recorded.

#![cfg(unix)]

use std::process::{Child, Command};

use crate::bench::{Bench, lines, wait_until};
use crate::faults::FAULTY;
use crate::verification::{LATE, with_faulty};

fn interrupt(child: &Child) {
    let status = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// A run that never ends by itself: from t = 0.5 s on, the FMU does `fault`.
fn start(bench: &Bench, fault: &str) -> Child {
    bench.start(command(bench, fault).iter().map(String::as_str))
}

fn command(bench: &Bench, fault: &str) -> Vec<String> {
    bench.write("system.toml", FAULTY);
    let options = format!(
        "run system.toml --start-value bad.fault={fault} --stop-time 1e6 --no-nan-check \
         -o out.csv --summary summary.json"
    );
    options.split(' ').map(str::to_owned).collect()
}

#[test]
fn the_first_one_ends_the_run_at_a_communication_point() {
    let bench = Bench::new();
    let mut child = start(&bench, "sleep");
    wait_until("rows are on disk", || {
        lines(&bench.path("out.csv.part")) > 5
    });
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let (header, rows) = bench.rows("out.csv");
    assert!(rows.len() > 5);
    assert!(rows.iter().all(|row| row.len() == header.len()));
    let summary = bench.json("summary.json");
    assert_eq!(summary["stop_reason"], "interrupted");
    assert_eq!(summary["output"]["rows"], rows.len());
    assert_eq!(summary["stop_time"], rows.last().unwrap()[0]);
}

#[test]
fn the_second_one_ends_a_program_whose_fmu_does_not_return() {
    // With a supervisor, a few seconds end it as well: which of the two did cannot be seen.
    for more in [&[][..], &["--no-supervisor"]] {
        let bench = Bench::new();
        let stderr = bench.path("stderr.txt");
        let mut child = bench
            .command(command(&bench, "endless_loop").iter().map(String::as_str))
            .args(more)
            .stdout(std::process::Stdio::null())
            .stderr(std::fs::File::create(&stderr).unwrap())
            .spawn()
            .unwrap();
        wait_until("rows are on disk", || {
            lines(&bench.path("out.csv.part")) == 6
        });
        interrupt(&child);
        wait_until("the first one is heard", || lines(&stderr) > 0);
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(130), "{more:?}");
        let (_, rows) = bench.rows("out.csv");
        assert_eq!(rows.len(), 5);
    }
}

/// The exit code agrees with the summary, which says that the run has reached its end.
#[test]
fn r39_a_run_that_was_reported_is_not_abandoned() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let command = "run system.toml --start-value bad.fault=endless_loop --start-value bad.function=free \
                   -o out.csv --summary summary.json --no-supervisor";
    let stderr = bench.path("stderr.txt");
    let mut child = bench
        .command(command.split_whitespace())
        .stdout(std::process::Stdio::null())
        .stderr(std::fs::File::create(&stderr).unwrap())
        .spawn()
        .unwrap();
    wait_until("the summary is there", || {
        bench.path("summary.json").exists()
    });
    interrupt(&child);
    wait_until("the first one is heard", || lines(&stderr) > 0);
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(bench.json("summary.json")["stop_reason"], "stop-time");
    assert_eq!(bench.rows("out.csv").1.len(), 11);
}

/// While the run goes on, and after it, while a companion is in a call that does not return: the run has reached its end
/// then, without error bars.
#[test]
fn a_run_with_error_bars_keeps_its_rows() {
    for (function, fault_time, rows, code) in [("do_step", 0.5, 5, 130), ("short_step", 0.1, 11, 0)]
    {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        let command = format!(
            "run system.toml --error-bars --start-value bad.fault=endless_loop --start-value bad.function={function} \
             --start-value bad.fault_time={fault_time} -o out.csv --summary summary.json"
        );
        let mut child = bench.start(command.split_whitespace());
        wait_until("rows are on disk", || {
            lines(&bench.path("out.csv.part")) == rows + 1
        });
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{function}");
        let (_, found) = bench.rows("out.csv");
        assert_eq!(found.len(), rows, "{function}");
        assert!(!bench.path("out.csv.part").exists());
        let summary = bench.json("summary.json");
        assert!(summary["error_bars"][0]["error"].is_null(), "{function}");
    }
}

/// While the second run that verifies a suspicion is in a call that does not return: the run has reached its end.
#[test]
fn a_run_whose_second_run_is_interrupted_is_whole() {
    let fault = r#"fault_time = 1e-3, fault = "endless_loop", function = "short_step""#;
    let system = with_faulty(LATE, fault);
    for more in [&[][..], &["--no-supervisor"], &["--isolate"]] {
        let bench = Bench::new();
        bench.write("system.toml", &system);
        let run = "run system.toml -o out.csv --summary summary.json";
        let mut child = bench.start(run.split(' ').chain(more.iter().copied()));
        wait_until("the result is there", || {
            lines(&bench.path("out.csv")) == 1102
        });
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(0), "{more:?}");
        assert_eq!(bench.rows("out.csv").1.len(), 1101, "{more:?}");
        let suspicion = bench.json("summary.json")["suspicion"].clone();
        let suspicion = suspicion.as_str().unwrap_or_default();
        assert!(
            suspicion.ends_with("it was interrupted"),
            "{more:?}: {suspicion}"
        );
    }
}

/// R-34, R-39: neither a hanging FMU nor one that ignores Ctrl-C needs a second one.
#[test]
fn the_first_one_ends_a_call_that_does_not_return() {
    for signal in ["-INT", "-TERM"] {
        let bench = Bench::new();
        let mut child = start(&bench, "endless_loop");
        wait_until("rows are on disk", || {
            lines(&bench.path("out.csv.part")) == 6
        });
        let status = Command::new("kill")
            .args([signal, &child.id().to_string()])
            .status();
        assert!(status.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{signal}");
        let (_, rows) = bench.rows("out.csv");
        assert_eq!(rows.len(), 5);
        let summary = bench.json("summary.json");
        assert_eq!(summary["stop_reason"], "interrupted");
        assert_eq!(summary["components_in_call"][0], "bad");
    }
}

#[test]
fn r34_an_fmu_that_ignores_it() {
    let bench = Bench::new();
    let mut child = start(&bench, "ignore_signals");
    wait_until("rows are on disk", || {
        lines(&bench.path("out.csv.part")) > 6
    });
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(bench.json("summary.json")["stop_reason"], "interrupted");
}
