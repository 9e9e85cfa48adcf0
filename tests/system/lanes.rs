//! FMUs in this process that are called together, in macro-steps in a row: everything is as where each macro-step is made by
//! itself, and as where the phases go through the units, which threads make them do.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use gyrator::system::FmuCache;
use gyrator::{Run, RunOptions, System};
use gyrator_system::toml_file;

const H: f64 = 0.01;
const STEPS: u32 = 100;

/// Ways to make a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    InARow,
    OneByOne,
    ThroughUnits,
}

const WAYS: [Way; 3] = [Way::InARow, Way::OneByOne, Way::ThroughUnits];

/// Pairs of an oscillator and a unit without feed-through that gives back its input, each with a bond. One of these may be at
/// fault.
fn system(pairs: usize, fault: &str, function: &str, time: f64) -> System {
    let [motion, faulty] = ["OscillatorMotion", "Faulty"].map(gyrator_testkit::fmu);
    let mut text = format!(
        "[experiment]\nstop_time = {}\nstep_size = {H}\n",
        f64::from(STEPS) * H
    );
    for pair in 0..pairs {
        let (name, fault) = match pair == pairs / 2 {
            true => ("bad".to_owned(), fault),
            false => (format!("well{pair}"), "none"),
        };
        let _ = write!(
            text,
            "[components.motion{pair}]\nfmu = {motion:?}\n\
             [components.{name}]\nfmu = {faulty:?}\n\
             start_values = {{ fault = \"{fault}\", function = \"{function}\", fault_time = {time} }}\n\
             [[bonds]]\nname = \"bond{pair}\"\n\
             effort = {{ from = \"{name}.y\", to = \"motion{pair}.f\" }}\n\
             flow = {{ from = \"motion{pair}.v\", to = \"{name}.u\" }}\n"
        );
    }
    let (file, _) = toml_file::parse(&text, Path::new("system.toml")).unwrap();
    FmuCache::default().system(file).unwrap()
}

fn start(system: System, way: Way) -> Run {
    let threads = if way == Way::ThroughUnits { 2 } else { 1 };
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    system.start(&options).unwrap()
}

/// Everything that a run shows, in bits.
fn course(mut run: Run, way: Way) -> String {
    let ended = match way {
        Way::InARow => run.run().map(drop),
        _ => loop {
            match run.step() {
                Ok(true) => {}
                other => break other.map(drop),
            }
        },
    };
    let (report, view) = (run.report(), run.view());
    let bits: Vec<u64> = view.reals.iter().map(|value| value.to_bits()).collect();
    let mut text = format!(
        "{ended:?}\n{} {} {:?}\n",
        report.stop_reason.word(),
        report.steps,
        view.time
    );
    if ended.is_ok() {
        // How many calls of a step were made before a fault depends on their order.
        let _ = writeln!(text, "{:?}", report.counters);
    }
    let _ = writeln!(text, "{:?}\n{bits:?}", report.warnings);
    for (index, bond) in view.ledger.bonds().enumerate() {
        let (error, alarms) = (
            view.ledger.integration_error(index),
            view.alarms.bond(index),
        );
        let _ = writeln!(text, "{bond:?} {error:?} {alarms:?}");
    }
    let peak = view.ledger.peak_residual_energy_integrated();
    let defects: Vec<_> = view.defects.connections().collect();
    let _ = writeln!(text, "{peak:?}\n{defects:?}");
    text
}

#[track_caller]
fn expect_one_course(make: impl Fn() -> System) -> String {
    let [in_a_row, one_by_one, through_units] = WAYS.map(|way| course(start(make(), way), way));
    assert_eq!(in_a_row, one_by_one);
    assert_eq!(in_a_row, through_units);
    in_a_row
}

#[test]
fn macro_steps_in_a_row_are_the_same_to_the_last_bit() {
    for pairs in [1, 2, 7, 40] {
        let text = expect_one_course(|| system(pairs, "none", "do_step", 0.0));
        assert!(text.contains("stop-time 100 "), "{text}");
    }
}

/// In the first steps, in the middle of some in a row, and in the last but one; a wish to end among them.
#[test]
fn a_fault_in_a_row_has_the_effect_that_it_has_alone() {
    for time in [H, 0.35, 0.98] {
        for function in ["do_step", "get"] {
            for fault in [
                "error",
                "fatal",
                "discard_once",
                "discard_always",
                "unknown_status",
                "pending",
            ] {
                let text = expect_one_course(|| system(2, fault, function, time));
                assert!(
                    text.starts_with("Err(Fault"),
                    "{fault} in {function}: {text}"
                );
                assert!(text.contains("component: \"bad\""), "{text}");
            }
        }
        let text = expect_one_course(|| system(2, "finish", "do_step", time));
        assert!(text.contains("terminated"), "{text}");
        for fault in ["nan", "infinite"] {
            let text = expect_one_course(|| system(2, fault, "do_step", time));
            assert!(
                text.contains("NotFinite") && text.contains("bad.y"),
                "{fault}: {text}"
            );
        }
    }
}

/// Other control words, in random steps, reach no other FMU (C-77).
#[test]
fn c77_changed_control_words_change_no_result() {
    let expected = course(
        start(system(2, "none", "do_step", 0.0), Way::InARow),
        Way::InARow,
    );
    let values = |text: &str| text.lines().skip(4).map(str::to_owned).collect::<Vec<_>>();
    for fault in ["round_upwards", "change_float_control"] {
        for function in ["do_step", "get"] {
            let run = start(system(2, fault, function, 0.35), Way::InARow);
            let found = course(run, Way::InARow);
            assert_eq!(values(&found), values(&expected), "{fault} in {function}");
        }
    }
}

/// A tracker sees every communication point, and an interruption ends the run at the next one.
#[test]
fn points_are_tracked_and_interruptions_heard_between_macro_steps_in_a_row() {
    let points = Arc::new(Mutex::new(Vec::new()));
    let interrupt = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let options = RunOptions {
        interrupt: Some(interrupt.clone()),
        ..RunOptions::default()
    };
    let mut run = system(1, "none", "do_step", 0.0).start(&options).unwrap();
    let (kept, last) = (points.clone(), AtomicU64::new(0));
    let track = move |time: f64, steps: u64| {
        kept.lock().unwrap().push((time, steps));
        last.store(steps, Ordering::Relaxed);
        interrupt.store(steps == 57, Ordering::Relaxed);
    };
    gyrator::run::track(&mut run, Box::new(track));
    let report = run.run().unwrap();
    assert_eq!(
        (report.stop_reason.word(), report.steps),
        ("interrupted", 57)
    );
    let expected: Vec<(f64, u64)> = (0..=57_u32)
        .map(|step| (f64::from(step) * H, u64::from(step)))
        .collect();
    assert_eq!(*points.lock().unwrap(), expected);
}

#[test]
fn macro_steps_in_a_row_allocate_nothing() {
    let mut run = start(system(3, "none", "do_step", 0.0), Way::InARow);
    run.run_until(20.0 * H).unwrap();
    let counted = allocation_counter::measure(|| {
        run.run_until(90.0 * H).unwrap();
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}
