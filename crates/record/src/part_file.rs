//! A result file that has another name until it is whole.

use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use crate::descriptor::Descriptor;
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
    file: Descriptor,
    is_plain: bool,
    /// It was written again, which is reported once.
    is_displaced: bool,
}

impl PartFile {
    /// Creates the file, empty and locked until all copies of it are closed. An older file `NAME` is
    /// removed: it must not be mistaken for the result of a run that dies.
    ///
    /// # Errors
    ///
    /// [`RecordError::Create`]; [`RecordError::InUse`] if another run writes the same result.
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
        let in_use = || RecordError::InUse {
            path: path.to_owned(),
        };
        if !is_locked {
            return Err(in_use());
        }
        // A run that has given its result the name, and has not ended, still holds the lock.
        // One that was killed meanwhile has left both names.
        if is_locked_by_another(&name) && !is_at(&file, &name).unwrap_or(false) {
            let _ = std::fs::remove_file(&part);
            return Err(in_use());
        }
        file.set_len(0).map_err(fail)?;
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(fail(error)),
            _ => Ok(Self::new(path, name, part, file, is_plain)),
        }
    }

    /// The file that another process has created as `path` and could not finish.
    #[must_use]
    pub fn adopt(path: &Path, file: File) -> Self {
        // The folder may be gone.
        let name = path.canonicalize().or_else(|_| std::path::absolute(path));
        let name = name.unwrap_or_else(|_| path.to_owned());
        let is_plain = look(|| file.metadata()).map_or(true, |found| found.is_file());
        let part = if is_plain {
            with_ending(&name, ".part")
        } else {
            name.clone()
        };
        Self::new(path, name, part, file, is_plain)
    }

    fn new(shown: &Path, name: PathBuf, part: PathBuf, file: File, is_plain: bool) -> Self {
        Self {
            shown: shown.to_owned(),
            name,
            part,
            file: file.into(),
            is_plain,
            is_displaced: false,
        }
    }

    /// A second form of a result while this file, which has its rows, is written: it is called `NAME.new`, is locked
    /// as well, and takes the name in the end. An older one is replaced.
    #[cfg(feature = "parquet")]
    pub(crate) fn second(&self) -> io::Result<Self> {
        let part = with_ending(&self.name, UNFINISHED);
        // No other run has it: that would have this file.
        match std::fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let (file, _) = open_part(&part)?;
        Ok(Self::new(&self.shown, self.name.clone(), part, file, true))
    }

    /// The open file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Whether it is a plain file, and no pipe or device.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// Whether it still has the name of a file that is not whole.
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.is_plain && is_at(&self.file, &self.part).unwrap_or(false)
    }

    /// The path as it was given.
    pub(crate) fn shown(&self) -> &Path {
        &self.shown
    }

    /// The name that the result gets in the end.
    #[cfg(feature = "parquet")]
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Its first `length` bytes.
    ///
    /// # Errors
    ///
    /// The error of the operating system; `UnexpectedEof` if it is shorter.
    pub fn contents(&self, length: u64) -> io::Result<Vec<u8>> {
        let mut file = self.file();
        file.rewind()?;
        let mut bytes = Vec::new();
        file.take(length).read_to_end(&mut bytes)?;
        match bytes.len() as u64 == length {
            true => Ok(bytes),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Removes the file without giving it its name.
    pub fn discard(&self) {
        if self.is_unnamed() {
            // A file that stays is empty, and no result.
            let _ = std::fs::remove_file(&self.part);
        }
    }

    /// Whether nothing in this process has closed the file.
    #[cfg(feature = "parquet")]
    pub(crate) fn is_open(&self) -> bool {
        self.file.is_open()
    }

    /// Removes the file, all of whose rows the result has; returns a warning if it stays.
    #[cfg(feature = "parquet")]
    pub(crate) fn remove(&self) -> Option<String> {
        let is_there = self.is_unnamed();
        is_there.then(|| remove_rows(&self.part, &self.shown))?
    }

    /// An error of a result that is made of the rows in this file.
    #[cfg(feature = "parquet")]
    pub(crate) fn not_converted(&self, source: io::Error) -> RecordError {
        RecordError::NotConverted {
            path: self.shown.clone(),
            rows_path: rows_path(&self.shown),
            source,
        }
    }

    /// Sees to it that the name which the file has outlasts a power loss.
    #[cfg(feature = "parquet")]
    pub(crate) fn sync_name(&self) {
        sync_folder(&self.part);
    }

    /// Gives the file its name, if it does not have it. Once it was written again, nothing more is done.
    ///
    /// # Errors
    ///
    /// [`RecordError::Displaced`] if the file was deleted or replaced meanwhile, after all of it was
    /// written again; [`RecordError::Changed`] if it does not have `length` bytes, after it got its
    /// name; [`RecordError::NotNamed`] if it cannot get it, for example because another program has
    /// made a file of that name.
    pub fn publish(&mut self, length: Option<u64>) -> Result<(), RecordError> {
        if !self.is_plain || self.is_displaced {
            return Ok(());
        }
        let place = self.give_name()?;
        self.is_displaced = place.is_some();
        // A length that cannot be read proves nothing: all bytes were taken.
        let found = self.file.metadata().map(|file| file.len()).ok();
        let other = found
            .zip(length)
            .filter(|(found, written)| found != written);
        match (place, other) {
            (place, Some((found, written))) => Err(RecordError::Changed {
                path: place.unwrap_or_else(|| self.shown.clone()),
                found,
                written,
            }),
            (Some(place), None) => Err(RecordError::Displaced {
                path: self.shown.clone(),
                place,
            }),
            (None, None) => Ok(()),
        }
    }

    /// Whether the file has its name, or was written again to another one, by another process for
    /// example.
    #[must_use]
    pub fn is_published(&self) -> bool {
        let is_at = |path: &Path| is_at(&self.file, path).unwrap_or(false);
        let has_copy = || self.places().any(|(path, _)| self.is_copied_to(&path));
        is_at(&self.name) || !is_at(&self.part) && has_copy()
    }

    /// Returns the place, for people, to which the file was written again, if it was.
    fn give_name(&self) -> Result<Option<PathBuf>, RecordError> {
        let part = || format!("{}.part", self.shown.display());
        let is_at = |path: &Path| {
            // An FMU has closed it, or the disk fails: nothing proves that the file is gone.
            is_at(&self.file, path)
                .map_err(|source| self.not_named(source, format!("what it has is in {}", part())))
        };
        if is_at(&self.name)? {
            // A process that was killed while it gave the file its name has left it the other one.
            if is_at(&self.part)? {
                let _ = std::fs::remove_file(&self.part);
            }
            return Ok(None);
        }
        if is_at(&self.part)? {
            let renamed = rename_if_free(&self.part, &self.name).map(|()| {
                sync_folder(&self.name);
                None
            });
            let place = || format!("all rows are kept in {}", part());
            return renamed.map_err(|source| self.not_named(source, place()));
        }
        let lost = "its rows cannot be read any more".to_owned();
        let place = self.write_anew();
        place
            .map(Some)
            .map_err(|source| self.not_named(source, lost))
    }

    fn not_named(&self, source: io::Error, place: String) -> RecordError {
        RecordError::NotNamed {
            path: self.shown.clone(),
            place,
            source,
        }
    }

    /// Places in which a file that was deleted or replaced is written again, and how each is shown: its names, and
    /// others if these are taken.
    fn places(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        let others = (1..=9).map(|number| format!(".{number}"));
        let endings = [String::new(), ".part".to_owned()]
            .into_iter()
            .chain(others);
        endings.map(|ending| {
            let place = |name: &Path| with_ending(name, &ending);
            (place(&self.name), place(&self.shown))
        })
    }

    fn is_copied_to(&self, path: &Path) -> bool {
        let mut own = self.file();
        let Ok(other) = File::open(path) else {
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

    /// Copies the file, which has no name any more, to the first of its places that is free. Its folder
    /// is made again if it was removed.
    fn write_anew(&self) -> io::Result<PathBuf> {
        if let Some(folder) = self.name.parent() {
            std::fs::create_dir_all(folder)?;
        }
        // It has another name until it is whole.
        let begun = with_ending(&self.part, ".copy");
        let copied = File::create(&begun).and_then(|copy| self.copy_to(copy));
        let named = copied.and_then(|()| self.name_copy(&begun));
        named.inspect_err(|_| drop(std::fs::remove_file(&begun)))
    }

    fn name_copy(&self, copy: &Path) -> io::Result<PathBuf> {
        for (path, shown) in self.places() {
            match rename_if_free(copy, &path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    sync_folder(&path);
                    return Ok(shown);
                }
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn copy_to(&self, mut copy: File) -> io::Result<()> {
        let mut source = self.file();
        // Nothing is written any more, and what is would be appended.
        source.rewind()?;
        io::copy(&mut source, &mut copy)?;
        copy.sync_data()
    }
}

/// After the name of a file that is not whole, and has no rows that can be read.
const UNFINISHED: &str = ".new";

/// Writes a file that is whole or, if that fails, is not changed: under its name with `.new` after
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
    let part = with_ending(&name, UNFINISHED);
    let (mut file, is_locked) = open_part(&part)
        .map_err(|error| io::Error::new(error.kind(), why_not_created(path, &error)))?;
    if !is_locked {
        return Err(io::Error::other("another program is writing it"));
    }
    file.set_len(0)?;
    let written = write(&mut file)
        .and_then(|()| file.sync_data())
        .and_then(|()| std::fs::rename(&part, &name));
    match written {
        Ok(()) => sync_folder(&name),
        Err(_) => drop(std::fs::remove_file(&part)),
    }
    written
}

/// Sees to it that a new name outlasts a power loss. If that fails, or the file system knows no such
/// thing, the file has its name anyway.
fn sync_folder(name: &Path) {
    #[cfg(unix)]
    if let Some(folder) = name.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    #[cfg(not(unix))]
    let _ = name;
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
        if is_at(&file, part)? {
            return Ok((file, true));
        }
    }
}

fn is_locked_by_another(path: &Path) -> bool {
    let lock = File::open(path).map(|file| file.try_lock());
    matches!(lock, Ok(Err(TryLockError::WouldBlock)))
}

/// The file of the rows of a result until it is whole: `out.parquet.part` for `out.parquet`.
#[must_use]
pub fn rows_path(path: &Path) -> PathBuf {
    with_ending(path, ".part")
}

/// Removes the file of rows of a result; returns a warning if it stays.
#[cfg(feature = "parquet")]
fn remove_rows(part: &Path, shown: &Path) -> Option<String> {
    let remove = || std::fs::remove_file(part);
    let error = remove().or_else(|_| remove()).err()?;
    Some(format!(
        "{}.part cannot be removed: {error}; its rows are those of the result",
        shown.display()
    ))
}

/// Renames a file, but replaces none.
fn rename_if_free(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Ok(()) => match std::fs::remove_file(from) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        },
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // File systems without links.
        Err(_) if !to.exists() => std::fs::rename(from, to),
        Err(error) => Err(error),
    }
}

/// Whether `path` leads to this open file.
///
/// # Errors
///
/// If that cannot be found out.
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let here = look(|| file.metadata())?;
    match look(|| path.metadata()) {
        Ok(there) => Ok(is_same(&here, &there)),
        Err(error) if is_absence(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Looks once more if the system could not look: a network or a lack of memory may pass.
fn look(mut look: impl FnMut() -> io::Result<Metadata>) -> io::Result<Metadata> {
    match look() {
        Err(error) if !is_absence(&error) => look(),
        result => result,
    }
}

fn is_absence(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Whether both are of one file, by device and inode; assumes it if the system has no such things.
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
        let mut file = bench.create();
        assert_eq!(bench.files(), ["out.csv.part"], "the older one is gone");
        assert_eq!(read(bench.path("out.csv.part")).unwrap(), b"time\n0\n");
        file.publish(Some(7)).unwrap();
        file.publish(Some(7)).unwrap();
        assert_eq!(bench.files(), ["out.csv"]);
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"time\n0\n");
    }

    #[test]
    fn r50_a_result_is_in_use_until_its_run_has_ended() {
        let bench = Bench::new();
        let mut first = bench.create();
        let second = || PartFile::create(&bench.path("out.csv"));
        assert!(matches!(second(), Err(RecordError::InUse { .. })));
        first.publish(Some(7)).unwrap();
        assert!(matches!(second(), Err(RecordError::InUse { .. })));
        assert_eq!(bench.files(), ["out.csv"]);
        assert!(first.is_published());
        drop(first);
        second().unwrap();
        assert_eq!(bench.files(), ["out.csv.part"]);
    }

    /// A run was killed after the first half of a rename.
    #[test]
    fn a_result_with_both_names_keeps_the_right_one_and_can_be_replaced() {
        let bench = Bench::new();
        let mut file = bench.create();
        std::fs::hard_link(bench.path("out.csv.part"), bench.path("out.csv")).unwrap();
        file.publish(Some(7)).unwrap();
        assert_eq!(bench.files(), ["out.csv"]);
        drop(file);
        std::fs::hard_link(bench.path("out.csv"), bench.path("out.csv.part")).unwrap();
        bench.create().publish(Some(7)).unwrap();
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

    /// Names of the result and its part that are taken, and the file that then has the rows.
    #[test]
    fn r63_a_deleted_or_replaced_file_is_an_error_and_written_anew() {
        for (taken, place) in [
            (&[][..], "out.csv"),
            (&["out.csv.part"], "out.csv"),
            (&["out.csv"], "out.csv.part"),
            (&["out.csv", "out.csv.part"], "out.csv.1"),
        ] {
            let bench = Bench::new();
            let mut file = bench.create();
            std::fs::remove_file(bench.path("out.csv.part")).unwrap();
            for name in taken {
                write(bench.path(name), "somebody else's").unwrap();
            }
            assert!(!file.is_published());
            let error = file.publish(Some(7)).unwrap_err();
            let expected = RecordError::Displaced {
                path: bench.path("out.csv"),
                place: bench.path(place),
            };
            assert_eq!(error.to_string(), expected.to_string());
            assert_eq!(read(bench.path(place)).unwrap(), b"time\n0\n");
            for name in taken {
                assert_eq!(read(bench.path(name)).unwrap(), b"somebody else's");
            }
            assert!(file.is_published(), "as another process finds it");
            let files = bench.files();
            file.publish(Some(7)).unwrap();
            assert_eq!(bench.files(), files, "once is enough");
        }
    }

    #[test]
    fn r63_a_result_that_is_deleted_after_it_got_its_name_is_written_anew() {
        let bench = Bench::new();
        let mut file = bench.create();
        file.publish(Some(7)).unwrap();
        std::fs::remove_file(bench.path("out.csv")).unwrap();
        let error = file.publish(Some(7)).unwrap_err();
        assert!(matches!(error, RecordError::Displaced { .. }), "{error}");
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"time\n0\n");
    }

    #[test]
    fn r63_a_file_that_was_both_cut_and_deleted_lacks_rows() {
        let bench = Bench::new();
        let mut file = bench.create();
        file.file().set_len(5).unwrap();
        std::fs::remove_file(bench.path("out.csv.part")).unwrap();
        let error = file.publish(Some(7)).unwrap_err();
        assert!(
            matches!(error, RecordError::Changed { found: 5, .. }),
            "{error}"
        );
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"time\n");
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn r70_rows_that_cannot_be_removed_are_named() {
        let bench = Bench::new();
        let (part, shown) = (bench.path("out.parquet.part"), Path::new("out.parquet"));
        // A folder in its place: even the administrator cannot remove it as a file.
        std::fs::create_dir(&part).unwrap();
        let warning = remove_rows(&part, shown).unwrap();
        let expected = "out.parquet.part cannot be removed: ";
        assert!(warning.starts_with(expected), "{warning}");
        std::fs::remove_dir(&part).unwrap();
        write(&part, "rows").unwrap();
        assert_eq!(remove_rows(&part, shown), None);
        assert!(!part.exists());
    }

    #[cfg(feature = "parquet")]
    #[test]
    fn r49_a_second_form_takes_the_name() {
        let bench = Bench::new();
        write(bench.path("out.csv.new"), "of a run that was killed").unwrap();
        let rows = bench.create();
        let mut second = rows.second().unwrap();
        assert_eq!(bench.files(), ["out.csv.new", "out.csv.part"]);
        second.file().write_all(b"whole").unwrap();
        second.publish(Some(5)).unwrap();
        rows.discard();
        assert_eq!(bench.files(), ["out.csv"]);
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"whole");
    }

    #[test]
    fn r49_no_file_of_another_program_is_replaced() {
        let bench = Bench::new();
        let mut file = bench.create();
        write(bench.path("out.csv"), "somebody else's").unwrap();
        let error = file.publish(Some(7)).unwrap_err().to_string();
        assert!(error.contains("all rows are kept in "), "{error}");
        assert!(error.contains("out.csv.part"), "{error}");
        assert_eq!(read(bench.path("out.csv")).unwrap(), b"somebody else's");
        assert_eq!(read(bench.path("out.csv.part")).unwrap(), b"time\n0\n");
    }

    #[test]
    fn r63_a_folder_that_is_gone_is_made_anew() {
        let bench = Bench::new();
        let folder = bench.path("results");
        std::fs::create_dir(&folder).unwrap();
        let mut file = PartFile::create(&folder.join("out.csv")).unwrap();
        file.file().write_all(b"time\n").unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        let error = file.publish(Some(5)).unwrap_err();
        assert!(matches!(error, RecordError::Displaced { .. }), "{error}");
        assert_eq!(read(folder.join("out.csv")).unwrap(), b"time\n");
    }

    #[test]
    fn r63_rows_that_cannot_be_written_anew_are_told_to_be_lost() {
        let bench = Bench::new();
        let folder = bench.path("results");
        std::fs::create_dir(&folder).unwrap();
        let mut file = PartFile::create(&folder.join("out.csv")).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        write(&folder, "a file in place of the folder").unwrap();
        let error = file.publish(Some(0)).unwrap_err();
        assert!(matches!(error, RecordError::NotNamed { .. }), "{error}");
        let expected = "its rows cannot be read any more";
        assert!(error.to_string().contains(expected), "{error}");
    }

    #[test]
    fn r70_a_look_that_fails_once_is_made_again() {
        let found = |failures: Vec<io::ErrorKind>| {
            let mut failures = failures.into_iter();
            let looked = || {
                let failure = failures.next().map(io::Error::from);
                failure.map_or_else(|| Path::new("/").metadata(), Err)
            };
            look(looked).map(drop).map_err(|error| error.kind())
        };
        use io::ErrorKind::{NotFound, OutOfMemory, ResourceBusy};
        assert_eq!(found(vec![OutOfMemory]), Ok(()));
        assert_eq!(found(vec![OutOfMemory, ResourceBusy]), Err(ResourceBusy));
        assert_eq!(found(vec![NotFound, OutOfMemory]), Err(NotFound));
    }

    /// A link that leads to itself stands for any place that the system cannot look at.
    #[cfg(unix)]
    #[test]
    fn r70_a_file_that_cannot_be_found_out_about_is_not_written_anew() {
        let bench = Bench::new();
        let mut file = bench.create();
        std::os::unix::fs::symlink("out.csv", bench.path("out.csv")).unwrap();
        let error = file.publish(Some(7)).unwrap_err();
        assert!(matches!(error, RecordError::NotNamed { .. }), "{error}");
        let expected = "what it has is in ";
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(bench.files(), ["out.csv", "out.csv.part"]);
    }

    #[test]
    fn r49_a_file_that_was_cut_short_is_an_error() {
        let bench = Bench::new();
        let mut file = bench.create();
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
        let mut file = PartFile::create(Path::new("/dev/null")).unwrap();
        file.file().write_all(b"1").unwrap();
        file.publish(Some(1)).unwrap();
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
