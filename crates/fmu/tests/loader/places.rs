//! Files that an FMU finds from the place of its library.

use std::path::Path;

use gyrator_fmu::{Fmu, Instance, OpenOptions};

use crate::building::{Archive, Built, DESCRIPTION, PLATFORM, compile, fixture_library, ready};
use crate::compiling::SLAVE;

/// Reads the value of the slave from a file, which it then may try to change, or from a function of a helper library.
const FINDS_FILES: &str = r#"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
static double seven(void) {
    Dl_info info;
    char path[4096];
    double value = 0.0;
    if (!dladdr((void *)seven, &info)) return -1.0;
    snprintf(path, sizeof path, "%s", info.dli_fname);
    strcpy(strrchr(path, '/'), "/" WANTED);
    if (strstr(WANTED, "helper.so")) {
        void *helper = dlopen(path, RTLD_NOW);
        double (*answer)(void) = helper ? (double (*)(void))dlsym(helper, "answer") : NULL;
        return answer ? answer() : -2.0;
    }
    FILE *file = fopen(path, "r");
    if (!file) return -3.0;
    if (strstr(WANTED, ".xml")) value = fgetc(file) == '<' ? 7.0 : -4.0;
    else if (fscanf(file, "%lf", &value) != 1) value = -5.0;
    fclose(file);
#ifdef CHANGES
    file = fopen(path, "r+");
    if (file) {
        fputc('8', file);
        fclose(file);
    }
#endif
    return value;
}
#define SEVEN seven()
"#;

fn built(wanted: &str, definition: &str) -> Built {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("slave.c", SLAVE);
    write("seven.h", FINDS_FILES);
    write("helper.c", "double answer(void) { return 7.0; }\n");
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/compiling/headers");
    let made = |name: &str, arguments: &[String]| {
        let file = compile(folder.path(), name, arguments);
        std::fs::read(file).unwrap()
    };
    let library = made(
        "fixture.so",
        &[
            format!("-I{}", headers.display()),
            format!("-DWANTED=\"{wanted}\""),
            format!("-D{definition}"),
            "-D_GNU_SOURCE".to_owned(),
            "-w".to_owned(),
            "slave.c".to_owned(),
            "-ldl".to_owned(),
        ],
    );
    let mut archive = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&format!("binaries/{PLATFORM}/fixture.so"), &library)
        .with("resources/table.txt", b"7")
        .with("extra/org.example/table.txt", b"7");
    if wanted.ends_with("helper.so") {
        let name = wanted.replace("../../", "");
        let name = match name.contains('/') {
            true => name,
            false => format!("binaries/{PLATFORM}/{name}"),
        };
        archive = archive.with(&name, &made("helper.so", &["helper.c".to_owned()]));
    }
    archive.finish()
}

fn opened(built: &Built, cache: Option<&Path>) -> Fmu {
    let options = OpenOptions {
        cache: cache.map(Path::to_owned),
        ..OpenOptions::default()
    };
    Fmu::open_with(&built.path, &options).unwrap()
}

/// The value that an instance finds.
fn value(instance: &mut Instance) -> [f64; 1] {
    let mut value = [0.0];
    instance.get_real(&[0], &mut value).unwrap();
    value
}

#[test]
fn an_fmu_finds_its_files_from_the_place_of_its_library() {
    let cache = tempfile::tempdir().unwrap();
    for wanted in [
        "../../resources/table.txt",
        "../../extra/org.example/table.txt",
        "../../modelDescription.xml",
        "../../binaries/../resources/table.txt",
        "../../resources/helper.so",
        "helper.so",
    ] {
        let built = built(wanted, "READS");
        for cache in [None, Some(cache.path()), Some(cache.path())] {
            let fmu = opened(&built, cache);
            // Each has a library of its own, and the file of the second one is a copy.
            let mut instances = ["first", "second"].map(|name| ready(&fmu, name));
            for instance in &mut instances {
                assert_eq!(value(instance), [7.0], "{wanted}, {cache:?}");
            }
        }
    }
}

/// Every file below a folder with its content.
fn contents(folder: &Path, found: &mut Vec<(std::path::PathBuf, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => contents(&path, found),
            false => found.push((path.clone(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
}

/// The permission to write is taken away, which does not keep root from writing.
#[test]
fn r41_an_fmu_does_not_change_the_cache_whoever_runs_it() {
    let cache = tempfile::tempdir().unwrap();
    let all = || {
        let mut found = Vec::new();
        contents(cache.path(), &mut found);
        found
    };
    for wanted in ["../../resources/table.txt", "../../modelDescription.xml"] {
        let built = built(wanted, "CHANGES");
        let mut before = None;
        for _ in 0..2 {
            let mut instance = ready(&opened(&built, Some(cache.path())), "one");
            assert_eq!(value(&mut instance), [7.0], "{wanted}");
            assert_eq!(*before.get_or_insert_with(all), all(), "{wanted}");
            assert!(all().iter().any(|(_, content)| content == b"7"));
        }
    }
    // By the location of its resources: this slave writes the names of its functions there.
    let fixture = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(
            &format!("binaries/{PLATFORM}/fixture.so"),
            fixture_library(),
        )
        .with("resources/trace.txt", b"")
        .finish();
    let fmu = opened(&fixture, Some(cache.path()));
    let before = all();
    ready(&fmu, "trace").do_step(0.0, 0.1, true).unwrap();
    assert_eq!(all(), before);
}
