//! A component in a process of its own, a profile and a report change no figure of a run; `tests/system/strangers.rs` has the rest.

use serde_json::Value;

use crate::bench::{Bench, OSCILLATORS};

/// A component that is not connected.
const STRANGERS: [(&str, &str); 3] = [
    ("block", "block = { name = \"constant\", value = 1.0 }"),
    (
        "isolated FMU",
        "fmu = \"fmus/OscillatorMotion.fmu\"\nisolate = true",
    ),
    (
        "slow isolated FMU",
        "fmu = \"fmus/OscillatorForce.fmu\"\nisolate = true\nstep_size = 0.005",
    ),
];

/// Figures of the summary that are about the run, without counts, times and the stranger.
fn figures(bench: &Bench) -> Vec<(String, Value)> {
    let Value::Object(summary) = bench.json("out.json") else {
        panic!("no summary");
    };
    let is_of_stranger = |value: &Value| value.to_string().contains("stranger");
    let left_out = [
        "system",
        "counters",
        "wall_clock",
        "component_times",
        "profile",
        "output",
        "provenance",
        "graph",
        "plan",
    ];
    let kept = summary.into_iter();
    let kept = kept.filter(|(name, _)| !left_out.contains(&name.as_str()));
    kept.map(|(name, mut value)| {
        if let Value::Array(list) = &mut value {
            list.retain(|item| !is_of_stranger(item));
        }
        (name, value)
    })
    .collect()
}

/// The columns of the result without the stranger's.
fn columns(bench: &Bench) -> Vec<(String, Vec<u64>)> {
    let (names, rows) = bench.rows("out.csv");
    let names = names.into_iter().enumerate();
    let names = names.filter(|(_, name)| !name.contains("stranger"));
    names
        .map(|(column, name)| (name, rows.iter().map(|row| row[column].to_bits()).collect()))
        .collect()
}

#[test]
fn isolated_strangers_profiles_and_reports_change_no_figure() {
    let bench = Bench::new();
    let run = |text: &str, options: &str| {
        bench.write("system.toml", text);
        let command = format!("run system.toml -e 0.2 -o out.csv --summary out.json{options}");
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(0), "{options}: {}", outcome.stderr);
        (figures(&bench), columns(&bench))
    };
    let auto = OSCILLATORS.replace("\"hold\"", "\"auto\"");
    for system in [OSCILLATORS, &auto] {
        let expected = run(system, "");
        for (name, stranger) in STRANGERS {
            let text = format!("{system}\n[components.stranger]\n{stranger}\n");
            assert_eq!(run(&text, ""), expected, "{name}");
        }
        for options in [
            " --profile=trace.json",
            " --report out.html",
            " --isolate",
            " --no-supervisor",
        ] {
            assert_eq!(run(system, options), expected, "{options}");
        }
    }
}
