//! Studies of what a run leaves behind when anything goes wrong at any moment: calls of the operating
//! system that fail, power that goes, signals from the first moment on, faults and limits at random.
//!
//! They take minutes and are ignored in ordinary runs; docs/dev/tests.md has their commands.

#![cfg(target_os = "linux")]

mod chaos;
mod disk;
mod disturbance;
mod early_signals;
mod failing_calls;
mod power_loss;
mod remains;
mod strace;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use crate::bench::Bench;

/// Longest time that a run may take on a busy machine; runs of the studies take a second.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Ends the study if SIGHUP is ignored, as by `nohup`: runs would rightly ignore it as well.
fn require_hangup() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    // SIGHUP is signal 1, the lowest bit (proc(5)).
    let ignored = u64::from_str_radix(mask.unwrap().trim(), 16).unwrap();
    assert_eq!(
        ignored & 1,
        0,
        "this study sends SIGHUP: start it without nohup"
    );
}

/// How a disturbed run has ended.
#[derive(Debug)]
struct Ended {
    /// Exit code; `None` if a signal has ended the program.
    code: Option<i32>,
    signal: Option<i32>,
    stdout: String,
    stderr: String,
    /// It had to be killed.
    has_hung: bool,
    /// Processes that it has left.
    processes: Vec<u32>,
}

/// Starts a program with its own folder for temporary files, by which its processes are known.
fn start(bench: &Bench, mut command: Command) -> Child {
    use std::fs::File;
    std::fs::create_dir_all(bench.path("tmp")).unwrap();
    command
        .env("TMPDIR", bench.path("tmp"))
        .stdout(File::create(bench.path("stdout")).unwrap())
        .stderr(File::create(bench.path("stderr")).unwrap())
        .spawn()
        .unwrap()
}

/// Waits for the end of a run and of all its processes.
fn end(bench: &Bench, mut child: Child) -> Ended {
    use std::os::unix::process::ExitStatusExt as _;
    let begin = Instant::now();
    let mut has_hung = false;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > TIMEOUT && !has_hung {
            has_hung = true;
            for process in processes(bench) {
                send("-KILL", process);
            }
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |name: &str| {
        let bytes = std::fs::read(bench.path(name)).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ended {
        code: status.code(),
        signal: status.signal(),
        stdout: text("stdout"),
        stderr: text("stderr"),
        has_hung,
        processes: lasting_processes(bench),
    }
}

/// Processes that outlive a run. Those that the system has to end get the time that it takes.
fn lasting_processes(bench: &Bench) -> Vec<u32> {
    let begin = Instant::now();
    loop {
        let found = processes(bench);
        if found.is_empty() {
            return found;
        }
        if begin.elapsed() > TIMEOUT {
            found.iter().for_each(|process| send("-KILL", *process));
            return found;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// All processes of a run: those that have its folder for temporary files.
fn processes(bench: &Bench) -> Vec<u32> {
    let sign = format!("TMPDIR={}\0", bench.path("tmp").display());
    let is_of_run = |process: &u32| {
        let environment = std::fs::read(format!("/proc/{process}/environ"));
        environment.is_ok_and(|bytes| {
            let mut parts = bytes.windows(sign.len());
            parts.any(|part| part == sign.as_bytes())
        })
    };
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter(is_of_run).collect()
}

/// Sends a signal to a process, which may have ended.
fn send(signal: &str, process: u32) {
    let mut kill = Command::new("kill");
    kill.args([signal, &process.to_string()]);
    kill.stderr(std::process::Stdio::null());
    let _ = kill.status();
}
