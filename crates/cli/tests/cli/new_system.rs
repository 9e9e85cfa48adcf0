//! `gyrator new`: a first system file from FMUs.

use crate::bench::Bench;

const FMUS: [&str; 2] = ["fmus/OscillatorForce.fmu", "fmus/OscillatorMotion.fmu"];

#[test]
fn the_file_runs_as_it_is() {
    let bench = Bench::new();
    let outcome = bench.run(["new", FMUS[0], FMUS[1], "-o", "new.toml"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    insta::assert_snapshot!(outcome.stdout + "\n" + &bench.read("new.toml"));
    let outcome = bench.run(["run", "new.toml", "--summary", "summary.json"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(bench.json("summary.json")["verdict"], "small");
    // A file that is there is not written over.
    let before = bench.read("new.toml");
    let outcome = bench.run(["new", FMUS[0], "-o", "new.toml"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stdout);
    assert_eq!(bench.read("new.toml"), before);
}

/// Two instances of one FMU: names of their own, nothing between twins by the unit alone, and inputs that stay open are named.
#[test]
fn open_inputs_are_named() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("sub")).unwrap();
    let circuit = "fmus/HydraulicCircuit.fmu";
    let arguments = [
        "new",
        "fmus/CraneMechanics.fmu",
        circuit,
        circuit,
        "-o",
        "sub/new.toml",
    ];
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for words in [
        "open input: HydraulicCircuit2.v, m/s: 2 outputs fit",
        "HydraulicCircuit.u_ref, V: no output fits",
    ] {
        assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
    }
    let text = bench.read("sub/new.toml");
    assert!(
        text.contains("fmu = \"../fmus/HydraulicCircuit.fmu\""),
        "{text}"
    );
    let outcome = bench.run(["inspect", "sub/new.toml"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
}

#[test]
fn other_files_are_refused_and_guesses_are_marked() {
    let bench = Bench::new();
    bench.write("system.toml", "");
    assert_eq!(bench.run(["new", "system.toml"]).code, Some(3));
    assert_eq!(bench.run(["new", "none.fmu"]).code, Some(4));
    assert_eq!(bench.run(["new"]).code, Some(2));
    bench.alter_fmu("OscillatorForce", "bare.fmu", |text| {
        text.replace("stepSize=\"0.001\"", "")
    });
    let text = bench.run(["new", "bare.fmu"]).stdout;
    assert!(text.contains("step_size = 0.001    # s; a guess"), "{text}");
    assert!(text.contains("stop_time = 10.0\n"), "{text}");
}

#[test]
fn completions_and_manual_pages() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = bench.run(["completions", shell]);
        assert_eq!(outcome.code, Some(0), "{shell}: {}", outcome.stderr);
        assert!(outcome.stdout.contains("error-bars"), "{shell}");
    }
    let outcome = bench.run(["man", "man/man1"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        bench
            .read("man/man1/gyrator-run.1")
            .contains("macro\\-step")
    );
    assert_eq!(bench.run(["man", "fmus/OscillatorForce.fmu"]).code, Some(1));
}

#[test]
fn quiet_runs_say_nothing_but_errors() {
    let bench = Bench::new();
    bench.run(["new", FMUS[0], FMUS[1], "-o", "new.toml"]);
    for arguments in [
        "run new.toml -e 0.1 -q",
        "simulate fmus/OscillatorForce.fmu -e 0.1 --quiet",
        "run new.toml -e 0.1 -q --progress never",
        "run new.toml -e 0.1 -q --progress auto",
    ] {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(
            (outcome.code, &*outcome.stdout, &*outcome.stderr),
            (Some(0), "", ""),
            "{arguments}"
        );
    }
    bench.write(
        "checks.toml",
        "[[checks]]\nsignal = \"*.x\"\nnever_above = 1.0\n",
    );
    let outcome = bench.run("run new.toml -e 0.1 -q --check checks.toml".split(' '));
    assert_eq!((outcome.code, &*outcome.stdout), (Some(6), ""));
    assert!(
        outcome.stderr.contains("OscillatorForce.x is"),
        "{}",
        outcome.stderr
    );
    let outcome = bench.run("run none.toml --quiet".split(' '));
    assert_eq!(outcome.code, Some(3));
    assert!(outcome.stderr.contains("none.toml"), "{}", outcome.stderr);
    let outcome = bench.run("run new.toml --quiet --progress json".split(' '));
    assert_eq!(outcome.code, Some(2));
}
