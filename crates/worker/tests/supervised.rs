//! Supervision as a program meets it that embeds the engine.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a failed helper is a failed test")]

use std::io::Write as _;
use std::sync::mpsc;
use std::time::Duration;

use gyrator_worker::{Cause, Position, Stop, Supervisor, Worker, WorkerEnd, WorkerOutcome};

/// Not a test of its own: a worker is this program once more, started to run this test only.
#[test]
fn become_a_worker() {
    gyrator_worker::hook(work);
}

fn work(worker: &'static Worker) -> u8 {
    let job = std::str::from_utf8(worker.job()).unwrap();
    let (verb, argument) = job.split_once(' ').unwrap_or((job, ""));
    match verb {
        "finish" => return argument.parse().unwrap(),
        "panic" => panic!("{argument}"),
        "exit" => std::process::exit(argument.parse().unwrap()),
        "abort" => std::process::abort(),
        "crash-when-complete" => {
            worker.results_complete(9);
            std::process::abort();
        }
        "rows" => {
            let file = std::fs::File::create(argument).unwrap();
            let mut kept = worker.keep(&file, argument).unwrap();
            assert!(worker.keep(&file, argument).is_none(), "one file a run");
            kept.write_all(b"time,x\n").unwrap();
            for row in 0..20_000 {
                assert!(kept.stage(format!("{row},{}\n", 2 * row).as_bytes()));
            }
            worker.at(Position {
                time: 2.5,
                step: 19_999,
            });
            std::process::abort();
        }
        "wait-for-stop" => {
            let (stop, stopped) = mpsc::channel();
            worker.on_stop(move || stop.send(()).unwrap()).unwrap();
            stopped.recv().unwrap();
            return 42;
        }
        _ => {}
    }
    255
}

fn supervise(job: &str) -> WorkerEnd {
    supervise_until(job, &Stop::default())
}

fn supervise_until(job: &str, stop: &Stop) -> WorkerEnd {
    let arguments = ["--exact", "become_a_worker", "--nocapture", "--quiet"];
    let supervisor = Supervisor::new().job(job.as_bytes());
    let supervisor = supervisor.arguments(arguments.map(Into::into));
    supervisor.supervise(stop).unwrap()
}

fn cause_of_death(job: &str) -> Cause {
    match supervise(job).outcome {
        WorkerOutcome::Died(death) => death.cause,
        WorkerOutcome::Finished(code) => panic!("finished with {code}"),
    }
}

#[test]
fn a_worker_ends_with_its_own_code() {
    for code in [0, 7, 255] {
        let ending = supervise(&format!("finish {code}"));
        assert_eq!(ending.outcome, WorkerOutcome::Finished(code));
        assert!(ending.warnings.is_empty());
    }
}

#[test]
fn r23_leaving_is_not_finishing() {
    assert_eq!(cause_of_death("exit 0"), Cause::Exit { code: 0 });
    assert_eq!(cause_of_death("exit 3"), Cause::Exit { code: 3 });
}

#[test]
fn r22_a_signal() {
    let expected = Cause::Signal {
        number: 6,
        is_stack_overflow: false,
    };
    assert_eq!(cause_of_death("abort"), expected);
}

#[test]
fn a_panic_of_the_worker_is_distinguished_from_faults_of_fmus() {
    let death = match supervise("panic on purpose").outcome {
        WorkerOutcome::Died(death) => death.to_string(),
        WorkerOutcome::Finished(code) => panic!("finished with {code}"),
    };
    assert!(death.contains("an error of gyrator itself"), "{death}");
}

#[test]
fn r26_a_crash_after_the_results_are_complete() {
    let ending = supervise("crash-when-complete");
    assert_eq!(ending.outcome, WorkerOutcome::Finished(9));
    assert!(ending.warnings[0].contains("the results are complete"));
}

#[test]
fn rows_survive() {
    let folder = std::env::temp_dir().join(format!("gyrator-rows-{}", std::process::id()));
    let path = folder.to_str().unwrap();
    let ending = supervise(&format!("rows {path}"));
    let text = std::fs::read_to_string(path).unwrap();
    std::fs::remove_file(path).unwrap();
    let results = ending.results.unwrap();
    assert_eq!((results.rows, results.error.is_none()), (20_000, true));
    assert_eq!(text.lines().count(), 20_001);
    assert!(text.starts_with("time,x\n0,0\n1,2\n"));
    assert!(text.ends_with("\n19999,39998\n"));
    let WorkerOutcome::Died(death) = ending.outcome else {
        panic!("{:?}", ending.outcome);
    };
    assert_eq!(
        death.position,
        Some(Position {
            time: 2.5,
            step: 19_999
        })
    );
    let text = death.to_string();
    assert!(text.ends_with("at t = 2.5 s (step 19999)"), "{text}");
}

#[test]
fn a_worker_is_asked_to_stop() {
    let stop = Stop::default();
    let asker = stop.clone();
    let asking = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(100));
        asker.request()
    });
    let ending = supervise_until("wait-for-stop", &stop);
    assert_eq!(asking.join().unwrap(), 0, "not asked before");
    assert_eq!(ending.outcome, WorkerOutcome::Finished(42));
}
