//! Rules about archives and libraries, by packing one of our FMUs again.

use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;

use gyrator_validate::{Report, Severity, examine};
use zip::write::SimpleFileOptions;
use zip::{ZipArchive, ZipWriter};

use crate::of_rule;

/// A file of an archive.
type File = (String, Vec<u8>);

const MODEL: &str = "AllTypes";

/// The files of our FMU.
fn good() -> Vec<File> {
    files_of(MODEL)
}

fn files_of(model: &str) -> Vec<File> {
    let bytes = std::fs::read(gyrator_testkit::fmu(model)).unwrap();
    let mut zip = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut files = Vec::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).unwrap();
        if entry.is_dir() {
            continue;
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        let name = String::from_utf8_lossy(entry.name_raw()).into_owned();
        files.push((name, content));
    }
    files
}

fn pack(files: &[File], to: &Path) {
    let mut writer = ZipWriter::new(std::fs::File::create(to).unwrap());
    for (name, content) in files {
        writer
            .start_file(name.as_str(), SimpleFileOptions::default())
            .unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap();
}

fn judged(files: &[File]) -> Report {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fmu");
    pack(files, &path);
    examine(&path).unwrap()
}

/// Judges our FMU after `change`, and demands a finding.
fn expect(number: u8, severity: Severity, words: &str, change: impl FnOnce(&mut Vec<File>)) {
    let mut files = good();
    change(&mut files);
    let report = judged(&files);
    let is_found = of_rule(&report, number)
        .iter()
        .any(|finding| finding.severity == severity && finding.message.contains(words));
    assert!(is_found, "V-{number:02} {words}: {:#?}", report.findings);
}

/// Takes a function from the library.
fn renamed(name: &'static [u8]) -> impl FnOnce(&mut Vec<File>) {
    move |files| {
        let bytes = &mut library(files).1;
        let ends: Vec<usize> = (0..bytes.len() - name.len())
            .filter(|place| bytes[*place..].starts_with(name))
            .map(|place| place + name.len() - 1)
            .collect();
        for end in ends {
            bytes[end] = b'X';
        }
    }
}

fn library(files: &mut [File]) -> &mut File {
    let mut found = files.iter_mut();
    found
        .find(|(name, _)| name.starts_with("binaries/"))
        .unwrap()
}

/// A model without text needs no functions for it.
#[test]
fn v05_functions_for_types_without_variables_are_no_fatal_loss() {
    for (name, severity) in [
        (&b"fmi2SetString"[..], Severity::Warning),
        (b"fmi2SetReal", Severity::Fatal),
    ] {
        let mut files = files_of("Strict");
        renamed(name)(&mut files);
        let report = judged(&files);
        let first = of_rule(&report, 5)[0];
        assert!(first.message.ends_with(&*String::from_utf8_lossy(name)));
        assert_eq!(first.severity, severity, "{:#?}", report.findings);
    }
}

#[test]
fn v01_to_v06_our_fmu_breaks_no_rule() {
    let report = judged(&good());
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

#[test]
fn v01_harmful_entries_are_fatal() {
    for (name, words) in [
        ("../x", "leads out"),
        ("a/../../x", "leads out"),
        ("/x", "absolute"),
        ("C:/x", "drive"),
        ("a\u{7}", "control"),
    ] {
        expect(1, Severity::Fatal, words, |files| {
            files.push((name.to_owned(), Vec::new()));
        });
    }
}

#[test]
fn v01_names_that_are_equal_when_unpacked_are_fatal() {
    expect(1, Severity::Fatal, "twice", |files| {
        files.push(("resources\\a".to_owned(), Vec::new()));
        files.push(("resources/a".to_owned(), Vec::new()));
    });
}

#[test]
fn v01_links_are_fatal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fmu");
    pack(&good(), &path);
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let mut writer = ZipWriter::new_append(file).unwrap();
    writer
        .add_symlink("resources/link", "target", SimpleFileOptions::default())
        .unwrap();
    writer.finish().unwrap();
    let report = examine(&path).unwrap();
    assert!(
        of_rule(&report, 1)[0].message.contains("symbolic link"),
        "{report:?}"
    );
}

#[test]
fn v01_methods_and_versions_of_other_archives_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.fmu");
    pack(&good(), &path);
    let mut bytes = std::fs::read(&path).unwrap();
    // The last central header: version needed at 6, flags at 8, method at 10 (APPNOTE 4.3.12).
    let header = bytes
        .windows(4)
        .rposition(|window| window == b"PK\x01\x02")
        .unwrap();
    bytes[header + 6] = 63;
    bytes[header + 8] |= 1;
    bytes[header + 10] = 12;
    std::fs::write(&path, &bytes).unwrap();
    let report = examine(&path).unwrap();
    let messages: Vec<_> = of_rule(&report, 1)
        .into_iter()
        .map(|finding| (finding.severity, finding.message.as_str()))
        .collect();
    assert!(
        messages
            .iter()
            .any(|(severity, text)| *severity == Severity::Fatal && text.contains("encrypted")),
        "{messages:?}"
    );
    assert!(
        messages
            .iter()
            .any(|(severity, text)| *severity == Severity::Warning && text.contains("version 6.3")),
        "{messages:?}"
    );
}

#[test]
fn v02_backslashes_are_errors() {
    expect(2, Severity::Error, "backslash", |files| {
        files.push(("resources\\a".to_owned(), Vec::new()));
    });
}

#[test]
fn v03_the_description_is_at_the_root() {
    expect(3, Severity::Fatal, "modelDescription.xml", |files| {
        files.retain(|(name, _)| name != "modelDescription.xml");
    });
    expect(3, Severity::Fatal, "Model/modeldescription.xml", |files| {
        let of_description = files
            .iter_mut()
            .find(|(name, _)| name == "modelDescription.xml");
        of_description.unwrap().0 = "Model/modeldescription.xml".to_owned();
    });
}

#[test]
fn v04_there_is_code() {
    let without = |files: &mut Vec<File>| files.retain(|(name, _)| !name.starts_with("binaries/"));
    expect(4, Severity::Fatal, "neither", without);
    expect(4, Severity::Warning, "source code only", |files| {
        without(files);
        files.push(("sources/a.c".to_owned(), Vec::new()));
    });
}

#[test]
fn v05_libraries_are_what_their_folders_promise() {
    let rename = |files: &mut Vec<File>, from: &str, to: &str| {
        let library = library(files);
        library.0 = library.0.replace(from, to);
    };
    expect(5, Severity::Error, "there is binaries", |files| {
        rename(files, MODEL, "Other");
    });
    expect(5, Severity::Error, "is missing", |files| {
        rename(files, &format!("{MODEL}."), "Other.x");
    });
    expect(5, Severity::Note, "not a platform", |files| {
        files.push(("binaries/toaster/AllTypes.so".to_owned(), Vec::new()));
    });
    expect(5, Severity::Error, "is no library; it is empty", |files| {
        library(files).1.clear();
    });
    expect(5, Severity::Error, "git-lfs", |files| {
        library(files).1 = b"version https://git-lfs.github.com/spec/v1".to_vec();
    });
}

#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn v05_machines_and_functions_are_looked_at() {
    let at = |folder: &'static str, ending: &'static str| {
        move |files: &mut Vec<File>| {
            let content = library(files).1.clone();
            files.push((format!("binaries/{folder}/{MODEL}.{ending}"), content));
        }
    };
    expect(
        5,
        Severity::Error,
        "not for Aarch64",
        at("aarch64-linux", "so"),
    );
    expect(5, Severity::Error, "not for I386", at("linux32", "so"));
    expect(5, Severity::Error, "not Pe", at("win64", "dll"));
    expect(
        5,
        Severity::Fatal,
        "does not export fmi2Instantiate",
        renamed(b"fmi2Instantiate"),
    );
    // Other functions that the loader asks for.
    for name in [&b"fmi2DoStep"[..], b"fmi2SetString"] {
        let words = format!("does not export {}", String::from_utf8_lossy(name));
        expect(5, Severity::Fatal, &words, renamed(name));
    }
    expect(
        5,
        Severity::Warning,
        "fmi2CancelStep",
        renamed(b"fmi2CancelStep"),
    );
    // The FMU says that it can save its state.
    expect(
        5,
        Severity::Error,
        "fmi2FreeFMUstate",
        renamed(b"fmi2FreeFMUstate"),
    );
    expect(5, Severity::Warning, "libX.so.6", |files| {
        let bytes = &mut library(files).1;
        let place = bytes
            .windows(9)
            .position(|window| window == b"libc.so.6")
            .unwrap();
        bytes[place + 3] = b'X';
    });
    expect(5, Severity::Note, "libX.so.6", |files| {
        let bytes = &mut library(files).1;
        let place = bytes
            .windows(9)
            .position(|window| window == b"libc.so.6")
            .unwrap();
        bytes[place + 3] = b'X';
        files.push((
            "documentation/externalDependencies.txt".to_owned(),
            Vec::new(),
        ));
    });
}

#[test]
fn v06_strange_files_are_noted() {
    expect(6, Severity::Note, "stray.txt", |files| {
        files.push(("stray.txt".to_owned(), Vec::new()));
    });
    expect(6, Severity::Note, "index.html", |files| {
        files.push(("documentation/manual.pdf".to_owned(), Vec::new()));
    });
}
