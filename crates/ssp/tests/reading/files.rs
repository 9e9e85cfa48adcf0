//! Packages as files in a folder, with FMUs that have a description and nothing else.

use std::io::Write as _;
use std::path::Path;

use gyrator_ssp::{Options, ReadError, read};
use gyrator_system::{Problem, SystemFile};
use tempfile::TempDir;

/// A folder with these files.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// An FMU that can be described but not run: variables and definitions of units and types.
pub(crate) fn fmu(path: &Path, definitions: &str, variables: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default();
    zip.start_file("modelDescription.xml", options).unwrap();
    let text = format!(
        r#"<fmiModelDescription fmiVersion="2.0" modelName="m" guid="g"><CoSimulation modelIdentifier="m"/>
        {definitions}<ModelVariables>{variables}</ModelVariables><ModelStructure/></fmiModelDescription>"#
    );
    zip.write_all(text.as_bytes()).unwrap();
    zip.finish().unwrap();
}

/// A description with these elements in its system, and what follows the system.
pub(crate) fn description(system: &str, after: &str) -> String {
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<ssd:SystemStructureDescription version="1.0" name="test"
  xmlns:ssd="http://ssp-standard.org/SSP1/SystemStructureDescription"
  xmlns:ssc="http://ssp-standard.org/SSP1/SystemStructureCommon"
  xmlns:ssv="http://ssp-standard.org/SSP1/SystemStructureParameterValues"
  xmlns:ssm="http://ssp-standard.org/SSP1/SystemStructureParameterMapping">
<ssd:System name="root">{system}</ssd:System>{after}
</ssd:SystemStructureDescription>"#
    )
}

/// Reads a folder.
pub(crate) fn open(folder: &TempDir) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    read(folder.path(), &Options::default())
}

/// Reads a folder that has no mistakes; warnings as text.
pub(crate) fn accepted(folder: &TempDir) -> (SystemFile, Vec<String>) {
    let (system, warnings) = open(folder).unwrap_or_else(|error| panic!("{error}"));
    let texts = warnings.into_iter().map(|problem| problem.message);
    (system, texts.collect())
}

/// The message about a folder that is refused, without the path of the folder.
pub(crate) fn refused(folder: &TempDir) -> String {
    let error = open(folder).expect_err("the folder is refused").to_string();
    error.replace(&folder.path().display().to_string(), "DIR")
}

/// The connections as `from -> to * gain`.
pub(crate) fn connections(system: &SystemFile) -> Vec<String> {
    let text = |connection: &gyrator_system::Connection| {
        let gain = connection.gain.as_ref();
        let gain = gain.map_or(String::new(), |gain| format!(" * {}", gain.value));
        format!("{} -> {}{gain}", connection.from.value, connection.to.value)
    };
    system.connections.iter().map(text).collect()
}

/// The start values as `component.variable = value`.
pub(crate) fn start_values(system: &SystemFile) -> Vec<String> {
    let mut texts = Vec::new();
    for component in &system.components {
        for (name, value) in &component.start_values {
            let value = gyrator_system::toml_file::literal(&value.value);
            texts.push(format!("{}.{} = {value}", component.name.value, name.value));
        }
    }
    texts
}
