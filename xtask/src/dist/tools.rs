//! The tools of `cargo xtask dist` that neither Rust nor Debian has, at fixed versions, in `target/dist/tools`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{GLIBC, at, run_to_end, write};

/// From PyPI: zig as compiler and linker for C, and what builds and checks the wheel.
const REQUIREMENTS: &str = "xtask/src/dist/requirements.txt";

/// From crates.io.
const CARGO_TOOLS: [&str; 2] = ["cargo-bundle-licenses@5.0.0", "cargo-cyclonedx@0.5.9"];

/// Where the tools are.
pub(super) struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// Installs what is missing.
    pub(super) fn install(root: &Path, work: &Path) -> Result<Self, String> {
        let folder = work.join("tools");
        let tools = Self { folder };
        tools.install_python(root)?;
        tools.install_cargo_tools()?;
        tools.write_linker()?;
        Ok(tools)
    }

    /// Of the environment of Python.
    pub(super) fn python(&self) -> PathBuf {
        self.folder.join("python/bin/python")
    }

    /// Has a command find the tools, and compile and link C by zig.
    pub(super) fn find(&self, command: &mut Command) {
        let linker = self.linker();
        let own = [self.folder.join("bin"), self.folder.join("python/bin")];
        let given = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(own.into_iter().chain(env::split_paths(&given)));
        command
            .env("PATH", path.unwrap_or(given))
            .env("CC", &linker)
            .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", &linker);
    }

    fn linker(&self) -> PathBuf {
        self.folder.join("bin/cc-for-old-glibc")
    }

    fn install_python(&self, root: &Path) -> Result<(), String> {
        if !self.python().exists() {
            let folder = self.folder.join("python");
            run_to_end(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
        }
        let mut pip = Command::new(self.python());
        pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--requirement",
        ]);
        run_to_end(pip.arg(root.join(REQUIREMENTS)))
    }

    fn install_cargo_tools(&self) -> Result<(), String> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
        // Cargo leaves tools alone that are there with these versions.
        let mut install = Command::new(cargo);
        install.args(["install", "--locked", "--debug", "--quiet", "--root"]);
        install.arg(&self.folder).args(CARGO_TOOLS);
        install.env("CARGO_TARGET_DIR", self.folder.join("build"));
        crate::programs::forget_this_package(&mut install);
        run_to_end(&mut install)
    }

    /// zig, as rustc and the build scripts of crates call a C compiler. `cargo-zigbuild` takes out the arguments that zig does not know.
    fn write_linker(&self) -> Result<(), String> {
        let path = self.linker();
        let zig = self.folder.join("python/bin/cargo-zigbuild");
        let script = format!(
            "#!/bin/sh\nCARGO_ZIGBUILD_PYTHON_PATH='{}' exec '{}' zig cc -- -target x86_64-linux-gnu.{GLIBC} \"$@\"\n",
            self.python().display(),
            zig.display()
        );
        if fs::read_to_string(&path).is_ok_and(|old| old == script) {
            return Ok(());
        }
        write(&path, &script)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))
            .map_err(|error| at(&path, &error))
    }
}
