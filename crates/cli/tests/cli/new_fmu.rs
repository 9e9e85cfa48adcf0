//! Crates of FMUs in Rust.

use std::path::Path;
use std::process::Command;

use crate::bench::Bench;

/// The crate of this repository: the program finds it by itself only if its target folder lies in the repository.
const KIT: &str = concat!("--fmu-kit=", env!("CARGO_MANIFEST_DIR"), "/../../fmus/kit");

/// Compiled with the crates and versions of this workspace, without a network; then validated and simulated.
#[test]
#[ignore = "study: compiles a crate with its dependencies"]
fn the_crate_builds_its_fmu_and_its_tests_pass() {
    let bench = Bench::new();
    let outcome = bench.run(["new-fmu", "hydraulic-pump", KIT]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::copy(
        root.join("Cargo.lock"),
        bench.path("hydraulic-pump/Cargo.lock"),
    )
    .unwrap();
    for arguments in [&["test"][..], &["run", "../Pump.fmu"]] {
        let (verb, rest) = arguments.split_first().unwrap();
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args([verb, "--quiet", "--offline"])
            .args(rest)
            .current_dir(bench.path("hydraulic-pump"))
            .env("CARGO_TARGET_DIR", bench.path("target"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo {verb}: {said}");
    }
    let outcome = bench.run(["validate", "--dynamic", "Pump.fmu"]);
    assert_eq!(outcome.stdout, "Pump.fmu: valid\n", "{}", outcome.stderr);
    let outcome = bench.run(["simulate", "Pump.fmu", "-e", "1", "-o", "out.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn names_that_cargo_refuses_and_folders_that_are_there_are_refused() {
    let bench = Bench::new();
    for (name, code, word) in [
        ("2nd", 2, "cannot be the name of a crate"),
        ("a b", 2, "cannot be the name of a crate"),
        ("fn", 2, "cannot be the name of a crate"),
        ("..", 2, "cannot be the name of a crate"),
        ("fmus", 2, "exists"),
        ("no/folder/pump", 2, "does not exist"),
    ] {
        let outcome = bench.run(["new-fmu", name, KIT]);
        assert_eq!(outcome.code, Some(code), "{name}");
        assert!(outcome.stderr.contains(word), "{}", outcome.stderr);
    }
    let outcome = bench.run(["new-fmu", "pump", "--fmu-kit", "fmus"]);
    assert_eq!(outcome.code, Some(2));
    assert!(!bench.path("pump").exists());
}
