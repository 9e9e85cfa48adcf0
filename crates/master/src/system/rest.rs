//! Problems of the part of a system whose FMUs could be opened.

use std::collections::BTreeSet;
use std::sync::Arc;

use gyrator_system::{Choice, Component, Problem, Spanned, SystemFile};

use super::patterns;
use crate::registries::Registries;
use crate::registry::{EntryKind, Registry};
use crate::resolve::resolve;
use crate::unit::UnitDescription;

type Described<'a> = (&'a Component, Arc<UnitDescription>);

/// Resolves the names of `described` components and of what lies between them. Steps are not judged:
/// options of the command line may still change them.
pub(super) fn problems(file: &SystemFile, described: Vec<Described<'_>>) -> Vec<Problem> {
    // A program's own words are not known here.
    let registries = Registries::default();
    let mut problems = unknown_words(file, &registries);
    if described.is_empty() {
        return problems;
    }
    let (components, descriptions): (Vec<_>, Vec<_>) = described.into_iter().unzip();
    let rest = rest(file, &components);
    let of_parts: Vec<_> = descriptions.iter().map(Arc::as_ref).collect();
    let expanded = patterns::expand(&rest, &of_parts, &mut problems);
    let _ = resolve(&expanded, &descriptions, &registries, &mut problems);
    let is_absent = absent_ends(file, &components);
    // Names alone show an input that is fed twice.
    let is_new = |problem: &Problem| {
        problem.is_error()
            && problem.rule != "input-fed-twice"
            && !(problem.rule == "unknown-component" && is_absent(problem))
    };
    problems.retain(is_new);
    problems
}

/// Words of the experiment and of bonds that [`resolve`] does not look up in a part of a system.
fn unknown_words(file: &SystemFile, registries: &Registries) -> Vec<Problem> {
    fn unknown<K: EntryKind + ?Sized>(
        registry: &Registry<K>,
        choice: Option<&Choice>,
    ) -> Vec<Problem> {
        let found = choice.map(|choice| registry.look_up(choice));
        found.and_then(Result::err).unwrap_or_default()
    }
    let mut problems = unknown(&registries.methods, file.experiment.method.as_ref());
    let control = file.experiment.step_control.as_ref();
    problems.extend(unknown(&registries.step_controls, control));
    for bond in &file.bonds {
        let correction = bond.correction.as_ref().filter(|c| c.name.value != "off");
        problems.extend(unknown(&registries.corrections, correction));
    }
    problems
}

/// Whether a problem stands at an end of a connection whose component is one of the file's others.
fn absent_ends(file: &SystemFile, components: &[&Component]) -> impl Fn(&Problem) -> bool {
    let name = |component: &Component| component.name.value.clone();
    let kept: BTreeSet<String> = components.iter().copied().map(name).collect();
    let all: BTreeSet<String> = file.components.iter().map(name).collect();
    let ends = file.all_connections().flat_map(|c| [&c.from, &c.to]);
    let ends = ends.filter(|end| {
        let component = &end.value.component;
        all.contains(component) && !kept.contains(component)
    });
    let absent: Vec<_> = ends.map(|end| Some(end.span.clone())).collect();
    move |problem| absent.contains(&problem.span)
}

/// The system of some of its components, and all connections, bonds included: each end of a
/// connection is judged by itself.
fn rest(file: &SystemFile, components: &[&Component]) -> SystemFile {
    let mut rest = SystemFile {
        components: components.iter().copied().cloned().collect(),
        connections: file.all_connections().cloned().collect(),
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
