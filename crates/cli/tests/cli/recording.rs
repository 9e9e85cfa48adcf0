//! Recorded variables besides outputs, sources of inputs, and destinations of results.

use crate::bench::{Bench, OSCILLATORS};

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench
}

#[test]
fn an_input_has_the_value_that_is_applied_from_the_row_on() {
    let bench = bench();
    let asked = ["left.x2", "right.x", "left.m", "right.v_start"];
    let variables = asked.iter().flat_map(|name| ["--output-variable", name]);
    let arguments = [
        "run",
        "system.toml",
        "-d",
        "0.02",
        "-o",
        "out.csv",
        "--summary",
        "out.json",
    ];
    let outcome = bench.run(arguments.into_iter().chain(variables));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (header, rows) = bench.rows("out.csv");
    assert_eq!(header, ["time", "right.x", "left.x2"]);
    assert_eq!(rows.len(), 21);
    for row in &rows {
        assert_eq!(row[1], row[2], "at t = {} s", row[0]);
    }
    assert!(rows[20][1] != 0.0);
    let parameters = &bench.json("out.json")["parameters"];
    assert_eq!(parameters["left.m"], 1.0);
    assert_eq!(parameters["right.v_start"], -100.0);
    assert!(
        outcome.stdout.contains("parameter left.m = 1.0"),
        "{}",
        outcome.stdout
    );
}

/// A correction adds to the effort: the recorded input is not the output that feeds it.
#[test]
fn an_input_has_the_correction_that_was_added() {
    let bench = bench();
    let variables = [
        "--output-variable",
        "right.f",
        "--output-variable",
        "left.f",
    ];
    let arguments = [
        "run",
        "system.toml",
        "-d",
        "0.02",
        "-o",
        "out.csv",
        "--correction",
        "residual-power",
    ];
    let outcome = bench.run(arguments.into_iter().chain(variables));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (_, rows) = bench.rows("out.csv");
    let corrected = rows.iter().filter(|row| row[1] != row[2]).count();
    assert!(corrected > 10, "{corrected} of {}", rows.len());
}

const ECHOES: &str = r#"
experiment = { stop_time = 2, step_size = 0.5, method = "jacobi", exchange = "stale", extrapolation = "hold" }
connections = [["a.real_out", "b.real_in"]]
[defaults]
fmu = "fmus/AllTypes.fmu"
[components.a]
[components.b]
start_values = { string_in = "kept" }
"#;

#[test]
fn a_file_feeds_free_inputs_of_a_system() {
    let bench = Bench::new();
    bench.write("system.toml", ECHOES);
    bench.write(
        "in.csv",
        "time,a.real_in,b.integer_in,b.boolean_in,b.colour_in\n0,1,3,0,1\n1,2,3,1,1\n1,5,4,1,2\n2,7,4,0,2\n",
    );
    let asked = [
        "a.real_in",
        "b.real_in",
        "b.integer_in",
        "b.boolean_in",
        "b.real_out",
        "b.colour_out",
    ];
    let variables = asked.iter().flat_map(|name| ["--output-variable", name]);
    let arguments = [
        "run",
        "system.toml",
        "--input-file",
        "in.csv",
        "-o",
        "out.csv",
    ];
    let outcome = bench.run(arguments.into_iter().chain(variables));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    // Inputs have the file's values of the row's time, also in the last row, from which no step goes
    // on. b.real_in follows a.real_out, which repeats a.real_in with each step.
    let expected = "time,b.real_out,b.colour_out,a.real_in,b.real_in,b.integer_in,b.boolean_in\n\
                    0.0,1.0,1,1.0,1.0,3,0\n\
                    0.5,1.0,1,1.5,1.0,3,0\n\
                    1.0,1.0,1,5.0,1.5,4,1\n\
                    1.5,1.5,2,6.0,5.0,4,1\n\
                    2.0,5.0,2,7.0,6.0,4,0\n";
    assert_eq!(bench.read("out.csv"), expected);
    for (input, part) in [
        (
            "time,b.real_in\n0,1\n",
            "column b.real_in: a connection feeds the input already",
        ),
        ("time,real_in\n0,1\n", "the system has no input `real_in`"),
        (
            "time,a.integer_in\n0,1.5\n",
            "in.csv:2:3: column a.integer_in: the input cannot be 1.5",
        ),
        // Empty lines and cells of several lines count; columns count letters.
        (
            "time,a.string_in,a.integer_in\n0,\"ö\",1\n\n1,\"ö\nß\"\"ß\",1.5\n",
            "in.csv:5:7: column a.integer_in: the input cannot be 1.5",
        ),
    ] {
        bench.write("in.csv", input);
        let outcome = bench.run(["run", "system.toml", "--input-file", "in.csv"]);
        assert_eq!(outcome.code, Some(3), "{input}");
        assert!(outcome.stderr.contains(part), "{}", outcome.stderr);
    }
}

#[test]
fn initial_values_are_shown_without_a_step() {
    let bench = bench();
    let text = OSCILLATORS.replace("stop_time = 10.0\n", "");
    bench.write("open.toml", &text);
    let arguments = ["run", "open.toml", "--initialize-only", "-o", "out.csv"];
    let outcome = bench.run(arguments);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let has = |name: &str, value: &str| {
        let mut lines = outcome
            .stdout
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.any(|cells| cells.first() == Some(&name) && cells.get(1) == Some(&value))
    };
    assert!(
        has("left.v", "100.0") && has("left.v2", "-100.0"),
        "{}",
        outcome.stdout
    );
    assert!(!has("left.m", "1.0"), "{}", outcome.stdout);
    let (_, rows) = bench.rows("out.csv");
    assert_eq!((rows.len(), rows[0][0]), (1, 0.0));
    let asked = [
        "run",
        "open.toml",
        "--initialize-only",
        "--output-variable",
        "left.m",
    ];
    let outcome = bench.run(asked);
    assert!(
        outcome.stdout.contains("left.m"),
        "{}{}",
        outcome.stdout,
        outcome.stderr
    );
    assert!(!outcome.stdout.contains("left.v "), "{}", outcome.stdout);
}

#[test]
fn a_method_can_be_chosen_for_a_run() {
    let bench = bench();
    let arguments = [
        "run",
        "system.toml",
        "-d",
        "0.01",
        "--summary",
        "out.json",
        "--method",
    ];
    let outcome = bench.run(arguments.into_iter().chain(["gauss-seidel"]));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert_eq!(bench.json("out.json")["method"], "gauss-seidel");
    let outcome = bench.run(arguments.into_iter().chain(["gauss-siedel"]));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
}

#[test]
fn a_choice_of_variables_needs_a_place() {
    let outcome = bench().run(["run", "system.toml", "--output-variable", "left.f"]);
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    assert!(
        outcome.stderr.contains("--output-file"),
        "{}",
        outcome.stderr
    );
}

#[cfg(unix)]
#[test]
fn results_go_to_devices_and_pipes() {
    let bench = bench();
    let outcome = bench.run(["run", "system.toml", "-d", "0.01", "-o", "/dev/null"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let made = std::process::Command::new("mkfifo")
        .arg(bench.path("pipe"))
        .status();
    assert!(made.unwrap().success());
    let path = bench.path("pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(path).unwrap());
    let outcome = bench.run(["run", "system.toml", "-d", "0.01", "-o", "pipe"]);
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let text = reader.join().unwrap();
    assert!(text.starts_with("time,left.f"), "{text}");
    assert_eq!(text.lines().count(), 12);
    assert!(!bench.path("pipe.part").exists());
}

/// A system of a source alone has outputs; one of a sink alone does not.
#[test]
fn a_system_without_outputs_says_so() {
    let bench = Bench::new();
    bench.alter_fmu("OscillatorMotion", "mute.fmu", |text| {
        text.replace("causality=\"output\"", "causality=\"local\"")
    });
    let times = ["--stop-time", "0.1", "--step-size", "0.01"];
    let outcome = bench.run(["simulate", "mute.fmu"].into_iter().chain(times));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("the FMU has no outputs"),
        "{}",
        outcome.stdout
    );
    let locals = ["-o", "out.csv", "--output-variable", "?"];
    let outcome = bench.run(
        ["simulate", "mute.fmu"]
            .into_iter()
            .chain(times)
            .chain(locals),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let (header, rows) = bench.rows("out.csv");
    assert!(header.contains(&"x".to_owned()), "{header:?}");
    assert_eq!(rows.len(), 11);
}

/// A run that ends where it starts also has initial values.
#[test]
fn initial_values_need_no_time_to_run() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for (arguments, name) in [
        (&["run", "system.toml"][..], "left.v"),
        (&["simulate", "fmus/OscillatorForce.fmu"], "v"),
    ] {
        for stop in [["-e", "0"], ["-e", "1"], ["-d", "0.001"]] {
            let value = "v_start=100";
            let value = ["--start-value".to_owned(), name.replace('v', value)];
            let value = value.each_ref().map(String::as_str);
            let outcome = bench.run([arguments, &stop, &value, &["--initialize-only"]].concat());
            assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
            let mut lines = outcome.stdout.lines().map(str::split_whitespace);
            let expected = [name, "100.0", "m/s", "output"];
            let is_shown = lines.any(|cells| cells.eq(expected));
            assert!(is_shown, "{}", outcome.stdout);
        }
    }
    // Parameters are read once, and need no step either.
    let outcome = bench.run(
        "run system.toml -e 0 -o out.csv --output-variable *.k --output-variable *.x".split(' '),
    );
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    assert!(
        outcome.stdout.contains("parameter left.k = 10.0"),
        "{}",
        outcome.stdout
    );
    assert_eq!(bench.rows("out.csv").1.len(), 1);
}

/// Rows stand at communication points; an interval between these is rounded, and said to be.
#[test]
fn an_interval_between_communication_points_is_noted() {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    for (interval, rounded) in [
        ("0.003", None),
        ("0.0025", Some("0.003")),
        ("0.0005", Some("0.001")),
    ] {
        let run = [
            "run",
            "system.toml",
            "-e",
            "0.01",
            "-o",
            "out.csv",
            "--output-interval",
            interval,
        ];
        let outcome = bench.run(run);
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        let note = format!(
            "--output-interval {interval} s is no multiple of the macro-step 0.001 s: rows are written every "
        );
        let found = outcome.stdout.split_once(&note);
        let found = found.map(|(_, rest)| rest.split(' ').next().unwrap());
        assert_eq!(found, rounded, "{}", outcome.stdout);
        let step = rounded.map_or(0.003, |rounded| rounded.parse::<f64>().unwrap());
        let (_, rows) = bench.rows("out.csv");
        assert!((rows[1][0] - step).abs() < 1e-9, "{rows:?}");
    }
}
