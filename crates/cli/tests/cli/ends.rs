//! Limits and signals end a run whatever its FMUs do, and nothing of it is left.

#![cfg(target_os = "linux")]

use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::bench::{Bench, OSCILLATORS, lines, wait_until};
use crate::fault_table::run;
use crate::faults::FAULTY;
use crate::isolation::processes_in;

pub(crate) fn signal(name: &str, process: u32) {
    let number = process.to_string();
    let status = Command::new("kill").args([name, &number]).status();
    assert!(status.unwrap().success());
}

/// The only child of a process.
fn worker_of(parent: u32) -> Option<u32> {
    let path = format!("/proc/{parent}/task/{parent}/children");
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

#[test]
fn r53_the_memory_of_isolated_components_counts() {
    let bench = Bench::new();
    let more = "--memory-limit 300 --stop-time 1e6 --no-nan-check --isolate=bad -o out.csv";
    let more: Vec<&str> = more.split(' ').collect();
    let outcome = run(&bench, "leak", "do_step", &more);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    for part in ["more than 300 MiB of memory", "rows kept in out.csv"] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

/// A run that is over before it is looked at.
#[test]
fn r53_a_limit_below_the_memory_of_gyrator_ends_a_run() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    for command in [
        "run system.toml -e 0.1",
        "run system.toml -e 0.1 --isolate",
        "simulate fmus/OscillatorMotion.fmu -e 0.1 --step-size 0.1",
    ] {
        let limit = ["--memory-limit", "1", "--summary", "s.json"];
        let outcome = bench.run(command.split(' ').chain(limit));
        assert_eq!(outcome.code, Some(5), "{command}: {}", outcome.stderr);
        for part in [
            "more than 1 MiB of memory",
            "give it more with --memory-limit",
        ] {
            assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
        }
        assert_eq!(bench.json("s.json")["stop_reason"], "memory-limit");
    }
}

#[test]
fn numbers_of_threads_are_refused_alike() {
    let bench = Bench::new();
    for verb in ["run s.toml", "study s.toml", "fit s.toml"] {
        for number in ["0", "1025", "-1", "two"] {
            let options = ["--worker-threads", number];
            let outcome = bench.run(verb.split(' ').chain(options));
            assert_eq!(outcome.code, Some(2), "{verb}: {}", outcome.stderr);
            let words = format!("{number} is not in 1..=1024");
            assert!(
                outcome.stderr.contains(&words),
                "{verb}: {}",
                outcome.stderr
            );
        }
    }
}

#[test]
fn r59_nonsense_times_are_refused() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    for (options, code, expected) in [
        ("--step-size 1e-300", 3, "too little for times up to"),
        (
            "-b 1e16 -d 10 --step-size 0.1",
            3,
            "too little for times up to",
        ),
        ("--step-size 1e9", 3, "too much for a run of 1 s"),
    ] {
        let outcome = bench.run(["run", "system.toml"].into_iter().chain(options.split(' ')));
        assert_eq!(outcome.code, Some(code), "{options} {}", outcome.stderr);
        assert!(
            outcome.stderr.contains(expected),
            "{options} {}",
            outcome.stderr
        );
        let simulate = "simulate fmus/Faulty.fmu -e 1".split(' ');
        let outcome = bench.run(simulate.chain(["--step-size", "1e-300"]));
        assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    }
}

/// The warning comes before the first step; days pass until the summary.
#[test]
fn r69_more_steps_than_days_are_told_at_the_start() {
    for way in [None, Some("--no-supervisor")] {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        let command = "run system.toml --step-size 1e-13 --start-value bad.fault=error \
                       --start-value bad.fault_time=0";
        let words: Vec<&str> = command.split_whitespace().collect();
        let outcome = bench.run(words.into_iter().chain(way));
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        let warning = outcome
            .stderr
            .find("these are 1.0e13 steps, which take days");
        let error = outcome.stderr.find("error: bad: fmi2DoStep");
        assert!(warning.is_some() && warning < error, "{}", outcome.stderr);
    }
}

/// A system with an FMU whose steps go on in the background for ever.
fn endless_steps(bench: &Bench) {
    let claim = "canHandleVariableCommunicationStepSize=";
    let both = format!("canRunAsynchronuously=\"true\" {claim}");
    bench.alter_fmu("Faulty", "Background.fmu", |text| {
        text.replace(claim, &both)
    });
    let system = FAULTY.replace("fmus/Faulty.fmu", "Background.fmu");
    bench.write("pending.toml", &system);
}

const PENDING: &str =
    "run pending.toml --start-value bad.fault=pending -o out.csv --summary summary.json";

#[test]
fn r54_a_step_that_stays_pending_is_ended() {
    for way in [
        "",
        " --isolate",
        " --no-supervisor",
        " --no-supervisor --isolate",
    ] {
        let bench = Bench::new();
        endless_steps(&bench);
        let command = format!("{PENDING} --timeout 3{way}");
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(5), "{way} {}", outcome.stderr);
        for expected in [
            "error: bad: no return within 3 s from fmi2DoStep",
            " at t = 0.4 s (step 4); 5 rows kept in out.csv\n",
            "help: give it more time",
        ] {
            assert!(
                outcome.stderr.contains(expected),
                "{way} {}",
                outcome.stderr
            );
        }
        assert_eq!(bench.rows("out.csv").1.len(), 5);
        let summary = bench.json("summary.json");
        assert_eq!(summary["stop_reason"], "timeout", "{way}");
        assert_eq!(summary["components_in_call"][0], "bad", "{way}");
    }
}

#[test]
fn r54_an_interrupted_step_that_stays_pending_is_ended() {
    for way in [None, Some("--isolate"), Some("--no-supervisor")] {
        let bench = Bench::new();
        endless_steps(&bench);
        let mut child = bench.start(PENDING.split(' ').chain(way));
        wait_until("rows are on disk", || {
            lines(&bench.path("out.csv.part")) == 6
        });
        signal("-INT", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{way:?}");
        assert_eq!(bench.rows("out.csv").1.len(), 5);
        let summary = bench.json("summary.json");
        assert_eq!(summary["stop_reason"], "interrupted", "{way:?}");
    }
}

/// A study without a supervisor goes on with its other runs, or ends soon after Ctrl-C without a row of
/// the run that it interrupted.
#[test]
fn r54_a_step_of_a_study_that_stays_pending_is_ended() {
    const COMMAND: &str = "study study.toml --no-supervisor --worker-threads 1 --timeout";
    let bench = Bench::new();
    endless_steps(&bench);
    let faults = "[\"none\", \"pending\"]";
    let study =
        format!("system = \"pending.toml\"\nvary = [{{ grid = {{ \"bad.fault\" = {faults} }} }}]");
    bench.write("study.toml", &study);
    let outcome = bench.run(COMMAND.split(' ').chain(["3"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let table = bench.read("study.csv");
    let rows: Vec<&str> = table.lines().skip(1).collect();
    assert!(rows[0].contains(",none,stop-time,"), "{table}");
    assert!(rows[1].contains(",pending,crashed,"), "{table}");
    assert!(
        rows[1].contains("no return within 3 s from fmi2DoStep"),
        "{table}"
    );

    std::fs::remove_file(bench.path("study.csv.journal")).unwrap();
    let mut child = bench.start(COMMAND.split(' ').chain(["0"]));
    let journal = bench.path("study.csv.journal");
    wait_until("the first run has ended", || lines(&journal) == 3);
    signal("-INT", child.id());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(lines(&journal), 3, "{}", bench.read("study.csv.journal"));
}

#[test]
fn r54_a_pending_that_was_not_declared_is_an_error() {
    for way in [&[][..], &["--no-supervisor"], &["--isolate"]] {
        let bench = Bench::new();
        let outcome = run(&bench, "pending", "do_step", way);
        assert_eq!(outcome.code, Some(1), "{way:?} {}", outcome.stderr);
        let expected = "its description does not declare canRunAsynchronuously";
        assert!(
            outcome.stderr.contains(expected),
            "{way:?} {}",
            outcome.stderr
        );
    }
}

fn pipe(path: &Path) {
    let made = Command::new("mkfifo").arg(path).status();
    assert!(made.unwrap().success());
}

#[test]
fn r55_a_run_that_waits_for_a_pipe_is_ended() {
    for command in [
        "run pipe.toml",
        "run system.toml -o pipe.csv",
        "simulate fmus/Faulty.fmu --step-size 0.1 -e 1 --input-file pipe.csv",
    ] {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        pipe(&bench.path("pipe.toml"));
        pipe(&bench.path("pipe.csv"));
        let mut child = bench.start(command.split(' '));
        wait_until("it has a worker", || worker_of(child.id()).is_some());
        signal("-TERM", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{command}");
    }
}

/// The program installs its handlers after it has started a worker: a signal that comes in between
/// waits for them. Most of these come in between.
#[test]
fn r77_a_signal_is_heard_as_soon_as_there_is_a_worker() {
    const SCRIPT: &str = r#"
        "$0" "$@" & run=$!
        worker=
        until [ "$worker" ]; do read -r worker < /proc/$run/task/$run/children; done 2> /dev/null
        kill -TERM $run
        wait $run"#;
    let bench = Bench::new();
    let system = FAULTY.replace("stop_time = 1.0", "stop_time = 1e6");
    bench.write(
        "system.toml",
        &system.replace("fault_time = 0.5", "fault = \"sleep\""),
    );
    bench.write("study.toml", "system = \"system.toml\"\n");
    for command in ["run system.toml -o out.csv", "study study.toml"] {
        for _ in 0..5 {
            let output = Command::new("sh")
                .args(["-c", SCRIPT, env!("CARGO_BIN_EXE_gyrator")])
                .args(command.split(' '))
                .current_dir(bench.path(""))
                .output()
                .unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(130), "{command} {stderr}");
            assert!(!bench.path("out.csv.part").exists());
        }
    }
}

/// As systemd, Slurm and Kubernetes do it.
#[test]
fn r56_a_signal_to_all_processes_of_a_run() {
    for way in [None, Some("--isolate")] {
        let bench = Bench::new();
        bench.write("system.toml", FAULTY);
        let command = "run system.toml --start-value bad.fault=sleep --stop-time 1e6 -o out.csv";
        let mut child = bench.start(command.split(' ').chain(way));
        wait_until("rows are on disk", || {
            lines(&bench.path("out.csv.part")) > 1
        });
        // The parent last of all, so that nothing protects the others.
        for process in processes_in(&bench.path("")) {
            let number: u32 = process
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .parse()
                .unwrap();
            if number != child.id() {
                signal("-TERM", number);
            }
        }
        let before = lines(&bench.path("out.csv.part"));
        wait_until("it goes on", || lines(&bench.path("out.csv.part")) > before);
        signal("-TERM", child.id());
        assert_eq!(child.wait().unwrap().code(), Some(130), "{way:?}");
        let (header, rows) = bench.rows("out.csv");
        assert!(rows.len() > 1 && rows.iter().all(|row| row.len() == header.len()));
    }
}

#[test]
fn r57_processes_that_an_fmu_has_started_end_with_the_run() {
    for way in [&[][..], &["--isolate"], &["--no-supervisor"]] {
        let bench = Bench::new();
        let outcome = run(&bench, "daemon", "do_step", way);
        assert_eq!(outcome.code, Some(0), "{way:?} {}", outcome.stderr);
        let left = processes_in(&bench.path(""));
        assert!(left.is_empty(), "{way:?} {left:?}");
    }
}

#[test]
fn r57_a_crash_of_a_copy_is_not_the_crash_of_the_process() {
    let bench = Bench::new();
    let outcome = run(&bench, "fork_and_abort", "do_step", &[]);
    let expected = "error: bad: SIGABRT (abort) in fmi2DoStep at t = 0.4 s (step 4)\n";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}

#[test]
fn r58_a_killed_worker_leaves_no_directory() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("tmp")).unwrap();
    bench.write("system.toml", FAULTY);
    let command =
        "run system.toml --start-value bad.fault=sleep --stop-time 1e6 --isolate -o out.csv";
    let child: Child = bench
        .command(command.split(' '))
        .env("TMPDIR", bench.path("tmp"))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until("rows are on disk", || {
        lines(&bench.path("out.csv.part")) > 1
    });
    signal("-KILL", worker_of(child.id()).unwrap());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(5));
    let left = std::fs::read_dir(bench.path("tmp")).unwrap().count();
    assert_eq!(left, 0, "{}", String::from_utf8_lossy(&output.stderr));
}

/// Exit code and messages of the program with these arguments in an address space of so many MiB.
fn within(bench: &Bench, mib: u64, arguments: &str) -> (Option<i32>, String) {
    let script = format!("ulimit -v {}; \"$0\" {arguments}", mib << 10);
    let output = Command::new("sh")
        .args(["-c", &script, env!("CARGO_BIN_EXE_gyrator")])
        .current_dir(bench.path(""))
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.code(), stderr)
}

/// Libraries that have no memory end in a panic, which is reported as an error of the program elsewhere.
#[test]
fn r79_an_address_space_that_is_used_up_is_no_error_of_the_program() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let mut refused = 0;
    for mib in (64..400).step_by(16) {
        for way in ["", "--no-supervisor", "--isolate"] {
            let (code, stderr) = within(&bench, mib, &format!("run system.toml -q {way}"));
            assert_ne!(code, Some(101), "{mib} {way}: {stderr}");
            refused += u32::from(code != Some(0));
        }
    }
    assert!(refused > 0, "no limit was met");
}

/// A table that does not fit into memory is refused before its cells are read, which would abort the process.
#[test]
fn r79_a_table_that_the_address_space_does_not_hold_is_an_error() {
    let bench = Bench::new();
    let rows = (0..500_000).map(|row| format!("{row},{row}.5,1,0\n"));
    let table = "time,real_in,integer_in,boolean_in\n".to_owned() + &rows.collect::<String>();
    bench.write("in.csv", &table);
    let simulate = "simulate fmus/AllTypes.fmu -e 1 --step-size 0.5 --input-file in.csv -q";
    let mut refused = 0;
    for mib in [112, 128, 144, 160, 224, 4096] {
        for way in ["", "--no-supervisor", "--isolate"] {
            let (code, stderr) = within(&bench, mib, &format!("{simulate} {way}"));
            assert!(code.is_some_and(|code| code < 100), "{mib} {way}: {stderr}");
            assert_eq!(code == Some(0), stderr.is_empty(), "{mib} {way}: {stderr}");
            refused += u32::from(stderr.contains("there is no memory for its rows"));
        }
    }
    assert!(refused > 0, "no limit was met");
}

/// A copy of the process, in a session of its own, holds what the process has unpacked.
#[test]
fn r58_a_copy_that_outlives_a_crash_leaves_no_directory() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("tmp")).unwrap();
    let fmu = crate::validation::build(&bench, 67);
    let two = format!(
        "[experiment]\nstop_time = 1.0\nstep_size = 0.125\n[components]\na = {{ fmu = \"{fmu}\" }}\nb = {{ fmu = \"{fmu}\" }}\n"
    );
    bench.write("system.toml", &two);
    for way in [&[][..], &["--isolate"], &["--no-supervisor", "--isolate"]] {
        let output = bench
            .command(["run", "system.toml"].iter().chain(way).copied())
            .env("TMPDIR", bench.path("tmp"))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{way:?}: {stderr}");
        let left = std::fs::read_dir(bench.path("tmp")).unwrap().count();
        assert_eq!(left, 0, "{way:?}: {stderr}");
        assert!(processes_in(&bench.path("")).is_empty(), "{way:?}");
    }
}

/// With time that grew with the square of their number, this would take minutes.
#[test]
fn r61_outputs_share_the_names_of_their_inputs() {
    use std::io::Write as _;
    const OUTPUTS: usize = 50_000;
    let bench = Bench::new();
    let mut text = String::from(
        "<fmiModelDescription fmiVersion=\"2.0\" modelName=\"m\" guid=\"g\">\
         <CoSimulation modelIdentifier=\"m\"/><ModelVariables>\
         <ScalarVariable name=\"u\" valueReference=\"0\" causality=\"input\"><Real start=\"0\"/>\
         </ScalarVariable>",
    );
    for output in 1..=OUTPUTS {
        text.push_str(&format!(
            "<ScalarVariable name=\"y{output}\" valueReference=\"{output}\" causality=\"output\">\
             <Real/></ScalarVariable>"
        ));
    }
    text.push_str("</ModelVariables><ModelStructure><Outputs>");
    for output in 1..=OUTPUTS {
        text.push_str(&format!("<Unknown index=\"{}\"/>", output + 1));
    }
    text.push_str("</Outputs></ModelStructure></fmiModelDescription>");
    let mut archive = zip::ZipWriter::new(std::fs::File::create(bench.path("wide.fmu")).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file("modelDescription.xml", options).unwrap();
    archive.write_all(text.as_bytes()).unwrap();
    archive.finish().unwrap();
    let outcome = bench.run(["inspect", "--json", "wide.fmu"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let facts: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let variables = facts["variables"].as_array().unwrap();
    assert_eq!(variables.len(), OUTPUTS + 1);
    let last = &variables[OUTPUTS];
    assert_eq!(last["direct_feedthrough"], serde_json::json!(["u"]));
}

/// The parent has the file still: the message, the summary and the name agree.
#[test]
fn r62_silenced_output_is_reported() {
    for output in ["out.csv", "out.parquet"] {
        let bench = Bench::new();
        let files = ["-o", output, "--summary", "summary.json"];
        let outcome = run(&bench, "close_all", "do_step", &files);
        assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
        let expected = format!(
            "error: the result file {output} was closed by an FMU\n11 rows kept in {output}\n"
        );
        assert!(outcome.stderr.ends_with(&expected), "{}", outcome.stderr);
        let table = gyrator_record::read_table(&bench.path(output)).unwrap();
        assert_eq!(table.time.len(), 11);
        assert!(!bench.path(&format!("{output}.part")).exists());
        let summary = bench.json("summary.json");
        assert_eq!(summary["output"]["rows"], 11);
        assert_eq!(summary["stop_reason"], "failed");
    }
}

/// The unruly slave leaves in its fifth step by `exit`, `_exit`, `_Exit` or `quick_exit`, each with 0.
#[test]
fn r62_exit_without_a_supervisor_is_no_success() {
    for (breaks, function) in [
        (70, "exit"),
        (71, "_exit"),
        (72, "_Exit"),
        (73, "quick_exit"),
    ] {
        let bench = Bench::new();
        let fmu = crate::validation::build(&bench, breaks);
        bench.write("system.toml", &system_of_a_pump(&fmu));
        let simulate = format!("simulate {fmu}");
        for (command, output) in [("run system.toml", "a.csv"), (&simulate, "b.parquet")] {
            let options = ["--no-supervisor", "-o", output];
            let outcome = bench.run(command.split(' ').chain(options));
            assert_eq!(outcome.code, Some(5), "{function}: {}", outcome.stderr);
            for part in [
                &format!("error: an FMU called {function}; "),
                "fmi2DoStep of ",
                &format!("\n5 rows kept in {output}\n"),
            ] {
                assert!(outcome.stderr.contains(part), "{part} {}", outcome.stderr);
            }
            let table = gyrator_record::read_table(&bench.path(output)).unwrap();
            assert_eq!(table.time, [0.0, 0.125, 0.25, 0.375, 0.5]);
        }
    }
}

/// Those that are in no file are nowhere to be named.
#[test]
fn r62_exit_without_a_supervisor_keeps_rows_on_the_standard_output() {
    let bench = Bench::new();
    let fmu = crate::validation::build(&bench, 71);
    bench.write("system.toml", &system_of_a_pump(&fmu));
    let outcome = bench.run("run system.toml --no-supervisor -o -".split(' '));
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    assert_eq!(outcome.stdout.lines().count(), 6, "{}", outcome.stdout);
    assert!(!outcome.stderr.contains("kept"), "{}", outcome.stderr);
}

/// A process that an FMU has made may end as it likes.
#[test]
fn r62_a_process_of_an_fmu_may_exit() {
    let bench = Bench::new();
    let fmu = crate::validation::build(&bench, 74);
    bench.write("system.toml", &system_of_a_pump(&fmu));
    for way in [None, Some("--no-supervisor"), Some("--isolate")] {
        let outcome = bench.run("run system.toml -o out.csv".split(' ').chain(way));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        assert!(!outcome.stderr.contains("exit"), "{}", outcome.stderr);
        assert_eq!(bench.rows("out.csv").1.len(), 9);
    }
}

/// Nine rows of the slave of `unruly.c`.
fn system_of_a_pump(fmu: &str) -> String {
    format!(
        "[experiment]\nstop_time = 1.0\nstep_size = 0.125\n[components]\npump = {{ fmu = \"{fmu}\" }}\n"
    )
}

#[test]
fn r62_a_crash_without_a_supervisor_names_the_fmu() {
    let bench = Bench::new();
    let fmu = crate::validation::build(&bench, 51);
    bench.write("system.toml", &system_of_a_pump(&fmu));
    for command in ["run system.toml", "simulate unruly51.fmu"] {
        let outcome = bench.run(command.split(' ').chain(["--no-supervisor"]));
        assert_eq!(outcome.code, None, "{command}: {}", outcome.stderr);
        let line = "error: SIGSEGV; without a supervisor nothing more is known than the calls in progress: fmi2DoStep of ";
        assert!(
            outcome.stderr.contains(line),
            "{command}: {}",
            outcome.stderr
        );
    }
}

#[test]
fn r62_a_thread_without_a_stack_for_handlers() {
    let bench = Bench::new();
    let outcome = run(&bench, "thread_stack_overflow", "do_step", &[]);
    assert_eq!(outcome.code, Some(5), "{}", outcome.stderr);
    for part in [
        "bad: SIGSEGV in fmi2DoStep",
        "the stack of a thread was full",
    ] {
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

/// 3, and 4 for an FMU.
#[test]
fn r62_a_file_that_is_not_found_has_one_exit_code() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    bench.write("no-fmu.toml", &FAULTY.replace("Faulty.fmu", "no.fmu"));
    let simulate = "simulate fmus/Faulty.fmu --step-size 0.1 -e 1";
    for (command, code) in [
        ("run no.toml".to_owned(), 3),
        ("run no-fmu.toml".to_owned(), 4),
        ("run system.toml --feed-forward no.csv".to_owned(), 3),
        ("simulate no.fmu".to_owned(), 4),
        (format!("{simulate} --input-file no.csv"), 3),
        ("learn no.toml".to_owned(), 3),
        ("study no.toml".to_owned(), 3),
        ("study merge no.csv -o out.csv".to_owned(), 3),
        ("compare no.csv no.csv".to_owned(), 3),
        ("inspect no.toml".to_owned(), 3),
        ("inspect no.fmu".to_owned(), 4),
        ("inspect --deps no.fmu".to_owned(), 4),
        ("validate no.fmu".to_owned(), 4),
    ] {
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(code), "{command}: {}", outcome.stderr);
    }
}

#[test]
fn r62_omissions_of_a_run_are_reported() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let outcome = bench.run(["run", "system.toml", "-e", "0.95"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for part in [
        "results: not recorded; -o FILE records them",
        "note: the last step is shortened to 0.05 s, to end at the stop time",
    ] {
        assert!(outcome.stdout.contains(part), "{}", outcome.stdout);
    }
    let outcome = bench.run(["run", "system.toml", "-o", "out.csv"]);
    for part in ["not recorded", "shortened"] {
        assert!(!outcome.stdout.contains(part), "{}", outcome.stdout);
    }
}

/// In quoted lines of the system file, names of components and variables, and messages of FMUs.
#[test]
fn r66_no_control_character_is_shown() {
    let harmful = |c: char| c.is_control() && c != '\n' || ('\u{202a}'..='\u{202e}').contains(&c);
    let bench = Bench::new();
    let raw = "\x1b[31m\u{7f}\0\u{9b}\u{202e}";
    let escaped = "\\u001b[31m\\u007f\\u0000\\u009b\\u202e";
    for (text, expected) in [
        (
            FAULTY.replace("stop_time = 1.0", &format!("stop_time = \"{raw}\"")),
            "stop_time",
        ),
        (
            FAULTY.replace("stop_time = 1.0", "stop_time = 1.0 # \u{202e}\nstep = 1"),
            "step",
        ),
        (
            FAULTY.replace("components.bad", &format!("components.\"{escaped}\"")),
            "bad",
        ),
        (
            FAULTY.replace("\"bad.u\"", &format!("\"bad.{escaped}\"")),
            "bad.",
        ),
        (
            FAULTY.replace("fmus/Faulty.fmu", &format!("{escaped}.fmu")),
            ".fmu",
        ),
    ] {
        bench.write("system.toml", &text);
        for more in [None, Some("--no-supervisor")] {
            let outcome = bench.run(["run", "system.toml"].into_iter().chain(more));
            assert_ne!(outcome.code, Some(0), "{text}");
            assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
            assert!(!outcome.stderr.contains(harmful), "{:?}", outcome.stderr);
        }
    }
}

/// Neither the process of the run nor an FMU is reported to have ended for it.
#[test]
fn r67_a_limit_on_open_files_is_not_blamed_on_an_fmu() {
    let bench = Bench::new();
    bench.write("system.toml", FAULTY);
    let (program, summary) = (env!("CARGO_BIN_EXE_gyrator"), bench.path("summary.json"));
    for (limit, way) in (6..=18).flat_map(|limit| [(limit, ""), (limit, "--isolate")]) {
        let _ = std::fs::remove_file(&summary);
        let files = "-o out.csv --summary summary.json";
        let command = format!("ulimit -n {limit}; exec {program} run system.toml {files} {way}");
        let output = Command::new("sh")
            .args(["-c", &command])
            .current_dir(bench.path(""))
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        if output.status.code() != Some(0) {
            assert!(
                matches!(output.status.code(), Some(1 | 3 | 4)),
                "{limit} {way} {stderr}"
            );
            let has_advice = stderr.contains("ulimit -n");
            assert!(has_advice, "{limit} {way} {stderr}");
        }
        let is_told = summary.exists() || stderr.contains("summary");
        assert!(is_told, "{limit} {way} {stderr}");
        assert!(!stderr.contains("the FMU called"), "{limit} {way} {stderr}");
    }
}

/// The macro-step of the system file is not the size of variable steps.
#[test]
fn variable_steps_have_a_mean() {
    let bench = Bench::new();
    let text = OSCILLATORS.replace("[experiment]", "[experiment]\nstep_control = \"ecco\"");
    bench.write("system.toml", &text);
    let outcome = bench.run(["run", "system.toml", "--summary", "summary.json"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let line = outcome.stdout.lines().next().unwrap();
    let (before, after) = line.split_once(" steps of ").unwrap();
    let steps: f64 = before.rsplit(' ').next().unwrap().parse().unwrap();
    let mean: f64 = after.split(' ').next().unwrap().parse().unwrap();
    assert!(after.ends_with(" s on average (ecco)"), "{line}");
    // The table shows six digits.
    assert!((mean * steps / 10.0 - 1.0).abs() < 1e-5, "{line}");
    assert!(outcome.stdout.contains("varies"), "{}", outcome.stdout);
}
