//! Archives that are broken or out to do harm.

use std::io::Write;
use std::path::{Path, PathBuf};

use gyrator_fmu::{Fmu, Limits, OpenOptions};
use proptest::prelude::*;
use zip::write::SimpleFileOptions;

use crate::building::{Archive, DESCRIPTION, PLATFORM};

fn file_with(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(content).unwrap();
    file
}

fn refusal_of(content: &[u8]) -> String {
    Fmu::open(file_with(content).path())
        .unwrap_err()
        .to_string()
}

fn with_description() -> Archive {
    Archive::new().with("modelDescription.xml", DESCRIPTION.as_bytes())
}

#[test]
fn r01_files_that_are_no_archive() {
    assert!(refusal_of(b"").contains("the file is empty"));
    let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 2\n";
    assert!(refusal_of(pointer).contains("git-lfs pointer"));
    let other = refusal_of(b"hello");
    assert!(
        other.ends_with("not a readable ZIP archive: it does not begin as one, and has no list of files at its end"),
        "{other}"
    );
    let cut = refusal_of(b"PK\x03\x04 and no end");
    assert!(
        cut.ends_with("its end is missing; the file may be truncated"),
        "{cut}"
    );
    let missing = Fmu::open("does/not/exist.fmu".as_ref())
        .unwrap_err()
        .to_string();
    assert!(missing.starts_with("does/not/exist.fmu: "), "{missing}");
    let directory = tempfile::tempdir().unwrap();
    let error = Fmu::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("it is a directory"), "{error}");
}

#[test]
fn r01_truncated_archive() {
    let built = with_description().finish();
    let bytes = std::fs::read(&built.path).unwrap();
    let error = refusal_of(&bytes[..bytes.len() / 2]);
    assert!(error.contains("may be truncated"), "{error}");
}

#[test]
fn r01_broken_checksum() {
    let built = with_description().finish();
    let mut bytes = std::fs::read(&built.path).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle] ^= 0x55;
    let error = refusal_of(&bytes);
    assert!(error.contains("modelDescription.xml"), "{error}");
}

#[test]
fn r02_description_in_the_wrong_place_is_named() {
    let lower = Archive::new()
        .with("modeldescription.xml", b"")
        .finish()
        .refusal();
    assert!(
        lower.contains("there is \"modeldescription.xml\""),
        "{lower}"
    );
    let deeper = Archive::new()
        .with("model/modelDescription.xml", b"")
        .finish()
        .refusal();
    assert!(
        deeper.contains("there is \"model/modelDescription.xml\""),
        "{deeper}"
    );
    let none = Archive::new().with("readme.txt", b"").finish().refusal();
    assert!(none.contains("it holds 1 files: readme.txt"), "{none}");
}

#[test]
fn r08_entry_that_leads_out_of_the_archive() {
    for name in [
        "../evil",
        "resources/../../evil",
        "resources\\..\\..\\evil",
        "..",
    ] {
        let error = with_description().with(name, b"x").finish().refusal();
        assert!(
            error.contains("leads out of the archive"),
            "{name}: {error}"
        );
        assert!(error.contains(&format!("{name:?}")), "{name}: {error}");
    }
}

#[test]
fn r09_absolute_entry() {
    for name in ["/etc/evil", "\\evil", "C:/evil"] {
        let error = with_description().with(name, b"x").finish().refusal();
        assert!(
            error.contains("absolute path") || error.contains("drive"),
            "{name}: {error}"
        );
    }
}

#[test]
fn r10_symbolic_link() {
    let error = with_description()
        .with_symlink("resources/link", "/etc/passwd")
        .finish()
        .refusal();
    assert!(
        error.contains("\"resources/link\" is a symbolic link"),
        "{error}"
    );
    let error = Archive::new()
        .with_symlink("modelDescription.xml", "/etc/passwd")
        .finish();
    assert!(error.refusal().contains("symbolic link"));
}

#[test]
fn r11_zip_bomb_is_refused_before_it_is_unpacked() {
    let zeros = vec![0; 4 << 20];
    let built = with_description().with("resources/zeros", &zeros).finish();
    let open_with = |ratio_from, total_size| {
        let limits = Limits {
            ratio_from,
            total_size,
            ..Limits::default()
        };
        Fmu::open_with(
            &built.path,
            &OpenOptions {
                limits,
                ..OpenOptions::default()
            },
        )
    };
    for (ratio_from, total_size) in [(1 << 20, 8 << 30), (1 << 30, 3 << 20)] {
        let error = open_with(ratio_from, total_size).unwrap_err().to_string();
        assert!(
            error.contains("resources/zeros") && error.contains("too large"),
            "{error}"
        );
    }
    open_with(5 << 20, 8 << 30).unwrap();
}

#[test]
fn r11_disk_is_not_filled_up() {
    let built = with_description().with("resources/a", b"text").finish();
    let options = OpenOptions {
        limits: Limits {
            free_space: u64::MAX / 2,
            ..Limits::default()
        },
        ..OpenOptions::default()
    };
    let error = Fmu::open_with(&built.path, &options).unwrap_err();
    let error = error.to_string();
    // The description is unpacked as well.
    let bytes = "text".len() + DESCRIPTION.len();
    assert!(
        error.contains(&format!("unpacking takes {bytes} bytes")),
        "{error}"
    );
}

#[test]
fn r12_folders_that_lie_too_deep() {
    let name = format!("resources/{}end", "a/".repeat(40));
    let error = with_description().with(&name, b"").finish().refusal();
    assert!(
        error.contains("41 folders deep, more than the limit of 32"),
        "{error}"
    );
    assert!(error.contains("raise the limit depth"), "{error}");
}

#[test]
fn r12_too_many_entries() {
    let many = (0..50).fold(with_description(), |a, i| {
        a.with(&format!("documentation/{i}"), b"")
    });
    let built = many.finish();
    let limits = Limits {
        entries: 50,
        ..Limits::default()
    };
    let options = OpenOptions {
        limits,
        ..OpenOptions::default()
    };
    let error = Fmu::open_with(&built.path, &options)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("51 entries, more than the limit of 50"),
        "{error}"
    );
    Fmu::open(&built.path).unwrap();
}

#[test]
fn r13_duplicate_entries() {
    // The same name in two spellings, and twice the same: bytes of one name are patched.
    let error = with_description()
        .with("resources/a", b"1")
        .with("resources\\a", b"2")
        .finish();
    assert!(error.refusal().contains("is there twice"));
    let built = with_description()
        .with("resources/aa", b"1")
        .with("resources/ab", b"2")
        .finish();
    let bytes = std::fs::read(&built.path).unwrap();
    let mut patched = bytes.clone();
    for at in 0..bytes.len() - 12 {
        if &bytes[at..at + 12] == b"resources/ab" {
            patched[at + 11] = b'a';
        }
    }
    let error = refusal_of(&patched);
    assert!(error.contains("two entries have the same name"), "{error}");
}

#[test]
fn c01_encrypted_entry() {
    let built = with_description()
        .with("resources/secret", b"text")
        .finish();
    let mut bytes = std::fs::read(&built.path).unwrap();
    // General purpose flag bit 0 of every header (APPNOTE 4.3.7 and 4.3.12).
    for at in 0..bytes.len() - 10 {
        if bytes[at..].starts_with(b"PK\x01\x02") {
            bytes[at + 8] |= 1;
        }
    }
    let error = refusal_of(&bytes);
    assert!(error.contains("is encrypted"), "{error}");
}

#[test]
fn c01_backslashes_are_tolerated_with_a_warning() {
    let built = with_description()
        .with("binaries\\win64\\fixture.dll", b"")
        .finish();
    let peek = Fmu::peek(&built.path).unwrap();
    assert_eq!(peek.platforms, ["win64"]);
    assert!(peek.warnings[0].to_string().contains("have \\ for /"));
}

#[test]
fn c05_whole_folder_and_resources_are_unpacked_and_removed_with_the_last_user() {
    let built = crate::building::fixture();
    let mut instance = crate::building::ready(&built, "last");
    drop(built);
    let resources = crate::building::resources(&mut instance);
    assert_eq!(
        std::fs::read_to_string(resources.join("note.txt")).unwrap(),
        "here"
    );
    drop(instance);
    assert!(!resources.exists(), "temporary files are left");
}

#[test]
fn permission_to_execute_is_kept_for_tools_in_resources() {
    let options = SimpleFileOptions::default().unix_permissions(0o755);
    let archive = with_description().with_options("resources/tool", b"#!/bin/sh\n", options);
    let library = crate::building::fixture_library();
    let name = format!("binaries/{}/fixture.so", crate::building::PLATFORM);
    let built = archive.with(&name, library).finish();
    let fmu = Fmu::open(&built.path).unwrap();
    let mut instance = crate::building::ready(&fmu, "tool");
    let tool = crate::building::resources(&mut instance).join("tool");
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(
        std::fs::metadata(tool).unwrap().permissions().mode() & 0o111,
        0o111
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_bytes_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let built = with_description().with("resources/note", b"note").finish();
        let mut bytes = std::fs::read(&built.path).unwrap();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let _ = Fmu::open(file_with(&bytes).path());
        let _ = Fmu::open(file_with(&bytes[..cut.index(bytes.len())]).path());
    }
}

/// An FMU opened with a cache, and the folder of its files.
fn kept(built: &crate::building::Built, cache: &Path) -> (Fmu, PathBuf) {
    let options = OpenOptions {
        cache: Some(cache.to_owned()),
        ..OpenOptions::default()
    };
    let fmu = Fmu::open_with(&built.path, &options).unwrap();
    let mut instance = crate::building::ready(&fmu, "kept");
    let seen = crate::building::resources(&mut instance).join("note.txt");
    let folder = fmu.library_file().unwrap();
    let resources = folder.ancestors().nth(3).unwrap().join("resources");
    let read = |file: &Path| std::fs::read(file).unwrap();
    assert_eq!(read(&seen), read(&resources.join("note.txt")));
    (fmu, resources)
}

fn fixture_archive(note: &[u8]) -> crate::building::Built {
    let library = crate::building::fixture_library();
    with_description()
        .with(&format!("binaries/{PLATFORM}/fixture.so"), library)
        .with("resources/note.txt", note)
        .finish()
}

#[test]
fn r41_unpacked_files_are_kept_and_found_by_their_content() {
    let cache = tempfile::tempdir().unwrap();
    let (first, same, other) = (
        fixture_archive(b"a"),
        fixture_archive(b"a"),
        fixture_archive(b"b"),
    );
    let (fmu, resources) = kept(&first, cache.path());
    drop(fmu);
    assert_eq!(std::fs::read(resources.join("note.txt")).unwrap(), b"a");
    assert!(resources.starts_with(cache.path()));
    assert_eq!(kept(&same, cache.path()).1, resources);
    let (_, others) = kept(&other, cache.path());
    assert_ne!(others, resources);
    let is_read_only = |path: &Path| std::fs::metadata(path).unwrap().permissions().readonly();
    assert!(is_read_only(&resources) && is_read_only(&resources.join("note.txt")));
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 2);
}

#[test]
fn r41_runs_at_the_same_time_share_the_files() {
    let cache = tempfile::tempdir().unwrap();
    let built = fixture_archive(b"shared");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (_fmu, resources) = kept(&built, cache.path());
                assert_eq!(
                    std::fs::read(resources.join("note.txt")).unwrap(),
                    b"shared"
                );
            });
        }
    });
    assert_eq!(std::fs::read_dir(cache.path()).unwrap().count(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn r41_r42_what_a_killed_run_has_left_is_no_obstacle() {
    let cache = tempfile::tempdir().unwrap();
    // Two hours ago. A container numbers its processes for itself: the number says nothing.
    let begin = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    let made = |name: &str| {
        let folder = cache.path().join(name);
        std::fs::create_dir_all(folder.join("resources")).unwrap();
        let open = std::fs::File::open(&folder).unwrap();
        open.set_modified(begin).unwrap();
        (folder, open)
    };
    let (abandoned, _) = made(&format!("gyrator-{}-abc", std::process::id()));
    let (busy, open) = made("gyrator-4999999-abc");
    open.lock_shared().unwrap();
    let (strange, _) = made("gyrator-results");
    let young = cache.path().join("gyrator-4999998-abc");
    std::fs::create_dir(&young).unwrap();
    kept(&fixture_archive(b"a"), cache.path());
    assert!(!abandoned.exists() && busy.exists() && strange.exists() && young.exists());
}

#[test]
fn r43_cache_in_a_folder_that_fmus_do_not_understand_is_not_used() {
    let cache = tempfile::tempdir().unwrap();
    let odd = cache.path().join("with space");
    let (_fmu, resources) = kept(&fixture_archive(b"a"), &odd);
    assert!(!resources.starts_with(&odd) && resources.join("note.txt").is_file());
}

#[test]
fn r45_file_that_is_replaced_during_a_run_changes_nothing() {
    let built = fixture_archive(b"old");
    let fmu = Fmu::open(&built.path).unwrap();
    std::fs::write(&built.path, b"something else").unwrap();
    let mut instance = crate::building::ready(&fmu, "replaced");
    let note = crate::building::resources(&mut instance).join("note.txt");
    assert_eq!(std::fs::read(note).unwrap(), b"old");
}

#[test]
fn r01_the_root_may_be_an_entry() {
    let built = Archive::new()
        .with("./", b"")
        .with("./modelDescription.xml", DESCRIPTION.as_bytes())
        .finish();
    assert_eq!(Fmu::open(&built.path).unwrap().warnings(), []);
}
