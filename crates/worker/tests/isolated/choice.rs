//! Which components get a process of their own without being asked.

use gyrator::{RunOptions, System};
use gyrator_system::{LibraryUse, Spanned, SystemFile};
use gyrator_testkit::fmu;

use crate::bench::{altered, isolated, isolation, run, start, system};
use crate::losses::workers_of;

/// Two components of an FMU that may be instantiated only once per process, with or without a
/// library beside its own.
fn twins(folder: &std::path::Path, name: &str, companion: Option<&str>) -> SystemFile {
    let once = |text: &str| {
        let claim = "canBeInstantiatedOnlyOncePerProcess=\"true\"";
        let changed = text.replacen("<CoSimulation", &format!("<CoSimulation {claim}"), 1);
        assert!(changed.len() > text.len() && text.matches(claim).count() == 0);
        changed
    };
    let fmu = altered(&fmu("OscillatorMotion"), folder, once, companion);
    let mut file = system("[experiment]\nstep_size = 0.1\n[components.a]\nfmu = \"x\"\n");
    let mut first = file.components.remove(0);
    first.fmu = Spanned::unplaced(fmu);
    for part in ["first", "second"] {
        let mut component = first.clone();
        component.name = Spanned::unplaced(format!("{name}-{part}"));
        file.components.push(component);
    }
    file
}

#[test]
fn a_second_instance_that_cannot_share_the_process_is_isolated() {
    let folder = tempfile::tempdir().unwrap();
    let file = twins(
        folder.path(),
        "shares",
        Some("binaries/linux64/libbeside.so.1"),
    );
    let mut run = start(file.clone(), 1);
    run.step().unwrap();
    assert_eq!(workers_of("shares-first").len(), 0);
    assert_eq!(workers_of("shares-second").len(), 1);
    drop(run);
    let mut forbidden = file;
    forbidden.components[1].isolate = Some(Spanned::unplaced(false));
    let run = start(forbidden, 1);
    assert_eq!(workers_of("shares-second").len(), 0);
    drop(run);
}

#[test]
fn a_private_copy_is_enough_for_an_fmu_without_other_libraries() {
    let folder = tempfile::tempdir().unwrap();
    let run = start(twins(folder.path(), "alone", None), 1);
    assert_eq!(workers_of("alone-second").len(), 0);
    drop(run);
}

#[test]
fn a_shared_library_is_refused_where_the_fmu_bears_one_instance() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = twins(folder.path(), "refused", None);
    file.components[1].library = Some(Spanned::unplaced(LibraryUse::Shared));
    let error = System::from_file(file).err().unwrap().to_string();
    let expected = "the library of `refused-second` cannot be shared";
    assert!(error.contains(expected), "{error}");
    assert!(error.contains("remove `library = \"shared\"`"), "{error}");
}

/// Two pairs of oscillators, whose FMUs declare that they may share libraries.
#[test]
fn shared_and_copied_libraries_give_the_same_bits() {
    let pair = |name: &str, library: &str| {
        format!(
            "[components.force{name}]\nfmu = \"<OscillatorForce>\"\nlibrary = \"{library}\"\n\
             [components.motion{name}]\nfmu = \"<OscillatorMotion>\"\nlibrary = \"{library}\"\n\
             [[bonds]]\nname = \"pair{name}\"\n\
             effort = {{ from = \"force{name}.f\", to = \"motion{name}.f\" }}\n\
             flow = {{ from = \"motion{name}.v\", to = \"force{name}.v2\" }}\n"
        )
    };
    let rows = |library: &str| {
        let experiment = "[experiment]\nstep_size = 1e-3\nstop_time = 0.5\n";
        let file = system(&format!(
            "{experiment}{}{}",
            pair("1", library),
            pair("2", library)
        ));
        run(file, 1).0
    };
    let shared = rows("shared");
    assert!(shared.reals.len() > 500);
    assert_eq!(rows("copied"), shared);
    assert_eq!(rows("auto"), shared);
}

#[test]
fn a_maker_that_is_used_again_chooses_anew() {
    let file = system(
        "[experiment]\nstep_size = 0.1\n[components.again-and-again]\nfmu = \"<OscillatorMotion>\"\n",
    );
    let mut maker = isolation();
    for (file, count) in [(isolated(file.clone()), 1), (file, 0)] {
        let system = System::from_file(file).unwrap();
        let run = system.start_with(&RunOptions::default(), &mut maker);
        let run = run.unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(workers_of("again-and-again").len(), count);
        drop(run);
    }
}
