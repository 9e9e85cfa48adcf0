//! A page of the documentation, cut into the parts that are tested.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// A page in Markdown.
pub(crate) struct Page {
    /// Path from the root of the repository.
    pub(crate) path: String,
    pub(crate) blocks: Vec<Block>,
    /// Targets of links and pictures, with their lines.
    pub(crate) links: Vec<(usize, String)>,
    /// Names by which links lead to headings.
    pub(crate) anchors: BTreeSet<String>,
}

/// A fenced block of code, or a comment `<!-- setup: … -->` with commands that prepare the next ones.
pub(crate) struct Block {
    pub(crate) line: usize,
    pub(crate) language: String,
    attributes: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Block {
    /// The value of an attribute of the info string, such as `file=system.toml`.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// The root of the repository.
pub(crate) fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap()
}

/// README, all pages of `docs/` and the gallery's.
pub(crate) fn pages() -> Vec<Page> {
    let mut paths = vec![root().join("README.md")];
    for folder in ["docs", "examples"] {
        collect(&root().join(folder), &mut paths);
    }
    paths.sort();
    paths.iter().map(|path| Page::read(path)).collect()
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            found.push(path);
        }
    }
}

impl Page {
    /// Reads a page.
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let path = path.strip_prefix(root()).unwrap();
        Self::parse(path.to_str().unwrap(), &text)
    }

    fn parse(path: &str, text: &str) -> Self {
        let mut page = Self {
            path: path.to_owned(),
            blocks: Vec::new(),
            links: Vec::new(),
            anchors: BTreeSet::new(),
        };
        let mut heading: Option<String> = None;
        let mut in_code = false;
        let options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
        for (event, place) in Parser::new_ext(text, options).into_offset_iter() {
            let line = text[..place.start].matches('\n').count() + 1;
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                    in_code = true;
                    page.blocks.push(block(line, &info));
                }
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Text(part) if in_code => {
                    page.blocks.last_mut().unwrap().text.push_str(&part);
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    page.links.push((line, dest_url.into_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.add_anchor(&heading.take().unwrap()),
                Event::Text(part) | Event::Code(part) => {
                    heading
                        .iter_mut()
                        .for_each(|heading| heading.push_str(&part));
                }
                Event::Html(html) => page.add_setup(line, &html),
                _ => {}
            }
        }
        page
    }

    fn add_setup(&mut self, line: usize, html: &str) {
        let commands = html.trim().strip_prefix("<!-- setup:");
        if let Some(commands) = commands.and_then(|rest| rest.strip_suffix("-->")) {
            let mut block = block(line, "setup");
            block.text = format!("{}\n", commands.trim());
            self.blocks.push(block);
        }
    }

    /// As GitHub and mdBook name a heading: in small letters, without punctuation, with hyphens for spaces.
    fn add_anchor(&mut self, heading: &str) {
        let letter = |letter: char| match letter {
            ' ' => Some('-'),
            '-' | '_' => Some(letter),
            other => other.is_alphanumeric().then_some(other),
        };
        let slug: String = heading.to_lowercase().chars().filter_map(letter).collect();
        let mut name = slug.clone();
        let mut number = 0;
        while !self.anchors.insert(name.clone()) {
            number += 1;
            name = format!("{slug}-{number}");
        }
    }
}

/// `sh no-run="it takes an hour"`: a language and attributes.
fn block(line: usize, info: &str) -> Block {
    let (language, mut rest) = info.trim().split_once(' ').unwrap_or((info.trim(), ""));
    let mut attributes = Vec::new();
    while let Some((name, after)) = rest.trim_start().split_once('=') {
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(' ').unwrap_or((after, "")),
        };
        attributes.push((name.to_owned(), value.to_owned()));
        rest = after;
    }
    Block {
        line,
        language: language.to_owned(),
        attributes,
        text: String::new(),
    }
}

#[test]
fn a_page_is_cut_into_its_parts() {
    let text = "# One `two` (three)\n\n# One two three\n\n<!-- setup: cp a b -->\n\n\
                ```sh no-run=\"an hour\" file=x\nls\n```\n\n[a](b.md#c) ![d](e.svg)\n";
    let page = Page::parse("page.md", text);
    let anchors: Vec<&str> = page.anchors.iter().map(String::as_str).collect();
    assert_eq!(anchors, ["one-two-three", "one-two-three-1"]);
    let links: Vec<&str> = page.links.iter().map(|(_, link)| link.as_str()).collect();
    assert_eq!(links, ["b.md#c", "e.svg"]);
    let [setup, block] = &page.blocks[..] else {
        panic!("{}", page.blocks.len());
    };
    assert_eq!(
        (setup.language.as_str(), setup.text.as_str()),
        ("setup", "cp a b\n")
    );
    assert_eq!((block.line, block.text.as_str()), (7, "ls\n"));
    assert_eq!(block.attribute("no-run"), Some("an hour"));
    assert_eq!(block.attribute("file"), Some("x"));
}
