//! A proposal in the text of a system file: its keys change, and its comments stay.

use std::path::Path;

use crate::at_other_step;
use gyrator_system::{Choice, InterfaceModel, Problems, Spanned, SystemFile, toml_file};
use toml_edit::{DocumentMut, Item, Table, TableLike, value};

use crate::doctor::coupling::{FORCE, INTERFACE_ORDER};
use crate::doctor::examine::Proposal;

/// Why a text cannot be changed.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// It is not TOML.
    #[error("the text of the system file cannot be changed: {0}")]
    Syntax(#[from] toml_edit::TomlError),
    /// A key that has to change stands in another form or another file.
    #[error("`{0}` stands where it cannot be changed, as in an included file")]
    Elsewhere(String),
    /// With the new keys it cannot be read.
    #[error("the text of the system file cannot be changed: {0}")]
    Problems(#[from] Problems),
}

/// The text of the file of `system` with the words and the communication steps of a proposal, for a file at `path`: if that is in
/// another folder, paths lead from there.
///
/// # Errors
/// A text that is not TOML, or has keys in places that cannot be changed.
pub fn rewrite(
    system: &SystemFile,
    proposal: &Proposal,
    path: &Path,
) -> Result<String, RewriteError> {
    let text = edited(system, proposal, path)?;
    let (read, _) = toml_file::parse(text.as_str(), path)?;
    let wanted = at_other_step(&proposal.coupling.applied(system), proposal.factor);
    match difference(&read, &wanted) {
        Some(key) => Err(RewriteError::Elsewhere(key)),
        None => Ok(text),
    }
}

/// The first key in which two systems differ, of those that a proposal changes.
fn difference(read: &SystemFile, wanted: &SystemFile) -> Option<String> {
    let word = |choice: &Option<Choice>| choice.as_ref().map(|choice| choice.name.value.clone());
    let text = |word: &Option<Spanned<String>>| word.as_ref().map(|word| word.value.clone());
    let step = |step: &Option<Spanned<f64>>| step.as_ref().map(|step| step.value);
    let is_near = |one: Option<f64>, other: Option<f64>| match (one, other) {
        (Some(one), Some(other)) => (one - other).abs() <= 1e-9 * other.abs(),
        (one, other) => one == other,
    };
    let (one, other) = (&read.experiment, &wanted.experiment);
    if word(&one.method) != word(&other.method) {
        return Some("method".to_owned());
    }
    let components = read.components.iter().zip(&wanted.components);
    for (one, other) in components {
        let name = &other.name.value;
        if text(&one.exchange) != text(&other.exchange) {
            return Some(format!("components.{name}.exchange"));
        }
        if word(&one.extrapolation) != word(&other.extrapolation) {
            return Some(format!("components.{name}.extrapolation"));
        }
        if !is_near(step(&one.step_size), step(&other.step_size)) {
            return Some(format!("components.{name}.step_size"));
        }
    }
    let off = |correction: Option<String>| correction.filter(|word| word != "off");
    for (one, other) in read.bonds.iter().zip(&wanted.bonds) {
        if off(word(&one.correction)) != off(word(&other.correction)) {
            return Some(format!("bonds.{}.correction", other.name.value));
        }
    }
    let models = read.interface_models.iter().zip(&wanted.interface_models);
    for (one, other) in models {
        let has_force = |model: &InterfaceModel| {
            let mut options = model.options.iter();
            options.any(|(name, _)| name.value == FORCE)
        };
        if text(&one.order) != text(&other.order) || has_force(one) != has_force(other) {
            return Some(format!("interface_models.{}.order", other.name.value));
        }
    }
    None
}

fn edited(system: &SystemFile, proposal: &Proposal, path: &Path) -> Result<String, RewriteError> {
    let mut document: DocumentMut = system.source.own_text().parse()?;
    let root = document.as_table_mut();
    let coupling = &proposal.coupling;
    let of_experiment = |key: &str| !["correction", INTERFACE_ORDER].contains(&key);
    for (key, word) in coupling.words().filter(|(key, _)| of_experiment(key)) {
        set(table(root, "experiment")?, key, word);
    }
    if proposal.factor != 1.0 {
        let experiment = table(root, "experiment")?;
        set(experiment, "step_size", proposal.step_size);
        drop_guess(experiment, "step_size");
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
    if let Some(word) = &coupling.interface_order {
        for model in elements(root, "interface_models") {
            if model.get("order").and_then(Item::as_str) != Some(word.as_str()) {
                set(model, "order", word.as_str());
                model.remove(FORCE);
            }
        }
    }
    if let Some(way) = way_between(path, &system.source.path) {
        relocate(root, &way);
    }
    Ok(document.to_string())
}

/// The way from the folder of one file to the folder of another one, with `/` between its parts; `None` if it is the
/// same folder.
fn way_between(from: &Path, to: &Path) -> Option<String> {
    let folder = |path: &Path| {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new(".")).canonicalize().ok()
    };
    let (from, to) = (folder(from)?, folder(to)?);
    let common = from
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to
        .components()
        .skip(common)
        .map(|part| part.as_os_str().to_string_lossy().into_owned());
    let parts: Vec<String> = up.chain(down).collect();
    (!parts.is_empty()).then(|| parts.join("/"))
}

/// Puts the way to another folder before all paths that are relative to the file's folder.
fn relocate(root: &mut Table, way: &str) {
    let leads = |value: &mut toml_edit::Value| {
        if let Some(path) = value.as_str().filter(|path| !Path::new(path).is_absolute()) {
            let mut new = toml_edit::Value::from(format!("{way}/{path}"));
            *new.decor_mut() = value.decor().clone();
            *value = new;
        }
    };
    let moved = |item: Option<&mut Item>| match item.and_then(Item::as_value_mut) {
        Some(toml_edit::Value::Array(list)) => list.iter_mut().for_each(leads),
        Some(value) => leads(value),
        None => {}
    };
    moved(root.get_mut("include"));
    if let Some(experiment) = root.get_mut("experiment").and_then(Item::as_table_like_mut) {
        moved(experiment.get_mut("scenario"));
    }
    if let Some(defaults) = root.get_mut("defaults").and_then(Item::as_table_like_mut) {
        moved(defaults.get_mut("library_path"));
    }
    let Some(components) = root.get_mut("components").and_then(Item::as_table_like_mut) else {
        return;
    };
    for (_, component) in components.iter_mut() {
        let Some(component) = component.as_table_like_mut() else {
            continue;
        };
        for key in ["fmu", "library_path"] {
            moved(component.get_mut(key));
        }
        if let Some(block) = component.get_mut("block").and_then(Item::as_table_like_mut) {
            moved(block.get_mut("file"));
        }
    }
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

/// Removes the remark on a guess: the value is found now.
fn drop_guess(table: &mut dyn TableLike, key: &str) {
    let Some(found) = table.get_mut(key).and_then(Item::as_value_mut) else {
        return;
    };
    let comment = found.decor().suffix().and_then(|text| text.as_str());
    let rest = comment.and_then(|text| Some(text.split_once(toml_file::GUESS)?.0.to_owned()));
    if let Some(rest) = rest {
        found.decor_mut().set_suffix(rest);
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
    use crate::doctor::Coupling;

    fn proposal(factor: f64) -> Proposal {
        Proposal {
            coupling: Coupling {
                method: Some("gauss-seidel".to_owned()),
                exchange: Some("auto".to_owned()),
                extrapolation: None,
                correction: Some("off".to_owned()),
                interface_order: None,
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
        let changed = rewrite(&system, &proposal(0.5), Path::new("pair.toml")).unwrap();
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
    fn a_step_that_was_found_is_no_guess() {
        let keys = "[components.a]\nfmu = \"a.fmu\"\n";
        let guess = toml_file::GUESS;
        let text = format!(
            "[experiment]\nstop_time = 1.0    # s{guess}\nstep_size = 0.01    # s{guess}\n{keys}"
        );
        let (system, _) = toml_file::parse(text, "pair.toml").unwrap();
        let proposal = Proposal {
            coupling: Coupling::default(),
            ..proposal(0.5)
        };
        let changed = rewrite(&system, &proposal, Path::new("pair.toml")).unwrap();
        let expected = format!(
            "[experiment]\nstop_time = 1.0    # s{guess}\nstep_size = 0.005    # s\n{keys}"
        );
        assert_eq!(changed, expected);
    }

    #[test]
    fn a_file_that_says_nothing_gets_the_keys() {
        let text = "[components.a]\nfmu = \"a.fmu\"\n";
        let (system, _) = toml_file::parse(text, "pair.toml").unwrap();
        let changed = rewrite(&system, &proposal(1.0), Path::new("pair.toml")).unwrap();
        assert!(changed.starts_with(text), "{changed}");
        assert!(changed.contains("[experiment]\n"), "{changed}");
        let (read, _) = toml_file::parse(changed, "pair.toml").unwrap();
        assert_eq!(read.experiment.method.unwrap().name.value, "gauss-seidel");
    }

    #[test]
    fn an_order_is_that_of_all_interface_models_and_has_its_own_force() {
        let bonds =
            "[[bonds]]\nname = \"c\"\neffort = [\"a.f\", \"b.f\"]\nflow = [\"b.v\", \"a.v\"]\n";
        let model = |name: &str, keys: &str| {
            format!(
                "[[interface_models]]\nname = \"{name}\"\ncomponent = \"b\"\nbonds = [\"c\"]\nexchange_step = 1e-3\n{keys}\
                 positions = [\"s\"]\n"
            )
        };
        let text = |keys: [&str; 2]| {
            format!(
                "[components.a]\nfmu = \"a.fmu\"\n[components.b]\nfmu = \"b.fmu\"\n{bonds}{}{}",
                model("m", keys[0]),
                model("n", keys[1])
            )
        };
        let given = text([
            "order = \"parallel\"  # the slow side waits\nforce = \"predicted\"\n",
            "order = \"fast-first\"\nforce = \"mean\"\n",
        ]);
        let (system, _) = toml_file::parse(given, "pair.toml").unwrap();
        let proposal = Proposal {
            coupling: Coupling {
                interface_order: Some("fast-first".to_owned()),
                ..Coupling::default()
            },
            ..proposal(1.0)
        };
        let changed = rewrite(&system, &proposal, Path::new("pair.toml")).unwrap();
        let expected = text([
            "order = \"fast-first\"  # the slow side waits\n",
            "order = \"fast-first\"\nforce = \"mean\"\n",
        ]);
        assert_eq!(changed, expected);
    }

    #[test]
    fn paths_lead_from_another_folder() {
        let text =
            "[components.a]\nfmu = \"a.fmu\" # the first\n[components.b]\nfmu = \"/tmp/b.fmu\"\n";
        let (system, _) = toml_file::parse(text, "src/pair.toml").unwrap();
        let proposal = Proposal {
            coupling: Coupling::default(),
            ..proposal(1.0)
        };
        let changed = rewrite(&system, &proposal, Path::new("pair.toml")).unwrap();
        let expected = text.replace("\"a.fmu\"", "\"src/a.fmu\"");
        assert_eq!(changed, expected);
        let back = rewrite(&system, &proposal, Path::new("tests/pair.toml")).unwrap();
        assert!(back.contains("\"../src/a.fmu\" # the first"), "{back}");
    }

    #[test]
    fn a_key_of_an_included_file_is_no_key_of_the_text() {
        let folder = std::env::temp_dir().join(format!("gyrator-rewrite-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let included = "[components.a]\nfmu = \"a.fmu\"\nexchange = \"stale\"\n";
        std::fs::write(folder.join("more.toml"), included).unwrap();
        let path = folder.join("pair.toml");
        std::fs::write(&path, "include = [\"more.toml\"]\n").unwrap();
        let (system, _) = toml_file::read(&path).unwrap();
        let refused = rewrite(&system, &proposal(1.0), &path)
            .unwrap_err()
            .to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(refused.contains("components.a.exchange"), "{refused}");
    }
}
