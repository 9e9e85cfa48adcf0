//! A proposal in the text of a system file: its keys change, and its comments stay.

use gyrator_system::SystemFile;
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::examine::Proposal;

/// Why a text cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// It is not TOML.
    #[error("the text of the system file cannot be changed: {0}")]
    Syntax(#[from] toml_edit::TomlError),
    /// A key that has to change stands in another form or another file.
    #[error("`{0}` stands where it cannot be changed, as in an included file")]
    Elsewhere(String),
}

/// The text of the file of `system` with the words and the communication steps of a proposal.
///
/// # Errors
/// A text that is no TOML, or has keys where they cannot be changed.
pub fn rewrite(system: &SystemFile, proposal: &Proposal) -> Result<String, RewriteError> {
    let mut document: DocumentMut = system.source.own_text().parse()?;
    let root = document.as_table_mut();
    let coupling = &proposal.coupling;
    for (key, word) in coupling.words().filter(|(key, _)| *key != "correction") {
        set(table(root, "experiment")?, key, word);
    }
    if proposal.factor != 1.0 {
        set(table(root, "experiment")?, "step_size", proposal.step_size);
        scale(root, proposal.factor);
    }
    let overridden = [
        ("exchange", coupling.exchange.is_some()),
        ("extrapolation", coupling.extrapolation.is_some()),
    ];
    for (key, _) in overridden.into_iter().filter(|(_, is_set)| *is_set) {
        remove_in_components(root, key);
    }
    if let Some(word) = &coupling.correction {
        for bond in elements(root, "bonds") {
            set(bond, "correction", word.as_str());
        }
    }
    Ok(document.to_string())
}

fn table<'t>(root: &'t mut Table, key: &str) -> Result<&'t mut dyn TableLike, RewriteError> {
    let item = root.entry(key).or_insert_with(toml_edit::table);
    item.as_table_like_mut()
        .ok_or_else(|| RewriteError::Elsewhere(key.to_owned()))
}

/// Sets a key; the comment after its value stays.
fn set(table: &mut dyn TableLike, key: &str, new: impl Into<toml_edit::Value>) {
    let mut new = new.into();
    match table.get_mut(key).and_then(Item::as_value_mut) {
        Some(old) => {
            *new.decor_mut() = old.decor().clone();
            *old = new;
        }
        None => {
            table.insert(key, value(new));
        }
    }
}

fn remove_in_components(root: &mut Table, key: &str) {
    for list in ["components", "defaults"] {
        let Some(components) = root.get_mut(list).and_then(Item::as_table_like_mut) else {
            continue;
        };
        if list == "defaults" {
            components.remove(key);
            continue;
        }
        for (_, component) in components.iter_mut() {
            if let Some(component) = component.as_table_like_mut() {
                component.remove(key);
            }
        }
    }
}

/// All communication steps of components and exchange steps of interface models.
fn scale(root: &mut Table, factor: f64) {
    let by = |table: &mut dyn TableLike, key: &str| {
        let old = table.get(key).and_then(|item| {
            item.as_float()
                .or_else(|| item.as_integer().map(|number| number as f64))
        });
        if let Some(old) = old {
            set(table, key, old * factor);
        }
    };
    if let Some(components) = root.get_mut("components").and_then(Item::as_table_like_mut) {
        for (_, component) in components.iter_mut() {
            if let Some(component) = component.as_table_like_mut() {
                by(component, "step_size");
            }
        }
    }
    if let Some(defaults) = root.get_mut("defaults").and_then(Item::as_table_like_mut) {
        by(defaults, "step_size");
    }
    for model in elements(root, "interface_models") {
        by(model, "exchange_step");
    }
}

/// The tables of a list, in whichever form it is written.
fn elements<'t>(root: &'t mut Table, list: &str) -> Vec<&'t mut dyn TableLike> {
    match root.get_mut(list) {
        Some(Item::ArrayOfTables(tables)) => tables
            .iter_mut()
            .map(|table| table as &mut dyn TableLike)
            .collect(),
        Some(Item::Value(toml_edit::Value::Array(array))) => {
            let tables = array
                .iter_mut()
                .filter_map(toml_edit::Value::as_inline_table_mut);
            tables.map(|table| table as &mut dyn TableLike).collect()
        }
        Some(item) => item.as_table_like_mut().into_iter().collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use gyrator_system::toml_file;

    use super::*;
    use crate::Coupling;

    fn proposal(factor: f64) -> Proposal {
        Proposal {
            coupling: Coupling {
                method: Some("gauss-seidel".to_owned()),
                exchange: Some("auto".to_owned()),
                extrapolation: None,
                correction: Some("off".to_owned()),
            },
            step_size: 0.01 * factor,
            factor,
            reason: String::new(),
            verification: None,
        }
    }

    #[test]
    fn keys_change_and_comments_stay() {
        let text = "# A pair.\n[experiment]\nstep_size = 0.01   # s\nexchange = \"stale\"  # as delivered\n\n\
                    [components.a]\nfmu = \"a.fmu\"\nstep_size = 1e-3 # its own\nexchange = \"stale\"\n\n\
                    [components.b]\nfmu = \"b.fmu\"\n\n[[bonds]]  # the cut\nname = \"c\"\n\
                    effort = [\"a.f\", \"b.f\"]\nflow = [\"b.v\", \"a.v\"]\ncorrection = \"nepce\"\n";
        let (system, _) = toml_file::parse(text, "pair.toml").unwrap();
        let changed = rewrite(&system, &proposal(0.5)).unwrap();
        let expected = "# A pair.\n[experiment]\nstep_size = 0.005   # s\nexchange = \"auto\"  # as delivered\n\
                        method = \"gauss-seidel\"\n\n\
                        [components.a]\nfmu = \"a.fmu\"\nstep_size = 0.0005 # its own\n\n\
                        [components.b]\nfmu = \"b.fmu\"\n\n[[bonds]]  # the cut\nname = \"c\"\n\
                        effort = [\"a.f\", \"b.f\"]\nflow = [\"b.v\", \"a.v\"]\ncorrection = \"off\"\n";
        assert_eq!(changed, expected);
        let (read, _) = toml_file::parse(changed, "pair.toml").unwrap();
        assert_eq!(read.experiment.step_size.unwrap().value, 0.005);
    }

    #[test]
    fn a_file_that_says_nothing_gets_the_keys() {
        let text = "[components.a]\nfmu = \"a.fmu\"\n";
        let (system, _) = toml_file::parse(text, "pair.toml").unwrap();
        let changed = rewrite(&system, &proposal(1.0)).unwrap();
        assert!(changed.starts_with(text), "{changed}");
        assert!(changed.contains("[experiment]\n"), "{changed}");
        let (read, _) = toml_file::parse(changed, "pair.toml").unwrap();
        assert_eq!(read.experiment.method.unwrap().name.value, "gauss-seidel");
    }
}
