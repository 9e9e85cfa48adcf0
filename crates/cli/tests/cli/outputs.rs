//! A loss of written results is always reported, and files of others are never changed.

use crate::bench::{Bench, ProgramOutcome, lines, wait_until};
use crate::fault_table::run;
use crate::faults::FAULTY;

const FILES: [&str; 4] = ["-o", "out.csv", "--summary", "summary.json"];

fn with(bench: &Bench, fault: &str, more: &[&str]) -> ProgramOutcome {
    run(bench, fault, "do_step", &[&FILES[..], more].concat())
}

const WAYS: [&[&str]; 3] = [&[], &["--no-supervisor"], &["--isolate"]];

/// Reported once, with the rows where the message says.
fn is_displaced(bench: &Bench, outcome: &ProgramOutcome, place: &str) {
    let ProgramOutcome { code, stderr, .. } = outcome;
    assert_eq!(*code, Some(1), "{stderr}");
    let expected =
        "was deleted or replaced by an FMU or another program; all rows are written again, to";
    assert_eq!(stderr.matches(expected).count(), 1, "{stderr}");
    assert!(
        stderr.contains(&format!("{expected} {place}\n")),
        "{stderr}"
    );
    assert!(stderr.starts_with("error: "), "{stderr}");
    let table = gyrator_record::read_table(&bench.path(place)).unwrap();
    assert_eq!(table.time.len(), 11);
    let summary = bench.json("summary.json");
    assert_eq!(summary["stop_reason"], "failed", "{summary}");
}

#[test]
fn r63_a_deleted_result_is_an_error_and_written_anew() {
    for way in WAYS {
        for function in ["do_step", "terminate", "free"] {
            let bench = Bench::new();
            // The FMU of an isolated component is freed with its process.
            let outcome = run(
                &bench,
                "delete_results",
                function,
                &[&FILES[..], way].concat(),
            );
            is_displaced(&bench, &outcome, "out.csv");
        }
    }
}

#[test]
fn r63_a_replaced_result_is_an_error_and_written_anew() {
    for way in WAYS {
        let bench = Bench::new();
        let outcome = with(&bench, "replace_results", way);
        is_displaced(&bench, &outcome, "out.csv");
        assert_eq!(bench.read("out.csv.part"), "the FMU's own");
    }
}

#[test]
fn r63_a_folder_that_is_deleted_is_made_anew() {
    for way in WAYS {
        let bench = Bench::new();
        std::fs::create_dir(bench.path("results")).unwrap();
        let files = ["-o", "results/out.csv", "--summary", "summary.json"];
        let outcome = run(&bench, "delete_folder", "do_step", &[&files, way].concat());
        is_displaced(&bench, &outcome, "results/out.csv");
    }
}

#[cfg(feature = "parquet")]
#[test]
fn r63_a_parquet_file_whose_folder_is_deleted_is_written_anew() {
    for way in WAYS {
        let bench = Bench::new();
        std::fs::create_dir(bench.path("results")).unwrap();
        let files = ["-o", "results/out.parquet", "--summary", "summary.json"];
        let outcome = run(&bench, "delete_folder", "do_step", &[&files, way].concat());
        is_displaced(&bench, &outcome, "results/out.parquet");
    }
}

#[test]
fn r49_a_result_that_is_cut_short_is_an_error() {
    for way in WAYS {
        let bench = Bench::new();
        let outcome = with(&bench, "truncate_results", way);
        assert_eq!(outcome.code, Some(1), "{way:?} {}", outcome.stderr);
        let expected = "error: the result file out.csv was changed by an FMU or another program";
        assert!(
            outcome.stderr.contains(expected),
            "{way:?} {}",
            outcome.stderr
        );
    }
}

#[test]
fn r49_a_file_that_takes_the_place_of_the_result_stays() {
    for way in WAYS {
        let bench = Bench::new();
        let outcome = with(&bench, "occupy_results", way);
        assert_eq!(outcome.code, Some(1), "{way:?} {}", outcome.stderr);
        let expected = "all rows are kept in out.csv.part";
        assert!(
            outcome.stderr.contains(expected),
            "{way:?} {}",
            outcome.stderr
        );
        assert_eq!(bench.read("out.csv"), "the FMU's own");
        assert_eq!(bench.rows("out.csv.part").1.len(), 11);
    }
}

/// Runs that end in whatever way give their result its name; only a killed parent cannot.
#[test]
fn r49_a_failed_run_gives_its_result_its_name() {
    for (fault, code) in [("error", 1), ("segfault", 5), ("none", 0)] {
        for way in [&[][..], &["--isolate"]] {
            let bench = Bench::new();
            bench.write("out.csv", "of an earlier run");
            let outcome = with(&bench, fault, way);
            assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
            assert!(!bench.path("out.csv.part").exists());
            let rows = if code == 0 { 11 } else { 5 };
            assert_eq!(bench.rows("out.csv").1.len(), rows);
        }
    }
}

/// In one message, and in the same words with isolation.
#[test]
fn r68_a_crash_is_told_once() {
    for (fault, expected) in [
        (
            "abort",
            "error: bad: SIGABRT (abort) in fmi2DoStep at t = 0.4 s (step 4); \
             5 rows kept in out.csv\n",
        ),
        (
            "segfault",
            "error: bad: SIGSEGV in fmi2DoStep at t = 0.4 s (step 4), in Faulty.so; \
             5 rows kept in out.csv\n",
        ),
    ] {
        for way in [&[][..], &["--isolate"], &["--isolate", "--no-supervisor"]] {
            let bench = Bench::new();
            let outcome = with(&bench, fault, way);
            assert_eq!(outcome.stderr, expected, "{way:?}");
            let summary = bench.json("summary.json");
            assert_eq!(summary["stop_reason"], "crashed", "{way:?}");
            assert_eq!(summary["components_in_call"][0], "bad", "{way:?}");
            assert_eq!(summary["steps"], 4, "{way:?}");
            assert_eq!(summary["output"]["rows"], 5, "{way:?}");
        }
    }
}

/// The keys of an object, and of the objects in it that are there.
fn keys(value: &serde_json::Value, prefix: &str) -> std::collections::BTreeSet<String> {
    let mut found = std::collections::BTreeSet::new();
    for (key, value) in value.as_object().into_iter().flatten() {
        found.insert(format!("{prefix}{key}"));
        found.extend(keys(value, &format!("{prefix}{key}.")));
    }
    found
}

#[test]
fn r68_summaries_have_the_same_keys_however_a_run_ends() {
    let summary_of = |fault: &str, function: &str, way: &[&str]| {
        let bench = Bench::new();
        run(&bench, fault, function, &[&FILES[..], way].concat());
        bench.json("summary.json")
    };
    let finished = summary_of("none", "do_step", &[]);
    let mut others = vec![
        summary_of("none", "do_step", &["--no-supervisor"]),
        summary_of("segfault", "do_step", &[]),
        summary_of("segfault", "do_step", &["--isolate"]),
        summary_of("segfault", "do_step", &["--isolate", "--no-supervisor"]),
        summary_of("error", "do_step", &[]),
        summary_of("error", "initialization", &[]),
        summary_of("segfault", "initialization", &["--isolate"]),
        summary_of("none", "do_step", &["--memory-limit", "1"]),
    ];
    for way in [None, Some("--no-supervisor")] {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        let command = "run system.toml --start-value bad.fault=sleep --stop-time 1e6";
        let mut child = bench.start(command.split(' ').chain(FILES).chain(way));
        wait_until("rows are on disk", || {
            lines(&bench.path("out.csv.part")) > 1
        });
        let number = child.id().to_string();
        let kill = std::process::Command::new("kill")
            .args(["-INT", &number])
            .status();
        assert!(kill.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{way:?}");
        others.push(bench.json("summary.json"));
    }
    let top = |summary: &serde_json::Value| -> Vec<String> {
        summary.as_object().unwrap().keys().cloned().collect()
    };
    for other in &others {
        assert_eq!(top(other), top(&finished), "{other}");
        // An object of unknown members is null as a whole.
        let more = &keys(other, "") - &keys(&finished, "");
        assert!(more.is_empty(), "{more:?} in {other}");
        let is_reason = |word: &str| other["stop_reason"] == word;
        let known = [
            "stop-time",
            "crashed",
            "failed",
            "memory-limit",
            "interrupted",
        ];
        assert!(known.into_iter().any(is_reason), "{other}");
    }
}

#[test]
fn r50_a_second_run_with_the_same_output_ends_at_once() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let command = "run system.toml --start-value bad.fault=sleep --stop-time 1e6 -o";
    for (output, part) in [
        ("out.csv", "out.csv.part"),
        ("out.parquet", "out.parquet.part"),
    ] {
        let command = || command.split(' ').chain([output]);
        let mut first = bench.start(command());
        let length = || bench.path(part).metadata().map_or(0, |file| file.len());
        wait_until("rows are on disk", || length() > 1000);
        for way in [None, Some("--no-supervisor")] {
            let second = bench.run(command().chain(way));
            assert_eq!(second.code, Some(1), "{}", second.stderr);
            let expected = "another run is writing it";
            assert!(second.stderr.contains(expected), "{}", second.stderr);
        }
        let before = length();
        wait_until("the first goes on", || length() > before);
        first.kill().unwrap();
        first.wait().unwrap();
    }
}

/// An earlier result or summary does not stand for a run that does not begin.
#[test]
fn r51_a_summary_is_written_whatever_happens() {
    let expected = |bench: &Bench, outcome: &ProgramOutcome, code: i32, reason: &str| {
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        let summary = bench.json("summary.json");
        assert_eq!(summary["stop_reason"], reason, "{summary}");
        summary
    };
    let finished = {
        let bench = Bench::new();
        let outcome = with(&bench, "none", &[]);
        expected(&bench, &outcome, 0, "stop-time")
    };
    let keys = |summary: &serde_json::Value| -> Vec<String> {
        summary.as_object().unwrap().keys().cloned().collect()
    };
    for (fault, function, more, code, reason) in [
        ("error", "initialization", &[][..], 1, "failed"),
        ("segfault", "initialization", &[], 5, "crashed"),
        ("segfault", "do_step", &[], 5, "crashed"),
        (
            "none",
            "do_step",
            &["--start-value", "bad.no=1"],
            3,
            "failed",
        ),
        ("none", "do_step", &["--isolate=bat"], 2, "failed"),
    ] {
        let bench = Bench::new();
        with(&bench, "none", &[]);
        let outcome = run(&bench, fault, function, &[&FILES[..], more].concat());
        let summary = expected(&bench, &outcome, code, reason);
        assert_eq!(keys(&summary), keys(&finished));
        assert!(!summary["stop_detail"].as_str().unwrap().is_empty());
    }
    let bench = Bench::new();
    with(&bench, "error", &[]);
    bench.write("system.toml", "[experiment");
    let outcome = bench.run(["run", "system.toml", "--summary", "summary.json"]);
    expected(&bench, &outcome, 3, "failed");
}

#[test]
fn r51_an_earlier_result_is_gone_where_a_run_does_not_begin() {
    let bench = Bench::new();
    with(&bench, "none", &[]);
    let outcome = run(&bench, "error", "initialization", &FILES);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(!bench.path("out.csv").exists());
    assert!(!bench.path("out.csv.part").exists());
}

#[test]
fn r52_no_input_is_overwritten() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    bench.write("in.csv", "time,u\n0,0\n");
    std::fs::hard_link(bench.path("in.csv"), bench.path("link.csv")).unwrap();
    bench.write(
        "mapping.toml",
        &FAULTY.replace("fmus/Faulty.fmu", "faulty.csv"),
    );
    std::fs::copy(bench.path("fmus/Faulty.fmu"), bench.path("faulty.csv")).unwrap();
    bench.write("including.toml", "include = [\"included.toml\"]\n");
    bench.write("included.toml", FAULTY);
    let simulate = "simulate fmus/Faulty.fmu --step-size 0.1 -e 1";
    for command in [
        format!("{simulate} --input-file in.csv -o in.csv"),
        format!("{simulate} --input-file in.csv -o link.csv"),
        format!("{simulate} --input-file in.csv --summary in.csv"),
        format!("{simulate} --summary fmus/Faulty.fmu"),
        format!("{simulate} -o out.csv --summary ./out.csv"),
        "run system.toml --summary system.toml".to_owned(),
        "run system.toml --feed-forward in.csv -o in.csv".to_owned(),
        "run mapping.toml -o faulty.csv".to_owned(),
        "run mapping.toml --summary faulty.csv".to_owned(),
        "run including.toml -o included.toml".to_owned(),
        "run including.toml --summary included.toml".to_owned(),
        "learn including.toml -o included.toml".to_owned(),
        "learn system.toml -o system.toml".to_owned(),
        "study system.toml -o system.toml".to_owned(),
    ] {
        let files = [
            "in.csv",
            "system.toml",
            "faulty.csv",
            "fmus/Faulty.fmu",
            "included.toml",
        ];
        let contents = || files.map(|file| std::fs::read(bench.path(file)).unwrap());
        let before = contents();
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(2), "{command}: {}", outcome.stderr);
        assert!(contents() == before, "{command}");
    }
}
