//! Results in other forms.

use gyrator_record::{ColumnType, ResultFile};

use crate::bench::{Bench, OSCILLATORS};

#[test]
fn a_result_becomes_others_and_compares_equal() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let run = "run system.toml --stop-time 0.5 -o out.arrow --summary summary.json";
    let outcome = bench.run(run.split(' '));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let summary = bench.read("summary.json");
    for (command, output) in [
        (
            "convert out.arrow -o out.csv",
            "out.csv: 501 rows, 13 columns\nnote: a CSV file holds neither units nor a summary\n",
        ),
        (
            "convert out.csv --summary summary.json -o back.parquet",
            "back.parquet: 501 rows, 13 columns\n",
        ),
        (
            "convert back.parquet -o again.feather",
            "again.feather: 501 rows, 13 columns\n",
        ),
    ] {
        let outcome = bench.run(command.split(' '));
        assert_eq!(
            (outcome.code, outcome.stdout.as_str()),
            (Some(0), output),
            "{}",
            outcome.stderr
        );
    }
    for name in ["out.arrow", "back.parquet", "again.feather"] {
        let result = ResultFile::open(&bench.path(name)).unwrap();
        assert_eq!(
            result.metadata("gyrator.summary"),
            Some(summary.as_str()),
            "{name}"
        );
        assert!(
            result
                .columns()
                .iter()
                .all(|column| column.kind == ColumnType::Real)
        );
        let tolerance = ["--relative-tolerance=0", "--absolute-tolerance=0"];
        let outcome = bench.run(["compare", name, "out.csv"].into_iter().chain(tolerance));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stdout);
    }
}

#[test]
fn wrong_conversions_are_refused() {
    let bench = Bench::new();
    bench.write("in.csv", "time,x\n0,1\n");
    bench.write("system.toml", OSCILLATORS);
    for (command, code, expected) in [
        (
            "convert in.csv -o in.csv",
            2,
            "--output-file in.csv is the result that is read",
        ),
        (
            "convert in.csv -o out.mat",
            2,
            "the name must end in .csv or .parquet or .arrow or .feather",
        ),
        ("convert absent.csv -o out.arrow", 3, "absent.csv"),
        ("convert system.toml -o out.arrow", 3, "system.toml"),
        (
            "convert in.csv --summary in.csv -o out.arrow",
            3,
            "--summary in.csv: ",
        ),
    ] {
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(code), "{command}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
        assert!(!bench.path("out.arrow").exists() && !bench.path("out.mat").exists());
    }
}
