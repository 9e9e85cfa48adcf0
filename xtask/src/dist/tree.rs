//! What is installed below one folder, `/usr` or any other: programs, manual pages, completions, the library for C, examples with their FMUs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::programs::Built;
use super::{Dist, at, empty_folder, read, run_to_end, text, write};

/// Shells, and where each looks for completions.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/gyrator"),
    ("zsh", "share/zsh/vendor-completions/_gyrator"),
    ("fish", "share/fish/vendor_completions.d/gyrator.fish"),
];

/// An example that is a part of the repository: its Cargo.toml names the crates beside it.
const NEEDS_THE_REPOSITORY: &str = "examples/rust-bench/";

/// Lays the tree anew; returns its root.
pub(super) fn lay(dist: &Dist, built: &Built, licences: &Path) -> Result<PathBuf, String> {
    let tree = dist.work.join("tree");
    empty_folder(&tree)?;
    for program in ["gyrator", "gyrator-benchmark"] {
        copy(&built.program(program), &tree.join("bin").join(program))?;
    }
    library_for_c(dist, &tree)?;
    run_to_end(
        dist.command(built.gyrator())
            .arg("man")
            .arg(tree.join("share/man/man1")),
    )?;
    for (shell, place) in COMPLETIONS {
        let completions = text(dist.command(built.gyrator()).args(["completions", shell]))?;
        let place = tree.join(place);
        folder_of(&place)?;
        write(&place, &format!("{completions}\n"))?;
    }
    examples(dist, built, &tree.join("share/gyrator"))?;
    documents(dist, licences, &tree.join("share/doc/gyrator"))?;
    set_modes(&tree)?;
    Ok(tree)
}

/// The shared library. Who links gyrator statically builds it with the compiler of the program: `crates/capi/install`.
fn library_for_c(dist: &Dist, tree: &Path) -> Result<(), String> {
    let script = dist.root.join("crates/capi/install");
    // With `workspace-hack`, of the crates that the program is made of.
    let options = ["--release", "--package", "workspace-hack"];
    run_to_end(dist.command(script).arg(tree).args(options))?;
    let archive = tree.join("lib/libgyrator_c.a");
    fs::remove_file(&archive).map_err(|error| at(&archive, &error))
}

/// The examples, which find the FMUs one folder above.
fn examples(dist: &Dist, built: &Built, folder: &Path) -> Result<(), String> {
    for file in tracked(dist, "examples")? {
        if !file.starts_with(NEEDS_THE_REPOSITORY) {
            copy_text(&dist.root.join(&file), &folder.join(&file))?;
        }
    }
    for file in tracked(dist, "crates/capi/examples")? {
        let name = file.rsplit('/').next().unwrap_or(&file);
        copy(
            &dist.root.join(&file),
            &folder.join("examples/c").join(name),
        )?;
    }
    let fmus = fs::read_dir(&built.fmus).map_err(|error| at(&built.fmus, &error))?;
    for fmu in fmus.filter_map(Result::ok).map(|entry| entry.path()) {
        if let (Some(name), Some("fmu")) =
            (fmu.file_name(), fmu.extension().and_then(|it| it.to_str()))
        {
            copy(&fmu, &folder.join("fmus").join(name))?;
        }
    }
    Ok(())
}

fn documents(dist: &Dist, licences: &Path, folder: &Path) -> Result<(), String> {
    let texts = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"].map(str::to_owned);
    for file in texts.into_iter().chain(tracked(dist, "docs")?) {
        copy(&dist.root.join(&file), &folder.join(&file))?;
    }
    copy(licences, &folder.join("copyright"))
}

/// The files below a folder of the repository.
fn tracked(dist: &Dist, folder: &str) -> Result<Vec<String>, String> {
    let listed = text(
        Command::new("git")
            .args(["ls-files", folder])
            .current_dir(&dist.root),
    )?;
    Ok(listed.lines().map(str::to_owned).collect())
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    folder_of(to)?;
    fs::copy(from, to)
        .map(|_| ())
        .map_err(|error| at(from, &error))
}

/// Copies an example, with the place of the FMUs in it.
fn copy_text(from: &Path, to: &Path) -> Result<(), String> {
    let is_text = |end: &str| matches!(end, "toml" | "md");
    if !from
        .extension()
        .and_then(|end| end.to_str())
        .is_some_and(is_text)
    {
        return copy(from, to);
    }
    folder_of(to)?;
    write(to, &read(from)?.replace("target/fmus", "fmus"))
}

fn folder_of(file: &Path) -> Result<(), String> {
    let folder = file.parent().unwrap_or(file);
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))
}

/// Rights that do not depend on the rights of whoever builds.
fn set_modes(place: &Path) -> Result<(), String> {
    let metadata = fs::metadata(place).map_err(|error| at(place, &error))?;
    let is_executable = metadata.is_dir() || metadata.permissions().mode() & 0o100 != 0;
    let mode = if is_executable { 0o755 } else { 0o644 };
    fs::set_permissions(place, fs::Permissions::from_mode(mode))
        .map_err(|error| at(place, &error))?;
    if metadata.is_dir() {
        for entry in fs::read_dir(place).map_err(|error| at(place, &error))? {
            set_modes(&entry.map_err(|error| at(place, &error))?.path())?;
        }
    }
    Ok(())
}
