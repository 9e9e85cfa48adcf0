//! `run --save-state` and `--resume`, and studies from a saved state.

use crate::bench::{Bench, OSCILLATORS, ProgramOutcome};
use crate::scenarios::SCENARIO;
use crate::validation::{DESCRIPTION, build, build_of};

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench
}

fn run(bench: &Bench, arguments: &str) -> ProgramOutcome {
    bench.run(arguments.split(' '))
}

#[track_caller]
fn succeed(bench: &Bench, arguments: &str) -> String {
    let outcome = run(bench, arguments);
    assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
    outcome.stdout
}

/// The program refuses with this code, and says all of this.
#[track_caller]
fn refuse(bench: &Bench, arguments: &str, code: i32, words: &[&str]) {
    let outcome = run(bench, arguments);
    assert_eq!(outcome.code, Some(code), "{arguments}: {}", outcome.stderr);
    // Messages are wrapped.
    let text = outcome
        .stderr
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    for words in words {
        assert!(text.contains(words), "{arguments}: {}", outcome.stderr);
    }
}

/// The rows of `resumed` equal the rows of `whole` from its first time on.
#[track_caller]
fn expect_end_of(bench: &Bench, whole: &str, resumed: &str) {
    let (whole, resumed) = (bench.read(whole), bench.read(resumed));
    let (header, rows) = resumed.split_once('\n').unwrap();
    assert!(rows.lines().count() > 1);
    assert!(whole.starts_with(header));
    assert!(whole.ends_with(rows), "{rows}");
}

/// All examples: methods, macro-steps and interface models as they stand there.
#[test]
fn every_example_goes_on_bit_for_bit() {
    for (text, at, stop) in [
        (
            include_str!("../../../../examples/double-oscillator.toml"),
            "0.05",
            "0.1",
        ),
        (
            include_str!("../../../../examples/dual-mass.toml"),
            "0.4",
            "1",
        ),
        (
            include_str!("../../../../examples/single-crane.toml"),
            "0.2",
            "0.5",
        ),
        (
            include_str!("../../../../examples/double-crane.toml"),
            "0.2",
            "0.4",
        ),
    ] {
        let bench = Bench::new();
        bench.write("system.toml", &text.replace("../target/fmus/", "fmus/"));
        let said = succeed(
            &bench,
            &format!("run system.toml -e {stop} -o whole.csv --save-state warm.state --at {at}"),
        );
        assert!(
            said.contains(&format!("the state at {at} s is in warm.state")),
            "{said}"
        );
        succeed(&bench, &format!("run system.toml -e {stop} -o plain.csv"));
        assert_eq!(bench.read("whole.csv"), bench.read("plain.csv"));
        for options in ["", " --isolate", " --no-supervisor"] {
            let resume =
                format!("run system.toml -e {stop} -o out.csv --resume warm.state{options}");
            let said = succeed(&bench, &resume);
            let note = format!("goes on from the state at {at} s in warm.state");
            assert!(said.contains(&note), "{said}");
            expect_end_of(&bench, "whole.csv", "out.csv");
        }
    }
}

#[test]
fn a_state_at_the_end_continues_with_a_later_stop_time() {
    let bench = bench();
    succeed(
        &bench,
        "run system.toml -e 0.02 -o whole.csv --output-variable bond.* --output-variable *",
    );
    succeed(
        &bench,
        "run system.toml -e 0.01 --isolate --save-state one.state",
    );
    let outputs = "--output-variable bond.* --output-variable *";
    // A run that goes on also saves.
    succeed(
        &bench,
        "run system.toml -e 0.015 --resume one.state --save-state two.state",
    );
    succeed(
        &bench,
        &format!("run system.toml -e 0.02 -o out.csv {outputs} --resume two.state"),
    );
    expect_end_of(&bench, "whole.csv", "out.csv");
    let stops = ["it is of 0.015 s, and the run ends at 0.012 s", "two.state"];
    refuse(
        &bench,
        "run system.toml -e 0.012 --resume two.state",
        3,
        &stops,
    );
}

#[test]
fn step_control_and_corrections_go_on_bit_for_bit() {
    let bench = bench();
    let text = OSCILLATORS.replace(
        "extrapolation = \"hold\"",
        "step_control = { name = \"ecco\", tolerance = 1e-4 }\nextrapolation = \"quadratic\"",
    );
    bench.write("system.toml", &text);
    succeed(&bench, "run system.toml -e 1 -o whole.csv");
    let (_, rows) = bench.rows("whole.csv");
    let at = rows[rows.len() / 2][0];
    succeed(
        &bench,
        &format!("run system.toml -e 1 --save-state warm.state --at {at:?}"),
    );
    succeed(
        &bench,
        "run system.toml -e 1 -o out.csv --resume warm.state",
    );
    expect_end_of(&bench, "whole.csv", "out.csv");
    let beside = format!(
        "run system.toml -e 1 --save-state warm.state --at {:?}",
        at + 1e-7
    );
    refuse(
        &bench,
        &beside,
        2,
        &["no communication point", "pass one of them"],
    );
}

#[test]
fn scenarios_and_inputs_begin_with_the_state() {
    let bench = bench();
    bench.write(
        "faults.toml",
        &SCENARIO
            .replace("0.0025", "0.0125")
            .replace("0.005", "0.015"),
    );
    let outputs = "--output-variable left.x2 --output-variable right.x";
    succeed(
        &bench,
        &format!("run system.toml -e 0.02 -o whole.csv --scenario faults.toml {outputs}"),
    );
    succeed(&bench, "run system.toml -e 0.01 --save-state warm.state");
    let resume = format!(
        "run system.toml -e 0.02 -o out.csv --resume warm.state --scenario faults.toml {outputs}"
    );
    succeed(&bench, &resume);
    expect_end_of(&bench, "whole.csv", "out.csv");
    // A scenario that acts at the saved point is part of the state.
    succeed(
        &bench,
        "run system.toml -e 0.02 --scenario faults.toml --save-state acting.state --at 0.014",
    );
    succeed(&bench, &resume.replace("warm", "acting"));
    expect_end_of(&bench, "whole.csv", "out.csv");
    let without = ["the saved run had another scenario"];
    refuse(
        &bench,
        "run system.toml -e 0.02 --resume acting.state",
        3,
        &without,
    );
}

#[test]
fn wrong_states_say_where_and_what_and_what_to_do() {
    let bench = bench();
    succeed(&bench, "run system.toml -e 0.01 --save-state warm.state");
    let resume = "run system.toml -e 0.02 --resume warm.state";
    let step = [
        "warm.state: the saved run is of another system",
        "step_size",
        "save the state again",
    ];
    refuse(&bench, &format!("{resume} --step-size 2e-3"), 3, &step);
    refuse(
        &bench,
        &format!("{resume} --method gauss-seidel"),
        3,
        &["`method = "],
    );
    refuse(
        &bench,
        &format!("{resume} --start-value left.m=3"),
        3,
        &["left.m", "tunable parameters"],
    );
    let misspelt = "run system.toml -e 0.02 --resume warn.state";
    let meant = ["warn.state", "did you mean `warm.state`?"];
    refuse(&bench, misspelt, 3, &meant);
    refuse(
        &bench,
        &format!("{resume} --save-state warm.state"),
        2,
        &["--save-state warm.state is the saved state"],
    );
    refuse(
        &bench,
        "run system.toml -e 0.02 --save-state system.toml",
        2,
        &["is the system file"],
    );
    let at = "run system.toml -e 0.02 --save-state new.state --at";
    refuse(
        &bench,
        &format!("{at} 0.0105"),
        2,
        &["those beside it are 0.01 s and 0.011 s"],
    );
    refuse(
        &bench,
        &format!("{at} 0.03"),
        2,
        &["the run goes from 0 s to 0.02 s"],
    );
    let stop = ["pass --at 0.02, or the stop time 0.021 s"];
    refuse(
        &bench,
        "run system.toml -e 0.0205 --save-state new.state",
        2,
        &stop,
    );
    assert!(!bench.path("new.state").exists());
    bench.write("notes.txt", "do not lose this");
    let other = ["notes.txt", "that file is not a saved state"];
    refuse(
        &bench,
        "run system.toml -e 0.01 --save-state notes.txt",
        1,
        &other,
    );
    let folder = ["--save-state nowhere/new.state: the folder nowhere does not exist"];
    let nowhere = "run system.toml -e 0.01 --save-state nowhere/new.state";
    refuse(&bench, nowhere, 2, &folder);
    assert_eq!(bench.read("notes.txt"), "do not lose this");
    refuse(
        &bench,
        "run system.toml -e 0.02 --resume notes.txt",
        3,
        &["notes.txt: this is not a saved state"],
    );
}

#[test]
fn damaged_states_and_those_of_other_fmus_are_refused() {
    let bench = bench();
    succeed(&bench, "run system.toml -e 0.01 --save-state warm.state");
    // Damaged and cut short.
    let bytes = std::fs::read(bench.path("warm.state")).unwrap();
    let mut damaged = bytes.clone();
    damaged[bytes.len() / 2] ^= 4;
    std::fs::write(bench.path("damaged.state"), damaged).unwrap();
    std::fs::write(bench.path("short.state"), &bytes[..bytes.len() / 2]).unwrap();
    for name in ["damaged", "short"] {
        let resume = format!("run system.toml -e 0.02 --resume {name}.state");
        refuse(
            &bench,
            &resume,
            3,
            &["this saved state is damaged or cut short"],
        );
    }
    let resume = "run system.toml -e 0.02 --resume warm.state";
    // Another FMU of the same description.
    bench.alter_fmu("OscillatorForce", "other.fmu", |text| {
        text.replace("generationTool=\"", "generationTool=\"another ")
    });
    bench.write(
        "system.toml",
        &OSCILLATORS.replacen("fmus/OscillatorForce.fmu", "other.fmu", 1),
    );
    refuse(
        &bench,
        resume,
        3,
        &["the FMU or table of left is not that of the saved run"],
    );
}

#[test]
fn fmus_without_states_as_bytes_are_named_before_the_first_step() {
    let bench = bench();
    bench.alter_fmu("OscillatorForce", "other.fmu", |text| {
        text.replace(
            "canSerializeFMUstate=\"true\"",
            "canSerializeFMUstate=\"false\"",
        )
    });
    bench.write(
        "system.toml",
        &OSCILLATORS.replacen("fmus/OscillatorForce.fmu", "other.fmu", 1),
    );
    let words = [
        "left cannot give the state as bytes",
        "canSerializeFMUstate",
    ];
    refuse(
        &bench,
        "run system.toml -e 0.01 --save-state warm.state",
        3,
        &words,
    );
    assert!(!bench.path("warm.state").exists());
}

#[test]
fn studies_begin_with_a_state() {
    let bench = bench();
    bench.write(
        "faults.toml",
        &SCENARIO
            .replace("0.0025", "0.0125")
            .replace("0.005", "0.015"),
    );
    succeed(&bench, "run system.toml -e 0.01 --save-state warm.state");
    bench.write(
        "study.toml",
        "system = \"system.toml\"\nresume = \"warm.state\"\n[[vary]]\n\
         grid = { \"experiment.stop_time\" = [0.015, 0.02], \"experiment.step_size\" = [1e-3, 2e-3] }\n\
         [[metrics]]\nfinal = [\"left.x\"]\n",
    );
    succeed(
        &bench,
        "study study.toml --scenario faults.toml -o table.csv",
    );
    succeed(
        &bench,
        "run system.toml -e 0.02 --scenario faults.toml --output-variable left.x -o whole.csv",
    );
    let (_, rows) = bench.rows("whole.csv");
    let table = bench.read("table.csv");
    let row = |beginning: &str| {
        let found = table.lines().find(|line| line.contains(beginning));
        found.unwrap_or_else(|| panic!("{table}")).to_owned()
    };
    for (stop, expected) in [("0.015", rows[15][1]), ("0.02", rows[20][1])] {
        let row = row(&format!(",{stop},0.001,"));
        assert!(row.contains(&format!(",stop-time,,{stop},")), "{row}");
        assert!(row.contains(&format!("{expected}")), "{row}: {expected}");
    }
    assert!(
        row(",0.02,0.002,").contains("the saved run is of another system"),
        "{table}"
    );
    bench.write(
        "study.toml",
        &bench
            .read("study.toml")
            .replace("warm.state", "system.toml"),
    );
    refuse(
        &bench,
        "study study.toml -o other.csv",
        3,
        &["this is not a saved state"],
    );
}

/// A run of the slave of `unruly.c` that breaks this rule, in a system that calls it `pump`.
fn unruly(bench: &Bench, breaks: u8) {
    let fmu = build(bench, breaks);
    let system = format!(
        "[experiment]\nstop_time = 1.0\nstep_size = 0.125\n\n[components.pump]\nfmu = \"{fmu}\"\n"
    );
    bench.write("pump.toml", &system);
}

#[test]
fn states_that_another_process_cannot_go_on_from_are_refused_with_the_component() {
    let bench = Bench::new();
    let save = "run pump.toml -o out.csv --save-state pump.state";
    let mid = "run pump.toml --save-state pump.state --at 0.5";
    for (breaks, arguments, words) in [
        // Addresses of the process that has saved it.
        (
            0,
            save,
            "pump does not go on from its state in a new process",
        ),
        (63, save, "fmi2DeSerializeFMUstate"),
        (64, save, "pump.y is 0.0, and 1.0 here"),
        (64, mid, "pump.y is 0.0, and 0.5 here"),
        // What is left out shows in the step after it.
        (65, mid, "pump goes on with other numbers from its state"),
    ] {
        unruly(&bench, breaks);
        refuse(&bench, arguments, 3, &["pump", words]);
        assert!(!bench.path("pump.state").exists(), "{breaks}");
    }
}

#[test]
fn an_fmu_that_does_not_give_its_state_as_it_claims_is_named() {
    let bench = Bench::new();
    let first = "run pump.toml -o out.csv --save-state pump.state";
    for (breaks, function) in [
        (75, "fmi2GetFMUstate"),
        (76, "fmi2SerializedFMUstateSize"),
        (77, "fmi2SerializeFMUstate"),
    ] {
        unruly(&bench, breaks);
        for options in ["", " --no-supervisor", " --isolate", " --at 0.5"] {
            let words = [
                "an FMU does not give its state as it claims: pump: ",
                function,
            ];
            refuse(&bench, &format!("{first}{options}"), 3, &words);
            assert!(!bench.path("pump.state").exists(), "{breaks}");
        }
    }
}

#[test]
fn a_state_that_another_process_goes_on_from_is_saved() {
    let bench = Bench::new();
    unruly(&bench, 62);
    for at in ["", " --at 0.5", " --at 0", " --no-supervisor", " --isolate"] {
        let saved = format!("run pump.toml -o whole.csv --save-state pump.state{at}");
        succeed(&bench, &saved);
        if at.contains("--at") {
            succeed(&bench, "run pump.toml -o out.csv --resume pump.state");
            expect_end_of(&bench, "whole.csv", "out.csv");
        }
    }
}

#[test]
fn an_fmu_whose_description_denies_states_is_refused_before_its_library_is_loaded() {
    let bench = Bench::new();
    unruly(&bench, 60);
    // Its library crashes when it is loaded.
    let denied = DESCRIPTION.replace(" canSerializeFMUstate=\"true\"", "");
    build_of(&bench, 60, ("modelDescription.xml", &denied));
    let words = ["pump cannot give the state as bytes"];
    refuse(&bench, "run pump.toml --save-state pump.state", 3, &words);
}

#[test]
fn instances_of_a_run_that_is_refused_are_terminated_before_they_are_freed() {
    let bench = Bench::new();
    unruly(&bench, 66);
    for options in ["", " --no-supervisor", " --isolate"] {
        let late = format!("run pump.toml --save-state pump.state --at 7{options}");
        refuse(&bench, &late, 2, &["the run goes from 0 s to 1 s"]);
    }
}
