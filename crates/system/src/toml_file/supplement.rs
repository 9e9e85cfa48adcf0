//! Tables of a system file that stand in a file of another format, for what that format lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use toml::Spanned as Placed;
use toml::de::{DeTable, DeValue};

use super::section::Reader;
use super::{read_system, syntax_problem};
use crate::problem::Problem;
use crate::system_file::{Component, Connection, Experiment, SystemFile};

/// Adds to a system that was read from another format the tables that stand, as TOML, in this range
/// of its source.
///
/// Keys of `[experiment]` and of components that the system has take precedence over its present
/// values; such a component needs no `fmu`. Further components, connections, bonds and interface
/// models are appended. A connection to the same input replaces the one that is there, and a pair
/// of a bond is no longer listed as a connection.
///
/// Returns the problems of the text; names are not checked ([`check`](crate::check)).
pub fn supplement(system: &mut SystemFile, range: Range<usize>) -> Vec<Problem> {
    let source = Arc::clone(&system.source);
    // Spaces instead of the text before: all offsets are then valid for the whole text.
    let mut text = " ".repeat(range.start);
    text.push_str(&source.text[range]);
    let (mut document, errors) = DeTable::parse_recoverable(&text);
    if let Some(error) = errors.first() {
        return vec![syntax_problem(error, &text, 0)];
    }
    name_fmus(document.get_mut(), system);
    let mut reader = Reader::new(Arc::clone(&source));
    let names = system.components.iter();
    reader.other_components = names
        .map(|component| component.name.value.clone())
        .collect();
    let added = read_system(document.get_ref(), &source, &mut reader);
    merge(system, added);
    reader.problems
}

/// A component that is known has its FMU already.
fn name_fmus(document: &mut DeTable<'_>, system: &SystemFile) {
    let Some(DeValue::Table(components)) = document.get_mut("components").map(Placed::get_mut)
    else {
        return;
    };
    let known = system.components.iter();
    let known: BTreeSet<&str> = known.map(|component| &*component.name.value).collect();
    for (name, component) in components.iter_mut() {
        if known.contains(name.get_ref().as_ref())
            && let DeValue::Table(keys) = component.get_mut()
        {
            let empty = Placed::new(0..0, DeValue::String("".into()));
            keys.entry(Placed::new(0..0, "fmu".into())).or_insert(empty);
        }
    }
}

fn merge(system: &mut SystemFile, added: SystemFile) {
    let base = std::mem::take(&mut system.experiment);
    system.experiment = Experiment {
        start_time: added.experiment.start_time.or(base.start_time),
        stop_time: added.experiment.stop_time.or(base.stop_time),
        step_size: added.experiment.step_size.or(base.step_size),
        ..added.experiment
    };
    let numbers = system.components.iter().enumerate();
    let components: BTreeMap<_, _> = numbers
        .map(|(number, component)| (component.name.value.clone(), number))
        .collect();
    for component in added.components {
        match components.get(&component.name.value) {
            Some(number) => merge_component(&mut system.components[*number], component),
            None => system.components.push(component),
        }
    }
    let numbers = system.connections.iter().enumerate();
    let inputs: BTreeMap<_, _> = numbers
        .map(|(number, connection)| (connection.to.value.clone(), number))
        .collect();
    for connection in added.connections {
        match inputs.get(&connection.to.value) {
            Some(number) => system.connections[*number] = connection,
            None => system.connections.push(connection),
        }
    }
    let pairs = added
        .bonds
        .iter()
        .flat_map(|bond| bond.effort.iter().chain(&bond.flow));
    let pairs: BTreeSet<_> = pairs
        .map(|pair| (&pair.from.value, &pair.to.value))
        .collect();
    let is_pair = |known: &Connection| pairs.contains(&(&known.from.value, &known.to.value));
    system.connections.retain(|known| !is_pair(known));
    system.bonds.extend(added.bonds);
    system.interface_models.extend(added.interface_models);
}

fn merge_component(base: &mut Component, added: Component) {
    let mut start_values = std::mem::take(&mut base.start_values);
    let new: BTreeSet<&str> = added
        .start_values
        .iter()
        .map(|(name, _)| &*name.value)
        .collect();
    start_values.retain(|(known, _)| !new.contains(&*known.value));
    start_values.extend(added.start_values);
    *base = Component {
        name: base.name.clone(),
        fmu: base.fmu.clone(),
        step_size: added.step_size.or(base.step_size.take()),
        start_values,
        ..added
    };
}
