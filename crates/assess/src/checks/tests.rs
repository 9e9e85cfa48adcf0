//! Checks of runs: which hold, which fail, and which cannot be judged.

use gyrator::record::Recorded;
use gyrator::{ClosureUnit, Recorder, Report, Run, RunOptions, StopReason, System, Verdict};

use super::{
    Check, Checks, EnergyLimit, Finding, Judging, Outcome, Recording, RunEnd, parse, short,
};

/// y = t² and a counter of steps, at every 0.25 s from 0 to 4 s; exact in binary.
fn parabola() -> System {
    let mut system = System::new(0.25);
    system.stop_time(4.0);
    let unit = ClosureUnit::new(&[("u", 0.5)], &[("y", 0.0)], |call| {
        let time = call.time + call.step;
        call.outputs[0] = time * time;
    });
    system.add("a", unit);
    system
}

fn findings(system: System, checks: &Checks) -> Vec<Finding> {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let judging = Judging::new(checks, run.graph(), 0.0, Some(4.0)).unwrap();
    run.observe(judging.observer()).unwrap();
    let report = match run.run() {
        Ok(report) => report,
        Err(_) => run.report(),
    };
    judging.conclude(&report)
}

fn only(check: Check) -> Finding {
    let mut found = findings(parabola(), &Checks::from([check]));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

/// The bounds belong to what is allowed, and so do the ends of a window.
#[test]
fn signals_are_judged_by_closed_forms() {
    for (check, outcome) in [
        (Check::never_above("a.y", 16.0), Outcome::Passed),
        (Check::never_above("a.y", 15.9), Outcome::Failed),
        (Check::never_above("a.y", 4.0).until(2.0), Outcome::Passed),
        (Check::never_below("a.y", 4.0).from(2.0), Outcome::Passed),
        (Check::never_below("a.y", 4.0).from(1.75), Outcome::Failed),
        (
            Check::within("a.y", 5.0, 1.0).from(2.0).until(2.25),
            Outcome::Passed,
        ),
        (
            Check::within("a.y", 5.0, 1.0).from(2.0).until(2.5),
            Outcome::Failed,
        ),
        (Check::settles("a.y", Some(16.0), 0.0, 4.0), Outcome::Passed),
        (
            Check::settles("a.y", Some(16.0), 2.0, 3.75),
            Outcome::Passed,
        ),
        (Check::settles("a.y", None, 2.0, 3.75), Outcome::Passed),
        (Check::settles("a.y", None, 2.0, 3.5), Outcome::Failed),
        (Check::reaches("a.y", 16.0), Outcome::Passed),
        (Check::reaches("a.y", 0.01), Outcome::Passed),
        (Check::reaches("a.y", 16.01), Outcome::Failed),
        (Check::reaches("a.y", -0.01), Outcome::Failed),
        (Check::reaches("a.y", 16.0).until(3.75), Outcome::Failed),
        // Between two communication points nothing is seen.
        (
            Check::never_above("a.y", 16.0).from(1.1).until(1.2),
            Outcome::Failed,
        ),
        // An input, which is not an output, is seen as well.
        (Check::within("a.u", 0.5, 0.0), Outcome::Passed),
        (
            Check::verdict_at_least(None, Verdict::Small),
            Outcome::Passed,
        ),
    ] {
        let words = format!("{check:?}");
        let found = only(check);
        assert_eq!(found.outcome, outcome, "{words}: {found:?}");
        assert_eq!(found.message.is_some(), outcome == Outcome::Failed);
    }
}

#[test]
fn findings_say_what_where_and_by_how_much() {
    let found = only(Check::never_above("a.y", 10.0));
    assert_eq!(found.name, "a.y is never above 10");
    let text = "a.y is 16 at t = 4 s, 6 above 10; first out of bounds at t = 3.25 s";
    assert_eq!(found.message.as_deref(), Some(text));
    assert_eq!(
        (found.value, found.time, found.excess),
        (Some(16.0), Some(4.0), Some(6.0))
    );
    let found = only(Check::settles("a.y", None, 2.0, 3.5).named("rest"));
    assert_eq!(found.name, "rest");
    let text = "a.y is 12.25 at t = 3.5 s, 1.75 below 14, its last value being 16";
    assert_eq!(found.message.as_deref(), Some(text));
}

#[test]
fn patterns_are_one_finding_each() {
    let mut system = parabola();
    let unit = ClosureUnit::new(&[], &[("y", 1.0), ("z", 20.0)], |_| ());
    system.add("b", unit);
    let checks = Checks::from([Check::never_above("?.*", 17.0).named("low")]);
    let found = findings(system, &checks);
    let names: Vec<&str> = found.iter().map(|finding| &*finding.name).collect();
    let expected = ["a.y", "b.y", "b.z", "a.u"];
    let expected = expected.map(|name| format!("low: {name} is never above 17"));
    assert_eq!(names, expected);
    let failed: Vec<bool> = found.iter().map(|finding| !finding.holds()).collect();
    assert_eq!(failed, [false, false, true, false]);
}

/// A unit that ends the simulation at 2 s, before the windows.
#[test]
fn windows_after_the_end_fail() {
    let mut run = parabola().start(&RunOptions::default()).unwrap();
    let checks = Checks::from([
        Check::settles("a.y", None, 1.0, 3.0),
        Check::reaches("a.y", 10.0).from(3.0),
        Check::never_above("a.y", 9.0).until(3.0),
        Check::within("a.y", 4.0, 0.0).from(2.0),
    ]);
    let judging = Judging::new(&checks, run.graph(), 0.0, Some(4.0)).unwrap();
    run.observe(judging.observer()).unwrap();
    while run.time() < 2.0 {
        run.step().unwrap();
    }
    let report = Report {
        stop_reason: StopReason::Terminated,
        ..run.report()
    };
    let found = judging.conclude(&report);
    for finding in &found[..3] {
        let text = "a.y is known until t = 2 s only, where the run ended";
        assert_eq!(finding.message.as_deref(), Some(text), "{finding}");
        assert_eq!(finding.outcome, Outcome::Failed);
    }
    assert!(found[3].holds());
}

/// A system whose `a.y` is NaN from 1 s on.
fn ends_in_nan() -> System {
    let mut system = System::new(0.25);
    system.stop_time(4.0);
    let unit = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
        let is_late = call.time + call.step >= 1.0;
        call.outputs[0] = if is_late { f64::NAN } else { 0.0 };
    });
    system.add("a", unit);
    system
}

#[test]
fn nan_never_passes() {
    for check in [
        Check::never_above("a.y", 1.0),
        Check::never_below("a.y", -1.0),
        Check::within("a.y", 0.0, 1.0),
        Check::settles("a.y", None, 1.0, 2.0),
        Check::reaches("a.y", 0.0),
    ] {
        let mut run = ends_in_nan()
            .start(&RunOptions {
                accept_not_finite: true,
                ..RunOptions::default()
            })
            .unwrap();
        let checks = Checks::from([check.clone(), check.until(0.75)]);
        let judging = match Judging::new(&checks, run.graph(), 0.0, Some(4.0)) {
            Ok(judging) => judging,
            // `settles` by 2 s has no window until 0.75 s.
            Err(problems) => panic!("{problems}"),
        };
        run.observe(judging.observer()).unwrap();
        let report = run.run().unwrap();
        let found = judging.conclude(&report);
        assert_eq!(found[0].outcome, Outcome::Failed);
        let message = found[0].message.clone().unwrap();
        assert!(message.contains("is not a number at t = "), "{message}");
        let is_settling = found[0].check == "settles";
        assert_eq!(found[1].holds(), !is_settling, "{:?}", found[1]);
    }
}

/// If the run fails, what was seen to be wrong stays wrong, and the rest is not known.
#[test]
fn a_run_that_fails_proves_nothing_but_what_is_wrong() {
    let checks = Checks::from([
        Check::never_above("a.y", -1.0),
        Check::never_above("a.y", 1.0),
        Check::never_above("a.y", 1.0).until(0.5),
        Check::reaches("a.y", 5.0),
        Check::verdict_at_least(None, Verdict::Diverging),
    ]);
    let found = findings(ends_in_nan(), &checks);
    let outcomes: Vec<Outcome> = found.iter().map(|finding| finding.outcome).collect();
    use Outcome::{Failed, NotJudged, Passed};
    assert_eq!(outcomes, [Failed, NotJudged, Passed, NotJudged, NotJudged]);
    let why = found[1].message.clone().unwrap();
    assert!(why.starts_with("the run failed: "), "{why}");
}

#[test]
fn names_and_windows_that_do_not_fit_are_refused() {
    let problems = |text: &str| {
        let checks = parse(text, "checks.toml").unwrap();
        let run = parabola().start(&RunOptions::default()).unwrap();
        let judging = Judging::new(&checks, run.graph(), 0.0, Some(4.0));
        judging
            .err()
            .map_or(String::new(), |problems| problems.to_string())
    };
    let one = "[[checks]]\nsignal = \"a.x\"\nnever_above = 1\nfrom = -1\nuntil = 5\n\
               [[checks]]\nbond = \"b\"\nenergy_error_below = 1\n\
               [[checks]]\nnet_energy_error_below = 1\n\
               [[checks]]\ncomponent = \"a\"\nbalance_above = 0\n\
               [[checks]]\nsignal = \"a.y\"\nsettles = { by = 4.5, tolerance = 1 }\n";
    let found = problems(one);
    for words in [
        "checks.toml:2:10: error: the system has no variable `a.x` [unknown-variable]",
        "did you mean `a.y`?",
        "checks.toml:4:8: error: the check begins at -1 s, and the run is from 0 s to 4 s [outside-the-run]",
        "checks.toml:5:9: error: the check ends at 5 s",
        "checks.toml:7:8: error: the system has no bond `b`",
        "checks.toml:10:26: error: the system has no power bonds",
        "component `a` is at no power bond",
        "checks.toml:16:18: error: the check begins at 4.5 s",
    ] {
        assert!(found.contains(words), "{words}:\n{found}");
    }
}

/// Table 1, case 1 of Rodríguez et al. 2022, stale, with held inputs: the coupling makes some kJ in 10 s
/// (10.2 kJ on 10 kJ after `crates/benchmark/reference/double_oscillator.py`).
fn oscillator() -> (Vec<Finding>, Report) {
    let system = gyrator_testkit::TABLE_1[0].system(&gyrator_testkit::Coupling::default());
    let mut run: Run = system.start(&RunOptions::default()).unwrap();
    let checks = Checks::from([
        Check::energy_error_below(Some("coupling"), 1e3),
        Check::energy_error_below(None, 1e3),
        Check::energy_error_below(None, 1e9),
        Check::energy_error_below(None, EnergyLimit::Relative(1e-6)),
        Check::energy_error_below(None, EnergyLimit::Relative(2.0)),
        Check::residual_energy_below(Some("*"), 1e3),
        Check::net_energy_error_below(None, 1e3),
        Check::balance_above("force", -1e3),
        Check::balance_below("force", 1e3),
        Check::verdict_at_least(Some("coupling"), Verdict::Visible),
        Check::verdict_at_least(Some("coupling"), Verdict::Dominating),
        Check::never_above("bond.coupling.residual_energy", 1e3),
    ]);
    let judging = Judging::new(&checks, run.graph(), 0.0, Some(10.0)).unwrap();
    run.observe(judging.observer()).unwrap();
    let report = run.run().unwrap();
    (judging.conclude(&report), report)
}

#[test]
fn energies_are_judged_at_every_point() {
    let (found, report) = oscillator();
    let holds: Vec<bool> = found.iter().map(Finding::holds).collect();
    let balance = report.components[0].balance.unwrap().net_energy;
    let given_back = holds[7];
    assert_eq!(
        holds,
        [
            false, false, true, false, true, false, false, given_back, holds[8], false, true, false
        ],
        "{found:#?}"
    );
    assert!(
        found[0].value.unwrap().abs() >= report.bonds[0].energy.residual_energy_integrated.abs()
    );
    assert!(balance >= -1e3 || !given_back);
    assert_eq!(found[0].subject, "bond coupling");
    assert_eq!(found[1].subject, "the system");
    assert_eq!(found[1].value, found[0].value);
    assert_eq!(found[9].subject, "bond coupling");
}

#[test]
fn numbers_in_messages_have_six_digits() {
    for (value, text) in [
        (0.0, "0"),
        (-2.5, "-2.5"),
        (0.1 + 0.2, "0.3"),
        (1.0 / 3.0, "0.333333"),
        (123_456.7, "123457"),
        (1.784_73e11, "1.78473e11"),
        (-1.5e-7, "-1.5e-7"),
        (f64::INFINITY, "inf"),
    ] {
        assert_eq!(super::short(value), text);
    }
}

/// The findings of checks while the run goes on, and those by its rows.
fn both(system: System, columns: &[&str], checks: &Checks) -> [Vec<Finding>; 2] {
    let mut run = system.start(&RunOptions::default()).unwrap();
    let judging = Judging::new(checks, run.graph(), 0.0, None).unwrap();
    run.observe(judging.observer()).unwrap();
    let (recorder, rows) = Recorder::memory();
    run.observe(recorder.variables(columns.iter().copied()))
        .unwrap();
    let report = run.run().unwrap();
    let by_rows = checks.judge(&(&rows.take()).into(), &RunEnd::from(&report));
    [judging.conclude(&report), by_rows.unwrap()]
}

#[test]
fn rows_give_the_same_findings_as_the_run() {
    let text = "[[checks]]\nsignal = \"a.*\"\nfrom = 1\nuntil = 3.5\nnever_above = 9\nnever_below = 1\nreaches = 4\n\
                within = { value = 5, tolerance = 4 }\nsettles = { by = 3, tolerance = 1 }\n\
                [[checks]]\nsignal = \"a.y\"\nfrom = 1.1\nuntil = 1.2\nnever_above = 9\n\
                [[checks]]\nverdict_at_least = \"small\"\n";
    let checks = parse(text, "checks.toml").unwrap();
    let [by_run, by_rows] = both(parabola(), &["a.*"], &checks);
    assert_eq!(by_run, by_rows);
    assert_eq!(by_run.iter().filter(|finding| !finding.holds()).count(), 7);

    let system = || gyrator_testkit::TABLE_1[0].system(&gyrator_testkit::Coupling::default());
    let text = "[[checks]]\nbond = \"coup*\"\nenergy_error_below = 1e3\nresidual_energy_below = { relative = 1e-3 }\n\
                net_energy_error_below = 1e9\nverdict_at_least = \"small\"\n\
                [[checks]]\nenergy_error_below = { relative = 9 }\nresidual_energy_below = 1\n\
                [[checks]]\nsignal = \"bond.coupling.residual_energy\"\nnever_above = 1e3\n";
    let checks = parse(text, "checks.toml").unwrap();
    let [by_run, by_rows] = both(system(), &[], &checks);
    assert_eq!(by_run, by_rows);
    assert_eq!(by_run.iter().filter(|finding| !finding.holds()).count(), 5);
    // A window of the energy error needs its column, which is named in whole.
    let window = Checks::from(Check::energy_error_below(Some("coupling"), 1.0).until(1.0));
    let columns = ["*.x", "bond.coupling.residual_energy_integrated"];
    let [by_run, by_rows] = both(system(), &columns, &window);
    assert_eq!(by_run, by_rows);
    assert!(!by_run[0].holds());
}

/// The energy of several bonds has a greatest magnitude of its own.
#[test]
fn the_energy_of_several_bonds_is_known_without_columns() {
    let mut system = System::new(0.01);
    system.stop_time(2.0);
    for (name, stiffness) in [("slow", 10.0), ("fast", 300.0)] {
        let (mass, spring) = (format!("{name}-mass"), format!("{name}-spring"));
        let mut v = 1.0;
        let unit = ClosureUnit::new(&[("f", 0.0)], &[("v", v)], move |call| {
            v -= call.step * call.inputs[0];
            call.outputs[0] = v;
        });
        system.add(&mass, unit);
        let mut f = 0.0;
        let unit = ClosureUnit::new(&[("v", 0.0)], &[("f", f)], move |call| {
            f += call.step * stiffness * call.inputs[0];
            call.outputs[0] = f;
        });
        system.add(&spring, unit);
        let port = |component: &str, variable: &str| format!("{component}.{variable}");
        let _ = system.bond(
            name,
            (&port(&spring, "f"), &port(&mass, "f")),
            (&port(&mass, "v"), &port(&spring, "v")),
        );
    }
    let checks = Checks::from([
        Check::energy_error_below(None, 1e-9),
        Check::energy_error_below(Some("*"), 1e-9),
    ]);
    let [by_run, by_rows] = both(system, &[], &checks);
    assert_eq!(by_run, by_rows);
    let values: Vec<f64> = by_run
        .iter()
        .map(|finding| finding.value.unwrap())
        .collect();
    let [all, fast, slow] = values[..] else {
        panic!("{by_run:#?}")
    };
    assert!(all.abs() > fast.abs().max(slow.abs()) && all.abs() <= fast.abs() + slow.abs());
}

fn recorded(mut run: Run, until: f64) -> (Recorded, Report) {
    let (recorder, rows) = Recorder::memory();
    run.observe(recorder).unwrap();
    let report = match run.run_until(until) {
        Ok(true) => run.stop().unwrap(),
        _ => run.report(),
    };
    (rows.take(), report)
}

/// A run that its program stops is as long as the program wanted; one that fails is not.
#[test]
fn results_that_end_early_prove_nothing_of_what_is_not_there() {
    let judge = |check: Check, system: System| {
        let (rows, report) = recorded(system.start(&RunOptions::default()).unwrap(), 2.0);
        let checks = Checks::from(check);
        checks.judge(&(&rows).into(), &RunEnd::from(&report))
    };
    let outcome = |check: Check, system: System| judge(check, system).unwrap()[0].outcome;
    use Outcome::{Failed, NotJudged, Passed};
    assert_eq!(outcome(Check::never_above("a.y", 4.0), parabola()), Passed);
    let later = Check::never_above("a.y", 4.0).until(3.0);
    assert_eq!(outcome(later, parabola()), Failed);
    let settles = Check::settles("a.y", None, 9.0, 3.0);
    assert_eq!(outcome(settles, parabola()), Failed);
    let small = Check::never_above("a.y", 1.0);
    assert_eq!(outcome(small.clone(), ends_in_nan()), NotJudged);
    assert_eq!(outcome(small.until(0.5), ends_in_nan()), Passed);
    for (check, words) in [
        (
            Check::never_above("a.x", 1.0),
            "the result has no column `a.x` [unknown-variable]\n  help: did you mean `a.y`?",
        ),
        (
            Check::balance_above("a", 1.0),
            "a result does not have the energies that `balance_above` looks at",
        ),
        (
            Check::energy_error_below(None, 1.0),
            "the system has no power bonds",
        ),
        (
            Check::energy_error_below(Some("b"), 1.0),
            "the system has no bond `b`",
        ),
    ] {
        let found = judge(check, parabola()).unwrap_err().to_string();
        assert!(found.contains(words), "{found}");
    }
}

#[test]
#[should_panic(
    expected = "failed: a.y is 4 at t = 2 s, 1 above 3; first out of bounds at t = 1.75 s"
)]
fn assertions_panic_with_the_worst_value() {
    let (rows, report) = recorded(parabola().start(&RunOptions::default()).unwrap(), 2.0);
    Recording::new(&rows, &report)
        .assert(Check::never_below("a.y", 0.0))
        .assert([Check::reaches("a.y", 1.0), Check::never_above("a.y", 3.0)]);
}

#[test]
fn six_digits_and_no_more() {
    let cases = [
        (0.0, "0"),
        (10.0, "10"),
        (0.001, "0.001"),
        (-12_392.499_506, "-12392.5"),
        (999_999.96, "1e6"),
        (1e-7, "1e-7"),
        (1.234_567_8e20, "1.23457e20"),
        (0.1 + 0.2, "0.3"),
        (f64::NAN, "NaN"),
    ];
    for (value, expected) in cases {
        assert_eq!(short(value), expected);
    }
}
