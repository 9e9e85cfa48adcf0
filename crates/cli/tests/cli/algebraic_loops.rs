//! Algebraic loops between steps, as users meet them.

use crate::bench::Bench;

/// f = 100·x + 5·(v − v2) with v2 = 0.1·f, so that 1.5·f = 100·x + 5·v; x2 is 0.
const SYSTEM: &str = r#"
[experiment]
stop_time = 0.5
step_size = 0.01

[components.force]
fmu = "own.fmu"
start_values = { k_c = 100.0, c_c = 5.0 }

[[connections]]
from = "force.f"
to = "force.v2"
gain = 0.1
"#;

/// A bench with the system, whose FMU lacks these abilities.
fn bench(lacks: &[&str]) -> Bench {
    let bench = Bench::new();
    bench.alter_fmu("OscillatorForce", "own.fmu", |text| {
        // A force may feed a velocity.
        let mut text = text.replace(" unit=\"m/s\"", " unit=\"N\"");
        for ability in lacks {
            let given = format!("{ability}=\"true\"");
            text = text.replace(&given, &format!("{ability}=\"false\""));
        }
        text
    });
    bench.write("system.toml", SYSTEM);
    bench
}

#[test]
fn an_output_that_feeds_its_own_input_is_solved_in_each_row() {
    for (lacks, way, words) in [
        (&[][..], "fresh", "force: reads outputs again"),
        (
            &["fresh"][..],
            "trial-steps",
            "force: trial steps from a saved state",
        ),
        (
            &["fresh", "canGetAndSetFMUstate"][..],
            "linear",
            "force: D·(u − ũ)",
        ),
    ] {
        let bench = bench(lacks);
        let files = ["-o", "out.csv", "--summary", "summary.json"];
        let outcome = bench.run(["run", "system.toml"].into_iter().chain(files));
        assert_eq!(outcome.code, Some(0), "{way}: {}", outcome.stderr);
        let (header, rows) = bench.rows("out.csv");
        let column = |name: &str| header.iter().position(|known| known == name).unwrap();
        let [f, x, v] = ["force.f", "force.x", "force.v"].map(column);
        assert_eq!(rows.len(), 51);
        for row in &rows {
            let expected = (100.0 * row[x] + 5.0 * row[v]) / 1.5;
            let error = (row[f] - expected).abs();
            // A trial step of 1e-8 s also moves the velocity.
            let tolerance = if way == "trial-steps" { 1e-6 } else { 1e-8 };
            assert!(
                error <= tolerance * expected.abs().max(1.0),
                "{way}: {row:?}"
            );
        }
        let summary = bench.json("summary.json");
        let found = &summary["algebraic_loops"][0];
        assert_eq!(found["outputs"][0], "force.f", "{summary}");
        assert_eq!(found["members"][0]["way"], way, "{summary}");
        assert_eq!(
            (&found["points"], &found["unsolved"]),
            (&50.into(), &0.into())
        );
        let outcome = bench.run(["inspect", "system.toml", "--plan", "--start"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let plan = outcome.stdout;
        assert!(plan.contains("loop: solves force.f by"), "{plan}");
        assert!(plan.contains(words), "{plan}");
    }
}

#[test]
fn a_stop_time_that_is_the_start_time_initialises_and_ends() {
    for lacks in [&[][..], &["fresh"]] {
        let bench = bench(lacks);
        let outcome = bench.run(["run", "system.toml", "--stop-time", "0", "-o", "out.csv"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let (header, rows) = bench.rows("out.csv");
        let f = header.iter().position(|name| name == "force.f").unwrap();
        assert_eq!(rows.len(), 1);
        assert!((rows[0][f] - 500.0 / 1.5).abs() < 1e-7, "{rows:?}");
    }
}
