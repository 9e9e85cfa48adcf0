//! Learning, and runs with what was learned.

use crate::bench::{Bench, OSCILLATORS, ProgramOutcome};

fn learn(bench: &Bench, others: &[&str]) -> ProgramOutcome {
    bench.write("system.toml", OSCILLATORS);
    let arguments = ["learn", "system.toml", "--duration", "0.5"];
    bench.run(arguments.into_iter().chain(others.iter().copied()))
}

#[test]
fn a_learned_run_is_that_of_the_fresh_force() {
    let bench = Bench::new();
    let learned = learn(&bench, &["-o", "learned.csv", "--max-error", "1e-9"]);
    assert_eq!(learned.code, Some(0), "{}", learned.stderr);
    assert!(learned.stdout.contains("converged"), "{}", learned.stdout);
    let run = |name: &str, option: &str, value: &str| {
        let common = ["run", "system.toml", "--duration", "0.5", "-o"];
        let outcome = bench.run(common.into_iter().chain([name, option, value]));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        bench.rows(name).1
    };
    let learned = run("with.csv", "--feed-forward", "learned.csv");
    let fresh = run("fresh.csv", "--exchange", "fresh");
    for (learned, fresh) in learned.iter().zip(&fresh) {
        for (learned, fresh) in learned.iter().zip(fresh) {
            assert!(
                (learned - fresh).abs() < 1e-8,
                "{learned} instead of {fresh}"
            );
        }
    }
    assert_eq!(learned.len(), fresh.len());
}

#[test]
fn the_errors_of_all_runs_as_json() {
    let bench = Bench::new();
    let outcome = learn(&bench, &["--iterations", "3", "--max-error", "0", "--json"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let learned: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(learned["outcome"]["kind"], "iterations");
    assert_eq!(learned["best"], 3);
    let runs = learned["iterations"].as_array().unwrap();
    let norms = runs.iter().map(|run| run["norm_2"].as_f64().unwrap());
    let norms: Vec<f64> = norms.collect();
    assert_eq!(norms.len(), 4);
    assert!(norms[3] < 1e-2 * norms[0], "{norms:?}");
    assert!(runs[0]["contraction"].is_null());
    for (run, pair) in runs[1..].iter().zip(norms.windows(2)) {
        let contraction = run["contraction"].as_f64().unwrap();
        assert!((contraction - pair[1] / pair[0]).abs() < 1e-12);
        assert_eq!(run["gain"], 1.0);
        // No error is within a tolerance of 0.
        assert!(run["runs_needed"].is_null());
    }
}

#[test]
fn learning_goes_on_from_a_file() {
    let bench = Bench::new();
    let norms = |options: &[&str]| {
        let outcome = learn(&bench, &[options, &["--json"]].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let learned: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let runs = learned["iterations"].as_array().unwrap().clone();
        runs.iter()
            .map(|run| run["norm_2"].as_f64().unwrap())
            .collect::<Vec<_>>()
    };
    let whole = norms(&["-n", "5", "--max-error", "0"]);
    let first = norms(&["-n", "3", "--max-error", "0", "-o", "learned.csv"]);
    assert_eq!(first, whole[..4]);
    // The file has the feed-forward of run 3.
    let rest = norms(&["-n", "2", "--max-error", "0", "--start-from", "learned.csv"]);
    assert_eq!(rest, whole[3..]);
    let outcome = learn(
        &bench,
        &["--start-from", "learned.csv", "--step-size", "2e-3"],
    );
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("the feed-forward to start from does not fit"),
        "{}",
        outcome.stderr
    );
    let outcome = learn(&bench, &["--start-from", "none.csv"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
}

#[test]
fn options_about_fmus_hold_for_learning() {
    let bench = Bench::new();
    let refused = learn(&bench, &["--unpack-limit", "entries=1"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("entries"), "{}", refused.stderr);
    let cache = bench.path("cache");
    let cache_option = format!("--cache={}", cache.display());
    let learned = learn(&bench, &["--iterations", "1", &cache_option]);
    assert_eq!(learned.code, Some(0), "{}", learned.stderr);
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 2);
}

#[test]
fn isolated_components_learn_the_same() {
    let bench = Bench::new();
    let isolated = OSCILLATORS.replace("[components.left]", "[components.left]\nisolate = true");
    let learned = |system: &str, options: &[&str]| {
        bench.write("system.toml", system);
        let arguments = [
            "learn",
            "system.toml",
            "--duration",
            "0.5",
            "-n",
            "2",
            "--json",
        ];
        let outcome = bench.run(arguments.into_iter().chain(options.iter().copied()));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.stdout
    };
    let expected = learned(OSCILLATORS, &[]);
    assert_eq!(learned(OSCILLATORS, &["--isolate"]), expected);
    assert_eq!(learned(&isolated, &[]), expected);
    let outcome = learn(&bench, &["--isolate=lft"]);
    assert_eq!(outcome.code, Some(2));
    let text = outcome.stderr;
    assert!(text.contains("did you mean `left`?"), "{text}");
}

#[test]
fn divergence_ends_learning_and_keeps_the_best_run() {
    let bench = Bench::new();
    // A damper so stiff that its delayed force excites.
    let stiff = [
        "--start-value",
        "left.c_c=1500",
        "--start-value",
        "left.m=10",
    ];
    let last = ["--gain-halvings", "0", "-o", "learned.csv"];
    let outcome = learn(&bench, &[&stiff[..], &last].concat());
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("diverges"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--gain"), "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("run 0 is the best"),
        "{}",
        outcome.stdout
    );
    assert!(
        bench
            .read("learned.csv")
            .starts_with("# gyrator feed-forward 1\n")
    );
}

/// A spring so stiff that the coupling itself explodes: no gain helps, and the iterations end before the halvings.
#[test]
fn learning_that_diverges_with_every_gain_ends_with_a_code_of_its_own() {
    let bench = Bench::new();
    let stiff = ["--start-value", "left.k_c=20000", "--step-size", "5e-3"];
    for iterations in ["1", "2", "3", "9", "20"] {
        let outcome = learn(&bench, &[&stiff[..], &["-n", iterations]].concat());
        assert_eq!(outcome.code, Some(6), "{iterations}: {}", outcome.stdout);
        assert!(
            outcome
                .stderr
                .contains("learning diverges: the error of run")
        );
    }
}

#[test]
fn feed_forward_that_does_not_fit_or_cannot_be_read() {
    let bench = Bench::new();
    assert_eq!(
        learn(&bench, &["-n", "0", "-o", "learned.csv"]).code,
        Some(0)
    );
    let run = |others: &[&str], expected: &str| {
        let common = ["run", "system.toml", "--feed-forward"];
        let outcome = bench.run(common.into_iter().chain(others.iter().copied()));
        assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    };
    run(&["learned.csv", "--duration", "1"], "macro-steps");
    run(&["none.csv"], "cannot read none.csv");
    run(&["system.toml"], "system.toml: line 1: no feed-forward");
}

/// Lines of a feed-forward file without the line of the run from which it was learned.
fn feed_forward(bench: &Bench, name: &str) -> Vec<String> {
    let text = std::fs::read_to_string(bench.path(name)).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("# run "));
    lines.map(str::to_owned).collect()
}

/// The simulated oscillators stand for hardware: learning sees the recordings alone.
#[test]
fn learning_from_recorded_runs_is_learning_to_the_last_bit() {
    let bench = Bench::new();
    let once = |options: &[&str]| {
        let outcome = learn(&bench, options);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.stdout
    };
    let iterations = ["--max-error", "0", "-n", "3", "-o", "whole.csv", "--json"];
    let whole: serde_json::Value = serde_json::from_str(&once(&iterations)).unwrap();
    assert_eq!(whole["best"], 3);
    once(&["--no-run", "-o", "0.csv"]);
    for (number, recording) in ["run0.csv", "run1.csv", "run2.csv"].into_iter().enumerate() {
        let [start, next] = [number, number + 1].map(|number| format!("{number}.csv"));
        let arguments = ["run", "system.toml", "--duration", "0.5", "-q", "-o"];
        let arguments = arguments
            .into_iter()
            .chain([recording, "--feed-forward", &start]);
        let outcome = bench.run(arguments);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        // No FMU is loaded to learn from a recording.
        let common = ["--recorded", recording, "--start-from", &start, "-o", &next];
        let text = once(&[&common[..], &["--max-error", "0", "--json"]].concat());
        let learned: serde_json::Value = serde_json::from_str(&text).unwrap();
        let found = &learned["iterations"][0];
        assert_eq!(*found, whole["iterations"][number]);
    }
    assert_eq!(
        feed_forward(&bench, "3.csv"),
        feed_forward(&bench, "whole.csv")
    );
    let text = once(&[
        "--recorded",
        "run2.csv",
        "--start-from",
        "2.csv",
        "-o",
        "3.csv",
    ]);
    assert!(text.contains("learned from run2.csv"), "{text}");
    // A test bench may call its times otherwise.
    let clock = bench.read("run2.csv").replacen("time", "clock [s]", 1);
    bench.write("clock.csv", &clock);
    let options = "--recorded clock.csv --time-column clock --start-from 2.csv -o 4.csv";
    once(&options.split(' ').collect::<Vec<_>>());
    assert_eq!(feed_forward(&bench, "4.csv"), feed_forward(&bench, "3.csv"));
}

#[test]
fn recordings_of_other_runs_are_refused() {
    let bench = Bench::new();
    let learned = learn(&bench, &["--no-run", "-o", "0.csv"]);
    assert_eq!(learned.code, Some(0), "{}", learned.stderr);
    let common = [
        "--recorded",
        "run.csv",
        "--start-from",
        "0.csv",
        "-o",
        "1.csv",
    ];
    for (text, expected) in [
        (
            "time,right.x\n0,0\n",
            "it has no column of numbers `right.v`",
        ),
        (
            "time,right.x,right.v,left.f\n0,0,0,0\n",
            "it has no row at 0.001 s",
        ),
        (
            "time,right.x,right.v,left.f\n0,0,0,a\n",
            "it has no column of numbers `left.f`",
        ),
        ("time,nonsense\n", "it has no column of numbers `right.x`"),
        ("nonsense\n", "there is no column `time` or `t`"),
    ] {
        bench.write("run.csv", text);
        let refused = learn(&bench, &common);
        assert_eq!(refused.code, Some(3), "{}", refused.stderr);
        assert!(refused.stderr.contains(expected), "{}", refused.stderr);
    }
    let alone = learn(&bench, &["--recorded", "run.csv"]);
    assert_eq!(alone.code, Some(2), "{}", alone.stderr);
}
