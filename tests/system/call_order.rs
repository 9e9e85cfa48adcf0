//! FMUs that insist on the order of calls of FMI 2.0 §4.2.4, under every word of every registry (C-24).

use std::fmt::Write as _;
use std::path::Path;

use fmu_models::OscillatorMotion;
use gyrator::system::FmuCache;
use gyrator::{RunOptions, StopReason, System};
use gyrator_fmu::{Fmu, InstanceOptions, TypeAttributes};
use gyrator_system::{Severity, toml_file};
use gyrator_testkit::Combination;
use gyrator_testkit::{ModelUnit, Spy, needs_substeps};

/// Two strict FMUs in a loop with one feed-through, coupled by a bond; they step so many times a
/// macro-step.
fn system(combination: &Combination, substeps: [u32; 2]) -> String {
    let Combination {
        method,
        extrapolation,
        correction,
        exchange,
        step_control,
    } = combination;
    let fmu = gyrator_testkit::fmu("Strict");
    let [one, two] = substeps.map(|substeps| 0.01 / f64::from(substeps));
    let mut text = String::new();
    let _ = write!(
        text,
        r#"
[experiment]
start_time = 2.5
stop_time = 2.6
step_size = 0.01
method = "{method}"
extrapolation = "{extrapolation}"
exchange = "{exchange}"
step_control = "{step_control}"
[components.one]
fmu = {fmu:?}
step_size = {one}
start_values = {{ rate = 3.0 }}
[components.two]
fmu = {fmu:?}
step_size = {two}
start_values = {{ gain = -0.25 }}
[[bonds]]
name = "loop"
effort = {{ from = "one.x", to = "two.u" }}
flow = {{ from = "two.y", to = "one.u" }}
correction = "{correction}"
"#
    );
    text
}

/// How the run ends; `None` if the system is refused before anything is called.
fn run(text: &str, fmus: &FmuCache) -> Option<Result<StopReason, String>> {
    let (file, _) = toml_file::parse(text, Path::new("system.toml")).unwrap();
    let system = fmus.system(file).unwrap();
    let problems = system.check();
    if problems
        .iter()
        .any(|problem| problem.severity == Severity::Error)
    {
        return None;
    }
    let mut run = match system.start(&RunOptions::default()) {
        Ok(run) => run,
        Err(error) => return Some(Err(error.to_string())),
    };
    let report = run.run().map_err(|error| error.to_string());
    Some(report.map(|report| report.stop_reason.clone()))
}

#[test]
fn c24_c28_no_combination_makes_an_illegal_call() {
    let fmus = FmuCache::default();
    let (mut ran, mut caught) = (0, 0);
    let combinations = Combination::pairs();
    for (index, combination) in combinations.iter().enumerate() {
        let substeps = if needs_substeps(combination.extrapolation) {
            [5, 5]
        } else {
            [1, 1 + u32::from(index % 2 == 0)]
        };
        match run(&system(combination, substeps), &fmus) {
            None => {}
            Some(Ok(reason)) => {
                assert_eq!(reason, StopReason::StopTime, "{combination}");
                ran += 1;
            }
            // `fresh` asks for an order of calls that FMI 2.0 forbids.
            Some(Err(message)) if combination.exchange == "fresh" => {
                let expected = "read after values were set, without a step between";
                assert!(message.contains(expected), "{combination}: {message}");
                caught += 1;
                fmus.renew();
            }
            Some(Err(message)) => panic!("{combination}: {message}"),
        }
    }
    assert!(caught > 0, "the FMU refuses nothing");
    assert!(
        ran > combinations.len() / 2,
        "{ran} of {}",
        combinations.len()
    );
}

/// Whether all variables of a causality can be read in Initialization Mode, each with a call of its own.
fn can_be_read_in_initialization(model: &str, causality: gyrator_fmu::Causality) -> bool {
    let fmu = Fmu::open(&gyrator_testkit::fmu(model)).unwrap();
    let options = InstanceOptions::default();
    let mut instance = fmu.instantiate("one", &options).unwrap();
    instance.setup_experiment(None, 0.0, None).unwrap();
    instance.enter_initialization_mode().unwrap();
    let variables = &fmu.description().variables;
    let mut chosen = variables
        .iter()
        .filter(|variable| variable.causality == causality);
    assert!(chosen.clone().count() > 0);
    chosen.all(|variable| {
        let reference = [variable.value_reference];
        let read = match variable.kind {
            TypeAttributes::Real(_) => instance.get_real(&reference, &mut [0.0]),
            TypeAttributes::Boolean { .. } => instance.get_boolean(&reference, &mut [false]),
            TypeAttributes::String { .. } => instance.get_string(&reference, &mut [String::new()]),
            _ => instance.get_integer(&reference, &mut [0]),
        };
        read.is_ok()
    })
}

/// Observers of other tools read everything there; FMI 2.0 (4.2.4, note 2) allows the unknowns of the initialization.
#[test]
fn all_is_read_in_initialization_mode_unless_the_fmu_is_strict() {
    use gyrator_fmu::Causality::{Input, Output, Parameter};
    for causality in [Input, Output, Parameter] {
        assert!(can_be_read_in_initialization("AllTypes", causality));
        let strict = can_be_read_in_initialization("Strict", causality);
        assert_eq!(strict, causality == Output);
    }
}

/// One strict FMU, not connected to anything.
fn alone(start_time: f64, start_values: &str) -> String {
    let fmu = gyrator_testkit::fmu("Strict");
    format!(
        "[experiment]\nstart_time = {start_time}\nduration = 1.0\nstep_size = 0.125\n\
         [components.one]\nfmu = {fmu:?}\nstart_values = {{ {start_values} }}\n"
    )
}

/// Runs to the end: the outputs x and y, and the warnings that the FMU has returned.
fn outputs(text: &str) -> ([f64; 2], u64) {
    let (file, _) = toml_file::parse(text, Path::new("system.toml")).unwrap();
    let system = System::from_file(file).unwrap();
    let mut run = system.start(&RunOptions::default()).unwrap();
    let warnings = run.run().unwrap().counters.unit_warnings;
    let outputs = ["one.x", "one.y"].map(|name| run.read_real(name).unwrap());
    (outputs, warnings)
}

#[test]
fn c31_inputs_are_not_set_before_initialization_mode() {
    // The FMU takes an input that comes too early with a warning.
    let (_, warnings) = outputs(&alone(0.0, "u = 0.5, rate = 3.0"));
    assert_eq!(warnings, 0);
}

#[test]
fn c31_start_values_are_set_after_setup() {
    // The FMU goes back to its default values in fmi2SetupExperiment, as FMUs of 20-sim do. Closed
    // form: with rate·step = 1 a step of the explicit Euler method ends at x = u; y = x + gain·u.
    let values = "u = 0.5, rate = 8.0, gain = 3.0";
    assert_eq!(outputs(&alone(0.0, values)), ([0.5, 2.0], 0));
}

#[test]
fn c32_start_time_that_is_not_zero() {
    // All times are multiples of 2⁻³ and so exact; the model has no time.
    let usual = outputs(&alone(0.0, "u = 0.5"));
    for start in [1000.25, -3.5] {
        assert_eq!(outputs(&alone(start, "u = 0.5")), usual);
    }
}

#[test]
fn c50_unconnected_input_keeps_its_start_value() {
    // Closed form: with rate·step = 1 a step of the explicit Euler method ends at x = u.
    let ([x, y], _) = outputs(&alone(0.0, "u = 0.25, rate = 8.0"));
    assert_eq!([x, y], [0.25, 0.375]);
    let unit = ModelUnit::<OscillatorMotion>::new();
    let (unit, spied) = Spy::on(unit);
    let mut system = System::new(0.01);
    system.stop_time(0.1).add("motion", unit);
    system.start(&RunOptions::default()).unwrap().run().unwrap();
    assert_eq!((spied.steps(), spied.sets()), (10, 0));
}

#[test]
fn c36_promise_not_to_go_back_is_kept() {
    // Forbidden to the engine: to promise, and to roll back.
    let fmu = Fmu::open(&gyrator_testkit::fmu("Strict")).unwrap();
    let mut instance = fmu
        .instantiate("strict", &InstanceOptions::default())
        .unwrap();
    instance.setup_experiment(None, 0.0, None).unwrap();
    instance.enter_initialization_mode().unwrap();
    instance.exit_initialization_mode().unwrap();
    let saved = instance.save_state().unwrap();
    instance.do_step(0.0, 0.5, false).unwrap();
    instance.restore_state(&saved).unwrap();
    instance.do_step(0.0, 0.5, true).unwrap();
    instance.do_step(0.5, 0.5, true).unwrap();
    let error = instance.restore_state(&saved).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("noSetFMUStatePriorToCurrentPoint")
    );
    // Allowed: steps that are repeated, with two steps of one FMU in each.
    let combination = Combination::all()
        .into_iter()
        .find(|combination| combination.step_control == "ecco")
        .unwrap();
    let text = system(&combination, [1, 2]).replace(
        "\"ecco\"",
        "{ name = \"ecco\", reject_above = 1.0, tolerance = 1e-6 }",
    );
    assert_eq!(
        run(&text, &FmuCache::default()),
        Some(Ok(StopReason::StopTime))
    );
}

#[test]
fn c60_start_value_out_of_range_is_warned_of_and_passed_on() {
    let fmu = gyrator_testkit::fmu("Faulty");
    let text = format!(
        "[experiment]\nstop_time = 1\nstep_size = 0.5\n[components.one]\nfmu = {fmu:?}\n\
         start_values = {{ fault = \"none\", sleep_time = -1.0 }}\n"
    );
    let (file, _) = toml_file::parse(text, Path::new("system.toml")).unwrap();
    let system = System::from_file(file).unwrap();
    let warnings = system.check();
    assert_eq!(
        warnings[0].message,
        "the start value -1 of `one.sleep_time` is not between 0 and 86400"
    );
    // This FMU refuses the value, and so has been given it.
    let error = system.start(&RunOptions::default()).err().unwrap();
    assert!(error.to_string().contains("sleep_time = -1"), "{error}");
}
