//! No file that people install names a folder of this machine.

use std::fs;
use std::path::Path;

use super::{Dist, at, cargo_home};

/// Checks all files below a folder.
pub(super) fn check(dist: &Dist, tree: &Path) -> Result<(), String> {
    let folders = [
        Some(dist.root.clone()),
        Some(dist.work.clone()),
        cargo_home(),
    ];
    let folders = folders.into_iter().flatten();
    let folders: Vec<String> = folders.map(|folder| folder.display().to_string()).collect();
    name_none(tree, &folders)
}

fn name_none(tree: &Path, folders: &[String]) -> Result<(), String> {
    let mut faults = Vec::new();
    visit(tree, &mut |file, bytes| {
        let named = folders
            .iter()
            .filter(|folder| holds(bytes, folder.as_bytes()));
        faults.extend(named.map(|folder| format!("{} names {folder}", file.display())));
    })?;
    if faults.is_empty() {
        Ok(())
    } else {
        Err(faults.join("\n"))
    }
}

/// Shows each file below a folder.
pub(super) fn visit(folder: &Path, see: &mut dyn FnMut(&Path, &[u8])) -> Result<(), String> {
    for entry in fs::read_dir(folder).map_err(|error| at(folder, &error))? {
        let path = entry.map_err(|error| at(folder, &error))?.path();
        if path.is_dir() {
            visit(&path, see)?;
        } else {
            see(&path, &fs::read(&path).map_err(|error| at(&path, &error))?);
        }
    }
    Ok(())
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_names_a_folder_is_found() {
        let tree = tempfile::tempdir().unwrap();
        fs::create_dir(tree.path().join("bin")).unwrap();
        fs::write(
            tree.path().join("bin/program"),
            b"\x7fELF\0built/here/src/main.rs\0",
        )
        .unwrap();
        fs::write(tree.path().join("text"), "").unwrap();
        let fault = name_none(tree.path(), &["built/here".to_owned()]).unwrap_err();
        assert!(fault.ends_with("bin/program names built/here"), "{fault}");
        name_none(tree.path(), &["built/there".to_owned()]).unwrap();
    }
}
