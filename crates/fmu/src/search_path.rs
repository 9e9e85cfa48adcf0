//! The search of the dynamic loader for a shared library (ld.so(8)).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::elf::{self, RunPaths};

/// Directories in the order in which they are looked at.
#[derive(Debug)]
pub(crate) struct SearchPath {
    /// Named by the user.
    library_path: Vec<PathBuf>,
    /// `LD_LIBRARY_PATH`.
    environment: Vec<PathBuf>,
    /// The system's list of its libraries.
    cache: BTreeMap<String, Vec<PathBuf>>,
    /// Beside the FMU's library.
    folder: PathBuf,
}

/// Directories that need no mention.
const SYSTEM: &[&str] = &["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

const CACHE: &str = "/etc/ld.so.cache";

impl SearchPath {
    pub(crate) fn new(library_path: &[PathBuf], folder: &Path) -> Self {
        let environment = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
        Self {
            library_path: library_path.to_vec(),
            environment: std::env::split_paths(&environment)
                .filter(|directory| !directory.as_os_str().is_empty())
                .collect(),
            cache: system_libraries(),
            folder: folder.to_owned(),
        }
    }

    /// Directories that the user can change.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let chosen = self.library_path.iter().chain(&self.environment);
        chosen.cloned().collect()
    }

    /// Whether the file came with the FMU, or from a directory that the user named.
    pub(crate) fn is_own(&self, file: &Path) -> bool {
        let own = std::iter::once(&self.folder).chain(&self.library_path);
        own.into_iter().any(|directory| file.starts_with(directory))
    }

    /// The library `name` that the library `by` would get.
    pub(crate) fn find(&self, name: &str, by: &Path, run_paths: &RunPaths) -> Option<PathBuf> {
        if name.contains('/') {
            return Some(PathBuf::from(name)).filter(|path| is_usable(path));
        }
        let origin = by.parent().unwrap_or(Path::new(""));
        let rpath = match run_paths.runpath.as_str() {
            "" => run_paths.rpath.as_str(),
            _ => "",
        };
        let before_cache = self
            .library_path
            .iter()
            .cloned()
            .chain(expanded(rpath, origin))
            .chain(self.environment.iter().cloned())
            .chain(expanded(&run_paths.runpath, origin))
            .map(|directory| directory.join(name));
        let after_cache = SYSTEM
            .iter()
            .map(PathBuf::from)
            .chain(std::iter::once(self.folder.clone()))
            .map(|directory| directory.join(name));
        before_cache
            .chain(self.cache.get(name).into_iter().flatten().cloned())
            .chain(after_cache)
            .find(|path| is_usable(path))
    }
}

/// The system's list of its libraries.
pub(crate) fn system_libraries() -> BTreeMap<String, Vec<PathBuf>> {
    let cache = std::fs::read(CACHE).unwrap_or_default();
    read_cache(&cache).unwrap_or_default()
}

/// The directories of an `RPATH` or `RUNPATH`.
fn expanded(paths: &str, origin: &Path) -> Vec<PathBuf> {
    let origin = origin.to_string_lossy();
    let expand = |path: &str| {
        let path = path
            .replace("${ORIGIN}", &origin)
            .replace("$ORIGIN", &origin);
        PathBuf::from(path)
    };
    let paths = paths.split(':').filter(|path| !path.is_empty());
    paths.map(expand).collect()
}

/// Whether this is a library for this machine: the dynamic loader passes over others as well.
pub(crate) fn is_usable(path: &Path) -> bool {
    path.is_file() && matches!(elf::check_file(path), Ok(Ok(())))
}

/// The names and paths of `/etc/ld.so.cache` (glibc, `dl-cache.h`, since version 2.2), for all
/// machines that the system has libraries for.
fn read_cache(bytes: &[u8]) -> Option<BTreeMap<String, Vec<PathBuf>>> {
    const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
    const HEADER: usize = 48;
    const ENTRY: usize = 24;
    // Older systems put a list of an older format before it.
    let start = bytes.windows(MAGIC.len()).position(|part| part == MAGIC)?;
    let bytes = &bytes[start..];
    let number = |at: usize| {
        let field = bytes.get(at..at.checked_add(4)?)?;
        Some(u32::from_ne_bytes(field.try_into().ok()?) as usize)
    };
    let text = |at: usize| {
        let rest = bytes.get(at..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    };
    let mut cache: BTreeMap<String, Vec<PathBuf>> = BTreeMap::new();
    for index in 0..number(MAGIC.len())? {
        let entry = HEADER.checked_add(index.checked_mul(ENTRY)?)?;
        let (name, path) = (text(number(entry + 4)?)?, text(number(entry + 8)?)?);
        cache.entry(name).or_default().push(path.into());
    }
    Some(cache)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c05_origin_is_the_directory_of_the_library() {
        let origin = Path::new("/fmu/binaries");
        let found = expanded("$ORIGIN:${ORIGIN}/lib::/opt", origin);
        let expected = ["/fmu/binaries", "/fmu/binaries/lib", "/opt"];
        assert_eq!(found, expected.map(PathBuf::from));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn r19_system_library_is_found() {
        let search = SearchPath::new(&[], Path::new("/nowhere"));
        let found = search.find("libm.so.6", Path::new(""), &RunPaths::default());
        assert!(found.is_some());
        let found = search.find("libnot-there.so.9", Path::new(""), &RunPaths::default());
        assert_eq!(found, None);
    }

    #[test]
    fn no_cut_of_a_cache_panics() {
        let mut bytes = b"glibc-ld.so.cache1.1".to_vec();
        bytes.extend([2, 0, 0, 0]);
        bytes.resize(48, 0);
        bytes.extend([3, 3, 0, 0, 96, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        bytes.resize(100, b'x');
        for end in 0..bytes.len() {
            let _ = read_cache(&bytes[..end]);
        }
        assert_eq!(read_cache(b""), None);
    }
}
