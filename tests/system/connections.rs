//! Conversion of units and types on connections.

use fmu_models::AllTypes;
use gyrator::system::drafted_plan;
use gyrator::unit::{PhysicalUnit, UnitDescription, UnitWrapper};
use gyrator::{ClosureUnit, LinearUnit, RunError, RunOptions, System, Unit, Value};
use gyrator_system::NumberConversion;
use gyrator_testkit::ModelUnit;

/// A unit whose variables are all measured in one unit.
struct Measured(Box<dyn Unit>, UnitDescription);

impl Measured {
    fn new(unit: impl Unit + 'static, measure: &PhysicalUnit) -> Self {
        let mut description = unit.description().clone();
        for variable in &mut description.variables {
            variable.unit = Some(measure.clone());
        }
        Self(Box::new(unit), description)
    }
}

impl UnitWrapper for Measured {
    fn inner(&self) -> &dyn Unit {
        &*self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut *self.0
    }

    fn description(&self) -> &UnitDescription {
        &self.1
    }
}

fn measure(name: &str, exponents: [i32; 8], factor: f64, offset: f64) -> PhysicalUnit {
    PhysicalUnit {
        name: name.to_owned(),
        exponents: Some(exponents),
        factor,
        offset,
        relative: false,
    }
}

const TEMPERATURE: [i32; 8] = [0, 0, 0, 0, 1, 0, 0, 0];
const VELOCITY: [i32; 8] = [0, 1, -1, 0, 0, 0, 0, 0];
const PRESSURE: [i32; 8] = [1, -1, -2, 0, 0, 0, 0, 0];

/// The value that an input in one unit receives from an output in another one.
fn received(value: f64, units: [PhysicalUnit; 2], gain: Option<f64>, offset: Option<f64>) -> f64 {
    let [from, to] = units;
    let mut system = System::new(1.0);
    let source = ClosureUnit::new(&[], &[("y", value)], |_| {});
    let sink = LinearUnit::new(&[], &["u"], &["y"], [&[], &[], &[], &[1.0]]);
    system.add("source", Measured::new(source, &from));
    system.add("sink", Measured::new(sink, &to));
    let mut connection = system.connect("source.y", "sink.u");
    if let Some(gain) = gain {
        connection = connection.gain(gain);
    }
    if let Some(offset) = offset {
        connection.offset(offset);
    }
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.step().unwrap();
    run.read_real("sink.y").unwrap()
}

// Definitions of the units (SI brochure, 9th edition, tables 4 and 8): 0 °C = 273.15 K, 3.6 km/h =
// 1 m/s, 1 bar = 100 000 Pa. Tolerance: none, each value is rounded once.
#[test]
fn units_gain_and_offset_to_the_last_digit() {
    let kelvin = || measure("K", TEMPERATURE, 1.0, 0.0);
    let celsius = || measure("degC", TEMPERATURE, 1.0, 273.15);
    let per_hour = || measure("km/h", VELOCITY, 1.0 / 3.6, 0.0);
    let per_second = || measure("m/s", VELOCITY, 1.0, 0.0);
    let bar = || measure("bar", PRESSURE, 1e5, 0.0);
    let pascal = || measure("Pa", PRESSURE, 1.0, 0.0);
    for value in [20.5, -40.0, 1.01325, 36.6, 1e-3] {
        let plain = |from, to| received(value, [from, to], None, None);
        assert_eq!(plain(celsius(), kelvin()), value + 273.15);
        assert_eq!(plain(kelvin(), celsius()), value - 273.15);
        assert_eq!(plain(per_hour(), per_second()), value * (1.0 / 3.6));
        assert_eq!(plain(bar(), pascal()), value * 1e5);
        let changed = |from, to| received(value, [from, to], Some(2.0), Some(-1.0));
        assert_eq!(changed(pascal(), pascal()), value * 2.0 - 1.0);
        // The unit comes first: 2·(θ + 273.15) − 1.
        assert_eq!(
            changed(celsius(), kelvin()),
            value * 2.0 + (2.0 * 273.15 - 1.0)
        );
        assert_eq!(changed(bar(), pascal()), value * 2e5 - 1.0);
    }
}

#[test]
fn units_that_do_not_fit_are_refused_by_name_unless_they_are_ignored() {
    let connected = |unit_conversion: bool| {
        let mut system = System::new(1.0);
        let metre = measure("m", [0, 1, 0, 0, 0, 0, 0, 0], 1.0, 0.0);
        let newton = measure("N", [1, 1, -2, 0, 0, 0, 0, 0], 1.0, 0.0);
        let source = ClosureUnit::new(&[], &[("y", 2.0)], |_| {});
        let sink = ClosureUnit::new(&[("u", 0.0)], &[], |_| {});
        system.add("source", Measured::new(source, &metre));
        system.add("sink", Measured::new(sink, &newton));
        let connection = system.connect("source.y", "sink.u");
        if !unit_conversion {
            connection.ignore_units();
        }
        system.check()
    };
    let problems = connected(true);
    assert_eq!(problems.len(), 1);
    let message = &problems[0].message;
    assert!(message.contains("m to N (kg.m.s-2)"), "{message}");
    assert_eq!(connected(false), []);
}

/// Systems of models that repeat their inputs.
fn echoes(names: &[&str]) -> System {
    let mut system = System::new(0.5);
    for name in names {
        system.add(name, ModelUnit::<AllTypes>::new());
    }
    system
}

#[test]
fn types_that_lose_nothing_convert_by_themselves_also_at_the_start() {
    for method in ["jacobi", "gauss-seidel"] {
        let mut system = echoes(&["a", "b", "c", "d"]);
        system.method(method);
        // A chain that changes between real and other types three times.
        system
            .connect("a.boolean_parameter_out", "b.real_in")
            .gain(3.0);
        system
            .connect("b.real_out", "c.integer_in")
            .convert(NumberConversion::Round);
        system.connect("c.integer_out", "d.real_in");
        let mut run = system.start(&RunOptions::default()).unwrap();
        assert_eq!(
            run.read("c.integer_out").unwrap(),
            Value::Integer(3),
            "{method}"
        );
        assert_eq!(run.read_real("d.real_out").unwrap(), 3.0, "{method}");
        for _ in 0..4 {
            run.step().unwrap();
        }
        assert_eq!(run.read_real("d.real_out").unwrap(), 3.0, "{method}");
    }
}

/// The output of a unit that repeats an integer of a source whose value is the number of the macro-step; their communication steps, s.
fn seen_between(method: &str, [source, sink]: [f64; 2]) -> Vec<f64> {
    let mut system = echoes(&[]);
    system.method(method);
    system
        .add("a", ModelUnit::<AllTypes>::new())
        .step_size(source);
    let repeater = ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], |call| {
        call.outputs[0] = call.inputs[0];
    });
    system.add("z", repeater).step_size(sink);
    system.connect("a.integer_out", "z.u");
    let mut run = system.start(&RunOptions::default()).unwrap();
    let step = |step: i32| {
        run.write("a.integer_in", &Value::Integer(step)).unwrap();
        run.step().unwrap();
        run.read_real("z.y").unwrap()
    };
    (1..=6).map(step).collect()
}

#[test]
fn a_slow_receiver_gets_the_values_of_its_start_or_end() {
    // z steps by 1 s from t = 0, 1 and 2 s: with the integers published there, or at the end of its step.
    let rates = [0.5, 1.0];
    assert_eq!(
        seen_between("jacobi", rates),
        [0.0, 0.0, 0.0, 2.0, 2.0, 4.0]
    );
    for method in ["gauss-seidel", "mean-force"] {
        let seen = seen_between(method, rates);
        assert_eq!(seen, [0.0, 2.0, 2.0, 4.0, 4.0, 6.0], "{method}");
    }
}

#[test]
fn a_fast_receiver_gets_the_value_of_a_slow_source_when_its_step_ends() {
    // a steps from t = 0, 1 and 2 s with 1, 3 and 5, and publishes them at 1, 2 and 3 s.
    let rates = [1.0, 0.5];
    assert_eq!(
        seen_between("jacobi", rates),
        [0.0, 0.0, 1.0, 1.0, 3.0, 3.0]
    );
    assert_eq!(
        seen_between("gauss-seidel", rates),
        [0.0, 1.0, 1.0, 3.0, 3.0, 5.0]
    );
}

/// All types that a source has, changed before each step; the values of the sink after it.
fn sink_follows(method: &str, source: &str, sink: &str, delay: i32) {
    let mut system = echoes(&[source, sink]);
    system.method(method);
    for kind in ["integer", "boolean", "string", "colour"] {
        let (from, to) = (format!("{source}.{kind}_out"), format!("{sink}.{kind}_in"));
        system.connect(&from, &to);
    }
    let mut run = system.start(&RunOptions::default()).unwrap();
    let values = |step: i32| {
        [
            ("integer", Value::Integer(step)),
            ("boolean", Value::Boolean(step % 2 == 0)),
            ("string", Value::String(format!("step {step}"))),
            ("colour", Value::Integer(1 + step % 3)),
        ]
    };
    for step in 0..8 {
        for (kind, value) in values(step) {
            run.write(&format!("{source}.{kind}_in"), &value).unwrap();
        }
        run.step().unwrap();
        if step >= delay {
            for (kind, expected) in values(step - delay) {
                let found = run.read(&format!("{sink}.{kind}_out")).unwrap();
                assert_eq!(found, expected, "{method}: {source} to {sink} at {step}");
            }
        }
    }
}

#[test]
fn values_of_every_type_follow_the_order_of_the_method() {
    for (source, sink) in [("a", "b"), ("b", "a")] {
        sink_follows("jacobi", source, sink, 1);
        for method in ["gauss-seidel", "mean-force", "iterative", "linear-implicit"] {
            sink_follows(method, source, sink, 0);
        }
    }
}

#[test]
fn the_plan_says_which_values_are_those_of_the_end_of_the_step() {
    let mut system = echoes(&["a", "b"]);
    system.connect("a.string_out", "b.string_in");
    for (method, is_led) in [("jacobi", false), ("gauss-seidel", true)] {
        system.method(method);
        let plan = drafted_plan(&system).unwrap();
        let mut given = plan.operations.iter();
        let given = given
            .rfind(|line| line.operation == "give signals")
            .unwrap();
        let led = given.text.contains("; a.string_out of the end of the step");
        assert_eq!(led, is_led, "{method}: {}", given.text);
    }
}

#[test]
fn chains_between_types_pass_in_one_step_of_a_serial_method() {
    for (method, delay) in [("jacobi", 3), ("gauss-seidel", 0)] {
        let mut system = echoes(&["d", "c", "b", "a"]);
        system.method(method).extrapolation("hold");
        system.connect("d.integer_out", "c.real_in");
        system
            .connect("c.real_out", "b.integer_in")
            .convert(NumberConversion::Round);
        system.connect("b.integer_out", "a.real_in");
        let mut run = system.start(&RunOptions::default()).unwrap();
        for step in 0..8 {
            run.write("d.integer_in", &Value::Integer(step)).unwrap();
            run.step().unwrap();
            let expected = f64::from((step - delay).max(0));
            assert_eq!(run.read_real("a.real_out").unwrap(), expected, "{method}");
        }
    }
}

/// The value of a slow source that has stepped early is part of the state between its communication points.
#[test]
fn values_ahead_of_their_time_are_saved() {
    let mut system = echoes(&[]);
    system.method("gauss-seidel");
    system.add("a", ModelUnit::<AllTypes>::new()).step_size(1.0);
    system.add("z", ModelUnit::<AllTypes>::new());
    system.connect("a.integer_out", "z.integer_in");
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.write("a.integer_in", &Value::Integer(7)).unwrap();
    run.step().unwrap();
    let saved = run.save().unwrap();
    for _ in 0..3 {
        assert_eq!(run.read("z.integer_out").unwrap(), Value::Integer(0));
        run.step().unwrap();
        assert_eq!(run.read("z.integer_out").unwrap(), Value::Integer(7));
        run.write("a.integer_in", &Value::Integer(9)).unwrap();
        run.step().unwrap();
        run.step().unwrap();
        assert_eq!(run.read("z.integer_out").unwrap(), Value::Integer(9));
        run.restore(&saved).unwrap();
    }
}

#[test]
fn a_table_maps_values_and_a_value_without_entry_ends_the_run() {
    let mut system = echoes(&["a", "b"]);
    system
        .connect("a.integer_out", "b.colour_in")
        .convert_table([("7", Value::from("green")), ("-2", Value::from(3))]);
    system.component("a").unwrap().start("integer_in", 7);
    let mut run = system.start(&RunOptions::default()).unwrap();
    assert_eq!(run.read("b.colour_out").unwrap(), Value::Integer(2));
    run.write("a.integer_in", &Value::Integer(-2)).unwrap();
    run.step().unwrap();
    run.step().unwrap();
    assert_eq!(run.read("b.colour_out").unwrap(), Value::Integer(3));
    run.write("a.integer_in", &Value::Integer(5)).unwrap();
    run.step().unwrap();
    let error = run.step().unwrap_err();
    let RunError::Fault(fault) = &error else {
        panic!("{error}");
    };
    assert_eq!((&*fault.component, fault.time), ("b", 1.5));
    assert!(error.to_string().contains("the output is 5"), "{error}");
}

#[test]
fn an_integer_beyond_one_is_no_boolean() {
    let mut system = echoes(&["a", "b"]);
    system.connect("a.integer_out", "b.boolean_in");
    let mut run = system.start(&RunOptions::default()).unwrap();
    run.write("a.integer_in", &Value::Integer(2)).unwrap();
    run.step().unwrap();
    let error = run.step().unwrap_err().to_string();
    assert!(error.contains("nonzero"), "{error}");
}

/// A unit with outputs `y[1]` to `y[3]`, which are 10, 20 and 30, and inputs `u[0]` to `u[2]`, whose
/// digits make up its output `seen`.
fn vectors() -> impl Unit + 'static {
    let inputs = [("u[0]", 0.0), ("u[1]", 0.0), ("u[2]", 0.0)];
    let outputs = [
        ("y[1]", 10.0),
        ("y[2]", 20.0),
        ("y[3]", 30.0),
        ("seen", 0.0),
    ];
    ClosureUnit::new(&inputs, &outputs, |call| {
        call.outputs[3] = call
            .inputs
            .iter()
            .fold(0.0, |all, input| 100.0 * all + input);
    })
}

#[test]
fn patterns_and_ranges_connect_vectors() {
    for (from, to, expected) in [
        ("a.y[1:3]", "b.u[0:2]", 102_030.0),
        ("a.y[2:3]", "b.u[0:1]", 203_000.0),
        ("a.y[2]", "b.u[*]", 202_020.0),
        ("a.y[2]", "b.u[1:2]", 2020.0),
        ("a.*[1]", "b.*[1]", f64::NAN),
        ("a.y[*]", "b.u[*]", f64::NAN),
    ] {
        let mut system = System::new(1.0);
        system.add("a", vectors());
        system.add("b", vectors());
        system.connect(from, to);
        if expected.is_nan() {
            // a.y[3] has no input b.u[3], and a.y[1] no b.y[1].
            let problems = system.check();
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(["unknown-variable", "causality-mismatch"].contains(&problems[0].rule));
            continue;
        }
        let mut run = system.start(&RunOptions::default()).unwrap();
        run.step().unwrap();
        assert_eq!(run.read_real("b.seen").unwrap(), expected, "{from} {to}");
    }
}

#[test]
fn patterns_that_do_not_pair_are_refused() {
    for (from, to, part) in [
        ("a.y[1:3]", "b.u[1:2]", "3 elements"),
        ("a.y[*]", "b.u[1:3]", "in pairs"),
        ("a.y[*]", "b.u[1]", "in pairs"),
        ("a.z[*]", "b.u[*]", "no output fits"),
        ("a.y[1]", "b.z[*]", "no input fits"),
    ] {
        let mut system = System::new(1.0);
        system.add("a", vectors());
        system.add("b", vectors());
        system.connect(from, to);
        let problems = system.check();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert_eq!(problems[0].rule, "pattern-mismatch");
        assert!(
            problems[0].message.contains(part),
            "{}",
            problems[0].message
        );
    }
}
