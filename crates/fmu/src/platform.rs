//! Names of platforms in the `binaries` folder, and of the libraries in them.

use std::path::Path;

use crate::description::CoSimulation;
use crate::error::LoadError;
use crate::warning::Warning;

/// Folders with binaries for this machine, the usual one first: the names of FMI 2.0 and the
/// tuples of FMI 3.0, which 2.0.4 allows (C-04).
pub(crate) const FOLDERS: &[&str] = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    &["linux64", "x86_64-linux"]
} else if cfg!(all(target_os = "linux", target_arch = "x86")) {
    &["linux32", "x86-linux"]
} else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
    &["aarch64-linux"]
} else if cfg!(all(target_os = "macos", target_arch = "aarch64")) {
    &["aarch64-darwin", "darwin64"]
} else if cfg!(target_os = "macos") {
    &["darwin64", "x86_64-darwin"]
} else if cfg!(all(target_os = "windows", target_arch = "x86_64")) {
    &["win64", "x86_64-windows"]
} else if cfg!(target_os = "windows") {
    &["win32", "x86-windows"]
} else {
    &[]
};

/// The usual folder of this machine's binaries.
pub(crate) fn usual_folder() -> &'static str {
    FOLDERS.first().copied().unwrap_or("none")
}

/// Ending of a library on this machine.
pub(crate) const ENDING: &str = std::env::consts::DLL_EXTENSION;

/// `<modelIdentifier>.<ending>`, or the only library of the folder: some exporters name it after
/// the FMU (C-05).
pub(crate) fn library_name(
    folder_path: &Path,
    model: &str,
    folder: &str,
    co_simulation: &CoSimulation,
    warnings: &mut Vec<Warning>,
) -> Result<String, LoadError> {
    let expected = format!("{}.{}", co_simulation.model_identifier, ENDING);
    let entries = std::fs::read_dir(folder_path).map_err(LoadError::io(folder_path))?;
    let mut found: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    found.sort();
    if found.contains(&expected) {
        return Ok(expected);
    }
    let ending = format!(".{ENDING}");
    let mut libraries = found.iter().filter(|name| name.ends_with(&ending));
    if let (Some(only), None) = (libraries.next(), libraries.next()) {
        let message = format!("binaries/{folder} has {only} instead of {expected}; it is used");
        warnings.push(Warning::new(message));
        return Ok(only.clone());
    }
    let (model, platform) = (model.to_owned(), folder.to_owned());
    Err(LoadError::NoBinary {
        model,
        platform,
        expected,
        found,
    })
}
