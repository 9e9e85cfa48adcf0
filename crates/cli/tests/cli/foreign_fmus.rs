//! FMUs that other tools leave to the importer to complete: C sources without a library, and libraries
//! that expect an interpreter in the process.

use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::bench::{Bench, ProgramOutcome};
use crate::validation::{DESCRIPTION, PLATFORM, build, compile};

pub(crate) fn archive(bench: &Bench, name: &str, description: &str, files: &[(&str, &[u8])]) {
    let mut zip = ZipWriter::new(std::fs::File::create(bench.path(name)).unwrap());
    let description = ("modelDescription.xml", description.as_bytes());
    for (name, content) in std::iter::once(&description).chain(files) {
        zip.start_file(*name, SimpleFileOptions::default()).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap();
}

/// An FMU with the source of `unruly.c` and no library.
fn with_sources(bench: &Bench) {
    let source = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/unruly.c"));
    let old = "canSerializeFMUstate=\"true\"/>";
    let new = "canSerializeFMUstate=\"true\"><SourceFiles><File name=\"unruly.c\"/></SourceFiles></CoSimulation>";
    let description = DESCRIPTION.replacen(old, new, 1);
    archive(
        bench,
        "source.fmu",
        &description,
        &[("sources/unruly.c", &source.unwrap())],
    );
}

fn run_with(bench: &Bench, arguments: &[&str], variables: &[(&str, &str)]) -> ProgramOutcome {
    let mut command = bench.command(arguments.iter().copied());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    ProgramOutcome {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn sources_are_compiled_on_request() {
    let bench = Bench::new();
    with_sources(&bench);
    let cache = bench.path("cache");
    let variables = [("XDG_CACHE_HOME", cache.to_str().unwrap())];
    let run = |arguments: &[&str]| run_with(&bench, arguments, &variables);
    let outcome = run(&["simulate", "source.fmu"]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("--compile"), "{}", outcome.stderr);
    let outcome = run(&["simulate", "source.fmu", "--compile", "-o", "one.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome = run(&["compile", "source.fmu"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let library = Path::new(outcome.stdout.trim());
    assert!(
        library.starts_with(&cache) && library.is_file(),
        "{}",
        library.display()
    );
    let outcome = run(&["compile", "source.fmu", "-o", "whole.fmu"]);
    assert_eq!(
        (outcome.code, &*outcome.stdout),
        (Some(0), "whole.fmu\n"),
        "{}",
        outcome.stderr
    );
    let permissions = |name| bench.path(name).metadata().unwrap().permissions();
    assert_eq!(permissions("whole.fmu"), permissions("source.fmu"));
    assert_eq!(
        run(&["simulate", "whole.fmu", "-o", "two.csv"]).code,
        Some(0)
    );
    assert_eq!(bench.read("one.csv"), bench.read("two.csv"));
    bench.write("s.toml", "[experiment]\nstop_time = 1.0\nstep_size = 0.125\n[components]\nsource = { fmu = \"source.fmu\" }\n");
    let outcome = run(&["run", "s.toml", "--compile", "--isolate", "-o", "three.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let of_system = bench.read("three.csv").replace("source.", "");
    assert_eq!(bench.read("one.csv"), of_system);
    let outcome = run(&["validate", "--dynamic", "--compile", "source.fmu"]);
    assert!(
        !outcome.stdout.contains("does not load"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn what_cannot_be_compiled_is_said() {
    let bench = Bench::new();
    with_sources(&bench);
    archive(&bench, "empty.fmu", DESCRIPTION, &[]);
    let cache = bench.path("cache");
    let cache = ("XDG_CACHE_HOME", cache.to_str().unwrap());
    let broken = ("CFLAGS", "-Dfmi2DoStep=other");
    for (arguments, variables, code, text) in [
        (
            &["compile", "empty.fmu"][..],
            &[cache][..],
            4,
            "it has no sources in C or C++",
        ),
        (&["compile", "missing.fmu"], &[cache], 4, "missing.fmu"),
        (
            &["compile", "source.fmu", "-o", "source.fmu"],
            &[cache],
            2,
            "source.fmu",
        ),
        (
            &["compile", "fmus/OscillatorForce.fmu"],
            &[cache],
            2,
            "has a library for this machine",
        ),
        (
            &["compile", "source.fmu"],
            &[cache, ("CC", "no-such-cc")],
            4,
            "no-such-cc does not start",
        ),
        (
            &["compile", "source.fmu"],
            &[cache, broken],
            4,
            "do not define fmi2DoStep",
        ),
        (
            &["simulate", "source.fmu", "--compile"],
            &[cache, broken],
            4,
            "do not define fmi2DoStep",
        ),
    ] {
        let outcome = run_with(&bench, arguments, variables);
        assert_eq!(
            outcome.code,
            Some(code),
            "{arguments:?}: {}",
            outcome.stderr
        );
        assert!(
            outcome.stderr.contains(text),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
}

/// A library that ends the process when it is used a second time there, as an interpreter that cannot be
/// started twice.
const INTERPRETER: &str = "#include <stdlib.h>\nint PyGyrator_Claim(void) { static int claims; if (claims++) abort(); return 0; }\n";

/// Makes `python.fmu`, whose library needs `PyGyrator_Claim`, and a `python3` that knows a library with it.
fn with_interpreter(bench: &Bench, breaks: u8) -> String {
    let claim = "int PyGyrator_Claim(void); __attribute__((constructor)) static void claim(void) { PyGyrator_Claim(); }\n";
    bench
        .write("claim.c", claim)
        .write("interpreter.c", INTERPRETER);
    let library = compile(bench, breaks, &["claim.c"]);
    let file = format!("binaries/{PLATFORM}/unruly.so");
    archive(
        bench,
        "python.fmu",
        DESCRIPTION,
        &[(&file, &std::fs::read(library).unwrap())],
    );
    let folder = bench.path("interpreter");
    std::fs::create_dir(&folder).unwrap();
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let made = Command::new(compiler)
        .args([
            "-shared",
            "-fPIC",
            "-o",
            "interpreter/libpython3.99.so.1.0",
            "interpreter.c",
        ])
        .current_dir(bench.path("."))
        .status();
    assert!(made.unwrap().success());
    let folder = folder.display();
    let script = format!("#!/bin/sh\nprintf '%s\\n' libpython3.99.so.1.0 {folder} none\n");
    bench.write("interpreter/python3", &script);
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bench.path("interpreter/python3"), executable).unwrap();
    format!("{folder}:{}", std::env::var("PATH").unwrap_or_default())
}

#[test]
fn libpython_is_loaded_for_an_fmu_that_lacks_it() {
    let bench = Bench::new();
    let path = with_interpreter(&bench, 0);
    let found = [("PATH", &*path)];
    let simulate = ["simulate", "python.fmu", "-o", "out.csv"];
    let outcome = run_with(&bench, &simulate, &found);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome = run_with(&bench, &simulate, &[]);
    assert_eq!(outcome.code, Some(4), "{}", outcome.stderr);
    for part in ["PyGyrator_Claim", "--preload"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    let deps = ["inspect", "--deps", "python.fmu"];
    let outcome = run_with(&bench, &deps, &found);
    assert!(
        outcome
            .stdout
            .contains("libpython3.99.so.1.0 is loaded for it"),
        "{}",
        outcome.stdout
    );
    assert_eq!(run_with(&bench, &deps, &[]).code, Some(4));
    let library = bench.path("interpreter/libpython3.99.so.1.0");
    let validate = [
        "validate",
        "--dynamic",
        "python.fmu",
        "--preload",
        library.to_str().unwrap(),
    ];
    let outcome = run_with(&bench, &validate, &[]);
    assert!(
        !outcome.stdout.contains("PyGyrator_Claim"),
        "{}",
        outcome.stdout
    );
}

/// A process that makes several runs would use one interpreter for all.
#[test]
fn runs_of_a_study_share_no_interpreter() {
    let bench = Bench::new();
    let path = with_interpreter(&bench, 0);
    let system = "[experiment]\nstop_time = 1.0\nstep_size = 0.125\n[components]\na = { fmu = \"python.fmu\" }\nb = { fmu = \"python.fmu\" }\n";
    let study = "system = \"s.toml\"\n[[vary]]\ngrid = { \"a.u\" = { from = 0.0, to = 1.0, count = 4 } }\n[[metrics]]\nfinal = [\"a.y\"]\n";
    bench.write("s.toml", system).write("study.toml", study);
    for threads in ["1", "2"] {
        let arguments = [
            "study",
            "study.toml",
            "-o",
            "t.csv",
            "--worker-threads",
            threads,
        ];
        let outcome = run_with(&bench, &arguments, &[("PATH", &path)]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let table = bench.read("t.csv");
        assert_eq!(table.matches("stop-time").count(), 4, "{table}");
        for file in ["t.csv", "t.csv.journal"] {
            std::fs::remove_file(bench.path(file)).unwrap();
        }
    }
}

/// The names of `unruly.c` for the ports of the moving mass.
const PORTS: &str = "f=u,x=y,v=z";

fn benchmark<'a>(with: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let arguments = [
        "benchmark",
        "--fmus",
        "fmus",
        "double-oscillator",
        "--progress",
        "never",
        "--with",
        with,
    ];
    [&arguments, more].concat()
}

#[test]
fn cases_of_a_benchmark_share_no_interpreter() {
    let bench = Bench::new();
    // Its runs end soon, as a value is not a number.
    let path = with_interpreter(&bench, 52);
    let with = format!("motion=python.fmu,{PORTS}");
    let against = format!("double-oscillator:motion,{PORTS}");
    let validate = ["validate", "--against", &against, "python.fmu"];
    let two = ["--worker-threads", "2"];
    for arguments in [
        benchmark(&with, &[]),
        benchmark(&with, &two),
        benchmark(&with, &["--isolate"]),
        [&validate[..], &two].concat(),
    ] {
        let outcome = run_with(&bench, &arguments, &[("PATH", &path)]);
        assert_eq!(outcome.code, Some(1), "{arguments:?}: {}", outcome.stderr);
        let ends = outcome.stderr.matches("hub.y is NaN").count();
        assert_eq!(ends, 14, "{arguments:?}: {}", outcome.stderr);
    }
}

#[test]
fn an_fmu_that_ends_a_benchmark_is_named() {
    let bench = Bench::new();
    let against = format!("double-oscillator:motion,{PORTS}");
    for (breaks, words) in [
        (
            51,
            ["SIGSEGV", "fmi2DoStep", "hub", "motion = unruly51.fmu"],
        ),
        (
            60,
            [
                "SIGSEGV",
                "loading the library",
                "unruly60",
                "motion = unruly60.fmu",
            ],
        ),
    ] {
        let fmu = build(&bench, breaks);
        let with = format!("motion={fmu},{PORTS}");
        for arguments in [
            benchmark(&with, &["--worker-threads", "1"]),
            benchmark(&with, &["--isolate=motion"]),
            vec![
                "validate",
                "--against",
                &against,
                &fmu,
                "--worker-threads",
                "1",
            ],
        ] {
            let outcome = bench.run(arguments.iter().copied());
            let stderr = &outcome.stderr;
            assert_eq!(outcome.code, Some(5), "{arguments:?}: {stderr}");
            for words in words {
                assert!(stderr.contains(words), "{arguments:?}: {stderr}");
            }
        }
    }
    for (arguments, words) in [
        (
            benchmark("motion=fmus/OscillatorMotion.fmu", &["--isolate=nobody"]),
            "no",
        ),
        (
            vec!["validate", "--isolate", "fmus/OscillatorMotion.fmu"],
            "--against",
        ),
    ] {
        let outcome = bench.run(arguments.iter().copied());
        assert_eq!(outcome.code, Some(2), "{arguments:?}: {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
}

/// An FMU that keeps everything in variables of its library, as often as variables are exchanged in place of copies.
#[test]
fn variables_in_turn_give_the_results_of_copies() {
    use std::fmt::Write as _;
    let bench = Bench::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fmu/tests/loader/in_turn.c");
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let made = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o", "keeper.so"])
        .arg(source)
        .arg("-lm")
        .current_dir(bench.path("."))
        .status();
    assert!(made.unwrap().success());
    let description = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Keeper" guid="{keeper}">
  <CoSimulation modelIdentifier="keeper" canGetAndSetFMUstate="true"/>
  <ModelVariables>
    <ScalarVariable name="x" valueReference="0" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="v" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="s" valueReference="0" causality="output" variability="discrete"><String/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1"/><Unknown index="3"/></Outputs></ModelStructure>
</fmiModelDescription>"#;
    let library = std::fs::read(bench.path("keeper.so")).unwrap();
    let file = format!("binaries/{PLATFORM}/keeper.so");
    archive(&bench, "keeper.fmu", description, &[(&file, &library)]);
    let system = |library: &str| {
        let mut text =
            "[experiment]\nstop_time = 0.5\nstep_size = 0.05\nmethod = \"jacobi\"\n".to_owned();
        for number in 0..28 {
            let _ = writeln!(
                text,
                "[components.k{number}]\nfmu = \"keeper.fmu\"\n{library}start_values = {{ v = 0.{number} }}\n\
                 [[connections]]\nfrom = \"k{number}.x\"\nto = \"k{}.v\"\ngain = 0.01",
                (number + 1) % 28
            );
        }
        text
    };
    bench
        .write("copied.toml", &system("library = \"copied\"\n"))
        .write("system.toml", &system(""));
    let rows = |system: &str, option: &[&str]| {
        let outcome = bench.run([&["run", system, "-o", "out.csv"][..], option].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        bench.read("out.csv")
    };
    let expected = rows("copied.toml", &[]);
    assert_eq!(rows("system.toml", &[]), expected);
    assert_eq!(rows("system.toml", &["--no-supervisor"]), expected);
    assert_eq!(rows("system.toml", &["--worker-threads", "2"]), expected);
}

/// An FMU that refuses to read its parameter back, and all functions for derivatives, which it declares.
fn with_refusals(bench: &Bench) {
    let library = compile(bench, 0, &["-DREFUSED=2"]);
    let claims = "canSerializeFMUstate=\"true\" providesDirectionalDerivative=\"true\" canInterpolateInputs=\"true\" \
                  maxOutputDerivativeOrder=\"1\"/>";
    let description = DESCRIPTION.replacen("canSerializeFMUstate=\"true\"/>", claims, 1);
    let file = format!("binaries/{PLATFORM}/unruly.so");
    let library = std::fs::read(library).unwrap();
    archive(bench, "refuses.fmu", &description, &[(&file, &library)]);
    let honest = DESCRIPTION.replacen(
        "canSerializeFMUstate",
        "canBeInstantiatedOnlyOncePerProcess",
        1,
    );
    archive(bench, "honest.fmu", &honest, &[(&file, &library)]);
}

#[test]
fn abilities_that_an_fmu_declares_and_refuses_are_done_without() {
    let bench = Bench::new();
    with_refusals(&bench);
    let system = "connections = [[\"a.y\", \"b.u\"]]\n[experiment]\nstop_time = 1.0\nstep_size = 0.125\n\
        [components]\na = { fmu = \"FMU\" }\nb = { fmu = \"FMU\", start_values = { p = 3.0 } }\n";
    bench
        .write("refuses.toml", &system.replace("FMU", "refuses.fmu"))
        .write("honest.toml", &system.replace("FMU", "honest.fmu"));
    let run = |name: &str, options: &[&str]| {
        let common = ["run", name, "-o", "out.csv"];
        let outcome = run_with(&bench, &[&common[..], options].concat(), &[]);
        assert_eq!(outcome.code, Some(0), "{options:?}: {}", outcome.stderr);
        (bench.read("out.csv"), outcome.stdout + &outcome.stderr)
    };
    const HOLD: [&str; 2] = ["--extrapolation", "hold"];
    let (expected, _) = run("honest.toml", &HOLD);
    assert!(
        expected.lines().nth(1).unwrap().contains("3.0"),
        "{expected}"
    );
    let of = |text: &str, function: &str| text.matches(function).count();
    for options in [
        &[][..],
        &["--isolate"],
        &["--exchange", "stale", "--method", "jacobi"],
    ] {
        let (rows, text) = run("refuses.toml", &[&HOLD, options].concat());
        assert_eq!(rows, expected, "{options:?}");
        assert_eq!(
            of(&text, "b: fmi2GetDirectionalDerivative returned Error"),
            1,
            "{text}"
        );
    }
    for options in [
        &["--extrapolation", "linear"][..],
        &["--extrapolation", "auto", "--isolate"],
    ] {
        let (_, text) = run("refuses.toml", options);
        assert_eq!(
            of(&text, "b: fmi2SetRealInputDerivatives returned Error"),
            1,
            "{text}"
        );
    }
    let outcome = run_with(
        &bench,
        &["simulate", "refuses.fmu", "--start-value", "p=4"],
        &[],
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}
