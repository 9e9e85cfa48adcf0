//! Builds FMUs: archives of any content, and one with the slave of `fixture.c`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use gyrator_fmu::{Fmu, Instance, InstanceOptions};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

/// The folder of this machine's binaries.
pub(crate) const PLATFORM: &str = if cfg!(target_arch = "x86_64") {
    "linux64"
} else {
    "aarch64-linux"
};

pub(crate) const DESCRIPTION: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<fmiModelDescription fmiVersion="2.0" modelName="Fixture" guid="{right}">
  <CoSimulation modelIdentifier="fixture" canGetAndSetFMUstate="true" canSerializeFMUstate="true"
    canBeInstantiatedOnlyOncePerProcess="true" providesDirectionalDerivative="true"/>
  <LogCategories><Category name="fixture"/></LogCategories>
  <ModelVariables>
    <ScalarVariable name="x" valueReference="0" causality="output"><Real/></ScalarVariable>
    <ScalarVariable name="v" valueReference="1" causality="input"><Real start="0"/></ScalarVariable>
    <ScalarVariable name="status" valueReference="0" causality="input" variability="discrete">
      <Integer start="0"/></ScalarVariable>
  </ModelVariables>
  <ModelStructure><Outputs><Unknown index="1"/></Outputs></ModelStructure>
</fmiModelDescription>"#;

/// An archive being written.
pub(crate) struct Archive {
    directory: TempDir,
    zip: ZipWriter<std::fs::File>,
}

impl Archive {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = std::fs::File::create(directory.path().join("test.fmu")).unwrap();
        Self {
            directory,
            zip: ZipWriter::new(file),
        }
    }

    pub(crate) fn with(self, name: &str, content: &[u8]) -> Self {
        self.with_options(name, content, SimpleFileOptions::default())
    }

    pub(crate) fn with_options(
        mut self,
        name: &str,
        content: &[u8],
        options: SimpleFileOptions,
    ) -> Self {
        let options = options.compression_method(CompressionMethod::Deflated);
        self.zip.start_file(name, options).unwrap();
        self.zip.write_all(content).unwrap();
        self
    }

    pub(crate) fn with_symlink(mut self, name: &str, target: &str) -> Self {
        self.zip
            .add_symlink(name, target, SimpleFileOptions::default())
            .unwrap();
        self
    }

    pub(crate) fn finish(self) -> Built {
        self.zip.finish().unwrap();
        Built {
            path: self.directory.path().join("test.fmu"),
            _directory: self.directory,
        }
    }
}

/// A finished archive.
pub(crate) struct Built {
    pub(crate) path: PathBuf,
    _directory: TempDir,
}

impl Built {
    /// The error of opening it, which has to fail.
    pub(crate) fn refusal(&self) -> String {
        Fmu::open(&self.path).unwrap_err().to_string()
    }
}

/// Compiles `fixture.c` with some symbols defined.
pub(crate) fn library(definitions: &[&str]) -> Vec<u8> {
    let directory = tempfile::tempdir().unwrap();
    let defines: Vec<String> = definitions.iter().map(|name| format!("-D{name}")).collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/loader/fixture.c");
    let source = source.to_str().unwrap().to_owned();
    let target = compile(
        directory.path(),
        "fixture.so",
        &[defines, vec![source]].concat(),
    );
    std::fs::read(target).unwrap()
}

/// Runs the C compiler in a directory to make a shared library.
pub(crate) fn compile(directory: &Path, name: &str, arguments: &[String]) -> PathBuf {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o", name])
        .args(arguments)
        .current_dir(directory)
        .status()
        .unwrap();
    assert!(status.success(), "the C compiler failed");
    directory.join(name)
}

/// The bytes of the whole fixture.
pub(crate) fn fixture_library() -> &'static [u8] {
    static LIBRARY: OnceLock<Vec<u8>> = OnceLock::new();
    LIBRARY.get_or_init(|| library(&[]))
}

/// An FMU with this description and library, and a resource.
pub(crate) fn fmu_with(description: &str, name: &str, library: &[u8]) -> Fmu {
    let built = Archive::new()
        .with("modelDescription.xml", description.as_bytes())
        .with(&format!("binaries/{PLATFORM}/{name}"), library)
        .with("resources/note.txt", b"here")
        .finish();
    Fmu::open(&built.path).unwrap()
}

pub(crate) fn fixture() -> Fmu {
    fmu_with(DESCRIPTION, "fixture.so", fixture_library())
}

/// An instance that is ready to step.
pub(crate) fn ready(fmu: &Fmu, name: &str) -> Instance {
    let mut instance = fmu.instantiate(name, &InstanceOptions::default()).unwrap();
    instance.setup_experiment(None, 0.0, None).unwrap();
    instance.enter_initialization_mode().unwrap();
    instance.exit_initialization_mode().unwrap();
    instance
}

/// The folder with the resources of an instance.
pub(crate) fn resources(instance: &mut Instance) -> PathBuf {
    let mut location = [String::new()];
    instance.get_string(&[1], &mut location).unwrap();
    PathBuf::from(location[0].strip_prefix("file://").unwrap())
}
