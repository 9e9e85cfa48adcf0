//! Result files and summaries.

use gyrator_record::ResultFile;

use crate::bench::{Bench, OSCILLATORS};

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench
}

#[test]
fn columns_rows_and_digits() {
    let bench = bench();
    let outcome = bench.run(["run", "system.toml", "-o", "out.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (header, rows) = bench.rows("out.csv");
    assert_eq!(
        header.join(" "),
        "time left.f left.x left.v right.x right.v bond.coupling.residual_power \
         bond.coupling.residual_energy bond.coupling.transferred_energy bond.coupling.correction_power \
         bond.coupling.stale_energy bond.coupling.net_energy_error bond.coupling.alarm"
    );
    assert_eq!(rows.len(), 10_001);
    assert_eq!(rows[0][..6], [0.0, 0.0, 0.0, 100.0, 0.0, -100.0]);
    // Times are computed, not summed, and written with all digits.
    for (index, row) in rows.iter().enumerate() {
        assert_eq!(row[0], index as f64 * 1e-3);
    }
}

#[test]
fn a_limit_of_residual_energy_ends_the_run() {
    let bench = bench();
    let outcome = bench.run([
        "run",
        "system.toml",
        "--max-residual-energy",
        "100",
        "-o",
        "out.csv",
    ]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("residual energy of bond coupling"),
        "{}",
        outcome.stderr
    );
    let (_, rows) = bench.rows("out.csv");
    let energies: Vec<f64> = rows.iter().map(|row| row[7]).collect();
    let (last, before) = energies.split_last().unwrap();
    assert!(*last > 100.0 && before.iter().all(|energy| *energy <= 100.0));
}

#[test]
fn summary_for_programs() {
    let bench = bench();
    bench.run([
        "run",
        "system.toml",
        "-o",
        "out.csv",
        "--summary",
        "summary.json",
    ]);
    let summary = bench.json("summary.json");
    assert_eq!(summary["stop_reason"], "stop-time");
    assert_eq!(summary["stop_time"], 10.0);
    assert_eq!(summary["steps"], 10_000);
    assert_eq!(summary["components"][0]["exchange"], "stale");
    assert_eq!(summary["components"][1]["exchange"], "none");
    assert_eq!(summary["output"]["rows"], 10_001);
    assert_eq!(summary["counters"]["unit_steps"], 20_000);
    let bond = &summary["bonds"][0];
    assert_eq!(bond["name"], "coupling");
    let residual = bond["residual_energy"].as_f64().unwrap();
    for key in [
        "transferred_energy",
        "residual_energy_abs",
        "max_residual_power",
        "correction_energy",
    ] {
        assert!(bond[key].is_f64(), "{key}");
    }
    let (header, rows) = bench.rows("out.csv");
    let column = header
        .iter()
        .position(|name| name == "bond.coupling.residual_energy")
        .unwrap();
    assert_eq!(rows[10_000][column], residual);
}

#[test]
fn exchange_extrapolation_and_correction_from_the_command_line() {
    let bench = bench();
    let residual = |arguments: &[&str]| {
        let always = ["run", "system.toml", "--summary", "summary.json"];
        assert_eq!(
            bench.run(always.iter().chain(arguments).copied()).code,
            Some(0)
        );
        let summary = bench.json("summary.json");
        (
            summary["components"][0]["exchange"]
                .as_str()
                .unwrap()
                .to_owned(),
            summary["bonds"][0]["residual_energy"].as_f64().unwrap(),
            summary["bonds"][0]["correction_energy"].as_f64().unwrap(),
        )
    };
    let (mode, stale, correction) = residual(&[]);
    assert_eq!((mode.as_str(), correction), ("stale", 0.0));
    let (mode, fresh, _) = residual(&["--exchange", "fresh"]);
    assert_eq!(mode, "fresh");
    assert!(fresh.abs() < stale.abs(), "{fresh} {stale}");
    let (_, _, correction) = residual(&["--correction", "residual-power"]);
    assert!(correction < 0.0, "{correction}");
    assert_eq!(residual(&["--extrapolation", "zoh"]).1, stale);
    let linear = residual(&["--extrapolation", "linear"]);
    assert_eq!(residual(&["--extrapolation", "foh"]), linear);
}

#[test]
fn fewer_rows_and_columns() {
    let bench = bench();
    let arguments = ["-o", "out.csv", "--output-interval", "0.003", "-d", "0.01"];
    let variables = [
        "--output-variable",
        "left.?",
        "--output-variable",
        "bond.*.residual_*",
    ];
    let outcome = bench.run(
        ["run", "system.toml"]
            .into_iter()
            .chain(arguments)
            .chain(variables),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (header, rows) = bench.rows("out.csv");
    let expected =
        "time left.f left.x left.v bond.coupling.residual_power bond.coupling.residual_energy";
    assert_eq!(header.join(" "), expected);
    // Every third communication point, and the last one.
    let times: Vec<f64> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(times, [0.0, 3.0, 6.0, 9.0, 10.0].map(|step| step * 1e-3));
}

#[test]
fn results_on_the_standard_output() {
    let bench = bench();
    let outcome = bench.run(["run", "system.toml", "-d", "0.002", "-o", "-"]);
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.stdout.lines().count(), 4);
    assert!(outcome.stdout.starts_with("time,left.f,"));
    assert!(outcome.stderr.contains("reached the stop time"));
}

#[test]
fn threads_do_not_change_a_result() {
    let bench = bench();
    bench.run(["run", "system.toml", "-d", "0.1", "-o", "one.csv"]);
    bench.run([
        "run",
        "system.toml",
        "-d",
        "0.1",
        "-o",
        "eight.csv",
        "--worker-threads",
        "8",
    ]);
    assert_eq!(bench.read("one.csv"), bench.read("eight.csv"));
}

#[test]
fn progress_for_programs() {
    let bench = Bench::new();
    bench.write("system.toml", crate::faults::FAULTY);
    let slow = [
        "--start-value",
        "bad.fault=sleep",
        "--start-value",
        "bad.sleep_time=0.4",
    ];
    let outcome = bench.run(
        ["run", "system.toml", "--progress", "json"]
            .into_iter()
            .chain(slow),
    );
    assert_eq!(outcome.code, Some(0));
    let lines: Vec<serde_json::Value> = outcome
        .stderr
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert!(!lines.is_empty());
    for line in &lines {
        assert_eq!(line["stop_time"], 1.0);
        assert!(
            (0.0..=1.0).contains(&line["time"].as_f64().unwrap()),
            "{line}"
        );
    }
}

/// Case 1 of Rodríguez et al. 2022, table 1, ten times as long: growth of 10 % a second, too slow for an alarm, makes
/// over 100 MJ of 10 kJ.
#[test]
fn slow_growth_ends_with_exit_code_6() {
    let bench = bench();
    let options = ["--stop-time=100", "--summary=summary.json"];
    let outcome = bench.run(["run", "system.toml"].into_iter().chain(options));
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let summary = bench.json("summary.json");
    assert_eq!(summary["verdict"], "diverging");
    let bond = &summary["bonds"][0];
    assert!(bond["residual_energy_integrated"].as_f64().unwrap() > 1e8);
    assert_eq!(bond["alarms"].as_array().unwrap().len(), 0);
}

/// Case 1 of table 1 with macro-steps so long that the run has few of them, each of which makes the signals greater by
/// powers of ten. Neither the run alone nor its error bars, which have no order there, end with exit code 0.
#[test]
fn explosions_in_few_steps_end_with_exit_code_6() {
    let bench = bench();
    for (step, steps) in [("2", 5), ("1", 10), ("0.5", 20), ("0.2", 50)] {
        for more in [&[][..], &["--error-bars"]] {
            let always = [
                "run",
                "system.toml",
                "--summary=summary.json",
                "--step-size",
            ];
            let outcome = bench.run(always.iter().chain(&[step]).chain(more).copied());
            assert_eq!(outcome.code, Some(6), "{step} {more:?}: {}", outcome.stdout);
            let summary = bench.json("summary.json");
            assert_eq!(summary["verdict"], "diverging", "{step} {more:?}");
            assert_eq!(summary["steps"], steps);
        }
    }
}

/// Case 3 of Rodríguez et al. 2022, table 1: the stale force makes 1.9 MJ of 10 kJ.
#[test]
fn a_coupling_that_diverges_ends_with_exit_code_6() {
    let bench = bench();
    let run = |more: &[&str]| {
        let always = [
            "run",
            "system.toml",
            "--start-value=left.k_c=1000",
            "--start-value=right.k=100",
            "--summary=summary.json",
        ];
        bench.run(always.iter().chain(more).copied())
    };
    let outcome = run(&[]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let advice = "error: the coupling of bond coupling diverges at the macro-step 0.001 s; at half of every step, too: \
                  `gyrator doctor`";
    assert!(outcome.stderr.contains(advice), "{}", outcome.stderr);
    let summary = bench.json("summary.json");
    assert_eq!(summary["stop_reason"], "stop-time");
    assert_eq!(summary["verdict"], "diverging");
    assert_eq!(summary["bonds"][0]["verdict"], "diverging");
    let outcome = run(&["--accept-divergence"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let text = "coupling error: diverging";
    assert!(outcome.stdout.contains(text), "{}", outcome.stdout);
    let outcome = run(&["--exchange=auto"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let summary = bench.json("summary.json");
    assert!(summary["advice"].is_null());
    // The force gives what the motion receives, but for the residual energy.
    let energy = |component: usize, key: &str| summary["components"][component][key].as_f64();
    let (given, received) = (energy(0, "given_energy"), energy(1, "received_energy"));
    let residual = summary["bonds"][0]["residual_energy_integrated"].as_f64();
    let balance = received.unwrap() - given.unwrap() - residual.unwrap();
    assert!(balance.abs() < 1e-9 * given.unwrap().abs());
    let connection = &summary["connections"][2];
    assert_eq!(connection["from"], "left.f");
    assert_eq!(connection["to"], "right.f");
    assert!(connection["defect_rms"].as_f64().unwrap() > 0.0);
}

/// The text that `--summary` writes is in the metadata of a Parquet file, however a run ends.
#[test]
fn parquet_has_the_summary() {
    let bench = bench();
    let faulty = crate::faults::FAULTY;
    bench.write("faulty.toml", faulty);
    let fault = [
        "--start-value=bad.fault=error",
        "--start-value=bad.function=do_step",
    ];
    let limit = ["--max-residual-energy", "100"];
    for (system, more, code, reason) in [
        ("system.toml", &["--real-time=1e6"][..], 0, "stop-time"),
        ("system.toml", &["--error-bars"], 0, "stop-time"),
        ("system.toml", &limit, 6, "limit"),
        ("faulty.toml", &fault, 1, "failed"),
    ] {
        let files = ["-o", "out.parquet", "--summary", "summary.json"];
        let outcome = bench.run(["run", system].iter().chain(&files).chain(more).copied());
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert_eq!(bench.json("summary.json")["stop_reason"], reason);
        let result = ResultFile::open(&bench.path("out.parquet")).unwrap();
        let summary = bench.read("summary.json");
        assert_eq!(
            result.metadata("gyrator.summary"),
            Some(summary.as_str()),
            "{reason}"
        );
    }
}

/// The hash of the empty message is the first of NIST's test vectors for SHA-256 (SHA256ShortMsg.rsp).
#[test]
fn a_summary_says_of_which_files_a_run_was_made() {
    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let bench = bench();
    bench.write("included.toml", "");
    let included = format!("include = [\"included.toml\"]\n{OSCILLATORS}");
    bench.write("system.toml", &included);
    let options = "run system.toml --summary summary.json --extrapolation linear --stop-time 0.5";
    let outcome = bench.run(options.split(' '));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let found = &bench.json("summary.json")["provenance"];
    let arguments = found["arguments"].as_array().unwrap().iter();
    let arguments: Vec<&str> = arguments.map(|text| text.as_str().unwrap()).collect();
    assert_eq!(arguments.join(" "), options);
    let hash = |name: &str| gyrator_worker::replay::fingerprint(&bench.path(name)).unwrap();
    assert_eq!(found["system"]["file"], "system.toml");
    assert_eq!(
        found["system"]["sha256"].as_str(),
        hash("system.toml").as_deref()
    );
    for (place, component, fmu) in [(0, "left", "Force"), (1, "right", "Motion")] {
        let (name, found) = (format!("fmus/Oscillator{fmu}.fmu"), &found["fmus"][place]);
        assert_eq!(
            (&found["component"], &found["file"]),
            (&component.into(), &name.clone().into())
        );
        assert_eq!(found["sha256"].as_str(), hash(&name).as_deref());
    }
    assert_eq!(found["files"][0]["file"], "included.toml");
    assert_eq!(found["files"][0]["sha256"], EMPTY);
    let settings = &found["settings"];
    assert_eq!(settings["stop_time"], 0.5);
    assert_eq!(settings["components"][1]["extrapolation"]["name"], "linear");
    assert_eq!(settings["bonds"][0]["correction"]["name"], "off");
}
