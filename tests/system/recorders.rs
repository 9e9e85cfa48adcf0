//! Recorders that a program adds to a run.

use std::fs;

use fmu_models::AllTypes;
use gyrator::record::{ColumnType, ColumnValues, ParameterValue};
use gyrator::{ClosureUnit, LinearUnit, Recorder, Run, RunError, RunOptions, System};
use gyrator_testkit::ModelUnit;

/// A ramp that an integrator and an echo of every type receive, at macro-steps of 0.25 s for 1 s.
fn run() -> Run {
    let mut system = System::new(0.25);
    system.extrapolation("hold");
    let ramp = ClosureUnit::new(&[], &[("y", 0.0)], |call| {
        call.outputs[0] = call.time + call.step;
    });
    let integrator = LinearUnit::new(&[0.0], &["u"], &["y"], [&[0.0], &[1.0], &[1.0], &[0.0]]);
    system.add("ramp", ramp);
    system.add("integrator", integrator);
    system.add("echo", ModelUnit::<AllTypes>::new());
    system.connect("ramp.y", "integrator.u");
    system.stop_time(1.0);
    system.start(&RunOptions::default()).unwrap()
}

#[test]
fn each_column_in_memory_has_values_of_its_type() {
    let mut run = run();
    let (recorder, rows) = Recorder::memory();
    run.observe(recorder).unwrap();
    run.write("echo.string_in", "text").unwrap();
    run.write("echo.integer_in", 7).unwrap();
    run.write("echo.boolean_in", true).unwrap();
    run.write("echo.colour_in", 2).unwrap();
    run.run().unwrap();
    let recorded = rows.take();
    assert_eq!(recorded.time, [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(recorded.reals("ramp.y").unwrap(), recorded.time);
    let last = |name: &str| {
        let found = recorded.column(name).unwrap();
        let at = recorded.time.len() - 1;
        let text = match &found.values {
            ColumnValues::Real(values) => values[at].to_string(),
            ColumnValues::Integer(values) => values[at].to_string(),
            ColumnValues::Boolean(values) => values[at].to_string(),
            ColumnValues::String(values) => values[at].clone(),
        };
        (found.column.kind, text)
    };
    let expected = [
        ("echo.string_out", ColumnType::String, "text"),
        ("echo.integer_out", ColumnType::Integer, "7"),
        ("echo.boolean_out", ColumnType::Boolean, "true"),
        ("echo.colour_out", ColumnType::Enumeration, "2"),
        // The sum of 0, 0.25, 0.5 and 0.75, held for 0.25 s each.
        ("integrator.y", ColumnType::Real, "0.375"),
    ];
    for (name, kind, text) in expected {
        assert_eq!(last(name), (kind, text.to_owned()), "{name}");
    }
}

#[test]
fn patterns_choose_inputs_local_variables_and_parameters() {
    let mut run = run();
    let (recorder, rows) = Recorder::memory();
    run.observe(recorder.variables(["integrator.?", "echo.gain"]))
        .unwrap();
    run.run().unwrap();
    let recorded = rows.take();
    let names: Vec<_> = recorded.columns.iter().map(|c| &c.column.name).collect();
    assert_eq!(names, ["integrator.y", "integrator.u"]);
    // The value that was held from each row on.
    assert_eq!(recorded.reals("integrator.u").unwrap(), recorded.time);
    assert_eq!(
        recorded.parameters,
        [("echo.gain".to_owned(), ParameterValue::Real(1.0))]
    );
    assert!(rows.take().time.is_empty());
}

#[test]
fn the_last_point_has_a_row_whatever_the_interval() {
    let mut run = run();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.csv");
    let recorder = Recorder::file(&file).unwrap().interval(0.75);
    run.observe(recorder.variables(["ramp.y"])).unwrap();
    run.run().unwrap();
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, "time,ramp.y\n0.0,0.0\n0.75,0.75\n1.0,1.0\n");
}

#[test]
fn a_parquet_file_has_the_rows() {
    let mut run = run();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.parquet");
    let recorder = Recorder::parquet(&file).unwrap();
    run.observe(recorder.variables(["ramp.y"])).unwrap();
    run.run().unwrap();
    let table = gyrator::record::read_table(&file).unwrap();
    assert_eq!(table.time, [0.0, 0.25, 0.5, 0.75, 1.0]);
    assert_eq!(
        table.column("ramp.y").unwrap().numbers(),
        Some(&table.time[..])
    );
}

#[test]
fn a_pattern_that_fits_nothing_ends_the_run_and_names_the_nearest_name() {
    let mut run = run();
    let (recorder, _) = Recorder::memory();
    let error = run.observe(recorder.variables(["ramp.z"])).unwrap_err();
    assert!(matches!(error, RunError::Observer(_)), "{error}");
    let text = "there is no variable ramp.z to record; did you mean `ramp.y`?";
    assert_eq!(error.to_string(), text);
    assert!(run.has_ended());
}

#[test]
fn a_file_without_a_form_is_refused() {
    let error = Recorder::file("out.xlsx").err().unwrap();
    assert!(error.to_string().contains("must end in .csv"), "{error}");
}
