//! A result file that has another name until it is whole.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use crate::sink::RecordError;

/// The result file `NAME` while it is written: it is called `NAME.part`, is locked against other
/// runs, and gets its name in the end. Anything but a plain file, such as a pipe or a device, is
/// written by its own name.
///
/// Rows may be appended through any copy of [`file`](Self::file). Other programs can read them there.
#[derive(Debug)]
pub struct PartFile {
    /// As it was given, for messages.
    shown: PathBuf,
    name: PathBuf,
    part: PathBuf,
    file: File,
    is_plain: bool,
}

impl PartFile {
    /// Creates the file, empty and locked until all copies of it are closed. An older file `NAME` is
    /// removed: it must not be mistaken for the result of a run that dies.
    ///
    /// # Errors
    ///
    /// [`RecordError::Create`]; [`RecordError::InUse`] where another run writes the same result.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let fail = |source: io::Error| RecordError::Create {
            path: path.to_owned(),
            reason: why_not_created(path, &source),
            source,
        };
        // FMUs may change the working directory. A link stays one, to the new file.
        let name = path.canonicalize().or_else(|_| std::path::absolute(path));
        let name = name.map_err(fail)?;
        let is_plain = name.metadata().map_or(true, |found| found.is_file());
        if !is_plain {
            let file = File::create(&name).map_err(fail)?;
            let part = name.clone();
            return Ok(Self::new(path, name, part, file, is_plain));
        }
        let part = with_ending(&name, ".part");
        let (file, is_locked) = open_part(&part).map_err(fail)?;
        if !is_locked {
            return Err(RecordError::InUse {
                path: path.to_owned(),
            });
        }
        file.set_len(0).map_err(fail)?;
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fail(error)),
            _ => Ok(Self::new(path, name, part, file, is_plain)),
        }
    }

    /// The file that another process has created as `path` and could not finish.
    ///
    /// # Errors
    ///
    /// The error of the operating system, if the folder no longer exists.
    pub fn adopt(path: &Path, file: File) -> io::Result<Self> {
        let name = path.canonicalize().or_else(|_| std::path::absolute(path))?;
        let is_plain = file.metadata()?.is_file();
        let part = if is_plain {
            with_ending(&name, ".part")
        } else {
            name.clone()
        };
        Ok(Self::new(path, name, part, file, is_plain))
    }

    fn new(shown: &Path, name: PathBuf, part: PathBuf, file: File, is_plain: bool) -> Self {
        Self {
            shown: shown.to_owned(),
            name,
            part,
            file,
            is_plain,
        }
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Removes the file without giving it its name.
    pub fn discard(&self) {
        if self.is_plain && is_at(&self.file, &self.part) {
            // A file that stays is empty, and no result.
            let _ = std::fs::remove_file(&self.part);
        }
    }

    /// Gives the file its name, if it does not have it. A file that was deleted or replaced meanwhile
    /// is written again; the returned text says so.
    ///
    /// # Errors
    ///
    /// [`RecordError::Changed`] where the file does not have `length` bytes, after it got its name;
    /// [`RecordError::NotNamed`] where it cannot get it, for example because another program has made
    /// a file of that name meanwhile, or its folder is gone.
    pub fn publish(&self, length: Option<u64>) -> Result<Option<String>, RecordError> {
        if !self.is_plain {
            return Ok(None);
        }
        let warning = self.give_name()?;
        let found = self.file.metadata().map_or(0, |file| file.len());
        match length.filter(|written| *written != found) {
            Some(written) => Err(RecordError::Changed {
                path: self.shown.clone(),
                found,
                written,
            }),
            None => Ok(warning),
        }
    }

    fn give_name(&self) -> Result<Option<String>, RecordError> {
        if is_at(&self.file, &self.name) {
            return Ok(None);
        }
        if is_at(&self.file, &self.part) {
            return match rename_if_free(&self.part, &self.name) {
                Ok(()) => Ok(None),
                Err(source) => Err(self.not_named(source, Some(&self.part))),
            };
        }
        if self.is_written_again() {
            return Ok(None);
        }
        self.write_again()
            .map_err(|source| self.not_named(source, None))?;
        let name = self.shown.display();
        Ok(Some(format!(
            "{name}.part was deleted or replaced while the run went on; {name} is written again"
        )))
    }

    fn not_named(&self, source: io::Error, rows_path: Option<&Path>) -> RecordError {
        let place = match rows_path {
            Some(_) => format!("all rows are kept in {}.part", self.shown.display()),
            None => "its rows cannot be read any more".to_owned(),
        };
        RecordError::NotNamed {
            path: self.shown.clone(),
            place,
            source,
        }
    }

    /// Whether the file that has the name is a copy of this one: another process may have written it
    /// again.
    fn is_written_again(&self) -> bool {
        let mut own = &self.file;
        let Ok(other) = File::open(&self.name) else {
            return false;
        };
        let length = |file: &File| file.metadata().map(|file| file.len()).ok();
        if length(own) != length(&other) || own.rewind().is_err() {
            return false;
        }
        let mut others = BufReader::new(other).bytes();
        let mut owns = BufReader::new(own).bytes();
        loop {
            match (owns.next(), others.next()) {
                (None, None) => return true,
                (Some(Ok(one)), Some(Ok(other))) if one == other => {}
                _ => return false,
            }
        }
    }

    /// Copies the file, which has no name any more, to its name.
    fn write_again(&self) -> io::Result<()> {
        let mut source = &self.file;
        // Nothing is written any more, and what is would be appended.
        source.rewind()?;
        let mut copy = File::create_new(&self.name)?;
        let copied = io::copy(&mut source, &mut copy).and_then(|_| copy.sync_data());
        if copied.is_err() {
            let _ = std::fs::remove_file(&self.name);
        }
        copied
    }
}

/// Writes a file that is whole or, where that fails, is not changed: under its name with `.part` after
/// it until then. Anything but a plain file is written in place.
///
/// # Errors
///
/// An error of `write` or the operating system; the unfinished file is then removed.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let name = path.canonicalize().or_else(|_| std::path::absolute(path))?;
    if name.metadata().is_ok_and(|found| !found.is_file()) {
        return write(&mut File::create(&name)?);
    }
    let part = with_ending(&name, ".part");
    let (mut file, is_locked) = open_part(&part)?;
    if !is_locked {
        return Err(io::Error::other("another program is writing it"));
    }
    file.set_len(0)?;
    let written = write(&mut file)
        .and_then(|()| file.sync_data())
        .and_then(|()| std::fs::rename(&part, &name));
    if written.is_err() {
        let _ = std::fs::remove_file(&part);
    }
    written
}

/// Opens an unfinished file, and says whether no other program has it.
fn open_part(part: &Path) -> io::Result<(File, bool)> {
    loop {
        let mut options = OpenOptions::new();
        let file = options.create(true).read(true).append(true).open(part)?;
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            return Ok((file, false));
        }
        // It has the lock, or there are none on this file system. Another program may have given the
        // file its name since it was opened.
        if is_at(&file, part) {
            return Ok((file, true));
        }
    }
}

/// The file of rows, as CSV, for a result that can be made of them in the end only: that of
/// `out.parquet` is `out.parquet.csv`.
#[must_use]
pub fn rows_path(path: &Path) -> PathBuf {
    with_ending(path, ".csv")
}

/// Renames a file, but replaces none.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => std::fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // File systems without links.
        Err(_) if !to.exists() => std::fs::rename(from, to),
        Err(error) => Err(error),
    }
}

/// Whether `path` leads to this open file.
fn is_at(file: &File, path: &Path) -> bool {
    let (here, there) = (file.metadata(), path.metadata());
    here.is_ok_and(|here| there.is_ok_and(|there| is_same(&here, &there)))
}

/// Whether both are of one file, by device and inode; where there are no such things, assumes it.
#[must_use]
pub fn is_same(one: &Metadata, other: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = (one, other);
        true
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn why_not_created(path: &Path, error: &io::Error) -> String {
    let missing = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.exists());
    match missing {
        Some(folder) => format!("the folder {} does not exist", folder.display()),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{read, write};
    use std::io::Write as _;

    use super::*;

    struct Bench {
        folder: tempfile::TempDir,
    }

    impl Bench {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { folder }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.folder.path().join(name)
        }

        fn create(&self) -> PartFile {
            let file = PartFile::create(&self.path("out.csv")).unwrap();
            file.file().write_all(b"time\n0\n").unwrap();
            file
        }

        fn files(&self) -> Vec<String> {
            let entries = std::fs::read_dir(self.folder.path()).unwrap();
            let name = |entry: io::Result<std::fs::DirEntry>| entry.unwrap().file_name();
            let mut names: Vec<_> = entries
                .map(|entry| name(entry).into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    #[test]
    fn r49_a_result_has_its_name_when_it_is_whole() {
        let bench = Bench::new();
        write(bench.path("out.csv"), "of an older run").unwrap();
        let file = bench.create();
        assert_eq!(bench.files(), ["out.csv.part"], "the older one is gone");
        assert_eq!(read(bench.path("out.csv.part")).unwrap(), b"time\n0\n");
        assert_eq!(file.publish(Some(7)).unwrap(), None);
        assert_eq!(file.publish(Some(7)).unwrap(), None, "it has it");
        assert_eq!(bench.files(), ["out.csv"]);
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"time\n0\n");
    }

    #[test]
    fn r49_what_a_killed_run_has_left_is_replaced() {
        let bench = Bench::new();
        write(bench.path("out.csv.part"), "much more than this run writes").unwrap();
        bench.create().publish(Some(7)).unwrap();
        assert_eq!(bench.files(), ["out.csv"]);
    }

    #[test]
    fn r49_a_deleted_or_replaced_file_is_written_again() {
        for replace in [false, true] {
            let bench = Bench::new();
            let file = bench.create();
            std::fs::remove_file(bench.path("out.csv.part")).unwrap();
            if replace {
                write(bench.path("out.csv.part"), "somebody else's").unwrap();
            }
            let warning = file.publish(Some(7)).unwrap().unwrap();
            assert!(warning.contains("is written again"), "{warning}");
            assert_eq!(read(bench.path("out.csv")).unwrap(), b"time\n0\n");
            assert_eq!(bench.path("out.csv.part").exists(), replace);
            assert_eq!(file.publish(Some(7)).unwrap(), None, "once is enough");
        }
    }

    #[test]
    fn r49_no_file_of_another_program_is_replaced() {
        let bench = Bench::new();
        let file = bench.create();
        write(bench.path("out.csv"), "somebody else's").unwrap();
        let error = file.publish(Some(7)).unwrap_err().to_string();
        assert!(error.contains("all rows are kept in "), "{error}");
        assert!(error.contains("out.csv.part"), "{error}");
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"somebody else's");
        assert_eq!(read(bench.path("out.csv.part")).unwrap(), b"time\n0\n");
    }

    #[test]
    fn r49_a_folder_that_is_gone_is_an_error() {
        let bench = Bench::new();
        let folder = bench.path("results");
        std::fs::create_dir(&folder).unwrap();
        let file = PartFile::create(&folder.join("out.csv")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let error = file.publish(Some(0)).unwrap_err();
        assert!(matches!(error, RecordError::NotNamed { .. }), "{error}");
        let expected = "its rows cannot be read any more";
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn r49_a_file_that_was_cut_short_is_an_error() {
        let bench = Bench::new();
        let file = bench.create();
        file.file().set_len(3).unwrap();
        file.file().write_all(b"1\n").unwrap();
        let error = file.publish(Some(9)).unwrap_err();
        let expected = RecordError::Changed {
            path: bench.path("out.csv"),
            found: 5,
            written: 9,
        };
        assert_eq!(error.to_string(), expected.to_string());
        assert_eq!(bench.files(), ["out.csv"], "what there is has its name");
    }

    #[test]
    fn r50_a_result_that_another_run_writes_is_refused() {
        let bench = Bench::new();
        let file = bench.create();
        let error = PartFile::create(&bench.path("out.csv")).unwrap_err();
        assert!(matches!(error, RecordError::InUse { .. }), "{error}");
        assert_eq!(read(bench.path("out.csv.part")).unwrap(), b"time\n0\n");
        drop(file);
        PartFile::create(&bench.path("out.csv")).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_one() {
        let bench = Bench::new();
        write(bench.path("real.csv"), "").unwrap();
        std::os::unix::fs::symlink("real.csv", bench.path("out.csv")).unwrap();
        bench.create().publish(Some(7)).unwrap();
        assert!(bench.path("out.csv").is_symlink());
        assert_eq!(read(bench.path("real.csv")).unwrap(), b"time\n0\n");
    }

    #[cfg(unix)]
    #[test]
    fn devices_have_no_part() {
        let file = PartFile::create(Path::new("/dev/null")).unwrap();
        file.file().write_all(b"1").unwrap();
        assert_eq!(file.publish(Some(1)).unwrap(), None);
    }

    #[test]
    fn r51_a_file_is_whole_or_as_it_was() {
        let bench = Bench::new();
        write(bench.path("out.csv"), "old").unwrap();
        let fail = |file: &mut File| {
            file.write_all(b"new")?;
            Err(io::Error::other("no space"))
        };
        assert!(write_whole(&bench.path("out.csv"), fail).is_err());
        assert_eq!(bench.files(), ["out.csv"]);
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"old");
        write_whole(&bench.path("out.csv"), |file| file.write_all(b"new")).unwrap();
        assert_eq!(bench.files(), ["out.csv"]);
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"new");
    }

    #[test]
    fn what_was_not_begun_is_removed() {
        let bench = Bench::new();
        bench.create().discard();
        assert!(bench.files().is_empty());
    }
}
