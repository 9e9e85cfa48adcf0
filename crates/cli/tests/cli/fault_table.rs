//! The table of faults of docs/reliability.md: what FMUs do to a supervised run, and what is left.
//!
//! Each entry names its row, what the FMU `Faulty` does and where, the exit code, the
//! rows in the result and a part of the message.

use std::process::Command;

use crate::bench::{Bench, OSCILLATORS, ProgramOutcome, lines};
use crate::faults::FAULTY;

/// Row, fault, function, exit code, rows, part of the message.
type ExpectedFault = (
    &'static str,
    &'static str,
    &'static str,
    i32,
    usize,
    &'static str,
);

/// The table. The fault strikes in the fifth step, from 0.4 s to 0.5 s.
fn table() -> Vec<ExpectedFault> {
    let lines = include_str!("faults.txt").lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let entry = |line: &'static str| {
        let (about, message) = line.split_once(" |").unwrap();
        let about: Vec<&'static str> = about.split(' ').collect();
        let [row, fault, function, code, rows] = about[..] else {
            panic!("five words: {line}");
        };
        let (code, rows) = (code.parse().unwrap(), rows.parse().unwrap());
        (row, fault, function, code, rows, message.trim_start())
    };
    lines.map(entry).collect()
}

pub(crate) fn run(bench: &Bench, fault: &str, function: &str, others: &[&str]) -> ProgramOutcome {
    bench.write("system.toml", FAULTY);
    let (fault, function) = (
        format!("bad.fault={fault}"),
        format!("bad.function={function}"),
    );
    let values = ["--start-value", &fault, "--start-value", &function];
    bench.run(
        ["run", "system.toml"]
            .into_iter()
            .chain(values)
            .chain(others.iter().copied()),
    )
}

/// Calls that hang are ended after this time, others after one that no machine needs. The first is
/// long enough for all other calls of such a run.
pub(crate) fn timeout_for(fault: &str) -> &'static str {
    if hangs(fault) { "3" } else { "300" }
}

fn hangs(fault: &str) -> bool {
    matches!(fault, "endless_loop" | "busy_loop")
}

/// Makes `attempt` with every entry, and names those that have failed. Runs that hang wait side by side.
pub(crate) fn each_entry(attempt: impl Fn(&ExpectedFault) -> Result<(), String> + Sync) {
    let (hanging, others): (Vec<_>, Vec<_>) = table().into_iter().partition(|entry| hangs(entry.1));
    let wrong = std::thread::scope(|scope| {
        let attempt = &attempt;
        let hanging = hanging.into_iter();
        let hanging: Vec<_> = hanging
            .map(|entry| scope.spawn(move || attempt(&entry)))
            .collect();
        let others = others.iter().map(attempt).collect::<Vec<_>>();
        let hanging = hanging.into_iter().map(|thread| thread.join().unwrap());
        let outcomes = others.into_iter().chain(hanging);
        outcomes.filter_map(Result::err).collect::<Vec<_>>()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_entry_has_its_outcome() {
    each_entry(|(row, fault, function, code, rows, part)| {
        let bench = Bench::new();
        let files = ["-o", "out.csv", "--summary", "summary.json", "--timeout"];
        let files = [&files[..], &[timeout_for(fault)]].concat();
        let outcome = run(&bench, fault, function, &files);
        // The first line holds the names.
        let found = lines(&bench.path("out.csv")).saturating_sub(1);
        let is_right =
            outcome.code == Some(*code) && found == *rows && outcome.stderr.contains(part);
        if !is_right {
            let ProgramOutcome { code, stderr, .. } = outcome;
            return Err(format!(
                "{row} {fault} {function}: {code:?}, {found} rows, {stderr}"
            ));
        }
        let whole = bench
            .path("out.csv")
            .exists()
            .then(|| bench.rows("out.csv"));
        if let Some((header, rows)) = whole {
            assert!(
                rows.iter().all(|row| row.len() == header.len()),
                "{row} {fault}"
            );
            let times = rows.iter().map(|row| row[0]).enumerate();
            assert!(
                times
                    .into_iter()
                    .all(|(k, time)| (time - 0.1 * k as f64).abs() < 1e-12)
            );
        }
        let summary = bench.json("summary.json");
        assert_eq!(
            summary["output"]["rows"].as_u64().unwrap_or(0),
            *rows as u64,
            "{row} {fault}"
        );
        Ok(())
    });
}

#[test]
fn the_document_counts_the_entries() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reliability.md");
    let text = std::fs::read_to_string(path).unwrap();
    let sentence = format!(
        "`every_entry_has_its_outcome` is a table of {} of them",
        table().len()
    );
    assert!(text.contains(&sentence), "{sentence}");
}

/// R-31: what an FMU prints is not among the results.
#[test]
fn r31_results_on_the_standard_output_are_clean() {
    for fault in ["print", "close_streams"] {
        let bench = Bench::new();
        let outcome = run(&bench, fault, "do_step", &["-o", "-"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert_eq!(outcome.stdout.lines().count(), 12, "{}", outcome.stdout);
        assert!(!outcome.stdout.contains("1,2,3"));
        assert!(
            outcome.stderr.contains("reached the stop time"),
            "{}",
            outcome.stderr
        );
    }
}

/// R-32: files have the rights that the user gives to files.
#[test]
fn r32_the_mask_of_an_fmu_has_no_effect_on_results() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.write("by-hand", "");
    let files = ["-o", "out.csv", "--summary", "summary.json"];
    run(&bench, "strict_mask", "initialization", &files);
    let rights = |name: &str| {
        std::fs::metadata(bench.path(name))
            .unwrap()
            .permissions()
            .mode()
    };
    assert_eq!(rights("out.csv"), rights("by-hand"));
    assert_eq!(rights("summary.json"), rights("by-hand"));
}

/// R-32, R-33: results are the same as without the fault, bit for bit.
#[test]
fn results_do_not_change() {
    let result = |fault: &str| {
        let bench = Bench::new();
        let outcome = run(&bench, fault, "initialization", &["-o", "out.csv"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        bench.read("out.csv")
    };
    let expected = result("none");
    for fault in ["locale", "round_upwards", "change_folder", "misuse_logger"] {
        assert_eq!(result(fault), expected, "{fault}");
    }
}

/// R-33: an FMU that changes how its thread computes, now and then, changes no result of others, on any
/// number of threads, and is named.
#[test]
fn r33_changes_in_random_steps_reach_no_other_fmu() {
    let bench = Bench::new();
    let result = |fault: &str, more: &[&str]| {
        let times = ["--stop-time", "20", "-o", "out.csv"];
        let outcome = run(&bench, fault, "do_step", &[&times, more].concat());
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        (bench.read("out.csv"), outcome.stderr)
    };
    let (expected, _) = result("none", &[]);
    assert_eq!(expected.lines().count(), 202);
    for threads in ["1", "2", "4"] {
        for isolation in [None, Some("--isolate")] {
            let more: Vec<&str> = ["--worker-threads", threads]
                .into_iter()
                .chain(isolation)
                .collect();
            let (found, stderr) = result("change_float_control", &more);
            assert!(found == expected, "{more:?}");
            assert!(
                stderr.contains("warning: bad: fmi2DoStep has changed"),
                "{stderr}"
            );
            assert!(!stderr.contains("good"), "{stderr}");
        }
    }
}

/// R-32: a Parquet file is made after the last call of an FMU.
#[test]
fn r32_parquet_is_written_where_the_user_meant_it() {
    for fault in ["change_folder", "strict_mask"] {
        let bench = Bench::new();
        let outcome = run(&bench, fault, "do_step", &["-o", "out.parquet"]);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        std::fs::write(bench.path("by-hand"), "").unwrap();
        let rights = |name: &str| std::fs::metadata(bench.path(name)).unwrap().permissions();
        assert_eq!(rights("out.parquet"), rights("by-hand"), "{fault}");
        let rows = gyrator_record::read_table(&bench.path("out.parquet")).unwrap();
        assert_eq!(rows.time.len(), 11, "{fault}");
        for other in ["out.parquet.part", "out.parquet.new"] {
            assert!(!bench.path(other).exists(), "{fault}");
        }
    }
}

/// One Faulty or two, without anything else.
fn simulate(bench: &Bench, fault: &str, others: &[&str]) -> ProgramOutcome {
    let fault = format!("fault={fault}");
    let first = [
        "simulate",
        "fmus/Faulty.fmu",
        "--step-size",
        "0.1",
        "-o",
        "out.csv",
    ];
    let values = ["--start-value", &fault];
    let all = first.into_iter().chain(values);
    bench.run(all.chain(others.iter().copied()))
}

const TWO: &str = r#"
[experiment]
stop_time = 60.0
step_size = 0.1

[components.bad]
fmu = "fmus/Faulty.fmu"

[components.slow]
fmu = "fmus/Faulty.fmu"
start_values = { fault = "sleep" }
"#;

/// R-27: the instance that a thread belongs to is unknown; the library in which it ran is known.
#[test]
fn r27_a_thread_of_an_fmu_crashes() {
    let bench = Bench::new();
    bench.write("two.toml", TWO);
    let values = [
        "bad.fault=thread_segfault",
        "bad.sleep_time=0.5",
        "slow.sleep_time=0.2",
    ];
    let values = values.iter().flat_map(|value| ["--start-value", value]);
    let outcome = bench.run(
        ["run", "two.toml", "-o", "out.csv"]
            .into_iter()
            .chain(values),
    );
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    let parts = [
        "error: SIGSEGV in another thread, in Faulty.so, ",
        " at t = ",
        "rows kept in out.csv",
    ];
    for part in parts {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

/// Each text of the FMU is shown within bounds, and none as the message of another.
#[test]
fn r60_a_misused_logger_forges_nothing() {
    for way in ["--progress=never", "--isolate", "--no-supervisor"] {
        let bench = Bench::new();
        let outcome = run(&bench, "misuse_logger", "do_step", &[way]);
        assert_eq!(outcome.code, Some(0), "{way}: {}", outcome.stderr);
        for told in [
            "error: bad: wide %999999999d [category]\n",
            "error: bad: precise whole [category]\n",
            "error: bad: first\n    error: good: forged [[2J]\n",
            "error: bad: short [xxxx",
        ] {
            assert!(outcome.stderr.contains(told), "{way}: no {told:?}");
        }
        let is_harmful = |c: char| c.is_control() && c != '\n';
        assert!(!outcome.stderr.contains(is_harmful), "{way}");
        // Six steps, two lines of 16 KiB each.
        assert!(outcome.stderr.len() < 6 * 40_000, "{way}");
    }
}

/// R-36: the limit ends the run before the system does, and the FMU is named.
#[test]
fn r36_memory_limit() {
    let bench = Bench::new();
    let outcome = simulate(
        &bench,
        "leak",
        &["--memory-limit", "200", "--stop-time", "1e6"],
    );
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    let parts = [
        "warning: Faulty: during fmi2DoStep the memory of the process has grown by 2",
        "more than 200 MiB of memory",
        "rows kept in out.csv",
    ];
    for part in parts {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

#[test]
fn r36_memory_growth() {
    let bench = Bench::new();
    bench.write("two.toml", TWO);
    let values = ["bad.fault=leak", "slow.sleep_time=0.01"];
    let values = values.iter().flat_map(|value| ["--start-value", value]);
    let outcome = bench.run(["run", "two.toml"].into_iter().chain(values));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let warned = "warning: bad: during fmi2DoStep the memory of the process has grown by 2";
    assert!(outcome.stderr.contains(warned), "{}", outcome.stderr);
    assert!(
        !outcome
            .stderr
            .contains("slow: during fmi2DoStep the memory"),
        "{}",
        outcome.stderr
    );
}

/// R-37: global data of the C library begins again in every run.
#[test]
fn r37_runs_do_not_depend_on_earlier_ones() {
    let result = || {
        let bench = Bench::new();
        run(&bench, "random", "do_step", &["-o", "out.csv"]);
        bench.read("out.csv")
    };
    assert_eq!(result(), result());
}

/// R-38: a device without space, and a limit on the size of files.
#[test]
fn r38_failing_writes() {
    let bench = Bench::new();
    std::os::unix::fs::symlink("/dev/full", bench.path("full.csv")).unwrap();
    let outcome = run(&bench, "none", "do_step", &["-o", "full.csv"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("full.csv"), "{}", outcome.stderr);

    // 2 MiB, in blocks of 512 bytes: enough for the FMUs.
    let command =
        "ulimit -f 4096; exec \"$0\" simulate fmus/Faulty.fmu --step-size 0.1 -o out.csv -e 20000";
    let output = Command::new("sh")
        .args(["-c", command, env!("CARGO_BIN_EXE_gyrator")])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(
        stderr.contains("cannot write the result file out.csv"),
        "{stderr}"
    );
    let (header, rows) = bench.rows("out.csv");
    assert!(rows.len() > 10_000, "{}", rows.len());
    assert!(rows.iter().all(|row| row.len() == header.len()));
}

/// Exit code and standard error of `commands` beside a disk of 64 KiB, `small`.
fn on_a_small_disk(bench: &Bench, commands: &str) -> (Option<i32>, String) {
    const NO_RIGHT: i32 = 77;
    let mount = "mkdir -p small && mount -t tmpfs -o size=64k none small || exit 77";
    // Root of a container may mount without a namespace of users, others with one.
    for namespaces in [&["--user", "--map-root-user", "--mount"][..], &["--mount"]] {
        let output = Command::new("unshare")
            .args(namespaces)
            .args(["sh", "-c", &format!("{mount}\n{commands}")])
            .arg(env!("CARGO_BIN_EXE_gyrator"))
            .current_dir(bench.path(""))
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        let code = output.status.code();
        if code != Some(NO_RIGHT) && !stderr.starts_with("unshare: ") {
            return (code, stderr);
        }
    }
    panic!("this test mounts a small disk: allow namespaces of users, or run it as root");
}

/// R-38.
#[test]
fn r38_full_disk() {
    let bench = Bench::new();
    let commands = "\"$0\" simulate fmus/Faulty.fmu --step-size 0.1 -o small/out.csv -e 20000
        code=$?; cp small/out.csv out.csv; exit $code";
    let (code, stderr) = on_a_small_disk(&bench, commands);
    assert_eq!(code, Some(1), "{stderr}");
    let expected = "cannot write the result file small/out.csv: No space left on device";
    assert!(stderr.contains(expected), "{stderr}");
    let (header, rows) = bench.rows("out.csv");
    assert!(rows.len() > 1000, "{}", rows.len());
    assert!(rows.iter().all(|row| row.len() == header.len()));
    let kept = format!("; {} rows are kept\n", rows.len());
    assert!(stderr.contains(&kept), "{stderr}");
    assert_eq!(stderr.matches("kept").count(), 1, "{stderr}");
}

/// R-38: no parts of files are left, and nothing is printed beside the message.
#[test]
fn r38_systems_that_a_full_disk_does_not_take() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let commands = "head -c 100000 /dev/zero > small/zeros 2> /dev/null
        \"$0\" new fmus/OscillatorForce.fmu -o small/new.toml
        \"$0\" export system.toml -o small/system.ssp
        code=$?; ls small > files; exit $code";
    let (code, stderr) = on_a_small_disk(&bench, commands);
    assert_eq!(code, Some(1), "{stderr}");
    let expected = "error: small/new.toml: No space left on device (os error 28)\n\
        error: cannot write small/system.ssp: No space left on device (os error 28)\n";
    assert_eq!(stderr, expected);
    assert_eq!(bench.read("files"), "zeros\n");
}

/// R-38: there is room neither for all rows nor for the file of those that were written.
#[cfg(feature = "parquet")]
#[test]
fn r38_rows_of_a_parquet_file_outlast_a_full_disk() {
    let bench = Bench::new();
    let commands = "\"$0\" simulate fmus/Faulty.fmu --step-size 0.1 -o small/out.parquet -e 20000
        code=$?; ls small > files; cp small/out.parquet.part .; exit $code";
    let (code, stderr) = on_a_small_disk(&bench, commands);
    assert_eq!(code, Some(1), "{stderr}");
    let expected = "cannot write the result file small/out.parquet: No space left on device";
    assert!(stderr.contains(expected), "{stderr}");
    assert_eq!(bench.read("files"), "out.parquet.part\n", "{stderr}");
    let outcome = bench.run(["convert", "out.parquet.part", "-o", "out.parquet"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let rows = gyrator_record::read_table(&bench.path("out.parquet"));
    let rows = rows.unwrap().time.len();
    assert!(rows > 500, "{rows}");
    let kept = "rows are kept in small/out.parquet.part, of which `gyrator convert` makes it";
    assert!(stderr.contains(kept), "{stderr}");
    assert!(
        stderr.contains(&format!("{rows} rows are kept")),
        "{stderr}"
    );
}

/// The rows that had not been written when the FMU crashed are more than a buffer holds.
#[test]
fn many_rows_survive() {
    let bench = Bench::new();
    let more = [
        "-o",
        "out.csv",
        "--step-size",
        "1e-4",
        "--start-value",
        "bad.fault_time=3.0",
        "--stop-time",
        "10",
    ];
    let outcome = run(&bench, "segfault", "do_step", &more);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("30000 rows kept in out.csv"),
        "{}",
        outcome.stderr
    );
    let (header, rows) = bench.rows("out.csv");
    assert_eq!(rows.len(), 30_000);
    assert!(rows.iter().all(|row| row.len() == header.len()));
}

#[test]
fn the_supervisor_changes_no_result() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for (name, option) in [("with.csv", None), ("without.csv", Some("--no-supervisor"))] {
        let outcome = bench.run(["run", "system.toml", "-o", name].into_iter().chain(option));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
    assert_eq!(bench.read("with.csv"), bench.read("without.csv"));
}

/// The FMU overwrites all that this process shares with others, and the run goes on.
#[test]
fn r47_overwritten_shared_memory() {
    let bench = Bench::new();
    let outcome = run(&bench, "scribble", "do_step", &["-o", "out.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(bench.rows("out.csv").1.len(), 11);

    let bench = Bench::new();
    let outcome = run(&bench, "scribble_and_abort", "do_step", &["-o", "out.csv"]);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    for part in ["SIGABRT", "the last ones are lost: ", "were overwritten"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
    for nonsense in ["NaN", "stack overflow", "step 18446"] {
        assert!(!outcome.stderr.contains(nonsense), "{}", outcome.stderr);
    }
    // How many rows were written before depends on the machine; they are whole.
    let (header, rows) = bench.rows("out.csv");
    assert!(rows.len() <= 5 && rows.iter().all(|row| row.len() == header.len()));

    let bench = Bench::new();
    let options = ["-o", "out.csv", "--isolate=bad"];
    let outcome = run(&bench, "scribble", "do_step", &options);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("; 5 rows kept in out.csv"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn without_a_supervisor_a_crash_is_the_end() {
    let bench = Bench::new();
    let outcome = run(&bench, "segfault", "do_step", &["--no-supervisor"]);
    assert_eq!(outcome.code, None, "killed by the signal");
}

/// Learning makes many runs in one worker.
#[test]
fn learning_is_supervised() {
    const LEARNING: &str = r#"
[experiment]
stop_time = 1.0
step_size = 0.1

[components.good]
fmu = "fmus/OscillatorMotion.fmu"

[components.bad]
fmu = "fmus/Faulty.fmu"
start_values = { fault_time = 0.5 }

[[bonds]]
name = "coupling"
effort = { from = "bad.y", to = "good.f" }
flow = { from = "good.v", to = "bad.u" }
"#;
    let bench = Bench::new();
    bench.write("learn.toml", LEARNING);
    let learn = |fault: &str| {
        let fault = format!("bad.fault={fault}");
        let options = ["-o", "learned.csv", "--start-value", &fault];
        bench.run(["learn", "learn.toml"].into_iter().chain(options))
    };
    let outcome = learn("segfault");
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    let expected = "error: bad: SIGSEGV in fmi2DoStep at t = 0.4 s (step 4)";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
    // The FMUs are opened again for each run, by paths that are relative (R-32).
    let outcome = learn("change_folder");
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(bench.path("learned.csv").exists());
}
