//! Runs with random faults, signals, full disks and limits, all drawn from one seed, and the
//! promises that hold whatever the moment.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::disturbance::{Disturbance, Plan, Rows, STEPS, Target, Way};
use super::remains::{Output, Reference, Remains};
use super::{Ended, end, processes, send, start};
use crate::bench::Bench;

/// `slow` makes the steps take time; `bad` has the fault.
const SYSTEM: &str = r#"
[experiment]
stop_time = 4.0
step_size = 0.1

[components.good]
fmu = "fmus/OscillatorMotion.fmu"

[components.slow]
fmu = "fmus/Faulty.fmu"
start_values = { fault = "sleep", sleep_time = 0.005 }

[components.bad]
fmu = "fmus/Faulty.fmu"

[[connections]]
from = "good.x"
to = "slow.u"

[[connections]]
from = "good.x"
to = "bad.u"
"#;

/// Signals of crashes: SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGKILL, SIGSEGV.
const CRASHES: [i32; 6] = [4, 5, 6, 7, 9, 11];

/// Runs at a time; they sleep most of their time.
const THREADS: usize = 4;

/// `GYRATOR_CHAOS_RUNS`, `GYRATOR_CHAOS_SEED` and `GYRATOR_CHAOS_FIRST` choose other runs.
#[test]
#[ignore = "study: a thousand disturbed runs"]
fn no_disturbance_loses_a_row_or_lies() {
    super::require_hangup();
    let number = |name: &str, usual: u64| {
        let value = std::env::var(format!("GYRATOR_CHAOS_{name}"));
        value.map_or(usual, |value| value.parse().unwrap())
    };
    let (runs, seed, first) = (number("RUNS", 1000), number("SEED", 1), number("FIRST", 0));
    let references = [Output::Csv, Output::Parquet].map(reference);
    let next = AtomicU64::new(first);
    let (kinds, violations) = (Mutex::new(BTreeMap::new()), Mutex::new(Vec::new()));
    let work = || loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        if index >= first + runs {
            break;
        }
        let plan = Plan::draw(seed, index);
        let (outcome, found) = make(&plan, &references);
        *kinds.lock().unwrap().entry(outcome).or_insert(0_u64) += 1;
        if !found.is_empty() {
            let text = format!(
                "run {index} of seed {seed}: {plan:?}\n    {}",
                found.join("\n    ")
            );
            println!("{text}");
            violations.lock().unwrap().push(text);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    let (kinds, violations) = (
        kinds.into_inner().unwrap(),
        violations.into_inner().unwrap(),
    );
    println!("runs {first} to {} of seed {seed}:", first + runs - 1);
    for (outcome, count) in &kinds {
        println!("{count:6} {outcome}");
    }
    assert!(
        violations.is_empty(),
        "{} runs have violations",
        violations.len()
    );
}

fn reference(output: Output) -> Reference {
    let run = |output: Output| {
        let bench = Bench::new();
        bench.write("system.toml", SYSTEM);
        let command = command(
            &bench,
            &[
                "run",
                "system.toml",
                "--summary",
                "summary.json",
                "-o",
                output.name(),
            ],
        );
        let child = start(&bench, command);
        let ended = end(&bench, child);
        (bench, ended)
    };
    let (csv, ended) = run(Output::Csv);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let csv = std::fs::read(csv.path("out.csv")).unwrap();
    let (bench, ended) = run(output);
    let reference = Reference::read(&bench, output, &ended, csv);
    assert_eq!(reference.rows(), STEPS + 1);
    reference
}

fn command(bench: &Bench, arguments: &[&str]) -> Command {
    bench.command(arguments.iter().copied())
}

/// The processes that a disturbance has met.
#[derive(Debug, Default, Clone, Copy)]
struct Met {
    parent: bool,
    others: bool,
}

/// Makes one run. Returns its kind and outcome in a few words, and what is wrong.
fn make(plan: &Plan, references: &[Reference; 2]) -> (String, Vec<String>) {
    let bench = Bench::new();
    bench.write("system.toml", SYSTEM);
    let arguments = arguments(plan);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let child = match plan.disturbance {
        Disturbance::FullDisk { size } => start(&bench, on_small_disk(&bench, size, &arguments)),
        _ => start(&bench, command(&bench, &arguments)),
    };
    let met = disturb(&bench, plan, &child, &arguments);
    let mut ended = end(&bench, child);
    if let Some(code @ 131..=159) = ended.code {
        // As a shell reports a signal.
        (ended.code, ended.signal) = (None, Some(code - 128));
    }
    // Files of a folder of their own have come to the others.
    ended.stderr = ended.stderr.replace("results/", "");
    let kind = match plan.disturbance {
        Disturbance::Signal { name, .. } => format!("signal {name}"),
        other => format!("{other:?}")
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned(),
    };
    if ended.stderr.starts_with("unshare: ") || ended.code == Some(77) {
        return (
            format!("{kind}: not possible"),
            vec!["no right to mount a disk: allow namespaces of users, or run as root".to_owned()],
        );
    }
    let end = match (ended.code, ended.signal) {
        (Some(code), _) => format!("exit code {code}"),
        (None, signal) => format!("ended by signal {}", signal.unwrap_or_default()),
    };
    let reference = match plan.output {
        Output::Csv => &references[0],
        Output::Parquet => &references[1],
    };
    let mut found = judge(plan, met, &bench, &ended, reference);
    if !found.is_empty() {
        found.push(format!("{end}, met {met:?}: {}", ended.stderr.trim()));
    }
    (format!("{kind}: {end}"), found)
}

fn arguments(plan: &Plan) -> Vec<String> {
    let on_disk = matches!(plan.disturbance, Disturbance::FullDisk { .. });
    let folder = if on_disk { "results/" } else { "" };
    let timeout = if plan.fault.name == "endless_loop" {
        "2"
    } else {
        "100"
    };
    let fault_time = plan.step as f64 * 0.1;
    let mut arguments = vec!["run".to_owned(), "system.toml".to_owned()];
    for value in [
        format!("bad.fault={}", plan.fault.name),
        format!("bad.function={}", plan.fault.function),
        format!("bad.fault_time={fault_time}"),
    ] {
        arguments.extend(["--start-value".to_owned(), value]);
    }
    for (option, value) in [
        ("-o", &*format!("{folder}{}", plan.output.name())),
        ("--summary", "summary.json"),
        ("--worker-threads", plan.threads),
        ("--timeout", timeout),
    ] {
        arguments.extend([option.to_owned(), value.to_owned()]);
    }
    if let Disturbance::MemoryLimit { size } = plan.disturbance {
        arguments.extend(["--memory-limit".to_owned(), size.to_string()]);
    }
    let options = plan.way.options().iter();
    arguments.extend(options.map(|option| (*option).to_owned()));
    arguments
}

/// The run with a small disk mounted at `results`, which is copied out in the end.
fn on_small_disk(bench: &Bench, size: u64, arguments: &[&str]) -> Command {
    std::fs::create_dir(bench.path("results")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size={size}k none results || exit 77
         \"$0\" \"$@\"
         code=$?; cp -a results/. .; exit $code"
    );
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
        .arg(env!("CARGO_BIN_EXE_gyrator"))
        .args(arguments)
        .current_dir(bench.path(""))
        .stdin(std::process::Stdio::null());
    command
}

fn disturb(bench: &Bench, plan: &Plan, child: &Child, arguments: &[&str]) -> Met {
    let wait = |time: u64| std::thread::sleep(Duration::from_millis(time));
    let part = match plan.output {
        Output::Csv => bench.path("out.csv.part"),
        Output::Parquet => bench.path("out.parquet.part"),
    };
    let mut met = Met::default();
    let is_from_outside = !matches!(
        plan.disturbance,
        Disturbance::None | Disturbance::FullDisk { .. } | Disturbance::MemoryLimit { .. }
    );
    if is_from_outside {
        wait(plan.after);
    }
    match plan.disturbance {
        Disturbance::None | Disturbance::FullDisk { .. } | Disturbance::MemoryLimit { .. } => {}
        Disturbance::Signal {
            name,
            target,
            again,
        } => {
            let mut strike = || {
                for process in targets(bench, child, target) {
                    send(name, process);
                    *(if process == child.id() {
                        &mut met.parent
                    } else {
                        &mut met.others
                    }) = true;
                }
            };
            strike();
            if let Some(time) = again {
                wait(time);
                strike();
            }
        }
        Disturbance::Pause { target, time } => {
            let processes = targets(bench, child, target);
            processes.iter().for_each(|process| send("-STOP", *process));
            wait(time);
            processes.iter().for_each(|process| send("-CONT", *process));
        }
        Disturbance::Delete => drop(std::fs::remove_file(part)),
        Disturbance::Truncate => {
            let file = std::fs::OpenOptions::new().write(true).open(part);
            let is_longer = |file: &std::fs::File| file.metadata().is_ok_and(|file| file.len() > 7);
            if let Some(file) = file.ok().filter(is_longer) {
                file.set_len(7).unwrap();
            }
        }
        Disturbance::SecondRun => {
            let without_summary: Vec<&str> = arguments
                .iter()
                .copied()
                .filter(|argument| !matches!(*argument, "--summary" | "summary.json"))
                .collect();
            let mut second = command(bench, &without_summary);
            let output = second.env("TMPDIR", bench.path("tmp")).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            std::fs::write(bench.path("second"), stderr).unwrap();
        }
    }
    met
}

/// The processes that a disturbance is for, at this moment.
fn targets(bench: &Bench, child: &Child, target: Target) -> Vec<u32> {
    let parent = child.id();
    let mut others = processes(bench);
    others.retain(|process| *process != parent);
    match target {
        Target::Parent => vec![parent],
        Target::Child => {
            let is_child = |process: &u32| {
                let status = std::fs::read_to_string(format!("/proc/{process}/status"));
                status.is_ok_and(|status| status.contains(&format!("\nPPid:\t{parent}\n")))
            };
            others.into_iter().filter(is_child).take(1).collect()
        }
        Target::Youngest => others.into_iter().max().into_iter().collect(),
        Target::All { parent_first: true } => std::iter::once(parent).chain(others).collect(),
        Target::All { .. } => others.into_iter().chain([parent]).collect(),
    }
}

/// Exit codes and signals that a run may end with.
fn allowed(plan: &Plan, met: Met) -> (Vec<i32>, Vec<i32>) {
    let is_deadly = plan.way == Way::Alone && plan.fault.is_deadly;
    let is_exit = plan.fault.name.starts_with("exit");
    let (mut codes, mut signals) = match (is_deadly, is_exit) {
        (true, false) => (vec![], CRASHES.to_vec()),
        (true, true) => (vec![5], vec![]),
        _ => (vec![plan.fault.code], vec![]),
    };
    match plan.disturbance {
        Disturbance::None | Disturbance::Pause { .. } => {}
        Disturbance::Signal { name, .. } => {
            if met.others {
                codes.push(5);
            }
            if met.parent && name != "-KILL" {
                codes.push(130);
            }
            if met.parent {
                signals.push(match name {
                    "-KILL" => 9,
                    "-TERM" => 15,
                    "-INT" => 2,
                    _ => 1,
                });
            }
        }
        Disturbance::Delete
        | Disturbance::Truncate
        | Disturbance::SecondRun
        | Disturbance::FullDisk { .. } => codes.push(1),
        // Without a supervisor nothing limits it.
        Disturbance::MemoryLimit { .. } => codes.push(5),
    }
    (codes, signals)
}

fn judge(
    plan: &Plan,
    met: Met,
    bench: &Bench,
    ended: &Ended,
    reference: &Reference,
) -> Vec<String> {
    // Without a supervisor, an FMU that calls exit ends all.
    let is_exit = ended.stderr.contains("error: an FMU called exit; ");
    let is_killed = ended.code.is_none() || is_exit;
    let is_cut = plan.disturbance == Disturbance::Truncate;
    let remains = Remains::read(bench, plan.output, reference, is_killed);
    let mut found = remains.contradictions(ended, is_killed);
    if plan.fault.name == "daemon" && is_killed {
        // No process is left to end it.
        found.retain(|text| !text.starts_with("left: "));
    }
    if ended.stderr.contains("the run is abandoned") {
        // At once: the next run removes it.
        found.retain(|text| !text.starts_with("left: [\"gyrator-"));
    }
    if is_cut && ended.code != Some(0) {
        found = no_zeros(bench, found);
    }
    let (codes, signals) = allowed(plan, met);
    let is_allowed = match (ended.code, ended.signal) {
        (Some(code), _) => codes.contains(&code),
        (None, signal) => signal.is_some_and(|signal| signals.contains(&signal)),
    };
    if !is_allowed {
        found.push(format!(
            "not among exit codes {codes:?}, signals {signals:?}"
        ));
    }
    if ended.code.is_some_and(|code| code != 0) && ended.stderr.is_empty() {
        found.push("no message".to_owned());
    }
    found.extend(wrong_rows(plan, ended, &remains, reference));
    if !is_killed {
        found.extend(wrong_summary(ended, &remains));
    }
    found
}

/// Describes the fault of a result that was cut from outside: its rows are not the first ones.
fn no_zeros(bench: &Bench, found: Vec<String>) -> Vec<String> {
    let mut found = found;
    found.retain(|text| !text.contains("differs from") && !text.contains(" rows"));
    for name in ["out.csv"] {
        if std::fs::read(bench.path(name)).is_ok_and(|bytes| bytes.contains(&0)) {
            found.push(format!("{name} has bytes that were never written"));
        }
    }
    found
}

/// Rows are known if nothing disturbs the run, and if it has succeeded.
fn wrong_rows(
    plan: &Plan,
    ended: &Ended,
    remains: &Remains,
    reference: &Reference,
) -> Option<String> {
    let there = remains.rows.as_ref().map_or(0, |(_, rows)| *rows);
    let is_disturbed = !matches!(
        plan.disturbance,
        Disturbance::None | Disturbance::Pause { .. }
    );
    let is_alone = plan.way == Way::Alone && plan.fault.is_deadly;
    if ended.code != Some(0) && (is_disturbed || is_alone) {
        return None;
    }
    let all = reference.rows();
    let expected = match plan.fault.rows {
        Rows::None => 0..=0,
        Rows::UntilFault => plan.step..=plan.step,
        Rows::All => all..=all,
    };
    let is_named = ended.code == Some(0) || ended.stderr.contains("bad");
    if !expected.contains(&there) {
        return Some(format!("{there} rows, not {expected:?}"));
    }
    (!is_named).then(|| "the component is not named".to_owned())
}

fn wrong_summary(ended: &Ended, remains: &Remains) -> Option<String> {
    let Some(summary) = &remains.summary else {
        // The second signal ends a run at once.
        let is_abandoned = ended.stderr.contains("the run is abandoned");
        return (!is_abandoned).then(|| "no summary".to_owned());
    };
    let reason = summary["stop_reason"].as_str().unwrap_or_default();
    let is_right = match ended.code {
        Some(0) => reason == "stop-time",
        Some(1) => reason == "failed",
        Some(5) => matches!(reason, "crashed" | "timeout" | "memory-limit" | "failed"),
        Some(130) => reason == "interrupted",
        _ => true,
    };
    (!is_right).then(|| format!("the summary says {reason}"))
}
