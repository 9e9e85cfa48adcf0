//! `run --check` and `--junit`: what holds and what does not, runs that fail, mistakes in the file.

use crate::bench::{Bench, OSCILLATORS, ProgramOutcome, without_times};
use crate::faults::FAULTY;

const CHECKS: &str = r#"
[[checks]]
signal = "*.x"
within = { value = 0, tolerance = 40 }

[[checks]]
name = "mass 2 swings"
signal = "right.x"
reaches = 1.0
never_above = 3.5

[[checks]]
signal = "left.x"
from = 0.5
until = 0.75
never_below = 5.0

[[checks]]
bond = "coupling"
energy_error_below = { relative = 0.6 }
net_energy_error_below = 400.0
verdict_at_least = "dominating"

[[checks]]
component = "left"
balance_above = -5000.0
"#;

fn run(bench: &Bench, more: &str) -> ProgramOutcome {
    let run =
        format!("run system.toml --check checks.toml --junit junit.xml --summary s.json {more}");
    bench.run(run.split_whitespace())
}

fn bench(system: &str, checks: &str) -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", system);
    bench.write("checks.toml", checks);
    bench
}

/// The outcomes in the summary, in the order of the file.
fn outcomes(bench: &Bench) -> Vec<String> {
    let summary = bench.json("s.json");
    let checks = summary["checks"].as_array().unwrap();
    let outcome = |check: &serde_json::Value| check["outcome"].as_str().unwrap().to_owned();
    checks.iter().map(outcome).collect()
}

#[test]
fn checks_that_do_not_hold_are_shown_and_written() {
    let bench = bench(OSCILLATORS, CHECKS);
    let outcome = run(&bench, "-e 1");
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    insta::assert_snapshot!("closing", without_times(&outcome.stdout) + &outcome.stderr);
    insta::assert_snapshot!("junit", bench.read("junit.xml"));
    let found = bench.json("s.json")["checks"][3].clone();
    insta::assert_snapshot!("finding", serde_json::to_string_pretty(&found).unwrap());
}

/// Results and exit code are the same as without checks, however the run is carried out.
#[test]
fn checks_that_hold_change_nothing() {
    let bench = bench(
        OSCILLATORS,
        "checks = [{ signal = \"*\", never_above = 1e5 }, { signal = \"left.x2\", never_above = 1e5 }]\n",
    );
    bench.run("run system.toml -e 0.1 -o plain.csv".split(' '));
    let mut reports = Vec::new();
    for more in ["", "--no-supervisor", "--isolate", "--error-bars"] {
        let outcome = run(&bench, &format!("-e 0.1 -o out.csv {more}"));
        assert_eq!(outcome.code, Some(0), "{more}: {}", outcome.stderr);
        assert!(
            outcome.stdout.contains("\nchecks: 16 of 16 hold\n"),
            "{}",
            outcome.stdout
        );
        assert!(outcomes(&bench).iter().all(|outcome| outcome == "passed"));
        reports.push(bench.read("junit.xml"));
        if more != "--error-bars" {
            assert_eq!(bench.read("out.csv"), bench.read("plain.csv"), "{more}");
        }
    }
    assert!(reports.iter().all(|report| *report == reports[0]));
    assert!(reports[0].contains("tests=\"16\" failures=\"0\" errors=\"0\""));
    // On a pipe the closing output goes to the standard error.
    let outcome = run(&bench, "-e 0.002 -o -");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("checks: 16 of 16 hold"),
        "{}",
        outcome.stderr
    );
}

const OF_FAULTY: &str = "
[[checks]]
signal = \"good.x\"
never_above = -1

[[checks]]
signal = \"good.x\"
until = 0.2
never_above = 1e4

[[checks]]
signal = \"good.x\"
never_above = 1e4
";

/// A run that fails is an error in the report, whatever the checks found until then; if its process is lost, so are they.
#[test]
fn runs_that_fail_are_in_the_report() {
    let bench = bench(FAULTY, OF_FAULTY);
    let all_lost = ["not-judged"; 3].as_slice();
    let judged = ["failed", "passed", "not-judged"].as_slice();
    for (fault, more, code, expected, errors) in [
        ("error", "", 1, judged, 2),
        ("error", "--no-supervisor", 1, judged, 2),
        ("segfault", "", 5, all_lost, 4),
        ("segfault", "--isolate", 5, judged, 2),
        ("exit_7", "", 5, all_lost, 4),
    ] {
        let values = "--start-value bad.function=do_step --start-value bad.fault";
        let outcome = run(&bench, &format!("{values}={fault} {more}"));
        let words = format!("{fault} {more}: {}", outcome.stderr);
        assert_eq!(outcome.code, Some(code), "{words}");
        assert_eq!(outcomes(&bench), expected, "{words}");
        let report = bench.read("junit.xml");
        assert!(
            report.contains(&format!(
                "tests=\"4\" failures=\"{}\" errors=\"{errors}\"",
                i32::from(errors == 2)
            )),
            "{words}{report}"
        );
        assert!(
            report.contains("name=\"the run\">\n      <error type=\"run\" message=\"bad: "),
            "{report}"
        );
        assert!(report.contains("at t = 0.4 s (step 4)"), "{report}");
        let is_shown = outcome
            .stderr
            .contains("failed: good.x is 4960 at t = 0.4 s, 4961 above -1");
        assert_eq!(is_shown, code == 1 || more == "--isolate", "{words}");
    }
}

#[test]
fn a_coupling_that_diverges_and_checks_that_fail() {
    let case_3 = OSCILLATORS
        .replace("k_c = 100.0", "k_c = 1000.0")
        .replace("k = 1000.0", "k = 100.0");
    let bench = bench(&case_3, "checks = [{ verdict_at_least = \"dominating\" }]");
    let outcome = run(&bench, "");
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("diverges"), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("the check does not hold"),
        "{}",
        outcome.stderr
    );
    assert_eq!(outcomes(&bench), ["failed"]);
    let outcome = run(&bench, "--accept-divergence");
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(
        outcome.stderr.starts_with("error: the check does not hold"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn mistakes_say_where_and_what() {
    let bench = bench(OSCILLATORS, CHECKS);
    let change = |from: &str, to: &str| CHECKS.replace(from, to);
    for (text, words) in [
        (change("right.x", "rigt.x"), "did you mean `right.x`?"),
        (change("coupling", "copling"), "did you mean `coupling`?"),
        (change("\"left\"", "\"lft\""), "did you mean `left`?"),
        (change("reaches", "reeches"), "did you mean `reaches`?"),
        (
            change("dominating", "dominatin"),
            "did you mean `dominating`?",
        ),
        (
            change("until = 0.75", "until = 10.5"),
            "the run is from 0 s to 10 s",
        ),
        (change("*.x", "*.q"), "the system has no variable `*.q`"),
        ("checks = [".to_owned(), "this is not TOML"),
        (
            OSCILLATORS.to_owned(),
            "is a system file, not a file of checks",
        ),
    ] {
        bench.write("checks.toml", &text);
        let outcome = run(&bench, "");
        assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{words}: {}",
            outcome.stderr
        );
        assert_eq!(outcome.stdout, "");
        let report = bench.read("junit.xml");
        assert!(report.contains("<error type=\"run\""), "{report}");
    }
}

#[test]
fn files_that_are_something_else_are_refused() {
    let bench = bench(OSCILLATORS, CHECKS);
    for (arguments, code, words) in [
        (
            "--check nowhere.toml",
            3,
            "cannot read the file of checks nowhere.toml",
        ),
        ("--junit j.xml", 2, "--check"),
        (
            "--check checks.toml --junit checks.toml",
            2,
            "is the checks",
        ),
        (
            "--check checks.toml --junit system.toml",
            2,
            "is the system file",
        ),
        (
            "--check checks.toml --junit fmus/OscillatorForce.fmu",
            2,
            "is an FMU of the system",
        ),
        (
            "--check checks.toml --initialize-only",
            2,
            "--initialize-only",
        ),
        (
            "--check system.toml",
            3,
            "is a system file, not a file of checks",
        ),
    ] {
        let outcome = bench.run(format!("run system.toml {arguments}").split(' '));
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{words}: {}",
            outcome.stderr
        );
    }
    // A file that is not a report stays as it is.
    bench.write("notes.txt", "notes\n");
    let outcome =
        bench.run("run system.toml -e 0.1 --check checks.toml --junit notes.txt".split(' '));
    assert_ne!(outcome.code, Some(0));
    assert_eq!(bench.read("notes.txt"), "notes\n");
    let outcome = bench.run(["run", "checks.toml"]);
    assert!(
        outcome.stderr.contains("gyrator run SYSTEM --check FILE"),
        "{}",
        outcome.stderr
    );
}
