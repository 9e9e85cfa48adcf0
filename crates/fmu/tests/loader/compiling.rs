//! Libraries from the C sources of FMUs.

use std::path::Path;
use std::time::Duration;

use gyrator_fmu::{Compiler, Fmu, InstanceOptions, OpenOptions};

use crate::building::{Archive, Built, DESCRIPTION, PLATFORM, ready};

/// A slave in C with the headers of FMI, whose output is 7 after initialization.
pub(crate) const SLAVE: &str = r#"
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

/// The notes about the library of an FMU.
fn notes_of(fmu: &Fmu) -> Vec<String> {
    fmu.warnings().iter().map(ToString::to_string).collect()
}

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
fn what_the_sources_need_and_gyrator_does_not_have_is_named() {
    let mut linking = options();
    linking.compiler.as_mut().unwrap().flags = vec!["-lnever-there".to_owned()];
    let error = error_of(&slave(), &linking);
    assert!(
        error.contains("need the library never-there: install it"),
        "{error}"
    );
    let calling =
        SLAVE.to_owned() + "extern void solve_(double *);\nvoid g(double *x) { solve_(x); }\n";
    let files = [
        ("sources/slave.c", &*calling),
        ("sources/seven.h", "#define SEVEN 7.0\n"),
        ("sources/solve.f90", ""),
    ];
    let error = error_of(&fmu_of(&files, &["slave.c"]), &options());
    assert!(
        error.contains("undefined reference to `solve_'")
            && error.contains("sources/solve.f90 was not compiled"),
        "{error}"
    );
    let error = error_of(&fmu_of(&files, &["slave.c", "solve.f90"]), &options());
    assert!(error.contains("sources/solve.f90 is in Fortran"), "{error}");
    let error = error_of(&fmu_of(&files[2..], &[]), &options());
    assert!(error.contains("sources/solve.f90 is in Fortran"), "{error}");
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

/// Sources of the FMU SDK are a slave for co-simulation with this definition only.
#[test]
fn a_definition_that_the_description_does_not_name_is_tried() {
    let slave = SLAVE.replace(
        "STUB(fmi2DoStep)",
        "#ifdef FMI_COSIMULATION\nSTUB(fmi2DoStep)",
    ) + "#endif\n";
    let header = ("sources/seven.h", "#define SEVEN 7.0\n");
    let built = fmu_of(&[("sources/slave.c", &slave), header], &["slave.c"]);
    let cache = tempfile::tempdir().unwrap();
    let mut options = options();
    options.cache = Some(cache.path().to_owned());
    // The second time it is found in the cache.
    for _ in 0..2 {
        let fmu = Fmu::open_with(&built.path, &options).unwrap();
        let notes = notes_of(&fmu);
        assert!(
            notes.len() == 1 && notes[0].contains("FMI_COSIMULATION"),
            "{notes:?}"
        );
        assert!((output_of(&fmu) - 7.0).abs() < f64::EPSILON);
    }
    let neither = slave.replace("FMI_COSIMULATION", "SOMETHING_ELSE");
    let neither = fmu_of(&[("sources/slave.c", &neither), header], &["slave.c"]);
    let error = error_of(&neither, &options);
    assert!(error.contains("do not define fmi2DoStep"), "{error}");
}

/// 20-sim lists all files but the one with the functions of FMI.
#[test]
fn all_files_are_compiled_if_those_of_the_list_lack_a_function() {
    let files = [
        ("sources/slave.c", SLAVE),
        (
            "sources/seven.h",
            "double seven(void);\n#define SEVEN seven()\n",
        ),
        ("sources/model.c", "double seven(void) { return 7.0; }\n"),
    ];
    let fmu = Fmu::open_with(&fmu_of(&files, &["model.c"]).path, &options()).unwrap();
    assert!((output_of(&fmu) - 7.0).abs() < f64::EPSILON);
    let notes = notes_of(&fmu);
    assert!(
        notes.len() == 1 && notes[0].contains("all files"),
        "{notes:?}"
    );
    assert_eq!(
        notes_of(&Fmu::open_with(&fmu_of(&files, &[]).path, &options()).unwrap()),
        [""; 0]
    );
}

#[test]
fn the_missing_header_of_the_fmu_sdk_is_put_in() {
    let header = (
        "sources/seven.h",
        "#include \"minmax.h\"\n#define SEVEN max(3.0, min(7.0, 9.0))\n",
    );
    let built = fmu_of(&[("sources/slave.c", SLAVE), header], &["slave.c"]);
    let fmu = Fmu::open_with(&built.path, &options()).unwrap();
    assert!((output_of(&fmu) - 7.0).abs() < f64::EPSILON);
    let notes = notes_of(&fmu);
    assert!(
        notes.len() == 1 && notes[0].contains("minmax.h"),
        "{notes:?}"
    );
    // Its own counts.
    let own = (
        "sources/minmax.h",
        "#define max(a, b) 5.0\n#define min(a, b) a\n",
    );
    let built = fmu_of(&[("sources/slave.c", SLAVE), header, own], &["slave.c"]);
    let fmu = Fmu::open_with(&built.path, &options()).unwrap();
    assert!((output_of(&fmu) - 5.0).abs() < f64::EPSILON);
    assert_eq!(notes_of(&fmu), [""; 0]);
}

/// The same slave in C, in C++, and in both.
#[test]
fn sources_in_cpp_are_compiled_as_such() {
    let seven_in_cpp =
        "#include <string>\nextern \"C\" double seven() { return std::string(7, 'x').size(); }\n";
    let header = (
        "sources/seven.h",
        "#ifdef __cplusplus\nextern \"C\"\n#endif\ndouble seven(void);\n#define SEVEN seven()\n",
    );
    let only_cpp = [
        ("sources/slave.cpp", SLAVE),
        ("sources/seven.cc", seven_in_cpp),
        header,
    ];
    let both = [
        ("sources/slave.c", SLAVE),
        ("sources/seven.cpp", seven_in_cpp),
        header,
    ];
    for (files, listed) in [
        (only_cpp, &["slave.cpp", "seven.cc"][..]),
        (only_cpp, &[]),
        (both, &["slave.c", "seven.cpp"]),
        (both, &[]),
    ] {
        let fmu = Fmu::open_with(&fmu_of(&files, listed).path, &options()).unwrap();
        assert!((output_of(&fmu) - 7.0).abs() < f64::EPSILON, "{listed:?}");
    }
    let mut options = options();
    options.compiler.as_mut().unwrap().cpp_program = "no-such-compiler".to_owned();
    let error = error_of(&fmu_of(&both, &[]), &options);
    assert!(
        error.contains("install a C++ compiler") && error.contains("CXX"),
        "{error}"
    );
}

/// A file that is not of the model, and a definition with a fallback in the source.
#[test]
fn a_build_description_says_what_is_compiled_and_how() {
    let header = "double seven(void);\n#ifndef SEVEN\n#define SEVEN 2.0\n#endif\n";
    let description = |sets: &str| {
        format!(
            "<fmiBuildDescription fmiVersion=\"3.0\"><BuildConfiguration modelIdentifier=\"fixture\">{sets}\
             </BuildConfiguration></fmiBuildDescription>"
        )
    };
    let definition = "<PreprocessorDefinition name=\"SEVEN\" value=\"7.0\"/>";
    let one = format!(
        "<SourceFileSet language=\"C99\"><SourceFile name=\"slave.c\"/>{definition}</SourceFileSet>"
    );
    let of_folder = "<SourceFileSet><SourceFile name=\"slave.c\"/>\
        <IncludeDirectory name=\"second\"/></SourceFileSet>";
    let of_function = format!(
        "<SourceFileSet language=\"C99\"><SourceFile name=\"slave.c\"/><PreprocessorDefinition name=\"SEVEN\" \
         value=\"seven()\"/></SourceFileSet><SourceFileSet language=\"C++11\"><SourceFile name=\"part.c\"/>{definition}\
         </SourceFileSet>"
    );
    for (text, value) in [
        (description(&one), 7.0),
        (description(of_folder), 3.0),
        (description(&of_function), 7.0),
        (description(&one).replace("fixture", "another"), 2.0),
    ] {
        let mut files = vec![
            ("sources/main.c", "#error \"not part of the model\"\n"),
            (
                "sources/part.c",
                "extern \"C\" double seven() { return SEVEN; }\n",
            ),
            ("sources/slave.c", SLAVE),
            ("sources/buildDescription.xml", &*text),
        ];
        files.push(match value {
            3.0 => ("sources/second/seven.h", "#define SEVEN 3.0\n"),
            _ => ("sources/seven.h", header),
        });
        let fmu = Fmu::open_with(&fmu_of(&files, &["slave.c"]).path, &options()).unwrap();
        assert!((output_of(&fmu) - value).abs() < f64::EPSILON, "{text}");
        let is_noted = !notes_of(&fmu).is_empty();
        assert_eq!(is_noted, text.contains("another"), "{:?}", notes_of(&fmu));
    }
}
