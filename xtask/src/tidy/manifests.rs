//! Every crate has a description; those that are published have the keys that a registry needs. ARCHITECTURE.md
//! has the dependencies between the packages.

use std::collections::BTreeMap;

use super::{Finding, TextFile};

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let manifests = files.iter().filter(|file| {
        let is_ours = file.path.starts_with("crates/") || file.path.starts_with("fmus/");
        is_ours && file.path.ends_with("/Cargo.toml")
    });
    let problems =
        manifests.filter_map(|file| problem(file).map(|it| Finding::new(&file.path, 0, it)));
    problems.chain(wrong_dependencies(files)).collect()
}

/// Beginning of the line of ARCHITECTURE.md that has the dependencies.
const BEGINNING: &str = "Dependencies: ";

fn wrong_dependencies(files: &[TextFile]) -> Option<Finding> {
    let page = files.iter().find(|file| file.path == "ARCHITECTURE.md")?;
    let lines = (1..).zip(page.text.lines());
    let mut lines =
        lines.filter_map(|(number, line)| Some((number, line.strip_prefix(BEGINNING)?)));
    let (number, line) = lines.next()?;
    let actual = dependencies(files);
    (line != actual).then(|| Finding::new(&page.path, number, format!("they are: {actual}")))
}

/// Each package with its dependencies in this repository, by their folders.
fn dependencies(files: &[TextFile]) -> String {
    let manifests = files.iter().filter_map(|file| {
        let folder = file.path.strip_suffix("/Cargo.toml")?;
        let table: toml::Table = file.text.parse().ok()?;
        let name = table.get("package")?.get("name")?.as_str()?.to_owned();
        let folder = folder.strip_prefix("crates/").unwrap_or(folder).to_owned();
        Some((name, (folder, table)))
    });
    let packages: BTreeMap<String, (String, toml::Table)> = manifests.collect();
    let arrow = |(folder, table): &(String, toml::Table)| {
        let targets = table.get("target").and_then(toml::Value::as_table);
        let targets = targets.into_iter().flat_map(|targets| targets.values());
        let tables = std::iter::once(table).chain(targets.filter_map(toml::Value::as_table));
        let names = tables.filter_map(|table| table.get("dependencies")?.as_table());
        let names = names.flat_map(toml::Table::keys);
        let folders = names.filter_map(|name| Some(packages.get(name)?.0.as_str()));
        let mut folders: Vec<&str> = folders.filter(|name| *name != "workspace-hack").collect();
        folders.sort_unstable();
        folders.dedup();
        (!folders.is_empty()).then(|| format!("`{folder} → {}`", folders.join(", ")))
    };
    let mut arrows: Vec<String> = packages.values().filter_map(arrow).collect();
    arrows.sort_unstable();
    arrows.join("; ")
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
    fn the_page_has_the_dependencies() {
        let one = "[package]\nname = \"one\"\ndescription = \"One\"\npublish = false\n\
                   [target.'cfg(unix)'.dependencies]\ntwo.workspace = true\n";
        let two = "[package]\nname = \"two\"\ndescription = \"Two\"\npublish = false\n\
                   [dependencies]\nserde = \"1\"\n";
        let check_page = |arrows: &str| {
            check(&[
                file("ARCHITECTURE.md", &format!("# A\n{BEGINNING}{arrows}\n")),
                file("crates/one/Cargo.toml", one),
                file("fmus/two/Cargo.toml", two),
            ])
        };
        assert!(check_page("`one → fmus/two`").is_empty());
        let found = check_page("");
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("one → fmus/two"), "{found:?}");
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
