//! Wrong system files, FMUs and command lines: exit codes and messages.

use crate::bench::{Bench, OSCILLATORS};

/// Messages of `gyrator run` about the oscillators with one text in place of another.
fn message(changes: &[(&str, &str)]) -> String {
    let mut text = OSCILLATORS.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let bench = Bench::new();
    bench.write("system.toml", &text);
    let outcome = bench.run(["run", "system.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, "");
    outcome.stderr
}

#[test]
fn misspelt_key() {
    insta::assert_snapshot!(message(&[("step_size", "step_sise")]));
}

#[test]
fn broken_toml() {
    insta::assert_snapshot!(message(&[("stop_time = 10.0", "stop_time = 10.0.0")]));
}

#[test]
fn unknown_variable() {
    insta::assert_snapshot!(message(&[("\"left.x2\"", "\"left.x3\"")]));
}

#[test]
fn causality_mismatch() {
    insta::assert_snapshot!(message(&[("from = \"right.x\"", "from = \"right.m\"")]));
}

#[test]
fn input_fed_twice() {
    insta::assert_snapshot!(message(&[("to = \"left.x2\"", "to = \"left.v2\"")]));
}

#[test]
fn step_that_does_not_divide() {
    let fmu = "fmu = \"fmus/OscillatorMotion.fmu\"";
    insta::assert_snapshot!(message(&[(fmu, &format!("{fmu}\nstep_size = 3e-4"))]));
}

#[test]
fn bond_that_does_not_pair() {
    let (right, wrong) = (
        "from = \"right.v\", to = \"left.v2\"",
        "from = \"left.v\", to = \"right.f\"",
    );
    insta::assert_snapshot!(message(&[(right, wrong)]));
}

#[test]
fn types_that_do_not_fit() {
    let fmu = "fmu = \"fmus/OscillatorMotion.fmu\"";
    let changes = [
        (fmu, "fmu = \"fmus/AllTypes.fmu\""),
        (
            "start_values = { m = 1.0, k = 1000.0, v_start = -100.0 }",
            "",
        ),
        ("right.x\"", "right.string_out\""),
        ("to = \"right.f\"", "to = \"right.real_in\""),
        ("from = \"right.v\"", "from = \"right.real_out\""),
    ];
    insta::assert_snapshot!(message(&changes));
}

#[test]
fn several_at_once() {
    let changes = [
        ("k_c = 100.0", "kc = true"),
        ("\"left.x2\"", "\"left.x\""),
        ("to = \"right.f\"", "to = \"right.force\""),
        ("v_start = -100.0", "v_start = \"fast\""),
    ];
    insta::assert_snapshot!(message(&changes));
}

#[test]
fn no_stop_time() {
    insta::assert_snapshot!(message(&[("stop_time = 10.0\n", "")]));
}

#[test]
fn inspect_shows_the_system_and_its_problems() {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        &OSCILLATORS.replace("\"left.x2\"", "\"left.x\""),
    );
    let outcome = bench.run(["inspect", "system.toml"]);
    assert_eq!(outcome.code, Some(3));
    assert!(
        outcome
            .stdout
            .contains("2 components, 1 connection, 1 power bond")
    );
    assert!(
        outcome.stderr.contains("causality-mismatch"),
        "{}",
        outcome.stderr
    );
}

/// Exit code and message.
fn stderr_of(bench: &Bench, arguments: &[&str]) -> String {
    let outcome = bench.run(arguments.iter().copied());
    format!(
        "$ gyrator {}\n{}exit code {}\n",
        arguments.join(" "),
        outcome.stderr,
        outcome.code.unwrap()
    )
}

#[test]
fn wrong_use() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let calls: [&[&str]; 9] = [
        &["rum", "system.toml"],
        &["run", "system.toml", "--stop", "1"],
        &["run", "system.toml", "--stop-time", "soon"],
        &["run", "system.toml", "--step-size", "0"],
        &["run", "system.toml", "--stop-time", "1", "--duration", "1"],
        &["run", "system.toml", "--start-value", "left.m"],
        &["run", "system.toml", "--start-value", "lefft.m=2"],
        &[
            "run",
            "system.toml",
            "-o",
            "out.csv",
            "--output-variable",
            "left.y",
        ],
        &["run", "system.toml", "-o", "out.txt"],
    ];
    let texts: Vec<String> = calls.iter().map(|call| stderr_of(&bench, call)).collect();
    assert!(
        texts.iter().all(|text| text.ends_with("exit code 2\n")),
        "{texts:?}"
    );
    assert!(!bench.path("out.csv").exists());
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn fmus_and_files_that_do_not_load() {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        &OSCILLATORS.replace("OscillatorForce.fmu", "Missing.fmu"),
    );
    bench.alter_fmu("Faulty", "guid.fmu", |text| {
        let Some(start) = text.find("guid=\"") else {
            return text.to_owned();
        };
        format!(
            "{}guid=\"{{wrong}}\" {}",
            &text[..start],
            &text[start + 45..]
        )
    });
    bench.alter_fmu("Faulty", "windows.fmu", |text| {
        text.replace("linux64/Faulty.so", "win64/Faulty.dll")
    });
    bench.write("text.fmu", "version https://git-lfs.github.com/spec/v1\n");
    let calls: [&[&str]; 7] = [
        &["run", "missing.toml"],
        &["run", "system.toml"],
        &["simulate", "missing.fmu"],
        &["simulate", "text.fmu"],
        &["inspect", "text.fmu"],
        &["simulate", "windows.fmu"],
        &["simulate", "guid.fmu", "--log-level", "off"],
    ];
    let texts: Vec<String> = calls.iter().map(|call| stderr_of(&bench, call)).collect();
    insta::with_settings!({filters => vec![(r"\{[0-9a-f-]{36}\}", "{GUID}")]}, {
        insta::assert_snapshot!(texts.join("\n"));
    });
}

#[test]
fn results_that_cannot_be_written() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let missing_folder = stderr_of(&bench, &["run", "system.toml", "-o", "nowhere/out.csv"]);
    let missing_summary = stderr_of(
        &bench,
        &[
            "run",
            "system.toml",
            "-d",
            "1e-3",
            "--summary",
            "nowhere/s.json",
        ],
    );
    insta::assert_snapshot!(format!("{missing_folder}\n{missing_summary}"));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    std::os::unix::fs::symlink("/dev/full", bench.path("out.csv")).unwrap();
    let text = stderr_of(&bench, &["run", "system.toml", "-o", "out.csv"]);
    assert!(
        text.contains("No space left on device") && text.ends_with("exit code 1\n"),
        "{text}"
    );
}
