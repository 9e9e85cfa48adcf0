//! Isolation changes no bit.

use gyrator_system::SystemFile;

use crate::bench::{isolated, run, system};

/// The system publishes the same in one process and in many, on any number of threads.
#[track_caller]
fn is_identical(file: &SystemFile) {
    let expected = run(file.clone(), 1);
    assert!(expected.0.reals.len() > 10);
    let mut one = file.clone();
    one.components[0].isolate = Some(gyrator_system::Spanned::unplaced(true));
    assert!(run(one, 1) == expected, "one component isolated");
    for threads in [1, 2, 4] {
        let found = run(isolated(file.clone()), threads);
        assert!(found.0 == expected.0, "rows, {threads} threads");
        assert_eq!(found.1, expected.1, "{threads} threads");
    }
}

#[test]
fn values_of_every_type() {
    is_identical(&system(
        r#"
[experiment]
stop_time = 1.0
step_size = 0.01

[components.a]
fmu = "<AllTypes>"
start_values = { prefix = "ω", gain = 0.5, integer_in = -3, boolean_in = true, colour_in = "blue", real_in = 2.0 }

[components.b]
fmu = "<AllTypes>"
start_values = { prefix = "<", gain = 1.5 }

[[connections]]
from = "a.real_out"
to = "b.real_in"

[[connections]]
from = "a.integer_out"
to = "b.integer_in"

[[connections]]
from = "a.boolean_out"
to = "b.boolean_in"

[[connections]]
from = "a.string_out"
to = "b.string_in"

[[connections]]
from = "a.colour_out"
to = "b.colour_in"
"#
        .replace("prefix = \"<\"", "prefix = \"b\"")
        .as_str(),
    ));
}

#[test]
fn c31_start_values_survive_in_a_process_of_its_own() {
    // The FMU goes back to its default values in fmi2SetupExperiment.
    is_identical(&system(
        r#"
[experiment]
stop_time = 1.0
step_size = 0.01

[components.a]
fmu = "<Strict>"
start_values = { u = 0.5, rate = 8.0, gain = 3.0 }

[components.b]
fmu = "<Strict>"
start_values = { rate = 4.0 }

[[connections]]
from = "a.x"
to = "b.u"
"#,
    ));
}

fn oscillators(experiment: &str, left: &str, right: &str, correction: &str) -> SystemFile {
    system(&format!(
        r#"
[experiment]
stop_time = 1.0
step_size = 1e-3
{experiment}

[components.force]
fmu = "<OscillatorForce>"
start_values = {{ m = 1.0, k = 10.0, k_c = 100.0, c_c = 0.1, v_start = 100.0 }}
{left}

[components.motion]
fmu = "<OscillatorMotion>"
start_values = {{ m = 1.0, k = 1000.0, c = 0.1, v_start = -100.0 }}
{right}

[[connections]]
from = "motion.x"
to = "force.x2"

[[bonds]]
name = "coupling"
effort = [{{ from = "force.f", to = "motion.f" }}]
flow = [{{ from = "motion.v", to = "force.v2" }}]
correction = {correction}
"#
    ))
}

const CORRECTED: &str = r#"{ name = "residual-power", mu = 0.5 }"#;

#[test]
fn oscillators_as_they_are() {
    is_identical(&oscillators("exchange = \"stale\"", "", "", "\"off\""));
}

#[test]
fn oscillators_with_their_energy_corrected() {
    is_identical(&oscillators("exchange = \"stale\"", "", "", CORRECTED));
}

#[test]
fn oscillators_with_fresh_and_compensated_outputs() {
    for exchange in ["fresh", "compensated"] {
        let experiment = format!("exchange = \"{exchange}\"");
        is_identical(&oscillators(&experiment, "", "", "\"off\""));
    }
}

#[test]
fn oscillators_at_several_rates_with_curves() {
    let left = "extrapolation = \"quadratic\"\nstep_size = 2.5e-4";
    let right = "extrapolation = \"linear\"\nstep_size = 2e-3";
    is_identical(&oscillators("", left, right, "\"off\""));
}

#[test]
fn steps_of_variable_size_that_are_made_again() {
    let control = r#"step_control = { name = "ecco", tolerance = 1e-4, energy_scale = 5000.0, first_step = 5e-3, reject_above = 1.0 }"#;
    let file = oscillators(control, "", "", "\"off\"");
    is_identical(&file);
    let (_, report) = run(isolated(file), 1);
    assert!(report.counters.repeated_steps > 0, "{:?}", report.counters);
}
