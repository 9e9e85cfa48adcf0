//! FMUs in this process that are called together: everything is as when the calls go through the units, which threads
//! make them do.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gyrator::profile::{OperationTime, Profile};
use gyrator::system::FmuCache;
use gyrator::unit::InProcess;
use gyrator::{Recorder, Run, RunOptions, System};
use gyrator_system::toml_file;
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

const H: f64 = 0.01;
const STEPS: u32 = 300;

/// Ways to make a run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Together,
    ThroughUnits,
    Profiled,
}

const WAYS: [Way; 3] = [Way::Together, Way::ThroughUnits, Way::Profiled];

/// Copies of FMUs whose descriptions declare neither units of measure nor direct feed-through: any two make a bond, and what
/// they publish stays as it is.
struct Copies(TempDir);

impl Copies {
    fn new() -> Self {
        Self::with_dependencies("")
    }

    /// Outputs declare to depend on these variables.
    fn with_dependencies(indices: &str) -> Self {
        let copies = Self(tempfile::tempdir().unwrap());
        for name in ["OscillatorMotion", "OscillatorHub", "Faulty"] {
            let fmu = File::open(gyrator_testkit::fmu(name)).unwrap();
            let mut archive = ZipArchive::new(fmu).unwrap();
            let mut copy = ZipWriter::new(File::create(copies.fmu(name)).unwrap());
            for index in 0..archive.len() {
                let mut file = archive.by_index(index).unwrap();
                let place = file.name().unwrap().into_owned();
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes).unwrap();
                if place == "modelDescription.xml" {
                    let text = String::from_utf8(bytes).unwrap();
                    let text = without_attribute(&text, "unit");
                    bytes = text
                        .replace("dependencies=\"1\"", &format!("dependencies=\"{indices}\""))
                        .into_bytes();
                }
                copy.start_file(place, SimpleFileOptions::default())
                    .unwrap();
                copy.write_all(&bytes).unwrap();
            }
            copy.finish().unwrap();
        }
        copies
    }

    fn fmu(&self, name: &str) -> PathBuf {
        self.0.path().join(name).with_extension("fmu")
    }

    /// Pairs of oscillators, each with a bond.
    fn bonds(&self, pairs: usize) -> System {
        let motion = self.fmu("OscillatorMotion");
        let mut text = String::new();
        for pair in 0..pairs {
            let _ = write!(
                text,
                "[components.a{pair}]\nfmu = {motion:?}\n[components.b{pair}]\nfmu = {motion:?}\n\
                 [[bonds]]\nname = \"bond{pair}\"\nsense = -1\n\
                 effort = {{ from = \"a{pair}.x\", to = \"b{pair}.f\" }}\n\
                 flow = {{ from = \"b{pair}.v\", to = \"a{pair}.f\" }}\n"
            );
        }
        system_of(&text)
    }

    /// Pairs of oscillators, each with a bond of so many axes, every other one in the other sense.
    fn bonds_of_axes(&self, axes: &[usize]) -> System {
        // Effort, flow, and the input of either.
        const AXES: [(&str, &str, u32); 4] =
            [("x", "v", 1), ("v", "x", 2), ("x", "x", 3), ("v", "v", 4)];
        let hub = self.fmu("OscillatorHub");
        let mut text = String::new();
        for (pair, count) in axes.iter().enumerate() {
            let (mut efforts, mut flows) = (String::new(), String::new());
            for (effort, flow, input) in &AXES[..*count] {
                let _ = write!(
                    efforts,
                    "{{ from = \"a{pair}.{effort}\", to = \"b{pair}.f{input}\" }}, "
                );
                let _ = write!(
                    flows,
                    "{{ from = \"b{pair}.{flow}\", to = \"a{pair}.f{input}\" }}, "
                );
            }
            let sense = if pair % 2 == 0 { 1 } else { -1 };
            let _ = write!(
                text,
                "[components.a{pair}]\nfmu = {hub:?}\nstart_values = {{ x_start = 0.{pair}3 }}\n\
                 [components.b{pair}]\nfmu = {hub:?}\n\
                 [[bonds]]\nname = \"bond{pair}\"\nsense = {sense}\n\
                 effort = [{efforts}]\nflow = [{flows}]\n"
            );
        }
        system_of(&text)
    }

    /// Pairs of an oscillator and a unit that may be at fault, as one of them is, each with a bond.
    fn faulty(&self, pairs: usize, fault: &str, function: &str, time: f64) -> System {
        let (motion, faulty) = (self.fmu("OscillatorMotion"), self.fmu("Faulty"));
        let mut text = String::new();
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
                 [[bonds]]\nname = \"bond{pair}\"\nsense = -1\n\
                 effort = {{ from = \"{name}.y\", to = \"motion{pair}.f\" }}\n\
                 flow = {{ from = \"motion{pair}.v\", to = \"{name}.u\" }}\n"
            );
        }
        system_of(&text)
    }
}

fn without_attribute(text: &str, name: &str) -> String {
    let begin = format!(" {name}=\"");
    let parts = text.split(&begin).enumerate();
    let without = parts.map(|(index, part)| match index {
        0 => part,
        _ => part.split_once('"').unwrap().1,
    });
    without.collect()
}

fn system_of(text: &str) -> System {
    let experiment = format!(
        "[experiment]\nstop_time = {}\nstep_size = {H}\nmethod = \"jacobi\"\nextrapolation = \"hold\"\n",
        f64::from(STEPS) * H
    );
    let (file, _) = toml_file::parse(&(experiment + text), Path::new("system.toml")).unwrap();
    FmuCache::default().system(file).unwrap()
}

fn start(system: System, way: Way) -> Run {
    let threads = if way == Way::ThroughUnits { 2 } else { 1 };
    let options = RunOptions {
        threads,
        ..RunOptions::default()
    };
    match way {
        Way::Profiled => profiled(system, &Profile::new()),
        Way::Together | Way::ThroughUnits => system.start(&options).unwrap(),
    }
}

fn profiled(system: System, profile: &Profile) -> Run {
    let units = &mut profile.units(InProcess);
    let mut run = system.start_with(&RunOptions::default(), units).unwrap();
    run.profile(profile);
    run
}

/// Everything that a run shows, in bits.
fn course(mut run: Run) -> String {
    let ended = run.run().map(drop);
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
    let [together, others @ ..] = WAYS.map(|way| course(start(make(), way)));
    for other in others {
        assert_eq!(together, other);
    }
    together
}

#[test]
fn calls_of_lanes_are_the_same_to_the_last_bit() {
    let copies = Copies::new();
    for pairs in [1, 2, 7, 40] {
        let text = expect_one_course(|| copies.bonds(pairs));
        assert!(text.contains("stop-time 300 "), "{text}");
    }
}

/// Of one number of axes, and of several.
#[test]
fn bonds_with_several_axes_are_the_same_to_the_last_bit() {
    let copies = Copies::new();
    let cases: [&[usize]; 5] = [
        &[2],
        &[3, 3],
        &[2, 2, 2, 2],
        &[1, 2, 2, 2, 2, 2, 2, 3, 1, 1, 1],
        &[4, 2],
    ];
    for axes in cases {
        for is_followed in [false, true] {
            let make = || match is_followed {
                false => copies.bonds_of_axes(axes),
                true => followed(copies.bonds_of_axes(axes)),
            };
            let text = expect_one_course(make);
            assert!(text.contains("stop-time 300 "), "{text}");
        }
    }
}

#[test]
fn stale_outputs_are_the_same_to_the_last_bit() {
    let copies = Copies::with_dependencies("1");
    for pairs in [1, 7] {
        let stale = || {
            let mut system = copies.bonds(pairs);
            system.exchange("stale");
            system
        };
        let text = expect_one_course(stale);
        assert!(text.contains("stop-time 300 "), "{text}");
    }
    for fault in ["nan", "error", "discard_once"] {
        let text = expect_one_course(|| {
            let mut system = copies.faulty(2, fault, "do_step", 1.5);
            system.exchange("stale");
            system
        });
        assert!(text.contains("bad"), "{fault}: {text}");
    }
}

/// The calls of a component's unit that a profile counts, and their time, s.
fn calls_of(profile: &Profile, component: &str, operation: &str) -> (u64, f64) {
    let operations = profile.report().operations;
    let is_it = |time: &&OperationTime| {
        time.component.as_deref() == Some(component) && time.operation == operation
    };
    let found = operations.iter().find(is_it);
    found.map_or((0, 0.0), |time| (time.calls, time.seconds))
}

/// After the first 64 macro-steps, in one macro-step of 16: as many looks at the clock for two FMUs as for sixteen.
#[test]
fn a_profile_times_fmus_that_are_called_together_as_a_whole() {
    let copies = Copies::new();
    let looks_at = |pairs: usize| {
        let looks = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&looks);
        let clock = move || Duration::from_nanos(counted.fetch_add(1, Ordering::Relaxed));
        let profile = Profile::by_clock(clock, None);
        let mut run = profiled(copies.bonds(pairs), &profile);
        let mut steps = |count: u64| {
            let before = looks.load(Ordering::Relaxed);
            for _ in 0..count {
                run.step().unwrap();
            }
            looks.load(Ordering::Relaxed) - before
        };
        let (alone, together) = (steps(64), steps(160));
        for pair in 0..pairs {
            for component in [format!("a{pair}"), format!("b{pair}")] {
                for operation in ["set", "step", "get"] {
                    let (calls, seconds) = calls_of(&profile, &component, operation);
                    // The outputs are read once before the first step.
                    let before = u64::from(operation == "get");
                    assert_eq!(calls, before + 64 + 160, "{operation} of {component}");
                    // A look takes 1 ns; of those together, each has a share.
                    let (least, most) = (64e-9, (64.0 + 160.0) * 1e-9);
                    assert!((least..=most).contains(&seconds), "{seconds}");
                }
            }
        }
        (alone, together)
    };
    let ((alone, together), (of_many, together_of_many)) = (looks_at(1), looks_at(8));
    assert!(of_many > 4 * alone, "{of_many} {alone}");
    assert_eq!(together, together_of_many);
}

/// A fault in the middle of a group: the calls before it count, and those after it were not made.
#[test]
fn a_profile_counts_the_calls_of_a_group_that_a_fault_interrupts() {
    let copies = Copies::new();
    let profile = Profile::new();
    let (motion, faulty) = (copies.fmu("OscillatorMotion"), copies.fmu("Faulty"));
    let mut run = profiled(
        system_of(&format!(
            "[components.a]\nfmu = {motion:?}\n\
             [components.b]\nfmu = {faulty:?}\n\
             start_values = {{ fault = \"error\", function = \"do_step\", fault_time = 1.5 }}\n\
             [components.c]\nfmu = {motion:?}\n"
        )),
        &profile,
    );
    let fault = run.run().unwrap_err();
    let well = run.report().steps;
    let counted = ["a", "b", "c"].map(|component| calls_of(&profile, component, "step").0);
    assert_eq!(counted, [well + 1, well + 1, well], "{fault}");
}

/// In the first steps, in the middle, and in the last but one; a wish to end among them.
#[test]
fn a_fault_in_a_lane_has_the_effect_that_it_has_alone() {
    let copies = Copies::new();
    for time in [H, 1.5, 2.98] {
        for function in ["do_step", "get"] {
            for fault in [
                "error",
                "fatal",
                "discard_once",
                "discard_always",
                "unknown_status",
                "pending",
            ] {
                let text = expect_one_course(|| copies.faulty(2, fault, function, time));
                assert!(
                    text.starts_with("Err(Fault"),
                    "{fault} in {function}: {text}"
                );
                assert!(text.contains("component: \"bad\""), "{text}");
            }
        }
        let text = expect_one_course(|| copies.faulty(2, "finish", "do_step", time));
        assert!(text.contains("terminated"), "{text}");
        for fault in ["nan", "infinite"] {
            let text = expect_one_course(|| copies.faulty(2, fault, "do_step", time));
            assert!(
                text.contains("NotFinite") && text.contains("bad.y"),
                "{fault}: {text}"
            );
        }
    }
}

/// In a process of its own: once an FMU has changed them, every call of the process is watched, and no lane is held.
#[test]
fn c77_changed_control_words_change_no_result() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args([
        "--ignored",
        "--exact",
        "lanes::c77_control_words_in_this_process",
    ]);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

/// Other control words, in random steps, reach no other FMU (C-77).
#[test]
#[ignore = "run by the test above"]
fn c77_control_words_in_this_process() {
    let copies = Copies::new();
    let expected = course(start(
        copies.faulty(2, "none", "do_step", 0.0),
        Way::Together,
    ));
    let values = |text: &str| text.lines().skip(4).map(str::to_owned).collect::<Vec<_>>();
    for fault in ["round_upwards", "change_float_control"] {
        for function in ["do_step", "get"] {
            let run = start(copies.faulty(2, fault, function, 1.5), Way::Together);
            let found = course(run);
            assert_eq!(values(&found), values(&expected), "{fault} in {function}");
        }
    }
}

/// A tracker sees every communication point, and an interruption ends the run at the next one.
#[test]
fn points_are_tracked_and_interruptions_heard_between_macro_steps() {
    let copies = Copies::new();
    let points = Arc::new(Mutex::new(Vec::new()));
    let interrupt = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let options = RunOptions {
        interrupt: Some(interrupt.clone()),
        ..RunOptions::default()
    };
    let mut run = copies
        .faulty(1, "none", "do_step", 0.0)
        .start(&options)
        .unwrap();
    let (kept, last) = (points.clone(), AtomicU64::new(0));
    let track = move |time: f64, steps: u64| {
        kept.lock().unwrap().push((time, steps));
        last.store(steps, Ordering::Relaxed);
        interrupt.store(steps >= 157, Ordering::Relaxed);
    };
    gyrator::run::track(&mut run, Box::new(track));
    let report = run.run().unwrap();
    assert_eq!(
        (report.stop_reason.word(), report.steps),
        ("interrupted", 157)
    );
    let expected: Vec<(f64, u64)> = (0..=157_u32)
        .map(|step| (f64::from(step) * H, u64::from(step)))
        .collect();
    let mut points = points.lock().unwrap();
    points.dedup();
    assert_eq!(*points, expected);
}

/// Inputs that are predicted.
fn followed(mut system: System) -> System {
    system.extrapolation("auto");
    system
}

/// Pairs of oscillators without bonds; one input of each is converted, and one of all is held.
fn converted(copies: &Copies, extrapolation: &str) -> System {
    let motion = copies.fmu("OscillatorMotion");
    let mut text = String::new();
    for pair in 0..3 {
        let _ = write!(
            text,
            "[components.a{pair}]\nfmu = {motion:?}\nstart_values = {{ k = {}.0 }}\n[components.b{pair}]\nfmu = {motion:?}\n\
             [[connections]]\nfrom = \"a{pair}.x\"\nto = \"b{pair}.f\"\ngain = 0.5\noffset = 0.1\n\
             [[connections]]\nfrom = \"b{pair}.v\"\nto = \"a{pair}.f\"\n",
            10 + 90 * pair
        );
    }
    let mut system = system_of(&text);
    system.extrapolation(extrapolation);
    system.component("a1").unwrap().extrapolation("hold");
    system
}

#[test]
fn predictions_are_the_same_to_the_last_bit() {
    let copies = Copies::new();
    for pairs in [1, 2, 7] {
        let text = expect_one_course(|| followed(copies.bonds(pairs)));
        assert!(text.contains("stop-time 300 "), "{text}");
    }
    // Half of the change with a new input is taken for what is not known of an output that follows at once.
    let stale = Copies::with_dependencies("1");
    for pairs in [1, 7] {
        let make = || {
            let mut system = followed(stale.bonds(pairs));
            system.exchange("stale");
            system
        };
        let text = expect_one_course(make);
        assert!(text.contains("stop-time 300 "), "{text}");
    }
    for extrapolation in ["auto", "hold"] {
        let text = expect_one_course(|| converted(&copies, extrapolation));
        assert!(text.contains("stop-time 300 "), "{text}");
    }
}

#[test]
fn a_fault_at_any_step_has_the_effect_that_it_has_alone() {
    let copies = Copies::new();
    let stale = Copies::with_dependencies("1");
    // The first 64 macro-steps are measured one by one by a profile.
    for step in [20, 62, 63, 64, 65, 74] {
        let time = f64::from(step) * H;
        let text = expect_one_course(|| copies.faulty(2, "error", "do_step", time));
        assert!(text.contains("component: \"bad\""), "{text}");
        expect_one_course(|| followed(copies.faulty(2, "error", "do_step", time)));
        expect_one_course(|| {
            let mut system = stale.faulty(2, "error", "do_step", time);
            system.exchange("stale");
            system
        });
    }
}

#[test]
fn a_fault_after_predictions_has_the_effect_that_it_has_alone() {
    let copies = Copies::new();
    for (fault, function) in [
        ("error", "do_step"),
        ("discard_once", "do_step"),
        ("error", "get"),
        ("nan", "do_step"),
        ("finish", "do_step"),
    ] {
        for time in [H, 1.5, 2.98] {
            expect_one_course(|| followed(copies.faulty(2, fault, function, time)));
        }
    }
}

#[test]
fn predictions_allocate_nothing() {
    let copies = Copies::new();
    let mut run = start(converted(&copies, "auto"), Way::Together);
    run.run_until(50.0 * H).unwrap();
    let counted = allocation_counter::measure(|| {
        run.run_until(290.0 * H).unwrap();
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn macro_steps_allocate_nothing() {
    let copies = Copies::new();
    let mut run = start(copies.faulty(3, "none", "do_step", 0.0), Way::Together);
    run.run_until(20.0 * H).unwrap();
    let counted = allocation_counter::measure(|| {
        run.run_until(290.0 * H).unwrap();
    });
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

#[test]
fn rows_of_outputs_are_the_same() {
    let copies = Copies::new();
    let courses: [fn(System) -> System; 2] = [|held| held, followed];
    let recorded = |way, fault, follow: usize, patterns: [&str; 2], interval| {
        let system = courses[follow](copies.faulty(3, fault, "do_step", 1.234));
        let mut run = start(system, way);
        let (recorder, rows) = Recorder::memory();
        let recorder = recorder.variables(patterns).interval(interval);
        run.observe(recorder).unwrap();
        let ended = course(run);
        let rows = rows.take();
        let bits =
            |values: &[f64]| -> Vec<u64> { values.iter().map(|value| value.to_bits()).collect() };
        let names = rows.columns.iter().map(|column| column.column.name.clone());
        let columns = names.map(|name| bits(rows.reals(&name).unwrap()));
        let columns: Vec<Vec<u64>> = std::iter::once(bits(&rows.time)).chain(columns).collect();
        (columns, ended)
    };
    let chosen = [["*.x", "*.v"], ["bad.y", "motion2.v"], ["*", "*"]];
    for fault in ["none", "error", "finish", "nan"] {
        for (patterns, interval) in [(chosen[0], H), (chosen[1], 7.0 * H), (chosen[2], H)] {
            for follow in [0, 1] {
                let [together, others @ ..] =
                    WAYS.map(|way| recorded(way, fault, follow, patterns, interval));
                assert!(together.0[0].len() > 17, "{fault}");
                for other in others {
                    assert!(together == other, "{fault} {patterns:?} {interval}");
                }
            }
        }
    }
}
