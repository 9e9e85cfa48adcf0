//! How punctual runs in real time are.

use std::time::{Duration, Instant};

use gyrator::real_time::{Durations, RealTime};
use gyrator::{Recorder, RunOptions, System};
use gyrator_testkit::{Coupling, ModelUnit, TABLE_1, fmu};

const STEP: Duration = Duration::from_millis(1);
const STEPS: usize = 60_000;
/// Steps before allocations are counted.
const WARM_UP: usize = 20;
/// How long before a deadline the empty loop stops sleeping, as [`RealTime`] does.
const SPIN: Duration = Duration::from_micros(150);

/// Two FMUs with a correction, recorded to a file, for a minute at steps of 1 ms, beside a loop that only waits, on a
/// core each. The table shows by how much the points of both come late. No step allocates.
#[test]
#[ignore = "study: a minute of the clock"]
fn a_minute_beside_an_empty_loop() {
    let coupling = Coupling {
        correction: Some(("residual-power", &[])),
        ..Coupling::default()
    };
    let models = TABLE_1[0].system_of(&coupling, ModelUnit::new(), ModelUnit::new());
    let mut file = models.description().clone();
    file.experiment.stop_time = None;
    for (component, name) in file
        .components
        .iter_mut()
        .zip(["OscillatorForce", "OscillatorMotion"])
    {
        component.fmu.value = fmu(name);
    }
    let folder = tempfile::tempdir().unwrap();
    let result = folder.path().join("results.csv");
    let mut run = System::from_file(file)
        .unwrap()
        .start(&RunOptions::default())
        .unwrap();
    let recorder = Recorder::csv(&result).unwrap().queued();
    run.observe(recorder).unwrap();
    let floor = std::thread::spawn(empty_loop);
    let real_time = RealTime::new();
    let timing = real_time.timing();
    run.observe(real_time).unwrap();
    for _ in 0..WARM_UP {
        run.step().unwrap();
    }
    let counted = allocation_counter::measure(|| {
        for _ in WARM_UP..STEPS {
            run.step().unwrap();
        }
    });
    run.stop().unwrap();
    let (overruns, late) = floor.join().unwrap();
    let timing = timing.report().unwrap();
    println!("{STEPS} points at {STEP:?}   too late   median       99 %         longest");
    let line = |name, overruns, Durations { p50, p99, max }| {
        let [p50, p99, max] = [p50, p99, max].map(|seconds| 1e6 * seconds);
        println!("{name:<24} {overruns:>6} {p50:>9.2} µs {p99:>9.2} µs {max:>9.2} µs");
    };
    line("empty loop, delay", overruns, late);
    line("run, delay", timing.overruns, timing.jitter);
    line("run, work of a step", timing.overruns, timing.step_time);
    println!(
        "allocations on the thread that steps: {}",
        counted.count_total
    );
    assert_eq!(counted.count_total, 0);
    assert_eq!(timing.points, STEPS as u64);
    // A row for the start and for every step, and the names of the columns.
    let lines = std::fs::read_to_string(&result).unwrap().lines().count();
    assert_eq!(lines, STEPS + 2);
}

/// Waits for the same points of time, and does nothing: points that were missed as a whole, and delays.
fn empty_loop() -> (u64, Durations) {
    let mut delays = Vec::with_capacity(STEPS);
    let begin = Instant::now();
    let mut missed = 0;
    for step in 1..=STEPS {
        let deadline = STEP * step as u32;
        let left = deadline.saturating_sub(begin.elapsed());
        missed += u64::from(left.is_zero());
        if left > SPIN {
            std::thread::sleep(left - SPIN);
        }
        while begin.elapsed() < deadline {
            std::hint::spin_loop();
        }
        delays.push((begin.elapsed() - deadline).as_secs_f64());
    }
    delays.sort_by(f64::total_cmp);
    let durations = Durations {
        p50: delays[STEPS / 2],
        p99: delays[STEPS * 99 / 100],
        max: delays[STEPS - 1],
    };
    (missed, durations)
}
