//! Needs of FMUs, where they are found, and limits of archives.

use std::io::{Read as _, Write as _};

use zip::write::SimpleFileOptions;

use crate::bench::{Bench, ProgramOutcome};

/// The FMU of an oscillator with its library changed.
fn with_library(bench: &Bench, name: &str, change: impl Fn(&[u8]) -> Vec<u8>) {
    with_entries(bench, name, "binaries/", change);
}

/// The FMU of an oscillator with all entries changed whose names begin with `prefix`.
pub(crate) fn with_entries(
    bench: &Bench,
    name: &str,
    prefix: &str,
    change: impl Fn(&[u8]) -> Vec<u8>,
) {
    let source = std::fs::File::open(bench.path("fmus/OscillatorForce.fmu")).unwrap();
    let mut source = zip::ZipArchive::new(source).unwrap();
    let mut target = zip::ZipWriter::new(std::fs::File::create(bench.path(name)).unwrap());
    for index in 0..source.len() {
        let mut entry = source.by_index(index).unwrap();
        if entry.is_dir() {
            continue;
        }
        let name = entry.name().unwrap().into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).unwrap();
        target
            .start_file(name.as_str(), SimpleFileOptions::default())
            .unwrap();
        let is_changed = name.starts_with(prefix);
        let bytes = if is_changed { change(&bytes) } else { bytes };
        target.write_all(&bytes).unwrap();
    }
    target.finish().unwrap();
}

fn simulate<'a>(bench: &Bench, fmu: &'a str, options: &[&'a str]) -> ProgramOutcome {
    let times = ["--stop-time", "0.1", "--step-size", "0.01"];
    let verb = ["simulate", fmu].into_iter().chain(times);
    bench.run(verb.chain(options.iter().copied()))
}

#[test]
fn needs_of_an_fmu_that_runs() {
    let bench = Bench::new();
    let outcome = bench.run(["inspect", "--deps", "fmus/OscillatorForce.fmu"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for part in ["needs of ", "libc.so.6", "nothing is missing"] {
        assert!(outcome.stdout.contains(part), "{}", outcome.stdout);
    }
    let outcome = bench.run(["inspect", "--deps", "--json", "fmus/OscillatorForce.fmu"]);
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(facts["needs"]["met"], true);
    assert!(facts["needs"]["libraries"][0]["found"].is_string());
}

#[test]
fn r17_r18_library_that_would_kill_the_program() {
    let bench = Bench::new();
    with_library(&bench, "torn.fmu", |bytes| {
        bytes[..bytes.len() / 2].to_vec()
    });
    with_library(&bench, "foreign.fmu", |bytes| {
        let mut bytes = bytes.to_vec();
        bytes[18] = 243;
        bytes
    });
    for (fmu, reason) in [
        ("torn.fmu", "the file is truncated"),
        ("foreign.fmu", "built for RISC-V"),
    ] {
        for outcome in [
            bench.run(["inspect", "--deps", fmu]),
            simulate(&bench, fmu, &[]),
        ] {
            assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
            assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
        }
    }
}

#[test]
fn preload_that_is_not_there() {
    let bench = Bench::new();
    let options = ["--preload", "libnowhere.so.7", "--library-path", "fmus"];
    let outcome = simulate(&bench, "fmus/OscillatorForce.fmu", &options);
    assert_eq!(outcome.code, Some(4));
    assert!(
        outcome.stderr.contains("libnowhere.so.7"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_directory_of_libraries_that_is_not_there() {
    let options = ["--library-path", "nowhere"];
    let outcome = simulate(&Bench::new(), "fmus/OscillatorForce.fmu", &options);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let reason =
        "invalid value 'nowhere' for '--library-path <DIRECTORY>': there is no such directory";
    assert!(outcome.stderr.contains(reason), "{}", outcome.stderr);
}

#[test]
fn r12_limits_are_named_and_can_be_moved() {
    let bench = Bench::new();
    let options = ["--unpack-limit", "entries=1"];
    let outcome = simulate(&bench, "fmus/OscillatorForce.fmu", &options);
    assert_eq!(outcome.code, Some(3));
    assert!(
        outcome.stderr.contains("raise the limit entries"),
        "{}",
        outcome.stderr
    );
    let options = [
        "--unpack-limit",
        "entries=1",
        "--unpack-limit",
        "entries=100",
    ];
    let outcome = simulate(&bench, "fmus/OscillatorForce.fmu", &options);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn r41_unpacked_files_are_kept_where_asked_for() {
    let bench = Bench::new();
    let cache = bench.path("cache");
    let cache_option = format!("--cache={}", cache.display());
    for _ in 0..2 {
        let outcome = simulate(&bench, "fmus/OscillatorForce.fmu", &[&cache_option]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 1);
    }
}

#[test]
fn c39_discarded_step_is_halved_on_request() {
    let bench = Bench::new();
    let options = [
        "--start-value",
        "fault=discard_once",
        "--step-halvings",
        "2",
    ];
    let outcome = simulate(&bench, "fmus/Faulty.fmu", &options);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome = simulate(&bench, "fmus/Faulty.fmu", &options[..2]);
    assert_eq!(outcome.code, Some(1));
    assert!(
        outcome.stderr.contains("step_halvings"),
        "{}",
        outcome.stderr
    );
}
