//! FMUs whose results depend on what a process has once, in runs on several threads and in studies.

use gyrator_testkit::sharing_fmu;

use crate::bench::Bench;

/// Kinds of `sharing.c`; a static map of C++ is `UNIQUE`.
const KINDS: &[&str] = &[
    "UNIQUE",
    "COMPANION",
    "DLOPEN",
    "RAND",
    "OWN_RANDOM",
    "DRAND48",
    "STRTOK",
    "LOCALE",
    "TLS",
    "STATIC_FILE",
    "HASH_TABLE",
    "DIRECTORY",
    "ENVIRONMENT",
    "CONSTRUCTOR",
];

/// A system of one FMU of a kind, which changes something of the process if there is something to change.
fn write_system(bench: &Bench, kind: &str) {
    let fmu = sharing_fmu(&bench.path("."), kind, 2);
    bench.write(
        "system.toml",
        &format!(
            "[experiment]\nstop_time = 0.05\nstep_size = 0.01\n[components.c]\nfmu = \"{}\"\n",
            fmu.display()
        ),
    );
}

#[test]
fn equal_cases_of_a_study_give_what_a_run_gives() {
    let bench = Bench::new();
    bench.write(
        "study.toml",
        "system = \"system.toml\"\n[[vary]]\ngrid = { \"experiment.tolerance\" = { from = 1e-6, to = 1e-3, count = 12 } }\n\
         [[metrics]]\nfinal = [\"c.y\"]\n",
    );
    for kind in KINDS {
        write_system(&bench, kind);
        let outcome = bench.run(["run", "system.toml", "-o", "run.csv"]);
        assert_eq!(outcome.code, Some(0), "{kind}: {}", outcome.stderr);
        let alone = bench
            .rows("run.csv")
            .1
            .pop()
            .and_then(|row| row.last().copied());
        for threads in ["1", "2", "8"] {
            let arguments = [
                "study",
                "study.toml",
                "-o",
                "table.csv",
                "--worker-threads",
                threads,
            ];
            let outcome = bench.run(arguments);
            assert_eq!(outcome.code, Some(0), "{kind}: {}", outcome.stderr);
            let text = bench.read("table.csv");
            let mut lines = text.lines();
            let header: Vec<&str> = lines.next().unwrap().split(',').collect();
            let place = header.iter().position(|name| *name == "final.c.y").unwrap();
            let values: Vec<Option<f64>> = lines
                .map(|line| line.split(',').nth(place)?.parse().ok())
                .collect();
            assert_eq!(
                values, [alone; 12],
                "{kind}, {threads} threads: {}",
                outcome.stderr
            );
            for file in ["table.csv", "table.csv.journal"] {
                let _ = std::fs::remove_file(bench.path(file));
            }
        }
    }
}

#[test]
fn inspect_says_what_copies_of_a_library_share() {
    let bench = Bench::new();
    for (kind, words) in [
        ("UNIQUE", "1 unique symbols (made local)"),
        ("RAND", "rand (each instance its own; one thread)"),
        ("TLS", "thread-local variables (one thread)"),
        ("COMPANION", "libcompanion.so (a process of its own"),
        ("HASH_TABLE", "hcreate, hsearch (a process of its own"),
    ] {
        let fmu = sharing_fmu(&bench.path("."), kind, 1);
        let outcome = bench.run(["inspect", fmu.to_str().unwrap()]);
        let line = outcome
            .stdout
            .lines()
            .find(|line| line.trim_start().starts_with("shares"));
        assert!(
            line.is_some_and(|line| line.contains(words)),
            "{kind}: {}",
            outcome.stdout
        );
        let outcome = bench.run(["inspect", "--json", fmu.to_str().unwrap()]);
        let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert!(
            facts["shares"]["unique_symbols"].is_u64(),
            "{}",
            outcome.stdout
        );
    }
}

/// The FMUs in a packed one are all in the process of the importer.
#[test]
fn a_packed_system_says_what_its_fmus_share() {
    let bench = Bench::new();
    for (kind, words) in [
        (
            "COMPANION",
            Some("`b` shares this process with another component, and may give wrong results"),
        ),
        (
            "HASH_TABLE",
            Some("`b` shares this process with another component, and may give wrong results"),
        ),
        ("LOCALE", Some("has changed the locale")),
        ("UNIQUE", None),
    ] {
        let fmu = sharing_fmu(&bench.path("."), kind, 2);
        let components =
            ["a", "b"].map(|name| format!("[components.{name}]\nfmu = \"{}\"\n", fmu.display()));
        bench.write(
            "two.toml",
            &format!(
                "[experiment]\nstop_time = 0.05\nstep_size = 0.01\n{}",
                components.concat()
            ),
        );
        let packed = bench.run("pack two.toml -o Two.fmu".split(' '));
        assert_eq!(packed.code, Some(0), "{kind}: {}", packed.stderr);
        let outcome = bench.run("simulate Two.fmu".split(' '));
        assert_eq!(outcome.code, Some(0), "{kind}: {}", outcome.stderr);
        let notes = outcome.stderr.matches("process").count();
        match words {
            Some(words) => assert!(outcome.stderr.contains(words), "{kind}: {}", outcome.stderr),
            None => assert_eq!(notes, 0, "{kind}: {}", outcome.stderr),
        }
        std::fs::remove_file(bench.path("Two.fmu")).unwrap();
    }
}
