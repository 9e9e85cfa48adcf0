//! All seeds of the fuzzers, among them all bytes that once made a reader fail.

use std::path::Path;

use gyrator::run::{deserialize, serialize};
use system_tests::fuzz_inputs::{TARGETS, bench, saved_state};

#[test]
fn every_seed_is_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/seeds");
    for (name, target) in TARGETS {
        let mut count = 0;
        for entry in std::fs::read_dir(folder.join(name)).unwrap() {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            target(&bytes);
            // Files that were cut are the commonest broken ones.
            for part in 1..8 {
                target(&bytes[..bytes.len() * part / 8]);
            }
            count += 1;
        }
        assert!(count > 2, "{name} has seeds");
    }
}

#[test]
fn every_folder_of_seeds_has_a_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    for entry in std::fs::read_dir(folder.join("seeds")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|(target, _)| *target == name), "{name}");
        let fuzzer = folder.join("fuzz_targets").join(format!("{name}.rs"));
        assert!(fuzzer.is_file(), "{name} has a fuzzer");
    }
}

/// The bytes of a run are taken, and no change of one of them is worse than a refusal or wrong numbers.
#[test]
fn every_byte_of_a_state_may_be_wrong() {
    let mut run = bench();
    for _ in 0..20 {
        run.step().unwrap();
    }
    let bytes = serialize(&mut run).unwrap();
    if let Some(folder) = std::env::var_os("GYRATOR_SEEDS") {
        std::fs::write(Path::new(&folder).join("steps.state"), &bytes).unwrap();
    }
    assert!(deserialize(&mut bench(), &bytes).is_ok());
    // Each second byte in one of three ways takes two seconds.
    for place in (0..bytes.len()).step_by(2) {
        let mut damaged = bytes.clone();
        damaged[place] ^= [1, 0x80, 0xff][place % 3];
        saved_state(&damaged);
    }
    for length in (0..bytes.len()).step_by(23) {
        assert!(
            deserialize(&mut bench(), &bytes[..length]).is_err(),
            "{length}"
        );
    }
}
