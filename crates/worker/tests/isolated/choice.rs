//! Which components get a process of their own without being asked.

use gyrator::{RunOptions, System};
use gyrator_system::{Spanned, SystemFile};
use gyrator_testkit::fmu;

use crate::bench::{altered, isolated, isolation, start, system};
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
