//! What a run of a study leaves in its process and on the disk changes no other run.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use crate::bench::{Bench, ProgramOutcome};
use crate::foreign_fmus::archive;
use crate::validation::PLATFORM;

/// Threads that make runs at the same time.
const THREADS: [&str; 3] = ["1", "2", "8"];

/// Writes `leaving.fmu`, which leaves what a word of `leaving.c` says; with further attributes of its description.
fn leaving(bench: &Bench, leaves: &str, attributes: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/leaving.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let made = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-w", "-o", "leaving.so"])
        .arg(format!("-DLEAVES={leaves}"))
        .arg(source)
        .current_dir(bench.path("."))
        .status();
    assert!(made.unwrap().success(), "the C compiler failed");
    let description = format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Leaving" guid="{{leaving}}">
  <CoSimulation modelIdentifier="leaving" {attributes}/>
  <ModelVariables>
    <ScalarVariable name="y" valueReference="0" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="k" valueReference="1" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1"/></Outputs></ModelStructure>
</fmiModelDescription>"#
    );
    let library = std::fs::read(bench.path("leaving.so")).unwrap();
    let file = format!("binaries/{PLATFORM}/leaving.so");
    let files = [(&*file, &*library), ("resources/count.txt", b"1")];
    archive(bench, "leaving.fmu", &description, &files);
    bench.write(
        "system.toml",
        "[experiment]\nstop_time = 0.3\nstep_size = 0.1\n[components.a]\nfmu = \"leaving.fmu\"\n",
    );
}

/// A study of these values of k.
fn study(bench: &Bench, values: impl Iterator<Item = i32>) {
    let mut text = "system = \"system.toml\"\n[[vary]]\ngrid = { \"a.k\" = [".to_owned();
    for value in values {
        let _ = write!(text, "{value}.0, ");
    }
    text.push_str("] }\n[metrics]\nfinal = \"a.y\"\n");
    bench.write("study.toml", &text);
}

/// Makes the study anew, in a process that may open so many files.
fn made(bench: &Bench, files: u32, options: &[&str]) -> ProgramOutcome {
    for file in ["study.csv", "study.csv.journal"] {
        let _ = std::fs::remove_file(bench.path(file));
    }
    let script = format!("ulimit -n {files}; exec \"$0\" study study.toml \"$@\"");
    let mut command = Command::new("sh");
    let command = command.args(["-c", &script, env!("CARGO_BIN_EXE_gyrator")]);
    let command = command.args(options).current_dir(bench.path("."));
    let output = command.output().unwrap();
    ProgramOutcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// k, the stop reason and y of each row; a message between them may have commas.
fn rows(bench: &Bench) -> Vec<(f64, String, Option<f64>)> {
    let table = bench.read("study.csv");
    assert!(
        table.starts_with("case,a.k,stop_reason,message,"),
        "{table}"
    );
    let row = |line: &str| {
        let mut cells = line.split(',');
        let k = cells.nth(1).unwrap().parse().unwrap();
        let reason = cells.next().unwrap().to_owned();
        (k, reason, cells.next_back().unwrap().parse().ok())
    };
    table.lines().skip(1).map(row).collect()
}

/// Asserts that y = k in all rows, of which there are so many.
fn assert_right(bench: &Bench, count: usize, what: &str) {
    let rows = rows(bench);
    assert_eq!(rows.len(), count, "{what}");
    for (k, reason, y) in rows {
        assert_eq!((reason.as_str(), y), ("stop-time", Some(k)), "{what}");
    }
}

#[test]
fn files_that_runs_write_are_seen_by_no_other_run() {
    for leaves in [
        "NOTHING",
        "WORKING_FILE",
        "RESOURCE_FILE",
        "CHANGED_RESOURCE",
    ] {
        let bench = Bench::new();
        leaving(&bench, leaves, "");
        study(&bench, 1..=40);
        let mut tables = Vec::new();
        for threads in THREADS {
            let outcome = made(&bench, 1024, &["--worker-threads", threads]);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            let what = format!("{leaves}, {threads} threads");
            assert_right(&bench, 40, &what);
            let notes: Vec<&str> = outcome.stderr.lines().collect();
            let expected = match leaves {
                "NOTHING" => "",
                "WORKING_FILE" => "note: FMUs write files to the working directory (scratch.txt)",
                "RESOURCE_FILE" => "leaving.fmu writes among its own files (resources/scratch.txt)",
                _ => "leaving.fmu writes among its own files (resources/count.txt)",
            };
            assert_eq!(
                notes.len(),
                usize::from(!expected.is_empty()),
                "{what}: {notes:?}"
            );
            assert!(outcome.stderr.contains(expected), "{what}: {notes:?}");
            tables.push(bench.read("study.csv"));
        }
        assert!(tables.iter().all(|table| *table == tables[0]), "{leaves}");
        assert!(!bench.path("scratch.txt").exists(), "{leaves}");
        assert!(!bench.path("study.csv.runs").exists(), "{leaves}");
    }
}

/// Root may write to a cache, which all threads have in common.
#[test]
fn files_in_a_cache_are_changed_for_no_other_run() {
    let bench = Bench::new();
    leaving(&bench, "CHANGED_RESOURCE", "");
    study(&bench, 1..=20);
    for threads in THREADS {
        let options = ["--cache=cache", "--worker-threads", threads];
        let outcome = made(&bench, 1024, &options);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_right(&bench, 20, threads);
    }
}

#[test]
fn directories_of_runs_are_kept_on_request_unless_they_are_empty() {
    let bench = Bench::new();
    leaving(&bench, "WORKING_FILE", "");
    study(&bench, 1..=6);
    let kept = ["--keep-run-directories", "--worker-threads", "2"];
    let outcome = made(&bench, 1024, &kept);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    assert_right(&bench, 6, "kept");
    for row in 1..=6 {
        let file = format!("study.csv.runs/{row}/scratch.txt");
        assert_eq!(bench.read(&file), row.to_string());
    }
    std::fs::remove_dir_all(bench.path("study.csv.runs")).unwrap();
    leaving(&bench, "NOTHING", "");
    let outcome = made(&bench, 1024, &kept);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    let entries = std::fs::read_dir(bench.path("study.csv.runs")).unwrap();
    assert_eq!(entries.count(), 0);
}

/// 60 runs need 1800 descriptors, or as many keys, of which a process has 1024.
#[test]
fn a_case_that_does_not_start_after_many_is_made_again_by_itself() {
    for leaves in ["DESCRIPTORS", "KEYS"] {
        let bench = Bench::new();
        leaving(&bench, leaves, "");
        study(&bench, 1..=60);
        for threads in THREADS {
            let outcome = made(&bench, 1024, &["--worker-threads", threads]);
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            assert_right(&bench, 60, &format!("{leaves}, {threads} threads"));
            assert!(
                outcome.stdout.contains("time: 60 runs in "),
                "{}",
                outcome.stdout
            );
        }
    }
}

/// A worker whose FMU goes wrong without a word after 128 instances is replaced before that.
#[test]
fn a_worker_loads_a_limited_number_of_libraries() {
    let bench = Bench::new();
    leaving(
        &bench,
        "FEW_KEYS",
        "canBeInstantiatedOnlyOncePerProcess=\"true\"",
    );
    study(&bench, 1..=260);
    let outcome = made(&bench, 1024, &["--worker-threads", "2"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_right(&bench, 260, "keys");
}

/// Rows that the FMU itself refuses stay rows, and are counted.
#[test]
fn cases_that_fail_by_themselves_are_rows_and_counted() {
    let bench = Bench::new();
    leaving(&bench, "DESCRIPTORS", "");
    study(&bench, (1..=60).map(|k| if k % 5 == 0 { -k } else { k }));
    let outcome = made(&bench, 1024, &["--worker-threads", "2"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for (k, reason, y) in rows(&bench) {
        let expected = if k < 0.0 {
            ("failed", None)
        } else {
            ("stop-time", Some(k))
        };
        assert_eq!((reason.as_str(), y), expected, "{k}");
    }
    let last = outcome.stdout.lines().last().unwrap();
    assert!(last.ends_with("; 12 of 60 rows failed"), "{last}");
}

/// A process that has no descriptors from its beginning makes no row of it.
#[test]
fn a_row_that_gyrator_cannot_make_is_none() {
    let bench = Bench::new();
    leaving(&bench, "DESCRIPTORS", "");
    study(&bench, 1..=4);
    let outcome = made(&bench, 1024, &["--no-supervisor", "--worker-threads", "1"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    study(&bench, 1..=60);
    let outcome = made(&bench, 1024, &["--no-supervisor", "--worker-threads", "1"]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("the same command goes on"),
        "{}",
        outcome.stderr
    );
    assert!(!bench.path("study.csv").exists());
    let journal = bench.read("study.csv.journal");
    assert!(!journal.contains("not-loaded"), "{journal}");
}

/// Two instances of a run share a working directory and files of the FMU, unless they are isolated.
#[test]
fn isolated_instances_have_directories_of_their_own() {
    for (leaves, note) in [
        ("WORKING_FILE", ""),
        (
            "RESOURCE_FILE",
            "(resources/scratch.txt), which a, b share in this process",
        ),
    ] {
        let bench = Bench::new();
        leaving(&bench, leaves, "");
        let component = |name, k| {
            format!("[components.{name}]\nfmu = \"leaving.fmu\"\nstart_values = {{ k = {k} }}\n")
        };
        let head = "[experiment]\nstop_time = 0.3\nstep_size = 0.1\n";
        bench.write(
            "two.toml",
            &[head, &component("a", 5), &component("b", 7)].concat(),
        );
        let outcome = bench.run(["run", "two.toml", "-o", "shared.csv"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let text = outcome.stdout + &outcome.stderr;
        assert!(text.contains(note), "{text}");
        assert!(
            bench.read("shared.csv").ends_with("0.3,7.0,7.0\n"),
            "{leaves}"
        );
        let _ = std::fs::remove_file(bench.path("scratch.txt"));
        let outcome = bench.run(["run", "two.toml", "-o", "apart.csv", "--isolate"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(
            bench.read("apart.csv").ends_with("0.3,5.0,7.0\n"),
            "{leaves}"
        );
        // They stay if the FMU has written there.
        let is_written = leaves == "WORKING_FILE";
        assert_eq!(bench.path("a/scratch.txt").exists(), is_written);
        assert_eq!(bench.path("b").exists(), is_written);
        let names = validated(&bench);
        assert!(names.contains("scratch.txt"), "{names}");
    }
}

/// What `validate --dynamic` finds.
fn validated(bench: &Bench) -> String {
    bench
        .run(["validate", "--dynamic", "--json", "leaving.fmu"])
        .stdout
}

/// Isolated components of runs at the same time do not share a directory.
#[test]
fn isolated_runs_of_a_study_have_directories_of_their_own() {
    let bench = Bench::new();
    leaving(&bench, "WORKING_FILE", "");
    study(&bench, 1..=8);
    let outcome = made(&bench, 1024, &["--worker-threads", "2", "--isolate"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_right(&bench, 8, "isolated");
    assert!(!bench.path("scratch.txt").exists());
}

/// The soft limit of descriptors is raised.
#[test]
fn runs_may_open_as_many_files_as_the_hard_limit_allows() {
    let bench = Bench::new();
    leaving(&bench, "DESCRIPTORS", "");
    let script = "ulimit -Sn 32 && ulimit -Hn 1024 && exec \"$0\" simulate leaving.fmu --stop-time 0.2 --step-size 0.1 --no-supervisor";
    for more in ["", " --no-supervisor"] {
        let script = script.replace(" --no-supervisor", more);
        let mut command = Command::new("sh");
        let command = command.args(["-c", &script, env!("CARGO_BIN_EXE_gyrator")]);
        let output = command.current_dir(bench.path(".")).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{text}");
    }
}

/// A run that needs more memory than the limit by itself is a row; the others are made.
#[test]
fn a_run_above_the_limit_of_memory_is_a_row() {
    let bench = Bench::new();
    leaving(&bench, "MEMORY", "");
    study(&bench, [1, 600, 3, 4].into_iter());
    let outcome = made(
        &bench,
        1024,
        &["--memory-limit", "400", "--worker-threads", "2"],
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for (k, reason, y) in rows(&bench) {
        let expected = if k > 100.0 {
            ("crashed", None)
        } else {
            ("stop-time", Some(k))
        };
        assert_eq!((reason.as_str(), y), expected, "{k}");
    }
    let table = bench.read("study.csv");
    assert!(table.contains("more than 400 MiB of memory"), "{table}");
}

/// Memory that runs leave is given back with their worker; a limit that no run exceeds by itself ends none.
#[test]
fn a_study_of_leaking_runs_stays_below_a_limit_of_memory() {
    let bench = Bench::new();
    leaving(&bench, "MEMORY", "");
    study(&bench, 1..=60);
    let outcome = made(
        &bench,
        1024,
        &["--memory-limit", "300", "--worker-threads", "2"],
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_right(&bench, 60, "memory");
}
