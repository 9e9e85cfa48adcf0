//! Components in processes of their own.

use crate::bench::{Bench, ProgramOutcome, lines, wait_until};
use crate::fault_table;
use crate::faults::FAULTY;

fn run(bench: &Bench, fault: &str, more: &[&str]) -> ProgramOutcome {
    bench.write("system.toml", FAULTY);
    let fault = format!("bad.fault={fault}");
    let arguments = [
        "run",
        "system.toml",
        "--start-value",
        &fault,
        "-o",
        "out.csv",
    ];
    bench.run(arguments.into_iter().chain(more.iter().copied()))
}

/// Directories that this machine keeps unpacked FMUs in: no run may leave one.
fn unpacked() -> Vec<std::path::PathBuf> {
    let memory = std::path::PathBuf::from("/dev/shm");
    let folders = [std::env::temp_dir(), memory].into_iter();
    let entries = folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten());
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.to_string_lossy().contains("/gyrator-"))
        .collect()
}

#[test]
fn isolation_changes_no_bit() {
    let bench = Bench::new();
    let text = |options: &[&str]| {
        let outcome = run(&bench, "none", options);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        bench.read("out.csv")
    };
    let expected = text(&[]);
    assert_eq!(expected.lines().count(), 12);
    for options in [
        ["--isolate"].as_slice(),
        &["--isolate=bad"],
        &["--isolate", "--no-supervisor"],
    ] {
        assert_eq!(text(options), expected, "{options:?}");
    }
}

/// Every fault of the table of docs/reliability.md, with the same outcome: code, rows and message.
#[test]
fn r22_to_r37_every_fault_is_reported_as_without_isolation() {
    fault_table::each_entry(|(row, fault, function, code, rows, part)| {
        let bench = Bench::new();
        let limit = fault_table::timeout_for(fault);
        let options = ["-o", "out.csv", "--timeout", limit, "--isolate=bad"];
        let outcome = fault_table::run(&bench, fault, function, &options);
        let found = lines(&bench.path("out.csv")).saturating_sub(1);
        let part = match *row {
            "R-26" => part.split(" at t = ").next().unwrap(),
            _ => part,
        };
        if outcome.code != Some(*code) || found != *rows || !outcome.stderr.contains(part) {
            let ProgramOutcome { code, stderr, .. } = outcome;
            return Err(format!(
                "{row} {fault} {function}: {code:?}, {found} rows, {stderr}"
            ));
        } else if *code == 5 && *rows > 0 {
            let kept = format!("; {rows} rows kept in out.csv");
            assert!(outcome.stderr.contains(&kept), "{}", outcome.stderr);
        }
        Ok(())
    });
}

#[test]
fn r22_a_lost_component_is_survived_without_a_supervisor() {
    let bench = Bench::new();
    let outcome = run(&bench, "segfault", &["--isolate=bad", "--no-supervisor"]);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    let expected =
        "bad: SIGSEGV in fmi2DoStep at t = 0.4 s (step 4), in Faulty.so; 5 rows kept in out.csv";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

/// The instance is known, unlike without isolation: the process has only one.
#[test]
fn r27_a_thread_of_an_isolated_fmu_crashes() {
    let bench = Bench::new();
    let more = [
        "--isolate",
        "--no-nan-check",
        "--stop-time",
        "1e6",
        "--start-value",
        "bad.sleep_time=0.3",
    ];
    let outcome = run(&bench, "thread_segfault", &more);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    for part in ["error: bad: SIGSEGV in another thread ", ", in Faulty.so; "] {
        assert!(
            outcome.stderr.contains(part),
            "no {part:?} in {}",
            outcome.stderr
        );
    }
}

#[test]
fn a_restarted_component_that_crashes_again_ends_the_run() {
    let bench = Bench::new();
    let restarting = FAULTY.replace("[components.bad]", "[components.bad]\nrestart = 2");
    bench.write("restarting.toml", &restarting);
    let options = ["--start-value", "bad.fault=segfault", "-o", "out.csv"];
    let outcome = bench.run(["run", "restarting.toml"].into_iter().chain(options));
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    for part in [
        "warning: bad: SIGSEGV in fmi2DoStep, in Faulty.so; its process is started again, 1 of 2 times",
        "its process is started again, 2 of 2 times",
        "bad: SIGSEGV in fmi2DoStep, after 2 restarts at t = 0.4 s (step 4), in Faulty.so; ",
    ] {
        assert!(
            outcome.stderr.contains(part),
            "no {part:?} in {}",
            outcome.stderr
        );
    }
}

#[test]
fn log_lines_come_through() {
    let bench = Bench::new();
    let log = |options: &[&str]| {
        let outcome = run(&bench, "error", options);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        outcome.stderr
    };
    assert_eq!(log(&["--isolate"]), log(&[]));
}

#[test]
fn an_unknown_component_is_a_wrong_use() {
    let bench = Bench::new();
    let outcome = run(&bench, "none", &["--isolate=bat"]);
    assert_eq!(outcome.code, Some(2));
    assert!(
        outcome.stderr.contains("did you mean `bad`?"),
        "{}",
        outcome.stderr
    );
}

/// Kills the run at some moment: its workers die with it.
#[test]
fn r40_no_worker_outlives_a_killed_run() {
    let bench = Bench::new();
    let long = FAULTY.replace("stop_time = 1.0", "stop_time = 1e6");
    bench.write("long.toml", &long);
    for moment in [20, 60, 150, 400] {
        let arguments = ["run", "long.toml", "--isolate", "--progress", "never"];
        let arguments = arguments
            .into_iter()
            .chain(["--start-value", "bad.fault=none"]);
        let mut child = bench.start(arguments);
        std::thread::sleep(std::time::Duration::from_millis(moment));
        child.kill().unwrap();
        child.wait().unwrap();
        let folder = bench.path("");
        wait_until("all its processes are gone", || {
            processes_in(&folder).is_empty()
        });
    }
}

/// Processes whose working directory this is.
pub(crate) fn processes_in(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let folder = folder.canonicalize().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let paths = entries.map(|entry| entry.path());
    paths
        .filter(|path| std::fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == folder))
        .collect()
}

#[test]
fn a_lost_component_leaves_no_directory() {
    let bench = Bench::new();
    let before = unpacked();
    let outcome = run(&bench, "segfault", &["--isolate"]);
    assert_eq!(outcome.code, Some(5));
    // Other tests run meanwhile: only directories of processes that are gone count.
    let is_left = |path: &std::path::PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let process = name.split('-').nth(1).unwrap_or_default().to_owned();
        !before.contains(path) && !std::path::Path::new("/proc").join(process).exists()
    };
    wait_until("no directory is left", || !unpacked().iter().any(is_left));
}
