//! `gyrator design-hinfinity`.

use crate::bench::Bench;

#[test]
fn designs_are_written_for_programs() {
    let arguments = ["design-hinfinity", "--macro-step", "0.01", "--json"];
    let outcome = Bench::new().run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    // Anchor by `crates/benchmark/reference/hinfinity.py`, after Chen et al. (2021).
    let gamma = facts["gamma"].as_f64().unwrap();
    assert!((gamma / 0.016092 - 1.0).abs() < 1e-3, "{gamma}");
    assert_eq!(facts["poles"].as_array().map(Vec::len), Some(4));
    assert_eq!(facts["smoother_cutoff"], 50.0);
}

#[test]
fn the_one_sided_compensator_has_two_states_and_a_picture() {
    let bench = Bench::new();
    let arguments = ["design-hinfinity", "--one-sided", "--figure", "error.svg"];
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("smoother                 none"));
    assert!(bench.read("error.svg").ends_with("</svg>\n"));
}

/// γ by `crates/benchmark/reference/hinfinity.py`, without a smoother.
#[test]
fn the_one_sided_compensator_takes_weights_of_higher_order() {
    for (order, gamma) in [("1", 0.0137755), ("2", 0.00731408), ("3", 0.00753499)] {
        let arguments = [
            "design-hinfinity",
            "--one-sided",
            "--weight-order",
            order,
            "--json",
        ];
        let outcome = Bench::new().run(arguments);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        let found = facts["gamma"].as_f64().unwrap();
        assert!((found / gamma - 1.0).abs() < 1e-3, "{order}: {found}");
        assert_eq!(facts["smoother_cutoff"], serde_json::Value::Null);
    }
}

#[test]
fn designs_that_make_no_sense_are_wrong_use() {
    for arguments in [
        ["--smoother-cutoff", "nonesuch"],
        ["--weight-order", "4"],
        ["--static-gain", "100"],
    ] {
        let outcome = Bench::new().run(["design-hinfinity"].into_iter().chain(arguments));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stdout);
    }
}
