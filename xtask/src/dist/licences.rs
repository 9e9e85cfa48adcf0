//! The licences of all crates that the programs are made of, with their texts.
//!
//! By `cargo-bundle-licenses`, in 3 s. `cargo-about` searches each source file, for more than four minutes, and would fill in texts that crates
//! lack. Here each text is written once.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::{Dist, read, run_to_end, write as write_text};

const HEAD: &str = "gyrator: MIT OR Apache-2.0, at your option.

Its programs and libraries contain crates with the licences below, the standard library of Rust (MIT OR Apache-2.0), and libunwind and
compiler-rt of LLVM (Apache-2.0 WITH LLVM-exception). Where a crate gives a choice, all its licences are listed.
";

/// Writes the texts into one file.
pub(super) fn write(dist: &Dist) -> Result<PathBuf, String> {
    // The crates of the programs and of the extension module for Python, which has a few more.
    let mut lists = Vec::new();
    for package in ["crates/cli", "python"] {
        let list = dist.work.join("licences.json");
        let mut bundle = dist.command("cargo-bundle-licenses");
        bundle
            .current_dir(dist.root.join(package))
            .env("RUST_LOG", "error");
        bundle
            .args(["bundle-licenses", "--format", "json", "--output"])
            .arg(&list);
        run_to_end(&mut bundle)?;
        lists.push(read(&list)?);
    }
    let file = dist.work.join("copyright");
    write_text(&file, &texts(&lists)?)?;
    Ok(file)
}

/// Each text once, after the crates that it belongs to.
fn texts(lists: &[String]) -> Result<String, String> {
    let mut crates_by_text: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for list in lists {
        let list: Value =
            serde_json::from_str(list).map_err(|error| format!("licences: {error}"))?;
        let crates = list["third_party_libraries"].as_array();
        for of_crate in crates.ok_or("licences: no list of crates")? {
            let word = |key: &str| of_crate[key].as_str().unwrap_or_default();
            let name = format!(
                "{} {}: {}",
                word("package_name"),
                word("package_version"),
                word("license")
            );
            for licence in of_crate["licenses"].as_array().into_iter().flatten() {
                let text = match licence["text"].as_str().unwrap_or_default() {
                    "" | "NOT FOUND" => {
                        format!("The crate has no text of it: {}", word("repository"))
                    }
                    text => text.trim_end().to_owned(),
                };
                let names = crates_by_text.entry(text).or_default();
                if !names.contains(&name) {
                    names.push(name.clone());
                }
            }
        }
    }
    let mut page = HEAD.to_owned();
    for (text, mut names) in crates_by_text {
        names.sort_unstable();
        let line = "-".repeat(80);
        page.push_str(&format!("\n{line}\n{}\n{line}\n{text}\n", names.join("\n")));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::texts;

    #[test]
    fn a_text_stands_once_after_its_crates() {
        let of = |name: &str, text: &str| {
            format!(
                r#"{{"package_name": "{name}", "package_version": "1.0", "license": "MIT", "repository": "place", "licenses": [{{"license": "MIT", "text": "{text}"}}]}}"#
            )
        };
        let list =
            |crates: &[String]| format!(r#"{{"third_party_libraries": [{}]}}"#, crates.join(","));
        let lists = [
            list(&[of("b", "As is."), of("a", "As is."), of("c", "NOT FOUND")]),
            list(&[of("a", "As is.")]),
        ];
        let page = texts(&lists).unwrap();
        assert_eq!(page.matches("As is.").count(), 1);
        assert!(page.contains("\na 1.0: MIT\nb 1.0: MIT\n"));
        assert!(page.contains("no text of it: place"));
    }
}
