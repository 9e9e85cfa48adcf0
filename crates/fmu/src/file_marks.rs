//! What the unpacked files of an FMU were when they were unpacked, and what an FMU has made of them since.
//!
//! Runs in one process find the files that earlier ones have left. Names, sizes and times tell a changed file without
//! reading it: unpacked files have the times of the archive, so that whatever is written has another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::Metadata;
use std::io;
use std::path::Path;
use std::time::SystemTime;

/// Files and folders below a folder, by their names with `/` between the parts.
#[derive(Debug, Default)]
pub(crate) struct FileMarks(BTreeMap<String, Mark>);

/// What tells that a file is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mark {
    Folder,
    File(u64, Option<SystemTime>),
    /// A link or a device, which no archive has.
    Other,
}

impl Mark {
    fn of(found: &Metadata) -> Self {
        match (found.is_dir(), found.is_file()) {
            (true, _) => Self::Folder,
            (_, true) => Self::File(found.len(), found.modified().ok()),
            _ => Self::Other,
        }
    }
}

impl FileMarks {
    /// Of all that lies in `folder`, but for what has a name that is `apart`.
    pub(crate) fn of(folder: &Path, apart: &dyn Fn(&str) -> bool) -> io::Result<Self> {
        let mut marks = Self::default();
        marks.add(folder, "", apart)?;
        Ok(marks)
    }

    fn add(&mut self, folder: &Path, prefix: &str, apart: &dyn Fn(&str) -> bool) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if apart(&name) {
                continue;
            }
            let mark = Mark::of(&entry.metadata()?);
            if mark == Mark::Folder {
                self.add(&entry.path(), &format!("{name}/"), apart)?;
            }
            self.0.insert(name, mark);
        }
        Ok(())
    }

    /// The names of all that `now` has with another mark, or that is in one of both alone.
    pub(crate) fn changed(&self, now: &Self) -> Vec<String> {
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        let changed = names
            .into_iter()
            .filter(|name| self.0.get(*name) != now.0.get(*name));
        changed.cloned().collect()
    }

    /// Removes from `folder`, which is as `now`, what is not as here. Returns the names of files that are to be unpacked
    /// again.
    pub(crate) fn remove_changed(&self, now: &Self, folder: &Path) -> io::Result<Vec<String>> {
        // What lies in a folder comes after it.
        for (name, mark) in now.0.iter().rev() {
            match mark {
                _ if self.0.get(name) == Some(mark) => {}
                Mark::Folder => std::fs::remove_dir(folder.join(name))?,
                _ => std::fs::remove_file(folder.join(name))?,
            }
        }
        let mut files = Vec::new();
        for (name, mark) in &self.0 {
            match mark {
                _ if now.0.get(name) == Some(mark) => {}
                Mark::Folder => std::fs::create_dir_all(folder.join(name))?,
                _ => files.push(name.clone()),
            }
        }
        Ok(files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_removed_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(path("resources/deep")).unwrap();
        for name in ["kept", "resources/grown", "resources/lost"] {
            std::fs::write(path(name), name).unwrap();
        }
        let old = SystemTime::UNIX_EPOCH;
        let file = std::fs::File::options().append(true).open(path("kept"));
        file.unwrap().set_modified(old).unwrap();
        let marks = || FileMarks::of(folder.path(), &|name| name == "instances").unwrap();
        let before = marks();
        std::fs::create_dir_all(path("instances/0")).unwrap();
        assert_eq!(before.changed(&marks()), [""; 0]);
        // Of the same length, in the same moment.
        std::fs::write(path("kept"), "tpek").unwrap();
        std::fs::write(path("resources/grown"), "grown and grown").unwrap();
        std::fs::remove_file(path("resources/lost")).unwrap();
        std::fs::remove_dir(path("resources/deep")).unwrap();
        std::fs::create_dir(path("new")).unwrap();
        std::fs::write(path("new/scratch"), "1").unwrap();
        let now = marks();
        let files = before.remove_changed(&now, folder.path()).unwrap();
        let all = [
            "kept",
            "new",
            "new/scratch",
            "resources/deep",
            "resources/grown",
            "resources/lost",
        ];
        assert_eq!(before.changed(&now), all);
        assert_eq!(files, ["kept", "resources/grown", "resources/lost"]);
        for (name, is_there) in all.iter().zip([false, false, false, true, false, false]) {
            assert_eq!(path(name).exists(), is_there, "{name}");
        }
    }
}
