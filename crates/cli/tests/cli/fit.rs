//! `gyrator fit`: parameters from measured values.

use crate::bench::{Bench, OSCILLATORS, lines, wait_until};

/// The oscillators with a result of theirs as the measured values, and a fit of two parameters from elsewhere.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        &OSCILLATORS.replace("stop_time = 10.0", "stop_time = 1.0"),
    );
    let outcome = bench.run([
        "run",
        "system.toml",
        "-q",
        "-o",
        "measured.csv",
        "--output-interval",
        "0.02",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    bench.write("fit.toml", FIT);
    bench
}

const FIT: &str = r#"
system = "system.toml"
measured = "measured.csv"
signals = ["left.x", "right.x"]

[parameters]
"left.m" = { start = 1.2, scale = "log" }
"right.k" = { start = 950.0, minimum = 100.0, maximum = 5000.0 }
"#;

/// The start value of a variable of a component in the system file.
fn truth(bench: &Bench, component: &str, variable: &str) -> f64 {
    let value: toml::Table = bench.read("system.toml").parse().unwrap();
    let values = &value["components"][component]["start_values"];
    match &values[variable] {
        toml::Value::Float(value) => *value,
        other => other.as_integer().unwrap() as f64,
    }
}

#[test]
fn parameters_are_recovered_and_a_killed_fit_goes_on_with_the_same_bytes() {
    let bench = bench();
    let outcome = bench.run(["fit", "fit.toml", "-o", "fit.json"]);
    assert_eq!(
        outcome.code,
        Some(0),
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
    assert!(outcome.stdout.contains("round 1: "), "{}", outcome.stdout);
    let found = bench.json("fit.json");
    assert_eq!(found["has_converged"], true);
    let parameters = found["parameters"].as_array().unwrap();
    for (found, (component, variable)) in parameters.iter().zip([("left", "m"), ("right", "k")]) {
        assert_eq!(found["name"], format!("{component}.{variable}"));
        let exact = truth(&bench, component, variable);
        let value = found["value"].as_f64().unwrap();
        assert!((value / exact - 1.0).abs() < 1e-6, "{found}");
    }

    // Killed within its second round, with no round, or with part of one on disk.
    let mut child = bench.start([
        "fit",
        "fit.toml",
        "-o",
        "killed.json",
        "--folder",
        "killed.rounds",
    ]);
    let second = bench.path("killed.rounds/round-002.csv.journal");
    wait_until("the second round has begun", || lines(&second) > 1);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!bench.path("killed.json").exists());
    // The study of the round goes on without its parent for a moment, and is refused or gone on with.
    let resumed = [
        "fit",
        "fit.toml",
        "-q",
        "-o",
        "killed.json",
        "--folder",
        "killed.rounds",
    ];
    wait_until("the fit goes on", || bench.run(resumed).code == Some(0));
    assert_eq!(bench.read("killed.json"), bench.read("fit.json"));
}

#[test]
fn mistakes_are_refused_with_their_places() {
    let bench = bench();
    let refused = |text: &str| {
        bench.write("wrong.toml", text);
        let outcome = bench.run(["fit", "wrong.toml"]);
        assert_eq!(
            outcome.code,
            Some(3),
            "{text}\n{}{}",
            outcome.stdout,
            outcome.stderr
        );
        let words = outcome
            .stderr
            .split(['\n', '│', ' '])
            .filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    };
    let says = |text: &str, message: &str| {
        let found = refused(text);
        assert!(found.contains(message), "{message}: {found}");
    };
    says(&FIT.replace("measured.csv", "none.csv"), "none.csv");
    says(&FIT.replace("system.toml", "none.toml"), "none.toml");
    says(&FIT.replace("\"right.x\"", "\"right.y\""), "right.y");
    says(&FIT.replace("signals", "signal"), "signals");
    says(
        &FIT.replace("minimum = 100.0", "minimum = 990.0"),
        "right.k",
    );
    says(
        &FIT.replace("\"left.m\" =", "\"left.mass\" ="),
        "no variable `mass`",
    );
    says(&FIT.replace("\"log\"", "\"ln\""), "`scale` is");
    says("system = 3", "system");

    // Files of other kinds are named, and so is a fit file.
    for (call, message) in [
        (
            ["fit", "system.toml"],
            "system.toml is a system file, not a fit file",
        ),
        (
            ["fit", "measured.csv"],
            "measured.csv is a table of values by time, not a fit file",
        ),
        (
            ["study", "fit.toml"],
            "fit.toml is a fit file, not a study file\n  help: `gyrator fit fit.toml` takes it",
        ),
    ] {
        let outcome = bench.run(call);
        assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(message), "{}", outcome.stderr);
    }

    // The folder of one fit is not mixed with another one.
    let first = bench.run(["fit", "fit.toml", "-q"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    bench.write("fit.toml", &FIT.replace("950.0", "900.0"));
    let second = bench.run(["fit", "fit.toml", "-q"]);
    assert_ne!(second.code, Some(0));
    assert!(second.stderr.contains("--folder"), "{}", second.stderr);

    // Fewer runs than are needed: the best values so far, and exit code 6.
    bench.write("few.toml", &format!("max_runs = 4\n{FIT}"));
    let few = bench.run(["fit", "few.toml"]);
    assert_eq!(few.code, Some(6), "{}{}", few.stdout, few.stderr);
    assert!(few.stdout.contains("not converged"), "{}", few.stdout);
}
