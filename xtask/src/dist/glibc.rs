//! The oldest glibc that files run with, read from the versions of the symbols that they need.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{GLIBC, contents, text};

/// The newest version of glibc that a library or program below some folders needs.
pub(super) fn needed_by(folders: &[&Path]) -> Result<String, String> {
    let mut binaries: Vec<PathBuf> = Vec::new();
    for folder in folders {
        contents::visit(folder, &mut |file, bytes| {
            if bytes.starts_with(b"\x7fELF") {
                binaries.push(file.to_owned());
            }
        })?;
    }
    let mut newest = Version(Vec::new());
    for binary in &binaries {
        let listed = text(
            Command::new("readelf")
                .args(["--wide", "--version-info"])
                .arg(binary),
        )?;
        let needed = needed(&listed);
        if needed > version(GLIBC) {
            return Err(format!(
                "{} needs glibc {needed}, newer than {GLIBC}",
                binary.display()
            ));
        }
        newest = newest.max(needed);
    }
    Ok(newest.to_string())
}

/// Numbers of a version, the first one first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Version(Vec<u32>);

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.write_str(&numbers.join("."))
    }
}

fn version(text: &str) -> Version {
    Version(
        text.split('.')
            .map_while(|number| number.parse().ok())
            .collect(),
    )
}

/// The newest version of glibc in what `readelf --version-info` lists.
fn needed(listed: &str) -> Version {
    let words = listed.split_whitespace();
    let versions = words
        .filter_map(|word| word.strip_prefix("GLIBC_"))
        .map(version);
    versions.max().unwrap_or(Version(Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_found_by_its_numbers() {
        let listed = "  0x0010:   Name: GLIBC_2.9  Flags: none  Version: 4\n  0x0020:   Name: GLIBC_2.28  Flags: none\n  0x0030:   Name: GLIBC_2.3.4\n  0x0040: Name: GCC_3.0";
        assert_eq!(needed(listed).to_string(), "2.28");
        assert!(needed("Name: GLIBC_2.34") > version(GLIBC));
        assert!(needed("no versions") < version("2.0"));
    }
}
