//! The first communication point: start values, propagation of outputs, algebraic loops.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use fmu_models::{AllTypes, OscillatorForce, OscillatorMotion};
use gyrator::observer::{ObserverError, StopRequest, Watch};
use gyrator::system::set_tolerance;
use gyrator::unit::{Handle, Period, UnitDescription, UnitResult, UnitWrapper};
use gyrator::{
    LinearUnit, Observer, Run, RunError, RunOptions, StartError, System, Unit, Value, View,
};
use gyrator_system::{NumberConversion, Tolerance};
use gyrator_testkit::{ModelUnit, fmu};

/// y = gain·u + offset at once.
fn gain(gain: f64, offset: f64) -> LinearUnit {
    LinearUnit::new(&[offset], &["u"], &["y"], [&[0.0], &[0.0], &[1.0], &[gain]])
}

fn start(system: System) -> Run {
    system.start(&RunOptions::default()).unwrap()
}

/// Two gains that feed each other: y_a = `a`·y_b + 1, y_b = `b`·y_a.
fn loop_of_two(a: f64, b: f64) -> System {
    let mut system = System::new(0.1);
    system.add("a", gain(a, 1.0));
    system.add("b", gain(b, 0.0));
    system.connect("a.y", "b.u");
    system.connect("b.y", "a.u");
    system
}

#[test]
fn outputs_pass_a_chain_in_the_order_of_dependency() {
    let mut system = System::new(0.1);
    system.add("a", gain(5.0, 1.0));
    system.add("b", gain(3.0, 0.0));
    system.add("c", gain(2.0, 7.0));
    system.connect("c.y", "b.u");
    system.connect("b.y", "a.u");
    let mut run = start(system);
    assert_eq!(run.read_real("c.y").unwrap(), 7.0);
    assert_eq!(run.read_real("b.y").unwrap(), 21.0);
    assert_eq!(run.read_real("a.y").unwrap(), 106.0);
    assert_eq!(run.time(), 0.0);
}

// Closed form: y_a = 1/(1 − a·b).
#[test]
fn a_contractive_loop_converges() {
    let mut run = start(loop_of_two(0.5, 0.4));
    assert!((run.read_real("a.y").unwrap() - 1.25).abs() < 1e-11);
    assert!((run.read_real("b.y").unwrap() - 0.5).abs() < 1e-11);
}

#[test]
fn a_loop_that_iteration_would_drive_away_is_solved() {
    for (a, b) in [(3.0, 2.0), (-5.0, 4.0), (-1.0, 1.0), (100.0, 100.0)] {
        let mut run = start(loop_of_two(a, b));
        let expected = 1.0 / (1.0 - a * b);
        let found = run.read_real("a.y").unwrap();
        assert!(
            (found / expected - 1.0).abs() < 1e-8,
            "{found} for {a}, {b}"
        );
    }
}

#[test]
fn a_loop_without_a_solution_names_its_members() {
    let mut system = loop_of_two(1.0, 1.0);
    system.add("apart", gain(1.0, 0.0));
    match system.start(&RunOptions::default()) {
        Err(StartError::Run(RunError::InitialLoop { members, .. })) => {
            assert_eq!(members, "a.y, b.y");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("1 + y = y was solved"),
    }
}

#[test]
fn start_values_reach_the_units() {
    let mut system = System::new(1e-3);
    system
        .add("force", ModelUnit::<OscillatorForce>::new())
        .start("k_c", 50)
        .start("x_start", 0.25)
        .start("x2", 0.05);
    let mut run = start(system);
    assert_eq!(run.read_real("force.x").unwrap(), 0.25);
    assert!((run.read_real("force.f").unwrap() - 50.0 * (0.25 - 0.05)).abs() < 1e-12);
}

#[test]
fn start_values_of_every_type_reach_the_units() {
    let mut system = System::new(1e-3);
    system
        .add("unit", ModelUnit::<AllTypes>::new())
        .start("integer_in", -4)
        .start("boolean_in", true)
        .start("string_in", "Ωmega")
        .start("prefix", "> ")
        .start("colour_parameter", "blue");
    let mut run = start(system);
    for (name, expected) in [
        ("integer_out", Value::Integer(-4)),
        ("boolean_out", Value::Boolean(true)),
        ("string_out", Value::String("> Ωmega".into())),
        ("colour_parameter_out", Value::Integer(3)),
    ] {
        assert_eq!(run.read(&format!("unit.{name}")).unwrap(), expected);
    }
}

#[test]
fn outputs_of_every_type_pass_at_the_start_and_in_the_run() {
    let mut system = System::new(1e-3);
    system
        .add("second", ModelUnit::<AllTypes>::new())
        .start("prefix", "b");
    system
        .add("first", ModelUnit::<AllTypes>::new())
        .start("prefix", "a")
        .start("integer_in", 5)
        .start("colour_in", 2);
    for name in ["real", "integer", "boolean", "string", "colour"] {
        system.connect(&format!("first.{name}_out"), &format!("second.{name}_in"));
    }
    let mut run = start(system);
    let expect = |run: &mut Run, integer: i32, text: &str| {
        assert_eq!(
            run.read("second.integer_out").unwrap(),
            Value::Integer(integer)
        );
        assert_eq!(run.read("second.colour_out").unwrap(), Value::Integer(2));
        let text = Value::String(text.into());
        assert_eq!(run.read("second.string_out").unwrap(), text);
    };
    expect(&mut run, 5, "ba");
    run.write("first.integer_in", &Value::Integer(9)).unwrap();
    run.write("first.string_in", &Value::String("c".into()))
        .unwrap();
    run.step().unwrap();
    run.step().unwrap();
    expect(&mut run, 9, "bac");
}

/// A unit whose outputs change when Initialization Mode ends, as in models that handle events there: numbers grow by one,
/// Booleans turn around, texts get a mark.
struct Settling(ModelUnit<AllTypes>, bool);

impl UnitWrapper for Settling {
    fn inner(&self) -> &dyn Unit {
        &self.0
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.0
    }

    fn exit_initialization_mode(&mut self) -> UnitResult {
        self.1 = true;
        self.0.exit_initialization_mode()
    }

    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        self.0.get_reals(handles, values)?;
        values
            .iter_mut()
            .for_each(|value| *value += f64::from(self.1));
        Ok(())
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        self.0.get_value(handle, value)?;
        match value {
            _ if !self.1 => {}
            Value::Real(value) => *value += 1.0,
            Value::Integer(value) => *value += 1,
            Value::Boolean(value) => *value = !*value,
            Value::String(value) => value.push('!'),
        }
        Ok(())
    }
}

fn settling() -> System {
    let mut system = System::new(0.1);
    system.add("first", Settling(ModelUnit::new(), false));
    system.add("second", ModelUnit::<AllTypes>::new());
    system
}

/// The values that `component` has and repeats: Real, Integer, Boolean, String, Enumeration.
fn outputs(run: &mut Run, component: &str) -> [Value; 5] {
    let names = ["real", "integer", "boolean", "string", "colour"];
    names.map(|name| run.read(&format!("{component}.{name}_out")).unwrap())
}

#[test]
fn outputs_of_every_type_are_read_when_initialization_mode_has_ended() {
    let mut system = settling();
    for name in ["real", "integer", "boolean", "string", "colour"] {
        system.connect(&format!("first.{name}_out"), &format!("second.{name}_in"));
    }
    let settled = [
        Value::Real(1.0),
        Value::Integer(1),
        Value::Boolean(true),
        Value::String("!".into()),
        Value::Integer(2),
    ];
    let mut run = start(system);
    assert_eq!(outputs(&mut run, "first"), settled);
    run.step().unwrap();
    assert_eq!(outputs(&mut run, "second"), settled);
}

#[test]
fn connections_between_types_pass_what_outputs_are_after_initialization_mode() {
    for (from, to, expected) in [
        ("boolean_out", "real", Value::Real(1.0)),
        ("real_out", "integer", Value::Integer(1)),
        ("integer_out", "boolean", Value::Boolean(true)),
    ] {
        let mut system = settling();
        let connection = system.connect(&format!("first.{from}"), &format!("second.{to}_in"));
        if from == "real_out" {
            connection.convert(NumberConversion::Round);
        }
        let mut run = start(system);
        run.step().unwrap();
        let found = run.read(&format!("second.{to}_out")).unwrap();
        assert_eq!(found, expected, "{from}");
    }
}

#[test]
fn watched_inputs_have_the_values_after_initialization_mode_in_the_first_row() {
    struct First(Arc<Mutex<Vec<Value>>>);

    impl Observer for First {
        fn watches(&mut self, _: &View<'_>) -> Result<Vec<Watch>, ObserverError> {
            Ok(vec![Watch::each("second.integer_in")])
        }

        fn begin(&mut self, view: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
            let values = view.watched.iter().map(|variable| variable.value.clone());
            self.0.lock().unwrap().extend(values);
            Ok(ControlFlow::Continue(()))
        }

        fn step(&mut self, _: &View<'_>) -> Result<ControlFlow<StopRequest>, ObserverError> {
            Ok(ControlFlow::Continue(()))
        }
    }

    let mut system = settling();
    system.connect("first.integer_out", "second.integer_in");
    let seen = Arc::<Mutex<Vec<Value>>>::default();
    start(system).observe(First(Arc::clone(&seen))).unwrap();
    assert_eq!(*seen.lock().unwrap(), [Value::Integer(1)]);
}

/// A unit that recommends a tolerance, and keeps the one that it is given.
struct Tolerant {
    unit: LinearUnit,
    description: UnitDescription,
    given: Arc<Mutex<Option<f64>>>,
}

impl UnitWrapper for Tolerant {
    fn inner(&self) -> &dyn Unit {
        &self.unit
    }

    fn inner_mut(&mut self) -> &mut dyn Unit {
        &mut self.unit
    }

    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn setup_experiment(&mut self, period: &Period) -> UnitResult {
        *self.given.lock().unwrap() = period.tolerance;
        self.unit.setup_experiment(period)
    }
}

#[test]
fn c37_units_get_the_tolerance_of_the_experiment_or_their_own() {
    let own = [Some(1e-3), None, Some(1e-7)];
    for (of_experiment, expected) in [
        (None, own),
        (Some(Tolerance::Relative(1e-5)), [Some(1e-5); 3]),
        (Some(Tolerance::Off), [None; 3]),
    ] {
        let mut system = System::new(0.1);
        if let Some(tolerance) = of_experiment {
            set_tolerance(&mut system, tolerance);
        }
        let given = [(); 3].map(|()| Arc::<Mutex<Option<f64>>>::default());
        for ((name, own), given) in ["a", "b", "c"].iter().zip(own).zip(&given) {
            let unit = gain(1.0, 0.0);
            let mut description = unit.description().clone();
            description.default_tolerance = own;
            let given = Arc::clone(given);
            system.add(
                name,
                Tolerant {
                    unit,
                    description,
                    given,
                },
            );
        }
        drop(start(system));
        assert_eq!(given.map(|given| *given.lock().unwrap()), expected);
    }
}

/// Without propagation a component keeps the start values of its inputs.
#[test]
fn propagation_can_be_turned_off() {
    let force_at_start = |propagate: bool| {
        let mut system = System::new(1e-3);
        system
            .add("force", ModelUnit::<OscillatorForce>::new())
            .start("x2", 0.2);
        system
            .add("motion", ModelUnit::<OscillatorMotion>::new())
            .start("x_start", 0.5);
        system.connect("motion.x", "force.x2");
        let mut file = system.description().clone();
        for component in &mut file.components {
            component.propagate_initial_inputs = propagate;
            component.fmu.value = match component.name.value.as_str() {
                "force" => fmu("OscillatorForce"),
                _ => fmu("OscillatorMotion"),
            };
        }
        let mut run = start(System::from_file(file).unwrap());
        run.read_real("force.f").unwrap()
    };
    assert_eq!(force_at_start(true), -50.0);
    assert_eq!(force_at_start(false), -20.0);
}

#[test]
fn a_run_of_no_length_has_its_initial_values() {
    let mut system = loop_of_two(0.0, 0.0);
    system.stop_time(0.0);
    let mut run = start(system);
    assert!(run.has_ended());
    assert_eq!(run.read_real("a.y").unwrap(), 1.0);
    assert_eq!(run.run().unwrap().steps, 0);
}
