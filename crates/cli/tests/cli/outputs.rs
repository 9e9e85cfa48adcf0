//! A loss of written results is always reported, and files of others are never changed.

use crate::bench::{Bench, ProgramOutcome, lines, wait_until};
use crate::fault_table::run;
use crate::faults::FAULTY;

const FILES: [&str; 4] = ["-o", "out.csv", "--summary", "summary.json"];

fn with(bench: &Bench, fault: &str, more: &[&str]) -> ProgramOutcome {
    run(bench, fault, "do_step", &[&FILES[..], more].concat())
}

const WAYS: [&[&str]; 3] = [&[], &["--no-supervisor"], &["--isolate"]];

#[test]
fn r49_a_deleted_result_is_written_again() {
    for way in WAYS {
        let bench = Bench::new();
        let outcome = with(&bench, "delete_results", way);
        assert_eq!(outcome.code, Some(0), "{way:?} {}", outcome.stderr);
        let expected = "warning: out.csv.part was deleted or replaced while the run went on";
        assert!(
            outcome.stderr.contains(expected),
            "{way:?} {}",
            outcome.stderr
        );
        assert_eq!(bench.rows("out.csv").1.len(), 11, "{way:?}");
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

#[test]
fn r49_a_folder_that_is_deleted_is_an_error() {
    for way in WAYS {
        let bench = Bench::new();
        std::fs::create_dir(bench.path("results")).unwrap();
        let more = [&["-o", "results/out.csv"], way].concat();
        let outcome = run(&bench, "delete_folder", "do_step", &more);
        assert_eq!(outcome.code, Some(1), "{way:?} {}", outcome.stderr);
        let expected = "cannot give the result file results/out.csv its name";
        assert!(
            outcome.stderr.contains(expected),
            "{way:?} {}",
            outcome.stderr
        );
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

#[test]
fn r49_a_crash_is_reported_in_the_same_words_with_isolation() {
    let headline = |way: &[&str]| {
        let bench = Bench::new();
        let outcome = with(&bench, "abort", way);
        let line = outcome
            .stderr
            .lines()
            .find(|line| line.starts_with("error:"));
        line.unwrap_or_default().to_owned()
    };
    let expected = "error: bad: SIGABRT (abort) in fmi2DoStep at t = 0.4 s (step 4); \
                    5 rows kept in out.csv";
    assert_eq!(headline(&[]), expected);
    assert_eq!(headline(&["--isolate"]), expected);
}

#[test]
fn r50_a_second_run_with_the_same_output_ends_at_once() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let command = "run system.toml --start-value bad.fault=sleep --stop-time 1e6 -o";
    for (output, part) in [
        ("out.csv", "out.csv.part"),
        ("out.parquet", "out.parquet.csv.part"),
    ] {
        let command = || command.split(' ').chain([output]);
        let mut first = bench.start(command());
        wait_until("rows are on disk", || lines(&bench.path(part)) > 1);
        for way in [None, Some("--no-supervisor")] {
            let second = bench.run(command().chain(way));
            assert_eq!(second.code, Some(1), "{}", second.stderr);
            let expected = "another run is writing it";
            assert!(second.stderr.contains(expected), "{}", second.stderr);
        }
        let before = lines(&bench.path(part));
        wait_until("the first goes on", || lines(&bench.path(part)) > before);
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
        "learn system.toml -o system.toml".to_owned(),
        "study system.toml -o system.toml".to_owned(),
    ] {
        let files = ["in.csv", "system.toml", "faulty.csv", "fmus/Faulty.fmu"];
        let contents = || files.map(|file| std::fs::read(bench.path(file)).unwrap());
        let before = contents();
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(2), "{command}: {}", outcome.stderr);
        assert!(contents() == before, "{command}");
    }
}
