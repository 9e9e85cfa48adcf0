//! Problems of the part of a system whose FMUs could be opened.

use std::collections::BTreeSet;
use std::sync::Arc;

use gyrator_system::{Component, Connection, Problem, Severity, Spanned, SystemFile};

use super::patterns;
use crate::registries::Registries;
use crate::resolve::resolve;
use crate::unit::UnitDescription;

type Described<'a> = (&'a Component, Arc<UnitDescription>);

/// Resolves the names of `described` components and of what lies between them. Steps are not judged:
/// options of the command line may still change them.
pub(super) fn problems(file: &SystemFile, described: Vec<Described<'_>>) -> Vec<Problem> {
    if described.is_empty() {
        return Vec::new();
    }
    let (components, descriptions): (Vec<_>, Vec<_>) = described.into_iter().unzip();
    let rest = rest(file, &components);
    let of_parts: Vec<_> = descriptions.iter().map(Arc::as_ref).collect();
    let mut problems = Vec::new();
    let expanded = patterns::expand(&rest, &of_parts, &mut problems);
    // A program's own words are not known here.
    let registries = Registries::default();
    let _ = resolve(&expanded, &descriptions, &registries, &mut problems);
    // Names alone show an input that is fed twice.
    let is_new = |problem: &Problem| {
        problem.severity == Severity::Error && problem.rule != "input-fed-twice"
    };
    problems.retain(is_new);
    problems
}

/// The system of some of its components, and the connections between them, those of bonds included.
fn rest(file: &SystemFile, components: &[&Component]) -> SystemFile {
    let kept = components.iter();
    let kept: BTreeSet<&str> = kept.map(|component| &*component.name.value).collect();
    let is_kept = |connection: &&Connection| {
        let mut ends = [&connection.from, &connection.to].into_iter();
        ends.all(|end| kept.contains(&*end.value.component))
    };
    let mut rest = SystemFile {
        components: components.iter().copied().cloned().collect(),
        connections: file.all_connections().filter(is_kept).cloned().collect(),
        bonds: Vec::new(),
        interface_models: Vec::new(),
        ..file.clone()
    };
    rest.experiment.step_size = Some(Spanned::unplaced(1.0));
    for component in &mut rest.components {
        component.step_size = None;
    }
    rest
}
