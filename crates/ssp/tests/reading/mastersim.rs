//! Project files of MasterSim.

use gyrator_fmu::Limits;
use gyrator_ssp::{is_mastersim, read_mastersim};
use gyrator_system::{Choice, SystemFile, Tolerance, Value, toml_file};
use std::path::Path;
use tempfile::TempDir;

use super::files::{connections, fmu, folder, start_values};

const PAIR: &str =
    "simulator 0 1 left #ff8c00 \"Left part.fmu\"\nsimulator 1 0 right #8c00 Right.fmu\n";

/// A project with two FMUs beside it: one gives a force in N, the other one takes it in kN.
fn project(body: &str) -> TempDir {
    let folder = folder(&[("a.msim", body)]);
    let units = r#"<UnitDefinitions><Unit name="N"/><Unit name="kN"/></UnitDefinitions>"#;
    let left = r#"<ScalarVariable name="f.x" valueReference="0" causality="output"><Real unit="N"/></ScalarVariable>
<ScalarVariable name="m" valueReference="1" causality="parameter" variability="fixed"><Real start="1"/></ScalarVariable>
<ScalarVariable name="n" valueReference="2" causality="parameter" variability="fixed"><Integer start="1"/></ScalarVariable>
<ScalarVariable name="b" valueReference="3" causality="parameter" variability="fixed"><Boolean start="true"/></ScalarVariable>
<ScalarVariable name="s" valueReference="4" causality="parameter" variability="fixed"><String start=""/></ScalarVariable>
<ScalarVariable name="z" valueReference="5" causality="local"><Real/></ScalarVariable>"#;
    let right = r#"<ScalarVariable name="u" valueReference="0" causality="input"><Real unit="kN" start="0"/></ScalarVariable>
<ScalarVariable name="on" valueReference="1" causality="input"><Boolean start="false"/></ScalarVariable>
<ScalarVariable name="i" valueReference="2" causality="input"><Integer start="0"/></ScalarVariable>
<ScalarVariable name="text" valueReference="3" causality="input"><String start=""/></ScalarVariable>"#;
    fmu(&folder.path().join("Left part.fmu"), units, left);
    fmu(&folder.path().join("Right.fmu"), units, right);
    folder
}

fn accepted(body: &str) -> (TempDir, SystemFile, Vec<String>) {
    let folder = project(body);
    let read = read_mastersim(&folder.path().join("a.msim"), Limits::default());
    let (system, warnings) = read.unwrap_or_else(|error| panic!("{error}"));
    let warnings = warnings.into_iter().map(|problem| problem.message);
    (folder, system, warnings.collect())
}

/// The problems of a project, each with line and column.
fn refused(body: &str) -> String {
    let folder = project(body);
    let path = folder.path().join("a.msim");
    let error = read_mastersim(&path, Limits::default()).expect_err("it is refused");
    error
        .to_string()
        .replace(&path.display().to_string(), "a.msim")
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

fn method(settings: &str) -> (String, String) {
    let (_folder, system, _) = accepted(&format!("tEnd 1 s\nhStart 0.1 s\n{settings}\n{PAIR}"));
    let experiment = &system.experiment;
    (
        words(experiment.method.as_ref()),
        words(experiment.step_control.as_ref()),
    )
}

#[test]
fn a_project_becomes_a_system() {
    let (folder, system, warnings) = accepted(&format!(
        "# Created: today\n\n tStart\t1 min\r\ntEnd 2 min\nhStart 0 s\nabsTol 1e-3\nrelTol 1e-4\nMasterMode GAUSS_JACOBI\n{PAIR}\
         graph left.f.x right.u -1 0.5\n\
         parameter left.m 2\nparameter left.n 3\nparameter left.b true\nparameter left.s  C:\\\\a b\\nc \nparameter left.m 2.5\n"
    ));
    assert_eq!(warnings, [""; 0]);
    let experiment = &system.experiment;
    let times = [
        &experiment.start_time,
        &experiment.stop_time,
        &experiment.step_size,
    ];
    assert_eq!(
        times.map(|time| time.as_ref().unwrap().value),
        [60.0, 120.0, 0.06]
    );
    assert_eq!(
        experiment.tolerance.as_ref().unwrap().value,
        Tolerance::Relative(1e-4)
    );
    assert_eq!(experiment.exchange.as_ref().unwrap().value, "stale");
    assert_eq!(words(experiment.extrapolation.as_ref()), "hold()");
    assert_eq!(
        system.components[0].fmu.value,
        folder.path().join("Left part.fmu")
    );
    assert_eq!(
        start_values(&system),
        [
            "left.n = 3",
            "left.b = true",
            "left.s = \"C:\\\\a b\\nc\"",
            "left.m = 2.5"
        ]
    );
    assert_eq!(connections(&system), ["left.f.x -> right.u * 0.5"]);
    let connection = &system.connections[0];
    assert_eq!(connection.offset.as_ref().unwrap().value, -1.0);
    assert_eq!(connection.gain.as_ref().unwrap().value, 0.5);
    // MasterSim passes on the number, whatever the units.
    assert!(!connection.unit_conversion);
    assert!(is_mastersim(Path::new("x.MSIM")) && !is_mastersim(Path::new("x.toml")));
    let written = toml_file::to_toml(&system);
    let (again, _) = toml_file::parse(&written, folder.path().join("a.toml")).unwrap();
    assert_eq!(toml_file::to_toml(&again), written);
}

#[test]
fn master_modes_become_methods_and_step_controls() {
    let fixed = "fixed(accumulate = true)";
    let iterative = "iterative(accelerator = fixed-point, tolerance = 1e-5, absolute_tolerance = 1e-6, max_iterations = 3, on_failure = accept)";
    let richardson = "richardson(tolerance = 1e-5, absolute_tolerance = 1e-6, first_step = 1e-1, minimum_step = 1e-5, maximum_step = 1.8e3)";
    // The cycle decides the order, and then the line.
    let seidel = "gauss-seidel(order = right, left)";
    for (settings, expected, control) in [
        ("", seidel, fixed),
        ("MasterMode GAUSS_JACOBI", "jacobi()", fixed),
        ("maxIterations 3", iterative, fixed),
        ("maxIterations 3\nhFallBackLimit 0.2 s", seidel, fixed),
        ("maxIterations 3\nadjustStepSize yes", iterative, richardson),
        (
            "adjustStepSize true\nErrorControlMode STEP_DOUBLING",
            seidel,
            richardson,
        ),
        (
            "adjustStepSize 1\nErrorControlMode ADAPT_STEP",
            seidel,
            richardson,
        ),
        ("MasterMode NEWTON", "linear-implicit()", fixed),
        (
            "MasterMode NEWTON\nmaxIterations 4",
            "iterative(order = jacobi, accelerator = iqn-ils, tolerance = 1e-5, absolute_tolerance = 1e-6, max_iterations = 4, on_failure = accept)",
            fixed,
        ),
    ] {
        assert_eq!(
            method(settings),
            (expected.to_owned(), control.to_owned()),
            "{settings}"
        );
    }
}

#[test]
fn tables_become_blocks() {
    let table = "simulator 0 0 values #fff data.tsv\n";
    let (folder, system, warnings) = accepted(&format!(
        "tEnd 1 s\nhStart 0.1 s\n{PAIR}{table}graph values.a right.u\ngraph values.b right.on\ngraph values.c right.i\ngraph values.d right.text\n"
    ));
    assert_eq!(
        warnings,
        [
            "`values` becomes two components: `values_held` holds the values of inputs that are no Reals",
            "`right.text` takes texts, which a table does not give; the connection is left out",
        ]
    );
    assert_eq!(
        connections(&system),
        [
            "values.a -> right.u",
            "values_held.b -> right.on",
            "values_held.c -> right.i"
        ]
    );
    let blocks: Vec<_> = system
        .components
        .iter()
        .filter_map(|c| c.block.as_ref())
        .collect();
    assert_eq!(words(Some(blocks[0])), "table(file = data.tsv)");
    assert_eq!(
        words(Some(blocks[1])),
        "table(file = data.tsv, interpolation = hold)"
    );
    let order = "gauss-seidel(order = right, values, values_held, left)";
    assert_eq!(words(system.experiment.method.as_ref()), order);
    // The first column is the time, whatever its heading.
    std::fs::write(folder.path().join("data.tsv"), "\"clock [h]\"\ta\n0\t1\n").unwrap();
    let (again, _) = read_mastersim(&folder.path().join("a.msim"), Limits::default()).unwrap();
    let block = again.components[2].block.as_ref();
    assert_eq!(
        words(block),
        "table(file = data.tsv, time_column = clock [h])"
    );
}

#[test]
fn what_is_done_otherwise_is_said() {
    let (_folder, _, warnings) = accepted(&format!(
        "hStart 7 s\nhOutputMin 1 min\noutputTimeUnit h\nwriteInternalVariables yes\npreventOversteppingOfEndTime no\nErrorControlMode CHECK\n\
         hstart 2 s\noutputOnly left.x\nhMin 1 s\nhMin 2 s\n{PAIR}"
    ));
    assert_eq!(
        warnings,
        [
            "the project has no `tEnd`; the run ends after one year, as in MasterSim",
            "every step is recorded, and not one every 60 s",
            "times are recorded in s, not in `h`",
            "outputs are recorded, and no internal variables",
            "the last step is shortened to end at `tEnd`; MasterSim steps beyond it",
            "`CHECK` is ignored: a run does not test the errors of its steps",
            "unknown keyword `hstart`; ignored",
            "`outputOnly` is ignored, as MasterSim does: all outputs are recorded",
            "`hMin` is given again; the last line counts",
        ]
    );
    let (_folder, _, warnings) = accepted(&format!(
        "tEnd 1 s\nhStart 0.1 s\nadjustStepSize yes\nErrorControlMode STEP_DOUBLING\nMasterMode NEWTON\nmaxIterations 2\n{PAIR}"
    ));
    assert_eq!(warnings.len(), 2, "{warnings:?}");
}

#[test]
fn mistakes_have_their_places_and_remedies() {
    let text = refused(
        "tEnd 1\nhStart fast s\nabsTol -1\nmaxIterations 0\nadjustStepSize maybe\nMasterMode GAUSS_JACOBY\n\
         simulator 0 0 left #fff\nsimulator 0 x left #fff a.fmu\nsimulator 0 0 l.r #fff a.fmu\nsimulator 0 0 left #fff a.exe\n\
         simulator 0 0 right #fff Right.fmu\ngraph right.u\ngraph righd.u right.on\ngraph right right.u\ngraph right.u right.on 1 x\n\
         parameter right.i\nparameter right.i 1.5\nparameter right.on on\n",
    );
    for expected in [
        "a.msim:1:6: error: `tEnd` must be a number and a unit of time, not `1` [wrong-type]\n  help: write it as `tEnd 10 s`; units are",
        "a.msim:2:8: error: `hStart` must be",
        "a.msim:3:8: error: `absTol` must be a number of at least 0, not `-1`",
        "a.msim:4:15: error: `maxIterations` must be a whole number from 1",
        "a.msim:5:16: error: `adjustStepSize` must be `yes` or `no`, not `maybe`",
        "a.msim:6:12: error: `MasterMode` must be one of",
        "did you mean `GAUSS_JACOBI`?",
        "a.msim:7:1: error: a simulator has a priority",
        "a.msim:8:13: error: the cycle must be a whole number, not `x`",
        "a.msim:9:15: error: a simulator cannot be called `l.r`",
        "a.msim:10:25: error: `a.exe` is neither an FMU nor a table",
        "a.msim:12:1: error: a graph has an output",
        "a.msim:13:7: error: unknown simulator `righd` [unknown-name]\n  help: did you mean `right`?",
        "a.msim:14:7: error: `right` is no `simulator.variable`",
        "a.msim:15:26: error: offset and factor must be numbers, not `x`",
        "a.msim:16:1: error: a parameter has a name and a value",
        "a.msim:17:19: error: `i` takes a whole number, not `1.5`",
        "a.msim:18:20: error: `on` takes `true` or `false`, not `on`",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
    for (settings, expected) in [
        (
            "MasterMode GAUSS_JACOBI\nmaxIterations 2",
            "does not iterate",
        ),
        (
            "ErrorControlMode ADAPT_STEP",
            "refuses it without `adjustStepSize`",
        ),
        ("adjustStepSize yes", "without iterations or error control"),
    ] {
        let text = refused(&format!("tEnd 1 s\nhStart 0.1 s\n{settings}\n{PAIR}"));
        assert!(text.contains(expected), "{text}");
    }
}
