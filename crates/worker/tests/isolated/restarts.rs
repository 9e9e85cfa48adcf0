//! A component that is started again when its process is lost continues with the same bits.

use gyrator_system::{Restart, Spanned, SystemFile, Value};

use crate::bench::{altered, finish, isolated, isolation, run, set, start, start_with, system};
use crate::losses::{kill, workers_of};

const STEPS: u64 = 200;

/// `name` is unique to a test, because tests run side by side in one process.
fn oscillators(name: &str, control: &str) -> SystemFile {
    let text = r#"
[experiment]
stop_time = 0.2
step_size = 1e-3
CONTROL

[components.NAME]
fmu = "<OscillatorForce>"
start_values = { m = 1.0, k = 10.0, k_c = 100.0, c_c = 0.1, v_start = 100.0 }

[components.motion]
fmu = "<OscillatorMotion>"
start_values = { m = 1.0, k = 1000.0, c = 0.1, v_start = -100.0 }

[[connections]]
from = "motion.x"
to = "NAME.x2"

[[bonds]]
name = "coupling"
effort = [{ from = "NAME.f", to = "motion.f" }]
flow = [{ from = "motion.v", to = "NAME.v2" }]
correction = { name = "residual-power", mu = 0.5 }
"#;
    system(&text.replace("NAME", name).replace("CONTROL", control))
}

pub(crate) fn restarting(mut file: SystemFile, name: &str, times: u32, every: u32) -> SystemFile {
    let restart = Restart { times, every };
    file.component_mut(name).unwrap().restart = Some(Spanned::unplaced(restart));
    file
}

#[test]
fn a_component_that_is_killed_now_and_then_computes_the_same_bits() {
    for (every, name) in [(1, "every1"), (7, "every7"), (1000, "never")] {
        let file = oscillators(name, "");
        let (expected, report) = run(file.clone(), 1);
        assert_eq!(report.steps, STEPS);
        let mut run = start(restarting(file, name, 4, every), 1);
        let watcher = crate::bench::Watcher::default();
        run.observe(watcher.clone()).unwrap();
        for step in 0..STEPS {
            if [0, 3, 50, 111].contains(&step) {
                let workers = workers_of(name);
                assert_eq!(workers.len(), 1);
                kill(workers[0]);
            }
            run.step()
                .unwrap_or_else(|error| panic!("step {step}: {error}"));
        }
        assert!(watcher.rows() == expected, "every {every} steps");
    }
}

#[test]
fn steps_that_are_made_again_survive_a_lost_process() {
    let control = r#"step_control = { name = "ecco", tolerance = 1e-4, energy_scale = 5000.0, first_step = 5e-3, reject_above = 1.0 }
extrapolation = "hold"
method = "jacobi""#;
    let file = oscillators("again", control);
    let (expected, report) = run(file.clone(), 1);
    assert!(report.counters.repeated_steps > 0);
    let mut run = start(restarting(file, "again", 20, 5), 1);
    let watcher = crate::bench::Watcher::default();
    run.observe(watcher.clone()).unwrap();
    for step in 0.. {
        if step % 50 == 4 {
            kill(workers_of("again")[0]);
        }
        if !run
            .step()
            .unwrap_or_else(|error| panic!("step {step}: {error}"))
        {
            break;
        }
        assert!(step < 10_000);
    }
    assert!(watcher.rows() == expected);
}

/// Killed while it waits, computes or answers: the moments do not depend on what the run does.
#[test]
fn a_component_that_is_killed_at_any_moment_computes_the_same_bits() {
    let file = oscillators("moments", "");
    let (expected, _) = run(file.clone(), 1);
    for seed in 0..6_u64 {
        let mut run = start(restarting(file.clone(), "moments", 50, 10), 1);
        let watcher = crate::bench::Watcher::default();
        run.observe(watcher.clone()).unwrap();
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0..4 {
                    let pause = (seed * 7919 + round * 104_729) % 17_000;
                    std::thread::sleep(std::time::Duration::from_micros(pause));
                    if is_done.load(std::sync::atomic::Ordering::Relaxed) {
                        break;
                    }
                    workers_of("moments").into_iter().for_each(kill_if_there);
                }
            });
            let result = run.run();
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
            result.unwrap_or_else(|error| panic!("{error}"));
        });
        assert!(watcher.rows() == expected, "seed {seed}");
    }
}

/// A process may have ended meanwhile.
fn kill_if_there(process: u32) {
    let number = process.to_string();
    let mut command = std::process::Command::new("kill");
    let command = command
        .args(["-9", &number])
        .stderr(std::process::Stdio::null());
    command.status().unwrap();
}

#[test]
fn what_crashes_again_and_again_ends_the_run() {
    let mut file = system(
        r#"
[experiment]
stop_time = 1.0
step_size = 0.1

[components.crashing]
fmu = "<Faulty>"
restart = 2
start_values = { fault_time = 0.5 }
"#,
    );
    set(
        &mut file,
        "crashing",
        "fault",
        Value::String("segfault".to_owned()),
    );
    let (rows, result) = finish(start(file, 1));
    let error = result.unwrap_err().to_string();
    let expected =
        "crashing: SIGSEGV in fmi2DoStep, after 2 restarts at t = 0.4 s (step 4), in Faulty.so";
    assert_eq!(error, expected);
    assert_eq!(rows.reals.len(), 5);
}

/// The step would otherwise be missing in the requests that a new process gets.
#[test]
fn a_state_that_cannot_be_put_into_bytes_ends_the_run() {
    let mut file = system(
        r#"
[experiment]
stop_time = 1.0
step_size = 0.1

[components.stuck]
fmu = "<Faulty>"
start_values = { fault_time = 0.5 }
"#,
    );
    for (name, value) in [("fault", "none"), ("function", "serialize")] {
        set(&mut file, "stuck", name, Value::String(value.to_owned()));
    }
    let (_, report) = run(file.clone(), 1);
    assert_eq!(report.steps, 10, "the state is not asked for");
    let (rows, result) = finish(start(restarting(file, "stuck", 2, 1), 1));
    let error = result.unwrap_err().to_string();
    let expected = "stuck: fmi2SerializedFMUstateSize";
    assert!(error.starts_with(expected), "{error}");
    assert!(error.contains("t = 0.4 s (step 4)"), "{error}");
    assert_eq!(rows.reals.len(), 5);
}

#[test]
fn an_fmu_that_cannot_serialize_is_refused() {
    let mut file = isolated(oscillators("name", ""));
    let described = gyrator_fmu::Fmu::open(&file.components[0].fmu.value).unwrap();
    let claims = described.description().co_simulation.as_ref().unwrap();
    assert!(
        claims.can_serialize_fmu_state,
        "the FMUs of this repository can"
    );
    let original = file.components[0].fmu.value.clone();
    let folder = tempfile::tempdir().unwrap();
    let without = |text: &str| text.replace("canSerializeFMUstate=\"true\"", "");
    file.components[0].fmu.value = altered(&original, folder.path(), without, None);
    let refused = start_with(restarting(file, "name", 1, 1), 1, isolation());
    let message = refused.map(drop).unwrap_err().to_string();
    assert!(message.contains("canSerializeFMUstate"), "{message}");
}
