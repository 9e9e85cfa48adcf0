//! The journals of the parts of a study.

use std::path::{Path, PathBuf};

use crate::exit::Exit;
use crate::failure::{Failure, Message};

/// The journals that parts mean: all in a folder, the journal of a table, or a journal.
///
/// # Errors
/// A folder without journals, or a part that is not there.
pub(crate) fn of_parts(parts: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut journals = Vec::new();
    for part in parts {
        if !part.is_dir() {
            let journal = journal_of_part(part);
            if !journal.exists() {
                let text = format!("{}: there is no folder or part of a study", part.display());
                let failure = Failure::new(Exit::InvalidInput, Message::error(text));
                return Err(failure.help("name the folder, the table of a part, or its journal"));
            }
            journals.push(journal);
            continue;
        }
        let mut found = in_folder(part)?;
        if found.is_empty() {
            let text = format!("{}: the folder has no journal of a study", part.display());
            let failure = Failure::new(Exit::InvalidInput, Message::error(text));
            let help = "`gyrator study STUDY.toml --shard 1/8 -o FOLDER/part-1.csv` writes one";
            return Err(failure.help(help));
        }
        found.sort();
        journals.append(&mut found);
    }
    Ok(journals)
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
