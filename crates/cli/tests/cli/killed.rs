//! Parent or worker killed at any moment.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::bench::{Bench, lines, wait_until};

/// Milliseconds after the first rows at which the signal comes; primes, so that no rhythm of the
/// program is met again and again.
const MOMENTS: [u64; 5] = [1, 7, 53, 211, 601];

/// A run without end that writes some hundred rows a second.
fn start(bench: &Bench) -> Child {
    start_with(bench, "out.csv", || lines(&bench.path("out.csv.part")) > 1)
}

/// As [`start`], with another result.
fn start_with(bench: &Bench, output: &str, has_rows: impl Fn() -> bool) -> Child {
    let arguments = [
        "simulate",
        "fmus/Faulty.fmu",
        "--start-value",
        "fault=sleep",
        "--start-value",
        "sleep_time=0.002",
        "--step-size",
        "0.1",
        "--stop-time",
        "1e6",
        "-o",
        output,
    ];
    let child = bench
        .command(arguments)
        .env("TMPDIR", bench.path("tmp"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("rows are on disk", has_rows);
    child
}

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("tmp")).unwrap();
    bench
}

/// The only child of a process.
fn worker_of(parent: u32) -> u32 {
    let path = format!("/proc/{parent}/task/{parent}/children");
    std::fs::read_to_string(path)
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

fn kill(signal: &str, process: u32) {
    let status = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(status.unwrap().success());
}

fn is_alive(process: u32) -> bool {
    let threads = std::fs::read_dir(format!("/proc/{process}/task"));
    threads
        .into_iter()
        .flatten()
        .flatten()
        .any(|thread| is_running(&thread.path()))
}

/// A thread that has not been waited for yet is dead, and others of its process may still hold locks.
fn is_running(thread: &Path) -> bool {
    let status = std::fs::read_to_string(thread.join("stat"));
    status.is_ok_and(|status| !status.contains(") Z "))
}

/// All rows are whole and follow each other; if the writing process was killed itself, they are in
/// the unfinished file, and the last one may be cut short.
fn rows(bench: &Bench, may_be_cut: bool) -> usize {
    let text = bench.read(if may_be_cut {
        "out.csv.part"
    } else {
        "out.csv"
    });
    let mut lines: Vec<&str> = text.lines().skip(1).collect();
    if may_be_cut && !text.ends_with('\n') {
        lines.pop();
    } else {
        assert!(text.ends_with('\n'));
    }
    for (index, line) in lines.iter().enumerate() {
        let (time, rest) = line.split_once(',').unwrap();
        let time: f64 = time.parse().unwrap();
        assert!(
            (time - 0.1 * index as f64).abs() < 1e-9,
            "{line} at {index}"
        );
        assert!(!rest.is_empty());
    }
    lines.len()
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn r40_the_worker_is_killed() {
    for moment in MOMENTS {
        let bench = bench();
        let child = start(&bench);
        std::thread::sleep(Duration::from_millis(moment));
        kill("-KILL", worker_of(child.id()));
        let output = child.wait_with_output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(5), "{stderr}");
        let kept = rows(&bench, false);
        assert!(
            stderr.contains(&format!("; {kept} rows kept in out.csv")),
            "{kept}: {stderr}"
        );
        assert_eq!(entries(&bench.path("tmp")), 0, "nothing is left");
    }
}

#[test]
fn r40_the_parent_is_killed() {
    for moment in MOMENTS {
        let bench = bench();
        let mut child = start(&bench);
        std::thread::sleep(Duration::from_millis(moment));
        let worker = worker_of(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        wait_until("the worker has died with its parent", || !is_alive(worker));
        rows(&bench, true);
        assert!(
            entries(&bench.path("tmp")) > 0,
            "no process was left to remove it"
        );

        // the next run removes directories that are old enough to belong to no run.
        let old = std::fs::FileTimes::new().set_modified(std::time::UNIX_EPOCH);
        for entry in std::fs::read_dir(bench.path("tmp")).unwrap() {
            let folder = std::fs::File::open(entry.unwrap().path()).unwrap();
            folder.set_times(old).unwrap();
        }
        let next = bench
            .command([
                "simulate",
                "fmus/Faulty.fmu",
                "--step-size",
                "0.1",
                "-e",
                "1",
            ])
            .env("TMPDIR", bench.path("tmp"))
            .output()
            .unwrap();
        assert!(next.status.success());
        assert_eq!(entries(&bench.path("tmp")), 0, "swept");
    }
}

/// All rows until then, of which the parent makes the result, or the user if the parent is gone as well.
#[cfg(feature = "parquet")]
#[test]
fn r40_rows_of_a_parquet_file_outlast_worker_and_parent() {
    for is_worker in [true, false] {
        for moment in MOMENTS {
            let bench = bench();
            let part = bench.path("out.parquet.part");
            let mut child = start_with(&bench, "out.parquet", || {
                part.metadata().is_ok_and(|part| part.len() > 1000)
            });
            std::thread::sleep(Duration::from_millis(moment));
            let worker = worker_of(child.id());
            if is_worker {
                kill("-KILL", worker);
                let output = child.wait_with_output().unwrap();
                let stderr = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(5), "{stderr}");
                assert!(stderr.contains(" rows kept in out.parquet"), "{stderr}");
                assert!(!part.exists(), "{stderr}");
                assert!(!bench.path("out.parquet.new").exists(), "{stderr}");
            } else {
                child.kill().unwrap();
                child.wait().unwrap();
                wait_until("the worker has died with its parent", || !is_alive(worker));
                let outcome = bench.run(["convert", "out.parquet.part", "-o", "out.parquet"]);
                assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            }
            let table = gyrator_record::read_table(&bench.path("out.parquet")).unwrap();
            assert!(table.time.len() > 10);
            for (row, time) in table.time.iter().enumerate() {
                assert!((time - 0.1 * row as f64).abs() < 1e-9, "{time} at {row}");
            }
        }
    }
}

#[test]
fn r42_a_run_leaves_nothing_behind() {
    for fault in ["none", "segfault", "exit_0", "abort"] {
        let bench = bench();
        let fault = format!("fault={fault}");
        let arguments = [
            "simulate",
            "fmus/Faulty.fmu",
            "--step-size",
            "0.1",
            "-e",
            "1",
        ];
        let arguments = arguments.into_iter().chain(["--start-value", &fault]);
        let status = bench
            .command(arguments)
            .env("TMPDIR", bench.path("tmp"))
            .output();
        assert!(status.is_ok());
        assert_eq!(entries(&bench.path("tmp")), 0, "{fault}");
    }
}

/// A worker whose parent was killed before the worker looked for it: it has the order and the channel.
#[test]
fn r40_a_worker_without_a_parent_starts_no_run_of_its_own() {
    let bench = bench();
    // Process 1 starts no workers.
    for order in ["run 1", "isolated 1"] {
        let (channel, _kept) = std::os::unix::net::UnixStream::pair().unwrap();
        let output = bench
            .command(["simulate", "fmus/Faulty.fmu", "-e", "1", "-o", "out.csv"])
            .env("GYRATOR_WORKER", order)
            .stdin(std::os::fd::OwnedFd::from(channel))
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{order}: {errors}");
        assert!(
            errors.contains("the parent process has ended"),
            "{order}: {errors}"
        );
        assert!(!bench.path("out.csv").exists(), "{order}");
    }
}
