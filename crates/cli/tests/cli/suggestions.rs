//! Power bonds that connections suggest.

use crate::bench::{Bench, OSCILLATORS};

/// The oscillators without their bond.
fn without_bond() -> String {
    let (rest, _) = OSCILLATORS.split_once("[[bonds]]").unwrap();
    let plain = "[[connections]]\nfrom = \"left.f\"\nto = \"right.f\"\n\n[[connections]]\nfrom = \"right.v\"\nto = \"left.v2\"\n";
    rest.to_owned() + plain
}

#[test]
fn suggested_bonds_run_when_they_are_pasted() {
    let bench = Bench::new();
    bench.write("system.toml", &without_bond());
    let outcome = bench.run(["inspect", "system.toml", "--suggest-bonds"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    insta::assert_snapshot!(outcome.stdout);
    bench.write("pasted.toml", &(without_bond() + &outcome.stdout));
    bench.write("bonded.toml", OSCILLATORS);
    for (system, summary) in [("pasted.toml", "p.json"), ("bonded.toml", "b.json")] {
        let outcome = bench.run(["run", system, "--summary", summary]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    let energy = |summary: &str| bench.json(summary)["bonds"][0]["residual_energy"].clone();
    assert!(energy("p.json").is_number());
    assert_eq!(energy("p.json"), energy("b.json"));
    let outcome = bench.run(["inspect", "pasted.toml", "--suggest-bonds"]);
    assert!(
        outcome.stdout.contains("no connection suggests"),
        "{}",
        outcome.stdout
    );
}

#[test]
fn suggested_bonds_for_programs() {
    let bench = Bench::new();
    bench.write("system.toml", &without_bond());
    let outcome = bench.run(["inspect", "system.toml", "--suggest-bonds", "--json"]);
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let bond = &facts["suggested_bonds"][0];
    assert_eq!(bond["evidence"], "units");
    assert_eq!(bond["unique"], true);
    assert_eq!(bond["effort"][0]["from"], "left.f");
    assert!(bond["toml"].as_str().unwrap().starts_with("[[bonds]]"));
    let outcome = bench.run(["inspect", "system.toml", "--json"]);
    assert!(!outcome.stdout.contains("suggested_bonds"));
    let outcome = bench.run(["inspect", "fmus/OscillatorForce.fmu", "--suggest-bonds"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}
