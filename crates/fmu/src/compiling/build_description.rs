//! `sources/buildDescription.xml`: which files are compiled with which definitions (FMI 2.0.4 section 2.3, in the form of
//! FMI 3.0 section 2.5.1.4).

use std::path::Path;

use super::sources::{FileSet, Sources};
use crate::platform;
use crate::xml::{self, Document, Node};

/// Name of the file.
pub(super) const FILE: &str = "sources/buildDescription.xml";

/// What there is for a model.
pub(super) enum Configuration {
    /// File names are relative to `sources`.
    Matching(Sources),
    /// None for this model and platform.
    Missing,
}

/// The message that no configuration fits.
pub(super) fn no_match(model: &str) -> String {
    format!("{FILE} has no configuration for {model} on this platform: it is not used")
}

/// The configuration for a model, if the file is there.
///
/// # Errors
/// If the file cannot be understood.
pub(super) fn read(root: &Path, model: &str) -> Result<Option<Configuration>, String> {
    let bytes = match std::fs::read(root.join(FILE)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{FILE}: {error}")),
    };
    let text = crate::encoding::decode_file(FILE, &bytes, &mut Vec::new());
    let document = Document::parse_leniently(&text).map_err(|error| {
        let place = xml::position(&text, error.offset);
        format!("{FILE}:{}:{}: {}", place.line, place.column, error.message)
    })?;
    let root = document.root();
    if document.local_name(root) != "fmiBuildDescription" {
        return Err(format!("{FILE} is no fmiBuildDescription"));
    }
    let configurations = document.children_named(root, "BuildConfiguration");
    let own = configurations.filter(|node| document.value(*node, "modelIdentifier") == Some(model));
    let own: Vec<Node> = own.collect();
    let of_platform = own.iter().find(|node| {
        let platform = document.value(**node, "platform");
        platform.is_some_and(|name| platform::FOLDERS.contains(&name))
    });
    let of_all = || {
        own.iter()
            .find(|node| document.value(**node, "platform").is_none())
    };
    match of_platform.or_else(of_all) {
        Some(node) => Ok(Some(Configuration::Matching(sources(&document, *node)?))),
        None => Ok(Some(Configuration::Missing)),
    }
}

fn sources(document: &Document<'_>, configuration: Node) -> Result<Sources, String> {
    let mut sources = Sources::default();
    for set in document.children_named(configuration, "SourceFileSet") {
        sources
            .sets
            .push(file_set(document, set, &mut sources.notes)?);
    }
    if sources.sets.is_empty() {
        return Err(format!("{FILE} lists no files"));
    }
    for library in document.children_named(configuration, "Library") {
        let name = name_of(document, library)?;
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_+-.".contains(&byte);
        if !name.bytes().all(is_plain) {
            return Err(format!("{FILE}: {name:?} is no name of a library"));
        }
        sources.libraries.push(format!("-l{name}"));
    }
    Ok(sources)
}

fn file_set(
    document: &Document<'_>,
    node: Node,
    notes: &mut Vec<String>,
) -> Result<FileSet, String> {
    let names = |kind: &str| -> Result<Vec<String>, String> {
        let children = document.children_named(node, kind);
        children.map(|child| name_of(document, child)).collect()
    };
    let (is_cpp, standard) = language(document.value(node, "language").unwrap_or_default());
    let mut options: Vec<String> = standard.into_iter().collect();
    for child in document.children_named(node, "PreprocessorDefinition") {
        options.extend(definition(document, child)?);
    }
    let is_ours = document.value(node, "compiler").is_none_or(is_alike);
    let given = document.value(node, "compilerOptions").unwrap_or_default();
    for option in given.split_whitespace().filter(|_| is_ours) {
        if is_harmless(option) {
            options.push(option.to_owned());
        } else {
            notes.push(format!(
                "{FILE}: the compiler is called without the option {option}"
            ));
        }
    }
    Ok(FileSet {
        files: names("SourceFile")?,
        is_cpp,
        options,
        include_folders: names("IncludeDirectory")?,
    })
}

fn name_of(document: &Document<'_>, node: Node) -> Result<String, String> {
    let name = document.value(node, "name").map(str::to_owned);
    name.ok_or_else(|| format!("{FILE}: a {} has no name", document.name(node)))
}

/// Whether a language is C++, and the option for its standard, with the extensions that sources of the time use.
fn language(name: &str) -> (bool, Option<String>) {
    let name = name.trim().to_ascii_lowercase();
    let (is_cpp, year) = match name.strip_prefix("c++") {
        Some(year) => (true, year),
        None => (false, name.strip_prefix('c').unwrap_or_default()),
    };
    let known: &[&str] = match is_cpp {
        true => &["98", "03", "11", "14", "17", "20"],
        false => &["89", "90", "99", "11", "17"],
    };
    let language = if is_cpp { "gnu++" } else { "gnu" };
    let standard = known
        .contains(&year)
        .then(|| format!("-std={language}{year}"));
    (is_cpp, standard)
}

/// The option for a definition. An optional one without a value is a choice of the user, and left out.
fn definition(document: &Document<'_>, node: Node) -> Result<Option<String>, String> {
    let name = name_of(document, node)?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty() || !name.bytes().all(is_plain) {
        return Err(format!("{FILE}: {name:?} is no name of a definition"));
    }
    let is_optional = matches!(document.value(node, "optional"), Some("true" | "1"));
    Ok(match document.value(node, "value") {
        Some(value) => Some(format!("-D{name}={value}")),
        None if is_optional => None,
        None => Some(format!("-D{name}")),
    })
}

/// Whether a compiler has the options of GCC.
fn is_alike(compiler: &str) -> bool {
    let name = compiler.to_ascii_lowercase();
    let words = ["gcc", "g++", "clang", "gnu"];
    words.iter().any(|word| name.contains(word)) || name == "cc" || name == "c++"
}

/// Whether an option changes the code only: none that names files or further programs.
fn is_harmless(option: &str) -> bool {
    let is_short = ["-ansi", "-pedantic", "-pthread", "-w", "-g", "-fPIC"].contains(&option);
    let beginnings = ["-std=", "-O", "-D", "-U", "-f", "-m", "-W"];
    let is_known = beginnings
        .iter()
        .any(|beginning| option.starts_with(beginning) && option.len() > beginning.len());
    let passes_on = ["-Wl,", "-Wa,", "-Wp,", "-fplugin"];
    is_short
        || (is_known || option == "-O")
            && !option.contains('/')
            && !passes_on
                .iter()
                .any(|beginning| option.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn languages_have_options() {
        assert_eq!(language("C99"), (false, Some("-std=gnu99".to_owned())));
        assert_eq!(language("C++11"), (true, Some("-std=gnu++11".to_owned())));
        assert_eq!(language("C++"), (true, None));
        assert_eq!(language(""), (false, None));
        assert_eq!(language("C"), (false, None));
    }

    #[test]
    fn options_name_no_files_and_no_programs() {
        for option in [
            "-O3",
            "-O",
            "-ffast-math",
            "-mavx2",
            "-DX=1",
            "-Wno-unused",
            "-std=c11",
        ] {
            assert!(is_harmless(option), "{option}");
        }
        for option in [
            "-o",
            "-D",
            "@file",
            "-I/etc",
            "-fplugin=x",
            "-Wl,-rpath,x",
            "-B.",
            "-specs=x",
            "/O2",
            "x.c",
        ] {
            assert!(!is_harmless(option), "{option}");
        }
        assert!(is_alike("gcc-13") && is_alike("Clang++") && !is_alike("msvc"));
    }
}
