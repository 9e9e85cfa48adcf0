//! The release notes: the version's section of the changelog, and what the files are.

use std::path::{Path, PathBuf};

use super::{Dist, read, write as write_text};

/// Writes the notes.
pub(super) fn write(dist: &Dist, floor: &str, made: &[PathBuf]) -> Result<(), String> {
    let changelog = read(&dist.root.join("CHANGELOG.md"))?;
    let section = section(&changelog, &dist.version)
        .ok_or_else(|| format!("CHANGELOG.md has no section `## {}`", dist.version))?;
    let names = made.iter().filter_map(|path| Path::file_name(path));
    let names: Vec<String> = names
        .map(|name| format!("- `{}`", name.display()))
        .collect();
    let (version, commit) = (&dist.version, &dist.commit);
    let text = format!(
        "# gyrator {version}\n\n{section}\n\n## Files\n\nFor Linux on x86-64 with glibc {floor} or later, of commit {commit}. `docs/install.md` says how you install each.\n\n{}\n- `SHA256SUMS`: `sha256sum --check SHA256SUMS`\n",
        names.join("\n")
    );
    write_text(&dist.files.join("RELEASE-NOTES.md"), &text)
}

/// The text below the heading of a version.
fn section<'a>(changelog: &'a str, version: &str) -> Option<&'a str> {
    let heading = format!("\n## {version}\n");
    let (_, rest) = changelog.split_once(&heading)?;
    Some(rest.split("\n## ").next().unwrap_or(rest).trim())
}

#[cfg(test)]
mod tests {
    use super::section;

    #[test]
    fn a_section_ends_before_the_next_heading() {
        let changelog = "# Changelog\n\n## Unreleased\n\n- c\n\n## 0.2.0\n\n### Added\n\n- b\n\n## 0.1.0\n\n- a\n";
        assert_eq!(section(changelog, "0.2.0"), Some("### Added\n\n- b"));
        assert_eq!(section(changelog, "0.1.0"), Some("- a"));
        assert_eq!(section(changelog, "0.1"), None);
    }
}
