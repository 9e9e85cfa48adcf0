//! Types of the engine stay small: no more methods than an engineer keeps in mind, and all of them in the
//! file of the type or in its folder.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, TextFile};

/// Greatest number of methods of a type.
const MOST: usize = 25;

/// The inherent `impl` blocks of one type.
#[derive(Default)]
struct Blocks {
    methods: usize,
    files: BTreeSet<String>,
}

pub(super) fn check(files: &[TextFile], source: &str) -> Vec<Finding> {
    let mut types: BTreeMap<String, Blocks> = BTreeMap::new();
    let mut defined: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
    {
        let Some(inner) = file.path.strip_prefix(source) else {
            continue;
        };
        let code = file
            .text
            .split("#[cfg(test)]\nmod tests")
            .next()
            .unwrap_or("");
        for line in code.lines() {
            if let Some(name) = definition(line) {
                defined.entry(name).or_default().insert(inner.to_owned());
            }
        }
        for (name, methods) in blocks(code) {
            let known = types.entry(name).or_default();
            known.methods += methods;
            known.files.insert(inner.to_owned());
        }
    }
    let mut findings = Vec::new();
    for (name, blocks) in &types {
        let places = defined.get(name).into_iter().flatten();
        let folders: BTreeSet<&str> = places.clone().map(|file| folder(file)).collect();
        let far = blocks
            .files
            .iter()
            .find(|file| !folders.contains(folder(file)));
        if let Some(file) = far {
            let message =
                format!("methods of `{name}` stand outside its folder: make them functions");
            findings.push(Finding::new(&format!("{source}{file}"), 0, message));
        }
        // Names that several files define are counted together only if they share a folder.
        if folders.len() == 1 && places.count() == 1 && blocks.methods > MOST {
            let message = format!(
                "`{name}` has {} methods, more than {MOST}: split the type, or make functions of them",
                blocks.methods
            );
            let path = blocks.files.first().map_or("", String::as_str);
            findings.push(Finding::new(&format!("{source}{path}"), 0, message));
        }
    }
    findings
}

/// The top module of a file: `a` of `a.rs`, `a/mod.rs` and `a/b.rs`.
fn folder(file: &str) -> &str {
    let top = file.split('/').next().unwrap_or(file);
    top.trim_end_matches(".rs")
}

/// The name of the type that a line begins to define.
fn definition(line: &str) -> Option<String> {
    let rest = line.strip_prefix("pub(crate) ").unwrap_or(line);
    let rest = rest.strip_prefix("pub(super) ").unwrap_or(rest);
    let rest = rest.strip_prefix("pub ").unwrap_or(rest);
    let keywords = ["struct ", "enum ", "trait "];
    let rest = keywords
        .iter()
        .find_map(|keyword| rest.strip_prefix(keyword))?;
    Some(word(rest))
}

fn word(text: &str) -> String {
    let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    text.chars().take_while(is_part).collect()
}

/// The inherent `impl` blocks of formatted code: type and number of methods.
fn blocks(code: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut is_open = false;
    for line in code.lines() {
        if let Some(rest) = line.strip_prefix("impl") {
            let rest = after_generics(rest);
            is_open = !rest.contains(" for ");
            if is_open {
                found.push((word(rest.trim_start().trim_start_matches("dyn ")), 0));
            }
        } else if line == "}" {
            is_open = false;
        } else if is_open && line.starts_with("    ") && !line.starts_with("     ") {
            let is_method = line.split_whitespace().any(|part| part == "fn");
            if let (true, Some(last)) = (is_method, found.last_mut()) {
                last.1 += 1;
            }
        }
    }
    found
}

/// The text behind the parameters in angle brackets with which it may begin.
fn after_generics(text: &str) -> &str {
    if !text.starts_with('<') {
        return text;
    }
    let mut depth = 0;
    let mut previous = ' ';
    for (place, letter) in text.char_indices() {
        match letter {
            '<' => depth += 1,
            // The arrow of a function type closes nothing.
            '>' if previous != '-' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[place + 1..];
        }
        previous = letter;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    #[test]
    fn methods_are_counted_over_the_files_of_a_folder() {
        let many = |count: usize| {
            let methods: String = (0..count)
                .map(|i| format!("    pub(crate) fn m{i}(&self) {{}}\n"))
                .collect();
            format!("impl A {{\n{methods}}}\n")
        };
        let at = |count: usize| {
            [
                file("x/a/mod.rs", &format!("pub struct A;\n{}", many(20))),
                file("x/a/b.rs", &many(count)),
                file("x/a/c.rs", "impl B for A {\n    fn m(&self) {}\n}\n"),
            ]
        };
        assert_eq!(check(&at(5), "x/"), []);
        let found = check(&at(6), "x/");
        assert_eq!(found.len(), 1);
        assert!(found[0].message.contains("26 methods"), "{found:?}");
    }

    #[test]
    fn methods_outside_the_folder_of_a_type_are_found() {
        let found = check(
            &[
                file("x/a.rs", "pub(crate) struct A<T> {}\n"),
                file(
                    "x/b.rs",
                    "impl<T: Fn(B<u8>) -> u8> A<T> {\n    fn m() {}\n}\n",
                ),
            ],
            "x/",
        );
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].path, "x/b.rs");
    }
}
