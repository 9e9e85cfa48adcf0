//! Projects of MasterSim and multi-models of INTO-CPS, run, inspected and exported.

use crate::bench::Bench;

/// The same system in three formats.
const TOML: &str = r#"connections = [["right.x", "left.x2"], ["right.v", "left.v2"], ["left.f", "right.f"]]
[experiment]
stop_time = 1.0
step_size = 1e-3
method = "jacobi"
exchange = "stale"
extrapolation = "hold"
step_control = { name = "fixed", accumulate = true }
[components]
left = { fmu = "fmus/OscillatorForce.fmu", start_values = { m = 1.0, k = 10.0, k_c = 100.0, v_start = 100.0 } }
right = { fmu = "fmus/OscillatorMotion.fmu", start_values = { m = 1.0, k = 1000.0, v_start = -100.0 } }
"#;

const PROJECT: &str = "tEnd 1 s\nhStart 1 ms\nMasterMode GAUSS_JACOBI
simulator 0 0 left #ff8c00 \"fmus/OscillatorForce.fmu\"
simulator 1 0 right #ff8c00 fmus/OscillatorMotion.fmu
graph right.x left.x2\ngraph right.v left.v2\ngraph left.f right.f
parameter left.m 1\nparameter left.k 10\nparameter left.k_c 100\nparameter left.v_start 100
parameter right.m 1\nparameter right.k 1000\nparameter right.v_start -100
";

const MULTI_MODEL: &str = r#"{"fmus": {"{l}": "fmus/OscillatorForce.fmu", "{r}": "fmus/OscillatorMotion.fmu"},
"connections": {"{r}.right.x": ["{l}.left.x2"], "{r}.right.v": ["{l}.left.v2"], "{l}.left.f": ["{r}.right.f"]},
"parameters": {"{l}.left.m": 1, "{l}.left.k": 10, "{l}.left.k_c": 100, "{l}.left.v_start": 100,
"{r}.right.m": 1, "{r}.right.k": 1000, "{r}.right.v_start": -100}}"#;

const COE: &str =
    r#"{"startTime": 0, "endTime": 1, "algorithm": {"type": "fixed-step", "size": 0.001}}"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", TOML).write("x.msim", PROJECT);
    bench.write("mm.json", MULTI_MODEL).write("coe.json", COE);
    bench
}

fn succeed(bench: &Bench, arguments: &[&str]) -> String {
    let outcome = bench.run(arguments.iter().copied());
    assert_eq!(outcome.code, Some(0), "{arguments:?}: {}", outcome.stderr);
    outcome.stdout
}

#[test]
fn a_project_and_a_multi_model_give_the_result_of_the_same_system_in_toml() {
    let bench = bench();
    std::fs::create_dir(bench.path("elsewhere")).unwrap();
    let run = |system: &[&str]| {
        let mut arguments = vec!["run", "-o", "result.csv"];
        arguments.extend(system);
        succeed(&bench, &arguments);
        bench.read("result.csv")
    };
    let expected = run(&["system.toml"]);
    assert!(expected.lines().count() == 1002);
    let projects: [&[&str]; 2] = [&["x.msim"], &["mm.json", "--coe", "coe.json"]];
    for system in projects {
        assert!(run(system) == expected, "{system:?}");
        let text = succeed(&bench, &[&["inspect"], system].concat());
        assert!(text.contains("right.x"), "{text}");
        for exported in ["exported.toml", "elsewhere/exported.toml", "exported.ssp"] {
            succeed(&bench, &[&["export", "-o", exported], system].concat());
            assert!(run(&[exported]) == expected, "{system:?} as {exported}");
        }
    }
}

#[test]
fn the_option_for_times_is_of_multi_models_alone() {
    let bench = bench();
    let outcome = bench.run(["run", "x.msim", "--coe", "coe.json"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("x.msim is no multi-model of INTO-CPS"),
        "{}",
        outcome.stderr
    );
    let outcome = bench.run(["run", "mm.json"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(
        outcome
            .stderr
            .contains("give the file with `endTime`: --coe"),
        "{}",
        outcome.stderr
    );
    let outcome = bench.run(["run", "coe.json"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("--coe coe.json"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_project_with_a_mistake_is_refused_at_its_place() {
    let bench = bench();
    bench.write(
        "x.msim",
        "tEnd 1\nsimulator 0 0 left #fff fmus/OscillatorForce.fmu\n",
    );
    let outcome = bench.run(["run", "x.msim"]);
    assert_ne!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("x.msim:1:6"), "{}", outcome.stderr);
    bench.write("mm.json", "{\"fmus\": {\"{l}\": 1}}");
    let outcome = bench.run(["run", "mm.json"]);
    assert_ne!(outcome.code, Some(0));
    assert!(
        outcome.stderr.contains("mm.json:1:18"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn files_that_no_run_has_written_stay() {
    let bench = bench();
    let coe = bench.read("coe.json");
    let outcome = bench.run("run mm.json --coe coe.json --summary coe.json".split(' '));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(bench.read("coe.json"), coe);
    for option in ["--summary", "--report", "--markdown"] {
        let name = if option == "--report" {
            "mine.html"
        } else {
            "mine.md"
        };
        bench.write(name, "mine");
        let outcome = bench.run(["run", "x.msim", option, name]);
        assert_eq!(outcome.code, Some(2), "{option}: {}", outcome.stderr);
        let text = format!("{option} {name} exists, and no run has written it");
        assert!(outcome.stderr.contains(&text), "{}", outcome.stderr);
        assert_eq!(bench.read(name), "mine");
    }
}
