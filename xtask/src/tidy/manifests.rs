//! Every published crate says what it is.

use super::{Finding, TextFile};

pub(super) fn check(files: &[TextFile]) -> Vec<Finding> {
    let manifests = files
        .iter()
        .filter(|file| file.path.starts_with("crates/") && file.path.ends_with("/Cargo.toml"));
    manifests
        .filter_map(|file| problem(file).map(|it| Finding::new(&file.path, 0, it)))
        .collect()
}

fn problem(manifest: &TextFile) -> Option<String> {
    let table: toml::Table = match manifest.text.parse() {
        Ok(table) => table,
        Err(error) => return Some(format!("not TOML: {error}")),
    };
    let description = table
        .get("package")
        .and_then(|package| package.get("description"));
    match description.and_then(toml::Value::as_str) {
        Some(text) if !text.trim().is_empty() => None,
        _ => Some("the package has no description".to_owned()),
    }
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
                "[package]\ndescription = \"Reads c files\"\n",
            ),
            file("xtask/Cargo.toml", "[package]\n"),
        ]);
        let paths: Vec<_> = found.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, ["crates/a/Cargo.toml", "crates/b/Cargo.toml"]);
    }
}
