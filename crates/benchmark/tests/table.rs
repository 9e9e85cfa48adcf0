//! The rows of the benchmarks with our FMUs.

#![forbid(unsafe_code)]

use gyrator_benchmark::{BENCHMARKS, Benchmark, Cast, Row};
use gyrator_testkit::fmu;

fn cast() -> Cast {
    let path = fmu("OscillatorForce");
    Cast::new(path.parent().unwrap())
}

fn benchmark(name: &str) -> &'static Benchmark {
    BENCHMARKS
        .iter()
        .find(|benchmark| benchmark.name == name)
        .unwrap()
}

/// Runs cases, prints their rows, and returns them.
fn rows(name: &str, cases: &[&str]) -> Vec<Row> {
    let benchmark = benchmark(name);
    let cases: Vec<_> = cases
        .iter()
        .map(|case| benchmark.case(case).unwrap())
        .collect();
    let rows = benchmark.run(&cases, &cast(), &|row| println!("{row:?}"));
    rows.into_iter().flat_map(Result::unwrap).collect()
}

#[track_caller]
fn expect_good(rows: &[Row], judged: usize) {
    let bad: Vec<&Row> = rows.iter().filter(|row| row.ok == Some(false)).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    assert_eq!(rows.iter().filter(|row| row.ok.is_some()).count(), judged);
}

#[test]
fn case_1_of_the_double_oscillator() {
    expect_good(&rows("double-oscillator", &["1"]), 32);
}

#[test]
#[ignore = "all rows: run in release mode"]
fn all_rows() {
    for benchmark in BENCHMARKS {
        let cases: Vec<_> = benchmark.cases.iter().map(|case| case.name).collect();
        let rows = rows(benchmark.name, &cases);
        let bad: Vec<&Row> = rows.iter().filter(|row| row.ok == Some(false)).collect();
        assert!(bad.is_empty(), "{bad:#?}");
    }
}
