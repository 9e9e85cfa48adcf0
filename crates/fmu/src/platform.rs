//! Names of platforms in the `binaries` folder, and endings of libraries.

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
