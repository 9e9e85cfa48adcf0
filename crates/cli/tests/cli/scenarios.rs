//! `run --scenario`: what it does to results and summaries, and what is wrong with a scenario.

use crate::bench::{Bench, OSCILLATORS};

const SCENARIO: &str = "
[[actions]]
time = 0.0025
until = 0.005
variable = \"left.x2\"
action = { name = \"override\", value = 0.5 }
";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("faults.toml", SCENARIO);
    bench
}

#[test]
fn actions_are_in_the_results_and_the_summaries() {
    let bench = bench();
    let run = "run system.toml -e 0.008 --scenario faults.toml --output-variable left.x2 -o out.csv --summary s.json";
    let outcome = bench.run(run.split(' '));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for line in [
        "  0.003  override       left.x2",
        "  0.005  override ends  left.x2",
    ] {
        assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    }
    let (_, rows) = bench.rows("out.csv");
    for row in &rows {
        let is_acted_on = (0.0025..0.0045).contains(&row[0]);
        assert_eq!(row[1] == 0.5, is_acted_on, "{row:?}");
    }
    let actions = &bench.json("s.json")["actions"];
    assert_eq!(actions.as_array().map(Vec::len), Some(2));
    assert_eq!(actions[0]["time"], 0.003);
    assert_eq!(actions[0]["variable"], "left.x2");
    assert_eq!(actions[0]["action"], "override");
    assert_eq!(actions[1]["event"], "end");
    // Without a scenario the list is empty, and the values are others.
    bench.run(
        "run system.toml -e 0.008 --output-variable left.x2 -o plain.csv --summary s.json"
            .split(' '),
    );
    assert_eq!(bench.json("s.json")["actions"], serde_json::json!([]));
    assert_ne!(bench.read("out.csv"), bench.read("plain.csv"));
}

#[test]
fn wrong_scenarios_say_where_and_what() {
    let bench = bench();
    for (text, code, words) in [
        (
            SCENARIO.replace("left.x2", "left.x3"),
            3,
            "did you mean `left.x2`?",
        ),
        (
            SCENARIO.replace("override", "overide"),
            3,
            "did you mean `override`?",
        ),
        (
            SCENARIO.replace("left.x2", "left.x"),
            3,
            "`left.x` is an output that feeds no input",
        ),
        (
            SCENARIO.replace("until", "untill"),
            3,
            "did you mean `until`?",
        ),
        (
            SCENARIO.replace("left.x2", "left.m"),
            3,
            "neither an input, an output nor a tunable parameter",
        ),
        (
            OSCILLATORS.to_owned(),
            3,
            "is a system file, not a scenario file",
        ),
    ] {
        bench.write("faults.toml", &text);
        let outcome = bench.run(["run", "system.toml", "--scenario", "faults.toml"]);
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{words}: {}",
            outcome.stderr
        );
        assert_eq!(outcome.stdout, "");
    }
    bench.write("faults.toml", SCENARIO);
    let outcome = bench.run(["run", "system.toml", "--scenario", "nowhere.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let outcome = bench.run("run system.toml --scenario faults.toml -o faults.toml".split(' '));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let outcome = bench.run(["run", "faults.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
}
