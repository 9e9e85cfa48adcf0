//! `run --scenario`: what it does to results and summaries, and what is wrong with a scenario.

use crate::bench::{Bench, OSCILLATORS};

pub(crate) const SCENARIO: &str = "
[[actions]]
time = 0.0025
until = 0.005
variable = \"left.x2\"
action = { name = \"override\", value = 0.5 }
";

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("system.toml", OSCILLATORS);
    bench.write("faults.toml", SCENARIO);
    bench
}

#[test]
fn actions_are_in_the_results_and_the_summaries() {
    let bench = bench();
    let run = "run system.toml -e 0.008 --scenario faults.toml --output-variable left.x2 -o out.csv --summary s.json";
    let outcome = bench.run(run.split(' '));
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    for line in [
        "  0.003  override       left.x2",
        "  0.005  override ends  left.x2",
    ] {
        assert!(outcome.stdout.contains(line), "{}", outcome.stdout);
    }
    let (_, rows) = bench.rows("out.csv");
    for row in &rows {
        let is_acted_on = (0.0025..0.0045).contains(&row[0]);
        assert_eq!(row[1] == 0.5, is_acted_on, "{row:?}");
    }
    let actions = &bench.json("s.json")["actions"];
    assert_eq!(actions.as_array().map(Vec::len), Some(2));
    assert_eq!(actions[0]["time"], 0.003);
    assert_eq!(actions[0]["variable"], "left.x2");
    assert_eq!(actions[0]["action"], "override");
    assert_eq!(actions[1]["event"], "end");
    assert!(!outcome.stdout.contains("not begun"), "{}", outcome.stdout);
    let outcome = bench.run("run system.toml -e 0.002 --scenario faults.toml".split(' '));
    let note = "note: 1 action of the scenario has not begun by the stop time, 0.002 s: `override` of left.x2 at 0.0025 s";
    assert!(outcome.stdout.contains(note), "{}", outcome.stdout);
    // Without a scenario the list is empty, and the values are others.
    bench.run(
        "run system.toml -e 0.008 --output-variable left.x2 -o plain.csv --summary s.json"
            .split(' '),
    );
    assert_eq!(bench.json("s.json")["actions"], serde_json::json!([]));
    assert_ne!(bench.read("out.csv"), bench.read("plain.csv"));
}

#[test]
fn wrong_scenarios_say_where_and_what() {
    let bench = bench();
    for (text, code, words) in [
        (
            SCENARIO.replace("left.x2", "left.x3"),
            3,
            "did you mean `left.x2`?",
        ),
        (
            SCENARIO.replace("override", "overide"),
            3,
            "did you mean `override`?",
        ),
        (
            SCENARIO.replace("left.x2", "left.x"),
            3,
            "`left.x` is an output that feeds no input",
        ),
        (
            SCENARIO.replace("until", "untill"),
            3,
            "did you mean `until`?",
        ),
        (
            SCENARIO.replace("left.x2", "left.m"),
            3,
            "neither an input, an output nor a tunable parameter",
        ),
        (
            OSCILLATORS.to_owned(),
            3,
            "is a system file, not a scenario file",
        ),
    ] {
        bench.write("faults.toml", &text);
        let outcome = bench.run(["run", "system.toml", "--scenario", "faults.toml"]);
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        assert!(
            outcome.stderr.contains(words),
            "{words}: {}",
            outcome.stderr
        );
        assert_eq!(outcome.stdout, "");
    }
    bench.write("faults.toml", SCENARIO);
    let outcome = bench.run(["run", "system.toml", "--scenario", "nowhere.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
    let outcome = bench.run("run system.toml --scenario faults.toml -o faults.toml".split(' '));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);
    let outcome = bench.run(["run", "faults.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);
}

/// One scenario, as an option, as a key of the system file, in a package, in a study and of one FMU.
#[test]
fn every_verb_that_runs_a_system_has_scenarios() {
    let bench = bench();
    let succeed = |arguments: &str| {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
        outcome.stdout
    };
    succeed("run system.toml -e 0.008 --scenario faults.toml -o option.csv");
    let with_key = OSCILLATORS.replace(
        "[experiment]",
        "[experiment]\nscenario = \"parts/faults.toml\"",
    );
    assert_ne!(with_key, OSCILLATORS);
    std::fs::create_dir(bench.path("parts")).unwrap();
    bench.write("parts/faults.toml", SCENARIO);
    bench.write("key.toml", &with_key);
    succeed("run key.toml -e 0.008 -o key.csv");
    succeed("export key.toml -o key.ssp");
    std::fs::remove_file(bench.path("parts/faults.toml")).unwrap();
    succeed("run key.ssp -e 0.008 -o ssp.csv");
    for name in ["key.csv", "ssp.csv"] {
        assert!(bench.read(name) == bench.read("option.csv"), "{name}");
    }
    let outcome = bench.run(["run", "key.toml"]);
    assert_eq!(outcome.code, Some(3));
    let place = "cannot read the scenario file parts/faults.toml";
    assert!(outcome.stderr.contains(place), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("key.toml:"), "{}", outcome.stderr);
    let outcome = bench.run("run key.toml --scenario faults.toml -o faults.toml".split(' '));
    assert_eq!(outcome.code, Some(2), "{}", outcome.stderr);

    // A study with the scenario has the last row of the run, and another one without it.
    bench.write(
        "study.toml",
        "system = \"system.toml\"\n[[vary]]\ngrid = { \"experiment.stop_time\" = 0.008 }\n\
         [variants]\nwell = {}\nfaulty = { \"experiment.scenario\" = \"faults.toml\" }\n\
         [metrics]\nfinal = [\"right.x\"]\n",
    );
    succeed("study study.toml");
    let table = bench.read("study.csv");
    let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
    let column = rows[0]
        .iter()
        .position(|name| name.starts_with("final.right.x"))
        .unwrap();
    let (header, run) = bench.rows("option.csv");
    let of_run = header.iter().position(|name| name == "right.x").unwrap();
    let found = [1, 2].map(|row| rows[row][column].parse::<f64>().unwrap());
    assert_eq!(found[1], run.last().unwrap()[of_run], "{table}");
    assert_ne!(found[0], found[1], "{table}");
    // The table depends on what the scenario says.
    bench.write("faults.toml", &SCENARIO.replace("0.5", "0.25"));
    let outcome = bench.run(["study", "study.toml"]);
    assert_eq!(outcome.code, Some(3), "{}", outcome.stderr);

    // Of one FMU the variable alone is also a name.
    for name in ["OscillatorForce.x2", "x2"] {
        bench.write("faults.toml", &SCENARIO.replace("left.x2", name));
        succeed(
            "simulate fmus/OscillatorForce.fmu -e 0.008 --scenario faults.toml -o one.csv --output-variable x2",
        );
        let (_, rows) = bench.rows("one.csv");
        let acted_on: Vec<f64> = rows
            .iter()
            .filter(|row| row[1] == 0.5)
            .map(|row| row[0])
            .collect();
        assert_eq!(acted_on, [0.003, 0.004], "{name}");
    }
    bench.write("faults.toml", SCENARIO);
    succeed("learn system.toml -e 0.1 -n 1 --scenario faults.toml");
    bench.write("faults.toml", &SCENARIO.replace("left.x2", "left.x3"));
    for verb in [
        "learn system.toml -e 0.1 --scenario faults.toml",
        "run system.toml --scenario faults.toml",
    ] {
        let outcome = bench.run(verb.split(' '));
        assert_eq!(outcome.code, Some(3), "{verb}");
        assert!(
            outcome.stderr.contains("faults.toml:5:12"),
            "{}",
            outcome.stderr
        );
    }
}

/// Nothing of the system is run to find what is wrong with its scenario.
#[test]
fn a_system_is_inspected_with_its_scenario() {
    let bench = bench();
    let with_key = OSCILLATORS.replace(
        "[experiment]\n",
        "[experiment]\nscenario = \"faults.toml\"\n",
    );
    bench.write("key.toml", &with_key);
    for (name, code) in [("left.x2", 0), ("left.x3", 3)] {
        bench.write("faults.toml", &SCENARIO.replace("left.x2", name));
        let outcome = bench.run(["inspect", "key.toml"]);
        assert_eq!(outcome.code, Some(code), "{}", outcome.stderr);
        let has_place = outcome.stderr.contains("faults.toml:5:12");
        assert_eq!(has_place, code == 3, "{}", outcome.stderr);
    }
}

/// The option is for the runs that name none; a study goes on with a copy of the file.
#[test]
fn a_study_has_a_scenario_for_all_runs() {
    let bench = bench();
    let succeed = |arguments: &str| {
        let outcome = bench.run(arguments.split(' '));
        assert_eq!(outcome.code, Some(0), "{arguments}: {}", outcome.stderr);
    };
    let other = SCENARIO.replace("0.5 }", "0.25 }");
    bench.write("other.toml", &other);
    bench.write("copy.toml", SCENARIO);
    bench.write(
        "study.toml",
        "system = \"system.toml\"\n[[vary]]\ngrid = { \"experiment.stop_time\" = 0.008 }\n\
         [variants]\nwell = {}\nnamed = { \"experiment.scenario\" = \"other.toml\" }\n\
         [metrics]\nfinal = [\"right.x\"]\n",
    );
    let finals = |table: &str| -> Vec<f64> {
        let table = bench.read(table);
        let mut rows = table.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let is_final = |name: &&str| name.starts_with("final.right.x");
        let column = header.iter().position(is_final).unwrap();
        rows.map(|row| row[column].parse().unwrap()).collect()
    };
    let last = |scenario: &str| {
        succeed(&format!(
            "run system.toml -e 0.008 --scenario {scenario} -o run.csv"
        ));
        let (header, rows) = bench.rows("run.csv");
        let column = header.iter().position(|name| name == "right.x").unwrap();
        rows.last().unwrap()[column]
    };
    let study = "study study.toml -o table.csv --scenario";
    succeed(&format!("{study} faults.toml"));
    let found = finals("table.csv");
    assert_eq!(found, [last("faults.toml"), last("other.toml")]);
    assert_ne!(found[0], found[1]);
    succeed(&format!("{study} copy.toml"));
    for (scenario, code) in [("other.toml", 3), ("system.toml", 3), ("none.toml", 3)] {
        let outcome = bench.run(format!("{study} {scenario}").split(' '));
        assert_eq!(outcome.code, Some(code), "{scenario}: {}", outcome.stderr);
    }
}

/// Actions on variables of every type, with components in processes of their own.
#[test]
fn isolated_components_are_acted_on_alike() {
    let bench = Bench::new();
    bench.write(
        "echo.toml",
        "connections = [[\"a.integer_out\", \"b.integer_in\"], [\"a.boolean_out\", \"b.boolean_in\"], [\"a.colour_out\", \"b.colour_in\"], [\"a.real_out\", \"b.real_in\"]]\n\
         experiment = { stop_time = 1, step_size = 0.1 }\ndefaults.fmu = \"fmus/AllTypes.fmu\"\n\
         components.a.start_values = { integer_in = 3, boolean_in = true, colour_in = \"red\", real_in = 2.5 }\ncomponents.b = {}\n",
    );
    let action = |time: f64, variable: &str, action: &str| {
        format!(
            "[[actions]]\ntime = {time}\nuntil = {}\nvariable = \"{variable}\"\naction = {action}\n",
            time + 0.3
        )
    };
    bench.write(
        "faults.toml",
        &[
            action(0.2, "b.integer_in", "{ name = \"bias\", value = 4 }"),
            action(0.3, "a.boolean_out", "\"drop-out\""),
            action(
                0.4,
                "b.colour_in",
                "{ name = \"override\", value = \"blue\" }",
            ),
            action(0.5, "b.gain", "{ name = \"override\", value = 2.0 }"),
        ]
        .concat(),
    );
    let run = |options: &[&str]| {
        let common = [
            "run",
            "echo.toml",
            "--scenario",
            "faults.toml",
            "-o",
            "out.csv",
            "--output-variable",
            "b.*_in",
        ];
        let outcome = bench.run(common.into_iter().chain(options.iter().copied()));
        assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
        (
            bench.read("out.csv"),
            outcome.stdout.matches(" ends  ").count(),
        )
    };
    let (table, ends) = run(&[]);
    assert_eq!(ends, 4);
    for options in [
        &["--isolate"][..],
        &["--isolate=b"],
        &["--no-supervisor"],
        &["--worker-threads", "2"],
    ] {
        assert!(run(options).0 == table, "{options:?}");
    }
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let column = |name: &str| {
        let place = names.iter().position(|known| *known == name).unwrap();
        let cells = table
            .lines()
            .skip(1)
            .map(|row| row.split(',').nth(place).unwrap());
        cells.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(column("b.integer_in").join(" "), "3 3 7 7 7 3 3 3 3 3 3");
    assert_eq!(column("b.boolean_in").join(" "), "1 1 1 0 0 0 1 1 1 1 1");
    assert_eq!(column("b.colour_in").join(" "), "1 1 1 1 3 3 3 1 1 1 1");
}
