//! Parameter studies: one table, however it was made.

use std::collections::BTreeSet;

use crate::bench::{Bench, OSCILLATORS, lines, wait_until, without_times};
use crate::faults::FAULTY;

/// Two masses, coupled by a spring; ten cases with three variants.
fn study(bench: &Bench) {
    bench.write("system.toml", &system());
    bench.write("study.toml", STUDY);
}

/// Standard output of the program, which has to succeed.
fn succeed<'a>(bench: &Bench, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    outcome.stdout
}

/// Standard error of the program, which has to find its input invalid; without line breaks.
fn refuse<'a>(bench: &Bench, arguments: impl IntoIterator<Item = &'a str>) -> String {
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let words = outcome.stderr.split(['\n', '│', ' ']);
    let words = words.filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn system() -> String {
    OSCILLATORS.replace("stop_time = 10.0", "stop_time = 1.0")
}

const STUDY: &str = r#"
system = "system.toml"
reference = "exact"

[[vary]]
grid = { "experiment.step_size" = [1e-3, 2e-3] }

[[vary]]
random = { "left.m" = { uniform = [0.5, 2.0] }, "right.k" = { log_uniform = [10, 1000] } }
count = 5
seed = 7

[variants]
stale = {}
corrected = { "bonds.coupling.correction" = { name = "residual-power", mu = 0.5 } }
exact = { "experiment.exchange" = "fresh", "experiment.step_size" = 2.5e-4 }

[[metrics]]
final = "right.x"
maximum = ["left.x", "bond.coupling.residual_energy"]
nrms = "right.x"

[[metrics]]
name = "late"
window = [0.5, 1.0]
rms = "right.v"
error_rms = "right.v"
"#;

/// The columns of a row by name.
fn cell(table: &str, row: usize, name: &str) -> String {
    let mut lines = table.lines();
    let column = lines.next().unwrap().split(',').position(|c| c == name);
    let cell = lines.nth(row).unwrap().split(',').nth(column.unwrap());
    cell.unwrap().to_owned()
}

fn number(table: &str, row: usize, name: &str) -> f64 {
    cell(table, row, name).parse().unwrap()
}

#[test]
fn the_table_does_not_depend_on_threads_nor_on_parts() {
    let bench = Bench::new();
    study(&bench);
    let run = |arguments: &[&str]| {
        let all = [&["study"], arguments].concat();
        succeed(&bench, all);
    };
    for form in ["csv", "parquet"] {
        let one = format!("one.{form}");
        run(&["study.toml", "-o", &one, "--worker-threads", "1"]);
        let two = format!("two.{form}");
        run(&["study.toml", "-o", &two, "--worker-threads", "2"]);
        let mut merge = vec!["merge".to_owned()];
        for part in (1..=7).rev() {
            let name = format!("part-{part}.{form}");
            let shard = format!("{part}/7");
            run(&["study.toml", "-o", &name, "--shard", &shard]);
            merge.push(name);
        }
        let merged = format!("merged.{form}");
        merge.extend(["-o".to_owned(), merged.clone()]);
        run(&merge.iter().map(String::as_str).collect::<Vec<_>>());
        let bytes = |name: &str| std::fs::read(bench.path(name)).unwrap();
        assert!(bytes(&one) == bytes(&two), "threads, {form}");
        assert!(bytes(&one) == bytes(&merged), "parts, {form}");
    }
}

/// The FMUs of an archive are unpacked again by each process, into another folder each time.
#[test]
fn systems_of_other_formats_make_the_same_table() {
    let bench = Bench::new();
    study(&bench);
    succeed(&bench, ["export", "system.toml", "-o", "system.ssp"]);
    let of_ssp = STUDY.replace("system.toml", "system.ssp");
    bench.write("ssp.toml", &of_ssp);
    succeed(&bench, ["study", "study.toml"]);
    succeed(&bench, ["study", "ssp.toml"]);
    assert_eq!(bench.read("study.csv"), bench.read("ssp.csv"));
    let again = succeed(&bench, ["study", "ssp.toml"]);
    assert!(again.contains("30 rows, 30 of them earlier"), "{again}");
    assert_eq!(
        succeed(&bench, ["study", "list", "study.toml"]),
        succeed(&bench, ["study", "list", "ssp.toml"])
    );
    bench.write("wrong.toml", &of_ssp.replace("system.ssp", "none.ssp"));
    let text = refuse(&bench, ["study", "wrong.toml"]);
    assert!(text.contains("none.ssp"), "{text}");
}

#[test]
fn metrics_are_those_of_the_runs() {
    let bench = Bench::new();
    study(&bench);
    succeed(&bench, ["study", "study.toml"]);
    let table = bench.read("study.csv");
    assert_eq!(table.lines().count(), 31);
    for row in 0..30 {
        assert_eq!(cell(&table, row, "stop_reason"), "stop-time");
        let variant = cell(&table, row, "variant");
        assert_eq!(variant, ["stale", "corrected", "exact"][row % 3]);
        if variant == "exact" {
            assert_eq!(cell(&table, row, "nrms.right.x"), "");
            assert_eq!(cell(&table, row, "steps"), "4000");
        }
    }
    // The same random points for each step size.
    for row in 0..15 {
        assert_eq!(
            cell(&table, row, "left.m"),
            cell(&table, row + 15, "left.m")
        );
    }
    // One case, run by hand, with the metrics worked out from its results.
    let set = |name: &str| format!("{name}={}", cell(&table, 3, name));
    let (m, k) = (set("left.m"), set("right.k"));
    let start = ["--start-value", &m, "--start-value", &k, "-o"];
    let stale = [&["run", "system.toml"], &start[..], &["stale.csv"]].concat();
    succeed(&bench, stale);
    let finer = ["--step-size", "2.5e-4", "--exchange", "fresh"];
    let exact = [&["run", "system.toml"], &start[..], &["exact.csv"], &finer].concat();
    succeed(&bench, exact);
    let column = |file: &str, name: &str| -> Vec<f64> {
        let (header, rows) = bench.rows(file);
        let place = header.iter().position(|column| column == name).unwrap();
        rows.iter().map(|row| row[place]).collect()
    };
    let (x, every) = (
        column("stale.csv", "right.x"),
        column("exact.csv", "right.x"),
    );
    assert_eq!(number(&table, 3, "final.right.x"), *x.last().unwrap());
    let energy = column("stale.csv", "bond.coupling.residual_energy");
    let greatest = energy.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let name = "maximum.bond.coupling.residual_energy";
    assert_eq!(number(&table, 3, name), greatest);
    let errors = x.iter().zip(every.iter().step_by(4));
    let squares: f64 = errors.map(|(x, exact)| (x - exact).powi(2)).sum();
    let greatest = every.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = every.iter().copied().fold(f64::INFINITY, f64::min);
    let nrms = (squares / x.len() as f64).sqrt() / (greatest - least);
    // The same sums in the same order.
    assert_eq!(number(&table, 3, "nrms.right.x"), nrms);
    let v = column("stale.csv", "right.v");
    let late: f64 = v[500..].iter().map(|v| v * v).sum();
    assert_eq!(number(&table, 3, "late.rms.right.v"), (late / 501.0).sqrt());
}

#[cfg(unix)]
#[test]
fn a_killed_study_goes_on_where_it_was() {
    let bench = Bench::new();
    study(&bench);
    succeed(&bench, ["study", "study.toml", "-o", "whole.csv"]);
    let mut kills = 0;
    loop {
        let mut child = bench.start(["study", "study.toml", "-o", "killed.csv"]);
        let journal = bench.path("killed.csv.journal");
        let before = lines(&journal).max(1);
        let running = std::cell::RefCell::new(&mut child);
        wait_until("some rows are finished, or all", || {
            let ended = running.borrow_mut().try_wait().unwrap().is_some();
            ended || lines(&journal) > before + 2
        });
        child.kill().unwrap();
        if child.wait().unwrap().success() {
            break;
        }
        kills += 1;
    }
    assert!(kills >= 1, "the study was over before it could be killed");
    let journal = bench.read("killed.csv.journal");
    let rows: Vec<&str> = journal
        .lines()
        .filter(|line| !line.starts_with('{'))
        .filter_map(|line| line.split(',').next())
        .collect();
    let different: BTreeSet<&str> = rows.iter().copied().collect();
    assert_eq!((rows.len(), different.len()), (30, 30), "each row once");
    assert_eq!(bench.read("killed.csv"), bench.read("whole.csv"));
}

#[test]
fn failures_are_rows() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    bench.write(
        "study.toml",
        r#"
system = "system.toml"
[[vary]]
list = [
    { "bad.fault" = "none" },
    { "bad.fault" = "error" },
    { "bad.fault" = "fatal" },
    { "bad.fault" = "none", "experiment.step_size" = -1.0 },
    { "bad.fault" = "none", "components.bad.fmu" = "missing.fmu" },
    { "bad.fault" = "none" },
]
[metrics]
final = "bad.y"
"#,
    );
    let options = ["study", "study.toml", "--worker-threads", "1"];
    succeed(&bench, options);
    let table = bench.read("study.csv");
    let reason = |row| cell(&table, row, "stop_reason");
    assert_eq!([reason(0), reason(5)], ["stop-time", "stop-time"]);
    assert_eq!([reason(1), reason(2)], ["failed", "failed"]);
    assert_eq!([reason(3), reason(4)], ["invalid", "not-loaded"]);
    assert!(cell(&table, 1, "message").contains("fmi2DoStep"), "{table}");
    assert_eq!(cell(&table, 3, "steps"), "");
}

/// A mistake that keeps every run from its beginning does not belong to a case.
#[test]
fn a_study_of_which_no_run_can_begin_fails() {
    let bench = Bench::new();
    let without_stop_time = FAULTY.replace("stop_time = 1.0", "");
    assert_ne!(without_stop_time, FAULTY);
    bench.write("system.toml", &without_stop_time);
    let study =
        "system = \"system.toml\"\n[[vary]]\ngrid = { \"bad.fault\" = [\"none\", \"error\"] }\n";
    bench.write("study.toml", study);
    let outcome = bench.run(["study", "study.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let text = "none of the runs could start: no stop time is given";
    assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
    assert_eq!(cell(&bench.read("study.csv"), 1, "stop_reason"), "invalid");
}

#[cfg(target_os = "linux")]
const CRASHES: &str = r#"
system = "system.toml"
[[vary]]
grid = { "bad.fault" = ["none", "segfault", "exit_0", "endless_loop", "abort", "change_folder", "error"] }
[metrics]
final = "bad.y"
"#;

#[cfg(target_os = "linux")]
#[test]
fn crashes_are_rows() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    bench.write("study.toml", CRASHES);
    let run = |table: &str, more: &[&str]| {
        let all = ["study", "study.toml", "--timeout", "3", "-o", table];
        succeed(&bench, [&all, more].concat())
    };
    let printed = run("one.csv", &["--worker-threads", "1"]);
    assert!(
        printed.contains("crashed: 4 runs, one of them: bad: "),
        "{printed}"
    );
    assert!(
        printed.contains("failed: 1 run, one of them: "),
        "{printed}"
    );
    assert!(printed.contains("one.csv: 7 rows\n"), "{printed}");
    assert!(printed.contains("time: 7 runs in "), "{printed}");
    let table = bench.read("one.csv");
    let expected = [
        ("stop-time", ""),
        ("crashed", "bad: SIGSEGV in fmi2DoStep at t = 0.4 s"),
        (
            "crashed",
            "bad: the FMU called exit(0) in fmi2DoStep at t = 0.4 s",
        ),
        (
            "crashed",
            "bad: no return within 3 s from fmi2DoStep at t = 0.4 s",
        ),
        ("crashed", "bad: SIGABRT (abort) in fmi2DoStep at t = 0.4 s"),
        ("stop-time", ""),
        (
            "failed",
            "bad: fmi2DoStep at t = 0.4 s (step 4): returned Error",
        ),
    ];
    for (row, (reason, message)) in expected.into_iter().enumerate() {
        assert_eq!(cell(&table, row, "stop_reason"), reason, "{table}");
        let found = cell(&table, row, "message");
        let found = found.trim_start_matches('"');
        assert!(found.starts_with(message), "{table}");
    }
    run("three.csv", &["--worker-threads", "3"]);
    assert_eq!(bench.read("three.csv"), table, "threads");
    run("first.csv", &["--shard", "1/2"]);
    run("second.csv", &["--shard", "2/2"]);
    let parts = ["first.csv", "second.csv", "-o", "merged.csv"];
    succeed(&bench, [&["study", "merge"], &parts[..]].concat());
    assert_eq!(bench.read("merged.csv"), table, "parts");
}

/// R-32: paths and rights mean what the user meant also after code of FMUs has run.
#[cfg(target_os = "linux")]
#[test]
fn fmus_that_only_some_cases_name_are_found() {
    for fault in ["change_folder", "strict_mask"] {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        for name in ["other.fmu", "last.fmu"] {
            std::fs::copy(bench.path("fmus/Faulty.fmu"), bench.path(name)).unwrap();
        }
        let study = r#"
system = "system.toml"
reference = "last"
[[vary]]
grid = { "bad.fault" = "FAULT", "components.bad.fmu" = ["fmus/Faulty.fmu", "other.fmu"] }
[variants]
plain = {}
last = { "components.bad.fmu" = "last.fmu" }
"#;
        bench.write("study.toml", &study.replace("FAULT", fault));
        succeed(&bench, ["study", "study.toml", "--worker-threads", "1"]);
        let table = bench.read("study.csv");
        for row in 0..4 {
            assert_eq!(cell(&table, row, "stop_reason"), "stop-time", "{table}");
        }
    }
}

/// Unpacked FMUs take no open file each, of which a process may have 1024, say.
#[cfg(target_os = "linux")]
#[test]
fn cases_may_name_more_fmus_than_files_may_be_open() {
    const FMUS: usize = 64;
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    for number in 0..FMUS {
        let copy = bench.path(&format!("{number}.fmu"));
        std::fs::copy(bench.path("fmus/Faulty.fmu"), copy).unwrap();
    }
    let names: Vec<String> = (0..FMUS).map(|n| format!("\"{n}.fmu\"")).collect();
    let study = r#"
system = "system.toml"
[[vary]]
grid = { "experiment.stop_time" = 0.1, "components.bad.fmu" = [FMUS] }
"#;
    bench.write("study.toml", &study.replace("FMUS", &names.join(", ")));
    let script = format!("ulimit -n {FMUS}; exec \"$0\" study study.toml --worker-threads 1");
    let program = env!("CARGO_BIN_EXE_gyrator");
    let mut command = std::process::Command::new("sh");
    let command = command.args(["-c", &script, program]);
    let outcome = command.current_dir(bench.path("")).output().unwrap();
    let text = String::from_utf8(outcome.stdout).unwrap();
    assert!(text.contains("\nstudy.csv: 64 rows\n"), "{text}");
}

/// R-32: an FMU with a process of its own is opened there, after others have run.
#[cfg(target_os = "linux")]
#[test]
fn isolated_fmus_are_found_after_others_have_left_the_folder() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let study = r#"
system = "system.toml"
[[vary]]
grid = { "bad.fault" = "change_folder", "bad.sleep_time" = [0.01, 0.02] }
"#;
    bench.write("study.toml", study);
    let options = ["--isolate=good", "--worker-threads", "1"];
    succeed(&bench, ["study", "study.toml"].into_iter().chain(options));
    let table = bench.read("study.csv");
    for row in 0..2 {
        assert_eq!(cell(&table, row, "stop_reason"), "stop-time", "{table}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_reference_may_crash() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    bench.write(
        "study.toml",
        r#"
system = "system.toml"
reference = "exact"
[[vary]]
list = [
    { "bad.fault" = "none" },
    { "bad.fault" = "segfault", "bad.function" = "initialization" },
    { "bad.fault" = "none", "good.k" = 2.0 },
]
[variants]
other = { "bad.fault" = "none" }
exact = {}
crash = { "bad.fault" = "exit_7" }
[metrics]
final = "good.x"
error_rms = "good.x"
"#,
    );
    succeed(&bench, ["study", "study.toml"]);
    let table = bench.read("study.csv");
    let reasons = [0, 1, 2]
        .map(|case| [0, 1, 2].map(|variant| cell(&table, 3 * case + variant, "stop_reason")));
    let usual = ["stop-time", "stop-time", "crashed"];
    assert_eq!(reasons, [usual, ["stop-time", "crashed", "crashed"], usual]);
    assert_eq!(cell(&table, 0, "error_rms.good.x"), "0.0");
    assert_eq!(cell(&table, 3, "error_rms.good.x"), "");
    let message = cell(&table, 4, "message");
    assert!(
        message.contains("bad: SIGSEGV in fmi2GetReal at t = 0 s"),
        "{message}"
    );
    succeed(
        &bench,
        [
            "study",
            "study.toml",
            "-o",
            "one.csv",
            "--worker-threads",
            "1",
        ],
    );
    assert_eq!(bench.read("one.csv"), table);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_supervisor_a_crash_ends_the_study() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    bench.write("study.toml", CRASHES);
    let options = ["study", "study.toml", "--worker-threads", "1"];
    let alone = [&options[..], &["--no-supervisor"]].concat();
    assert_eq!(bench.run(alone).code, None, "a signal");
    assert_eq!(lines(&bench.path("study.csv.journal")), 3);
    let printed = succeed(&bench, [&options[..], &["--timeout", "3"]].concat());
    assert!(printed.contains("7 rows, 1 of them earlier"), "{printed}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_crash_of_an_isolated_fmu_is_a_row() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    bench.write(
        "study.toml",
        r#"
system = "system.toml"
[[vary]]
grid = { "bad.fault" = ["none", "abort", "none"] }
[metrics]
final = "good.x"
"#,
    );
    succeed(&bench, ["study", "study.toml", "--isolate=bad"]);
    let table = bench.read("study.csv");
    let reasons = [0, 1, 2].map(|row| cell(&table, row, "stop_reason"));
    assert_eq!(reasons, ["stop-time", "crashed", "stop-time"], "{table}");
    assert_eq!(cell(&table, 1, "steps"), "4");
    let outcome = bench.run(["study", "study.toml", "--isolate=bat"]);
    assert_eq!(outcome.code, Some(2));
    let text = outcome.stderr;
    assert!(text.contains("did you mean `bad`?"), "{text}");
}

#[test]
fn a_journal_belongs_to_its_study() {
    let bench = Bench::new();
    study(&bench);
    succeed(&bench, ["study", "study.toml", "--shard", "1/5"]);
    let text = refuse(&bench, ["study", "study.toml"]);
    assert!(text.contains("part 1/5"), "{text}");
    let text = refuse(&bench, ["study", "merge", "study.csv", "-o", "all.csv"]);
    assert!(text.contains("24 of 30 rows are missing"), "{text}");
    bench.write("study.toml", &STUDY.replace("seed = 7", "seed = 8"));
    let text = refuse(&bench, ["study", "study.toml", "--shard", "1/5"]);
    assert!(text.contains("has changed"), "{text}");
    assert!(text.contains("remove it"), "{text}");
}

/// The settings of the runs are the same, and the rows are not.
#[test]
fn a_journal_has_all_cells_of_its_rows() {
    const STUDY: &str = r#"
system = "system.toml"
[[vary]]
grid = { "experiment.step_size" = [1e-3] }
[variants]
first = { "experiment.step_size" = 2e-3 }
"#;
    let bench = Bench::new();
    bench.write("system.toml", &system());
    bench.write("study.toml", STUDY);
    succeed(&bench, ["study", "study.toml"]);
    for (old, new) in [("first", "second"), ("[1e-3]", "[5e-3]")] {
        bench.write("study.toml", &STUDY.replace(old, new));
        let text = refuse(&bench, ["study", "study.toml"]);
        assert!(text.contains("has changed"), "{new}: {text}");
    }
}

#[test]
fn bad_studies_say_where_and_what() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    for (line, expected) in [
        ("[metrics]\nfinal = \"right.y\"", "did you mean `right.x`?"),
        ("[metrics]\nnrms = \"right.x\"", "needs a `reference`"),
        (
            "reference = \"exakt\"\n[variants]\nexact = {}",
            "did you mean `exact`?",
        ),
        (
            "[[vary]]\nzip = { a.b = [1, 2], a.c = [1] }",
            "equally long",
        ),
        (
            "[[vary]]\nrandom = { a.b = { normal = [0, 1] } }",
            "needs a `count`",
        ),
        (
            "[[vary]]\ngrid = { a.b = [1] }\n[[vary]]\ngrid = { a.b = [2] }",
            "varied twice",
        ),
        ("[[vary]]\nfile = \"no.csv\"", "no.csv"),
        ("require = \"left.m < 1\"", "neither a number nor a key"),
        ("[[vary]]\ngrid = { left.m = [] }", "no cases"),
        ("metric = 1", "did you mean `metrics`?"),
    ] {
        bench.write("bad.toml", &format!("system = \"system.toml\"\n{line}\n"));
        let text = refuse(&bench, ["study", "bad.toml"]);
        assert!(text.contains(expected), "{line}: {text}");
    }
}

#[test]
fn cases_are_listed() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    bench.write(
        "points.csv",
        "# from elsewhere\nmass,stiffness\n1,10\n2,20\n3,\n",
    );
    bench.write(
        "study.toml",
        r#"
system = "system.toml"
require = "left.m * 10 >= right.k"
[[vary]]
file = "points.csv"
columns = { mass = "left.m", stiffness = "right.m" }
[[vary]]
grid = { right.k = { from = 1.0, to = 100.0, count = 3, scale = "log" }, "experiment.method" = ["jacobi", { name = "jacobi" }] }
"#,
    );
    let listed = succeed(&bench, ["study", "list", "study.toml"]);
    let expected = r#"case,left.m,right.m,right.k,experiment.method
1,1.0,10.0,1.0,jacobi
2,1.0,10.0,1.0,"{ name = ""jacobi"" }"
3,1.0,10.0,10.0,jacobi
4,1.0,10.0,10.0,"{ name = ""jacobi"" }"
5,2.0,20.0,1.0,jacobi
6,2.0,20.0,1.0,"{ name = ""jacobi"" }"
7,2.0,20.0,10.0,jacobi
8,2.0,20.0,10.0,"{ name = ""jacobi"" }"
9,3.0,,1.0,jacobi
10,3.0,,1.0,"{ name = ""jacobi"" }"
11,3.0,,10.0,jacobi
12,3.0,,10.0,"{ name = ""jacobi"" }"
"#;
    assert_eq!(listed, expected);
    // FMUs are not needed.
    bench.write("system.toml", &system().replace("fmus/", "absent/"));
    let listed = succeed(&bench, ["study", "study.toml", "--dry-run"]);
    assert_eq!(listed, expected);
    bench.write("system.toml", "[experiment]\nstep = 1e-3\n");
    let text = refuse(&bench, ["study", "list", "study.toml"]);
    assert!(text.contains("step_size"), "{text}");
}

/// All values of bonds that results have can be measured, with the numbers that a run gives.
#[test]
fn the_audit_of_bonds_is_measured() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    let study = "system = \"system.toml\"\n[[metrics]]\nenergies = false\n\
                 final = [\"bond.coupling.stale_energy\", \"bond.coupling.net_energy_error\"]\n";
    bench.write("study.toml", study);
    succeed(&bench, ["study", "study.toml", "-o", "table.csv"]);
    succeed(&bench, ["run", "system.toml", "-o", "out.csv"]);
    let (header, rows) = bench.rows("out.csv");
    let table = bench.read("table.csv");
    let mut lines = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let (names, cells) = (lines.next().unwrap(), lines.next().unwrap());
    for value in ["stale_energy", "net_energy_error"] {
        let name = format!("bond.coupling.{value}");
        let column = header.iter().position(|column| *column == name).unwrap();
        let last = rows.last().unwrap()[column];
        let place = names
            .iter()
            .position(|column| *column == format!("final.{name}"));
        let cell: f64 = cells[place.unwrap()].parse().unwrap();
        assert!(
            last != 0.0 && cell.to_bits() == last.to_bits(),
            "{name}: {cell} {last}"
        );
    }
}

const DIVERGING: &str = r#"
system = "system.toml"
verification = true

[[vary]]
grid = { "experiment.step_size" = [1e-3, 5e-3], "left.k_c" = [10.0, 100.0] }

[variants]
stale = { "experiment.exchange" = "stale" }
fresh = { "experiment.exchange" = "fresh" }
lost = { "left.m" = 0.0 }
"#;

/// The stale coupling of the double oscillator at 5 ms grows without end; at 1 ms it does not.
#[test]
fn verdicts_are_in_the_table_and_counted() {
    let bench = Bench::new();
    let system = OSCILLATORS.replace("stop_time = 10.0", "stop_time = 20.0");
    bench.write("system.toml", &system);
    bench.write("study.toml", DIVERGING);
    let outcome = |more: &[&str]| {
        let files = ["study", "study.toml", "-o", "table.csv", "--summary"];
        bench.run([&files, &["summary.json"][..], more].concat())
    };
    let found = outcome(&["--worker-threads", "1"]);
    insta::assert_snapshot!(format!("{}{}", without_times(&found.stdout), found.stderr));
    assert_eq!(found.code, Some(6));
    let table = bench.read("table.csv");
    // Messages, in quotes, have commas.
    let unquoted: String = table.split('"').step_by(2).collect();
    let verdict = |row: usize| cell(&unquoted, row, "verdict");
    assert_eq!(
        (cell(&unquoted, 9, "variant"), verdict(9)),
        ("stale".to_owned(), "diverging".to_owned())
    );
    let of_bond = |row: usize| cell(&unquoted, row, "bond.coupling.verdict");
    assert!((0..12).all(|row| verdict(row) == of_bond(row)));
    let summary = bench.json("summary.json");
    let counted: u64 = (summary["verdicts"].as_array().unwrap().iter())
        .map(|group| group["rows"].as_u64().unwrap())
        .sum();
    assert_eq!((counted, &summary["rows"]), (8, &12.into()));
    let last = summary["verdicts"].as_array().unwrap().last().unwrap();
    assert_eq!(
        (&last["verdict"], &last["first_row"]),
        (&"diverging".into(), &10.into())
    );

    // All rows are there already; on more threads they are made in another order.
    let again = outcome(&[]);
    assert_eq!((again.code, again.stderr), (Some(6), found.stderr));
    for name in ["table.csv", "table.csv.journal"] {
        std::fs::remove_file(bench.path(name)).unwrap();
    }
    let accepted = outcome(&["--worker-threads", "2", "--accept-divergence"]);
    assert_eq!((accepted.code, &*accepted.stderr), (Some(0), ""));
    let counts = |text: &str| text.split("table.csv").next().unwrap().to_owned();
    assert_eq!(counts(&accepted.stdout), counts(&found.stdout));
    assert!(bench.read("table.csv") == table);
    let merged = succeed(&bench, ["study", "merge", "table.csv", "-o", "merged.csv"]);
    assert_eq!(
        counts(&found.stdout),
        merged.split("merged.csv").next().unwrap()
    );

    bench.write(
        "study.toml",
        &format!("accept_divergence = true\n{DIVERGING}"),
    );
    assert_eq!(outcome(&[]).code, Some(0));
}

/// The columns of a bond are what a run says of it.
#[test]
fn bonds_are_judged_as_by_a_run() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    bench.write(
        "study.toml",
        "system = \"system.toml\"\n[variants]\nonly = { \"bonds.coupling.correction\" = \"nepce\" }",
    );
    succeed(&bench, ["study", "study.toml"]);
    bench.write(
        "system.toml",
        &system().replace("[[bonds]]", "[[bonds]]\ncorrection = \"nepce\""),
    );
    succeed(&bench, ["run", "system.toml", "--summary", "summary.json"]);
    let (table, summary) = (bench.read("study.csv"), bench.json("summary.json"));
    assert_eq!(cell(&table, 0, "verdict"), summary["verdict"]);
    for (key, value) in summary["bonds"][0].as_object().unwrap() {
        let name = format!("bond.coupling.{key}");
        let header = table.lines().next().unwrap();
        if !header.split(',').any(|column| column == name) {
            continue;
        }
        let found = cell(&table, 0, &name);
        match value {
            serde_json::Value::Number(number) => {
                let number = number.as_f64().unwrap();
                assert_eq!(
                    found.parse::<f64>().unwrap().to_bits(),
                    number.to_bits(),
                    "{name}"
                );
            }
            serde_json::Value::Null => assert_eq!(found, "", "{name}"),
            text => assert_eq!(text, &*found, "{name}"),
        }
    }
}

#[test]
fn bonds_that_are_not_there_and_summaries_that_are_none_are_refused() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    bench.write(
        "study.toml",
        "system = \"system.toml\"\nmetrics = { energies = [\"copling\"] }",
    );
    let text = refuse(&bench, ["study", "study.toml"]);
    assert!(
        text.contains("no bond `copling`: did you mean `coupling`?"),
        "{text}"
    );
    let outcome = bench.run(["study", "study.toml", "--summary", "system.toml"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert_eq!(bench.read("system.toml"), system());
}

const WITH_ERROR_BARS: &str = r#"
system = "system.toml"

[[vary]]
grid = { "experiment.step_size" = [1e-3, 2e-3] }

[variants]
hold = {}
ecco = { "experiment.step_control" = "ecco" }

[[metrics]]
error_bars = ["left.x", "right.v"]
energies = false
"#;

/// The errors are the same as in `run --error-bars`, bit for bit, whatever the number of threads and of attempts.
#[test]
fn error_bars_are_those_of_the_runs() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    bench.write("study.toml", WITH_ERROR_BARS);
    succeed(&bench, ["study", "study.toml", "--worker-threads", "1"]);
    let table = bench.read("study.csv");
    let lines: Vec<&str> = table.lines().collect();
    for (row, step_size) in [(0, "1e-3"), (2, "2e-3")] {
        let options = ["--error-bars", "--summary", "summary.json", "--step-size"];
        let run = ["run", "system.toml"].into_iter().chain(options);
        let variables = ["left.x", "right.v"].map(|name| format!("--output-variable={name}"));
        let variables = variables.iter().map(String::as_str);
        succeed(&bench, run.chain([step_size]).chain(variables));
        let summary = bench.json("summary.json");
        assert_eq!(cell(&table, row, "verdict"), summary["verdict"]);
        let bars = summary["error_bars"].as_array().unwrap();
        for variable in ["left.x", "right.v"] {
            let bar = bars.iter().find(|bar| bar["variable"] == variable).unwrap();
            for key in ["error", "max_error", "step_for"] {
                let found = number(&table, row, &format!("{key}.{variable}"));
                let expected = bar[key].as_f64().unwrap();
                assert_eq!(found.to_bits(), expected.to_bits(), "{key} of {variable}");
            }
            let verdict = cell(&table, row, &format!("error_verdict.{variable}"));
            assert_eq!(bar["verdict"], verdict);
        }
    }
    // Step control has no macro-step to halve.
    for name in ["error.left.x", "step_for.right.v"] {
        assert_eq!(cell(&table, 1, name), "");
    }
    assert_eq!(cell(&table, 1, "error_verdict.left.x"), "cannot-tell");

    // A journal that ends within its third row goes on to the same table.
    let journal = bench.read("study.csv.journal");
    let kept: Vec<&str> = journal.lines().collect();
    let cut = format!("{}\n{}", kept[..4].join("\n"), &kept[4][..9]);
    bench.write("again.csv.journal", &cut);
    let again = [
        "study",
        "study.toml",
        "-o",
        "again.csv",
        "--worker-threads",
        "2",
    ];
    let text = succeed(&bench, again);
    assert!(text.contains("4 rows, 2 of them earlier"), "{text}");
    assert_eq!(bench.read("again.csv").lines().collect::<Vec<_>>(), lines);
}

/// The run alone cannot see that the error of this position is smaller than other signals' errors.
#[test]
fn error_bars_give_the_verdict_of_a_case() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    for (metric, verdict) in [("final", "visible"), ("error_bars", "small")] {
        let study = format!("system = \"system.toml\"\n[[metrics]]\n{metric} = \"left.x\"\n");
        bench.write("study.toml", &study);
        let table = format!("{metric}.csv");
        let text = succeed(&bench, ["study", "study.toml", "-o", &table]);
        let counted = format!("coupling error: 1 {verdict}\n");
        assert!(text.contains(&counted), "{text}");
        assert_eq!(cell(&bench.read(&table), 0, "verdict"), verdict);
    }
}

#[test]
fn a_window_does_not_end_before_it_begins() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    let study = "system = \"system.toml\"\n[[metrics]]\nfinal = \"left.x\"\nwindow = [0.2, 0.1]\n";
    bench.write("study.toml", study);
    let text = refuse(&bench, ["study", "study.toml"]);
    let expected = "the window ends at 0.1 s and begins at 0.2 s";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn error_bars_of_a_study_are_of_real_outputs_and_whole_runs() {
    let bench = Bench::new();
    bench.write("system.toml", &system());
    for (change, expected) in [
        (
            "window = [0.0, 1.0]\nerror_bars",
            "error bars are those of the whole run",
        ),
        (
            "maximum = \"left.x\"\nerror_bars = \"left.y\" #",
            "the system has no output `left.y`",
        ),
        (
            "error_bars = \"bond.coupling.residual_power\" #",
            "is not a real output",
        ),
    ] {
        bench.write("study.toml", &WITH_ERROR_BARS.replace("error_bars", change));
        let text = refuse(&bench, ["study", "study.toml"]);
        assert!(text.contains(expected), "{text}");
    }
}
