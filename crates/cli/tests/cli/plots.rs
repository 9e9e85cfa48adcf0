//! Pictures of results.

use crate::bench::{Bench, OSCILLATORS};

/// A result with a gap, an event of two rows, a constant, a text and a bond.
const RESULT: &str = "time,a.x,a.v,b.x,b.m,b.name,bond.b.residual_power,bond.b.alarm
0,0,1e9,2,3,\"p\",0.5,0
1,1,1000000000.5,NaN,3,\"q\",0.25,0
1,3,1000000001,4,3,\"q\",0.125,0
2,2,1000000002,5,3,\"q\",0,0
";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("out.csv", RESULT);
    bench
}

#[test]
fn a_picture_shows_what_moves_and_the_bonds() {
    let bench = bench();
    let outcome = bench.run(["plot", "out.csv", "-o", "out.svg"]);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (Some(0), ""),
        "{}",
        outcome.stderr
    );
    let svg = bench.read("out.svg");
    for shown in [
        "a.x",
        "a.v",
        "b.x",
        "bond.b.residual_power",
        ">W<",
        "+1e9",
        "time, s",
    ] {
        assert!(svg.contains(shown), "{shown}");
    }
    for left_out in ["b.m", "b.name", "bond.b.alarm", "NaN"] {
        assert!(!svg.contains(left_out), "{left_out}");
    }
    bench.run(["plot", "out.csv", "*.m", "bond.*.alarm", "-o", "named.svg"]);
    let svg = bench.read("named.svg");
    assert!(svg.contains("b.m") && svg.contains("bond.b.alarm") && !svg.contains("a.x"));
}

#[test]
fn the_terminal_shows_a_preview() {
    let outcome = bench().run(["plot", "out.csv", "a.x", "b.x"]);
    insta::assert_snapshot!(outcome.stdout);
}

#[test]
fn results_lie_over_each_other_and_a_summary_adds_the_rest() {
    let bench = bench();
    bench.write("other.csv", "time,a.x\n0,1\n2,1\n");
    bench.write(
        "summary.json",
        r#"{"stop_reason": "stop-time", "verdict": "visible", "error_bars": [{"variable": "a.x", "max_error": 0.5}]}"#,
    );
    let arguments = [
        "plot",
        "out.csv",
        "?.x",
        "--with",
        "other.csv",
        "--summary",
        "summary.json",
        "-o",
        "out.svg",
        "--preview",
    ];
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.ends_with("other.csv lacks b.x\n"),
        "{}",
        outcome.stdout
    );
    let svg = bench.read("out.svg");
    assert!(svg.contains("a.x · other.csv") && svg.contains("fill-opacity"));
}

#[test]
fn a_run_with_error_bars_is_drawn_with_tubes_and_units() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let run = [
        "run",
        "system.toml",
        "-e",
        "1",
        "--error-bars",
        "-o",
        "out.parquet",
    ];
    assert_eq!(bench.run(run).code, Some(0));
    let outcome = bench.run(["plot", "out.parquet", "*.x", "-o", "out.svg"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let svg = bench.read("out.svg");
    assert!(svg.contains(">m<") && svg.contains("fill-opacity"), "{svg}");
    assert!(svg.contains("coupling error"), "{svg}");
}

/// Files that hold nothing to draw, or are of another kind.
const UNSUITABLE: &[(&str, &str)] = &[
    ("empty.csv", ""),
    ("no.json", "{}"),
    ("old.svg", "<svg></svg>"),
    ("no-rows.csv", "time,x\n"),
    ("texts.csv", "time,x\n0,\"a\"\n"),
    ("semicolons.csv", "time;x\n0;0,5\n"),
    ("tabs.csv", "\"time\"\t\"x\"\n0\t1\n"),
    (
        "study.csv",
        "case;k;stop_reason;message;x\n1;2,5;stop-time;;3,0\n",
    ),
    ("other.csv", "time,x\n0,1\n"),
    (
        "table.csv",
        "case,k,stop_reason,message,x\n1,2.0,stop-time,,3.0\n",
    ),
];

#[test]
fn mistakes_are_named() {
    let bench = bench();
    for (name, text) in UNSUITABLE {
        bench.write(name, text);
    }
    let mut shown = String::new();
    for arguments in [
        &["plot", "out.csv", "a.y"][..],
        &["plot", "out.csv", "v"],
        &["plot", "out.csv", "x"],
        &["plot", "out.csv", "*.q"],
        &["plot", "no.json"],
        &["plot", "old.svg"],
        &["plot", "out.csv", "b.name"],
        &["plot", "none.csv"],
        &["plot", "empty.csv"],
        &["plot", "no-rows.csv", "-o", "never.svg"],
        &[
            "plot",
            "other.csv",
            "--with",
            "no-rows.csv",
            "-o",
            "never.svg",
        ],
        &["plot", "texts.csv", "-o", "never.svg"],
        &["report", "no-rows.csv", "-o", "never.html"],
        &[
            "compare",
            "no-rows.csv",
            "no-rows.csv",
            "--plot",
            "never.svg",
        ],
        &["plot", "semicolons.csv", "-o", "drawn.svg"],
        &["plot", "tabs.csv", "-o", "drawn.svg"],
        &["study", "plot", "study.csv", "-o", "never.svg"],
        &["study", "plot", "out.csv", "-o", "never.svg"],
        &["study", "plot", "no.json", "-o", "never.svg"],
        &["plot", "out.csv", "-o", "out.png"],
        &["plot", "out.csv", "--summary", "no.json"],
        &["plot", "out.csv", "--summary", "out.csv"],
        &["plot", "out.csv", "-o", "no-folder/out.svg"],
        &["plot", "out.csv", "other.csv"],
        &["plot", "table.csv"],
        &["report", "out.csv", "-o", "out.pdf"],
        &[
            "convert",
            "out.csv",
            "-o",
            "out.arrow",
            "--summary",
            "out.csv",
        ],
        &["run", "out.csv"],
        &["study", "out.csv"],
    ] {
        let outcome = bench.run(arguments.iter().copied());
        shown.push_str(&format!(
            "$ {}\n{}exit code {:?}\n\n",
            arguments.join(" "),
            outcome.stdout + &outcome.stderr,
            outcome.code
        ));
    }
    for picture in ["never.svg", "never.html"] {
        assert!(!bench.path(picture).exists(), "{picture}");
    }
    let folder = bench.path("").display().to_string();
    insta::assert_snapshot!(shown.replace(folder.trim_end_matches('/'), "[folder]"));
}

#[test]
fn a_run_draws_its_picture_also_where_it_fails_and_without_a_result() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let run = [
        "run",
        "system.toml",
        "-e",
        "1",
        "--error-bars",
        "--plot",
        "out.svg",
    ];
    let outcome = bench.run(run);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let svg = bench.read("out.svg");
    for shown in [
        "system.toml: coupling error",
        ">m<",
        "fill-opacity",
        "bond.coupling.residual_energy",
    ] {
        assert!(svg.contains(shown), "{shown}");
    }
    let limit = [
        "run",
        "system.toml",
        "--max-residual-energy",
        "100",
        "--plot",
        "limit.svg",
    ];
    let outcome = bench.run(limit.into_iter().chain(["--output-variable", "*.x"]));
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let svg = bench.read("limit.svg");
    assert!(svg.contains("left.x") && !svg.contains("left.v"));
    let simulate = [
        "simulate",
        "fmus/OscillatorForce.fmu",
        "-e",
        "1",
        "--step-size",
        "0.01",
        "--plot",
        "one.svg",
    ];
    assert_eq!(bench.run(simulate).code, Some(0));
    assert!(bench.read("one.svg").contains(">m<"));
    let outcome = bench.run(["run", "system.toml", "--plot", "system.toml"]);
    assert_eq!(outcome.code, Some(2));
}

#[test]
fn a_comparison_draws_the_worst_columns() {
    let bench = bench();
    bench.write(
        "other.csv",
        &RESULT.replace("2,2,1000000002", "2,9,1000000002"),
    );
    let outcome = bench.run(["compare", "other.csv", "out.csv", "--plot", "compared.svg"]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let svg = bench.read("compared.svg");
    for shown in [
        "a.x · other.csv",
        "a.x: deviation",
        "first out of tolerance at 2 s",
        "other.csv against out.csv",
    ] {
        assert!(svg.contains(shown), "{shown}");
    }
    let outcome = bench.run(["compare", "other.csv", "out.csv", "--plot", "other.svg.csv"]);
    assert_eq!(outcome.code, Some(2));
}

#[test]
fn the_table_of_a_study_is_drawn_over_one_parameter_or_two() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write(
        "study.toml",
        "system = \"system.toml\"\naccept_divergence = true\n\
         [[vary]]\ngrid = { \"experiment.step_size\" = [1e-3, 1e-2], \"left.k\" = [10.0, 20.0, -1e9] }\n\
         [[metrics]]\nmaximum = [\"left.x\"]\n",
    );
    bench.write("empty.csv", "");
    let study = ["study", "study.toml", "-o", "table.csv"];
    assert_eq!(bench.run(study).code, Some(0));
    let outcome = bench.run([
        "study",
        "plot",
        "table.csv",
        "maximum.left.x",
        "-o",
        "field.svg",
    ]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let svg = bench.read("field.svg");
    assert!(svg.contains("experiment.step_size") && svg.contains("left.k"));
    for ending in ["parquet", "arrow", "feather"] {
        let table = format!("table.{ending}");
        let outcome = bench.run(["study", "merge", "table.csv", "-o", &table]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let plot = ["study", "plot", &table, "maximum.left.x", "-o", "same.svg"];
        let outcome = bench.run(plot);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(bench.read("same.svg").replace(&table, "table.csv"), svg);
    }
    let over = [
        "study",
        "plot",
        "table.csv",
        "max*",
        "--over",
        "experiment.step_size",
        "-o",
        "curves.svg",
    ];
    let outcome = bench.run(over.into_iter().chain(["--only", "left.k=10.0"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(bench.read("curves.svg").contains("maximum.left.x"));
    let mut shown = String::new();
    for arguments in [
        &["study", "plot", "table.csv", "nothing"][..],
        &["study", "plot", "table.csv", "--over", "left.m"],
        &["study", "plot", "table.csv", "--only", "left.m=1"],
        &["study", "plot", "table.csv", "--only", "left.k=1"],
        &["study", "plot", "empty.csv"],
    ] {
        let outcome = bench.run(arguments.iter().copied());
        shown.push_str(&format!(
            "$ {}\n{}exit code {:?}\n\n",
            arguments.join(" "),
            outcome.stderr,
            outcome.code
        ));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn columns_that_another_result_lacks_are_named() {
    let bench = bench();
    bench.write("other.csv", "time,a.x\n0,1\n2,1\n");
    for variables in [&["a.x", "b.x"][..], &["?.x"]] {
        let with = ["--with", "other.csv", "-o", "out.svg"];
        let drawn = bench.run(
            ["plot", "out.csv"]
                .into_iter()
                .chain(variables.iter().copied())
                .chain(with),
        );
        assert_eq!(drawn.code, Some(0), "{}", drawn.stderr);
        assert_eq!(drawn.stderr, "other.csv lacks b.x\n");
    }
    let none = bench.run(["plot", "out.csv", "b.x", "--with", "other.csv"]);
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    let words =
        "--with other.csv: it has none of the columns that are drawn: b.x\n  help: it has a.x\n";
    assert!(none.stderr.contains(words), "{}", none.stderr);
}

#[test]
fn a_title_labels_and_times_are_those_that_are_given() {
    let bench = bench();
    bench.write("other.csv", "time,a.x\n0,1\n2,1\n");
    let options = "plot out.csv a.x --with other.csv --title Lift --label new --label old --from 1 --until 1 -o a.svg";
    let refused = bench.run(options.split(' '));
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("--from 1 is not before --until 1"),
        "{}",
        refused.stderr
    );
    let drawn = bench.run(
        options
            .replace("--from 1", "--from 0.5")
            .replace("until 1", "until 2")
            .split(' '),
    );
    assert_eq!(drawn.code, Some(0), "{}", drawn.stderr);
    let svg = bench.read("a.svg");
    for shown in [">Lift<", "a.x · new", "a.x · old"] {
        assert!(svg.contains(shown), "{shown}");
    }
    let none = bench.run(["plot", "out.csv", "--from", "3"]);
    assert_eq!(none.code, Some(2), "{}", none.stderr);
    assert!(
        none.stderr.contains("out.csv has no row in these times"),
        "{}",
        none.stderr
    );
    let many = bench.run(["plot", "out.csv", "--label", "a", "--label", "b"]);
    assert_eq!(many.code, Some(2), "{}", many.stderr);
    assert!(
        many.stderr.contains("2 labels for 1 result"),
        "{}",
        many.stderr
    );
}
