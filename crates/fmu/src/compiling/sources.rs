//! Which files of an archive are compiled, and where their headers lie.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::archive::clean_name;

const FOLDER: &str = "sources";

/// Whether an entry of an archive belongs to the sources.
pub(crate) fn is_source(name: &str) -> bool {
    name.starts_with("sources/")
}

/// Sources on disk; names are relative to the folder that stands for the root of the archive.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sources {
    /// C files to compile.
    pub(super) files: Vec<String>,
    /// Folders of headers: `sources` first, as FMI says, then all others.
    pub(super) include_folders: Vec<String>,
}

impl Sources {
    /// The files of the list of the description; without one, all C files of the folder that no other
    /// file includes.
    ///
    /// # Errors
    /// Why they cannot be compiled.
    pub(super) fn of(listed: &[String], root: &Path) -> Result<Self, String> {
        let mut all = BTreeSet::new();
        collect(root, Path::new(FOLDER), &mut all);
        if all.is_empty() {
            return Err("it has no sources".to_owned());
        }
        let files = match listed {
            [] => unlisted(root, &all)?,
            listed => checked(listed, &all)?,
        };
        let mut include_folders = vec![FOLDER.to_owned()];
        let headers = all.iter().filter(|name| has_ending(name, &["h", "inc"]));
        let folders = headers.filter_map(|name| name.rsplit_once('/'));
        let others: BTreeSet<_> = folders.map(|(folder, _)| folder.to_owned()).collect();
        include_folders.extend(others.into_iter().filter(|folder| folder != FOLDER));
        Ok(Self {
            files,
            include_folders,
        })
    }
}

/// The C files of a list, each once. Headers in it are no fault.
fn checked(listed: &[String], all: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for name in listed {
        let clean = clean_name(name)
            .map_err(|reason| format!("the source file {name:?} of its description {reason}"))?;
        let file = format!("{FOLDER}/{clean}");
        if !all.contains(&file) {
            return Err(format!(
                "its description lists {name:?}, which is not in {FOLDER}/"
            ));
        }
        if has_ending(&file, &["cpp", "cxx", "cc", "C"]) {
            return Err(format!("{file} is C++, and only C is compiled"));
        }
        if has_ending(&file, &["c"]) && !files.contains(&file) {
            files.push(file);
        }
    }
    match files.is_empty() {
        true => Err("its description lists no C file".to_owned()),
        false => Ok(files),
    }
}

fn unlisted(root: &Path, all: &BTreeSet<String>) -> Result<Vec<String>, String> {
    let mut included = BTreeSet::new();
    for name in all {
        let text = std::fs::read(root.join(name)).unwrap_or_default();
        included.extend(includes(&String::from_utf8_lossy(&text)));
    }
    let is_included = |name: &String| {
        let mut names = included.iter();
        names.any(|part| {
            name.strip_suffix(part.as_str())
                .is_some_and(|rest| rest.ends_with('/'))
        })
    };
    let files = all
        .iter()
        .filter(|name| has_ending(name, &["c"]) && !is_included(name));
    let files: Vec<String> = files.cloned().collect();
    match files.is_empty() {
        true => Err(format!("there is no C file in {FOLDER}/")),
        false => Ok(files),
    }
}

/// Names in `#include "name"`.
fn includes(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let name = rest
            .strip_prefix("include")?
            .trim_start()
            .strip_prefix('"')?;
        Some(name.split_once('"')?.0.to_owned())
    })
}

/// All files below a folder; the archive has no links.
fn collect(root: &Path, folder: &Path, found: &mut BTreeSet<String>) {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let name: PathBuf = folder.join(entry.file_name());
        if entry.path().is_dir() {
            collect(root, &name, found);
        } else if let Some(name) = name.to_str() {
            found.insert(name.to_owned());
        }
    }
}

fn has_ending(name: &str, endings: &[&str]) -> bool {
    name.rsplit_once('.')
        .is_some_and(|(_, ending)| endings.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sources(files: &[(&str, &str)], listed: &[&str]) -> Result<Sources, String> {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let listed: Vec<String> = listed.iter().map(ToString::to_string).collect();
        Sources::of(&listed, root.path())
    }

    #[test]
    fn listed_files_are_compiled_and_headers_found() {
        let files = [
            ("sources/a.c", ""),
            ("sources/lib/b.c", ""),
            ("sources/lib/b.h", ""),
            ("sources/c.c", ""),
        ];
        let found = sources(&files, &["a.c", "lib/b.c", "lib/b.h", "a.c"]).unwrap();
        assert_eq!(found.files, ["sources/a.c", "sources/lib/b.c"]);
        assert_eq!(found.include_folders, ["sources", "sources/lib"]);
    }

    /// The FMU SDK has models that include their common part.
    #[test]
    fn without_a_list_included_files_are_no_units_of_their_own() {
        let files = [
            ("sources/ball.c", "# include \"template.c\"\n"),
            ("sources/template.c", ""),
            ("sources/x/y.c", ""),
        ];
        assert_eq!(
            sources(&files, &[]).unwrap().files,
            ["sources/ball.c", "sources/x/y.c"]
        );
        assert!(sources(&[("sources/x/y.h", "")], &[]).is_err());
    }

    #[test]
    fn r08_names_do_not_lead_out_of_the_sources() {
        let files = [("sources/a.c", ""), ("evil.c", "")];
        for (name, reason) in [
            ("../evil.c", "leads out"),
            ("/etc/passwd", "absolute"),
            ("C:/a.c", "drive"),
            ("-o.c", "not in"),
            ("b.c", "not in"),
        ] {
            let error = sources(&files, &[name]).unwrap_err();
            assert!(error.contains(reason), "{name}: {error}");
        }
        let plus = sources(&[("sources/a.cpp", "")], &["a.cpp"]).unwrap_err();
        assert!(plus.contains("C++"), "{plus}");
    }
}
