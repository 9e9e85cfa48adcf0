//! `cargo xtask dist`: the files that people install, made of the commit that is checked out.
//!
//! Equal commits give equal bytes, in any folder: sources and tools have fixed versions, times are the commit's, and no file
//! names a folder of this machine.
//!
//! It builds once, in `target/dist/build`, lays one tree of what is installed below `/usr` or elsewhere, and packs it
//! twice; a file here for each kind.
//!
//! | for | tool | why |
//! |---|---|---|
//! | an old glibc | `zig cc` as C compiler and linker (PyPI `ziglang`, by `cargo-zigbuild`, which takes out arguments that zig does not know) | it has the symbols of each glibc; a chroot with glibc 2.28 would be a Debian without a mirror. The floor in names and notes is read from the symbols of the built files |
//! | archive | GNU tar and gzip, with sorted names, one owner, one time | xz is not in a minimal Debian |
//! | wheel | the backend of `./python`: maturin; `auditwheel show` | maturin checks the extension module alone, auditwheel the program as well |
//! | SBOM | `cargo-cyclonedx` | CycloneDX's own, and the only one of two that knows `SOURCE_DATE_EPOCH`: `cargo-sbom` writes the time and a random number. It writes beside each manifest, so it runs in a clone |
//!
//! The folders of the machine become `/gyrator` and `/cargo` in all that is compiled (`--remap-path-prefix`), and a
//! file that names one all the same is an error.

mod checksums;
mod contents;
mod deb;
mod glibc;
mod licences;
mod notes;
mod programs;
mod sbom;
mod tarball;
mod tools;
mod tree;
mod wheel;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tools::Tools;

/// The oldest glibc that the files are linked against.
const GLIBC: &str = "2.28";

/// What all files have in common.
struct Dist {
    /// Of the repository.
    root: PathBuf,
    /// For all that is made on the way: `target/dist`.
    work: PathBuf,
    /// For the files themselves: `target/dist/files`.
    files: PathBuf,
    /// `version` of `[workspace.package]`.
    version: String,
    /// The first digits of the commit's hash.
    commit: String,
    /// When the commit was made, in seconds since 1970.
    epoch: String,
    tools: Tools,
}

/// Makes all files; returns their folder.
///
/// # Errors
/// When the work tree has changes, a tool is missing or fails, or a file does not hold what it is to hold.
pub fn run(root: &Path, target: &Path) -> Result<PathBuf, String> {
    let dist = Dist::new(root, target)?;
    let built = programs::build(&dist)?;
    let licences = licences::write(&dist)?;
    let tree = tree::lay(&dist, &built, &licences)?;
    contents::check(&dist, &tree)?;
    let floor = glibc::needed_by(&[&tree, &built.fmu_libraries])?;
    let mut made = vec![
        tarball::pack(&dist, &tree, &floor)?,
        deb::pack(&dist, &tree, &floor)?,
        wheel::build(&dist, &licences)?,
    ];
    made.extend(sbom::write(&dist)?);
    notes::write(&dist, &floor, &made)?;
    checksums::write(&dist)?;
    Ok(dist.files)
}

impl Dist {
    fn new(root: &Path, target: &Path) -> Result<Self, String> {
        let git = |arguments: &[&str]| text(Command::new("git").args(arguments).current_dir(root));
        let changes = git(&["status", "--porcelain"])?;
        if !changes.is_empty() {
            return Err(format!(
                "these files are not committed, and the files to install name a commit:\n{changes}\nCommit them, or run `git stash --include-untracked`."
            ));
        }
        let work = target.join("dist");
        let files = work.join("files");
        empty_folder(&files)?;
        Ok(Self {
            version: version(root)?,
            commit: git(&["rev-parse", "--short=12", "HEAD"])?,
            epoch: git(&["log", "-1", "--format=%ct"])?,
            tools: Tools::install(root, &work)?,
            root: root.to_owned(),
            work,
            files,
        })
    }

    /// A command that finds the tools, links against [`GLIBC`] and keeps the places of this machine out of what it builds.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        self.tools.find(&mut command);
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", self.build())
            .env("CARGO_INCREMENTAL", "0")
            .env_remove("CARGO_BUILD_TARGET")
            .env_remove("RUSTFLAGS")
            .env("CARGO_ENCODED_RUSTFLAGS", self.remapped().join("\u{1f}"))
            .env("GYRATOR_COMMIT", &self.commit)
            .env("SOURCE_DATE_EPOCH", &self.epoch);
        crate::programs::forget_this_package(&mut command);
        command
    }

    /// Cargo's target folder: other flags than plain builds have.
    fn build(&self) -> PathBuf {
        self.work.join("build")
    }

    /// Folders of this machine, each with what stands for it. Of two that fit, rustc takes the last.
    fn remapped(&self) -> Vec<String> {
        let places = [
            (Some(self.root.clone()), "/gyrator"),
            (Some(self.build()), "/gyrator/target"),
            (cargo_home(), "/cargo"),
        ];
        let places = places
            .into_iter()
            .filter_map(|(folder, name)| Some((folder?, name)));
        places
            .map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()))
            .collect()
    }
}

/// Where Cargo keeps the sources of dependencies.
fn cargo_home() -> Option<PathBuf> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}

/// The version of the workspace.
fn version(root: &Path) -> Result<String, String> {
    let manifest: toml::Table = read(&root.join("Cargo.toml"))?
        .parse()
        .map_err(|error| format!("Cargo.toml: {error}"))?;
    let version = manifest
        .get("workspace")
        .and_then(|table| table.get("package")?.get("version")?.as_str());
    Ok(version
        .ok_or("Cargo.toml: [workspace.package] has no version")?
        .to_owned())
}

/// Runs a command to its end.
fn run_to_end(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|error| not_started(command, &error))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{}: {status}", line(command)))
    }
}

/// Runs a command to its end; what it prints, without the last line break.
fn text(command: &mut Command) -> Result<String, String> {
    let output = command
        .output()
        .map_err(|error| not_started(command, &error))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}\n{reason}", line(command), output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

fn not_started(command: &Command, error: &io::Error) -> String {
    let program = command.get_program().display();
    format!(
        "{program} does not start: {error}. docs/install.md lists what `cargo xtask dist` needs."
    )
}

/// A command as people write it.
fn line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| at(path, &error))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn empty_folder(folder: &Path) -> Result<(), String> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(folder, &error)),
        _ => {}
    }
    fs::create_dir_all(folder).map_err(|error| at(folder, &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One place has it: the packages take theirs from the workspace, and the wheel takes the crate's.
    #[test]
    fn all_packages_have_the_version_of_the_workspace() {
        let root = crate::root();
        let version = version(&root).unwrap();
        let listed = Command::new("git")
            .args(["ls-files", "*Cargo.toml"])
            .current_dir(&root)
            .output();
        let listed = String::from_utf8(listed.unwrap().stdout).unwrap();
        let ours = |path: &&str| {
            ["crates/", "fmus/", "python/", "tests/Cargo.toml", "xtask/"]
                .iter()
                .any(|folder| path.starts_with(folder))
        };
        let mut seen = 0;
        for path in listed.lines().filter(ours) {
            let manifest: toml::Table = read(&root.join(path)).unwrap().parse().unwrap();
            let own = &manifest["package"]["version"];
            assert_eq!(
                own.get("workspace").and_then(toml::Value::as_bool),
                Some(true),
                "{path}"
            );
            seen += 1;
        }
        assert!(seen > 20, "{seen} packages");
        let notes = read(&root.join("CHANGELOG.md")).unwrap();
        assert!(
            notes.contains(&format!("\n## {version}\n")),
            "CHANGELOG.md has no section of {version}"
        );
        let package: toml::Table = read(&root.join("python/pyproject.toml"))
            .unwrap()
            .parse()
            .unwrap();
        assert!(package["project"].get("version").is_none());
    }

    #[test]
    fn a_command_that_is_missing_or_fails_is_named() {
        let missing = run_to_end(&mut Command::new("no-such-program-here")).unwrap_err();
        assert!(
            missing.starts_with("no-such-program-here does not start"),
            "{missing}"
        );
        let failed = text(Command::new("sh").args(["-c", "echo why >&2; exit 3"])).unwrap_err();
        assert!(
            failed.contains("exit status: 3") && failed.contains("why"),
            "{failed}"
        );
    }
}
