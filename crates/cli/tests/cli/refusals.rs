//! Commands that make no sense are refused, and leave what is there alone.

use crate::bench::{Bench, OSCILLATORS};

#[test]
fn a_stop_before_the_start_is_refused() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write(
        "still.toml",
        &OSCILLATORS.replace("stop_time = 10.0", "stop_time = 0"),
    );
    let of_options = "the stop time 4 s is not after the start time 5 s";
    for (command, code, text) in [
        ("run system.toml -b 5 -e 4", 3, of_options),
        ("pack system.toml -b 5 -e 4 -o p.fmu", 3, of_options),
        ("run still.toml", 3, "set a later `stop_time`"),
        ("learn still.toml -o f.csv", 3, "set a later `stop_time`"),
    ] {
        let outcome = bench.run(command.split(' '));
        let texts = format!("{command}: {}{}", outcome.stdout, outcome.stderr);
        assert_eq!(outcome.code, Some(code), "{texts}");
        assert!(outcome.stderr.contains(text), "{texts}");
    }
}

#[test]
fn an_option_repairs_a_value_of_the_file() {
    let bench = Bench::new();
    let wrong = OSCILLATORS.replace("step_size = 1e-3", "step_size = -1");
    let wrong = wrong.replace("exchange = \"stale\"", "exchange = \"stail\"");
    bench.write("system.toml", &wrong);
    let repair = ["--step-size", "0.001", "-e", "0.01", "--exchange", "stale"];
    let outcome = bench.run(["run", "system.toml"].into_iter().chain(repair));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let outcome = bench.run(["run", "system.toml", "--step-size", "0.001"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let problem = |text: &str| outcome.stderr.contains(text);
    assert!(
        problem("stail") && !problem("must be positive"),
        "{}",
        outcome.stderr
    );
}

#[test]
fn a_variable_that_is_not_there_leaves_an_earlier_result() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("out.csv", "time,x\n0,1\n");
    for way in [&[][..], &["--no-supervisor"]] {
        let command = [
            "run",
            "system.toml",
            "-o",
            "out.csv",
            "--output-variable",
            "nosuch",
        ];
        let outcome = bench.run(command.into_iter().chain(way.iter().copied()));
        assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
        assert_eq!(bench.read("out.csv"), "time,x\n0,1\n");
    }
}

#[test]
fn outputs_without_a_place_are_wrong_use() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("out.csv", "time,x\n0,1\n");
    std::fs::create_dir(bench.path("folder")).unwrap();
    let fmu = "fmus/OscillatorMotion.fmu";
    for command in [
        "run system.toml -o no/out.csv",
        "run system.toml -o folder",
        "simulate fmus/OscillatorMotion.fmu -e 1 --step-size 0.1 -o no/out.csv",
        "export system.toml -o no/out.ssp",
        "pack system.toml -o no/out.fmu",
        "plot out.csv -o no/out.svg",
        "convert out.csv -o no/out.parquet",
        "new fmus/OscillatorMotion.fmu -o no/system.toml",
        "new-fmu no/pump",
    ] {
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(2), "{command}: {}", outcome.stderr);
        for leak in ["os error", ".tmp"] {
            assert!(
                !outcome.stderr.contains(leak),
                "{command}: {}",
                outcome.stderr
            );
        }
    }
    bench.write("taken.toml", "");
    let taken = bench.run(["new", fmu, "-o", "taken.toml"]);
    assert_eq!(taken.code, Some(2), "{}", taken.stderr);
    assert!(
        taken.stderr.contains("taken.toml exists already"),
        "{}",
        taken.stderr
    );
}

#[test]
fn archives_of_other_programs_are_not_replaced() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("own.ssp", "not gyrator's");
    std::fs::copy(bench.path("fmus/Faulty.fmu"), bench.path("own.fmu")).unwrap();
    for command in [
        "export system.toml -o own.ssp",
        "pack system.toml -o own.fmu",
    ] {
        let outcome = bench.run(command.split(' '));
        assert_eq!(outcome.code, Some(2), "{command}: {}", outcome.stderr);
        assert!(
            outcome
                .stderr
                .contains("exists already, and gyrator has not made it"),
            "{}",
            outcome.stderr
        );
    }
    assert_eq!(bench.read("own.ssp"), "not gyrator's");
    for _ in 0..2 {
        let outcome = bench.run("export system.toml -o new.ssp".split(' '));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    }
}

#[test]
fn a_full_disk_is_told_once() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    let outcome = bench.run(["run", "system.toml", "-o", "/dev/full"]);
    assert_eq!(outcome.code, Some(1), "{}", outcome.stderr);
    assert_eq!(
        outcome.stderr.matches("rows").count(),
        1,
        "{}",
        outcome.stderr
    );
}

#[test]
fn an_fmu_that_was_cut_off_is_called_so() {
    let bench = Bench::new();
    let bytes = std::fs::read(bench.path("fmus/OscillatorMotion.fmu")).unwrap();
    std::fs::write(bench.path("short.fmu"), &bytes[..3000]).unwrap();
    let outcome = bench.run(["validate", "short.fmu"]);
    assert_eq!(outcome.code, Some(6), "{}", outcome.stderr);
    let words = "its end is missing; the file may be truncated";
    assert!(outcome.stdout.contains(words), "{}", outcome.stdout);
}

#[test]
fn a_registry_is_listed_alone() {
    let bench = Bench::new();
    let methods = bench.run(["list", "methods"]);
    assert_eq!(methods.code, Some(0), "{}", methods.stderr);
    assert!(
        methods.stdout.starts_with("methods ") && !methods.stdout.contains("extrapolations"),
        "{}",
        methods.stdout
    );
    let wrong = bench.run(["list", "method"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
    assert!(
        wrong.stderr.contains("did you mean `methods`?"),
        "{}",
        wrong.stderr
    );
}

#[test]
fn a_gap_in_measured_values_is_named() {
    let bench = Bench::new();
    bench.write(
        "system.toml",
        &OSCILLATORS.replace("stop_time = 10.0", "stop_time = 0.01"),
    );
    let fit = "system = \"system.toml\"\nmeasured = \"m.csv\"\nsignals = [\"left.x\"]\n\
               [parameters]\n\"left.m\" = { start = 1.2 }\n";
    bench.write("fit.toml", fit);
    bench.write("m.csv", "time,left.x\n0,1\n0.005,nan\n0.01,1\n");
    let gap = bench.run(["fit", "fit.toml"]);
    assert_eq!(gap.code, Some(3), "{}", gap.stderr);
    assert!(
        gap.stderr
            .contains("`left.x` has no finite value at t = 0.005 s"),
        "{}",
        gap.stderr
    );
    bench.write("m.csv", "time,left.x\n0,1\n0.005,1\n0.02,1\n");
    let late = bench.run(["fit", "fit.toml"]);
    assert_ne!(late.code, Some(0), "{}", late.stdout);
    assert!(
        late.stderr.contains("`left.x`") && late.stderr.contains("0.02 s"),
        "{}",
        late.stderr
    );
}
