//! Descriptions that make no system: every rule, its message and its advice.

use fmu_models::{AllTypes, OscillatorForce, OscillatorMotion};
use gyrator::unit::{
    Capabilities, Causality, PhysicalUnit, StepOutcome, UnitDescription, UnitResult, Variable,
};
use gyrator::{ClosureUnit, LinearUnit, RunOptions, StartError, System, Unit, Value};
use gyrator_system::{
    Choice, Component, Problem, Severity, Spanned, SystemFile, Value as FileValue,
};
use gyrator_testkit::ModelUnit;

/// The oscillators, connected.
fn system() -> System {
    let mut system = System::new(1e-3);
    system.add("force", ModelUnit::<OscillatorForce>::new());
    system.add("motion", ModelUnit::<OscillatorMotion>::new());
    system.connect("motion.x", "force.x2");
    system
}

/// The errors that starting `system` gives; they must be those that checking it gives.
fn errors(system: System) -> Vec<Problem> {
    let checked = system.check();
    match system.start(&RunOptions::default()) {
        Err(StartError::Invalid(problems)) => {
            let rules = |list: &[Problem]| list.iter().map(|p| p.rule).collect::<Vec<_>>();
            assert_eq!(rules(&checked), rules(&problems.list));
            let is_error = |problem: &Problem| problem.severity == Severity::Error;
            problems.list.into_iter().filter(is_error).collect()
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the system started; checking it said {checked:?}"),
    }
}

/// Expects one error, of this rule, whose text and advice contain the `parts`.
#[track_caller]
fn expect(system: System, rule: &str, parts: &[&str]) {
    let errors = errors(system);
    assert_eq!(errors.len(), 1, "{errors:?}");
    assert_eq!(errors[0].rule, rule);
    let text = format!(
        "{} {}",
        errors[0].message,
        errors[0].help.clone().unwrap_or_default()
    );
    for part in parts {
        assert!(text.contains(part), "“{part}” is not in “{text}”");
    }
}

#[test]
fn the_sound_system_starts() {
    assert_eq!(system().check(), []);
    system().start(&RunOptions::default()).unwrap();
}

#[test]
fn unknown_names() {
    let mut unknown = system();
    unknown.connect("force.f", "motion.ff");
    expect(
        unknown,
        "unknown-variable",
        &["`motion` has no variable `ff`", "did you mean `f`"],
    );
    let mut unknown = system();
    unknown.connect("force.f", "moton.f");
    expect(
        unknown,
        "unknown-component",
        &["`moton`", "did you mean `motion`"],
    );
    let mut unknown = system();
    unknown
        .add("third", ModelUnit::<OscillatorMotion>::new())
        .start("v_strat", 1.0);
    expect(
        unknown,
        "unknown-variable",
        &["v_strat", "did you mean `v_start`"],
    );
}

#[test]
fn causality() {
    let mut backwards = system();
    backwards.connect("motion.f", "force.f");
    let errors = errors(backwards);
    assert_eq!(errors.len(), 2);
    for (error, part) in errors.iter().zip(["must be an output", "must be an input"]) {
        assert_eq!(error.rule, "causality-mismatch");
        assert!(error.message.contains(part), "{error:?}");
    }
    let mut parameter = system();
    parameter.connect("force.f", "motion.k");
    expect(
        parameter,
        "causality-mismatch",
        &["motion.k", "a parameter", "wrong way round"],
    );
}

#[test]
fn types() {
    let mut mixed = system();
    mixed.add("echo", ModelUnit::<AllTypes>::new());
    mixed.connect("force.f", "echo.integer_in");
    expect(
        mixed,
        "type-mismatch",
        &["force.f → echo.integer_in", "Real", "Integer"],
    );
    let mut allowed = System::new(1.0);
    allowed.add("echo", ModelUnit::<AllTypes>::new());
    allowed.add("next", ModelUnit::<AllTypes>::new());
    allowed.connect("echo.integer_out", "next.colour_in");
    assert_eq!(allowed.check(), []);
}

#[test]
fn units_of_measure() {
    let mut mixed = system();
    mixed.connect("motion.v", "motion.f");
    expect(mixed, "unit-mismatch", &["m/s", "N", "different things"]);
}

/// A unit of one variable with a unit of measure.
struct Measured(UnitDescription);

impl Measured {
    fn new(name: &str, causality: Causality, unit: PhysicalUnit) -> Self {
        let variable = Variable {
            unit: Some(unit),
            ..Variable::real(name, 0, causality)
        };
        let capabilities = Capabilities {
            input_derivatives: 0,
            output_derivatives: 0,
            fresh_outputs: false,
            directional_derivatives: false,
            variable_step: false,
            save_and_restore: false,
            serialize: false,
        };
        Self(UnitDescription::new(
            vec![variable],
            Default::default(),
            capabilities,
        ))
    }
}

impl Unit for Measured {
    fn description(&self) -> &UnitDescription {
        &self.0
    }
    fn set_reals(&mut self, _: &[u32], _: &[f64]) -> UnitResult {
        Ok(())
    }
    fn get_reals(&mut self, _: &[u32], values: &mut [f64]) -> UnitResult {
        values.fill(20.0);
        Ok(())
    }
    fn step(&mut self, _: f64, _: f64) -> UnitResult<StepOutcome> {
        Ok(StepOutcome::Done)
    }
}

#[test]
fn units_without_base_units_are_named_where_numbers_are_passed_on() {
    let unit = |name: &str, exponents| PhysicalUnit {
        name: name.to_owned(),
        exponents,
        factor: 1.0,
        offset: 0.0,
        relative: false,
    };
    let pascal = Some([1, -1, -2, 0, 0, 0, 0, 0]);
    let system = |from: PhysicalUnit, to: PhysicalUnit| {
        let mut system = System::new(1.0);
        system.add("a", Measured::new("y", Causality::Output, from));
        system.add("b", Measured::new("u", Causality::Input, to.clone()));
        system.add("c", Measured::new("u", Causality::Input, to));
        system
    };
    let mut mixed = system(unit("kPa", None), unit("Pa", pascal));
    mixed.connect("a.y", "b.u");
    mixed.connect("a.y", "c.u");
    let problems = mixed.check();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].rule, "undefined-unit");
    assert_eq!(problems[0].severity, Severity::Warning);
    assert_eq!(
        problems[0].message,
        "a.y → b.u and another connection: the unit kPa has no base units in its FMU; values in kPa are passed on as if \
         they were in Pa"
    );
    let mut alike = system(unit("Pa", None), unit("Pa", pascal));
    alike.connect("a.y", "b.u");
    assert_eq!(alike.check(), []);
    let mut scaled = system(unit("kPa", None), unit("Pa", pascal));
    scaled.connect("a.y", "b.u").gain(1e3);
    assert_eq!(scaled.check(), []);
}

// 20 °C are 293.15 K; base = factor·value + offset (FMI 2.0 §2.2.2).
#[test]
fn units_of_measure_are_converted_with_their_offset() {
    let temperature = |name: &str, offset: f64| PhysicalUnit {
        name: name.to_owned(),
        exponents: Some([0, 0, 0, 0, 1, 0, 0, 0]),
        factor: 1.0,
        offset,
        relative: false,
    };
    let mut system = System::new(1.0);
    let celsius = temperature("degC", 273.15);
    system.add("celsius", Measured::new("y", Causality::Output, celsius));
    let kelvin = Measured::new("u", Causality::Input, temperature("K", 0.0));
    let (spy, spied) = gyrator_testkit::Spy::on(kelvin);
    system.add("kelvin", spy);
    system.connect("celsius.y", "kelvin.u");
    system
        .start(&RunOptions::default())
        .unwrap()
        .step()
        .unwrap();
    let (_, _, value) = spied.inputs()[0].values[0];
    assert!((value - 293.15).abs() < 1e-12, "{value}");
}

#[test]
fn an_input_has_one_source() {
    let mut twice = system();
    twice.connect("motion.v", "force.v2");
    twice.connect("force.v", "force.v2");
    expect(twice, "input-fed-twice", &["force.v2"]);
    let mut same_twice = system();
    same_twice.connect("motion.x", "force.x2");
    assert_eq!(same_twice.check(), []);
}

#[test]
fn steps() {
    let with_step = |seconds: f64| {
        let mut system = system();
        system
            .add("third", ModelUnit::<OscillatorMotion>::new())
            .step_size(seconds);
        system
    };
    expect(
        with_step(3e-4),
        "step-does-not-divide",
        &["0.0003", "third", "0.00025", "0.00033"],
    );
    expect(
        with_step(2.5e-3),
        "step-does-not-divide",
        &["0.0025", "0.002 s and 0.003 s"],
    );
    for bad in [0.0, -1e-3, f64::NAN, f64::INFINITY, 1e-300, 1e300] {
        expect(with_step(bad), "step-does-not-divide", &["third"]);
    }
    for bad in [0.0, -1e-3, f64::NAN, f64::INFINITY] {
        let mut system = System::new(bad);
        system.add("motion", ModelUnit::<OscillatorMotion>::new());
        expect(system, "bad-step", &["must be positive"]);
    }
    let mut without = SystemFile::new("<code>");
    let block = Choice::new("constant");
    without.components.push(Component::of_block("one", block));
    let without = System::from_file(without).unwrap();
    expect(without, "no-step", &["step_size"]);
}

#[test]
fn steps_without_a_practicable_common_divisor() {
    let mut system = System::new(1.0);
    for (name, divisions) in [("a", 9973.0), ("b", 9967.0), ("c", 9949.0)] {
        system
            .add(name, ModelUnit::<OscillatorMotion>::new())
            .step_size(1.0 / divisions);
    }
    expect(system, "steps-without-common-divisor", &["common divisor"]);
}

#[test]
fn bonds_pair() {
    let mut one_way = system();
    one_way.bond("shaft", ("force.f", "motion.f"), ("force.v", "force.v2"));
    expect(
        one_way,
        "bond-does-not-pair",
        &["shaft", "from `force` to `motion`"],
    );
    let mut uneven = system();
    uneven.bond("shaft", ("force.f", "motion.f"), ("motion.v", "force.v2"));
    let mut file = uneven.description().clone();
    file.bonds[0].flow.clear();
    for component in &mut file.components {
        component.fmu.value = gyrator_testkit::fmu("OscillatorForce");
    }
    let second = file
        .components
        .iter_mut()
        .find(|c| c.name.value == "motion");
    second.unwrap().fmu.value = gyrator_testkit::fmu("OscillatorMotion");
    expect(
        System::from_file(file).unwrap(),
        "bond-does-not-pair",
        &["1 efforts and 0 flows"],
    );
}

#[test]
fn stop_times() {
    let mut before = system();
    before.stop_time(-1.0);
    expect(before, "stop-before-start", &["-1", "0"]);
    for bad in [f64::NAN, f64::INFINITY] {
        let mut never = system();
        never.stop_time(bad);
        expect(never, "stop-before-start", &[]);
    }
    let mut between = System::new(0.1);
    between.add(
        "rigid",
        ModelUnit::<OscillatorMotion>::new().with_fixed_step(),
    );
    between.stop_time(0.25);
    expect(
        between,
        "stop-time-between-steps",
        &["rigid", "0.2 s and 0.3 s"],
    );
    let mut slow = System::new(0.1);
    slow.add("slow", ModelUnit::<OscillatorMotion>::new())
        .step_size(0.4);
    slow.stop_time(1.0);
    expect(slow, "stop-time-between-steps", &["slow", "0.8 s and 1.2"]);
}

#[test]
fn start_values() {
    let with_start = |variable: &str, value: Value| {
        let mut system = system();
        system
            .add("echo", ModelUnit::<AllTypes>::new())
            .start(variable, value);
        system
    };
    for (variable, value, expected) in [
        ("real_in", Value::Boolean(true), "a number"),
        ("real_in", Value::Real(f64::NAN), "a finite number"),
        ("integer_in", Value::Real(1.5), "an integer"),
        ("boolean_in", Value::Integer(2), "true or false"),
        ("string_in", Value::Integer(2), "text in quotes"),
        (
            "colour_in",
            Value::String("pink".into()),
            "one of red, green, blue",
        ),
        (
            "colour_in",
            Value::Integer(7),
            "one of 1 (red), 2 (green), 3 (blue)",
        ),
        ("colour_in", Value::Boolean(true), "the name or the number"),
    ] {
        let part = format!("`echo.{variable}` must be {expected}");
        expect(with_start(variable, value), "start-value-type", &[&part]);
    }
    let mut large = SystemFile::new("<file>");
    let fmu = gyrator_testkit::fmu("AllTypes");
    let echo = large.add_component("echo", fmu);
    echo.set_start_value("integer_in", FileValue::Integer(1 << 40));
    large.experiment.step_size = Some(Spanned::unplaced(1e-3));
    let large = System::from_file(large).unwrap();
    let part = "`echo.integer_in` must be an integer of 32 bits";
    expect(large, "start-value-type", &[part]);
    let computed = with_start("real_out", Value::Real(1.0));
    expect(
        computed,
        "start-value-refused",
        &["real_out", "computed by the unit"],
    );
}

#[test]
fn words_and_parameters() {
    let mut unknown = system();
    unknown
        .add("third", ModelUnit::<OscillatorMotion>::new())
        .extrapolation("linaer");
    expect(
        unknown,
        "unknown-word",
        &["linaer", "did you mean `linear`", "quadratic"],
    );
    let mut unknown = system();
    unknown
        .add("third", ModelUnit::<OscillatorMotion>::new())
        .exchange("frsh");
    expect(unknown, "unknown-word", &["frsh", "did you mean `fresh`"]);
    let mut unknown = system();
    unknown.method("gauss");
    expect_started(unknown, "unknown-word", "gauss");
    let mut unknown = system();
    unknown.step_control("fixd");
    expect_started(unknown, "unknown-word", "did you mean `fixed`");
    let corrected = |parameters: &[(&str, f64)]| {
        let mut system = system();
        let bond = system.bond("shaft", ("force.f", "motion.f"), ("motion.v", "force.v2"));
        bond.correction(("residual-power", parameters));
        system
    };
    expect(
        corrected(&[("mue", 0.5)]),
        "unknown-parameter",
        &["mue", "did you mean `mu`"],
    );
    expect(
        corrected(&[("nu", -1.0)]),
        "bad-parameter",
        &["`nu`", "from 0 to 10"],
    );
}

#[test]
fn a_whole_number_is_no_fraction() {
    let iterative = |passes: f64| {
        let mut system = system();
        system.method(("iterative", [("max_iterations", passes)]));
        system
    };
    let expected = "`max_iterations` of `iterative` must be a whole number from 1 to 10000";
    for passes in [2.5, 0.0, 10_001.0, f64::NAN] {
        expect_started(iterative(passes), "bad-parameter", expected);
    }
    assert!(iterative(2.0).start(&RunOptions::default()).is_ok());
    let mut order = system();
    order.extrapolation(("hinfinity", [("weight_order", 1.5)]));
    expect_started(order, "bad-parameter", "a whole number from 1 to 3");
}

/// As [`expect`], for problems that checking does not look for.
#[track_caller]
fn expect_started(system: System, rule: &str, part: &str) {
    match system.start(&RunOptions::default()) {
        Err(StartError::Invalid(problems)) => {
            assert_eq!(problems.list[0].rule, rule);
            assert!(problems.to_string().contains(part), "{problems}");
        }
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the system started"),
    }
}

#[test]
fn a_gain_needs_a_number() {
    let mut system = System::new(1.0);
    system.add("echo", ModelUnit::<AllTypes>::new());
    system.add("next", ModelUnit::<AllTypes>::new());
    system
        .connect("echo.integer_out", "next.integer_in")
        .gain(2.0);
    expect(
        system,
        "type-mismatch",
        &["echo.integer_out → next.integer_in", "with a gain", "round"],
    );
}

#[test]
fn all_problems_are_reported_at_once() {
    let mut system = System::new(1e-3);
    system
        .add("force", ModelUnit::<OscillatorForce>::new())
        .step_size(3e-4)
        .exchange("old")
        .start("m", true);
    system.connect("motion.x", "force.x2");
    system.connect("force.ff", "force.x2");
    let bond = system.bond("shaft", ("force.f", "force.v2"), ("force.v", "force.x2"));
    bond.correction("magic");
    let rules: Vec<_> = errors(system).iter().map(|problem| problem.rule).collect();
    for rule in [
        "step-does-not-divide",
        "unknown-word",
        "start-value-type",
        "unknown-component",
        "unknown-variable",
        "bond-does-not-pair",
    ] {
        assert!(rules.contains(&rule), "{rule} is not among {rules:?}");
    }
}

#[test]
fn names_are_unique_and_numbers_are_numbers() {
    let mut twice = system();
    twice.add("motion", ModelUnit::<OscillatorMotion>::new());
    expect(twice, "duplicate-name", &["motion"]);
    let mut nowhen = system();
    nowhen.start_time(f64::NAN);
    expect(nowhen, "not-finite", &["start time is NaN"]);
    let mut sideways = system();
    sideways
        .bond("shaft", ("force.f", "motion.f"), ("motion.v", "force.v2"))
        .sense(f64::NAN);
    expect(sideways, "invalid-sense", &["`sense` is NaN"]);
    expect(System::new(1.0), "no-components", &[]);
}

#[test]
fn units_without_inputs_or_outputs_run() {
    let mut system = System::new(0.5);
    system.add("silent", ClosureUnit::new(&[], &[], |_| {}));
    system.add("deaf", ClosureUnit::new(&[], &[("y", 1.0)], |_| {}));
    system.add(
        "dumb",
        LinearUnit::new(&[0.0], &["u"], &[], [&[0.0], &[1.0], &[], &[]]),
    );
    system.connect("deaf.y", "dumb.u");
    system.stop_time(2.0);
    let mut run = system
        .start(&RunOptions {
            threads: 2,
            step_clock: gyrator_testkit::ticking(),
            ..RunOptions::default()
        })
        .unwrap();
    assert_eq!(run.run().unwrap().steps, 4);
}
