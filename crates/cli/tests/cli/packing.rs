//! Systems packed as one FMU, as users pack and run them.

use crate::bench::{Bench, OSCILLATORS};
use crate::fmu_options::with_entries;

/// The columns of a result whose names begin with `prefix`, by the rest of the name.
fn columns(bench: &Bench, result: &str, prefix: &str) -> Vec<(String, Vec<f64>)> {
    let (header, rows) = bench.rows(result);
    let columns = header.iter().enumerate().filter_map(|(column, name)| {
        let name = name.strip_prefix(prefix)?;
        let values = rows.iter().map(|row| row[column]).collect();
        Some((name.to_owned(), values))
    });
    columns.collect()
}

#[track_caller]
fn succeed(bench: &Bench, arguments: &[&str]) -> String {
    let outcome = bench.run(arguments.iter().copied());
    assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.stderr);
    outcome.stdout
}

/// Start values, correction, scenario and a table; the FMU is moved, and what it was made of deleted.
#[test]
fn a_packed_system_has_the_results_of_the_system() {
    let bench = Bench::new();
    bench.write("road.csv", "time,y\n0,0\n0.1,20\n");
    bench.write(
        "kick.toml",
        "[[actions]]\ntime = 0.05\nvariable = \"left.v2\"\naction = { name = \"bias\", value = 3.0 }\n",
    );
    let road = "[components.road]\nblock = { name = \"table\", file = \"road.csv\" }\n\
                [components.third]\nfmu = \"fmus/OscillatorMotion.fmu\"\n[[connections]]\nfrom = \"road.y\"\nto = \"third.f\"\n";
    let system = OSCILLATORS.replace(
        "stop_time = 10.0",
        "stop_time = 0.2\nscenario = \"kick.toml\"",
    );
    bench.write("system.toml", &format!("{system}\n{road}"));
    let options = [
        "--correction",
        "residual-power",
        "--start-value",
        "left.m=1.5",
    ];
    succeed(
        &bench,
        &[&["run", "system.toml", "-o", "direct.csv"][..], &options].concat(),
    );
    let said = succeed(
        &bench,
        &[&["pack", "system.toml", "-o", "a b.fmu"][..], &options].concat(),
    );
    assert!(said.starts_with("a b.fmu: "), "{said}");
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    std::fs::rename(bench.path("a b.fmu"), bench.path("elsewhere/p.fmu")).unwrap();
    for file in ["road.csv", "kick.toml", "system.toml"] {
        std::fs::remove_file(bench.path(file)).unwrap();
    }
    bench.write(
        "outer.toml",
        "[experiment]\nstop_time = 0.2\nstep_size = 1e-3\n[components]\np = { fmu = \"elsewhere/p.fmu\" }\n",
    );
    succeed(&bench, &["run", "outer.toml", "-o", "packed.csv"]);
    let (direct, packed) = (
        columns(&bench, "direct.csv", ""),
        columns(&bench, "packed.csv", "p."),
    );
    let mut compared = 0;
    for (name, values) in &packed {
        let Some((_, expected)) = direct.iter().find(|(known, _)| known == name) else {
            continue;
        };
        let bits = |values: &[f64]| {
            values
                .iter()
                .map(|value| value.to_bits())
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(values), bits(expected), "{name}");
        compared += 1;
    }
    // Five outputs of the oscillators, two of the third, the table, residual power and residual energy.
    assert!(compared >= 10, "{compared} of {packed:?}");
}

/// As `cargo install` brings it: the program alone, in another folder.
#[test]
fn the_program_packs_wherever_it_lies() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    std::fs::create_dir(bench.path("bin")).unwrap();
    let program = bench.path("bin/gyrator");
    std::fs::copy(env!("CARGO_BIN_EXE_gyrator"), &program).unwrap();
    let packing = std::process::Command::new(&program)
        .args(["pack", "system.toml", "-o", "p.fmu"])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    assert!(packing.status.success(), "{packing:?}");
    assert_eq!(succeed(&bench, &["validate", "p.fmu"]), "p.fmu: valid\n");
}

/// The state of a run with a packed FMU in it goes into a file, and on from there.
#[test]
fn a_run_with_a_packed_fmu_goes_on_from_a_saved_state() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    succeed(&bench, &["pack", "system.toml", "-o", "p.fmu"]);
    bench.write(
        "outer.toml",
        "[experiment]\nstop_time = 0.1\nstep_size = 1e-3\n[components]\np = { fmu = \"p.fmu\" }\n",
    );
    let whole = "run outer.toml -o whole.csv --save-state s.state --at 0.05";
    succeed(&bench, &whole.split(' ').collect::<Vec<_>>());
    let rest = "run outer.toml -o rest.csv --resume s.state";
    succeed(&bench, &rest.split(' ').collect::<Vec<_>>());
    let rest = bench.read("rest.csv");
    let rows = rest.split_once('\n').unwrap().1;
    assert_eq!(rows.lines().count(), 51);
    assert!(bench.read("whole.csv").ends_with(rows));
}

/// One FMU that gives no bytes is enough.
#[test]
fn states_have_bytes_where_all_fmus_have_them() {
    let bench = Bench::new();
    with_entries(&bench, "mute.fmu", "modelDescription.xml", |bytes| {
        let text = std::str::from_utf8(bytes).unwrap();
        let (able, mute) = (
            "canSerializeFMUstate=\"true\"",
            "canSerializeFMUstate=\"false\"",
        );
        assert!(text.contains(able));
        text.replace(able, mute).into_bytes()
    });
    bench.write("all.toml", OSCILLATORS);
    let mixed = OSCILLATORS.replace("fmus/OscillatorForce.fmu", "mute.fmu");
    bench.write("mixed.toml", &mixed);
    for (system, expected) in [("all.toml", true), ("mixed.toml", false)] {
        succeed(&bench, &["pack", system, "-o", "p.fmu"]);
        let archive = std::fs::File::open(bench.path("p.fmu")).unwrap();
        let mut archive = zip::ZipArchive::new(archive).unwrap();
        let entry = archive.by_name("modelDescription.xml").unwrap();
        let text = std::io::read_to_string(entry).unwrap();
        let gives_bytes = text.contains("canSerializeFMUstate=\"true\"");
        assert_eq!(gives_bytes, expected, "{system}");
        assert!(text.contains("canGetAndSetFMUstate=\"true\""), "{system}");
    }
}

#[test]
fn packages_of_other_formats_are_packed() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    succeed(&bench, &["export", "system.toml", "-o", "system.ssp"]);
    succeed(&bench, &["pack", "system.ssp", "-o", "p.fmu"]);
    let said = succeed(&bench, &["validate", "p.fmu"]);
    assert_eq!(said, "p.fmu: valid\n");
}

/// The worker of a supervised run has the crash, and the rows before it are kept.
#[test]
fn a_crash_inside_is_that_of_the_packed_fmu() {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        "[experiment]\nstep_size = 1e-3\n[components]\nbad = { fmu = \"fmus/Faulty.fmu\", \
         start_values = { fault = \"segfault\", function = \"do_step\", fault_time = 0.005 } }\n",
    );
    succeed(&bench, &["pack", "system.toml", "-o", "p.fmu"]);
    bench.write(
        "outer.toml",
        "[experiment]\nstop_time = 0.1\nstep_size = 1e-3\n[components]\np = { fmu = \"p.fmu\" }\n",
    );
    let outcome = bench.run(["run", "outer.toml", "-o", "out.csv"]);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("p: "), "{}", outcome.stderr);
    let (_, rows) = bench.rows("out.csv");
    assert_eq!(rows.len(), 5);
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let controlled = OSCILLATORS.replace("exchange", "step_control = \"ecco\"\nexchange");
    bench.write("controlled.toml", &controlled);
    bench.write(
        "missing.toml",
        &OSCILLATORS.replace("OscillatorForce", "Missing"),
    );
    let mut said = String::new();
    for arguments in [
        &["system.toml", "-o", "system.ssp"][..],
        &["system.toml", "-o", "p.fmu", "--expose", "lefd.*"],
        &["system.toml", "-o", "p.fmu", "--rename", "left.y=a"],
        &["system.toml", "-o", "p.fmu", "--rename", "left.x=right.x"],
        &["system.toml", "-o", "p.fmu", "--library", "no.so"],
        &["system.toml", "-o", "fmus/OscillatorForce.fmu"],
        &["system.toml", "-o", "no/folder/p.fmu"],
        &["controlled.toml", "-o", "p.fmu"],
        &["missing.toml", "-o", "p.fmu"],
    ] {
        let outcome = bench.run(["pack"].into_iter().chain(arguments.iter().copied()));
        assert_ne!(outcome.code, Some(0));
        assert_eq!(outcome.stdout, "");
        let code = outcome.code.unwrap();
        said.push_str(&format!(
            "pack {}: {code}\n{}\n",
            arguments.join(" "),
            outcome.stderr
        ));
        assert!(!bench.path("p.fmu").exists());
    }
    insta::assert_snapshot!(said);
}
