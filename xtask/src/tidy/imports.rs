//! The graph of imports has no circle: between the modules of each package, and between the packages.
//!
//! A module is a file or folder directly under `src`. An arrow is a path that starts with `crate::`, to a module or to
//! a name that the root of the package takes from one; or a dependency of a manifest. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, TextFile};

/// Packages with circles that are not open yet. A line goes when its circle is open, and none is added.
pub(super) const EXCEPTIONS: &[&str] = &["crates/assess", "crates/benchmark"];

/// Nodes, and for each the nodes that it imports.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(files: &[TextFile], exceptions: &[&str]) -> Vec<Finding> {
    let inside = folders(files)
        .filter(|path| !exceptions.contains(path))
        .map(|path| (path, modules(files, path)));
    let between = ("Cargo.toml", packages(files));
    inside
        .chain([between])
        .filter_map(|(path, graph)| {
            let circle = circle(&graph)?;
            let message = format!(
                "{} import each other in a circle: move what they share below them",
                circle.join(", ")
            );
            Some(Finding::new(path, 0, message))
        })
        .collect()
}

/// The folders of the packages.
fn folders(files: &[TextFile]) -> impl Iterator<Item = &str> {
    let paths = files.iter().map(|file| file.path.as_str());
    paths.filter_map(|path| path.strip_suffix("/Cargo.toml"))
}

/// The modules of a crate and what they import of it.
pub(super) fn modules(files: &[TextFile], path: &str) -> Graph {
    let source = format!("{path}/src/");
    let mut graph = Graph::new();
    let root = files.iter().find(|file| {
        let inner = file.path.strip_prefix(&source);
        matches!(inner, Some("lib.rs" | "main.rs"))
    });
    let exports = root.map_or_else(BTreeMap::new, |file| exports(&file.text));
    for file in files
        .iter()
        .filter(|file| file.is_rust() && !file.is_test())
    {
        let Some(inner) = file.path.strip_prefix(&source) else {
            continue;
        };
        let module = inner.split('/').next().unwrap_or(inner);
        let module = module.trim_end_matches(".rs");
        if module == "lib" || module == "main" {
            continue;
        }
        graph
            .entry(module.to_owned())
            .or_default()
            .extend(imports(&file.text));
    }
    let known: BTreeSet<String> = graph.keys().cloned().collect();
    for (module, targets) in &mut graph {
        let resolved = std::mem::take(targets).into_iter();
        *targets = resolved
            .filter_map(|target| match known.contains(&target) {
                true => Some(target),
                false => exports.get(&target).cloned(),
            })
            .filter(|target| target != module && known.contains(target))
            .collect();
    }
    graph
}

/// The names that the root of a package takes from its modules, with these.
fn exports(root: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    let statements = code_of(root);
    for statement in statements.split("use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or(statement);
        let words = statement.split(|c: char| !is_part(c));
        let mut words = words.filter(|word| !matches!(*word, "" | "crate" | "self"));
        let Some(module) = words.next() else {
            continue;
        };
        exports.extend(words.map(|name| (name.to_owned(), module.to_owned())));
    }
    exports
}

/// A text without comments and without its tests.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The words that follow `crate::` in code that is not a test.
fn imports(text: &str) -> BTreeSet<String> {
    let code = code_of(text);
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(group) => {
                let mut depth = 0;
                for part in group.split_inclusive([',', '{', '}']) {
                    if depth == 0 {
                        found.extend(first_word(part.trim_start()));
                    }
                    match part.chars().last() {
                        Some('{') => depth += 1,
                        Some('}') if depth == 0 => break,
                        Some('}') => depth -= 1,
                        _ => {}
                    }
                }
            }
            None => found.extend(first_word(after)),
        }
    }
    found
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn first_word(text: &str) -> Option<String> {
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// The packages of the workspace and their dependencies on each other, but for tests' dependencies.
pub(super) fn packages(files: &[TextFile]) -> Graph {
    let manifests = files
        .iter()
        .filter(|file| file.path.ends_with("Cargo.toml"));
    let mut graph: Graph = manifests
        .filter_map(|file| {
            let table: toml::Table = file.text.parse().ok()?;
            let name = table.get("package")?.get("name")?.as_str()?.to_owned();
            let dependencies = ["dependencies", "build-dependencies"]
                .iter()
                .filter_map(|key| table.get(*key)?.as_table())
                .flat_map(|table| table.keys().cloned());
            Some((name, dependencies.collect()))
        })
        .collect();
    let known: BTreeSet<String> = graph.keys().cloned().collect();
    for targets in graph.values_mut() {
        targets.retain(|target| known.contains(target));
    }
    graph
}

/// The graph in layers, from the bottom up: each node imports from lower layers only. The nodes that are
/// left over form circles.
fn layers(graph: &Graph) -> (Vec<Vec<String>>, Vec<String>) {
    let mut left: BTreeSet<&String> = graph.keys().collect();
    let mut layers = Vec::new();
    loop {
        let free: Vec<String> = left
            .iter()
            .filter(|node| graph[**node].iter().all(|target| !left.contains(target)))
            .map(|node| (*node).clone())
            .collect();
        if free.is_empty() {
            return (layers, left.into_iter().cloned().collect());
        }
        left.retain(|node| !free.contains(node));
        layers.push(free);
    }
}

/// The nodes of a circle in their order; `None` if there is none.
fn circle(graph: &Graph) -> Option<Vec<String>> {
    let (_, left) = layers(graph);
    let mut path = vec![left.first()?.clone()];
    loop {
        let last = path.last()?;
        let next = graph[last].iter().find(|target| left.contains(target))?;
        if let Some(start) = path.iter().position(|node| node == next) {
            return Some(path.split_off(start));
        }
        path.push(next.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    use crate::tidy::{file, tracked_files};

    /// The graph as text: a line a layer, the top first, and a line an arrow.
    fn draw(name: &str, graph: &Graph) -> String {
        let (layers, left) = layers(graph);
        let mut text = format!("{name}: {} modules\n", graph.len());
        if !left.is_empty() {
            let _ = writeln!(text, "  in circles: {}", left.join(", "));
        }
        for (level, nodes) in layers.iter().enumerate().rev() {
            let _ = writeln!(text, "  {level:2}  {}", nodes.join(", "));
        }
        for (node, targets) in graph.iter().filter(|(_, targets)| !targets.is_empty()) {
            let targets: Vec<_> = targets.iter().map(String::as_str).collect();
            let _ = writeln!(text, "      {node} -> {}", targets.join(", "));
        }
        text
    }

    #[test]
    fn the_house_has_no_circle_of_imports() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let files = tracked_files(&root).unwrap();
        for path in folders(&files) {
            println!("{}", draw(path, &modules(&files, path)));
        }
        println!("{}", draw("workspace", &packages(&files)));
        assert_eq!(check(&files, EXCEPTIONS), []);
        for path in EXCEPTIONS {
            let graph = modules(&files, path);
            assert!(circle(&graph).is_some(), "{path} is no exception any more");
        }
    }

    #[test]
    fn circles_are_found_in_all_forms_of_paths() {
        let found = check(
            &[
                file("crates/a/Cargo.toml", ""),
                file(
                    "crates/a/src/lib.rs",
                    "mod x;\npub use x::X;\npub use z::{G, H as I};",
                ),
                file(
                    "crates/a/src/x.rs",
                    "use crate::{w, y::{T, U}};\n// crate::z",
                ),
                file("crates/a/src/y/mod.rs", "fn f(_: crate::I) {}"),
                file("crates/a/src/z.rs", "use crate::X;"),
                file(
                    "crates/a/src/w.rs",
                    "#[cfg(test)]\nmod tests { use crate::x; }",
                ),
            ],
            &[],
        );
        let messages: Vec<_> = found.iter().map(|f| f.message.as_str()).collect();
        assert_eq!(
            messages,
            ["x, y, z import each other in a circle: move what they share below them"]
        );
    }

    #[test]
    fn packages_may_depend_on_each_other_in_tests() {
        let a = "[package]\nname = \"a\"\n[dependencies]\nb = \"1\"\n";
        let b = "[package]\nname = \"b\"\n[dev-dependencies]\na = \"1\"\n";
        let files = [file("a/Cargo.toml", a), file("b/Cargo.toml", b)];
        assert_eq!(check(&files, &[]), []);
        let b = b.replace("dev-", "");
        let files = [file("a/Cargo.toml", a), file("b/Cargo.toml", &b)];
        assert_eq!(check(&files, &[]).len(), 1);
    }
}
