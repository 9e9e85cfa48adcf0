//! The graph of imports has no circle: between the modules of the listed crates, and between the crates.
//!
//! A module is a file or folder directly under `src`. An arrow is a path that starts with `crate::`, or a
//! dependency of a manifest. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, TextFile};

/// Crates whose modules form layers. A crate is added here once its circles are open.
pub(super) const CRATES: &[&str] = &[
    "crates/cli",
    "crates/h-infinity",
    "crates/master",
    "crates/ssp",
    "crates/system",
    "crates/testkit",
    "crates/worker",
];

/// Nodes, and for each the nodes that it imports.
pub(super) type Graph = BTreeMap<String, BTreeSet<String>>;

pub(super) fn check(files: &[TextFile], crates: &[&str]) -> Vec<Finding> {
    let inside = crates.iter().map(|path| (*path, modules(files, path)));
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

/// The modules of a crate and what they import of it.
pub(super) fn modules(files: &[TextFile], path: &str) -> Graph {
    let source = format!("{path}/src/");
    let mut graph = Graph::new();
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
        targets.retain(|target| target != module && known.contains(target));
    }
    graph
}

/// The modules that paths with `crate::` name, in code that is not a test.
fn imports(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or(text);
    let lines = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(line));
    let code = lines.collect::<Vec<_>>().join("\n");
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

fn first_word(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let end = text.find(|c| !is_part(c)).unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

/// The packages of the workspace and their dependencies on each other, but for those of tests.
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

/// The nodes of a circle in their order; `None` where there is none.
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
        for path in CRATES {
            let graph = modules(&files, path);
            assert!(!graph.is_empty(), "{path} has no modules");
            println!("{}", draw(path, &graph));
        }
        println!("{}", draw("workspace", &packages(&files)));
        assert_eq!(check(&files, CRATES), []);
    }

    #[test]
    fn circles_are_found_in_all_forms_of_paths() {
        let found = check(
            &[
                file("crates/a/src/lib.rs", "mod x;"),
                file(
                    "crates/a/src/x.rs",
                    "use crate::{w, y::{T, U}};\n// crate::z",
                ),
                file("crates/a/src/y/mod.rs", "fn f() { crate::z::g() }"),
                file("crates/a/src/z.rs", "use crate::x::X;"),
                file(
                    "crates/a/src/w.rs",
                    "#[cfg(test)]\nmod tests { use crate::x; }",
                ),
            ],
            &["crates/a"],
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
