//! Actions of scenarios against closed forms, from files and from code.

use std::path::PathBuf;

use fmu_models::{QuarterCarChassis, QuarterCarWheelSuspension};
use gyrator::{Report, RunOptions, StartError, System};
use gyrator_system::{Choice, Scenario, Value, toml_file};
use gyrator_testkit::ModelUnit;

/// A source u = t that feeds `sink.u`; `sink.y` = `sink.u`. Steps of 0.1 s.
fn system(more: &str) -> System {
    let text = format!(
        "experiment.step_size = 0.1\n{more}\n\
         components.source.block = {{ name = 'ramp', height = 100, duration = 100 }}\n\
         components.sink.block = 'gain'\n\
         connections = ['source.y', 'sink.u']\n"
    );
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("scenarios.toml");
    let (file, _) = toml_file::parse(text, path).unwrap();
    System::from_file(file).unwrap()
}

fn scenario(text: &str) -> Scenario {
    toml_file::parse_scenario(text, "scenario.toml").unwrap_or_else(|problems| panic!("{problems}"))
}

/// An action on `sink.u` in a file.
fn action(time: f64, until: &str, word: &str) -> String {
    format!("[[actions]]\ntime = {time}\n{until}\nvariable = 'sink.u'\naction = {word}\n")
}

/// Compares `sink.y` with a function of time at the start and after each of 30 steps.
#[track_caller]
fn compare(actions: &str, expected: impl Fn(f64) -> f64) -> Report {
    let mut system = system("experiment.exchange = 'fresh'\nexperiment.extrapolation = 'hold'");
    system.scenario(scenario(actions));
    let mut run = system.start(&RunOptions::default()).unwrap();
    for step in 0..=30 {
        let time = f64::from(step) * 0.1;
        let (found, expected) = (run.read_real("sink.y").unwrap(), expected(time));
        // A few roundings of numbers up to 10.
        assert!(
            (found - expected).abs() < 1e-12,
            "{actions} at {time}: {found}, not {expected}"
        );
        run.step().unwrap();
    }
    run.report()
}

/// Whether the time is in [1, 2), with communication points every 0.1 s.
fn acts(time: f64) -> bool {
    (0.95..1.95).contains(&time)
}

#[test]
fn actions_are_their_closed_forms() {
    let between = |word: &str| action(1.0, "until = 2.0", word);
    let either = |acts: bool, one: f64, other: f64| if acts { one } else { other };
    let override_5 = between("{ name = 'override', value = 5 }");
    compare(&override_5, |t| either(acts(t), 5.0, t));
    let bias = between("{ name = 'bias', value = -3 }");
    compare(&bias, |t| either(acts(t), t - 3.0, t));
    let scale = between("{ name = 'scale', factor = 4 }");
    compare(&scale, |t| either(acts(t), 4.0 * t, t));
    let ramp = between("{ name = 'ramp', rate = 2 }");
    compare(&ramp, |t| either(acts(t), t + 2.0 * (t - 1.0), t));
    compare(&between("'drop-out'"), |t| either(acts(t), 0.0, t));
    // The value over the step from 0.9 s to 1.0 s.
    compare(&between("'freeze'"), |t| either(acts(t), 0.9, t));
}

#[test]
fn actions_begin_with_the_first_communication_point_that_is_not_before_their_time() {
    let report = compare(&action(0.91, "", "{ name = 'bias', value = 1 }"), |t| {
        if t > 0.95 { t + 1.0 } else { t }
    });
    let [begin] = &report.actions[..] else {
        panic!("{:?}", report.actions)
    };
    assert!((begin.time - 1.0).abs() < 1e-12, "{begin:?}");
    assert_eq!(
        (&*begin.variable, begin.action, begin.event),
        ("sink.u", "bias", "begin")
    );
    // Also from the start; an action whose end is not after a communication point does nothing.
    compare(&action(0.0, "", "{ name = 'bias', value = 1 }"), |t| {
        t + 1.0
    });
    let report = compare(&action(0.91, "until = 0.99", "'drop-out'"), |t| t);
    assert!(report.actions.is_empty());
}

#[test]
fn actions_on_one_variable_follow_each_other_until_they_are_reset() {
    let text = [
        action(0.5, "", "{ name = 'bias', value = 1 }"),
        action(1.0, "", "{ name = 'scale', factor = 2 }"),
        action(2.0, "", "'reset'"),
    ];
    let report = compare(&text.concat(), |t| match t {
        t if t > 1.95 => t,
        t if t > 0.95 => 2.0 * (t + 1.0),
        t if t > 0.45 => t + 1.0,
        t => t,
    });
    let events: Vec<_> = report.actions.iter().map(|a| (a.action, a.event)).collect();
    assert_eq!(
        events,
        [
            ("bias", "begin"),
            ("scale", "begin"),
            ("reset", "begin"),
            ("bias", "end"),
            ("scale", "end"),
        ]
    );
}

#[test]
fn an_override_is_exact_with_every_method_exchange_and_extrapolation() {
    let mut count = 0;
    for method in ["jacobi", "gauss-seidel"] {
        for exchange in ["stale", "fresh", "compensated"] {
            for extrapolation in ["hold", "linear", "quadratic"] {
                let mut system = system(&format!(
                    "experiment.method = '{method}'\nexperiment.exchange = '{exchange}'\n\
                     experiment.extrapolation = '{extrapolation}'"
                ));
                system.scenario(scenario(&action(
                    1.0,
                    "",
                    "{ name = 'override', value = 5 }",
                )));
                let mut run = system.start(&RunOptions::default()).unwrap();
                while run.time() < 2.0 {
                    run.step().unwrap();
                    if run.time() > 1.05 {
                        let found = run.read_real("sink.y").unwrap();
                        assert_eq!(found, 5.0, "{method} {exchange} {extrapolation}");
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count >= 18 * 9);
}

#[test]
fn free_inputs_are_acted_on_and_given_back() {
    let text = "experiment.step_size = 0.1\ncomponents.sink.block = 'gain'\n";
    let (file, _) = toml_file::parse(text, "system.toml").unwrap();
    let mut system = System::from_file(file).unwrap();
    let bias = action(1.0, "until = 2.0", "{ name = 'bias', value = 2 }");
    system.scenario(scenario(&bias));
    let mut run = system.start(&RunOptions::default()).unwrap();
    // A value that a program writes is the one that the bias is added to.
    run.write_real("sink.u", 3.0).unwrap();
    for step in 1..=25 {
        run.step().unwrap();
        let expected = if (11..=20).contains(&step) { 5.0 } else { 3.0 };
        let found = run.read_real("sink.y").unwrap();
        assert_eq!(found, expected, "after step {step}");
    }
}

/// A source y = t feeds u = 2·y + 1 and, as it is, w: both see the action, which is reported once.
#[test]
fn actions_on_an_output_are_on_all_inputs_that_it_feeds() {
    let text = "experiment.step_size = 0.1\nexperiment.exchange = 'fresh'\nexperiment.extrapolation = 'hold'\n\
                components.source.block = { name = 'ramp', height = 100, duration = 100 }\n\
                components.sink.block = 'gain'\ncomponents.plain.block = 'gain'\n\
                connections = [['source.y', 'plain.u'], \
                { from = 'source.y', to = 'sink.u', gain = 2, offset = 1 }]\n";
    type Law = fn(f64) -> f64;
    let words: [(&str, Law); 5] = [
        ("{ name = 'override', value = 5 }", |_| 5.0),
        ("{ name = 'bias', value = -3 }", |t| t - 3.0),
        ("{ name = 'scale', factor = 4 }", |t| 4.0 * t),
        ("{ name = 'ramp', rate = 2 }", |t| t + 2.0 * (t - 1.0)),
        ("'freeze'", |_| 0.9),
    ];
    for (word, law) in words {
        let (file, _) = toml_file::parse(text, "system.toml").unwrap();
        let mut system = System::from_file(file).unwrap();
        let on_output = action(1.0, "until = 2.0", word).replace("sink.u", "source.y");
        system.scenario(scenario(&on_output));
        let mut run = system.start(&RunOptions::default()).unwrap();
        for step in 0..=25 {
            let time = f64::from(step) * 0.1;
            let y = if acts(time) { law(time) } else { time };
            for (name, expected) in [("sink.y", 2.0 * y + 1.0), ("plain.y", y)] {
                let found = run.read_real(name).unwrap();
                assert!(
                    (found - expected).abs() < 1e-12,
                    "{word} {name} {time}: {found}"
                );
            }
            run.step().unwrap();
        }
        let events: Vec<_> = run
            .report()
            .actions
            .into_iter()
            .map(|a| (a.variable, a.event))
            .collect();
        let expected = ["begin", "end"].map(|event| ("source.y".into(), event));
        assert_eq!(events, expected, "{word}");
    }
}

#[test]
fn wrong_names_and_words_are_found_at_once() {
    let mut system = system("");
    let text = "[[actions]]\ntime = 1\nvariable = 'sink.v'\naction = 'freeze'\n\
                [[actions]]\ntime = 1\nvariable = 'sink.y'\naction = 'freeze'\n\
                [[actions]]\ntime = 1\nvariable = 'sink.u'\naction = 'freze'\n\
                [[actions]]\ntime = 1\nvariable = 'sink.u'\naction = { name = 'bias', valu = 1 }\n";
    system.scenario(scenario(text));
    let Err(StartError::Invalid(problems)) = system.start(&RunOptions::default()) else {
        panic!("it starts")
    };
    let text = problems.to_string();
    for words in [
        "scenario.toml:3:12: error: the system has no variable `sink.v`",
        "`sink.y` is an output that feeds no input",
        "did you mean `freeze`?",
        "did you mean `value`?",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

/// The linear quarter car of Sadjina & Pedersen (2019), table 2, cut at the suspension's force.
fn quarter_car(step_control: &str) -> System {
    let mut system = System::new(1e-3);
    system.stop_time(1.0);
    system.step_control(match step_control {
        "ecco" => Choice::new("ecco")
            .with("tolerance", Value::Real(1e-4))
            .with("maximum_step", Value::Real(1e-2)),
        other => Choice::new(other),
    });
    system.add("chassis", ModelUnit::<QuarterCarChassis>::new());
    system.add("wheel", ModelUnit::<QuarterCarWheelSuspension>::new());
    system.bond(
        "suspension",
        ("wheel.F", "chassis.F"),
        ("chassis.v_c", "wheel.v_c"),
    );
    system
}

const FIVE_FAULTS: &str = "
actions = [
    { time = 0.1, until = 0.15, variable = 'chassis.F', action = 'drop-out' },
    { time = 0.2, until = 0.3, variable = 'wheel.v_c', action = 'freeze' },
    { time = 0.4, until = 0.5, variable = 'chassis.F', action = { name = 'scale', factor = 0.5 } },
    { time = 0.55, until = 0.6, variable = 'wheel.v_c', action = { name = 'bias', value = 0.1 } },
    { time = 0.7, until = 0.8, variable = 'chassis.F', action = { name = 'ramp', rate = 100 } },
]
";

fn five_faults() -> Scenario {
    let mut scenario = Scenario::new();
    let real = Value::Real;
    let drop_out = Choice::new("drop-out");
    scenario.act(0.1, "chassis.F", drop_out).until(0.15);
    let freeze = Choice::new("freeze");
    scenario.act(0.2, "wheel.v_c", freeze).until(0.3);
    let scale = Choice::new("scale").with("factor", real(0.5));
    scenario.act(0.4, "chassis.F", scale).until(0.5);
    let bias = Choice::new("bias").with("value", real(0.1));
    scenario.act(0.55, "wheel.v_c", bias).until(0.6);
    let ramp = Choice::new("ramp").with("rate", real(100.0));
    scenario.act(0.7, "chassis.F", ramp).until(0.8);
    scenario
}

/// Bits of force and velocity at each communication point, and the report.
fn bits(mut system: System, scenario: Option<Scenario>, threads: usize) -> (Vec<[u64; 3]>, Report) {
    if let Some(scenario) = scenario {
        system.scenario(scenario);
    }
    let options = RunOptions {
        threads,
        step_clock: gyrator_testkit::ticking(),
        ..RunOptions::default()
    };
    let mut run = system.start(&options).unwrap();
    let mut points = Vec::new();
    while run.step().unwrap() {
        let values = ["wheel.F", "chassis.v_c"].map(|name| run.read_real(name).unwrap());
        points.push([run.time(), values[0], values[1]].map(f64::to_bits));
    }
    (points, run.report())
}

#[test]
fn five_faults_of_a_quarter_car_give_the_same_bits_from_a_file_and_from_code() {
    for step_control in ["fixed", "ecco"] {
        let car = || quarter_car(step_control);
        let (from_file, report) = bits(car(), Some(scenario(FIVE_FAULTS)), 1);
        let (from_code, _) = bits(car(), Some(five_faults()), 2);
        assert!(from_file == from_code, "{step_control}");
        let (without, _) = bits(car(), None, 1);
        assert!(without != from_file, "{step_control}");
        // Steps that are made again begin and end no action twice.
        let begins = report.actions.iter().filter(|a| a.event == "begin").count();
        assert_eq!((begins, report.actions.len()), (5, 10), "{step_control}");
    }
}
