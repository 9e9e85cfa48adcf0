//! Multi-models of INTO-CPS.

use std::path::Path;

use gyrator_fmu::Limits;
use gyrator_ssp::{is_into_cps, read_into_cps};
use gyrator_system::{Choice, Problem, SystemFile, Value, toml_file};
use tempfile::TempDir;

use super::files::{connections, fmu, folder, start_values};

const CONNECTIONS: &str = r#""fmus": {"{t}": "Tank.fmu", "{c}": "Control.fmu"},
"connections": {"{t}.tank.level": ["{c}.control.level"], "{c}.control.valve.x": ["{t}.tank.valve"]}"#;

fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = folder(files);
    let units = r#"<UnitDefinitions><Unit name="m"/><Unit name="mm"/></UnitDefinitions>"#;
    let tank = r#"<ScalarVariable name="level" valueReference="0" causality="output"><Real unit="m"/></ScalarVariable>
<ScalarVariable name="valve" valueReference="1" causality="input"><Boolean start="false"/></ScalarVariable>
<ScalarVariable name="inner" valueReference="2" causality="local"><Real/></ScalarVariable>"#;
    let control = r#"<ScalarVariable name="level" valueReference="0" causality="input"><Real unit="mm" start="0"/></ScalarVariable>
<ScalarVariable name="valve.x" valueReference="1" causality="output"><Boolean/></ScalarVariable>"#;
    fmu(&folder.path().join("Tank.fmu"), units, tank);
    fmu(&folder.path().join("FMUs/Control.fmu"), units, control);
    folder
}

type Read = Result<(SystemFile, Vec<Problem>), String>;

fn read(folder: &TempDir, coe: Option<&str>) -> Read {
    let path = |name: &str| folder.path().join(name);
    let coe = coe.map(path);
    let read = read_into_cps(&path("mm.json"), coe.as_deref(), Limits::default());
    let shown = format!("{}/", folder.path().display());
    read.map_err(|error| error.to_string().replace(&shown, ""))
}

fn accepted(text: &str, coe: Option<&str>) -> (TempDir, SystemFile, Vec<Problem>) {
    let folder = project(&[("mm.json", text), ("coe.json", coe.unwrap_or("{}"))]);
    let (system, problems) =
        read(&folder, coe.map(|_| "coe.json")).unwrap_or_else(|error| panic!("{error}"));
    (folder, system, problems)
}

fn refused(text: &str) -> String {
    read(&project(&[("mm.json", text)]), None).expect_err("it is refused")
}

fn messages(problems: Vec<Problem>) -> Vec<String> {
    problems
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

/// `name(parameter = value, …)`.
fn words(choice: Option<&Choice>) -> String {
    let choice = choice.unwrap();
    let parameters = choice.parameters.iter().map(|(name, value)| {
        let value = match &value.value {
            Value::Real(number) => format!("{number:e}"),
            Value::Integer(number) => number.to_string(),
            Value::Boolean(value) => value.to_string(),
            Value::String(text) => text.clone(),
        };
        format!("{} = {value}", name.value)
    });
    let parameters: Vec<String> = parameters.collect();
    format!("{}({})", choice.name.value, parameters.join(", "))
}

#[test]
fn a_multi_model_becomes_a_system() {
    let (folder, system, problems) = accepted(
        &format!(
            r#"{{{CONNECTIONS}, "parameters": {{"{{t}}.tank.area": 2, "{{t}}.tank.h": 2.5, "{{c}}.control.on": true, "{{c}}.control.s": "a\u0062"}},
"algorithm": {{"type": "fixed-step", "size": 0.1}}, "endTime": 5, "livestream": {{"{{t}}.tank": ["level"]}}, "logVariables": null}}"#
        ),
        Some(
            r#"{"startTime": 1, "endTime": 10, "visible": true, "logVariables": {}, "liveGraphColumns": 2,
"graphs": [{"title": "a", "livestream": {"{c}.control": ["valve.x"]}}]}"#,
        ),
    );
    assert_eq!(messages(problems), [""; 0]);
    let experiment = &system.experiment;
    let times = [
        &experiment.start_time,
        &experiment.stop_time,
        &experiment.step_size,
    ];
    assert_eq!(
        times.map(|time| time.as_ref().unwrap().value),
        [1.0, 10.0, 0.1]
    );
    assert_eq!(words(experiment.method.as_ref()), "jacobi()");
    assert_eq!(
        words(experiment.step_control.as_ref()),
        "fixed(accumulate = true)"
    );
    assert_eq!(experiment.exchange.as_ref().unwrap().value, "stale");
    assert_eq!(words(experiment.extrapolation.as_ref()), "hold()");
    assert_eq!(
        start_values(&system),
        [
            "tank.area = 2",
            "tank.h = 2.5",
            "control.on = true",
            "control.s = \"ab\""
        ]
    );
    assert_eq!(
        connections(&system),
        [
            "tank.level -> control.level",
            "control.valve.x -> tank.valve"
        ]
    );
    // Maestro passes on the number, whatever the units.
    assert_eq!(
        system
            .connections
            .iter()
            .map(|c| c.unit_conversion)
            .collect::<Vec<_>>(),
        [false, true]
    );
    assert_eq!(
        system.components[0].fmu.value,
        folder.path().join("Tank.fmu")
    );
    assert_eq!(
        system.components[1].fmu.value,
        folder.path().join("FMUs/Control.fmu")
    );
    // The FMUs declare no initial dependencies: Maestro reads their outputs before it gives inputs.
    let mut components = system.components.iter();
    assert!(components.all(|component| !component.propagate_initial_inputs));
    assert!(is_into_cps(Path::new("x.JSON")) && !is_into_cps(Path::new("x.toml")));
    let written = toml_file::to_toml(&system);
    let (again, _) = toml_file::parse(&written, folder.path().join("a.toml")).unwrap();
    assert_eq!(toml_file::to_toml(&again), written);
}

#[test]
fn instances_of_one_name_keep_the_keys_of_their_fmus() {
    let text = r#"{"fmus": {"{a}": "Tank.fmu", "{b}": ".\\Tank.fmu", "{c}": "Tank.fmu"},
"parameters": {"{a}.i.x": 1, "{b}.i.x": 2, "{b}.j.x": 3}}"#;
    let (_folder, system, problems) = accepted(text, None);
    assert_eq!(start_values(&system), ["a.i.x = 1", "b.i.x = 2", "j.x = 3"]);
    assert!(
        system
            .components
            .iter()
            .all(|component| component.fmu.value.is_file())
    );
    assert_eq!(
        messages(problems),
        ["`{c}` has no instance: nothing is connected or set; it is left out"]
    );
}

#[test]
fn algorithms_become_methods_and_step_controls() {
    let read = |more: &str| {
        let (_folder, system, problems) = accepted(&format!("{{{CONNECTIONS}, {more}}}"), None);
        let experiment = system.experiment;
        let control = experiment.step_control.as_ref();
        (
            words(experiment.method.as_ref()),
            control.map(|control| words(Some(control))),
            messages(problems),
        )
    };
    let (method, control, problems) = read(
        r#""stabalizationEnabled": true, "global_relative_tolerance": 0.01, "global_absolute_tolerance": 0"#,
    );
    assert_eq!(
        method,
        "iterative(order = jacobi, accelerator = fixed-point, tolerance = 1e-2, absolute_tolerance = 0e0, max_iterations = 5, on_failure = accept)"
    );
    assert_eq!((control, problems), (None, Vec::new()));
    let (method, control, problems) = read(
        r#""algorithm": {"type": "var-step", "size": [1e-3, 1], "initsize": 0.1, "constraints": {
"a": {"type": "zerocrossing", "ports": ["{t}.tank.level", "{c}.control.max"], "order": 1, "abstol": 0.01},
"b": {"type": "zerocrossing", "ports": ["{t}.tank.level"], "abstol": 0.1, "safety": 2}, "c": {"type": "fmumaxstepsize"}}}"#,
    );
    assert_eq!(method, "jacobi()");
    assert_eq!(
        control.unwrap(),
        "zero-crossing(signals = tank.level - control.max, tank.level, tolerance = 1e-2, prediction = line, margin = 2e0, first_step = 1e-1, \
         minimum_step = 1e-3, maximum_step = 1e0)"
    );
    assert_eq!(
        problems,
        [
            "`zerocrossing` becomes `zero-crossing`, which is near to it: steps differ from Maestro's",
            "`fmumaxstepsize` is ignored: no FMU 2.0 names its largest step",
        ]
    );
    let (_, control, _) = read(
        r#""algorithm": {"type": "var-step", "size": [1e-3, 1], "constraints": {
"a": {"type": "boundeddifference", "ports": ["{t}.tank.level"], "reltol": 0.1, "abstol": 0.2}}}"#,
    );
    assert_eq!(
        control.unwrap(),
        "bounded-difference(signals = tank.level, tolerance = 1e-1, absolute_tolerance = 2e-1, first_step = 1e-3, minimum_step = 1e-3, maximum_step = 1e0)"
    );
}

#[test]
fn what_is_not_done_is_said() {
    let (_folder, _, problems) = accepted(
        &format!(
            r#"{{{CONNECTIONS}, "logVariables": {{"{{t}}.tank": ["inner", "level", "none"]}}, "postProcessingScript": "a.py", "environmentParameters": [],
"faultInjectInstances": {{"a": "b"}}, "simulationProgramDelay": true, "paralelSimulation": true, "endTime": 1, "endTime": 2}}"#
        ),
        None,
    );
    let help = problems.iter().find_map(|problem| {
        problem
            .help
            .clone()
            .filter(|_| problem.rule == "not-recorded")
    });
    assert_eq!(
        help.unwrap(),
        "to record what the multi-model names, give --output-variable tank.inner --output-variable tank.level"
    );
    assert_eq!(
        messages(problems),
        [
            "`tank.inner` is to be recorded and no output",
            "`tank.none` is to be recorded and does not exist",
            "`postProcessingScript` is not supported and ignored",
            "`faultInjectInstances` is not supported and ignored",
            "`simulationProgramDelay` is not supported and ignored",
            "unknown key `paralelSimulation`; ignored",
            "`endTime` is given again; the last value counts",
        ]
    );
}

#[test]
fn mistakes_have_their_places_and_remedies() {
    for (text, expected) in [
        ("{\n \"fmus\": {,}}", "mm.json:2:11: error: this is no JSON"),
        ("{}", "there are no `fmus`"),
        (
            "[]",
            "mm.json:1:1: error: `the file` must be an object in braces, not `[]`",
        ),
        (
            r#"{"fmus": []}"#,
            "mm.json:1:10: error: `fmus` must be an object",
        ),
        (
            r#"{"fmus": {"{a}": 1}}"#,
            "mm.json:1:18: error: `{a}` must be the path of an FMU, not `1`",
        ),
        (
            r#"{"fmus": {"{a}": "http://x/a.fmu"}}"#,
            "mm.json:1:18: error: `http://x/a.fmu` is not a file",
        ),
        (
            r#"{"fmus": {"{ab}": "a.fmu"}, "parameters": {"{aa}.i.x": 1}}"#,
            "mm.json:1:44: error: unknown FMU `{aa}` [unknown-name]\n  help: did you mean `{ab}`?",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "parameters": {"a.i.x": 1}}"#,
            "mm.json:1:43: error: `a.i.x` names no signal",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "parameters": {"{a}.i": 1}}"#,
            "names no signal",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "parameters": {"{a}.i.x": [1]}}"#,
            "mm.json:1:54: error: `{a}.i.x` must be a number, a truth value or a text",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "connections": {"{a}.i.x": 1}}"#,
            "must be a list of inputs",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "endTime": "1"}"#,
            "mm.json:1:39: error: `endTime` must be a number, not `\"1\"`",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "algorithm": {"type": "euler"}}"#,
            "mm.json:1:50: error: the `type` of an algorithm",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "algorithm": {"type": "var-step", "size": 0.1}}"#,
            "the smallest and the largest step",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "algorithm": {"type": "var-step", "size": [0.1, 1]}}"#,
            "has no constraint that gyrator knows",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "algorithm": {"type": "var-step", "size": [0.1, 1], "constraints": {"s": {"type": "samplingrate"}}}}"#,
            "`samplingrate` is not supported",
        ),
        (
            r#"{"fmus": {"{a}": "a.fmu"}, "modelSwaps": {"a": {}}}"#,
            "mm.json:1:42: error: `modelSwaps` is not supported",
        ),
    ] {
        let found = refused(text);
        assert!(found.contains(expected), "{expected}\n{found}");
    }
    let folder = project(&[
        ("mm.json", &format!("{{{CONNECTIONS}}}")),
        ("coe.json", "{\"endTime\": true}"),
    ]);
    let error = read(&folder, Some("coe.json")).expect_err("it is refused");
    assert!(
        error.contains("coe.json:1:13: error: `endTime` must be a number"),
        "{error}"
    );
    let error = read(&folder, Some("none.json")).expect_err("it is refused");
    assert!(error.contains("none.json"), "{error}");
}
