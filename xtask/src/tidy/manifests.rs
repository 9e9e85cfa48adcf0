//! Every crate says what it is; those that are published have what a registry asks for.

use super::{Finding, TextFile};

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let manifests = files.iter().filter(|file| {
        let is_ours = file.path.starts_with("crates/") || file.path.starts_with("fmus/");
        is_ours && file.path.ends_with("/Cargo.toml")
    });
    manifests
        .filter_map(|file| problem(file).map(|it| Finding::new(&file.path, 0, it)))
        .collect()
}

/// Keys that the manifest of a published package needs besides its description.
const PUBLISHED: [&str; 5] = ["categories", "keywords", "license", "readme", "repository"];

fn problem(manifest: &TextFile) -> Option<String> {
    let table: toml::Table = match manifest.text.parse() {
        Ok(table) => table,
        Err(error) => return Some(format!("not TOML: {error}")),
    };
    let package = |key| table.get("package").and_then(|package| package.get(key));
    let description = package("description").and_then(toml::Value::as_str);
    if description.is_none_or(|text| text.trim().is_empty()) {
        return Some("the package has no description".to_owned());
    }
    if package("publish") == Some(&toml::Value::Boolean(false)) {
        return None;
    }
    let missing = PUBLISHED.iter().find(|key| package(key).is_none())?;
    Some(format!(
        "the package is published and has no {missing}: add it, or `publish = false`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn a_missing_or_empty_description_is_found() {
        let found = check(&[
            file("crates/a/Cargo.toml", "[package]\nname = \"a\"\n"),
            file("crates/b/Cargo.toml", "[package]\ndescription = \"\"\n"),
            file(
                "crates/c/Cargo.toml",
                "[package]\ndescription = \"Reads c files\"\npublish = false\n",
            ),
            file("xtask/Cargo.toml", "[package]\n"),
        ]);
        let paths: Vec<_> = found.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/Cargo.toml", "crates/b/Cargo.toml"]);
    }

    #[test]
    fn a_published_package_has_what_a_registry_asks_for() {
        let text = "[package]\ndescription = \"Reads\"\nlicense = \"MIT\"\n\
                    keywords = []\ncategories = []\nreadme = \"README.md\"\n";
        let found = check(&[file("fmus/a/Cargo.toml", text)]);
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("repository"), "{found:?}");
    }
}
