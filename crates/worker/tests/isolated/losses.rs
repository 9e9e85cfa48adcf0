//! A component that takes its process with it ends the run by name, and the rows are kept.

use std::time::Duration;

use gyrator::error::{Cause, LoadErrorKind};
use gyrator::{RunError, StartError};
use gyrator_system::{SystemFile, Value};
use gyrator_worker::isolated::Isolation;

use crate::bench::{finish, isolated, isolation, run, set, start, start_with, system};
use crate::restarts::restarting;

/// The fault strikes in the step from 0.4 s to 0.5 s, the fifth one.
fn faulty(fault: &str, function: &str) -> SystemFile {
    let mut file = system(
        r#"
[experiment]
stop_time = 1.0
step_size = 0.1

[components.good]
fmu = "<OscillatorMotion>"

[components.bad]
fmu = "<Faulty>"
start_values = { fault_time = 0.5, sleep_time = 0.01 }

[[connections]]
from = "good.x"
to = "bad.u"
"#,
    );
    for (name, value) in [("fault", fault), ("function", function)] {
        set(&mut file, "bad", name, Value::String(value.to_owned()));
    }
    isolated(file)
}

/// The process is lost in `call`; the message begins with `message`, and `rows` rows were published.
#[track_caller]
fn is_lost(fault: &str, function: &str, call: &str, message: &str, rows: usize) {
    let cause = Cause::Lost;
    is_lost_with(isolation(), cause, fault, function, call, message, rows);
}

#[track_caller]
fn is_lost_with(
    isolation: Isolation,
    cause: Cause,
    fault: &str,
    function: &str,
    call: &str,
    message: &str,
    rows: usize,
) {
    let run = start_with(faulty(fault, function), 1, isolation).unwrap_or_else(|e| panic!("{e}"));
    let (found, result) = finish(run);
    let error = result.unwrap_err();
    let RunError::Fault(fault) = &error else {
        panic!("{error}");
    };
    assert_eq!((fault.component.as_str(), fault.unit.cause), ("bad", cause));
    assert_eq!(fault.unit.call, call);
    assert!(error.to_string().starts_with(message), "{error}");
    assert_eq!(found.reals.len(), rows);
}

#[test]
fn r22_crashes_in_a_step() {
    let message = "bad: SIGSEGV in fmi2DoStep at t = 0.4 s (step 4)";
    is_lost("segfault", "do_step", "fmi2DoStep", message, 5);
    let message = "bad: SIGABRT (abort) in fmi2DoStep at t = 0.4 s (step 4)";
    is_lost("abort", "do_step", "fmi2DoStep", message, 5);
}

#[test]
fn r22_crashes_while_outputs_are_read() {
    let message = "bad: SIGSEGV in fmi2GetReal at t = 0.4 s (step 4)";
    is_lost("segfault", "get", "fmi2GetReal", message, 5);
}

#[test]
fn r22_crashes_at_the_end() {
    let message = "bad: SIGSEGV in fmi2Terminate at t = 1 s (step 10)";
    is_lost("segfault", "terminate", "fmi2Terminate", message, 11);
}

#[test]
fn r25_hangs() {
    // Enough for all other calls of the run, whatever else the machine does.
    let isolation = || isolation().timeout(Some(Duration::from_secs(3)));
    for (function, call) in [("do_step", "fmi2DoStep"), ("get", "fmi2GetReal")] {
        let message = format!("bad: no return within 3 s from {call} at t = 0.4 s (step 4)");
        let cause = Cause::Timeout;
        is_lost_with(
            isolation(),
            cause,
            "endless_loop",
            function,
            call,
            &message,
            5,
        );
    }
}

#[test]
fn r22_crashes_in_initialization() {
    let started = start_with(faulty("abort", "initialization"), 1, isolation());
    let Err(StartError::Run(RunError::Fault(fault))) = started.map(drop) else {
        panic!("it should be lost");
    };
    assert_eq!(
        (fault.component.as_str(), fault.unit.cause),
        ("bad", Cause::Lost)
    );
    assert!(
        fault
            .to_string()
            .starts_with("bad: SIGABRT (abort) in fmi2"),
        "{fault}"
    );
    assert!(fault.to_string().contains("at t = 0 s (step 0)"), "{fault}");
}

#[test]
fn r28_statuses_are_reported_as_without_isolation() {
    for fault in [
        "error",
        "fatal",
        "discard_once",
        "discard_always",
        "panic",
        "nan",
        "finish",
    ] {
        for function in ["do_step", "get", "terminate", "initialization"] {
            let outcome = |file: SystemFile| match start_with(file, 1, isolation()) {
                Ok(run) => {
                    let (rows, result) = finish(run);
                    (
                        Some(rows),
                        result
                            .map(|report| report.stop_reason)
                            .map_err(|e| e.to_string()),
                    )
                }
                Err(error) => (None, Err(error.to_string())),
            };
            let mut together = faulty(fault, function);
            for component in &mut together.components {
                component.isolate = None;
            }
            let expected = outcome(together);
            let apart = faulty(fault, function);
            assert_eq!(outcome(apart.clone()), expected, "{fault} in {function}");
            let found = outcome(restarting(apart, "bad", 1, 1));
            assert_eq!(found, expected, "{fault} in {function}, with restart");
        }
    }
}

#[test]
fn a_slow_component_is_no_fault() {
    let (rows, _) = run(faulty("sleep", "do_step"), 2);
    assert_eq!(rows.reals.len(), 11);
}

/// A system with one isolated component, whose name no other test uses: tests run side by side.
fn lonely(name: &str) -> SystemFile {
    let text = "[experiment]\nstop_time = 1.0\nstep_size = 0.1\n";
    let component = format!("[components.{name}]\nfmu = \"<Faulty>\"\nisolate = true\n");
    system(&format!("{text}{component}"))
}

#[test]
fn a_killed_process_is_reported() {
    let mut run = start(lonely("victim"), 1);
    run.step().unwrap();
    let workers = workers_of("victim");
    assert_eq!(workers.len(), 1);
    kill(workers[0]);
    let error = run.run().unwrap_err().to_string();
    assert!(error.starts_with("victim: SIGKILL"), "{error}");
    assert!(error.contains("between two calls"), "{error}");
}

#[test]
fn a_library_that_does_not_load_is_reported_as_without_isolation() {
    let mut file = faulty("none", "do_step");
    let component = file.component_mut("bad").unwrap();
    component.preload.push(gyrator_system::Spanned::unplaced(
        "libno-such.so".to_owned(),
    ));
    let Err(StartError::Load(errors)) = start_with(file, 1, isolation()).map(drop) else {
        panic!("it should not load");
    };
    assert_eq!(
        (errors.len(), errors[0].kind),
        (1, LoadErrorKind::NotLoaded)
    );
    assert!(errors[0].message.contains("libno-such.so"), "{}", errors[0]);
}

#[test]
fn no_process_outlives_its_run() {
    let run = start(lonely("leaver"), 1);
    assert_eq!(workers_of("leaver").len(), 1);
    drop(run);
    assert_eq!(workers_of("leaver"), [0_u32; 0]);
}

/// Children of this process.
fn workers() -> Vec<u32> {
    let me = std::process::id();
    let processes = std::fs::read_dir("/proc").unwrap();
    let number = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.parse::<u32>().ok()
    };
    let is_child = |process: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let after = stat.rsplit_once(')').map_or("", |(_, after)| after);
        after.split_whitespace().nth(1) == Some(&me.to_string())
    };
    processes.filter_map(number).filter(is_child).collect()
}

/// Workers that host a component of this name.
pub(crate) fn workers_of(component: &str) -> Vec<u32> {
    let hosts = |process: &u32| {
        let line = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.ends_with(format!("\0{component}\0").as_bytes())
    };
    workers().into_iter().filter(hosts).collect()
}

/// Ends a process in a way that it cannot prevent.
pub(crate) fn kill(process: u32) {
    let number = process.to_string();
    let killed = std::process::Command::new("kill")
        .args(["-9", &number])
        .status();
    assert!(killed.unwrap().success());
}
