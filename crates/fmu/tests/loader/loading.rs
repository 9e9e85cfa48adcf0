//! Libraries that are missing, foreign, broken or named oddly.

use gyrator_fmu::{Fmu, InstanceOptions, LibraryUse, LoadError, OpenOptions};

use crate::building::{
    Archive, DESCRIPTION, PLATFORM, compile, fixture, fixture_library, fmu_with, library, ready,
    resources,
};

fn failure(fmu: &Fmu) -> LoadError {
    fmu.instantiate("instance", &InstanceOptions::default())
        .unwrap_err()
}

#[test]
fn r16_missing_platform_names_those_that_are_there() {
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with("binaries/win32/fixture.dll", b"")
        .with("binaries/win64/fixture.dll", b"")
        .finish();
    let fmu = Fmu::open(&built.path).unwrap();
    assert_eq!(fmu.platforms(), ["win32", "win64"]);
    let error = failure(&fmu).to_string();
    assert!(error.contains("the FMU has win32, win64"), "{error}");
    assert!(error.contains(PLATFORM), "{error}");
}

#[test]
#[cfg(target_arch = "x86_64")]
fn c04_platform_tuple() {
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with("binaries/x86_64-linux/fixture.so", fixture_library())
        .finish();
    ready(&Fmu::open(&built.path).unwrap(), "tuple");
}

#[test]
fn c05_only_library_of_the_folder_is_used_whatever_its_name() {
    let fmu = fmu_with(DESCRIPTION, "other.so", fixture_library());
    let instance = ready(&fmu, "other");
    let warning = instance.load_warnings()[0].to_string();
    assert!(
        warning.contains("other.so instead of fixture.so"),
        "{warning}"
    );
}

#[test]
fn c05_two_libraries_of_other_names_are_ambiguous() {
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&format!("binaries/{PLATFORM}/a.so"), b"")
        .with(&format!("binaries/{PLATFORM}/b.so"), b"")
        .finish();
    let error = failure(&Fmu::open(&built.path).unwrap()).to_string();
    assert!(
        error.contains("has no fixture.so; it has a.so, b.so"),
        "{error}"
    );
}

#[test]
fn c06_all_missing_functions_are_listed_at_once() {
    let bytes = library(&["WITHOUT_STEP", "fmi2GetReal=something_else"]);
    match failure(&fmu_with(DESCRIPTION, "fixture.so", &bytes)) {
        LoadError::MissingFunctions { functions, .. } => {
            assert_eq!(functions, ["fmi2GetReal", "fmi2DoStep"]);
        }
        other => panic!("{other}"),
    }
}

/// Some tools leave out the functions for types without variables in the model.
#[test]
fn c06_functions_of_values_are_needed_for_the_types_of_the_description_only() {
    let without = |name: &str| library(&[&format!("{name}=something_else")]);
    for (name, message) in [
        ("fmi2SetString", None),
        ("fmi2GetString", None),
        ("fmi2GetBoolean", None),
        ("fmi2SetInteger", Some("fmi2SetInteger")),
        ("fmi2GetReal", Some("fmi2GetReal")),
    ] {
        let fmu = fmu_with(DESCRIPTION, "fixture.so", &without(name));
        let missing = fmu.needs().unwrap().missing_functions;
        match message {
            None => {
                let mut instance = ready(&fmu, "few functions");
                instance.do_step(0.0, 0.1, true).unwrap();
                instance.get_string(&[], &mut []).unwrap();
                assert_eq!(missing, [""; 0]);
            }
            Some(name) => {
                let error = failure(&fmu).to_string();
                assert!(error.contains(name), "{error}");
                assert_eq!(missing, [name]);
            }
        }
    }
    let fmu = fmu_with(DESCRIPTION, "fixture.so", &without("fmi2GetString"));
    let mut instance = ready(&fmu, "few functions");
    instance.get_string(&[1], &mut [String::new()]).unwrap_err();
}

#[test]
fn c06_optional_function_is_missed_only_when_needed() {
    let fmu = fmu_with(DESCRIPTION, "fixture.so", &library(&["WITHOUT_RESET"]));
    let mut instance = ready(&fmu, "no reset");
    let error = instance.reset().unwrap_err().to_string();
    assert_eq!(
        error,
        "no reset: fmi2Reset cannot be called: the library does not export it"
    );
    instance.do_step(0.0, 0.1, true).unwrap();
}

#[test]
fn c07_odd_version_is_a_warning() {
    let instance = ready(&fixture(), "version");
    let warnings: Vec<String> = instance
        .load_warnings()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(warnings, ["fmi2GetVersion returns \"\", expected \"2.0\""]);
}

#[test]
fn r17_library_of_another_machine_is_named() {
    let mut bytes = fixture_library().to_vec();
    bytes[18] = 243;
    let error = failure(&fmu_with(DESCRIPTION, "fixture.so", &bytes)).to_string();
    assert!(error.contains("built for RISC-V"), "{error}");
}

#[test]
fn r18_truncated_library_does_not_kill_the_process() {
    let bytes = fixture_library();
    let half = &bytes[..bytes.len() / 2];
    let error = failure(&fmu_with(DESCRIPTION, "fixture.so", half)).to_string();
    assert!(error.contains("truncated"), "{error}");
}

#[test]
fn r20_undefined_symbol_is_named_and_does_not_wait_for_the_first_call() {
    let bytes = library(&["LONELY"]);
    let error = failure(&fmu_with(DESCRIPTION, "fixture.so", &bytes)).to_string();
    assert!(error.contains("PyLonely"), "{error}");
    assert!(error.contains("preload"), "{error}");
}

/// The fixture, needing a library of this name, without a path to it. Names differ
/// between tests: the system finds a library that it has loaded before by its name alone.
fn needy_fixture(name: &str) -> (Vec<u8>, Vec<u8>) {
    let directory = tempfile::tempdir().unwrap();
    let lonely = directory.path().join("lonely.c");
    std::fs::write(&lonely, "int PyLonely(void) { return 7; }").unwrap();
    let file = format!("lib{name}.so");
    let arguments = ["lonely.c".to_owned(), format!("-Wl,-soname,{file}")];
    let needed = compile(directory.path(), &file, &arguments);
    let source = format!("{}/tests/loader/fixture.c", env!("CARGO_MANIFEST_DIR"));
    let link = format!("-l{name}");
    let arguments = ["-DLONELY", &source, "-L.", &link].map(str::to_owned);
    let library = compile(directory.path(), "fixture.so", &arguments);
    (
        std::fs::read(library).unwrap(),
        std::fs::read(needed).unwrap(),
    )
}

#[test]
fn r19_missing_library_is_named() {
    let (library, _) = needy_fixture("gone");
    let error = failure(&fmu_with(DESCRIPTION, "fixture.so", &library)).to_string();
    assert!(
        error.contains("libgone.so: cannot open shared object file"),
        "{error}"
    );
    assert!(
        error.contains("fixture.so needs libgone.so, which was not found; looked in "),
        "{error}"
    );
    assert!(error.contains("--library-path"), "{error}");
}

#[test]
fn r19_missing_libraries_are_reported_without_loading() {
    let (library, _) = needy_fixture("gone");
    let needs = fmu_with(DESCRIPTION, "fixture.so", &library)
        .needs()
        .unwrap();
    let missing: Vec<_> = needs.missing().map(|needed| needed.name.as_str()).collect();
    assert_eq!(missing, ["libgone.so"]);
    assert!(!needs.are_met());
    let needs = fixture().needs().unwrap();
    assert!(needs.are_met(), "{needs:?}");
    assert!(
        needs
            .libraries
            .iter()
            .any(|needed| needed.name == "libc.so.6")
    );
}

#[test]
fn r20_undefined_symbols_and_missing_functions_are_reported_without_loading() {
    let bytes = library(&["LONELY", "WITHOUT_STEP"]);
    let needs = fmu_with(DESCRIPTION, "fixture.so", &bytes).needs().unwrap();
    assert_eq!(needs.undefined_symbols, ["PyLonely"]);
    assert_eq!(needs.missing_functions, ["fmi2DoStep"]);
}

#[test]
fn r17_needs_of_a_library_of_another_machine() {
    let mut bytes = fixture_library().to_vec();
    bytes[18] = 243;
    let needs = fmu_with(DESCRIPTION, "fixture.so", &bytes).needs().unwrap();
    assert!(needs.refusal.unwrap().contains("built for RISC-V"));
}

#[test]
fn c05_r19_library_path_is_looked_at_first() {
    let (library, needed) = needy_fixture("elsewhere");
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("libelsewhere.so"), needed).unwrap();
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&format!("binaries/{PLATFORM}/fixture.so"), &library)
        .finish();
    let options = OpenOptions {
        library_path: vec![directory.path().to_owned()],
        ..OpenOptions::default()
    };
    let fmu = Fmu::open_with(&built.path, &options).unwrap();
    assert!(fmu.needs().unwrap().are_met());
    ready(&fmu, "elsewhere");
}

#[test]
fn preload_is_found_in_the_library_path() {
    let bytes = library(&["LONELY", "PyLonely=found_by_preload"]);
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("found.c");
    std::fs::write(&source, "int found_by_preload(void) { return 1; }").unwrap();
    compile(directory.path(), "libfound.so", &["found.c".to_owned()]);
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&format!("binaries/{PLATFORM}/fixture.so"), &bytes)
        .finish();
    let options = OpenOptions {
        library_path: vec![directory.path().to_owned()],
        preload: vec!["libfound.so".to_owned()],
        ..OpenOptions::default()
    };
    let fmu = Fmu::open_with(&built.path, &options).unwrap();
    assert!(fmu.needs().unwrap().are_met());
    ready(&fmu, "preloaded");
}

#[test]
fn r18_truncated_library_beside_the_own_one_does_not_kill_the_process() {
    let (library, needed) = needy_fixture("torn");
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&format!("binaries/{PLATFORM}/fixture.so"), &library)
        .with(
            &format!("binaries/{PLATFORM}/libtorn.so"),
            &needed[..needed.len() / 2],
        )
        .finish();
    let error = failure(&Fmu::open(&built.path).unwrap()).to_string();
    assert!(
        error.contains("libtorn.so: the file is truncated"),
        "{error}"
    );
}

#[test]
fn c05_library_beside_the_own_one_is_found() {
    let (library, needed) = needy_fixture("beside");
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&format!("binaries/{PLATFORM}/fixture.so"), &library)
        .with(&format!("binaries/{PLATFORM}/libbeside.so"), &needed)
        .finish();
    ready(&Fmu::open(&built.path).unwrap(), "not lonely");
}

/// The test needs no Java machine but a library with its name.
#[test]
fn fmus_that_start_a_java_machine_find_their_resources() {
    let before = std::env::current_dir().unwrap();
    let (library, needed) = needy_fixture("jvm");
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&format!("binaries/{PLATFORM}/fixture.so"), &library)
        .with(&format!("binaries/{PLATFORM}/libjvm.so"), &needed)
        .with("resources/note.txt", b"here")
        .finish();
    ready(&Fmu::open(&built.path).unwrap(), "fmu4j");
    assert_eq!(std::env::current_dir().unwrap(), before);
    let error = fixture().instantiate("fmu4j", &InstanceOptions::default());
    assert!(matches!(error, Err(LoadError::Instantiate { .. })));
}

#[test]
fn preload_that_is_not_there_is_named() {
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(
            &format!("binaries/{PLATFORM}/fixture.so"),
            fixture_library(),
        )
        .finish();
    let preload = vec!["libnowhere.so.7".to_owned()];
    let options = OpenOptions {
        preload,
        ..OpenOptions::default()
    };
    let fmu = Fmu::open_with(&built.path, &options).unwrap();
    let error = failure(&fmu).to_string();
    assert!(error.contains("libnowhere.so.7"), "{error}");
}

#[test]
fn r21_c14_wrong_guid_is_explained_by_the_fmu_itself() {
    let description = DESCRIPTION.replace("{right}", "{wrong}");
    let error = failure(&fmu_with(&description, "fixture.so", fixture_library())).to_string();
    assert!(
        error.ends_with("the FMU says: expected {right}, got {wrong}"),
        "{error}"
    );
}

#[test]
fn r21_c14_silent_refusal() {
    let error = fixture()
        .instantiate("silent refusal", &InstanceOptions::default())
        .unwrap_err();
    assert!(
        error.to_string().contains("the FMU gives no reason"),
        "{error}"
    );
}

#[test]
fn c09_instance_name() {
    for name in ["", "  ", "a\0b"] {
        let error = fixture()
            .instantiate(name, &InstanceOptions::default())
            .unwrap_err();
        assert!(matches!(error, LoadError::InstanceName { .. }), "{error}");
    }
}

#[test]
fn c15_tool_that_is_needed_is_named_before_anything_runs() {
    let description = DESCRIPTION
        .replace(
            "<CoSimulation ",
            "<CoSimulation needsExecutionTool=\"true\" ",
        )
        .replace("guid=", "generationTool=\"Simulator 3\" guid=");
    let fmu = fmu_with(&description, "fixture.so", fixture_library());
    let warnings: Vec<String> = fmu.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        ["its description says that it needs Simulator 3 on this machine"]
    );
}

#[test]
fn c16_each_instance_has_a_library_of_its_own() {
    let fmu = fixture();
    let (mut first, mut second) = (ready(&fmu, "first"), ready(&fmu, "second"));
    for instance in [&mut first, &mut second] {
        let mut sharing = [0.0];
        instance.get_real(&[2], &mut sharing).unwrap();
        assert_eq!(sharing, [1.0]);
    }
}

/// Whether this process has mapped a file whose path has this part.
#[cfg(target_os = "linux")]
fn is_mapped(part: &str) -> bool {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().any(|line| line.contains(part))
}

#[test]
#[cfg(target_os = "linux")]
fn c16_copies_of_a_library_are_in_memory() {
    let fmu = fmu_with(DESCRIPTION, "copied.so", fixture_library());
    let mut first = ready(&fmu, "first");
    assert!(!is_mapped("memfd:copied.so"), "the first needs no copy");
    let _second = ready(&fmu, "second");
    assert!(is_mapped("memfd:copied.so"));
    // FMUs that look for their own file find an equal one, beside the resources as usual.
    let root = resources(&mut first).with_file_name("");
    let link = root.join("binaries/0/copied.so");
    assert_eq!(
        std::fs::read_link(&link).unwrap(),
        fmu.library_file().unwrap()
    );
    assert_eq!(std::fs::read(link).unwrap(), fixture_library());
}

/// Libraries that unpack themselves, or guard against copies, change their own code when they are loaded.
#[test]
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn a_copy_that_has_changed_its_own_code_keeps_it() {
    let directory = tempfile::tempdir().unwrap();
    let source = r#"
        #include <stdint.h>
        #include <sys/mman.h>
        int answer(void);
        __attribute__((constructor)) static void change(void) {
            unsigned char *code = (unsigned char *)answer;
            void *page = (void *)((uintptr_t)code & ~(uintptr_t)4095);
            mprotect(page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC);
            while (*code != 0xb8) code++; /* mov $1,%eax */
            code[1] = 2;
            mprotect(page, 4096, PROT_READ | PROT_EXEC);
        }
    "#;
    std::fs::write(directory.path().join("change.c"), source).unwrap();
    let fixture = format!("{}/tests/loader/fixture.c", env!("CARGO_MANIFEST_DIR"));
    let arguments = ["-DANSWER=1", "change.c", &fixture].map(str::to_owned);
    let library = compile(directory.path(), "changing.so", &arguments);
    let fmu = fmu_with(DESCRIPTION, "fixture.so", &std::fs::read(library).unwrap());
    for name in ["first", "second"] {
        let mut instance = ready(&fmu, name);
        let mut answer = [0];
        instance.get_integer(&[8], &mut answer).unwrap();
        assert_eq!(answer, [2]);
    }
}

/// An FMU whose library keeps nothing outside of its instances and does not say so: the one of the benchmark, without
/// its annotation.
fn undeclared(name: &str) -> Fmu {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/bench");
    let description = std::fs::read_to_string(format!("{root}/modelDescription.xml")).unwrap();
    let description = description.replace("<Library shared=\"true\"/>", "");
    let directory = tempfile::tempdir().unwrap();
    let source = format!("{root}/tiny.c");
    let file = compile(directory.path(), name, &[source]);
    fmu_with(&description, name, &std::fs::read(file).unwrap())
}

/// The outputs of two instances that step in turn, each with an input of its own.
fn outputs(fmu: &Fmu, library: LibraryUse) -> Vec<u64> {
    let options = InstanceOptions {
        library,
        ..InstanceOptions::default()
    };
    let mut instances = ["first", "second"].map(|name| {
        let mut instance = fmu.instantiate(name, &options).unwrap();
        instance.setup_experiment(None, 0.0, None).unwrap();
        instance.enter_initialization_mode().unwrap();
        instance.exit_initialization_mode().unwrap();
        instance
    });
    let mut found = Vec::new();
    for step in 0..20 {
        for (instance, factor) in instances.iter_mut().zip([0.1, 0.3]) {
            let input = factor * f64::from(step);
            instance.set_real(&[0, 1], &[input, -input]).unwrap();
            instance.do_step(f64::from(step) * 0.1, 0.1, true).unwrap();
        }
        for instance in &mut instances {
            let mut values = [0.0; 2];
            instance.get_real(&[2, 3], &mut values).unwrap();
            found.extend(values.map(f64::to_bits));
        }
    }
    found
}

#[test]
fn c16_shared_and_copied_libraries_step_to_the_same_bits() {
    let fmu = undeclared("keeps_nothing.so");
    let shared = outputs(&fmu, LibraryUse::Shared);
    assert_eq!(fmu.copies(), 0);
    assert_eq!(outputs(&fmu, LibraryUse::Auto), shared);
    assert_eq!(outputs(&fmu, LibraryUse::Copied), shared);
    assert_eq!(fmu.copies(), 4);
}

#[test]
fn c16_a_library_that_keeps_something_is_shared_by_wish_only() {
    let many = DESCRIPTION.replace("canBeInstantiatedOnlyOncePerProcess=\"true\"", "");
    let counts = |description: &str, library: LibraryUse| {
        let fmu = fmu_with(description, "fixture.so", fixture_library());
        let options = InstanceOptions {
            library,
            ..InstanceOptions::default()
        };
        ["first", "second"]
            .map(|name| {
                let mut instance = fmu.instantiate(name, &options).unwrap();
                instance.setup_experiment(None, 0.0, None).unwrap();
                instance.enter_initialization_mode().unwrap();
                let mut count = [0.0];
                instance.get_real(&[2], &mut count).unwrap();
                (count[0], instance)
            })
            .map(|(count, _)| count)
    };
    assert_eq!(counts(&many, LibraryUse::Shared), [1.0, 2.0]);
    // An FMU that bears one instance per process is never shared.
    assert_eq!(counts(DESCRIPTION, LibraryUse::Shared), [1.0, 1.0]);
}

#[test]
fn c16_what_lies_beside_a_library_is_copied_with_it() {
    let built = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(
            &format!("binaries/{PLATFORM}/fixture.so"),
            fixture_library(),
        )
        .with(&format!("binaries/{PLATFORM}/table.txt"), b"1 2 3")
        .with("resources/note.txt", b"here")
        .finish();
    let fmu = Fmu::open(&built.path).unwrap();
    let (mut first, _second) = (ready(&fmu, "first"), ready(&fmu, "second"));
    let root = resources(&mut first).with_file_name("");
    for number in ["0", "1"] {
        let folder = root.join("binaries").join(number);
        assert_eq!(std::fs::read(folder.join("table.txt")).unwrap(), b"1 2 3");
        assert!(!folder.join("fixture.so").is_symlink());
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_fmu_without_resources_is_unpacked_into_memory_where_there_is_a_directory_for_that() {
    let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
    let memory = mounts
        .lines()
        .find(|line| line.starts_with("tmpfs /dev/shm "));
    let usable = memory.is_some_and(|line| !line.contains("noexec"));
    let expected = match usable && std::env::var_os("TMPDIR").is_none() {
        true => "/dev/shm".into(),
        false => std::env::temp_dir(),
    };
    let library = format!("binaries/{PLATFORM}/fixture.so");
    let without = Archive::new()
        .with("modelDescription.xml", DESCRIPTION.as_bytes())
        .with(&library, fixture_library())
        .finish();
    let fmu = Fmu::open(&without.path).unwrap();
    let file = fmu.library_file().unwrap();
    assert!(file.starts_with(expected), "{}", file.display());
    ready(&fmu, "in memory");
    drop(fmu);
    assert!(!file.exists());
    // FMUs write files of any size beside their resources.
    let file = fixture().library_file().unwrap();
    assert!(file.starts_with(std::env::temp_dir()), "{}", file.display());
}

/// Instances that the library of a new one has seen, the new one included.
fn seen(fmu: &Fmu) -> f64 {
    let mut count = [0.0];
    ready(fmu, "one").get_real(&[2], &mut count).unwrap();
    count[0]
}

#[test]
fn c16_a_copy_serves_one_instance() {
    let many = DESCRIPTION.replace("canBeInstantiatedOnlyOncePerProcess=\"true\"", "");
    for description in [&many, DESCRIPTION] {
        let fmu = fmu_with(description, "fixture.so", fixture_library());
        assert_eq!([seen(&fmu), seen(&fmu)], [1.0, 1.0]);
        assert_eq!(seen(&fmu.with_own_libraries()), 1.0);
        let _in_use = ready(&fmu, "in use");
        assert_eq!(seen(&fmu), 1.0);
    }
}

#[test]
fn c17_equal_symbols_of_two_fmus_do_not_meet() {
    let fmus = ["ANSWER=1", "ANSWER=2"]
        .map(|definition| fmu_with(DESCRIPTION, "fixture.so", &library(&[definition])));
    let mut instances = fmus.each_ref().map(|fmu| ready(fmu, "answer"));
    for (instance, expected) in instances.iter_mut().zip([1, 2]) {
        let mut answer = [0];
        instance.get_integer(&[8], &mut answer).unwrap();
        assert_eq!(answer, [expected]);
    }
}

#[test]
fn model_exchange_only() {
    let description = DESCRIPTION.replace("CoSimulation", "ModelExchange");
    let error = failure(&fmu_with(&description, "fixture.so", fixture_library())).to_string();
    assert!(error.contains("for model exchange only"), "{error}");
}
