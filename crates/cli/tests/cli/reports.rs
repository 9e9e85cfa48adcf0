//! Reports of runs as HTML pages.

use serde_json::Value;

use crate::bench::{Bench, OSCILLATORS};
use crate::faults::FAULTY;

/// The drawing of a page.
fn drawing(page: &str) -> Value {
    let (_, rest) = page.split_once("id=\"drawing\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

/// Names of the signals that a page draws.
fn drawn(page: &str) -> Vec<String> {
    let drawing = drawing(page);
    let plots = drawing["plots"].as_array().unwrap().iter();
    let series = plots.flat_map(|plot| plot["series"].as_array().unwrap().clone());
    series
        .map(|one| one["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Whether a page shows the graph of the system.
fn has_graph(page: &str) -> bool {
    page.contains("<section id=\"graph\">") && page.contains("data:image/svg+xml;base64,")
}

/// Whether a table of the page has a number with all its digits: four are shown, and the others are its title.
fn has_figure(page: &str, figure: &Value) -> bool {
    let shown = gyrator::figure(figure.as_f64().unwrap());
    let is_whole = shown.parse::<f64>().ok() == figure.as_f64();
    page.contains(&format!("<td class=figure title={figure}>{shown}"))
        || is_whole
            && ["\n", "<"]
                .iter()
                .any(|end| page.contains(&format!("<td class=figure>{shown}{end}")))
}

fn fault(page: &str) -> &str {
    let (_, rest) = page.split_once("<section id=\"fault\"").unwrap();
    rest.split_once("</section>").unwrap().0
}

/// The same page, byte for byte, whether the run writes it or its result is read again.
#[test]
fn a_run_writes_the_page_that_its_result_gives() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let run = [
        "run",
        "system.toml",
        "-e",
        "3",
        "--error-bars",
        "-o",
        "out.parquet",
        "--report",
        "run.html",
    ];
    let outcome = bench.run(run.into_iter().chain(["--summary", "summary.json"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome = bench.run(["report", "out.parquet", "-o", "report.html"]);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (Some(0), ""),
        "{}",
        outcome.stderr
    );
    let page = bench.read("run.html");
    assert!(has_graph(&page));
    assert!(page == bench.read("report.html"));
    let summary = bench.json("summary.json");
    for bond in summary["bonds"].as_array().unwrap() {
        let figures = bond.as_object().unwrap().iter();
        for (key, figure) in figures.filter(|(_, figure)| figure.is_number()) {
            assert!(has_figure(&page, figure), "{key} = {figure}");
        }
    }
    for bar in summary["error_bars"].as_array().unwrap() {
        assert!(has_figure(&page, &bar["error"]), "{bar}");
    }
    let fmu = summary["provenance"]["fmus"][0]["sha256"].as_str().unwrap();
    for shown in [
        "id=\"fault\" hidden",
        "system.toml",
        fmu,
        "gyrator run system.toml -e 3 --error-bars",
    ] {
        assert!(page.contains(shown), "{shown}");
    }
    assert!(drawing(&page)["plots"][0]["series"][0]["error"].is_object());
    assert_eq!(drawing(&page)["rows"], summary["output"]["rows"]);
}

#[test]
fn a_page_needs_no_result_file_and_a_csv_result_a_summary() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let run = ["run", "system.toml", "-e", "1", "--report", "run.html"];
    assert_eq!(bench.run(run).code, Some(0));
    let names = drawn(&bench.read("run.html"));
    assert!(
        names.iter().any(|name| name == "left.x")
            && names.iter().any(|name| name.ends_with(".residual_power")),
        "{names:?}"
    );

    let run = [
        "run",
        "system.toml",
        "-e",
        "1",
        "-o",
        "out.csv",
        "--summary",
        "summary.json",
    ];
    assert_eq!(bench.run(run).code, Some(0));
    assert_eq!(
        bench.run(["report", "out.csv", "-o", "bare.html"]).code,
        Some(0)
    );
    let bare = bench.read("bare.html");
    assert!(bare.contains("This page shows signals only") && !bare.contains("Coupling error"));
    let report = [
        "report",
        "out.csv",
        "*.x",
        "--summary",
        "summary.json",
        "-o",
        "whole.html",
    ];
    let outcome = bench.run(report);
    assert_eq!((outcome.code, &*outcome.stderr), (Some(0), ""));
    let whole = bench.read("whole.html");
    assert!(whole.contains("Coupling error") && has_graph(&whole) && !has_graph(&bare));
    // A component that is not there.
    let mut summary = bench.json("summary.json");
    summary["graph"]["bonds"][0]["a"] = Value::from(7);
    // The summary of another run.
    summary["output"]["rows"] = Value::from(7);
    bench.write("summary.json", &summary.to_string());
    let outcome = bench.run(report);
    assert_eq!(outcome.code, Some(0));
    let warning = "warning: summary.json is the summary of a run whose result has 7 rows and";
    assert!(outcome.stderr.starts_with(warning), "{}", outcome.stderr);
    assert!(!has_graph(&bench.read("whole.html")));
    assert_eq!(drawn(&whole), ["left.x", "right.x"]);
}

/// A fault of an FMU, in this process or one that takes the process with it, leaves the fault on top and the rows until
/// then; so does a run that cannot begin, without rows.
#[test]
fn a_failed_run_has_its_fault_on_top_and_the_rows_until_then() {
    for (way, rows) in [("error", 5), ("segfault", 5)] {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        let value = format!("bad.fault={way}");
        let run = [
            "run",
            "system.toml",
            "--start-value",
            &value,
            "-o",
            "out.csv",
            "--report",
            "out.html",
        ];
        let outcome = bench.run(run);
        assert!(matches!(outcome.code, Some(1 | 5)), "{}", outcome.stderr);
        let page = bench.read("out.html");
        assert!(fault(&page).contains("bad"), "{}", fault(&page));
        assert!(!fault(&page).starts_with(" hidden"));
        assert_eq!(drawing(&page)["rows"], rows, "{way}");
        assert!(has_graph(&page), "{way}");
    }
    let bench = Bench::new();
    bench.write("system.toml", &FAULTY.replace("Faulty", "Missing"));
    assert_eq!(
        bench
            .run(["run", "system.toml", "--report", "out.html"])
            .code,
        Some(4)
    );
    let page = bench.read("out.html");
    assert!(fault(&page).contains("Missing.fmu"), "{}", fault(&page));
    assert!(fault(&page).contains("No step was made"));
}

/// In this process, in one of its own and from a recorder of calls, the calls of FMUs are counted as the run counts them,
/// and no result changes; without a report none is timed.
#[test]
fn times_of_fmus_are_in_the_report() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let plain = "run system.toml -e 0.1 -o plain.csv --summary plain.json";
    assert_eq!(bench.run(plain.split(' ')).code, Some(0));
    assert_eq!(bench.json("plain.json")["component_times"], Value::Null);
    for way in [
        "",
        " --no-supervisor",
        " --isolate",
        " --record-calls calls",
        " --worker-threads 2",
    ] {
        let run =
            format!("run system.toml -e 0.1 -o out.csv --summary out.json --report out.html{way}");
        let outcome = bench.run(run.split(' '));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(bench.read("plain.csv"), bench.read("out.csv"), "{way}");
        let summary = bench.json("out.json");
        let times = summary["component_times"].as_array().unwrap();
        let calls = |word: &str| -> u64 {
            let calls = times.iter().filter(|time| time["operation"] == word);
            calls.map(|time| time["calls"].as_u64().unwrap()).sum()
        };
        assert_eq!(summary["counters"]["unit_steps"], calls("step"), "{way}");
        assert_eq!((calls("load"), calls("terminate")), (2, 2), "{way}");
        assert!(
            calls("set") >= 200 && calls("get") >= 200,
            "{way}: {times:?}"
        );
        let page = bench.read("out.html");
        for time in times {
            let calls = format!("<td class=figure>{}", time["calls"]);
            assert!(page.contains(&calls), "{way}: {time}");
            assert!(has_figure(&page, &time["seconds"]), "{way}: {time}");
        }
    }
}

#[test]
fn names_of_a_result_are_text() {
    let bench = Bench::new();
    let name = "a.</script><script>alert(1)</script>";
    bench.write("out.csv", &format!("time,{name}\n0,1\n1,2\n"));
    assert_eq!(
        bench.run(["report", "out.csv", "-o", "out.html"]).code,
        Some(0)
    );
    let page = bench.read("out.html");
    assert_eq!(drawn(&page), [name]);
    assert_eq!(
        page.matches("<script").count(),
        2,
        "the drawing, and the script of the page"
    );
}

#[test]
fn mistakes_are_named() {
    let bench = Bench::new();
    bench.write("out.csv", "time,a.x\n0,1\n1,2\n");
    bench.write("no.json", "{}");
    bench.write("notes.html", "my notes");
    for (arguments, code, text) in [
        (
            &["report", "out.csv", "a.y", "-o", "out.html"][..],
            2,
            "did you mean `a.x`?",
        ),
        (&["report", "none.csv", "-o", "out.html"], 3, "none.csv"),
        (
            &[
                "report",
                "out.csv",
                "--summary",
                "no.json",
                "-o",
                "out.html",
            ],
            3,
            "this is not a summary of a run",
        ),
        (
            &["report", "notes.html", "-o", "notes.html"],
            2,
            "is the result",
        ),
        (
            &["report", "out.csv", "-o", "notes.html"],
            1,
            "the file is no page",
        ),
        (
            &["report", "out.csv", "-o", "out.csv"],
            2,
            "must end in .html",
        ),
        (&["report", "out.csv"], 2, "--output-file"),
    ] {
        let outcome = bench.run(arguments.iter().copied());
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(text),
            "{arguments:?}: {}",
            outcome.stderr
        );
    }
    assert_eq!(bench.read("notes.html"), "my notes");
}
