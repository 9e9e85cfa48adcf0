//! Every call of the operating system that the program makes fails once in turn.
//!
//! A short run is traced and its calls are counted; then it is made again for each of them, with that
//! one failing. The main thread of the program makes the calls: in the parent if the run is
//! supervised, else in the process of the run. `every-process` lets the n-th call of each process and
//! thread fail, also in workers.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::remains::{Output, Reference, Remains};
use super::{Ended, end, start, strace};
use crate::bench::Bench;
use crate::faults::FAULTY;

/// One way to carry out the run.
struct Way {
    name: &'static str,
    options: &'static [&'static str],
    output: Output,
    /// Whether the FMU crashes in its fifth step.
    crashes: bool,
    /// Whether calls of workers and other threads fail as well.
    every_process: bool,
}

const fn way(name: &'static str, options: &'static [&'static str], output: Output) -> Way {
    Way {
        name,
        options,
        output,
        crashes: false,
        every_process: false,
    }
}

const WAYS: &[Way] = &[
    way("supervised", &[], Output::Csv),
    way("supervised-parquet", &[], Output::Parquet),
    way("supervised-isolated", &["--isolate"], Output::Csv),
    way("alone", &["--no-supervisor"], Output::Csv),
    way("alone-parquet", &["--no-supervisor"], Output::Parquet),
    way(
        "alone-isolated",
        &["--no-supervisor", "--isolate"],
        Output::Csv,
    ),
    Way {
        crashes: true,
        ..way("supervised-crash", &[], Output::Csv)
    },
    Way {
        every_process: true,
        ..way("every-process", &["--isolate"], Output::Csv)
    },
];

/// Calls, and how they fail, in the words of `strace -e inject`; with `+`, all later ones fail as well. Those
/// that cannot fail, or whose failure the program cannot see, are not here.
const FAILURES: &[(&str, &[&str])] = &[
    ("brk", &["retval=0"]),
    ("clone3", &["error=EAGAIN"]),
    ("clone", &["error=EAGAIN"]),
    ("close", &["error=EIO"]),
    ("copy_file_range", &["error=ENOSPC"]),
    ("fchdir", &["error=EIO"]),
    ("fchmod", &["error=EPERM"]),
    ("fcntl", &["error=EMFILE"]),
    ("fdatasync", &["error=EIO", "error=ENOSPC"]),
    ("flock", &["error=ENOLCK"]),
    ("fork", &["error=EAGAIN"]),
    ("fsync", &["error=EIO"]),
    ("ftruncate", &["error=EIO"]),
    ("futex", &["error=EINTR", "error=EAGAIN"]),
    ("getcwd", &["error=ENOENT"]),
    ("getdents64", &["error=EIO"]),
    ("getrandom", &["error=EINTR"]),
    ("kill", &["error=EPERM"]),
    ("link", &["error=EIO"]),
    ("linkat", &["error=EPERM", "error=EIO"]),
    ("lseek", &["error=EIO"]),
    ("memfd_create", &["error=EMFILE"]),
    ("mkdir", &["error=ENOSPC"]),
    ("mmap", &["error=ENOMEM"]),
    ("mprotect", &["error=ENOMEM"]),
    ("newfstatat", &["error=EIO"]),
    ("openat", &["error=EMFILE", "error=EIO"]),
    ("pidfd_open", &["error=EMFILE"]),
    ("poll", &["error=EINTR"]),
    ("ppoll", &["error=EINTR", "error=ENOMEM"]),
    ("prctl", &["error=EPERM"]),
    ("pread64", &["error=EIO"]),
    ("pwrite64", &["error=ENOSPC"]),
    ("read", &["error=EIO", "error=EINTR"]),
    ("readlink", &["error=EIO"]),
    ("recvmsg", &["error=EINTR", "error=ENOMEM"]),
    ("rename", &["error=EIO"]),
    ("renameat2", &["error=EIO"]),
    ("sendmsg", &["error=ENOBUFS"]),
    ("setsid", &["error=EPERM"]),
    ("sigaltstack", &["error=ENOMEM"]),
    ("socketpair", &["error=EMFILE"]),
    ("statfs", &["error=EIO"]),
    ("statx", &["error=EIO"]),
    ("unlink", &["error=EIO", "error=EIO+"]),
    ("unlinkat", &["error=EIO", "error=EIO+"]),
    ("vfork", &["error=EAGAIN"]),
    ("wait4", &["error=EINTR"]),
    ("write", &["error=ENOSPC", "error=EIO", "error=EINTR"]),
    ("writev", &["error=ENOSPC"]),
];

impl Way {
    fn arguments(&self, output: &'static str, crashes: bool) -> Vec<&'static str> {
        let files = [
            "run",
            "system.toml",
            "--summary",
            "summary.json",
            "-o",
            output,
        ];
        let files = files.into_iter();
        let limit = ["--timeout", "20", "--progress", "never"];
        let fault = ["--start-value", "bad.fault=segfault"];
        let fault = if crashes { &fault[..] } else { &[] };
        files
            .chain(limit)
            .chain(fault.iter().copied())
            .chain(self.options.iter().copied())
            .collect()
    }

    /// Makes a run under `strace`; its folder and its end.
    fn run(&self, output: Output, crashes: bool, options: &[&str]) -> (Bench, Ended) {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        let follow = self.every_process.then_some("-f");
        let options: Vec<&str> = follow.into_iter().chain(options.iter().copied()).collect();
        let mut command = strace::under_strace(&options, &self.arguments(output.name(), crashes));
        command
            .current_dir(bench.path(""))
            .env_remove("COLUMNS")
            .stdin(std::process::Stdio::null());
        let child = start(&bench, command);
        let ended = end(&bench, child);
        (bench, ended)
    }

    /// The files without a failure, and how often each call is made by one thread at most.
    fn measure(&self) -> (Reference, BTreeMap<String, usize>) {
        let (csv_bench, ended) = self.run(Output::Csv, false, &["-e", "trace=none"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let csv = std::fs::read(csv_bench.path("out.csv")).unwrap();
        let (mut bench, ended) = self.run(self.output, false, &[]);
        let reference = Reference::read(&bench, self.output, &ended, csv);
        if self.crashes {
            bench = self.run(self.output, true, &[]).0;
        }
        let mut counts = BTreeMap::new();
        for call in strace::read(&bench.path("trace")) {
            *counts.entry((call.name, call.process)).or_insert(0) += 1;
        }
        let mut most = BTreeMap::new();
        for ((name, _), count) in counts {
            let most = most.entry(name).or_insert(0);
            *most = count.max(*most);
        }
        (reference, most)
    }
}

/// One call to fail.
#[derive(Debug, Clone)]
struct Failure {
    call: &'static str,
    how: &'static str,
    number: usize,
}

#[derive(Default)]
struct Counts {
    /// Runs in which the call was made and failed.
    failed: usize,
    /// Runs in which it was not made; their calls depend on the clock.
    not_reached: usize,
    /// Runs that the failure did not keep from their results.
    whole: usize,
    violations: usize,
}

/// If `GYRATOR_FAILING_CALLS` is set, only the runs whose names begin so: `alone`, `alone write`.
#[test]
#[ignore = "study: some thousand runs under strace"]
fn no_call_that_fails_loses_a_result() {
    strace::require();
    let only = std::env::var("GYRATOR_FAILING_CALLS").unwrap_or_default();
    let mut violations = 0;
    let is_wanted = |way: &&Way| only.is_empty() || only.split(' ').next().unwrap() == way.name;
    for way in WAYS.iter().filter(is_wanted) {
        let (reference, counts) = way.measure();
        let mut failures = Vec::new();
        for &(call, hows) in FAILURES {
            // Lost wake-ups are not failures of the kernel; processes share these numbers.
            let is_left_out = way.every_process && call == "futex";
            let count = counts.get(call).filter(|_| !is_left_out);
            let all = (1..=count.copied().unwrap_or(0))
                .flat_map(|number| hows.iter().map(move |&how| Failure { call, how, number }));
            failures.extend(all.filter(|failure| name(way, failure).starts_with(&only)));
        }
        let counted = make_each(way, &failures, &reference);
        println!(
            "{}: {} calls failed, {} not reached, {} results whole, {} violations",
            way.name, counted.failed, counted.not_reached, counted.whole, counted.violations
        );
        violations += counted.violations;
    }
    assert_eq!(violations, 0, "runs with violations");
}

/// The failure in the words of `strace`.
fn injection(Failure { call, how, number }: &Failure) -> String {
    match how.strip_suffix('+') {
        Some(how) => format!("{call}:{how}:when={number}+"),
        None => format!("{call}:{how}:when={number}"),
    }
}

fn name(way: &Way, failure: &Failure) -> String {
    format!("{} {}", way.name, injection(failure))
}

/// Makes the runs, as many at a time as there are cores.
fn make_each(way: &Way, failures: &[Failure], reference: &Reference) -> Counts {
    let next = AtomicUsize::new(0);
    let counts = Mutex::new(Counts::default());
    let work = || {
        while let Some(failure) = failures.get(next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = make(way, failure, reference);
            let mut counts = counts.lock().unwrap();
            match outcome {
                Outcome::NotReached => counts.not_reached += 1,
                Outcome::Failed(is_whole, violations) => {
                    counts.failed += 1;
                    counts.whole += usize::from(is_whole);
                    if !violations.is_empty() {
                        println!("{}: {}", name(way, failure), violations.join("; "));
                        counts.violations += 1;
                    }
                }
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    counts.into_inner().unwrap()
}

enum Outcome {
    NotReached,
    /// Whether the results are whole; what is wrong.
    Failed(bool, Vec<String>),
}

fn make(way: &Way, failure: &Failure, reference: &Reference) -> Outcome {
    let call = failure.call;
    let trace = format!("trace={call}");
    let inject = format!("inject={}", injection(failure));
    let (bench, ended) = way.run(way.output, way.crashes, &["-e", &trace, "-e", &inject]);
    let calls = strace::read(&bench.path("trace"));
    let failed: Vec<_> = calls
        .iter()
        .filter(|call| call.result.contains("INJECTED"))
        .collect();
    let has_lost_wake = failed
        .iter()
        .any(|call| call.arguments.contains("FUTEX_WAKE"));
    // Rust's library takes a directory that cannot be closed for an error of the program; the kernel
    // has no such failure.
    let is_directory = ended.stderr.contains("unexpected error during closedir");
    // A thread that finds no memory for the stack of its signal handlers ends the program there.
    let is_thread = ended
        .stderr
        .contains("std/src/sys/pal/unix/stack_overflow.rs");
    let is_unreached = failed.is_empty() && !ended.has_hung;
    if is_unreached || has_lost_wake || is_directory || is_thread {
        return Outcome::NotReached;
    }
    let is_silenced = call == "write" && failed.iter().any(|call| call.arguments.starts_with("2,"));
    let violations = judge(way, &bench, &ended, reference, is_silenced);
    Outcome::Failed(ended.code == Some(0), violations)
}

/// The dynamic linker or Rust's own start has found no means to begin.
fn is_not_begun(ended: &Ended) -> bool {
    let is_silent = ended.code.is_none() && ended.stderr.is_empty();
    is_silent
        || ended.code == Some(127)
        || ended.stderr.contains("fatal runtime error: initialization")
}

fn judge(
    way: &Way,
    bench: &Bench,
    ended: &Ended,
    reference: &Reference,
    is_silenced: bool,
) -> Vec<String> {
    let is_out_of_memory = ended.stderr.contains("memory allocation of ");
    let is_killed = ended.code.is_none();
    let remains = Remains::read(bench, way.output, reference, is_killed);
    if is_not_begun(ended) && remains.is_empty() && ended.processes.is_empty() {
        return Vec::new();
    }
    let mut violations = remains.contradictions(ended, is_killed);
    // The next run removes files that could not be removed.
    violations.retain(|text| !text.starts_with("left: [\"gyrator-"));
    let kept = remains.rows.as_ref().map_or(0, |(_, rows)| *rows);
    if way.crashes && ended.code == Some(5) && kept != 5 && !ended.stderr.contains("are lost") {
        violations.push(format!("{kept} rows are kept"));
    }
    if ended.stderr.contains("an FMU called") || ended.stderr.contains("the FMU called") {
        violations.push("an FMU is blamed".to_owned());
    }
    match ended.code {
        Some(0) if way.crashes => violations.push("the crash is no failure".to_owned()),
        Some(0) => violations.extend(remains.differences(bench, way.output, ended, reference)),
        Some(1..=5) if is_silenced || !ended.stderr.is_empty() => {}
        None if is_out_of_memory => {}
        // The crash is the program's.
        None if way.crashes && ended.stderr.contains("the run has no supervisor") => {}
        code => violations.push(format!("exit code {code:?}, signal {:?}", ended.signal)),
    }
    let has_summary = remains.summary.is_some() || ended.stderr.contains("summary");
    if !has_summary && !is_killed {
        violations.push("no summary, and no word of it".to_owned());
    }
    if !violations.is_empty() {
        violations.push(format!(
            "exit code {:?}: {}",
            ended.code,
            ended.stderr.trim()
        ));
    }
    violations
}
