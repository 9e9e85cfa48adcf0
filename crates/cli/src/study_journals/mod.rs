//! Where journals and tables of studies are: files, or objects of a store.

#[cfg(feature = "object-storage")]
mod bucket;
#[cfg(feature = "object-storage")]
mod object_storage;
#[cfg(not(feature = "object-storage"))]
#[path = "without_storage.rs"]
mod object_storage;

use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::failure::{Failure, Message};

pub(crate) use object_storage::KeptPart;
use object_storage::{Fetched, keep_table};

/// The URL of an object that stands in the place of a path.
pub(crate) fn url(path: &Path) -> Option<&str> {
    path.to_str().filter(|path| path.starts_with("s3://"))
}

/// Journals of parts, and the copies of those that are objects.
#[derive(Default)]
pub(crate) struct Journals {
    pub(crate) paths: Vec<PathBuf>,
    fetched: Vec<Fetched>,
}

impl Journals {
    /// The journals that parts mean: those in a folder, that of a table, or a journal.
    ///
    /// # Errors
    /// A folder without journals, a part that is not there, a store that cannot be reached.
    pub(crate) fn of_parts(parts: &[PathBuf]) -> Result<Self, Failure> {
        let mut journals = Self::default();
        for part in parts {
            let name = part.display();
            let mut found = if let Some(url) = url(part) {
                let fetched = Fetched::of(url)?;
                let found = fetched.journals.clone();
                journals.fetched.push(fetched);
                found
            } else if part.is_dir() {
                in_folder(part)?
            } else {
                vec![journal_of_part(part)]
            };
            if let [journal] = &*found
                && !journal.exists()
            {
                let text = format!("{name}: there is no folder or part of a study");
                let failure = Failure::new(Exit::InvalidInput, Message::error(text));
                return Err(failure.help("name the folder, the table of a part, or its journal"));
            }
            if found.is_empty() {
                let text = format!("{name}: the folder has no journal of a study");
                let failure = Failure::new(Exit::InvalidInput, Message::error(text));
                let help = "`gyrator study STUDY.toml --shard 1/8 -o FOLDER/part-1.csv` writes one";
                return Err(failure.help(help));
            }
            found.sort();
            journals.paths.append(&mut found);
        }
        Ok(journals)
    }

    /// The name of a journal for people: the URL of a copy.
    pub(crate) fn shown(&self, journal: &Path) -> PathBuf {
        let mut copies = self.fetched.iter();
        let url = copies.find_map(|fetched| fetched.shown(journal));
        url.unwrap_or_else(|| journal.to_owned())
    }
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "journal") && path.is_file() {
            found.push(path);
        }
    }
    Ok(found)
}

/// The journal of a table: its name with `.journal` after it.
pub(crate) fn journal_of(table: &Path) -> PathBuf {
    let mut name = table.as_os_str().to_owned();
    name.push(".journal");
    name.into()
}

fn journal_of_part(part: &Path) -> PathBuf {
    match part.extension() {
        Some(ending) if ending == "journal" => part.to_owned(),
        _ => journal_of(part),
    }
}

/// Writes a table with `write`, which is given the file.
///
/// # Errors
/// Those of `write`, and of a store.
pub(crate) fn write_to(
    output: &Path,
    write: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<(), Failure> {
    match url(output) {
        Some(url) => keep_table(url, write),
        None => write(output),
    }
}
