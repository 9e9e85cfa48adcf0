//! Actions on variables of every type, in systems of every kind, against closed forms.

use fmu_models::{AllTypes, DualMassForce, DualMassVelocity};
use gyrator::{ClosureUnit, LinearUnit, Run, RunOptions, StartError, System, Value};
use gyrator_system::{NumberConversion, toml_file};
use gyrator_testkit::ModelUnit;

const H: f64 = 0.125;
/// Number of the step with which the actions begin, and of that with which they end.
const BEGIN: u32 = 8;
const END: u32 = 16;

/// Adds an action from the step `BEGIN` to the step `END`.
fn act(system: &mut System, variable: &str, word: &str) {
    let (time, until) = (f64::from(BEGIN) * H, f64::from(END) * H);
    let text = format!(
        "[[actions]]\ntime = {time}\nuntil = {until}\nvariable = '{variable}'\naction = {word}\n"
    );
    system.scenario(toml_file::parse_scenario(text, "scenario.toml").unwrap());
}

fn all_types() -> ModelUnit<AllTypes> {
    ModelUnit::new()
}

/// A source that repeats what is written to it, and a sink that is connected to it.
fn echo() -> System {
    let mut system = System::new(H);
    system.add("source", all_types());
    system.add("sink", all_types());
    for kind in ["real", "integer", "boolean", "colour"] {
        system.connect(&format!("source.{kind}_out"), &format!("sink.{kind}_in"));
    }
    system
}

fn write(run: &mut Run, integer: i32, boolean: bool, colour: i32) {
    let values = [
        ("real", Value::Real(2.5)),
        ("integer", Value::Integer(integer)),
        ("boolean", Value::Boolean(boolean)),
        ("colour", Value::Integer(colour)),
    ];
    for (kind, value) in values {
        run.write(&format!("source.{kind}_in"), &value).unwrap();
    }
}

/// `output` after the steps before the action, while it acts and after its end. The sink sees the source one step late at most, and
/// with the step `BEGIN` the source has other values: 9, false, blue.
#[track_caller]
fn compare(system: System, output: &str, [before, acted, after]: [Value; 3]) {
    let mut run = system.start(&RunOptions::default()).unwrap();
    write(&mut run, 3, true, 1);
    for step in 1..=END + 4 {
        run.step().unwrap();
        if step == BEGIN {
            write(&mut run, 9, false, 3);
        }
        let found = run.read(output).unwrap();
        // The value that the sink has over a step shows when the step has ended.
        let expected = match step {
            0..3 => continue,
            3..=BEGIN => &before,
            // Values are on their way from the source's input to the sink's output.
            _ if step <= BEGIN + 2 => continue,
            _ if step <= END => &acted,
            _ if step <= END + 2 => continue,
            _ => &after,
        };
        assert_eq!(found, *expected, "{output} after step {step}");
    }
}

#[test]
fn values_of_every_type_are_replaced_frozen_and_lost() {
    use Value::{Boolean, Integer};
    let cases = [
        ("integer", "{ name = 'override', value = 7 }", Integer(7)),
        ("integer", "'freeze'", Integer(3)),
        ("integer", "'drop-out'", Integer(0)),
        ("integer", "{ name = 'bias', value = -5 }", Integer(4)),
        ("integer", "{ name = 'scale', factor = 4 }", Integer(36)),
        (
            "boolean",
            "{ name = 'override', value = true }",
            Boolean(true),
        ),
        ("boolean", "{ name = 'override', value = 1 }", Boolean(true)),
        ("boolean", "'freeze'", Boolean(true)),
        ("boolean", "'drop-out'", Boolean(false)),
        (
            "colour",
            "{ name = 'override', value = 'green' }",
            Integer(2),
        ),
        ("colour", "{ name = 'override', value = 2 }", Integer(2)),
        ("colour", "'freeze'", Integer(1)),
    ];
    for (kind, word, acted) in cases {
        let (before, after) = match kind {
            "integer" => (Integer(3), Integer(9)),
            "boolean" => (Boolean(true), Boolean(false)),
            _ => (Integer(1), Integer(3)),
        };
        // An input, the output that feeds it, and an input that nothing feeds.
        let variables = ["sink.KIND_in", "source.KIND_out", "source.KIND_in"];
        let methods = ["jacobi", "gauss-seidel"].into_iter();
        for (method, variable) in methods.flat_map(|m| variables.map(|v| (m, v))) {
            let mut system = echo();
            system.method(method);
            act(&mut system, &variable.replace("KIND", kind), word);
            let output = format!("sink.{kind}_out");
            let values = [before.clone(), acted.clone(), after.clone()];
            compare(system, &output, values);
        }
    }
}

/// A reset ends what has begun before, on values of any type.
#[test]
fn a_reset_ends_an_override_of_a_truth_value() {
    let text = format!(
        "actions = [\n{{ time = 0, variable = 'sink.boolean_in', action = {{ name = 'override', value = true }} }},\n\
         {{ time = {}, variable = 'sink.boolean_in', action = 'reset' }},\n]\n",
        4.0 * H
    );
    let mut system = echo();
    system.scenario(toml_file::parse_scenario(text, "scenario.toml").unwrap());
    let mut run = system.start(&RunOptions::default()).unwrap();
    for step in 0..8 {
        let found = run.read("sink.boolean_out").unwrap();
        // The output after a step is that under the input of the step.
        assert_eq!(found, Value::Boolean(step <= 4), "after step {step}");
        run.step().unwrap();
    }
}

/// An action on an output is one before the conversion, an action on the input one after it.
#[test]
fn actions_stand_before_or_after_the_conversion_of_types() {
    let through = |variable: &str, word: &str| {
        let mut system = System::new(H);
        system.add("source", all_types());
        system.add("sink", all_types());
        let whole = system.connect("source.real_out", "sink.integer_in");
        whole.convert(NumberConversion::Round);
        system
            .connect("source.integer_out", "sink.real_in")
            .gain(0.5);
        act(&mut system, variable, word);
        let mut run = system.start(&RunOptions::default()).unwrap();
        write(&mut run, 3, true, 1);
        for _ in 0..BEGIN + 3 {
            run.step().unwrap();
        }
        let integer = run.read("sink.integer_out").unwrap();
        (integer, run.read_real("sink.real_out").unwrap())
    };
    // 2.5 is rounded to 2, and 0.5·3 = 1.5.
    let cases = [
        ("source.real_out", "{ name = 'bias', value = 0.25 }", 3, 1.5),
        ("sink.integer_in", "{ name = 'bias', value = 2 }", 4, 1.5),
        ("source.integer_out", "{ name = 'bias', value = 2 }", 2, 2.5),
        ("sink.real_in", "{ name = 'bias', value = 0.25 }", 2, 1.75),
        ("sink.real_in", "{ name = 'ramp', rate = 4 }", 2, 2.5),
    ];
    for (variable, word, integer, real) in cases {
        let found = through(variable, word);
        assert_eq!(found, (Value::Integer(integer), real), "{variable} {word}");
    }
}

#[test]
fn actions_that_make_no_values_of_a_type_are_refused() {
    let cases = [
        (
            "sink.integer_in",
            "{ name = 'bias', value = 0.5 }",
            "`bias` makes numbers that are not whole",
        ),
        (
            "sink.integer_in",
            "{ name = 'ramp', rate = 1 }",
            "`ramp` makes numbers that are not whole",
        ),
        (
            "sink.integer_in",
            "{ name = 'override', value = 0.5 }",
            "which is not an Integer of 32 bits",
        ),
        (
            "sink.integer_in",
            "{ name = 'override', value = 3e9 }",
            "which is not an Integer of 32 bits",
        ),
        (
            "sink.boolean_in",
            "{ name = 'override', value = 3 }",
            "neither true nor false",
        ),
        (
            "sink.boolean_in",
            "{ name = 'bias', value = 1 }",
            "`bias` is an action on numbers",
        ),
        (
            "sink.colour_in",
            "{ name = 'scale', factor = 2 }",
            "`scale` is an action on numbers",
        ),
        (
            "sink.colour_in",
            "{ name = 'override', value = 'mauve' }",
            "must be one of red, green, blue",
        ),
        (
            "sink.colour_in",
            "'drop-out'",
            "makes `sink.colour_in` 0, which is not an item of its type",
        ),
        (
            "sink.real_in",
            "{ name = 'override', value = true }",
            "must be a finite number",
        ),
        ("sink.string_in", "'freeze'", "`sink.string_in` is a text"),
    ];
    for (variable, word, words) in cases {
        let mut system = echo();
        act(&mut system, variable, word);
        let Err(StartError::Invalid(problems)) = system.start(&RunOptions::default()) else {
            panic!("{variable} {word}: it starts")
        };
        let text = problems.to_string();
        assert!(text.contains(words), "{words}: {text}");
        assert!(text.contains("scenario.toml:"), "{text}");
    }
}

#[test]
fn a_product_that_is_no_integer_any_more_ends_the_run() {
    let mut system = echo();
    act(
        &mut system,
        "sink.integer_in",
        "{ name = 'scale', factor = 1e9 }",
    );
    let mut run = system.start(&RunOptions::default()).unwrap();
    write(&mut run, 3, true, 1);
    let error = loop {
        if let Err(error) = run.step() {
            break error.to_string();
        }
        assert!(run.time() < 2.0, "it goes on");
    };
    let words =
        "the scenario makes `sink.integer_in` 3000000000, which is not an Integer of 32 bits";
    assert!(error.contains(words), "{error}");
}

/// A variable that is frozen from the start on keeps its first value.
#[test]
fn a_freeze_at_the_start_holds_the_first_value() {
    let text = "experiment.step_size = 0.125\ncomponents.free.block = 'gain'\ncomponents.sink.block = 'gain'\n\
                components.free.start_values = { u = 2.5 }\n\
                components.source.block = { name = 'ramp', offset = 4, height = 100, duration = 100 }\n\
                connections = ['source.y', 'sink.u']\n";
    let (file, _) = toml_file::parse(text, "system.toml").unwrap();
    let mut system = System::from_file(file).unwrap();
    let frozen = "actions = [{ time = 0, variable = 'free.u', action = 'freeze' },\n\
                  { time = 0, variable = 'sink.u', action = 'freeze' }]\n";
    system.scenario(toml_file::parse_scenario(frozen, "scenario.toml").unwrap());
    let mut run = system.start(&RunOptions::default()).unwrap();
    for _ in 0..4 {
        run.step().unwrap();
        let found = ["free.y", "sink.y"].map(|name| run.read_real(name).unwrap());
        assert_eq!(found, [2.5, 4.0]);
    }
}

#[test]
fn tunable_parameters_are_acted_on_and_given_back() {
    let mut system = echo();
    act(&mut system, "sink.gain", "{ name = 'scale', factor = 4 }");
    let values = [2.5, 10.0, 2.5].map(Value::Real);
    compare(system, "sink.real_out", values);
}

/// A component that steps every fourth macro-step takes an action with its next communication step.
#[test]
fn a_slow_component_takes_actions_with_its_next_step() {
    for method in ["jacobi", "gauss-seidel", "mean-force"] {
        for (kind, value) in [("integer", "7"), ("real", "7.0")] {
            let mut system = System::new(H);
            system.method(method);
            system.add("fast", all_types()).exchange("stale");
            let slow = system.add("slow", all_types()).exchange("stale");
            slow.step_size(4.0 * H);
            system.connect(&format!("fast.{kind}_out"), &format!("slow.{kind}_in"));
            let text = format!(
                "actions = [{{ time = {}, until = {}, variable = 'slow.{kind}_in', action = {{ name = 'override', value = {value} }} }}]\n",
                5.0 * H,
                9.0 * H
            );
            system.scenario(toml_file::parse_scenario(text, "scenario.toml").unwrap());
            let mut run = system.start(&RunOptions::default()).unwrap();
            for step in 1..=20 {
                run.step().unwrap();
                let found = match run.read(&format!("slow.{kind}_out")).unwrap() {
                    Value::Integer(value) => f64::from(value),
                    Value::Real(value) => value,
                    other => panic!("{other:?}"),
                };
                // It acts at 5 H ≤ t < 9 H, of which 8 H alone is a communication point of the component.
                let expected = if (12..16).contains(&step) { 7.0 } else { 0.0 };
                assert_eq!(found, expected, "{method} {kind} after step {step}");
            }
        }
    }
}

/// The filters of H∞ coupling are at rest at the value that an action gives, from its first step on.
#[test]
fn an_override_is_exact_through_compensators_and_smoothers() {
    for variant in ["one-sided", "smoothed"] {
        let mut system = System::new(0.05);
        system.extrapolation(("hinfinity", [("variant", variant)]));
        let force = system.add("force", ModelUnit::<DualMassForce>::new());
        force.step_size(0.005).exchange("stale");
        let velocity = system.add("velocity", ModelUnit::<DualMassVelocity>::new());
        velocity.step_size(0.005);
        system.bond(
            "coupling",
            ("force.F", "velocity.F"),
            ("velocity.v", "force.v2"),
        );
        let text = "actions = [{ time = 0.5, until = 1.0, variable = 'force.v2', action = { name = 'override', value = 0.25 } }]";
        system.scenario(toml_file::parse_scenario(text, "scenario.toml").unwrap());
        let mut run = system.start(&RunOptions::default()).unwrap();
        for step in 1..=40 {
            run.step().unwrap();
            let used = run.read_real("force.v2").unwrap();
            if (11..=20).contains(&step) {
                assert!((used - 0.25).abs() < 1e-12, "{variant} {step}: {used}");
            } else {
                assert!((used - 0.25).abs() > 1e-9, "{variant} {step}: {used}");
            }
        }
    }
}

/// A mass under a held force, with the spring f = −k·s at its other end and an interface model.
fn mass_on_a_spring(options: &[(&str, Value)]) -> System {
    let mut system = System::new(0.01);
    // s, v, a and the inverse mass 1/2 kg, exact for a held force.
    let outputs = [("s", 0.0), ("v", 1.0), ("w", 0.5), ("b", 0.0)];
    let mass = ClosureUnit::new(&[("f", 0.0)], &outputs, |call| {
        let (h, a) = (call.step, 0.5 * call.inputs[0]);
        call.outputs[0] += h * call.outputs[1] + 0.5 * h * h * a;
        call.outputs[1] += h * a;
    });
    system.add("mass", mass);
    let matrices: [&[f64]; 4] = [&[], &[], &[], &[-80.0, 0.0]];
    system.add(
        "spring",
        LinearUnit::new(&[], &["s", "v"], &["f"], matrices),
    );
    system.connect("mass.s", "spring.s");
    system.bond("bond", ("spring.f", "mass.f"), ("mass.v", "spring.v"));
    let mut model = system.interface_model("model", "mass", 1e-3);
    model = model
        .bonds(&["bond"])
        .positions(&["s"])
        .mass(&["w"], &["b"]);
    for (name, value) in options {
        model = match (*name, value) {
            ("order", Value::String(word)) => model.order(word),
            _ => model.option(name, value.clone()),
        };
    }
    system
}

/// The positions after each of 40 steps, with an action from the tenth to the thirtieth.
fn positions(mut system: System, variable: &str, word: &str) -> Vec<[f64; 3]> {
    let text = format!(
        "actions = [{{ time = 0.1, until = 0.3, variable = '{variable}', action = {word} }}]"
    );
    system.scenario(toml_file::parse_scenario(text, "scenario.toml").unwrap());
    let mut run = system.start(&RunOptions::default()).unwrap();
    let mut points = Vec::new();
    for _ in 0..40 {
        run.step().unwrap();
        points.push(["mass.s", "mass.v", "spring.f"].map(|name| run.read_real(name).unwrap()));
    }
    points
}

#[test]
fn interface_models_take_actions() {
    let word = |word: &str| Value::String(word.to_owned());
    let all: [&[(&str, Value)]; 5] = [
        &[],
        &[("force", word("mean"))],
        &[("force", word("hold"))],
        &[("order", word("pipelined"))],
        &[("displacement_correction", Value::Real(1.0))],
    ];
    for options in all {
        let plain = positions(
            mass_on_a_spring(options),
            "mass.f",
            "{ name = 'scale', factor = 1 }",
        );
        // A lost force: the mass keeps its velocity, and the spring sees it move.
        let lost = positions(mass_on_a_spring(options), "mass.f", "'drop-out'");
        assert_eq!(lost[..10], plain[..10], "{options:?}");
        for pair in lost[10..30].windows(2) {
            let ([s, v, _], [next, same, _]) = (pair[0], pair[1]);
            assert_eq!(v, same, "{options:?}");
            assert!((next - s - 0.01 * v).abs() < 1e-12, "{options:?}");
        }
        // An overridden force of 4 N: the velocity grows by 0.02 m/s a step.
        let given = positions(
            mass_on_a_spring(options),
            "mass.f",
            "{ name = 'override', value = 4 }",
        );
        for pair in given[10..30].windows(2) {
            assert!(
                (pair[1][1] - pair[0][1] - 0.02).abs() < 1e-12,
                "{options:?}"
            );
        }
        // The reduced model moves as the mass does: the spring's force follows the mass's place.
        for points in [&lost, &given] {
            for [s, _, f] in &points[11..30] {
                let (expected, step) = (-80.0 * s, 80.0 * 0.02);
                assert!(
                    (f - expected).abs() < step,
                    "{options:?}: {f}, not {expected}"
                );
            }
        }
        // The spring measures another place.
        let frozen = positions(mass_on_a_spring(options), "spring.s", "'freeze'");
        for pair in frozen[10..29].windows(2) {
            assert_eq!(pair[0][2], pair[1][2], "{options:?}");
        }
        let last = |points: &[[f64; 3]]| points[39];
        assert_ne!(last(&frozen), last(&plain), "{options:?}");
    }
}
