//! What the unpacked files of an FMU were when they were unpacked, and what an FMU has made of them since.
//!
//! Runs in one process find the files that earlier ones have left. Names, sizes and times tell a changed file without
//! reading it: unpacked files have the times of the archive, so that whatever is written has another one.

use std::collections::BTreeMap;
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
    /// Of all that lies in `folder`, but for its folder `apart`.
    pub(crate) fn of(folder: &Path, apart: &str) -> io::Result<Self> {
        let mut marks = Self::default();
        marks.add(folder, "", apart)?;
        Ok(marks)
    }

    fn add(&mut self, folder: &Path, prefix: &str, apart: &str) -> io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if name == apart {
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

    /// Removes from `folder`, which is as `now`, what is not as here. Returns the names of all that was changed, of which
    /// those of files that are to be unpacked again come second.
    pub(crate) fn remove_changed(
        &self,
        now: &Self,
        folder: &Path,
    ) -> io::Result<(Vec<String>, Vec<String>)> {
        let mut changed = Vec::new();
        // What lies in a folder comes after it.
        for (name, mark) in now.0.iter().rev() {
            if self.0.get(name) == Some(mark) {
                continue;
            }
            match mark {
                Mark::Folder => std::fs::remove_dir(folder.join(name))?,
                _ => std::fs::remove_file(folder.join(name))?,
            }
            changed.push(name.clone());
        }
        let is_lost = |(name, mark): &(&String, &Mark)| now.0.get(*name) != Some(*mark);
        let lost: Vec<&String> = self
            .0
            .iter()
            .filter(is_lost)
            .map(|(name, _)| name)
            .collect();
        changed.extend(
            lost.iter()
                .filter(|name| !now.0.contains_key(**name))
                .map(ToString::to_string),
        );
        changed.sort_unstable();
        let is_file = |name: &&String| self.0.get(*name) != Some(&Mark::Folder);
        let files = lost.iter().copied().filter(is_file).cloned().collect();
        for name in lost {
            if self.0.get(name) == Some(&Mark::Folder) {
                std::fs::create_dir_all(folder.join(name))?;
            }
        }
        Ok((changed, files))
    }

    /// Whether nothing has another mark.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        self.0 == other.0
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
        let marks = || FileMarks::of(folder.path(), "instances").unwrap();
        let before = marks();
        std::fs::create_dir_all(path("instances/0")).unwrap();
        assert!(before.is_as(&marks()));
        // Of the same length, in the same moment.
        std::fs::write(path("kept"), "tpek").unwrap();
        std::fs::write(path("resources/grown"), "grown and grown").unwrap();
        std::fs::remove_file(path("resources/lost")).unwrap();
        std::fs::remove_dir(path("resources/deep")).unwrap();
        std::fs::create_dir(path("new")).unwrap();
        std::fs::write(path("new/scratch"), "1").unwrap();
        let (changed, files) = before.remove_changed(&marks(), folder.path()).unwrap();
        let all = [
            "kept",
            "new",
            "new/scratch",
            "resources/deep",
            "resources/grown",
            "resources/lost",
        ];
        assert_eq!(changed, all);
        assert_eq!(files, ["kept", "resources/grown", "resources/lost"]);
        for (name, is_there) in all.iter().zip([false, false, false, true, false, false]) {
            assert_eq!(path(name).exists(), is_there, "{name}");
        }
    }
}
