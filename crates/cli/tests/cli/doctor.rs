//! `gyrator doctor`.

use crate::bench::{Bench, OSCILLATORS};

/// The oscillators at a macro-step.
fn at(step: &str) -> String {
    OSCILLATORS.replace("step_size = 1e-3", &format!("step_size = {step}"))
}

#[test]
fn the_file_that_is_written_runs_and_is_no_worse() {
    let bench = Bench::new();
    let given = format!("# left and right\n{}", at("1e-3"));
    bench.write("system.toml", &given);
    let arguments = ["doctor", "system.toml", "--json", "--write", "better.toml"];
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let found: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(found["stability"]["is_stable"], true);
    assert!(found["steps"].as_f64().unwrap() <= 5000.0);
    assert_eq!(found["hosts"], serde_json::json!([]));
    let verified = &found["proposal"]["verification"];
    let error = |name: &str| verified[name].as_f64().unwrap();
    assert!(error("proposed") < error("given"), "{verified}");
    assert!(bench.read("better.toml").starts_with("# left and right\n"));
    let outcome = bench.run(["run", "better.toml", "--stop-time", "0.1", "-o", "out.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn an_unstable_coupling_fails_as_a_check_does() {
    let bench = Bench::new();
    bench.write("system.toml", &at("0.02"));
    let outcome = bench.run(["doctor", "system.toml"]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("UNSTABLE at this macro-step"),
        "{}",
        outcome.stdout
    );
}

/// Longer macro-steps that short runs promise are too long in whole ones.
#[test]
fn the_given_macro_step_may_have_the_wanted_error() {
    let bench = Bench::new();
    bench.write("system.toml", &at("1e-3"));
    let outcome = bench.run("doctor system.toml -e 1 --error 0.2 --json".split(' '));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let found: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let error = &found["proposal"]["verification"]["proposed"];
    assert!(error.as_f64().unwrap() <= 0.2, "{}", found["proposal"]);
}

/// With more probe steps than these it finds a macro-step of 0.56 ms.
#[test]
fn probe_steps_that_are_spent_are_named() {
    let bench = Bench::new();
    bench.write("system.toml", &at("5e-3"));
    let arguments = ["doctor", "system.toml", "--error", "0.01"];
    let few = arguments.into_iter().chain(["--probe-steps", "1000"]);
    let outcome = bench.run(few);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let words = "no steps or no time left to verify";
    assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
}

/// The steps are spent before a macro-step for the error is found; one that is stable was seen before.
#[test]
fn no_unstable_system_is_written() {
    let bench = Bench::new();
    bench.write("system.toml", &at("0.02"));
    let arguments = "doctor system.toml --error 0.01 --write out.toml --probe-steps";
    let stable = bench.run(arguments.split(' ').chain(["1500"]));
    assert_eq!(stable.code, Some(0), "{}{}", stable.stdout, stable.stderr);
    assert!(
        stable.stdout.contains("stable at this macro-step; "),
        "{}",
        stable.stdout
    );
    assert!(!bench.read("out.toml").contains("step_size = 0.02"));
    std::fs::remove_file(bench.path("out.toml")).unwrap();
    let late = "doctor system.toml --time-limit 1e-9 --json".split(' ');
    let late = bench.run(late);
    assert!(
        late.stdout
            .contains("there is no time left to try other couplings")
    );
}

#[test]
fn mistakes_are_refused_before_any_run() {
    let bench = Bench::new();
    bench.write("system.toml", &at("1e-3"));
    let without = at("1e-3").replace("step_size = 1e-3", "");
    bench.write("without.toml", &without);
    let cases = [
        (&["without.toml"][..], 3, "no macro-step is given"),
        (&["absent.toml"], 3, "absent.toml"),
        (
            &["system.toml", "--write", "out.txt"],
            2,
            "the name must end in .toml",
        ),
        (&["system.toml", "--write", "no/out.toml"], 2, "mkdir -p no"),
        (&["system.toml", "--write", "system.toml"], 2, "system.toml"),
        (&["system.toml", "--probe-steps", "0"], 2, "--probe-steps"),
        (&["system.toml", "--error=-1"], 2, "--error"),
    ];
    for (arguments, code, text) in cases {
        let outcome = bench.run(["doctor"].into_iter().chain(arguments.iter().copied()));
        assert_eq!(
            outcome.code,
            Some(code),
            "{arguments:?}: {}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
    }
}
