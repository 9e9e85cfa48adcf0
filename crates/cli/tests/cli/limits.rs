//! Limits that a system file sets.

use crate::bench::{Bench, OSCILLATORS};

#[test]
fn residual_energy_beyond_its_limit() {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        &format!("{OSCILLATORS}max_residual_energy = 100.0\n"),
    );
    let outcome = bench.run([
        "run",
        "system.toml",
        "-o",
        "out.csv",
        "--summary",
        "summary.json",
    ]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("coupling"), "{}", outcome.stderr);
    let summary = bench.json("summary.json");
    assert_eq!(summary["stop_reason"], "limit");
    let residual = summary["bonds"][0]["residual_energy"].as_f64().unwrap();
    assert!(residual.abs() > 100.0, "{residual}");
    let (_, rows) = bench.rows("out.csv");
    assert_eq!(
        rows.last().unwrap()[0],
        summary["stop_time"].as_f64().unwrap()
    );
}

#[test]
fn options_about_bonds_have_no_effect_without_one() {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        "experiment = { stop_time = 1, step_size = 0.1 }\ncomponents = { a.block = \"sine\" }\n",
    );
    let options = ["--max-residual-energy", "1", "--correction"];
    let run = |correction| {
        let outcome = bench.run(
            ["run", "system.toml"]
                .into_iter()
                .chain(options)
                .chain([correction]),
        );
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        outcome.stderr
    };
    let warning =
        |option: &str| format!("warning: {option} has no effect: the system has no power bonds\n");
    let of_limit = warning("--max-residual-energy");
    assert_eq!(run("residual-power"), warning("--correction") + &of_limit);
    assert_eq!(run("off"), of_limit);
}
