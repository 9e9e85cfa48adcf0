//! Reads an FMU or another package of files as an archive, trusting nothing in it (FMI 2.0.5 section 2.3).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufReader, Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use zip::{CompressionMethod, ZipArchive};

use crate::error::OpenError;
use crate::platform;
use crate::warning::Warning;

/// Limits above which an archive is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Entries in the archive.
    pub entries: u64,
    /// Bytes of all that is unpacked.
    pub total_size: u64,
    /// Bytes of `modelDescription.xml`.
    pub description_size: u64,
    /// How many times larger than the archive the unpacked files may be, once they exceed
    /// [`Limits::ratio_from`].
    pub ratio: u64,
    /// Bytes that may be unpacked whatever their ratio.
    pub ratio_from: u64,
    /// Folders within folders.
    pub depth: u64,
    /// Bytes that have to stay free on the file system to which the FMU is unpacked.
    pub free_space: u64,
}

impl Limits {
    /// Most bytes that may be unpacked of an archive of so many bytes.
    #[must_use]
    pub fn budget(&self, archive: u64) -> u64 {
        self.ratio_budget(archive).min(self.total_size)
    }

    fn ratio_budget(&self, archive: u64) -> u64 {
        archive.saturating_mul(self.ratio).max(self.ratio_from)
    }
}

impl Default for Limits {
    /// 20 000 entries, 8 GiB in all, 1 GiB of XML, ratio 100 beyond 64 MiB, 32 folders within each
    /// other, 64 MiB to stay free.
    fn default() -> Self {
        Self {
            entries: 20_000,
            total_size: 8 << 30,
            description_size: 1 << 30,
            ratio: 100,
            ratio_from: 64 << 20,
            depth: 32,
            free_space: 64 << 20,
        }
    }
}

const DESCRIPTION: &str = "modelDescription.xml";

/// An open archive whose entries have been checked.
pub(crate) struct Archive {
    path: PathBuf,
    file: File,
    zip: ZipArchive<BufReader<File>>,
    /// Cleaned names of files to their numbers in the archive.
    files: BTreeMap<String, usize>,
    limits: Limits,
    /// Bytes that may still be unpacked.
    budget: u64,
    /// The limit that the budget comes from.
    budget_name: &'static str,
}

impl Archive {
    pub(crate) fn open(
        path: &Path,
        limits: Limits,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self, OpenError> {
        let io = OpenError::io(path);
        let mut file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            let reason = "it is a directory".to_owned();
            return Err(OpenError::NotAnArchive {
                path: path.to_owned(),
                reason,
            });
        }
        let mut head = [0; 64];
        let length = file.read(&mut head).map_err(io)?;
        let same = file.try_clone().map_err(io)?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|error| {
            let reason = why_unreadable(&error, &head[..length]);
            OpenError::NotAnArchive {
                path: path.to_owned(),
                reason,
            }
        })?;
        let allowed = limits.ratio_budget(metadata.len());
        let mut archive = Self {
            path: path.to_owned(),
            file: same,
            zip,
            files: BTreeMap::new(),
            limits,
            budget: allowed.min(limits.total_size),
            budget_name: match allowed < limits.total_size {
                true if allowed == limits.ratio_from => "ratio_from",
                true => "ratio",
                false => "total_size",
            },
        };
        archive.check_entries(warnings)?;
        Ok(archive)
    }

    /// Refuses every entry that could do harm, even if it is never unpacked.
    fn check_entries(&mut self, warnings: &mut Vec<Warning>) -> Result<(), OpenError> {
        let count = self.zip.len();
        if count as u64 > self.limits.entries {
            let what = format!("{count} entries");
            return Err(self.limit(what, "entries", self.limits.entries));
        }
        if self.zip.has_duplicate_names() {
            let reason = "two entries have the same name".to_owned();
            return Err(OpenError::NotAnArchive {
                path: self.path.clone(),
                reason,
            });
        }
        let mut names = BTreeSet::new();
        let mut backslashes = 0;
        for index in 0..count {
            let entry = self.zip.by_index_data(index).map_err(|e| self.broken(&e))?;
            let raw = String::from_utf8_lossy(entry.name_raw()).into_owned();
            backslashes += usize::from(raw.contains('\\'));
            let name = clean_name(&raw).map_err(|reason| self.entry_error(&raw, reason))?;
            if entry.is_symlink() {
                return Err(self.entry_error(&raw, "is a symbolic link"));
            }
            if entry.encrypted() {
                return Err(self.entry_error(&raw, "is encrypted"));
            }
            if entry.is_dir() || raw.ends_with('\\') {
                continue;
            }
            let depth = name.matches('/').count() as u64;
            if depth > self.limits.depth {
                let what = format!("{name} lies {depth} folders deep");
                return Err(self.limit(what, "depth", self.limits.depth));
            }
            if !names.insert(name.clone()) {
                return Err(self.entry_error(&raw, "is there twice"));
            }
            self.files.insert(name, index);
        }
        if backslashes > 0 {
            let message = format!("{backslashes} entries of the archive have \\ for / in names");
            warnings.push(Warning::new(message));
        }
        Ok(())
    }

    /// Folders under `binaries`, in alphabetical order.
    pub(crate) fn platforms(&self) -> Vec<String> {
        let folders = self.files.keys().filter_map(|name| {
            let (platform, _) = name.strip_prefix("binaries/")?.split_once('/')?;
            Some(platform.to_owned())
        });
        folders.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Bytes that may still be unpacked.
    pub(crate) fn budget(&self) -> u64 {
        self.budget
    }

    /// Forgets what was unpacked since this was the budget, because it is gone.
    pub(crate) fn restore_budget(&mut self, budget: u64) {
        self.budget = budget;
    }

    /// Whether there is a file whose name passes `is_wanted`.
    pub(crate) fn has_file(&self, is_wanted: impl Fn(&str) -> bool) -> bool {
        self.files.keys().any(|name| is_wanted(name))
    }

    /// The bytes of `modelDescription.xml`.
    pub(crate) fn description(&mut self) -> Result<Vec<u8>, OpenError> {
        let Some(index) = self.files.get(DESCRIPTION).copied() else {
            return Err(self.no_description());
        };
        let mut bytes = Vec::new();
        let limit = self.limits.description_size;
        self.unpack(DESCRIPTION, index, ("description_size", limit), &mut bytes)?;
        Ok(bytes)
    }

    /// Bytes that [`Self::unpack_to`] writes, as the entries declare; `None` if resources are among them.
    pub(crate) fn size_without_resources(&mut self) -> Result<Option<u64>, OpenError> {
        let wanted = self.wanted(is_needed);
        if wanted.iter().any(|(name, _)| is_resource(name)) {
            return Ok(None);
        }
        self.declared_size(&wanted).map(Some)
    }

    /// Unpacks resources, the description and the binaries of this platform into a directory.
    pub(crate) fn unpack_to(&mut self, directory: &Path) -> Result<(), OpenError> {
        self.unpack_if(is_needed, directory)
    }

    /// Unpacks the files whose name passes `is_wanted` into a directory.
    pub(crate) fn unpack_if(
        &mut self,
        is_wanted: impl Fn(&str) -> bool,
        directory: &Path,
    ) -> Result<(), OpenError> {
        let wanted = self.wanted(is_wanted);
        self.check_free_space(&wanted, directory)?;
        for (name, index) in wanted {
            self.unpack_file(&name, index, &directory.join(&name))?;
        }
        Ok(())
    }

    fn wanted(&self, is_wanted: impl Fn(&str) -> bool) -> Vec<(String, usize)> {
        let wanted = self.files.iter().filter(|(name, _)| is_wanted(name));
        wanted.map(|(name, index)| (name.clone(), *index)).collect()
    }

    /// Bytes that the entries declare to have in all.
    fn declared_size(&mut self, wanted: &[(String, usize)]) -> Result<u64, OpenError> {
        let mut size: u64 = 0;
        for (_, index) in wanted {
            let entry = self
                .zip
                .by_index_data(*index)
                .map_err(|e| self.broken(&e))?;
            size = size.saturating_add(entry.size());
        }
        Ok(size)
    }

    /// Refuses to fill a disk up, by what the entries declare.
    fn check_free_space(
        &mut self,
        wanted: &[(String, usize)],
        directory: &Path,
    ) -> Result<(), OpenError> {
        let needed = self.declared_size(wanted)?;
        match free_space(directory) {
            Some(free) if needed.saturating_add(self.limits.free_space) > free => {
                Err(OpenError::NoSpace {
                    path: self.path.clone(),
                    directory: directory.parent().unwrap_or(directory).to_owned(),
                    needed,
                    free,
                    kept: self.limits.free_space,
                })
            }
            _ => Ok(()),
        }
    }

    /// A number of the file's content that no other content has (SHA-256, in hexadecimal).
    pub(crate) fn digest(&self) -> Result<String, OpenError> {
        let io = OpenError::io(&self.path);
        // The place in the file is shared with `zip`, which looks for its own before it reads.
        let mut file = self.file.try_clone().map_err(io)?;
        file.rewind().map_err(io)?;
        let mut hash = Sha256::new();
        let mut part = vec![0; 1 << 16];
        loop {
            match file.read(&mut part).map_err(io)? {
                0 => break,
                length => hash.update(&part[..length]),
            }
        }
        let hex = hash
            .finalize()
            .into_iter()
            .map(|byte| format!("{byte:02x}"));
        Ok(hex.collect())
    }

    fn unpack_file(&mut self, name: &str, index: usize, target: &Path) -> Result<(), OpenError> {
        let io = OpenError::io(target);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent).map_err(io)?;
        }
        let mut file = File::create_new(target).map_err(io)?;
        let limit = ("total_size", self.limits.total_size);
        self.unpack(name, index, limit, &mut file)?;
        // The time of the entry, not of later writes.
        file.set_modified(self.time_of(index)).map_err(io)?;
        self.set_mode(index, &file).map_err(io)
    }

    /// When an entry was last modified, as if its clock had shown universal time; 1980, the earliest such time, if it
    /// has none.
    fn time_of(&self, index: usize) -> SystemTime {
        let entry = self.zip.by_index_data(index).ok();
        let time = entry.and_then(|entry| entry.last_modified());
        let time = time.unwrap_or_default();
        let (month, day) = (u64::from(time.month()), u64::from(time.day()));
        // Days since 1970 in the Gregorian calendar, whose years begin in March here.
        let year = u64::from(time.year()) - u64::from(month < 3);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day.max(1) - 1;
        let days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year - 719_468;
        let hours = 24 * days + u64::from(time.hour());
        let seconds = 3600 * hours + 60 * u64::from(time.minute()) + u64::from(time.second());
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    /// Keeps the permission to execute, which tools in `resources` need.
    #[cfg(unix)]
    fn set_mode(&self, index: usize, file: &File) -> std::io::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let mode = self
            .zip
            .by_index_data(index)
            .ok()
            .and_then(|entry| entry.unix_mode());
        if mode.is_some_and(|mode| mode & 0o111 != 0) {
            file.set_permissions(std::fs::Permissions::from_mode(0o755))?;
        }
        Ok(())
    }

    #[cfg(not(unix))]
    fn set_mode(&self, _index: usize, _file: &File) -> std::io::Result<()> {
        Ok(())
    }

    /// Unpacks one entry, counting the bytes that come out instead of its declared size.
    fn unpack(
        &mut self,
        name: &str,
        index: usize,
        (limit_name, limit): (&'static str, u64),
        target: &mut dyn Write,
    ) -> Result<(), OpenError> {
        let allowed = limit.min(self.budget);
        let path = self.path.clone();
        let entry_error = |reason: String| OpenError::Entry {
            path: path.clone(),
            entry: name.to_owned(),
            reason,
        };
        let entry = self
            .zip
            .by_index(index)
            .map_err(|error| entry_error(error.to_string()))?;
        if !matches!(
            entry.compression(),
            CompressionMethod::Stored | CompressionMethod::Deflated
        ) {
            return Err(entry_error(
                "is compressed by a method that the standard forbids".to_owned(),
            ));
        }
        let mut limited = entry.take(allowed.saturating_add(1));
        let written = std::io::copy(&mut limited, target)
            .map_err(|error| entry_error(format!("cannot be unpacked: {error}")))?;
        drop(limited);
        if written > allowed {
            let what = format!("{name} and what was unpacked before it grow too large");
            let limit_name = if limit <= self.budget {
                limit_name
            } else {
                self.budget_name
            };
            return Err(self.limit(what, limit_name, allowed));
        }
        self.budget -= written;
        Ok(())
    }

    fn no_description(&self) -> OpenError {
        let misplaced = self.files.keys().find(|name| {
            let file = name.rsplit('/').next().unwrap_or(name);
            file.eq_ignore_ascii_case(DESCRIPTION)
        });
        let found = match misplaced {
            Some(name) => format!("; there is {name:?}"),
            None => {
                let first: Vec<&str> = self.files.keys().take(5).map(String::as_str).collect();
                format!(
                    "; it holds {} files: {}",
                    self.files.len(),
                    first.join(", ")
                )
            }
        };
        OpenError::NoDescription {
            path: self.path.clone(),
            found,
        }
    }

    fn limit(&self, what: String, name: &'static str, limit: u64) -> OpenError {
        OpenError::Limit {
            path: self.path.clone(),
            what,
            name,
            limit,
        }
    }

    fn entry_error(&self, entry: &str, reason: &str) -> OpenError {
        let (path, entry) = (self.path.clone(), entry.to_owned());
        OpenError::Entry {
            path,
            entry,
            reason: reason.to_owned(),
        }
    }

    fn broken(&self, error: &zip::result::ZipError) -> OpenError {
        OpenError::NotAnArchive {
            path: self.path.clone(),
            reason: error.to_string(),
        }
    }
}

/// Free bytes in the file system of `directory`, if the system reports them.
#[cfg(unix)]
fn free_space(directory: &Path) -> Option<u64> {
    let system = rustix::fs::statvfs(directory).ok()?;
    Some(system.f_bavail.saturating_mul(system.f_frsize))
}

#[cfg(not(unix))]
fn free_space(_directory: &Path) -> Option<u64> {
    None
}

/// Whether an FMU may look for the file on disk.
fn is_needed(name: &str) -> bool {
    name == DESCRIPTION
        || is_resource(name)
        || platform::FOLDERS.iter().any(|folder| {
            name.strip_prefix("binaries/")
                .and_then(|rest| rest.strip_prefix(folder))
                .is_some_and(|rest| rest.starts_with('/'))
        })
}

/// Whether the file is among those beside which FMUs may write files of any size.
fn is_resource(name: &str) -> bool {
    name.starts_with("resources/") || name.starts_with("extra/")
}

/// The name with `/` between its parts, or why it is not to be trusted.
pub(crate) fn clean_name(raw: &str) -> Result<String, &'static str> {
    let name = raw.replace('\\', "/");
    let name = name.strip_suffix('/').unwrap_or(&name);
    if name.starts_with('/') {
        return Err("is an absolute path");
    }
    if name.as_bytes().get(1) == Some(&b':') {
        return Err("is a path with a drive");
    }
    if name.chars().any(char::is_control) {
        return Err("has control characters in its name");
    }
    if name == "." {
        // The root itself, which some tools pack as well.
        return Ok(name.to_owned());
    }
    let name = name.strip_prefix("./").unwrap_or(name);
    if name.split('/').any(|part| part == "..") {
        return Err("leads out of the archive");
    }
    if name.split('/').any(|part| part.is_empty() || part == ".") {
        return Err("has an empty part in its name");
    }
    Ok(name.to_owned())
}

/// Why a file that begins so is not a readable ZIP archive, in words for users.
#[must_use]
pub fn why_unreadable(error: &zip::result::ZipError, head: &[u8]) -> String {
    if head.is_empty() {
        return "the file is empty".to_owned();
    }
    if head.starts_with(b"version https://git-lfs") {
        return "it is a git-lfs pointer; fetch the file itself with `git lfs pull`".to_owned();
    }
    // If the library finds no end, it uses words of the format, which no user knows.
    let is_without_end = error.to_string().contains("EOCD");
    match (is_without_end, head.starts_with(b"PK")) {
        (true, true) => "its end is missing; the file may be truncated".to_owned(),
        (true, false) => "it does not begin as one, and has no list of files at its end".to_owned(),
        (false, true) => format!("{error}; the file may be truncated"),
        (false, false) => error.to_string(),
    }
}
