//! Messages to the user about a system file that is wrong.

use gyrator_system::toml_file::parse;

/// The rendered problems of a text; panics without problems.
fn problems(text: &str) -> String {
    parse(text, "system.toml")
        .expect_err("the file is wrong")
        .to_string()
}

/// Two components to wire up.
const UNITS: &str = "[components.left]\nfmu = \"l.fmu\"\n[components.right]\nfmu = \"r.fmu\"\n";

fn wired(wires: &str) -> String {
    problems(&format!("{UNITS}{wires}"))
}

#[test]
fn r59_steps_that_make_no_sense_for_the_times() {
    let rule_of = |start: &str, stop: &str, step: &str| {
        let times = format!("start_time = {start}\nstop_time = {stop}\nstep_size = {step}\n");
        let text = format!("[experiment]\n{times}{UNITS}");
        match parse(&text, "system.toml") {
            Ok((_, warnings)) => warnings.first().map(|warning| warning.rule),
            Err(problems) => problems.list.first().map(|problem| problem.rule),
        }
    };
    for (start, stop, step, rule) in [
        ("0.0", "1.0", "1e-300", Some("step-too-small")),
        ("0.0", "1.0", "1e5", None),
        ("0.0", "1.0", "1e7", Some("step-too-large")),
        ("0.0", "1.0", "1e300", Some("step-too-large")),
        ("1e16", "1.00000000000001e16", "0.1", Some("step-too-small")),
        ("0.0", "1.0", "8e-16", Some("step-too-small")),
        ("0.0", "1.0", "1e-15", Some("many-steps")),
        ("0.0", "1e6", "1e-7", Some("many-steps")),
        ("0.0", "1e5", "1e-6", None),
        ("1e9", "1000000001.0", "1e-6", None),
    ] {
        assert_eq!(rule_of(start, stop, step), rule, "{start} {stop} {step}");
    }
}

#[test]
fn misspelt_keys() {
    insta::assert_snapshot!(problems(
        "[experiment]\nstep_sise = 1e-3\nstart = 0\nqqq = 1\n[component.a]\nfmu = \"a.fmu\"\n"
    ));
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(problems(
        r#"
[experiment]
step_size = "1e-3"
method = 3
stop_time = 1979-05-27
extrapolation = { order = 2, degrees = [1, 2] }
[components]
loose = "l.fmu"
[components.left]
fmu = 7
preload = "libm.so"
library_path = ["lib", 3]
step_halvings = -1
propagate_initial_inputs = "no"
start_values = { body = { mass = [1, 2] }, big = 99999999999999999999, bigger = 1e999 }
[components.right]
start_values = 3
"#
    ));
}

#[test]
fn numbers_out_of_range() {
    insta::assert_snapshot!(problems(
        r#"
[experiment]
start_time = -1.0
stop_time = -2.0
step_size = 0
tolerance = nan
exchange = "stail"
[components.left]
fmu = "l.fmu"
step_size = -1e-3
exchange = "never"
"#
    ));
}

#[test]
fn a_tolerance_is_a_number_or_none() {
    for (given, expected) in [
        (
            "\"non\"",
            "`tolerance` must be a number or \"none\", not a string",
        ),
        (
            "false",
            "`tolerance` must be a number or \"none\", not a boolean",
        ),
        (
            "[1e-3]",
            "`tolerance` must be a number or \"none\", not a list",
        ),
        ("0", "`tolerance` is 0; it must be positive"),
    ] {
        let text = format!(
            "[experiment]\nstep_size = 1\ntolerance = {given}\n[components.a]\nfmu = \"a.fmu\"\n"
        );
        let list = parse(&text, "system.toml").expect_err(given).list;
        let messages: Vec<_> = list.iter().map(|problem| &*problem.message).collect();
        assert_eq!(messages, [expected]);
    }
}

#[test]
fn infinite_times() {
    insta::assert_snapshot!(problems(
        "[experiment]\nstart_time = nan\nstop_time = inf\n[components.a]\nfmu = \"a.fmu\"\n"
    ));
}

#[test]
fn stop_time_and_duration() {
    insta::assert_snapshot!(problems(
        "[experiment]\nstop_time = 1\nduration = 1\n[components.a]\nfmu = \"a.fmu\"\n"
    ));
}

#[test]
fn one_slip_of_syntax_is_one_problem() {
    let text = "[components.left]\nfmu = \"l.fmu\"\nstart_values = { k = \"ten\".0, v = -100.0 }\n";
    let list = parse(text, "system.toml").expect_err("no TOML").list;
    assert_eq!(list.len(), 1, "{list:?}");
}

#[test]
fn syntax_and_other_problems_together() {
    insta::assert_snapshot!(problems(
        "[experiment]\nstop_time = \nstop_time = 2\nmetod = \"jacobi\"\n[components.a\nfmu = \"a.fmu\n"
    ));
}

#[test]
fn component_twice() {
    insta::assert_snapshot!(wired("[components.left]\nfmu = \"again.fmu\"\n"));
}

#[test]
fn no_components() {
    insta::assert_snapshot!(problems("[experiment]\nstop_time = 1\n"));
}

#[test]
fn start_value_twice() {
    insta::assert_snapshot!(problems(
        "[components.a]\nfmu = \"a.fmu\"\n[components.a.start_values]\n\"m.x\" = 1\nm.x = 2\n"
    ));
}

#[test]
fn unknown_components() {
    insta::assert_snapshot!(wired(
        r#"
[[connections]]
from = "lefd.x"
to = "right.y"
[[connections]]
from = "left.x"
to = "engine.y"
[[connections]]
from = "left"
to = "right."
"#
    ));
}

#[test]
fn incomplete_connections() {
    insta::assert_snapshot!(wired(
        "[[connections]]\nfrom = \"left.x\"\n[[connections]]\nform = \"left.x\"\nto = \"right.y\"\n"
    ));
}

#[test]
fn input_fed_twice() {
    insta::assert_snapshot!(wired(
        r#"
[[connections]]
from = "left.f"
to = "right.f"
[[connections]]
from = "left.g"
to = "right.f"
[[connections]]
from = "right.v"
to = "left.v"
gain = 2.0
[[bonds]]
name = "coupling"
effort = { from = "left.f", to = "right.f" }
flow = { from = "right.v", to = "left.v" }
[[bonds]]
name = "second power on the same velocity"
effort = { from = "left.f2", to = "right.f2" }
flow = { from = "right.v", to = "left.v" }
"#
    ));
}

#[test]
fn bond_that_does_not_pair() {
    insta::assert_snapshot!(wired(
        r#"
[[bonds]]
name = "same way"
effort = { from = "left.f", to = "right.f" }
flow = { from = "left.v", to = "right.v" }
[[bonds]]
name = "turned axis"
effort = [{ from = "left.f1", to = "right.f1" }, { from = "right.f2", to = "left.f2" }]
flow = [{ from = "right.v1", to = "left.v1" }, { from = "left.v2", to = "right.v2" }]
[[bonds]]
name = "short"
effort = [{ from = "left.f3", to = "right.f3" }, { from = "left.f4", to = "right.f4" }]
flow = [{ from = "right.v3", to = "left.v3" }]
"#
    ));
}

#[test]
fn bond_without_parts() {
    insta::assert_snapshot!(wired(
        r#"
[[bonds]]
effort = []
sense = 2
[[bonds]]
name = "empty"
effort = []
flow = []
sense = 2
corection = "auto"
"#
    ));
}

#[test]
fn bond_names_and_senses() {
    insta::assert_snapshot!(wired(
        r#"
[[bonds]]
name = "coupling"
effort = { from = "left.f", to = "right.f", gain = nan }
flow = { from = "right.v", to = "left.v" }
[[bonds]]
name = "coupling"
effort = { from = "left.f", to = "right.f2" }
flow = { from = "right.v", to = "left.v2" }
sense = 0.5
"#
    ));
}

#[test]
fn of_many_problems_the_first_are_shown() {
    let keys: String = (0..150).map(|key| format!("q{key} = 1\n")).collect();
    let text = wired(&format!("[experiment]\n{keys}"));
    assert!(
        text.ends_with("\nsystem.toml: and 50 more problems"),
        "{text}"
    );
}

#[test]
fn restarts() {
    insta::assert_snapshot!(problems(
        r#"
[components.a]
fmu = "a.fmu"
isolate = false
restart = 3
[components.b]
fmu = "b.fmu"
isolate = 1
restart = 0
[components.c]
fmu = "c.fmu"
restart = { time = 3, every = 2.5 }
"#
    ));
}

#[test]
fn uses_of_libraries() {
    insta::assert_snapshot!(problems(
        r#"
[defaults]
library = "copied"
[components.a]
fmu = "a.fmu"
library = "share"
[components.b]
fmu = "b.fmu"
library = true
[components.c]
fmu = "c.fmu"
library = "none"
[components.d]
fmu = "d.fmu"
libary = "shared"
"#
    ));
}

#[test]
fn interface_models() {
    insta::assert_snapshot!(wired(
        r#"
[[bonds]]
name = "rod"
effort = { from = "left.f", to = "right.f" }
flow = { from = "right.v", to = "left.v" }
[[interface_models]]
name = "one"
component = "rigth"
bonds = ["rode"]
exchange_step = 0
[[interface_models]]
name = "one"
component = "right"
bonds = "rod"
postions = ["x"]
forces = ["f"]
lag = []
"#
    ));
}
