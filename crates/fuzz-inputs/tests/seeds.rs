//! All seeds of the fuzzers, among them all bytes that once made a reader fail.

use std::path::Path;

use gyrator_fuzz_inputs::TARGETS;

#[test]
fn every_seed_is_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
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
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    for entry in std::fs::read_dir(folder.join("seeds")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(TARGETS.iter().any(|(target, _)| *target == name), "{name}");
        let fuzzer = folder.join("fuzz_targets").join(format!("{name}.rs"));
        assert!(fuzzer.is_file(), "{name} has a fuzzer");
    }
}
