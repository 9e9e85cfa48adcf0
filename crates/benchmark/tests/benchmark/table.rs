//! The rows of the benchmarks with our FMUs, and with other people's.

use gyrator_benchmark::{
    BENCHMARKS, Benchmark, BenchmarkRow, Figure, Role, RoleAssignment, Substitute,
};
use gyrator_testkit::fmu;

fn cast() -> RoleAssignment {
    let path = fmu("OscillatorForce");
    RoleAssignment::new(path.parent().unwrap())
}

fn benchmark(name: &str) -> &'static Benchmark {
    BENCHMARKS
        .iter()
        .find(|benchmark| benchmark.name == name)
        .unwrap()
}

/// Runs cases and returns their rows.
fn rows_with(cast: &RoleAssignment, name: &str, cases: &[&str]) -> Vec<BenchmarkRow> {
    let benchmark = benchmark(name);
    let cases: Vec<_> = cases
        .iter()
        .map(|case| benchmark.case(case).unwrap())
        .collect();
    let rows = benchmark.run(&cases, cast, &|row| println!("{row:?}"));
    rows.into_iter().flat_map(Result::unwrap).collect()
}

fn rows(name: &str, cases: &[&str]) -> Vec<BenchmarkRow> {
    rows_with(&cast(), name, cases)
}

/// All judged rows hold, and there are so many.
#[track_caller]
fn expect_good(rows: &[BenchmarkRow], judged: usize) {
    let bad: Vec<&BenchmarkRow> = rows.iter().filter(|row| row.ok == Some(false)).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert_eq!(rows.iter().filter(|row| row.ok.is_some()).count(), judged);
}

#[test]
fn case_1_of_the_double_oscillator() {
    let rows = rows("double-oscillator", &["1"]);
    expect_good(&rows, 32);
    let configurations: Vec<&str> = rows
        .chunk_by(|a, b| a.configuration == b.configuration)
        .map(|rows| rows[0].configuration)
        .collect();
    assert_eq!(
        configurations,
        ["stale", "corrected", "compensated", "fresh", "monolithic"]
    );
}

#[test]
fn rates_of_one_to_ten() {
    expect_good(
        &rows("double-oscillator", &["slow-linear", "fast-hold"]),
        40,
    );
}

#[test]
fn two_bonds() {
    expect_good(&rows("multiple-oscillator", &["1"]), 25);
}

#[test]
fn nonlinear_springs_and_dampers() {
    expect_good(&rows("nonlinear-oscillator", &["1", "2"]), 70);
}

#[test]
fn pendula_with_a_bond_of_two_axes() {
    expect_good(&rows("pendula", &["1"]), 32);
}

/// Thielemans et al. 2023, section 4.
#[test]
fn learning_over_runs() {
    expect_good(&rows("learning", &["damped"]), 41);
}

#[test]
fn the_alarm_finds_the_oscillation_of_the_crane() {
    let rows = rows("crane-energy", &["11.5ms"]);
    expect_good(&rows, 19);
    let alarm = rows.iter().find(|row| row.metric == "alarms").unwrap();
    assert!(matches!(alarm.measured, Figure::Number(count) if count >= 1.0));
}

/// The oscillation between 3 and 5 s that Rodríguez et al. (2022), figs 36 and 37, show at
/// H = 11.5 ms.
#[test]
fn the_crane_bursts_and_recovers() {
    expect_good(&rows("crane", &["rodriguez"]), 13);
}

#[test]
#[ignore = "study: two cranes at up to 26 macro-steps with two displacement corrections each"]
fn displacement_corrections_on_cranes_with_less_friction() {
    expect_good(&rows("crane", &["double-c"]), 14);
    expect_good(&rows("crane", &["double-d"]), 2);
}

/// Figure 10 of Chen et al. 2021, and the engine against the systems in one process.
#[test]
fn dual_mass_with_h_infinity_coupling() {
    expect_good(&rows("dual-mass", &["4"]), 30);
    expect_good(&rows("dual-mass", &["fmus"]), 4);
}

/// Tables 4 and 6 of Sadjina & Pedersen 2019, and the better rows.
#[test]
fn quarter_car_with_nepce_and_ecco() {
    let rows = rows("quarter-car", &["lin1"]);
    expect_good(&rows, 62);
    let shown = rows.iter().filter(|row| {
        let note = row.note.as_deref().unwrap_or_default();
        note.starts_with("not reproduced") && row.ok.is_none() && row.reference.is_some()
    });
    assert_eq!(shown.count(), 7);
}

#[test]
fn a_right_half_of_a_vendor_holds() {
    let text = format!("wheel={}", fmu("QuarterCarWheel").display());
    let substitute: Substitute = text.parse().unwrap();
    let mut cast = cast();
    let role = benchmark("quarter-car").role("wheel").unwrap();
    cast.substitute(role, substitute).unwrap();
    expect_good(&rows_with(&cast, "quarter-car", &["lin2"]), 1);
}

/// Fig. 35 of the paper could not be reproduced, and no row says that it was.
#[test]
fn what_cannot_be_reproduced_is_not_judged() {
    let rows = rows("crane-energy", &["10ms"]);
    let row = rows
        .iter()
        .find(|row| row.metric.starts_with("fig. 35"))
        .unwrap();
    assert_eq!(row.ok, None);
    assert!(row.note.as_ref().unwrap().starts_with("not reproduced"));
}

fn vendor(names: &str) -> RoleAssignment {
    let text = format!("force={}{names}", fmu("OscillatorForce").display());
    let substitute: Substitute = text.parse().unwrap();
    let role = benchmark("double-oscillator").role("force").unwrap();
    let mut cast = cast();
    cast.substitute(role, substitute).unwrap();
    cast
}

#[test]
fn a_right_fmu_of_a_vendor_holds() {
    for case in ["1", "8", "fast-linear"] {
        let rows = rows_with(&vendor(""), "double-oscillator", &[case]);
        // The greatest energy error and two displacements: compensated, fresh, refined.
        expect_good(&rows, 3 * 3);
    }
}

/// The stiffnesses to the wall and of the coupling, in each other's place.
#[test]
fn a_wrong_fmu_of_a_vendor_fails_where_it_is_refined() {
    let rows = rows_with(&vendor(",k=k_c,k_c=k"), "double-oscillator", &["1"]);
    let refined: Vec<_> = rows
        .iter()
        .filter(|row| row.configuration == "stale, H/10")
        .filter_map(|row| row.ok)
        .collect();
    assert_eq!(refined, [false; 3]);
}

/// `cast()` with our own FMU in a role, as if it were a substitute.
fn with_ours_as_foreign(role: &Role) -> RoleAssignment {
    let text = format!("{}={}", role.name, fmu(role.model).display());
    let mut cast = cast();
    cast.substitute(role, text.parse().unwrap()).unwrap();
    cast
}

#[test]
fn every_role_accepts_a_substitute() {
    for benchmark in BENCHMARKS {
        for role in benchmark.roles {
            assert!(
                with_ours_as_foreign(role).is_foreign(benchmark.roles),
                "{} of {}",
                role.name,
                benchmark.name
            );
        }
    }
}

#[test]
fn a_foreign_fmu_that_is_as_good_as_ours_holds() {
    for (name, case, role) in [
        ("multiple-oscillator", "2", "hub"),
        ("nonlinear-oscillator", "1", "motion"),
        ("pendula", "1", "pendulum-force"),
        ("pendula", "2", "pendulum-motion"),
        ("crane-energy", "10ms", "links"),
        ("crane-energy", "10ms", "cylinder"),
    ] {
        let cast = with_ours_as_foreign(benchmark(name).role(role).unwrap());
        let rows = rows_with(&cast, name, &[case]);
        let refined = rows.iter().filter(|row| row.configuration == "stale, H/10");
        assert!(refined.clone().filter(|row| row.ok.is_some()).count() >= 2);
        let bad: Vec<_> = rows.iter().filter(|row| row.ok == Some(false)).collect();
        assert!(bad.is_empty(), "{bad:#?}");
    }
}

/// `docs/benchmarks.md` says so.
#[test]
fn some_foreign_fmus_are_shown_and_not_judged() {
    for (name, case, role) in [
        ("residual-share", "by-case", "force"),
        ("learning", "quadratic", "motion"),
        ("dual-mass", "fmus", "force"),
        ("epas-stand-in", "R-3Hz", "vehicle"),
        ("crane", "rodriguez", "cylinder"),
    ] {
        let cast = with_ours_as_foreign(benchmark(name).role(role).unwrap());
        let rows = rows_with(&cast, name, &[case]);
        assert!(!rows.is_empty(), "{name}");
        assert!(rows.iter().all(|row| row.ok.is_none()), "{rows:#?}");
    }
}

/// Nor by what our own FMUs do without it.
#[test]
fn a_foreign_cylinder_has_no_rows_where_it_does_not_play() {
    let cast = with_ours_as_foreign(benchmark("crane").role("cylinder").unwrap());
    assert!(rows_with(&cast, "crane", &["single-b"]).is_empty());
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), BENCHMARKS.len());
    for benchmark in BENCHMARKS {
        for case in benchmark.cases {
            assert!(
                std::ptr::eq(benchmark.case(case.name).unwrap(), case),
                "{}",
                case.name
            );
        }
    }
}

#[test]
#[ignore = "all rows: three minutes in release mode, `cargo test --release --package gyrator-benchmark -- --ignored`"]
fn all_rows() {
    let mut failed = Vec::new();
    for benchmark in BENCHMARKS.iter().filter(|known| !known.judges_choices()) {
        let cases: Vec<_> = benchmark.cases.iter().map(|case| case.name).collect();
        let rows = rows(benchmark.name, &cases);
        for case in cases {
            let has_rows = rows.iter().any(|row| row.case == case);
            assert!(has_rows, "{}, case {case}", benchmark.name);
        }
        for [case, configuration, metric] in benchmark.published() {
            let is_of = |row: &&BenchmarkRow| {
                (row.case, row.configuration, row.metric) == (case, configuration, metric)
            };
            let row = rows.iter().find(is_of);
            assert!(
                row.is_some_and(|row| row.ok.is_some()),
                "{}, case {case}: {configuration}, {metric} is published and no row",
                benchmark.name
            );
        }
        failed.extend(rows.into_iter().filter(|row| row.ok == Some(false)));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// Chen et al. 2021, section 3.4.
#[test]
fn sweep_signal() {
    expect_good(&rows("sweep-signal", &["30Hz", "10Hz", "3Hz"]), 18);
}

/// A stand-in for section 4.2 of Chen et al. 2021.
#[test]
fn power_steering() {
    expect_good(&rows("epas-stand-in", &["R-3Hz"]), 34);
}

/// The partitioned oscillator of the tutorials of preCICE.
#[test]
fn order_of_methods_and_extrapolations() {
    let rows = rows("oscillator-order", &["curves", "lines", "values"]);
    expect_good(&rows, 86);
}

/// ECCO changes the steps, and the chassis' side integrates the wheel's velocity.
#[test]
fn displacements_do_not_drift_apart_where_steps_change() {
    expect_good(&rows("step-changes", &["quarter-car"]), 2);
}

/// The choices of a run do no worse than the paper's correction.
#[test]
fn pendula_without_a_choice() {
    expect_good(&rows("auto", &["pendula"]), 2);
}

#[test]
#[ignore = "study: what runs choose by themselves against published methods and extrapolations chosen by hand, minutes in release mode"]
fn choices_are_no_worse_than_those_of_papers_and_by_hand() {
    let mut failed = Vec::new();
    for benchmark in BENCHMARKS.iter().filter(|known| known.judges_choices()) {
        let cases: Vec<_> = benchmark.cases.iter().map(|case| case.name).collect();
        let rows = rows(benchmark.name, &cases);
        failed.extend(rows.into_iter().filter(|row| row.ok == Some(false)));
    }
    assert!(failed.is_empty(), "{failed:#?}");
}
