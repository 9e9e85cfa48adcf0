//! Parts of programs that pages show, in the programs around them.

use gyrator::real_time::{Overruns, RealTime};
use gyrator::system::Word;
use gyrator::system_file::Scenario;
use gyrator::{ClosureUnit, LinearUnit, Recorder, Run, RunOptions, System};
use gyrator_assess::{Check, Checks, EnergyLimit, Judging, Recording};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Two masses on springs, as in docs/library.md, which neither gain nor lose more than a little energy in a tenth of a second.
fn run() -> Run {
    let matrices: [&[f64]; 4] = [
        &[0.0, 1.0, -110.0, 0.0],
        &[0.0, 0.0, 100.0, 0.0],
        &[100.0, 0.0, 1.0, 0.0, 0.0, 1.0],
        &[-100.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    ];
    let left = LinearUnit::new(&[0.0, 1.0], &["x2", "v2"], &["f", "x", "v"], matrices);
    let (mut x, mut v) = (0.0, -1.0);
    let right = ClosureUnit::new(&[("f", 0.0)], &[("x", x), ("v", v)], move |call| {
        v += call.step * (call.inputs[0] - 1000.0 * x);
        x += call.step * v;
        call.outputs.copy_from_slice(&[x, v]);
    });
    let mut system = System::new(1e-3);
    system.stop_time(10.0);
    system.add("left", left);
    system.add("right", right);
    system.connect("right.x", "left.x2");
    system.bond("coupling", ("left.f", "right.f"), ("right.v", "left.v2"));
    system.start(&RunOptions::default()).unwrap()
}

#[test]
fn checks_on_recorded_rows() -> Outcome {
    let mut run = run();
    let (recorder, rows) = Recorder::memory();
    run.observe(recorder)?;
    let report = run.run()?;
    Recording::new(&rows.take(), &report)
        .assert(Check::within("right.x", 0.0, 4.5))
        .assert(Check::energy_error_below(Some("coupling"), 500.0));
    Ok(())
}

#[test]
fn checks_of_the_library_page() -> Outcome {
    let mut run = run();
    let (recorder, rows) = Recorder::memory();
    run.observe(recorder)?;
    let report = run.run()?;
    let found = std::panic::catch_unwind(|| {
        Recording::new(&rows.take(), &report)
            .assert(Check::within("right.x", 0.0, 4.5).from(1.0))
            .assert(Check::settles("*.v", Some(0.0), 0.1, 8.0))
            .assert(Check::energy_error_below(None, EnergyLimit::Relative(0.01)));
    });
    // Undamped masses do not settle.
    assert!(found.is_err());
    Ok(())
}

#[test]
fn checks_while_it_runs() -> Outcome {
    let mut run = run();
    let checks = Checks::from([
        Check::within("right.x", 0.0, 4.5),
        Check::balance_above("right", -5000.0),
    ]);
    let judging = Judging::new(&checks, run.graph(), 0.0, Some(10.0))?;
    run.observe(judging.observer())?;
    let report = run.run()?;
    for finding in judging.conclude(&report) {
        println!("{finding}");
    }
    Ok(())
}

/// Takes as long as it simulates: it is compiled, and not run.
fn _in_real_time(mut run: Run) -> Outcome {
    run.observe(Recorder::csv("results.csv")?.queued())?;
    let real_time = RealTime::new().overruns(Overruns::Skip);
    let timing = real_time.timing();
    run.observe(real_time)?;
    run.run()?;
    println!("{:?}", timing.report());
    Ok(())
}

#[test]
fn a_scenario_in_code() -> Outcome {
    let mut system = System::new(1e-3);
    system.stop_time(5.0);
    let wheel = ClosureUnit::new(&[("v_c", 0.0)], &[("F", 1.0)], |_| {});
    let chassis = ClosureUnit::new(&[("F", 0.0)], &[("v_c", 0.0)], |_| {});
    system.add("wheel", wheel);
    system.add("chassis", chassis);
    system.connect("wheel.F", "chassis.F");
    system.connect("chassis.v_c", "wheel.v_c");
    let mut scenario = Scenario::new();
    let bias = Word::new("bias").with("value", 0.1);
    scenario.act(2.0, "wheel.v_c", bias).until(3.0);
    scenario.act(4.0, "chassis.F", "freeze");
    system.scenario(scenario);
    system.start(&RunOptions::default())?.run()?;
    Ok(())
}

#[test]
fn an_override() -> Outcome {
    let mut system = System::new(1e-3);
    system.stop_time(0.01);
    let plant = ClosureUnit::new(&[("u", 0.0)], &[("y", 0.0)], |call| {
        call.outputs[0] = call.inputs[0];
    });
    system.add("plant", plant);
    let mut run = system.start(&RunOptions::default())?;
    run.override_value("plant.u", 2.0)?; // also where a connection feeds plant.u
    run.step()?;
    run.release("plant.u")?;
    Ok(())
}
