//! Bonds whose effort × flow is not a power.

use crate::bench::Bench;

/// A bond of force and position, with this gain.
fn file(gain: &str) -> String {
    format!(
        r#"
[experiment]
stop_time = 0.01
step_size = 1e-3
[components]
force = {{ fmu = "fmus/OscillatorForce.fmu" }}
motion = {{ fmu = "fmus/OscillatorMotion.fmu" }}
[[connections]]
from = "motion.v"
to = "force.v2"
[[bonds]]
name = "spring"
effort = {{ from = "force.f", to = "motion.f"{gain} }}
flow = {{ from = "motion.x", to = "force.x2" }}
"#
    )
}

#[test]
fn inspection_notes_and_table_say_so() {
    const NOTE: &str = "bond spring: N × m is not a power";
    let bench = Bench::new();
    bench.write("system.toml", &file(""));
    let inspected = bench.run(["inspect", "system.toml"]);
    assert_eq!(inspected.code, Some(0), "{}", inspected.stderr);
    assert!(inspected.stdout.contains(NOTE), "{}", inspected.stdout);
    let run = bench.run(["run", "system.toml", "--summary", "summary.json"]);
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(shown.contains(NOTE), "{shown}");
    assert!(shown.contains("spring (generalised)"), "{shown}");
    let summary = std::fs::read_to_string(bench.path("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(summary["bonds"][0]["is_power"], false);
}

#[test]
fn a_gain_can_make_it_a_power() {
    let bench = Bench::new();
    bench.write("system.toml", &file(", gain = 0.25"));
    let run = bench.run(["run", "system.toml"]);
    let shown = format!("{}{}", run.stdout, run.stderr);
    assert!(!shown.contains("not a power"), "{shown}");
    assert!(!shown.contains("generalised"), "{shown}");
}
