//! `cargo xtask fmus`: builds the examples that export the models and packs them into `target/fmus/*.fmu`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fmu_kit::package::{Library, PLATFORM, package};
use fmu_models::{MODELS, ModelInfo};

/// Why the FMUs could not be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The compiler refused, or cargo was not found.
    #[error("{command} failed:\n{reason}")]
    Cargo {
        /// The command line.
        command: String,
        /// Its messages.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The archive could not be written.
    #[error("packing {name}.fmu: {source}")]
    Pack {
        /// The model.
        name: &'static str,
        /// Error of the zip library.
        source: zip::result::ZipError,
    },
}

/// Builds every FMU that is out of date; returns the folder with `<model name>.fmu`.
///
/// Several processes may call this at a time: one builds, the others wait. An FMU whose bytes do
/// not change is not written again.
///
/// # Errors
/// When an example does not compile or a file cannot be written.
pub fn build_all() -> Result<PathBuf, Error> {
    build_in(&crate::target(), MODELS.iter())
}

/// As [`build_all`], but only the models of these names.
///
/// # Errors
/// As [`build_all`]. A name without a model is left out.
pub fn build(names: &[&str]) -> Result<PathBuf, Error> {
    let named = MODELS.iter().filter(|model| names.contains(&model.name));
    build_in(&crate::target(), named)
}

/// As [`build_all`], with models and a target folder of the caller's choice.
fn build_in(
    target: &Path,
    models: impl Iterator<Item = &'static ModelInfo> + Clone,
) -> Result<PathBuf, Error> {
    let folder = target.join("fmus");
    fs::create_dir_all(&folder).map_err(|source| file_error(&folder, source))?;
    let lock_path = folder.join(".lock");
    let lock = File::create(&lock_path).and_then(|file| file.lock().map(|()| file));
    let lock = lock.map_err(|source| file_error(&lock_path, source))?;
    compile(target, models.clone())?;
    for model in models {
        write_fmu(model, target, &folder)?;
    }
    drop(lock);
    Ok(folder)
}

fn file_error(path: &Path, source: io::Error) -> Error {
    let path = path.to_owned();
    Error::File { path, source }
}

fn compile(target: &Path, models: impl Iterator<Item = &'static ModelInfo>) -> Result<(), Error> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command
        .current_dir(crate::root())
        .args(["build", "--quiet", "--profile", "fmu", "--target-dir"])
        .arg(target)
        .args(["--package", "fmu-models", "--features", "export"])
        .args(["--config", &remapped_paths()])
        .env_remove("CARGO_BUILD_TARGET")
        // Flags of the caller, as for a sanitizer, would take the place of those above.
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .stdin(Stdio::null());
    for model in models {
        command.args(["--example", model.example]);
    }
    let outcome = command.output();
    let reason = match outcome {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => error.to_string(),
    };
    let command = format!("{command:?}");
    Err(Error::Cargo { command, reason })
}

/// Keeps the places of sources on this machine out of the libraries.
fn remapped_paths() -> String {
    let mut flags = vec![format!("{}=/gyrator", crate::root().display())];
    let home = std::env::var("HOME").map(|home| format!("{home}/.cargo"));
    if let Ok(cargo_home) = std::env::var("CARGO_HOME").or(home) {
        flags.push(format!("{cargo_home}=/cargo"));
    }
    let flags: Vec<String> = flags
        .into_iter()
        .map(|flag| format!("{:?}", format!("--remap-path-prefix={flag}")))
        .collect();
    format!("build.rustflags=[{}]", flags.join(", "))
}

fn write_fmu(model: &ModelInfo, target: &Path, folder: &Path) -> Result<(), Error> {
    let name = model.name;
    let library_path = library_path(target, model.example);
    let library = fs::read(&library_path).map_err(|source| file_error(&library_path, source))?;
    let library = Library {
        platform: PLATFORM,
        bytes: &library,
    };
    let archive = package(&(model.describe)(), &[library], &[]);
    let archive = archive.map_err(|source| Error::Pack { name, source })?;
    let path = folder.join(format!("{name}.fmu"));
    if fs::read(&path).is_ok_and(|old| old == archive) {
        return Ok(());
    }
    // Renamed into place, so that no reader ever gets half an FMU.
    let draft = folder.join(format!(".{name}.fmu.new"));
    let written = fs::write(&draft, archive).and_then(|()| fs::rename(&draft, &path));
    written.map_err(|source| file_error(&path, source))
}

/// The shared library of an example, as it was last built in a target folder.
pub(crate) fn library_path(target: &Path, example: &str) -> PathBuf {
    use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
    let stem = example.replace('-', "_");
    let file = format!("{DLL_PREFIX}{stem}{DLL_SUFFIX}");
    target.join("fmu/examples").join(file)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Cursor, Read as _};

    use super::{MODELS, build_all, build_in};

    /// Two compilations in two places. The archive is tested in `fmu_kit::package`.
    #[test]
    #[ignore = "compiles all FMUs from nothing"]
    fn equal_sources_give_equal_bytes() {
        let here = build_all().unwrap_or_else(|error| panic!("{error}"));
        let elsewhere = tempfile::tempdir_in(crate::target()).unwrap();
        let there =
            build_in(elsewhere.path(), MODELS.iter()).unwrap_or_else(|error| panic!("{error}"));
        let differences = MODELS.iter().filter_map(|model| {
            let file = format!("{}.fmu", model.name);
            let [first, second] =
                [&here, &there].map(|folder| fs::read(folder.join(&file)).unwrap());
            (first != second).then(|| format!("{file}: {}", difference(&first, &second)))
        });
        let differences: Vec<String> = differences.collect();
        assert!(differences.is_empty(), "{}", differences.join("\n"));
    }

    /// Names and contents.
    fn entries(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
        let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
        let all = (0..archive.len()).map(|index| {
            let mut entry = archive.by_index(index).unwrap();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            (entry.name().unwrap().into_owned(), bytes)
        });
        all.collect()
    }

    /// Where two archives that are not equal begin to differ.
    fn difference(first: &[u8], second: &[u8]) -> String {
        let (first, second) = (entries(first), entries(second));
        let mut pairs = first.iter().zip(&second);
        let Some(((name, bytes), (other_name, others))) = pairs.find(|(one, other)| one != other)
        else {
            return format!("{} and {} entries", first.len(), second.len());
        };
        let equal = bytes
            .iter()
            .zip(others)
            .take_while(|(one, other)| one == other);
        let (at, lengths) = (equal.count(), [bytes.len(), others.len()]);
        format!("{name} and {other_name} from byte {at} on, of {lengths:?}")
    }
}
