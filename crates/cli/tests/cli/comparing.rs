//! `gyrator compare`: what is compared, and what is not.

use crate::bench::{Bench, ProgramOutcome};

fn compared(bench: &Bench, options: &str) -> ProgramOutcome {
    bench.run(
        ["compare", "a.csv", "b.csv"]
            .into_iter()
            .chain(options.split_whitespace()),
    )
}

#[test]
fn what_is_not_compared_is_named() {
    let bench = Bench::new();
    bench.write("a.csv", "time,x,y,z\n0,1,2,3\n1,2,3,4\n2,3,4,5\n3,4,5,6\n");
    bench.write("b.csv", "time,x\n0,1\n1,2\n");
    let found = compared(&bench, "");
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    let closing = "not compared: 2 of the result's 3 columns, which the reference lacks: y, z\n\
                   not compared: 2 rows of the result outside of the reference's time, 0 to 1 s\n\
                   1 of 1 columns are within tolerance\n";
    assert!(found.stdout.ends_with(closing), "{}", found.stdout);
    // The other way round, both fail.
    bench.write("b.csv", "time,motor.x,y\n0,1,2\n1,2,3\n9,2,3\n");
    let found = compared(&bench, "");
    assert_eq!(found.code, Some(6), "{}", found.stdout);
    let closing = "`motor.x` is missing in the result\n\
                   1 row of the reference outside of the result's time\n\
                   not compared: 2 of the result's 3 columns, which the reference lacks: x, z\n\
                   0 of 2 columns are within tolerance\n";
    assert!(found.stdout.ends_with(closing), "{}", found.stdout);
    let help = "help: `--rename motor.x=x` compares it with the column x of the result";
    assert!(found.stderr.contains(help), "{}", found.stderr);
}

#[test]
fn a_column_out_of_tolerance_is_one_line() {
    let bench = Bench::new();
    bench.write("a.csv", "time,x\n0,0\n1,10\n");
    bench.write("b.csv", "time,x\n0,0\n1,11\n");
    let found = compared(&bench, "");
    assert_eq!(found.code, Some(6));
    let lines: Vec<_> = found
        .stdout
        .lines()
        .filter(|line| line.contains('x'))
        .collect();
    // Heads have an x, too.
    assert_eq!(
        lines
            .iter()
            .filter(|line| line.trim_start().starts_with("x "))
            .count(),
        1
    );
    assert!(
        lines.iter().any(|line| line.contains("9.091e-2")),
        "{}",
        found.stdout
    );
}

#[test]
fn columns_are_chosen() {
    let bench = Bench::new();
    bench.write("a.csv", "time,x,y\n0,1,2\n1,2,3\n");
    bench.write("b.csv", "time,x,y\n0,1,7\n1,2,7\n");
    assert_eq!(compared(&bench, "").code, Some(6));
    let only = compared(&bench, "--column x");
    assert_eq!(only.code, Some(0), "{}", only.stdout);
    assert!(!only.stdout.contains("not compared"), "{}", only.stdout);
    let unknown = compared(&bench, "--column z");
    assert_eq!(unknown.code, Some(2), "{}", unknown.stderr);
    let words = "--column z: the reference has no such column";
    assert!(unknown.stderr.contains(words), "{}", unknown.stderr);
}

/// 1 kN is 1000 N, and 90° is π/2.
#[test]
fn units_are_converted() {
    let bench = Bench::new();
    bench.write("a.csv", "time,F [N],angle [deg]\n0,1000,90\n1,2000,180\n");
    let radians = std::f64::consts::PI;
    let half = radians / 2.0;
    bench.write(
        "b.csv",
        &format!("time,F [kN],angle [rad]\n0,1,{half}\n1,2,{radians}\n"),
    );
    let found = compared(&bench, "");
    assert_eq!(found.code, Some(0), "{}{}", found.stdout, found.stderr);
    assert_eq!(found.stderr, "");
    bench.write("b.csv", "time,F [lbf],angle [rad]\n0,1,0\n1,2,0\n");
    let warning = "the numbers are compared as they are: `F` (N, lbf)\n";
    let found = compared(&bench, "");
    assert!(found.stderr.contains(warning), "{}", found.stderr);
    bench.write("a.csv", "time,F,angle\n0,1,0\n1,2,0\n");
    let found = compared(&bench, "");
    assert_eq!(found.code, Some(0), "{}", found.stdout);
    assert!(
        found
            .stderr
            .contains("`F` (no unit, lbf), `angle` (no unit, rad)"),
        "{}",
        found.stderr
    );
}

/// At 0 a relative tolerance accepts nothing.
#[test]
fn a_crossing_of_zero_needs_an_absolute_tolerance() {
    let bench = Bench::new();
    bench.write("a.csv", "time,x\n0,-1000\n1,0.0009\n2,1000\n");
    bench.write("b.csv", "time,x\n0,-1000\n1,0\n2,1000\n");
    let strict = compared(&bench, "");
    assert_eq!(strict.code, Some(6), "{}", strict.stdout);
    let help = "help: where a signal crosses zero, the relative tolerance accepts nothing";
    assert!(strict.stderr.contains(help), "{}", strict.stderr);
    let found = compared(&bench, "--absolute-tolerance 0.001");
    assert_eq!(found.code, Some(0), "{}", found.stdout);
}
