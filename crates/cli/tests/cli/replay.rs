//! `run --record-calls` and `gyrator replay`: the calls of one FMU, made again.

use std::fs;

use crate::bench::{Bench, OSCILLATORS};
use crate::fault_table::{self, each_entry, timeout_for};
use crate::faults::FAULTY;

/// The FMU does as often as not what it did, or the fault is in what surrounds it.
const BY_CHANCE: &[&str] = &["random"];

/// Every fault of an FMU shows again from its recording, without the system around it.
#[test]
fn every_fault_of_the_table_is_reproduced() {
    each_entry(|(row, fault, function, ..)| {
        if BY_CHANCE.contains(fault) {
            return Ok(());
        }
        let bench = Bench::new();
        let timeout = ["--timeout", timeout_for(fault)];
        let files = ["-o", "out.csv", "--record-calls", "calls"];
        fault_table::run(&bench, fault, function, &[&files[..], &timeout].concat());
        let replay = ["replay", "calls/bad.calls"];
        let outcome = bench.run([&replay[..], &timeout].concat());
        match outcome.code {
            Some(0) => Ok(()),
            code => Err(format!(
                "{row} {fault} {function}: {code:?}, {}{}",
                outcome.stdout, outcome.stderr
            )),
        }
    });
}

/// The recording of the other component ends as its process did, between two of its calls.
#[test]
fn the_sound_fmu_of_a_run_that_crashed_answers_its_last_call() {
    let bench = Bench::new();
    fault_table::run(&bench, "segfault", "do_step", &["--record-calls", "calls"]);
    let outcome = bench.run(["replay", "calls/good.calls"]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let part = "recorded: no answer: the process ended in this call, or before the next one";
    assert!(outcome.stdout.contains(part), "{}", outcome.stdout);
}

#[test]
fn a_crash_is_reproduced_with_the_call_in_which_it_happens() {
    let bench = Bench::new();
    let files = ["--record-calls", "calls"];
    fault_table::run(&bench, "segfault", "do_step", &files);
    let outcome = bench.run(["replay", "calls/bad.calls"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let filters = vec![(
        r"gyrator [0-9.]+ on [a-z0-9_ ]+",
        "gyrator VERSION on PLATFORM",
    )];
    insta::with_settings!({filters => filters}, {
        insta::assert_snapshot!(outcome.stdout);
    });
    let outcome = bench.run(["replay", "calls/bad.calls", "--json"]);
    let summary: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(summary["reproduced"], true);
    assert_eq!(summary["ended_in"], "fmi2DoStep at t = 0.4 s by 0.1 s");
    assert_eq!(summary["same_fmu"], true);
}

/// Results are the same with a recording, also with corrections, several threads and saved states.
#[test]
fn recordings_of_every_kind_of_run_are_reproduced() {
    for options in [
        &["--exchange", "fresh", "--worker-threads", "2"][..],
        &["--correction", "residual-power", "--isolate"],
        &["--exchange", "compensated", "--extrapolation", "linear"],
    ] {
        let bench = Bench::new();
        bench.write("system.toml", OSCILLATORS);
        let run = ["run", "system.toml", "-o", "plain.csv"];
        let outcome = bench.run([&run[..], options].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let run = ["run", "system.toml", "-o", "recorded.csv"];
        let record = ["--record-calls", "calls"];
        let outcome = bench.run([&run[..], options, &record].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(bench.read("plain.csv"), bench.read("recorded.csv"));
        for component in ["left", "right"] {
            let recording = format!("calls/{component}.calls");
            let outcome = bench.run(["replay", &recording]);
            assert_eq!(
                outcome.code,
                Some(0),
                "{}{}",
                outcome.stdout,
                outcome.stderr
            );
            assert!(
                outcome.stdout.contains("equal in every bit"),
                "{}",
                outcome.stdout
            );
        }
    }
}

/// The recording of a run that goes on holds the states that it goes on from: it is made again without their file.
#[test]
fn a_recording_of_a_run_that_goes_on_is_reproduced() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let succeed = |arguments: &str| {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
        outcome.stdout
    };
    let correction = "--correction residual-power";
    succeed(&format!(
        "run system.toml -e 0.02 {correction} --save-state warm.state --at 0.005 --record-calls first"
    ));
    succeed(&format!(
        "run system.toml -e 0.02 {correction} -o plain.csv --resume warm.state"
    ));
    for options in ["", " --isolate"] {
        succeed(&format!(
            "run system.toml -e 0.02 {correction} -o recorded.csv --resume warm.state --record-calls rest{options}"
        ));
        assert_eq!(bench.read("plain.csv"), bench.read("recorded.csv"));
        let state = fs::read(bench.path("warm.state")).unwrap();
        fs::remove_file(bench.path("warm.state")).unwrap();
        for recording in ["first/left", "first/right", "rest/left", "rest/right"] {
            let said = succeed(&format!("replay {recording}.calls"));
            assert!(said.contains("equal in every bit"), "{said}");
        }
        fs::write(bench.path("warm.state"), state).unwrap();
    }
}

/// The vendor's fixed version of an FMU does not show the fault.
#[test]
fn another_fmu_is_named_and_its_first_difference_is_shown() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let outcome = bench.run(["run", "system.toml", "--record-calls", "calls"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    fs::copy(bench.path("calls/right.calls"), bench.path("left.calls")).unwrap();
    let outcome = bench.run(["replay", "left.calls"]);
    assert_eq!(outcome.code, Some(4));
    assert!(
        outcome.stderr.contains("pass --fmu with the path of"),
        "{}",
        outcome.stderr
    );
    let other = ["replay", "left.calls", "--fmu", "fmus/OscillatorForce.fmu"];
    let outcome = bench.run(other);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("their SHA-256 differ"),
        "{}",
        outcome.stderr
    );
    assert!(
        outcome.stdout.contains("not reproduced: "),
        "{}",
        outcome.stdout
    );
    // Beside the recording it has to be the one of the recording.
    fs::copy(bench.path("calls/left.fmu"), bench.path("left.fmu")).unwrap();
    let outcome = bench.run(["replay", "left.calls"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
}

#[test]
fn files_that_are_no_recordings_are_refused() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let outcome = bench.run(["run", "system.toml", "--record-calls", "calls"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let whole = fs::read(bench.path("calls/bad.calls")).unwrap();
    let replay = |bytes: &[u8]| {
        fs::write(bench.path("calls/bad.calls"), bytes).unwrap();
        let outcome = bench.run(["replay", "calls/bad.calls"]);
        (outcome.code, outcome.stderr)
    };
    let (code, message) = replay(b"time,x\n0,1\n");
    assert_eq!(code, Some(3));
    assert!(message.contains("is not a recording of calls"), "{message}");
    let mut damaged = whole.clone();
    let half = damaged.len() / 2;
    damaged[half..half + 8].fill(0xff);
    let (code, message) = replay(&damaged);
    assert_eq!(code, Some(3), "{message}");
    assert!(message.contains("is damaged at byte"), "{message}");
    let outcome = bench.run(["replay", "nothing.calls"]);
    assert_eq!(outcome.code, Some(3));
    let outcome = bench.run(["replay", "calls"]);
    assert_eq!(outcome.code, Some(3));
    let advice = "name one of its recordings: calls/bad.calls";
    assert!(outcome.stderr.contains(advice), "{}", outcome.stderr);
    // A recording that ends early, without the death of a process in it.
    let (code, _) = replay(&whole[..half]);
    assert!(matches!(code, Some(0 | 6)));
}

/// A folder that cannot be made ends the run before it begins.
#[test]
fn a_recording_that_cannot_be_written_ends_the_run() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS).write("calls", "");
    let outcome = bench.run(["run", "system.toml", "--record-calls", "calls"]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("the folder calls"),
        "{}",
        outcome.stderr
    );
}
