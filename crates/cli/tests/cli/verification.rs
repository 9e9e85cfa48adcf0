//! The second run that verifies a suspicion.

use serde_json::Value;

use crate::bench::{Bench, OSCILLATORS};

/// A quarter car at rest that meets a step of the road one second after the start, and ends soon after it.
pub(crate) const LATE: &str = r#"[experiment]
stop_time = 1.1
step_size = 1e-3
[components.chassis]
fmu = "fmus/QuarterCarChassisSuspension.fmu"
[components.wheel]
fmu = "fmus/QuarterCarWheel.fmu"
start_values = { road_step = 0.0, second_road_step = 0.1, second_road_time = 1.0 }
[[bonds]]
name = "suspension"
effort = { from = "chassis.F", to = "wheel.F" }
flow = { from = "wheel.v_w", to = "chassis.v_w" }
sense = -1
"#;

/// Case 3 of Rodríguez et al. 2022, table 1: the stale force makes 1.9 MJ of 10 kJ.
const EXPLODES: [&str; 2] = ["--start-value=left.k_c=1000", "--start-value=right.k=100"];

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("late.toml", LATE);
    bench.write("explodes.toml", OSCILLATORS);
    bench
}

/// A component whose calls fail as these start values say.
pub(crate) fn with_faulty(system: &str, start_values: &str) -> String {
    format!(
        "{system}\n[components.bad]\nfmu = \"fmus/Faulty.fmu\"\nstart_values = {{ {start_values} }}\n"
    )
}

/// What is found of a run: exit code, verdict, divergence, and the macro-steps of the second run.
fn found(bench: &Bench, arguments: &[&str]) -> (Option<i32>, String, String, u64) {
    let outcome = bench.run(arguments.iter().copied().chain(["--summary=summary.json"]));
    let summary = bench.json("summary.json");
    let text = |key: &str| summary[key].as_str().unwrap_or_default().to_owned();
    let steps = summary["verification_steps"].as_u64().unwrap();
    (outcome.code, text("verdict"), text("divergence"), steps)
}

/// It shows in the second run that the coupling is not the reason, whatever kind of run it is. The results are as without.
#[test]
fn a_late_step_is_cleared() {
    let bench = bench();
    let plain = ["run", "late.toml", "--no-verification", "-o", "plain.csv"];
    assert_eq!(
        found(&bench, &plain),
        (Some(0), "cannot-tell".into(), "suspected".into(), 0)
    );
    for more in [
        &[][..],
        &["--isolate"],
        &["--no-supervisor"],
        &["--method=gauss-seidel"],
    ] {
        let run: Vec<&str> = ["run", "late.toml", "-o", "out.csv"]
            .iter()
            .chain(more)
            .copied()
            .collect();
        let (code, verdict, divergence, steps) = found(&bench, &run);
        assert_eq!(
            (code, &*divergence, steps),
            (Some(0), "none", 2200),
            "{more:?}"
        );
        assert!(
            ["small", "visible"].contains(&&*verdict),
            "{more:?}: {verdict}"
        );
        if !more.contains(&"--method=gauss-seidel") {
            assert_eq!(bench.read("out.csv"), bench.read("plain.csv"), "{more:?}");
        }
    }
    let control = ["run", "late.toml", "--step-control=richardson"];
    let (code, verdict, divergence, steps) = found(&bench, &control);
    assert_eq!((code, &*divergence), (Some(0), "none"), "{verdict}");
    assert!(steps > 0);
}

/// By half the step; if an FMU takes no shorter one, by twice the step.
#[test]
fn twice_the_step_clears_where_half_is_refused() {
    let bench = bench();
    let rigid = "fault_time = 1e-3, fault = \"error\", function = \"short_step\"";
    bench.write("rigid.toml", &with_faulty(LATE, rigid));
    let (code, _, divergence, steps) = found(&bench, &["run", "rigid.toml"]);
    assert_eq!((code, &*divergence, steps), (Some(0), "none", 550));
    // A difference from a coarser run tells nothing.
    bench.write("rigid.toml", &with_faulty(OSCILLATORS, rigid));
    let run = ["run", "rigid.toml", EXPLODES[0], EXPLODES[1]];
    let (code, verdict, divergence, _) = found(&bench, &run);
    assert_eq!(
        (code, &*verdict, &*divergence),
        (Some(0), "cannot-tell", "suspected")
    );
}

#[test]
fn an_explosion_is_verified_and_ends_with_exit_code_6() {
    let bench = bench();
    let run = ["run", "explodes.toml", EXPLODES[0], EXPLODES[1]];
    let (code, verdict, divergence, steps) = found(&bench, &run);
    assert_eq!(
        (code, &*verdict, &*divergence),
        (Some(6), "diverging", "verified")
    );
    // At most two macro-steps for each of the run.
    assert!((1..=20_000).contains(&steps), "{steps}");
}

/// The closing line says what tells; a check on the verdict fails.
#[test]
fn a_suspicion_that_stays_open_is_said() {
    let bench = bench();
    let checks = "[[checks]]\nverdict_at_least = \"dominating\"\n";
    bench.write("checks.toml", checks);
    let run = [
        "run",
        "explodes.toml",
        EXPLODES[0],
        EXPLODES[1],
        "--no-verification",
    ];
    let outcome = bench.run(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let line = "coupling error: unknown (signals of a loop have grown; a run without --no-verification tells why)";
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    let outcome = bench.run(run.into_iter().chain(["--check=checks.toml"]));
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("may diverge"), "{}", outcome.stdout);
    for (more, reason) in [
        ("--output-file=-", "with --output-file FILE tells why"),
        ("--record-calls=calls", "without --record-calls tells why"),
        ("--real-time=1000", "without --real-time tells why"),
    ] {
        let always = [
            "run",
            "explodes.toml",
            EXPLODES[0],
            EXPLODES[1],
            "--summary=summary.json",
        ];
        let outcome = bench.run(always.into_iter().chain([more]));
        assert_eq!(outcome.code, Some(0), "{more}: {}", outcome.stderr);
        let summary = bench.json("summary.json");
        assert_eq!(summary["divergence"], "suspected", "{more}");
        let suspicion = summary["suspicion"].as_str().unwrap();
        assert!(suspicion.ends_with(reason), "{more}: {suspicion}");
    }
}

/// Rows in a file are there for all to read while the second run goes on.
#[test]
fn results_on_a_standard_output_that_is_a_file_are_verified() {
    let bench = bench();
    for more in [&[][..], &["--no-supervisor"]] {
        let run = ["run", "late.toml", "-o", "-", "--summary=summary.json"];
        let file = std::fs::File::create(bench.path("out.csv")).unwrap();
        let mut command = bench.command(run.iter().chain(more).copied());
        let status = command.stdout(file).status().unwrap();
        assert_eq!(status.code(), Some(0), "{more:?}");
        assert_eq!(bench.json("summary.json")["divergence"], "none", "{more:?}");
        assert_eq!(bench.rows("out.csv").1.len(), 1101, "{more:?}");
    }
}

/// An explosion that ends the run: what ends it may be the coupling.
#[test]
fn a_run_that_ends_in_a_value_that_is_not_finite_names_the_suspicion() {
    let bench = bench();
    let run = ["run", "explodes.toml", EXPLODES[0], EXPLODES[1]];
    let long = ["--step-size=0.02", "--stop-time=1000"];
    let outcome = bench.run(run.into_iter().chain(long));
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    let line = "coupling error: unknown (signals of a loop have grown; the run ended early: `gyrator doctor` may tell why)";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
}

/// A second run that crashes, fails or does not end costs nothing but the answer.
#[test]
fn the_second_run_never_costs_the_first_one() {
    let bench = bench();
    for fault in ["segfault", "error", "exit_0", "sleep"] {
        let values = format!(
            "fault_time = 1e-3, sleep_time = 3600.0, fault = \"{fault}\", function = \"short_step\""
        );
        bench.write("bad.toml", &with_faulty(LATE, &values));
        let run = ["run", "bad.toml", "-o", "out.csv", "--verification-limit=1"];
        let (code, verdict, divergence, steps) = found(&bench, &run);
        // Of an error, and of a crash, a run at twice the step tells.
        let expected = match fault {
            "sleep" => ("cannot-tell", "suspected", 0),
            _ => (&*verdict, "none", 550),
        };
        assert_eq!(
            (code, &*verdict, &*divergence, steps),
            (Some(0), expected.0, expected.1, expected.2),
            "{fault}"
        );
        assert_eq!(bench.rows("out.csv").1.len(), 1101, "{fault}");
    }
    let summary = bench.json("summary.json");
    let suspicion = summary["suspicion"].as_str().unwrap();
    assert!(
        suspicion.contains("see --verification-limit"),
        "{suspicion}"
    );
}

/// Error bars are the second run.
#[test]
fn error_bars_verify() {
    let bench = bench();
    let (code, verdict, divergence, steps) = found(&bench, &["run", "late.toml", "--error-bars"]);
    assert_eq!(
        (code, &*divergence, steps),
        (Some(0), "none", 0),
        "{verdict}"
    );
    let run = [
        "run",
        "explodes.toml",
        EXPLODES[0],
        EXPLODES[1],
        "--error-bars",
    ];
    let (code, verdict, divergence, _) = found(&bench, &run);
    assert_eq!(
        (code, &*verdict, &*divergence),
        (Some(6), "diverging", "verified")
    );
}

/// A study verifies if it is asked to.
#[test]
fn studies_verify_if_asked() {
    let bench = bench();
    let study = |verification: bool| {
        let text = format!(
            "system = \"explodes.toml\"\nverification = {verification}\naccept_divergence = true\n\
             [[vary]]\ngrid = {{ \"left.k_c\" = [100.0, 1000.0], \"right.k\" = 100.0 }}\n"
        );
        bench.write("study.toml", &text);
        let table = format!("{verification}.csv");
        let outcome = bench.run(["study", "study.toml", "-o", &table]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let table = bench.read(&table);
        let has = |word: &str| {
            table
                .lines()
                .filter(|line| line.split(',').any(|cell| cell == word))
                .count()
        };
        [has("diverging"), has("cannot-tell")]
    };
    assert_eq!(study(false)[0], 0);
    let [diverging, cannot_tell] = study(true);
    assert!(
        diverging >= 1 && cannot_tell == 0,
        "{diverging} {cannot_tell}"
    );
}

/// A row is kept before its second run ends the process.
#[test]
fn a_study_keeps_the_row_whose_second_run_crashes() {
    let bench = bench();
    let values = "fault_time = 1e-3, fault = \"segfault\", function = \"short_step\"";
    bench.write("bad.toml", &with_faulty(LATE, values));
    bench.write(
        "study.toml",
        "system = \"bad.toml\"\nverification = true\n\
         [[vary]]\ngrid = { \"wheel.second_road_step\" = [0.1, 0.05, 0.0] }\n\
         [metrics]\nfinal = [\"wheel.v_w\"]\n",
    );
    let outcome = bench.run(["study", "study.toml", "-o", "table.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let table = bench.read("table.csv");
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert_eq!(rows.len(), 3, "{table}");
    for (row, verdict) in rows.iter().zip(["cannot-tell", "cannot-tell", "small"]) {
        let has = |word: &str| row.split(',').any(|cell| cell == word);
        assert!(has("stop-time") && has(verdict), "{table}");
    }
}

/// Values of another run, so that the keys are known to be there: a run of one FMU has no loop.
#[test]
fn a_single_fmu_is_never_suspected() {
    let bench = bench();
    let outcome = bench.run([
        "simulate",
        "fmus/OscillatorMotion.fmu",
        "--summary=summary.json",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let summary = bench.json("summary.json");
    assert_eq!(summary["divergence"], "none");
    assert_eq!(summary["suspicion"], Value::Null);
}
