//! `gyrator simulate`.

use crate::bench::Bench;

const FAULTLESS: [&str; 4] = ["simulate", "fmus/Faulty.fmu", "--start-value", "fault=none"];

#[test]
fn times_come_from_the_default_experiment() {
    let bench = Bench::new();
    let outcome = bench.run(["simulate", "fmus/OscillatorForce.fmu", "-o", "out.csv"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (header, rows) = bench.rows("out.csv");
    assert_eq!(header, ["time", "f", "x", "v"]);
    assert_eq!((rows.len(), rows[10_000][0]), (10_001, 10.0));
}

#[test]
fn an_fmu_that_recommends_no_times() {
    let bench = Bench::new();
    bench.alter_fmu("Faulty", "bare.fmu", |text| {
        let Some(start) = text.find("<DefaultExperiment") else {
            return text.to_owned();
        };
        let end = start + text[start..].find("/>").unwrap() + 2;
        format!("{}{}", &text[..start], &text[end..])
    });
    let outcome = bench.run(["simulate", "bare.fmu"]);
    assert_eq!(outcome.code, Some(2));
    insta::assert_snapshot!(outcome.stderr, @r"
    error: bare.fmu recommends no stop time and no step size
      help: pass --stop-time and --step-size
    ");
}

/// The tolerance that the FMU of a run with these options gets, s.
fn tolerance_given(bench: &Bench, command: &str, component: &str) -> Option<f64> {
    let record = ["-e", "0.01", "--record-calls", "calls"];
    let outcome = bench.run(command.split(' ').chain(record));
    assert_eq!(outcome.code, Some(0), "{command}: {}", outcome.stderr);
    let path = bench.path(&format!("calls/{component}.calls"));
    let mut recording = gyrator_worker::replay::Recording::open(&path).unwrap();
    while let Some((call, _)) = recording.next().unwrap() {
        if let gyrator_worker::replay::Call::SetupExperiment { tolerance, .. } = call {
            return tolerance;
        }
    }
    panic!("no fmi2SetupExperiment");
}

#[test]
fn the_tolerance_of_the_fmu_counts_unless_another_or_none_is_asked_for() {
    let bench = Bench::new();
    for (name, own) in [("own", "1e-5"), ("odd", "0"), ("bare", "")] {
        bench.alter_fmu(
            "OscillatorForce",
            &format!("{name}.fmu"),
            |text| match own {
                "" => text.to_owned(),
                own => text.replace(
                    "<DefaultExperiment",
                    &format!("<DefaultExperiment tolerance=\"{own}\""),
                ),
            },
        );
        let system =
            format!("[experiment]\nstep_size = 1e-3\n\n[components.c]\nfmu = \"{name}.fmu\"\n");
        bench.write(&format!("{name}.toml"), &system);
        for (given, text) in [("1e-8", "1e-8"), ("none", "\"none\"")] {
            let system = system.replace("step_size", &format!("tolerance = {text}\nstep_size"));
            bench.write(&format!("{name}-{given}.toml"), &system);
        }
    }
    for (name, own) in [("own", Some(1e-5)), ("odd", None), ("bare", None)] {
        for (given, expected) in [("", own), ("1e-8", Some(1e-8)), ("none", None)] {
            let option = match given {
                "" => String::new(),
                given => format!(" --tolerance {given}"),
            };
            let single = tolerance_given(&bench, &format!("simulate {name}.fmu{option}"), name);
            let coupled = tolerance_given(&bench, &format!("run {name}.toml{option}"), "c");
            assert_eq!([single, coupled], [expected; 2], "{name} {given}");
            if !given.is_empty() {
                let file = tolerance_given(&bench, &format!("run {name}-{given}.toml"), "c");
                assert_eq!(file, expected, "{name} {given}");
            }
        }
    }
}

#[test]
fn the_word_none_for_a_tolerance_survives_an_export_as_ssp() {
    let bench = Bench::new();
    let system = "[experiment]\nstep_size = 1e-3\nstop_time = 1\ntolerance = \"none\"\n\n[components.c]\nfmu = \"own.fmu\"\n";
    bench.write("system.toml", system);
    bench.alter_fmu("OscillatorForce", "own.fmu", |text| {
        text.replace(
            "<DefaultExperiment",
            "<DefaultExperiment tolerance=\"1e-5\"",
        )
    });
    let outcome = bench.run(["export", "system.toml", "-o", "system.ssp"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(tolerance_given(&bench, "run system.ssp", "c"), None);
}

#[test]
fn inputs_from_a_file() {
    let bench = Bench::new();
    bench.write("in.csv", "time,u\n0,0\n0.5,5\n0.5,7\n1,7\n");
    let options = [
        "--stop-time",
        "1",
        "--step-size",
        "0.25",
        "--input-file",
        "in.csv",
        "-o",
        "out.csv",
    ];
    let outcome = bench.run(FAULTLESS.into_iter().chain(options));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    // y repeats the input of the step that ends: the straight line, after the event where two rows
    // have the same time.
    let (_, rows) = bench.rows("out.csv");
    let outputs: Vec<f64> = rows.iter().map(|row| row[1]).collect();
    assert_eq!(outputs, [0.0, 0.0, 2.5, 7.0, 7.0]);
}

#[test]
fn inputs_of_all_types() {
    let bench = Bench::new();
    let input = "time,real_in,integer_in,boolean_in,string_in,colour_in\n0,0,1,0,\"a\",1\n1,1,2,1,\"b\",3\n";
    bench.write("in.csv", input);
    let options = [
        "--stop-time",
        "2",
        "--step-size",
        "0.5",
        "--input-file",
        "in.csv",
        "-o",
        "out.csv",
    ];
    let outputs = ["--output-variable", "*_out"];
    let all = ["simulate", "fmus/AllTypes.fmu"]
        .into_iter()
        .chain(options)
        .chain(outputs);
    let outcome = bench.run(all);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    insta::assert_snapshot!(bench.read("out.csv"));
}

#[test]
fn a_result_can_be_read_back_as_an_input() {
    let bench = Bench::new();
    bench.run([
        "simulate",
        "fmus/OscillatorForce.fmu",
        "-e",
        "0.1",
        "-o",
        "x.csv",
        "--output-variable",
        "x",
    ]);
    let renamed = bench.read("x.csv").replacen("time,x", "time,u", 1);
    bench.write("in.csv", &renamed);
    let options = ["-e", "0.1", "--input-file", "in.csv", "-o", "y.csv"];
    assert_eq!(
        bench.run(FAULTLESS.into_iter().chain(options)).code,
        Some(0)
    );
    let (_, x) = bench.rows("x.csv");
    let (_, y) = bench.rows("y.csv");
    for (earlier, later) in x.iter().zip(&y[1..]) {
        assert_eq!(earlier[1], later[1]);
    }
}

#[test]
fn input_files_that_do_not_fit() {
    let bench = Bench::new();
    let mut texts = String::new();
    for input in [
        "time,v\n0,0\n",
        "time,u\n0,\n",
        "time,u\n0,NaN\n",
        "time,u\n",
        "time,u\n1,0\n0,0\n",
    ] {
        bench.write("in.csv", input);
        let outcome = bench.run(FAULTLESS.into_iter().chain(["--input-file", "in.csv"]));
        assert_eq!(outcome.code, Some(3), "{input}");
        texts.push_str(&outcome.stderr);
    }
    insta::assert_snapshot!(texts);
}

#[test]
fn c63_r44_names_with_commas_quotes_and_brackets() {
    let bench = Bench::new();
    bench.alter_fmu("OscillatorMotion", "odd.fmu", |text| {
        text.replace("name=\"x\"", "name=\"a.'b, c'[1,2].&quot;ü&quot;\"")
            .replace("name=\"v\"", "name=\"der(x,2)\"")
    });
    let times = ["--stop-time", "0.1", "--step-size", "0.01"];
    let file = ["-o", "out.csv", "--output-variable", "a.*"];
    let outcome = bench.run(["simulate", "odd.fmu"].into_iter().chain(times).chain(file));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let text = bench.read("out.csv");
    let header = text.lines().next().unwrap();
    assert_eq!(header, "time,\"a.'b, c'[1,2].\"\"ü\"\"\"");
}

#[test]
fn c53_two_names_of_one_variable_are_not_both_fed() {
    let bench = Bench::new();
    // OscillatorForce has the inputs x2 and v2; here both are one.
    bench.alter_fmu("OscillatorForce", "alias.fmu", |text| {
        let reference = |name: &str| {
            let (_, rest) = text.split_once(&format!("name=\"{name}\" valueReference=\""))?;
            rest.split('"').next().map(str::to_owned)
        };
        match (reference("x2"), reference("v2")) {
            (Some(x), Some(v)) => text.replace(
                &format!("name=\"v2\" valueReference=\"{v}\""),
                &format!("name=\"v2\" valueReference=\"{x}\""),
            ),
            _ => text.to_owned(),
        }
    });
    bench.write(
        "system.toml",
        r#"
[experiment]
stop_time = 1.0
step_size = 0.01
[components]
force = { fmu = "alias.fmu" }
motion = { fmu = "fmus/OscillatorMotion.fmu" }
[[connections]]
from = "motion.x"
to = "force.x2"
[[connections]]
from = "motion.v"
to = "force.v2"
"#,
    );
    let outcome = bench.run(["run", "system.toml"]);
    assert_eq!(outcome.code, Some(3));
    let expected = "`force.x2` and `force.v2` are two names of one variable";
    assert!(outcome.stderr.contains(expected), "{}", outcome.stderr);
}
