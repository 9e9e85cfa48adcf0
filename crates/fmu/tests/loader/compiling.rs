//! Libraries from the C sources of FMUs.

use std::path::Path;
use std::time::Duration;

use gyrator_fmu::{Compiler, Fmu, InstanceOptions, OpenOptions};

use crate::building::{Archive, Built, DESCRIPTION, PLATFORM, ready};

/// A slave in C with the headers of FMI, whose output is 7 after initialization.
const SLAVE: &str = r#"
#include "fmi2Functions.h"
#include <stdlib.h>
#include "seven.h"
#define STUB(name) fmi2Status name
const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }
fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
    const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging) { return malloc(1); }
void fmi2FreeInstance(fmi2Component c) { free(c); }
STUB(fmi2SetupExperiment)(fmi2Component c, fmi2Boolean a, fmi2Real b, fmi2Real d, fmi2Boolean e, fmi2Real f) { return fmi2OK; }
STUB(fmi2EnterInitializationMode)(fmi2Component c) { return fmi2OK; }
STUB(fmi2ExitInitializationMode)(fmi2Component c) { return fmi2OK; }
STUB(fmi2Terminate)(fmi2Component c) { return fmi2OK; }
STUB(fmi2GetReal)(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Real v[]) {
    for (size_t i = 0; i < n; i++) v[i] = SEVEN;
    return fmi2OK;
}
STUB(fmi2SetReal)(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Real v[]) { return fmi2OK; }
STUB(fmi2GetInteger)(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Integer v[]) { return fmi2OK; }
STUB(fmi2SetInteger)(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Integer v[]) { return fmi2OK; }
STUB(fmi2GetBoolean)(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2Boolean v[]) { return fmi2OK; }
STUB(fmi2SetBoolean)(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2Boolean v[]) { return fmi2OK; }
STUB(fmi2GetString)(fmi2Component c, const fmi2ValueReference r[], size_t n, fmi2String v[]) { return fmi2OK; }
STUB(fmi2SetString)(fmi2Component c, const fmi2ValueReference r[], size_t n, const fmi2String v[]) { return fmi2OK; }
STUB(fmi2DoStep)(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean n) { return fmi2OK; }
"#;

/// An FMU that lists `slave.c` and the others, which may be of any name.
fn fmu_of(files: &[(&str, &str)], listed: &[&str]) -> Built {
    let listed = listed.iter().map(|name| format!("<File name=\"{name}\"/>"));
    let list = format!(
        "><SourceFiles>{}</SourceFiles></CoSimulation>",
        listed.collect::<String>()
    );
    let description = DESCRIPTION.replacen("providesDirectionalDerivative=\"true\"/>", &list, 1);
    let mut archive = Archive::new().with("modelDescription.xml", description.as_bytes());
    for (name, text) in files {
        archive = archive.with(name, text.as_bytes());
    }
    archive.finish()
}

fn slave() -> Built {
    let header = ("sources/include/seven.h", "#define SEVEN 7.0\n");
    fmu_of(&[("sources/slave.c", SLAVE), header], &["slave.c"])
}

fn options() -> OpenOptions {
    OpenOptions {
        compiler: Some(Compiler::default()),
        ..OpenOptions::default()
    }
}

fn output_of(fmu: &Fmu) -> f64 {
    let mut value = [0.0];
    ready(fmu, "slave").get_real(&[0], &mut value).unwrap();
    value[0]
}

#[test]
fn sources_without_headers_of_fmi_are_compiled_and_run() {
    let built = slave();
    let before = std::fs::read(&built.path).unwrap();
    let refusal = Fmu::open(&built.path)
        .unwrap()
        .instantiate("slave", &InstanceOptions::default());
    let refusal = refusal.unwrap_err().to_string();
    assert!(refusal.contains("compile them with --compile"), "{refusal}");
    let fmu = Fmu::open_with(&built.path, &options()).unwrap();
    assert_eq!(fmu.platforms(), [PLATFORM]);
    assert!((output_of(&fmu) - 7.0).abs() < f64::EPSILON);
    assert!(before == std::fs::read(&built.path).unwrap());
}

/// Sources for static linking put the name of the model before their functions; headers before version
/// 2.0.1 leave it there.
#[test]
fn functions_with_a_prefix_get_their_own_names() {
    let own = "#define fmi2FullName(name) fixture_##name\n";
    let functions = include_str!("../../src/compiling/headers/fmi2Functions.h");
    let begin = functions.find("#if defined(FMI2_FUNCTION_PREFIX)").unwrap();
    let end = begin + functions[begin..].find("#endif").unwrap() + "#endif".len();
    let old = format!("{}{own}{}", &functions[..begin], &functions[end..]);
    let files = [
        ("sources/slave.c", SLAVE),
        ("sources/seven.h", "#define SEVEN 7.0\n"),
        ("sources/fmi2Functions.h", &*old),
    ];
    let built = fmu_of(&files, &["slave.c"]);
    let fmu = Fmu::open_with(&built.path, &options()).unwrap();
    assert!((output_of(&fmu) - 7.0).abs() < f64::EPSILON);
}

#[test]
fn an_fmu_is_compiled_once_for_each_compiler() {
    let (built, cache) = (slave(), tempfile::tempdir().unwrap());
    let with = |flags: &[&str]| {
        let mut options = options();
        options.cache = Some(cache.path().to_owned());
        options.compiler.as_mut().unwrap().flags = flags.iter().map(ToString::to_string).collect();
        let fmu = Fmu::open_with(&built.path, &options).unwrap();
        fmu.library_file().unwrap()
    };
    let first = with(&[]);
    let written = std::fs::metadata(&first).unwrap().modified().unwrap();
    assert_eq!(with(&[]), first);
    assert_eq!(
        std::fs::metadata(&first).unwrap().modified().unwrap(),
        written
    );
    assert_ne!(with(&["-DOTHER"]), first);
    assert!(std::fs::metadata(&first).unwrap().permissions().readonly());
}

#[test]
fn a_copy_with_the_library_needs_no_compiler() {
    let (built, folder) = (slave(), tempfile::tempdir().unwrap());
    let target = folder.path().join("new.fmu");
    let compiled = Fmu::open_with(&built.path, &options()).unwrap();
    compiled.write_with_library(&target).unwrap();
    assert!((output_of(&Fmu::open(&target).unwrap()) - 7.0).abs() < f64::EPSILON);
}

fn error_of(built: &Built, options: &OpenOptions) -> String {
    let error = Fmu::open_with(&built.path, options)
        .unwrap_err()
        .to_string();
    let path = built.path.display().to_string();
    assert!(error.starts_with(&path), "{error}");
    error
}

#[test]
fn errors_of_the_compiler_have_their_places() {
    let broken = fmu_of(
        &[("sources/slave.c", "int f(void) {\n  return x;\n}\n")],
        &["slave.c"],
    );
    let error = error_of(&broken, &options());
    assert!(
        error.contains("sources/slave.c:2:10: error: 'x' undeclared"),
        "{error}"
    );
    let empty = fmu_of(&[("sources/slave.c", "int x;\n")], &["slave.c"]);
    let error = error_of(&empty, &options());
    assert!(error.contains("do not define fmi2SetReal"), "{error}");
    let missing = fmu_of(
        &[("sources/slave.c", "#include \"there.h\"\n")],
        &["slave.c"],
    );
    let error = error_of(&missing, &options());
    assert!(
        error.contains("slave.c:1:10") && error.contains("CFLAGS (-I)"),
        "{error}"
    );
    let nobody = Compiler {
        program: "no-such-compiler".to_owned(),
        ..Compiler::default()
    };
    let options = OpenOptions {
        compiler: Some(nobody),
        ..OpenOptions::default()
    };
    let error = error_of(&slave(), &options);
    assert!(
        error.contains("no-such-compiler does not start") && error.contains("CC"),
        "{error}"
    );
}

#[test]
fn r08_listed_files_do_not_lead_out_of_the_sources() {
    let outside = fmu_of(
        &[("sources/slave.c", SLAVE), ("resources/x.c", "")],
        &["../resources/x.c"],
    );
    let error = error_of(&outside, &options());
    assert!(error.contains("leads out"), "{error}");
}

/// The compiler waits for the end of a file that has none.
#[test]
#[cfg(target_os = "linux")]
fn a_compiler_that_does_not_end_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo.h");
    let made = std::process::Command::new("mkfifo")
        .arg(&fifo)
        .status()
        .unwrap();
    assert!(made.success());
    let text = format!("#include \"{}\"\n", fifo.display());
    let endless = fmu_of(&[("sources/slave.c", &text)], &["slave.c"]);
    let mut options = options();
    options.compiler.as_mut().unwrap().time_limit = Duration::from_millis(300);
    let error = error_of(&endless, &options);
    assert!(error.contains("within 0.3 s"), "{error}");
    assert!(Path::new(&fifo).exists());
}
