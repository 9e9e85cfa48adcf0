//! Links lead somewhere: to files of the repository, and to headings in them. No network is asked.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use crate::page::{Page, pages, root};

/// Texts at the root that pages link to, and are linked from.
const AT_ROOT: [&str; 4] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "DESIGN.md",
    "CHANGELOG.md",
];

#[test]
fn links_lead_to_files_and_headings() {
    let mut all = pages();
    all.extend(AT_ROOT.iter().map(|name| Page::read(&root().join(name))));
    let by_path: BTreeMap<&str, &Page> =
        all.iter().map(|page| (page.path.as_str(), page)).collect();
    let mut broken = Vec::new();
    for page in &all {
        for (line, link) in &page.links {
            if let Some(reason) = fault(page, link, &by_path) {
                broken.push(format!("{}:{line}: {link}: {reason}", page.path));
            }
        }
    }
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
}

fn fault(page: &Page, link: &str, pages: &BTreeMap<&str, &Page>) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => PathBuf::from(&page.path),
        path => normal(&Path::new(&page.path).with_file_name(path)),
    };
    if !root().join(&target).exists() {
        return Some("there is no such file");
    }
    if anchor.is_empty() {
        return None;
    }
    if target.extension().is_none_or(|ending| ending != "md") {
        return Some("this file is no page with headings");
    }
    let has_anchor = match pages.get(target.to_str()?) {
        Some(known) => known.anchors.contains(anchor),
        None => Page::read(&root().join(&target)).anchors.contains(anchor),
    };
    (!has_anchor).then_some("there is no such heading")
}

/// The path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            Component::CurDir => {}
            other => parts.push(other),
        }
    }
    parts
}

/// The book has every page of `docs/` once.
#[test]
fn every_page_is_in_the_book() {
    let summary = Page::read(&root().join("docs/SUMMARY.md"));
    let mut listed: Vec<String> = summary
        .links
        .iter()
        .map(|(_, link)| format!("docs/{}", link.trim_start_matches("./")))
        .collect();
    listed.sort();
    let is_chapter = |path: &String| path.starts_with("docs/") && path != "docs/SUMMARY.md";
    let written: Vec<String> = pages()
        .into_iter()
        .map(|page| page.path)
        .filter(is_chapter)
        .collect();
    assert_eq!(
        listed, written,
        "each page of docs/ is a line of docs/SUMMARY.md"
    );
}
