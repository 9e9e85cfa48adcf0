//! Wrong system files, FMUs and command lines: exit codes and messages.

use crate::bench::{Bench, OSCILLATORS};

/// Messages of `gyrator run` about the oscillators with one text instead of another.
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

/// The folder of a bench in messages.
const FOLDER: (&str, &str) = (r"/\S*/\.tmp\w+", "[FOLDER]");

#[test]
fn mistakes_of_all_phases_are_shown_at_once() {
    let changes = [
        ("step_size", "step_sise"),
        ("OscillatorForce.fmu", "Missing.fmu"),
        ("v_start = -100.0", "v_begin = -100.0"),
    ];
    let mut text = OSCILLATORS.to_owned();
    for (from, to) in changes {
        text = text.replacen(from, to, 1);
    }
    text.push_str("\n[[connections]]\nfrom = \"middle.x\"\nto = \"right.f\"\n");
    text.push_str("\n[[connections]]\nfrom = \"right.y\"\nto = \"right.g\"\n");
    // The other end of this one is in the component whose FMU is missing.
    text.push_str("\n[[connections]]\nfrom = \"right.z\"\nto = \"left.x3\"\n");
    let bench = Bench::new();
    bench.write("system.toml", &text);
    let text = stderr_of(&bench, &["run", "system.toml"]);
    assert!(text.ends_with("exit code 3\n"), "{text}");
    insta::with_settings!({filters => vec![FOLDER]}, {
        insta::assert_snapshot!(text);
    });
}

/// Errors of one file do not hide each other: errors of its keys, its words, its bonds and its FMUs.
#[test]
fn an_unknown_key_hides_no_other_error() {
    let changes = [
        (
            "method = \"jacobi\"",
            "method = \"jacob\"\nstep_control = \"eco\"",
        ),
        ("extrapolation = \"hold\"", "extrapolation = \"held\""),
        ("v_start = -100.0", "v_begin = -100.0"),
        ("to = \"left.x2\"", "to = \"left.x3\""),
        (
            "name = \"coupling\"",
            "name = \"coupling\"\ncorrection = \"residual\"",
        ),
    ];
    let mut text = OSCILLATORS.to_owned();
    for (from, to) in changes {
        assert!(text.contains(from), "{from}");
        text = text.replacen(from, to, 1);
    }
    let bench = Bench::new();
    bench.write("six.toml", &text);
    let seven = text.replacen("exchange", "exchanges", 1);
    bench.write("seven.toml", &seven);
    bench.write(
        "checks.toml",
        "[[checks]]\nsignal = \"*.x\"\nnever_above = 1.0\n",
    );
    for (file, count) in [("six.toml", 6), ("seven.toml", 7)] {
        let check = ["--check", "checks.toml", "--junit", "junit.xml"];
        let outcome = bench.run([&["run", file, "--summary", "s.json"], &check[..]].concat());
        assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
        let errors = outcome.stderr.matches("error[").count();
        assert_eq!(errors, count, "{file}: {}", outcome.stderr);
        // Also for programs: with the lines of the file.
        let report = bench.read("junit.xml");
        let lines = report.matches(&format!("{file}:")).count();
        assert!(lines >= count, "{report}");
        assert!(report.contains("left` has no variable `x3`"), "{report}");
        let detail = bench.json("s.json")["stop_detail"]
            .as_str()
            .unwrap()
            .to_owned();
        assert_eq!(detail.lines().count(), count, "{detail}");
    }
}

#[test]
fn a_single_error_has_its_line_in_reports() {
    let bench = Bench::new();
    bench.write(
        "checks.toml",
        "[[checks]]\nsignal = \"*.x\"\nnever_above = 1.0\n",
    );
    for (from, to, code) in [
        ("exchange", "exchanges", 3),
        ("method = \"jacobi\"", "method = \"jacob\"", 3),
        ("OscillatorForce.fmu", "Gone.fmu", 4),
    ] {
        let text = OSCILLATORS.replacen(from, to, 1);
        let line = 1 + text.split_once(to).unwrap().0.matches('\n').count();
        bench.write("one.toml", &text);
        let files = ["--junit", "junit.xml", "--summary", "s.json"];
        let check = ["run", "one.toml", "--check", "checks.toml"];
        let outcome = bench.run([&check[..], &files].concat());
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        let place = format!("one.toml:{line}: ");
        let report = bench.read("junit.xml");
        assert!(report.contains(&place), "{place} {report}");
        let summary = bench.json("s.json");
        let detail = summary["stop_detail"].as_str().unwrap();
        assert!(detail.starts_with(&place), "{place} {detail}");
    }
}

#[test]
fn files_of_other_kinds_are_named() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("study.toml", "system = \"system.toml\"\n");
    bench.write("of_fmu.toml", "system = \"three.fmu\"\n");
    bench.write("data.json", "{\"a\": 1}");
    bench.write("result.csv", "time,left.x\n0,0\n");
    bench.write("OspSystemStructure.xml", "<OspSystemStructure/>");
    std::fs::create_dir(bench.path("folder")).unwrap();
    bench.run(["export", "system.toml", "-o", "system.ssp"]);
    std::fs::copy(bench.path("system.ssp"), bench.path("package")).unwrap();
    for (version, name) in [("1.0", "one.fmu"), ("3.0", "three.fmu")] {
        let version = format!("fmiVersion=\"{version}\"");
        bench.alter_fmu("OscillatorForce", name, |text| {
            text.replace("fmiVersion=\"2.0\"", &version)
        });
    }
    let fmu = "fmus/OscillatorForce.fmu";
    let calls: [&[&str]; 19] = [
        &["run", fmu],
        &["run", "three.fmu"],
        &["run", "data.json"],
        &["run", "study.toml"],
        &["run", "folder"],
        &["simulate", "system.toml"],
        &["simulate", "package"],
        &["simulate", "."],
        &["simulate", "one.fmu"],
        &["inspect", "three.fmu"],
        &["inspect", "data.json"],
        &["validate", "system.ssp"],
        &["validate", "data.json"],
        &["compare", "result.csv", fmu],
        &["study", "system.toml", "-o", "out.csv"],
        &["study", "list", "of_fmu.toml"],
        &["learn", "three.fmu"],
        &["export", fmu, "-o", "out.ssp"],
        &[
            "simulate",
            fmu,
            "--input-file",
            "data.json",
            "--step-size",
            "1",
        ],
    ];
    let texts: Vec<String> = calls.iter().map(|call| stderr_of(&bench, call)).collect();
    assert!(
        texts.iter().all(|text| text.ends_with("exit code 3\n")),
        "{texts:?}"
    );
    insta::assert_snapshot!(texts.join("\n"));
    let outcome = bench.run(["run", "package", "-e", "0.01"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome = bench.run(["validate", "three.fmu"]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let findings = outcome.stdout.lines().filter(|line| line.starts_with(' '));
    assert_eq!(findings.count(), 1, "{}", outcome.stdout);
}

/// An archive or folder with one folder around everything: the file that is found is named.
#[test]
fn a_folder_around_everything_is_named() {
    use std::io::Write as _;
    let bench = Bench::new();
    let archive = |name: &str, entry: &str| {
        let mut zip = zip::ZipWriter::new(std::fs::File::create(bench.path(name)).unwrap());
        let options = zip::write::SimpleFileOptions::default();
        zip.start_file(entry, options).unwrap();
        zip.write_all(b"<a/>").unwrap();
        zip.finish().unwrap();
    };
    archive("system.ssp", "drive/SystemStructure.ssd");
    archive("model.fmu", "motor/modelDescription.xml");
    std::fs::create_dir_all(bench.path("outer/inner")).unwrap();
    bench.write(
        "outer/inner/SystemStructure.ssd",
        "<SystemStructureDescription/>",
    );
    for (path, found) in [
        ("system.ssp", "drive/SystemStructure.ssd"),
        ("model.fmu", "motor/modelDescription.xml"),
        ("outer", "`outer/inner`"),
    ] {
        let text = stderr_of(&bench, &["run", path]);
        assert!(
            text.contains(found) && text.ends_with("exit code 3\n"),
            "{text}"
        );
    }
}

#[test]
fn an_assignment_alone_is_advised() {
    let bench = Bench::new();
    let text = stderr_of(&bench, &["simulate", "fmus/OscillatorForce.fmu", "m=2"]);
    assert!(
        text.contains("'--start-value m=2'") && text.ends_with("exit code 2\n"),
        "{text}"
    );
    let text = stderr_of(&bench, &["compare", "a.csv", "b.csv", "m=2"]);
    assert!(!text.contains("--start-value"), "{text}");
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
    let filters = vec![(r"\{[0-9a-f-]{36}\}", "{GUID}"), FOLDER];
    insta::with_settings!({filters => filters}, {
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

#[test]
fn negative_numbers_are_values_of_options() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for (option, reason) in [
        ("--step-size", "it must be positive"),
        ("--timeout", "it must not be negative"),
        ("--worker-threads", "-1 is not in 1..=1024"),
    ] {
        let text = stderr_of(&bench, &["run", "system.toml", option, "-1"]);
        let expected = format!("error: invalid value '-1' for '{option} <");
        assert!(text.contains(&expected), "{text}");
        assert!(text.contains(reason), "{text}");
    }
}

#[test]
fn start_values_of_texts_that_look_like_numbers() {
    let bench = Bench::new();
    let run = |value: &str| {
        let values = ["--step-size", "1", "-e", "1", "--start-value", value];
        bench.run(["simulate", "fmus/AllTypes.fmu"].into_iter().chain(values))
    };
    let outcome = run("string_in=1");
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let help = "a shell takes quotes away: `--start-value 'NAME=\"1\"'` passes them on";
    assert!(outcome.stderr.contains(help), "{}", outcome.stderr);
    assert_eq!(run("string_in=\"1\"").code, Some(0));
}

/// The variables of a block are not to be found by inspection of an FMU.
#[test]
fn the_few_variables_of_a_block_are_listed() {
    let bench = Bench::new();
    let system = "experiment = { stop_time = 1, step_size = 0.1 }\nconnections = [[\"a.y\", \"b.volume\"]]\n\
                  components = { a.block = \"sine\", b.block = \"gain\" }\n";
    bench.write("system.toml", system);
    let outcome = bench.run(["run", "system.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("it has `u`, `y`"),
        "{}",
        outcome.stderr
    );
}
