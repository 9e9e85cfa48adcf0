//! Equal runs beside an FMU that changes how its thread computes (R-81).

use crate::bench::Bench;

/// Two oscillators, and the FMU `Faulty` between them in the order of names, in which components step.
const SYSTEM: &str = r#"
[experiment]
stop_time = 3.0
step_size = 0.01

[components.left]
fmu = "fmus/OscillatorForce.fmu"
start_values = { m = 1.0, k = 10.0, k_c = 100.0, v_start = 100.0 }

[components.middle]
fmu = "fmus/Faulty.fmu"

[components.right]
fmu = "fmus/OscillatorMotion.fmu"
start_values = { m = 1.0, k = 1000.0, v_start = -100.0 }

[[connections]]
from = "right.x"
to = "left.x2"

[[connections]]
from = "left.f"
to = "middle.u"

[[bonds]]
name = "coupling"
effort = { from = "left.f", to = "right.f" }
flow = { from = "right.v", to = "left.v2" }
"#;

/// Runs of each number of threads, in one process and in a process for each component.
const RUNS: usize = 100;

#[test]
#[ignore = "study: 600 runs"]
fn r81_equal_runs_beside_an_fmu_that_changes_how_its_thread_computes() {
    let bench = Bench::new();
    bench.write("system.toml", SYSTEM);
    let run = |arguments: &[&str]| {
        let first = ["run", "system.toml", "-o", "out.csv"];
        let outcome = bench.run([&first, arguments].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        (bench.read("out.csv"), outcome.stderr)
    };
    let begin = std::time::Instant::now();
    let (expected, stderr) = run(&["--start-value", "middle.fault=none"]);
    assert_eq!(expected.lines().count(), 302);
    assert!(!stderr.contains("has changed"), "{stderr}");
    let fault = ["--start-value", "middle.fault=change_float_control"];
    let mut count = 0;
    for threads in ["1", "2", "4"] {
        for isolation in [&[] as &[&str], &["--isolate"]] {
            for number in 0..RUNS {
                // The random numbers of a process are always the same ones: here, other steps get them.
                let time = format!("middle.fault_time={:.2}", 0.01 * number as f64);
                let time = ["--start-value", &time, "--worker-threads", threads];
                let (found, stderr) = run(&[&fault[..], &time, isolation].concat());
                let place = format!("{threads} threads, {isolation:?}, run {number}");
                assert!(found == expected, "{place}: another result");
                let warnings: Vec<&str> = stderr
                    .lines()
                    .filter(|line| line.contains("has changed"))
                    .collect();
                let [warning] = warnings[..] else {
                    panic!("{place}: {stderr}");
                };
                assert!(
                    warning.starts_with("warning: middle: fmi2DoStep has changed"),
                    "{place}: {warning}"
                );
                count += 1;
            }
        }
    }
    println!("{count} runs, one result, in {:.0?}", begin.elapsed());
}
