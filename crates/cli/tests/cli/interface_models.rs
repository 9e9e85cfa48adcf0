//! Output of the program about interface models.

use crate::bench::Bench;

fn bench() -> Bench {
    let bench = Bench::new();
    let file = include_str!("../../../../examples/single-crane.toml");
    bench.write("system.toml", &file.replace("../target/fmus", "fmus"));
    bench
}

#[test]
fn inspection_lists_them() {
    let outcome = bench().run(["inspect", "system.toml"]);
    let line = "interface model actuators: mechanics on actuator1, every 0.001 s, fast-first, displacement correction auto";
    assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
}

#[test]
fn summaries_name_them_and_their_options() {
    let bench = bench();
    let arguments = ["run", "system.toml", "--stop-time", "0.2"];
    let outcome = bench.run(arguments.into_iter().chain(["--summary", "summary.json"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let line = "interface model actuators: mechanics with circuit1 every 0.001 s, fast-first, force mean, inputs hold, \
                displacement correction auto";
    let shown = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(shown.contains(line), "{shown}");
    let summary = std::fs::read_to_string(bench.path("summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    let model = &summary["interface_models"][0];
    assert_eq!(model["fast_components"][0], "circuit1");
    assert_eq!(model["order"], "fast-first");
    assert_eq!(model["displacement_correction"], "auto");
}

#[test]
fn a_wrong_word_is_answered_with_the_right_ones() {
    let bench = bench();
    let file = std::fs::read_to_string(bench.path("system.toml")).unwrap();
    bench.write(
        "wrong.toml",
        &file.replace("\"fast-first\"", "\"fast-frist\""),
    );
    let outcome = bench.run(["run", "wrong.toml"]);
    assert_eq!(outcome.code, Some(3));
    assert!(
        outcome.stderr.contains("did you mean `fast-first`?"),
        "{}",
        outcome.stderr
    );
}
