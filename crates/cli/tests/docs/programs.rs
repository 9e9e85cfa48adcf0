//! Rust and C programs of the documentation stand in files that are compiled.

mod parts;

use crate::page::{pages, root};

/// Where the programs are compiled.
const RUST: [&str; 2] = [
    "examples/rust-bench/src/main.rs",
    "crates/cli/tests/docs/programs/parts.rs",
];
const C: [&str; 1] = ["crates/capi/examples/bench.c"];

#[test]
fn programs_are_compiled() {
    for page in pages() {
        for block in &page.blocks {
            let files: &[&str] = match block.language.as_str() {
                "rust" => &RUST,
                "c" => &C,
                _ => continue,
            };
            let holds = |file: &&str| {
                let text = std::fs::read_to_string(root().join(file)).unwrap();
                without_indents(&text).contains(&without_indents(&block.text))
            };
            let place = format!("{}:{}", page.path, block.line);
            assert!(
                files.iter().any(holds),
                "{place}: this stands in none of {files:?}"
            );
        }
    }
}

fn without_indents(text: &str) -> String {
    text.lines()
        .map(|line| format!("{}\n", line.trim()))
        .collect()
}
