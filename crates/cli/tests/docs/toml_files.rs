//! TOML files of the documentation are read by the readers that the program uses.

use gyrator_system::toml_file;

use crate::page::{Block, pages};

/// Rules that a part of a file breaks because the rest of it is not shown.
const OF_THE_REST: [&str; 4] = [
    "unknown-component",
    "missing-key",
    "unknown-bond",
    "no-components",
];

#[test]
fn toml_files_are_read() {
    let mut faults = Vec::new();
    for page in pages() {
        for block in page.blocks.iter().filter(|block| block.language == "toml") {
            if let Err(problem) = read(block) {
                faults.push(format!("{}:{}: {problem}", page.path, block.line));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Reads a block as the kind of file that its keys are of; a block without a name may be a part of a file.
fn read(block: &Block) -> Result<(), String> {
    let text = block.text.as_str();
    let has = |key: &str| text.lines().any(|line| line.trim_start().starts_with(key));
    let name = block.attribute("file").unwrap_or("part.toml");
    let problems = if has("[dependencies") {
        return toml::de::DeTable::parse(text)
            .map(drop)
            .map_err(|error| error.to_string());
    } else if has("[[actions]]") {
        toml_file::parse_scenario(text, name).err()
    } else if has("[[checks]]") {
        gyrator_assess::checks::parse(text, name).err()
    } else if has("measured =") {
        gyrator_study::fit::FitFile::parse(text, name).err()
    } else if has("system =") || has("[[vary]]") || has("[variants]") {
        gyrator_study::parse(text, name).err()
    } else {
        toml_file::parse(text, name).err()
    };
    let is_part = block.attribute("file").is_none();
    let Some(mut problems) = problems else {
        return Ok(());
    };
    problems
        .list
        .retain(|problem| !is_part || !OF_THE_REST.contains(&problem.rule));
    match problems.list.is_empty() {
        true => Ok(()),
        false => Err(problems.to_string()),
    }
}
