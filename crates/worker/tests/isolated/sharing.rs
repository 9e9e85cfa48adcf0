//! FMUs in one process give what each gives alone, whatever a process has once.

use gyrator_system::SystemFile;
use gyrator_testkit::sharing_fmu;

use crate::bench::{Rows, isolated, run, start, system};
use crate::losses::workers_of;

/// Kinds of `sharing.c` that are right in one process.
const MENDED: &[&str] = &[
    "UNIQUE",
    "RAND",
    "RANDOM",
    "OWN_RANDOM",
    "DRAND48",
    "STRTOK",
    "TLS",
    "STATIC_FILE",
    "CONSTRUCTOR",
];

/// Kinds that need processes of their own from the second component on.
const ISOLATED: &[&str] = &["COMPANION", "DLOPEN", "HASH_TABLE"];

/// A system of these FMUs, of one kind with weights.
fn system_of(folder: &std::path::Path, kind: &str, weights: &[u32]) -> SystemFile {
    let mut text = "[experiment]\nstep_size = 0.01\nstop_time = 0.4\n".to_owned();
    for (number, weight) in weights.iter().enumerate() {
        let fmu = sharing_fmu(folder, kind, *weight);
        text += &format!(
            "[components.{kind}-{number}]\nfmu = \"{}\"\n",
            fmu.display()
        );
    }
    system(&text)
}

/// The outputs of each component alone, one run after the other.
fn alone(folder: &std::path::Path, kind: &str, weights: &[u32]) -> Vec<Vec<u64>> {
    let run_one = |weight: &u32| column(&run(system_of(folder, kind, &[*weight]), 1).0, 0);
    weights.iter().map(run_one).collect()
}

/// The course of the output of a component.
fn column(rows: &Rows, component: usize) -> Vec<u64> {
    rows.reals.iter().map(|row| row[component + 1]).collect()
}

fn columns(rows: &Rows, count: usize) -> Vec<Vec<u64>> {
    (0..count)
        .map(|component| column(rows, component))
        .collect()
}

#[test]
fn components_of_one_process_give_what_each_gives_alone() {
    let folder = tempfile::tempdir().unwrap();
    for kind in MENDED.iter().chain(ISOLATED) {
        // Three instances of an FMU, and another FMU among them.
        let weights = [1, 3, 1, 1];
        let expected = alone(folder.path(), kind, &weights);
        assert_eq!(
            expected[0], expected[2],
            "{kind}: one run gives what the one before gave"
        );
        for threads in [1, 2, 8] {
            let file = system_of(folder.path(), kind, &weights);
            let (rows, report) = run(file.clone(), threads);
            assert_eq!(
                columns(&rows, 4),
                expected,
                "{kind}, {threads} threads: {:?}",
                report.notes
            );
            assert_eq!(
                columns(&run(isolated(file), threads).0, 4),
                expected,
                "{kind}, isolated"
            );
        }
    }
}

#[test]
fn what_can_be_mended_stays_in_the_process() {
    let folder = tempfile::tempdir().unwrap();
    for kind in MENDED {
        let mut file = system_of(folder.path(), kind, &[1, 1, 3]);
        // Other tests of this process have isolated components of the usual names.
        for component in &mut file.components {
            component.name.value.insert_str(0, "stays-");
        }
        let run = start(file, 1);
        let count: usize = (0..3)
            .map(|number| workers_of(&format!("stays-{kind}-{number}")).len())
            .sum();
        assert_eq!(count, 0, "{kind}");
        drop(run);
    }
}

#[test]
fn a_component_that_needs_its_own_process_says_why() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, reason) in [
        ("COMPANION", "libcompanion.so"),
        ("DLOPEN", "libcompanion.so"),
        ("HASH_TABLE", "hcreate"),
    ] {
        let (_, report) = run(system_of(folder.path(), kind, &[1, 3, 1]), 1);
        let is_said = |number: u32| {
            let start = format!("`{kind}-{number}` runs in a process of its own");
            report
                .notes
                .iter()
                .any(|note| note.starts_with(&start) && note.contains(reason))
        };
        // Another test of this process may have used the kind before.
        assert!(is_said(1) && is_said(2), "{kind}: {:?}", report.notes);
        let mut forbidden = system_of(folder.path(), kind, &[1, 3]);
        for component in &mut forbidden.components {
            component.isolate = Some(gyrator_system::Spanned::unplaced(false));
        }
        let (_, report) = run(forbidden, 1);
        let is_warned =
            |note: &String| note.contains("shares this process") && note.contains(reason);
        assert!(
            report.notes.iter().any(is_warned),
            "{kind}: {:?}",
            report.notes
        );
    }
}

/// One FMU changes something, the other one sees it.
#[test]
fn what_an_fmu_changes_of_the_process_reaches_no_other() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, what, is_apart) in [
        ("LOCALE", "the locale", true),
        ("LOCALE_ONCE", "the locale", true),
        ("LOCALE_STEP", "the locale", false),
        ("DIRECTORY", "the working directory", true),
        ("ENVIRONMENT", "SHARING_TEST", true),
        ("MASK", "the file mode mask", false),
    ] {
        let victim = alone(folder.path(), kind, &[1]).remove(0);
        let changer = run(isolated(system_of(folder.path(), kind, &[2])), 1).0;
        let changer = column(&changer, 0);
        assert_ne!(changer, victim, "{kind}");
        for weights in [[2, 1], [1, 2]] {
            let (rows, report) = run(system_of(folder.path(), kind, &weights), 1);
            for (place, weight) in weights.iter().enumerate() {
                let expected = if *weight == 1 { &victim } else { &changer };
                // One that stays in the process sees its own changes put back.
                if *weight == 1 || is_apart {
                    assert_eq!(
                        &column(&rows, place),
                        expected,
                        "{kind}: {:?}",
                        report.notes
                    );
                }
            }
            let notes = &report.notes;
            assert!(
                notes.iter().any(|note| note.contains(what)),
                "{kind}: {notes:?}"
            );
            let is_said = |note: &String| note.contains("in a process of its own");
            assert_eq!(notes.iter().any(is_said), is_apart, "{kind}: {notes:?}");
        }
    }
}

#[test]
fn a_component_without_room_for_its_thread_local_variables_gets_a_process_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let weights = [1; 6];
    let expected = alone(folder.path(), "STATIC_TLS", &weights[..1]);
    let (rows, report) = run(system_of(folder.path(), "STATIC_TLS", &weights), 1);
    for number in 0..weights.len() {
        assert_eq!(column(&rows, number), expected[0], "{:?}", report.notes);
    }
    let is_said = |note: &String| note.contains("static thread-local storage");
    assert!(report.notes.iter().any(is_said), "{:?}", report.notes);
}

#[test]
fn components_that_stay_on_one_thread_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for (kind, reason) in [("TLS", "thread-local variables"), ("RAND", "calls rand")] {
        let (_, report) = run(system_of(folder.path(), kind, &[1, 1]), 2);
        let is_said = |note: &String| note.contains("one thread") && note.contains(reason);
        assert!(report.notes.iter().any(is_said), "{:?}", report.notes);
    }
}
