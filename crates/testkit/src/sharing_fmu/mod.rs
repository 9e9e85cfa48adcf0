//! FMUs whose results depend on what a process has once: random numbers of the C library, the locale, thread-local
//! variables. Built by the C compiler from `sharing.c`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const DESCRIPTION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Sharing" guid="{sharing}">
  <CoSimulation modelIdentifier="Sharing" canHandleVariableCommunicationStepSize="true"/>
  <ModelVariables>
    <ScalarVariable name="y" valueReference="0" causality="output"><Real/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1"/></Outputs></ModelStructure>
</fmiModelDescription>"#;

const PLATFORM: &str = if cfg!(target_arch = "x86_64") {
    "linux64"
} else {
    "aarch64-linux"
};

/// Builds the FMU of a `KIND` of `sharing.c` in a folder; two FMUs of one kind differ by their `weight`.
///
/// # Panics
/// Without a C compiler, or if the folder cannot be written.
#[must_use]
pub fn sharing_fmu(folder: &Path, kind: &str, weight: u32) -> PathBuf {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sharing_fmu");
    let build = folder.join(format!("{kind}{weight}"));
    std::fs::create_dir_all(&build).expect("the folder of the build");
    let weight_is = format!("-DWEIGHT={weight}");
    let companion = build.join("libcompanion.so");
    let brings_companion = matches!(kind, "COMPANION" | "DLOPEN");
    if brings_companion {
        let source = sources.join("companion.c");
        compile(
            &companion,
            &[&weight_is, "-Wl,-soname,libcompanion.so", &text(&source)],
        );
    }
    let library = build.join("Sharing.so");
    let (kind_is, source) = (format!("-DKIND={kind}"), text(&sources.join("sharing.c")));
    let (search, beside) = (format!("-L{}", text(&build)), "-Wl,-rpath,$ORIGIN");
    let mut arguments = vec![weight_is.as_str(), &kind_is, &source];
    if kind == "COMPANION" {
        arguments.extend([search.as_str(), "-lcompanion", beside]);
    }
    compile(&library, &arguments);
    let mut files = vec![("Sharing.so", library)];
    files.extend(brings_companion.then_some(("libcompanion.so", companion)));
    let path = folder.join(format!("{kind}{weight}.fmu"));
    let mut zip = ZipWriter::new(std::fs::File::create(&path).expect("the FMU"));
    let mut add = |name: &str, bytes: &[u8]| {
        zip.start_file(name, SimpleFileOptions::default())
            .expect("an entry");
        zip.write_all(bytes).expect("an entry");
    };
    add("modelDescription.xml", DESCRIPTION.as_bytes());
    for (name, file) in files {
        let bytes = std::fs::read(file).expect("a library");
        add(&format!("binaries/{PLATFORM}/{name}"), &bytes);
    }
    zip.finish().expect("the FMU");
    path
}

fn compile(target: &Path, arguments: &[&str]) {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut command = Command::new(compiler);
    command
        .args(["-shared", "-fPIC", "-O1", "-w", "-o"])
        .arg(target);
    let status = command
        .args(arguments)
        .arg("-ldl")
        .status()
        .expect("a C compiler");
    assert!(status.success(), "the C compiler failed");
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
