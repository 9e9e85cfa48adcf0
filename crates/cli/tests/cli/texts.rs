//! Output of the program when all is well.

use crate::bench::{Bench, OSCILLATORS, without_times};

fn help(verb: &[&str]) -> String {
    let outcome = Bench::new().run(verb.iter().copied().chain(["--help"]));
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

#[test]
fn help_of_the_program() {
    insta::assert_snapshot!(help(&[]));
}

#[test]
fn the_version_is_one_line_or_names_commit_and_features() {
    let version = env!("CARGO_PKG_VERSION");
    let short = Bench::new().run(["-V"]);
    assert_eq!(short.stdout, format!("gyrator {version}\n"));
    let long = Bench::new().run(["--version"]).stdout;
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("gyrator {version}"));
    assert!(lines[1].starts_with("commit: "), "{long}");
    assert_eq!(lines[2], "features: benchmark, packed-fmu, parquet, remote");
}

#[test]
fn help_of_run() {
    insta::assert_snapshot!(help(&["run"]));
}

#[test]
fn help_of_simulate() {
    insta::assert_snapshot!(help(&["simulate"]));
}

#[test]
fn help_of_learn() {
    insta::assert_snapshot!(help(&["learn"]));
}

#[test]
fn help_of_inspect() {
    insta::assert_snapshot!(help(&["inspect"]));
}

#[test]
fn help_of_pack() {
    insta::assert_snapshot!(help(&["pack"]));
}

#[test]
fn help_of_plot() {
    insta::assert_snapshot!(help(&["plot"]));
}

#[test]
fn help_of_report() {
    insta::assert_snapshot!(help(&["report"]));
}

#[test]
fn help_of_list() {
    insta::assert_snapshot!(help(&["list"]));
}

#[test]
fn aliases_of_verbs_and_options() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let times = ["--begin-time", "1", "--end-time", "1.5"];
    let outcome = bench.run(["run", "system.toml"].into_iter().chain(times));
    assert!(
        outcome.stdout.contains("t = 1.5 s after 500 steps"),
        "{}",
        outcome.stdout
    );
    let times = ["-b", "-1", "-d", "0.5", "--step-size", "0.01"];
    let outcome = bench.run(
        ["run-single", "fmus/OscillatorForce.fmu"]
            .into_iter()
            .chain(times),
    );
    assert!(
        outcome.stdout.contains("t = -0.5 s after 50 steps"),
        "{}",
        outcome.stdout
    );
    assert_eq!(bench.run(["info", "system.toml"]).code, Some(0));
}

#[test]
fn list() {
    insta::assert_snapshot!(Bench::new().run(["list"]).stdout);
}

#[test]
fn list_for_programs() {
    let outcome = Bench::new().run(["list", "--json"]);
    let registries: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let names = |entry: &serde_json::Value| {
        (
            entry["registry"].as_str().unwrap().to_owned(),
            entry["entries"].as_array().unwrap().len(),
        )
    };
    let found: Vec<_> = registries.as_array().unwrap().iter().map(names).collect();
    let expected = [
        ("methods", gyrator::method::METHODS.len()),
        (
            "extrapolations",
            gyrator::extrapolation::EXTRAPOLATIONS.len(),
        ),
        ("corrections", gyrator::correction::CORRECTIONS.len()),
        ("step controls", gyrator::step_control::STEP_CONTROLS.len()),
        (
            "interface orders",
            gyrator::interface_order::INTERFACE_ORDERS.len(),
        ),
        (
            "exchange modes",
            gyrator::exchange_mode::Exchange::WORDS.len(),
        ),
        ("blocks", gyrator::block::BLOCKS.len()),
        ("actions", gyrator::scenario::ACTIONS.len()),
        ("checks", gyrator_assess::checks::KINDS.len()),
        ("samplings", gyrator_study::SAMPLINGS.len()),
    ];
    assert_eq!(
        found,
        expected.map(|(name, count)| (name.to_owned(), count))
    );
}

#[test]
fn inspect_an_fmu() {
    let text = Bench::new()
        .run(["inspect", "fmus/OscillatorForce.fmu"])
        .stdout;
    insta::with_settings!({filters => vec![(r"\{[0-9a-f-]{36}\}", "{GUID}")]}, {
        insta::assert_snapshot!(text);
    });
}

#[test]
fn inspect_an_fmu_for_programs() {
    let text = Bench::new()
        .run(["inspect", "fmus/OscillatorForce.fmu", "--json"])
        .stdout;
    let facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(facts["model_name"], "OscillatorForce");
    let variables = facts["variables"].as_array().unwrap();
    let force = variables
        .iter()
        .find(|variable| variable["name"] == "f")
        .unwrap();
    assert_eq!(force["direct_feedthrough"], serde_json::json!(["x2", "v2"]));
    let spring = variables
        .iter()
        .find(|variable| variable["name"] == "spring")
        .unwrap();
    assert_eq!(spring["start"], "linear");
}

#[test]
fn inspect_a_system() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    insta::assert_snapshot!(bench.run(["inspect", "system.toml"]).stdout);
}

/// They are about the process that `--start` makes.
#[test]
fn inspect_takes_options_of_the_execution_with_its_start_only() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for option in [
        "--no-supervisor",
        "--timeout=5",
        "--isolate",
        "--memory-limit=500",
        "--worker-threads=2",
        "--no-nan-check",
        "--log-level=info",
    ] {
        for plan in [&[][..], &["--plan"]] {
            let outcome = bench.run([&["inspect", "system.toml", option][..], plan].concat());
            assert_eq!(outcome.code, Some(2), "{option}: {}", outcome.stderr);
            assert!(
                outcome.stderr.contains("--start"),
                "{option}: {}",
                outcome.stderr
            );
            assert_eq!(outcome.stdout, "");
        }
        let outcome = bench.run(["inspect", "system.toml", "--plan", "--start", option]);
        assert_eq!(outcome.code, Some(0), "{option}: {}", outcome.stderr);
    }
}

#[test]
fn summary_of_a_run() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let arguments = [
        "--correction",
        "residual-power",
        "-d",
        "0.1",
        "-o",
        "out.csv",
    ];
    let outcome = bench.run(["run", "system.toml"].into_iter().chain(arguments));
    assert_eq!(outcome.stderr, "");
    insta::assert_snapshot!(without_times(&outcome.stdout));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for verb in [&["list"][..], &["run", "system.toml", "-o", "-"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = bench
            .command(verb.iter().copied())
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{verb:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), "", "{verb:?}");
    }
}
