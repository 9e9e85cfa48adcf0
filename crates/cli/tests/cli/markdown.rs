//! `run --markdown`: the outcome for a merge request, of runs that end well, fail their checks, crash or never begin.

use crate::bench::{Bench, OSCILLATORS};
use crate::faults::FAULTY;

const CHECKS: &str = r#"
[[checks]]
signal = "*.x"
within = { value = 0, tolerance = 40 }

[[checks]]
name = "the coupling makes no energy"
bond = "coupling"
net_energy_error_below = 400.0
"#;

/// The outcome without the program's version and the hash of the file.
fn outcome(bench: &Bench) -> String {
    let text = bench.read("out.md");
    let (start, end) = text.rsplit_once("\ngyrator ").unwrap();
    let (facts, command) = end.split_once(": ").unwrap();
    assert!(facts.starts_with(env!("CARGO_PKG_VERSION")), "{facts}");
    format!("{start}\n{command}")
}

#[test]
fn a_run_in_a_few_lines() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("checks.toml", CHECKS);
    let run = "run system.toml -e 1 --check checks.toml --markdown out.md -q";
    let ended = bench.run(run.split_whitespace());
    assert_eq!(ended.code, Some(6), "{}", ended.stderr);
    insta::assert_snapshot!(outcome(&bench), @r"
    ### gyrator: system.toml

    Reached the stop time at t = 1 s after 1000 steps. Coupling error: **visible**, about 1.95 % of a signal.

    | bond | transferred, J | residual, J | by staleness, J | verdict |
    |---|--:|--:|--:|---|
    | coupling | 1481 | 1237 | 626.5 | visible |

    Checks: 2 of 3 hold.

    - **failed**: the coupling makes no energy: bond coupling has a net energy error of 626.494 J at t = 1 s, 226.494 J beyond its limit of 400 J

    `gyrator run system.toml -e 1 --check checks.toml --markdown out.md -q`
    ");
    let is_known = bench.read("out.md").contains(", system SHA-256 ");
    assert!(is_known, "the hash of the system file");
}

#[test]
fn a_crash_and_a_run_that_does_not_begin_are_said() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let run = "run system.toml --start-value bad.fault=segfault --start-value bad.function=do_step --markdown out.md";
    let ended = bench.run(run.split_whitespace());
    assert_eq!(ended.code, Some(5), "{}", ended.stderr);
    let text = outcome(&bench);
    assert!(text.contains("\n**Crashed** at t = "), "{text}");
    let ended = bench.run(["run", "missing.toml", "--markdown", "out.md"]);
    assert_ne!(ended.code, Some(0));
    let text = outcome(&bench);
    assert!(
        text.contains("\n**Failed** before the first step.\n\n    "),
        "{text}"
    );
}

#[test]
fn a_file_of_somebody_else_stays() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("README.md", "# Mine\n");
    let run = "run system.toml -e 0.1 --markdown README.md";
    let ended = bench.run(run.split_whitespace());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(
        ended
            .stderr
            .contains("--markdown README.md exists, and no run has written it"),
        "{}",
        ended.stderr
    );
    assert_eq!(bench.read("README.md"), "# Mine\n");
}
