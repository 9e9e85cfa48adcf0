//! Which files of an archive are compiled, and how.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::build_description::{self, Configuration};
use crate::archive::clean_name;
use crate::platform;

const FOLDER: &str = "sources";

/// Endings of C++ files; the capital C is the custom of Unix.
const CPP: [&str; 5] = ["cpp", "cxx", "cc", "c++", "C"];

/// Endings of source files in other languages, which gyrator does not compile.
const OTHERS: [(&[&str], &str); 2] = [
    (
        &[
            "f", "F", "for", "FOR", "ftn", "f77", "F77", "f90", "F90", "f95", "F95", "f03", "F03",
            "f08", "F08",
        ],
        "Fortran",
    ),
    (&["cu"], "CUDA"),
];

/// Whether an entry of an archive belongs to the sources.
pub(crate) fn is_source(name: &str) -> bool {
    name.starts_with("sources/")
}

/// Whether an entry of an archive can be compiled.
pub(crate) fn is_code(name: &str) -> bool {
    is_source(name) && (has_ending(name, &["c"]) || has_ending(name, &CPP))
}

/// Whether an entry of an archive is a source file in a language that is known, compiled or not.
pub(crate) fn is_source_file(name: &str) -> bool {
    is_code(name) || is_source(name) && language(name).is_some()
}

/// Files that are compiled in the same way; names are relative to the folder that stands for the root of the archive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct FileSet {
    pub(super) files: Vec<String>,
    pub(super) is_cpp: bool,
    /// Options of this set: language standard, definitions, others of its description.
    pub(super) options: Vec<String>,
    /// Folders of headers: `sources` first, as FMI says, then the folders of its description, then all others.
    pub(super) include_folders: Vec<String>,
}

/// Sources on disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Sources {
    pub(super) sets: Vec<FileSet>,
    /// Libraries that they need, as options of the linker.
    pub(super) libraries: Vec<String>,
    /// A file in another language, which is not compiled.
    pub(super) foreign: Option<String>,
    /// What users have to know about this choice.
    pub(super) notes: Vec<String>,
}

impl Sources {
    /// The files of `buildDescription.xml`, which FMI 2.0.4 (section 2.3) puts before the list of the model description; without
    /// it the files of that list; without both all files of the folder that no other file includes.
    ///
    /// # Errors
    /// Why they cannot be compiled.
    pub(super) fn of(model: &str, listed: &[String], root: &Path) -> Result<Self, String> {
        let mut all = BTreeSet::new();
        collect(root, Path::new(FOLDER), &mut all);
        if all.is_empty() {
            return Err("it has no sources".to_owned());
        }
        let mut sources = match build_description::read(root, model)? {
            Some(Configuration::Matching(sources)) => checked(sources, &all)?,
            found => {
                let files = match listed {
                    [] => unlisted(root, &all)?,
                    listed => files_of_list(listed, &all, "its description")?,
                };
                let notes = found.map(|_| build_description::no_match(model));
                Self {
                    sets: by_language(files, &FileSet::default()),
                    notes: notes.into_iter().collect(),
                    ..Self::default()
                }
            }
        };
        let headers = all
            .iter()
            .filter(|name| has_ending(name, &["h", "inc", "hpp", "hxx", "hh"]));
        let folders: BTreeSet<&str> = headers
            .filter_map(|name| Some(name.rsplit_once('/')?.0))
            .collect();
        for set in &mut sources.sets {
            let own = std::mem::take(&mut set.include_folders);
            let others = folders.iter().map(ToString::to_string);
            for folder in std::iter::once(FOLDER.to_owned()).chain(own).chain(others) {
                if !set.include_folders.contains(&folder) {
                    set.include_folders.push(folder);
                }
            }
        }
        sources.foreign = all.iter().find(|name| language(name).is_some()).cloned();
        Ok(sources)
    }
}

/// The language of a source file that is neither C nor C++.
fn language(name: &str) -> Option<&'static str> {
    let other = OTHERS.iter().find(|(endings, _)| has_ending(name, endings));
    other.map(|(_, language)| *language)
}

/// What can be done about a file in another language.
fn not_compiled(file: &str, language: &str) -> String {
    format!(
        "{file} is in {language}, and gyrator compiles C and C++ only: build the library with a compiler for {language}, and put it into \
         the FMU as binaries/{}/",
        platform::usual_folder()
    )
}

/// The sets of a build description with names that are relative to the root.
fn checked(mut sources: Sources, all: &BTreeSet<String>) -> Result<Sources, String> {
    let mut sets = Vec::new();
    for set in std::mem::take(&mut sources.sets) {
        let files = files_of_list(&set.files, all, build_description::FILE)?;
        let folders = set.include_folders.iter().map(|name| {
            let clean = clean_name(name).map_err(|reason| {
                format!(
                    "the folder {name:?} of {} {reason}",
                    build_description::FILE
                )
            })?;
            Ok(format!("{FOLDER}/{clean}"))
        });
        let folders: Result<Vec<String>, String> = folders.collect();
        let set = FileSet {
            include_folders: folders?,
            ..set
        };
        if set.is_cpp {
            sets.push(FileSet { files, ..set });
        } else {
            sets.extend(by_language(files, &set));
        }
    }
    Ok(Sources { sets, ..sources })
}

/// A set for the C files and one for the C++ files, as far as there are some.
fn by_language(files: Vec<String>, like: &FileSet) -> Vec<FileSet> {
    let (cpp, c) = files.into_iter().partition(|name| has_ending(name, &CPP));
    let sets = [(c, false), (cpp, true)].map(|(files, is_cpp): (Vec<String>, bool)| FileSet {
        files,
        is_cpp,
        ..like.clone()
    });
    sets.into_iter()
        .filter(|set| !set.files.is_empty())
        .collect()
}

/// The files of a list that can be compiled, each once. Headers in it are allowed.
fn files_of_list(
    listed: &[String],
    all: &BTreeSet<String>,
    whose: &str,
) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    for name in listed {
        let clean = clean_name(name)
            .map_err(|reason| format!("the source file {name:?} of {whose} {reason}"))?;
        let file = format!("{FOLDER}/{clean}");
        if !all.contains(&file) {
            return Err(format!("{whose} lists {name:?}, which is not in {FOLDER}/"));
        }
        if let Some(language) = language(&file) {
            return Err(not_compiled(&file, language));
        }
        if is_code(&file) && !files.contains(&file) {
            files.push(file);
        }
    }
    match files.is_empty() {
        true => Err(format!("{whose} lists no C or C++ file")),
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
        .filter(|name| is_code(name) && !is_included(name));
    let files: Vec<String> = files.cloned().collect();
    if !files.is_empty() {
        return Ok(files);
    }
    let mut others = all.iter().filter_map(|name| Some((name, language(name)?)));
    Err(match others.next() {
        Some((file, language)) => not_compiled(file, language),
        None => format!("there is no C or C++ file in {FOLDER}/"),
    })
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
        Sources::of("model", &listed, root.path())
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
        let [set] = &found.sets[..] else {
            panic!("{found:?}")
        };
        assert_eq!(set.files, ["sources/a.c", "sources/lib/b.c"]);
        assert_eq!(set.include_folders, ["sources", "sources/lib"]);
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
            sources(&files, &[]).unwrap().sets[0].files,
            ["sources/ball.c", "sources/x/y.c"]
        );
        assert!(sources(&[("sources/x/y.h", "")], &[]).is_err());
    }

    #[test]
    fn files_in_other_languages_are_named() {
        let wanted = |file: &str, language: &str| {
            format!(
                "{file} is in {language}, and gyrator compiles C and C++ only: build the library"
            )
        };
        for (file, language) in [
            ("sources/rk.f90", "Fortran"),
            ("sources/old/RK.FOR", "Fortran"),
            ("sources/rk.cu", "CUDA"),
        ] {
            let files = [(file, ""), ("sources/a.c", "")];
            let name = file.strip_prefix("sources/").unwrap();
            let error = sources(&files, &["a.c", name]).unwrap_err();
            assert!(error.starts_with(&wanted(file, language)), "{error}");
            let error = sources(&files[..1], &[]).unwrap_err();
            assert!(error.starts_with(&wanted(file, language)), "{error}");
            // Nothing says that it is needed.
            let found = sources(&files, &["a.c"]).unwrap();
            assert_eq!(found.foreign.as_deref(), Some(file));
        }
        assert_eq!(sources(&[("sources/a.c", "")], &[]).unwrap().foreign, None);
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
    }

    #[test]
    fn files_in_c_and_in_cpp_are_compiled_apart() {
        let files = [
            ("sources/a.c", ""),
            ("sources/b.cpp", ""),
            ("sources/c.cc", ""),
        ];
        let found = sources(&files, &[]).unwrap();
        let sets: Vec<(bool, &[String])> = found
            .sets
            .iter()
            .map(|set| (set.is_cpp, &set.files[..]))
            .collect();
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (c, cpp) = (
            names(&["sources/a.c"]),
            names(&["sources/b.cpp", "sources/c.cc"]),
        );
        assert_eq!(sets, [(false, &c[..]), (true, &cpp[..])]);
        assert!(is_code("sources/x/a.cxx") && !is_code("sources/a.h") && !is_code("a.c"));
    }

    #[test]
    fn a_build_description_comes_before_the_list() {
        let configuration = |model: &str, content: &str| {
            format!(
                "<fmiBuildDescription fmiVersion=\"3.0\"><BuildConfiguration modelIdentifier=\"{model}\">\
                 {content}</BuildConfiguration></fmiBuildDescription>"
            )
        };
        let read = |text: &str| {
            let files = [
                ("sources/a.c", ""),
                ("sources/lib/b.cpp", ""),
                ("sources/lib/b.hpp", ""),
                ("sources/more/x.y", ""),
                (build_description::FILE, text),
            ];
            sources(&files, &["a.c"])
        };
        let content = "<SourceFileSet language=\"C99\" compiler=\"gcc\" compilerOptions=\"-O1 -o/x\">\
             <SourceFile name=\"a.c\"/><PreprocessorDefinition name=\"A\" value=\"1 2\"/>\
             <PreprocessorDefinition name=\"B\" optional=\"true\"/></SourceFileSet>\
             <SourceFileSet language=\"C++17\" compiler=\"msvc\" compilerOptions=\"/O2\">\
             <SourceFile name=\"lib/b.cpp\"/><IncludeDirectory name=\"more\"/></SourceFileSet>\
             <Library name=\"z\" external=\"true\"/>";
        let found = read(&configuration("model", content)).unwrap();
        assert_eq!(found.sets[0].options, ["-std=gnu99", "-DA=1 2", "-O1"]);
        assert_eq!(found.sets[1].options, ["-std=gnu++17"]);
        assert!(found.sets[1].is_cpp && !found.sets[0].is_cpp);
        let folders = ["sources", "sources/more", "sources/lib"];
        assert_eq!(found.sets[1].include_folders, folders);
        assert_eq!(found.libraries, ["-lz"]);
        assert!(found.notes[0].contains("-o/x"), "{:?}", found.notes);

        let other = read(&configuration("another", content)).unwrap();
        assert_eq!(other.sets[0].files, ["sources/a.c"]);
        assert!(other.notes[0].contains("no configuration for model"));
        for (content, reason) in [
            (
                "<SourceFileSet><SourceFile name=\"../x.c\"/></SourceFileSet>",
                "leads out",
            ),
            (
                "<SourceFileSet><SourceFile name=\"gone.c\"/></SourceFileSet>",
                "not in sources/",
            ),
            (
                "<SourceFileSet><SourceFile/></SourceFileSet>",
                "has no name",
            ),
            ("", "lists no files"),
            (
                "<SourceFileSet><SourceFile name=\"a.c\"/></SourceFileSet><Library name=\"-x /\"/>",
                "no name of",
            ),
            (
                "<SourceFileSet><SourceFile name=\"a.c\"/><IncludeDirectory name=\"/etc\"/></SourceFileSet>",
                "absolute",
            ),
        ] {
            let error = read(&configuration("model", content)).unwrap_err();
            assert!(error.contains(reason), "{content}: {error}");
        }
        let broken = read("<fmiBuildDescription><a></fmiBuildDescription>").unwrap_err();
        assert!(
            broken.starts_with("sources/buildDescription.xml:1:"),
            "{broken}"
        );
    }
}
