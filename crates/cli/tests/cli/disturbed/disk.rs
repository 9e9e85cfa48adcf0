//! A file system whose power may go at any moment.
//!
//! Bytes of a file are safe once the file was synchronised, names once their folder was. Of what is
//! not, the disk may have any part: each change of a name has been made or not, whatever the order. Of
//! the unsafe bytes of a file it has all, none, the first half, or zeros in their place (POSIX
//! promises no more; ext4 and XFS lose less).

use std::collections::BTreeMap;

/// Number of a file, whatever its names.
pub(super) type Inode = usize;

/// Names, and the files that they lead to.
pub(super) type Names = BTreeMap<String, Inode>;

#[derive(Debug, Clone, Default)]
struct File {
    bytes: Vec<u8>,
    safe: Vec<u8>,
}

/// A change of names that happens as a whole or not at all: removed ones, and an added one.
#[derive(Debug, Clone)]
struct Change {
    removed: Option<String>,
    added: Option<(String, Inode)>,
}

impl Change {
    fn make(&self, names: &mut Names) {
        if let Some(name) = &self.removed {
            names.remove(name);
        }
        if let Some((name, inode)) = &self.added {
            names.insert(name.clone(), *inode);
        }
    }
}

/// One folder on a disk.
#[derive(Debug, Clone, Default)]
pub(super) struct Disk {
    files: Vec<File>,
    /// As programs see them.
    names: Names,
    safe_names: Names,
    unsafe_changes: Vec<Change>,
}

impl Disk {
    /// Adds a file that was there long before.
    pub(super) fn old_file(&mut self, name: &str, bytes: &[u8]) {
        self.create(name);
        self.write(self.names[name], bytes);
        self.sync(self.names[name]);
        self.sync_folder();
    }

    /// The file that has a name.
    pub(super) fn inode(&self, name: &str) -> Option<Inode> {
        self.names.get(name).copied()
    }

    /// Bytes of a file as programs see them.
    pub(super) fn bytes(&self, inode: Inode) -> &[u8] {
        &self.files[inode].bytes
    }

    pub(super) fn create(&mut self, name: &str) -> Inode {
        let inode = self.files.len();
        self.files.push(File::default());
        self.change(None, Some((name.to_owned(), inode)));
        inode
    }

    /// Appends bytes, as all writers of results do.
    pub(super) fn write(&mut self, inode: Inode, bytes: &[u8]) {
        self.files[inode].bytes.extend_from_slice(bytes);
    }

    pub(super) fn set_length(&mut self, inode: Inode, length: usize) {
        self.files[inode].bytes.resize(length, 0);
    }

    pub(super) fn link(&mut self, old: &str, new: &str) {
        let inode = self.names[old];
        self.change(None, Some((new.to_owned(), inode)));
    }

    pub(super) fn rename(&mut self, old: &str, new: &str) {
        let inode = self.names[old];
        self.change(Some(old.to_owned()), Some((new.to_owned(), inode)));
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.change(Some(name.to_owned()), None);
    }

    fn change(&mut self, removed: Option<String>, added: Option<(String, Inode)>) {
        let change = Change { removed, added };
        change.make(&mut self.names);
        self.unsafe_changes.push(change);
    }

    pub(super) fn sync(&mut self, inode: Inode) {
        let file = &mut self.files[inode];
        file.safe.clone_from(&file.bytes);
    }

    pub(super) fn sync_folder(&mut self) {
        self.safe_names.clone_from(&self.names);
        self.unsafe_changes.clear();
    }

    /// Whether nothing can be lost any more.
    pub(super) fn is_safe(&self) -> bool {
        let are_safe = self
            .names
            .values()
            .all(|inode| self.contents(*inode).len() == 1);
        are_safe && self.unsafe_changes.is_empty()
    }

    /// Calls `check` with everything that the disk may have after the power has gone now: names, and
    /// for each of them what the file may contain. Returns the number of names seen so.
    pub(super) fn after_power_loss(
        &self,
        mut check: impl FnMut(&Names, &dyn Fn(Inode) -> Vec<Vec<u8>>),
    ) -> usize {
        let count = 1_usize << self.unsafe_changes.len();
        assert!(
            count <= 1 << 16,
            "{} changes are unsafe",
            self.unsafe_changes.len()
        );
        for chosen in 0..count {
            let mut names = self.safe_names.clone();
            for (place, change) in self.unsafe_changes.iter().enumerate() {
                if chosen & (1 << place) != 0 {
                    change.make(&mut names);
                }
            }
            check(&names, &|inode| self.contents(inode));
        }
        count
    }

    /// The contents that a file may have after the power has gone.
    fn contents(&self, inode: Inode) -> Vec<Vec<u8>> {
        let File { bytes, safe } = &self.files[inode];
        let same = bytes.iter().zip(safe).take_while(|(a, b)| a == b).count();
        let half = bytes[..same + (bytes.len() - same) / 2].to_vec();
        let mut zeros = bytes[..same].to_vec();
        zeros.resize(bytes.len(), 0);
        let mut all = vec![bytes.clone(), safe.clone(), half, zeros];
        all.sort();
        all.dedup();
        all
    }
}

#[test]
fn what_was_not_synchronised_may_be_lost() {
    let mut disk = Disk::default();
    let inode = disk.create("a.part");
    disk.write(inode, b"ab");
    disk.rename("a.part", "a");
    let mut seen = Vec::new();
    disk.after_power_loss(|names, contents| {
        for (name, inode) in names {
            seen.extend(
                contents(*inode)
                    .into_iter()
                    .map(|bytes| (name.clone(), bytes)),
            );
        }
    });
    for bytes in [&b""[..], b"a", b"ab", b"\0\0"] {
        for name in ["a", "a.part"] {
            assert!(seen.contains(&(name.to_owned(), bytes.to_vec())));
        }
    }
    disk.sync(inode);
    disk.sync_folder();
    assert!(disk.is_safe());
    let seen = disk.after_power_loss(|names, contents| {
        assert_eq!(names.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(contents(inode), [b"ab"]);
    });
    assert_eq!(seen, 1);
}
