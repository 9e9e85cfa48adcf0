//! Times far from zero, such as seconds since 1970: 1.7e9 s is a day in 2023, when a double has a resolution of 0.24
//! µs.

use std::sync::{Arc, Mutex};

use gyrator::{ClosureUnit, Run, RunOptions, System};
use gyrator_system::toml_file;

/// Start time, s.
const START: f64 = 1.7e9;

/// A run of a block from [`START`] on, in steps of 1 ms.
fn run_of(block: &str) -> Run {
    let text = format!(
        "experiment = {{ start_time = {START:?}, step_size = 1e-3 }}\ncomponents.s.block = {block}\n"
    );
    let read = toml_file::parse(text, "system.toml");
    let (file, _) = read.unwrap_or_else(|problems| panic!("{problems}"));
    let system = System::from_file(file).unwrap();
    system.start(&RunOptions::default()).unwrap()
}

/// The output `y` at the start and after each of so many steps.
fn course(block: &str, steps: usize) -> Vec<f64> {
    let mut run = run_of(block);
    let mut values = vec![run.read_real("s.y").unwrap()];
    for _ in 0..steps {
        run.step().unwrap();
        values.push(run.read_real("s.y").unwrap());
    }
    values
}

#[test]
fn a_block_jumps_at_its_communication_point_and_not_before() {
    for at in [1, 7, 500, 777] {
        let time = START + f64::from(at) * 1e-3;
        let values = course(&format!("{{ name = 'step', start_time = {time:?} }}"), 1000);
        let jump = values.iter().position(|value| *value == 1.0);
        assert_eq!(jump, Some(at as usize));
    }
}

#[test]
fn intervals_of_noise_begin_at_their_communication_points() {
    let values = course("{ name = 'noise', interval = 0.01 }", 1000);
    let changes: Vec<usize> = (1..=1000)
        .filter(|step| values[*step] != values[step - 1])
        .collect();
    assert_eq!(changes, Vec::from_iter((10..=1000).step_by(10)));
}

#[test]
fn a_run_goes_to_the_communication_point_that_is_asked_for() {
    let mut run = run_of("'constant'");
    for k in 1..=300_u32 {
        // Computed otherwise than by the engine, and up to two roundings away.
        run.run_until(START + f64::from(k) / 100.0).unwrap();
        assert_eq!(run.report().steps, u64::from(10 * k));
    }
}

#[test]
fn the_last_step_before_a_late_stop_time_is_a_whole_one() {
    for (stop, steps) in [(1_700_000_010.1, 10_100), (1_700_000_000.003, 3)] {
        let sizes = Arc::<Mutex<Vec<f64>>>::default();
        let seen = Arc::clone(&sizes);
        let unit = ClosureUnit::new(&[], &[("y", 0.0)], move |call| {
            seen.lock().unwrap().push(call.step);
        });
        let mut system = System::new(1e-3);
        system.start_time(START).stop_time(stop);
        system.add("unit", unit);
        let mut run = system.start(&RunOptions::default()).unwrap();
        let report = run.run().unwrap();
        assert_eq!((report.steps, run.time()), (steps, stop));
        // The first call asks for the initial outputs.
        assert!(sizes.lock().unwrap()[1..].iter().all(|size| *size == 1e-3));
    }
}

#[test]
fn a_late_stop_time_is_a_communication_point_of_a_slow_component() {
    let mut system = System::new(1e-3);
    system.start_time(START).stop_time(1_700_000_010.1);
    let unit = ClosureUnit::new(&[], &[("y", 0.0)], |_| {});
    system.add("slow", unit).step_size(0.1);
    let report = system.start(&RunOptions::default()).unwrap().run().unwrap();
    assert_eq!(report.steps, 10_100);
}
