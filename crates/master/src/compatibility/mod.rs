//! Incompatible parts: the needs of all parts of a system, compared with the needs that other parts
//! withhold. Registry entries state both in their [facts](crate::need::Facts).

mod parts;
mod rules;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use gyrator_system::{Problem, SystemFile};

use crate::graph::Graph;
use crate::method::Method;
use crate::need::Need;
use crate::registry::Chosen;
use crate::step_control::StepControl;
pub(crate) use parts::{HALVING_NEEDS, withheld_by};
use parts::{Scope, SystemPart, parts};
use rules::{RULES, Rule, Times, misfits_of_control, unknown_names, unworded};
pub use table::{Claims, claims};

/// The parts compared: a system and the choices that are not part of its graph.
pub(crate) struct Parts<'a> {
    pub(crate) file: &'a SystemFile,
    pub(crate) graph: &'a Graph,
    pub(crate) method: Option<&'a Chosen<dyn Method>>,
    pub(crate) control: Option<&'a Chosen<dyn StepControl>>,
    pub(crate) has_feed_forward: bool,
}

/// A part with a need that another one withholds.
#[derive(Clone, Copy)]
struct Conflict<'a> {
    need: Need,
    needing: &'a SystemPart,
    withholding: &'a SystemPart,
}

/// Finds all parts of a system that do not go together.
pub(crate) fn check(system: &Parts<'_>, problems: &mut Vec<Problem>) {
    problems.extend(unknown_names(system));
    problems.extend(misfits_of_control(system));
    let parts = parts(system);
    let mut conflicts: Vec<Conflict<'_>> = Vec::new();
    for need in Need::ALL {
        conflicts.extend(conflicts_over(need, &parts));
    }
    for rule in RULES {
        let (of_rule, others) = conflicts.into_iter().partition(|c| rule.is_about(c));
        conflicts = others;
        problems.extend(report(rule, of_rule, system));
    }
    problems.extend(conflicts.iter().map(unworded));
}

/// The comparison of all parts that need something with all that withhold it.
fn conflicts_over(need: Need, parts: &[SystemPart]) -> Vec<Conflict<'_>> {
    let withholding = Index::of(parts.iter().filter(|part| part.withholds.contains(&need)));
    let needing = parts.iter().filter(|part| part.needs.contains(&need));
    let conflicts = needing.flat_map(|needing| {
        let met = withholding.met_by(&needing.reach).into_iter();
        met.map(move |withholding| Conflict {
            need,
            needing,
            withholding,
        })
    });
    conflicts.collect()
}

fn report(rule: &Rule, mut conflicts: Vec<Conflict<'_>>, system: &Parts<'_>) -> Vec<Problem> {
    let same = |a: &SystemPart, b: &SystemPart| std::ptr::eq(a, b);
    if rule.times == Times::OncePerWithholding {
        let mut met: Vec<&SystemPart> = Vec::new();
        conflicts.retain(|conflict| {
            let is_new = !met.iter().any(|known| same(known, conflict.withholding));
            met.extend(is_new.then_some(conflict.withholding));
            is_new
        });
    }
    let groups = conflicts
        .chunk_by(|a, b| rule.times == Times::OncePerNeeding && same(a.needing, b.needing));
    let problem = |group: &[Conflict<'_>]| {
        let withholding: Vec<&SystemPart> =
            group.iter().map(|conflict| conflict.withholding).collect();
        (rule.problem)(system, group[0].needing, &withholding)
    };
    groups.filter_map(problem).collect()
}

/// Parts by the place where they act.
#[derive(Default)]
struct Index<'a> {
    all: Vec<&'a SystemPart>,
    everywhere: Vec<&'a SystemPart>,
    by_component: BTreeMap<usize, Vec<&'a SystemPart>>,
    by_input: BTreeMap<usize, Vec<&'a SystemPart>>,
}

impl<'a> Index<'a> {
    fn of(parts: impl Iterator<Item = &'a SystemPart>) -> Self {
        let mut index = Self::default();
        for part in parts {
            index.all.push(part);
            match &part.reach {
                Scope::Everywhere => index.everywhere.push(part),
                Scope::Component(component) => {
                    index.by_component.entry(*component).or_default().push(part);
                }
                Scope::Inputs(inputs) => {
                    for input in inputs {
                        index.by_input.entry(*input).or_default().push(part);
                    }
                }
            }
        }
        index
    }

    /// The parts that act where `reach` is, in part.
    fn met_by(&self, reach: &Scope) -> Vec<&'a SystemPart> {
        let places = match reach {
            Scope::Everywhere => return self.all.clone(),
            Scope::Component(component) => self
                .by_component
                .get(component)
                .cloned()
                .unwrap_or_default(),
            Scope::Inputs(inputs) => {
                let at = inputs.iter().filter_map(|input| self.by_input.get(input));
                let mut met: Vec<&SystemPart> = at.flatten().copied().collect();
                let mut seen = BTreeSet::new();
                met.retain(|part| seen.insert(std::ptr::from_ref::<SystemPart>(part)));
                met
            }
        };
        self.everywhere.iter().copied().chain(places).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::parts::PartKind;
    use super::*;

    fn part(kind: PartKind, needs: &[Need], withholds: &[Need], reach: Scope) -> SystemPart {
        SystemPart {
            needs: needs.to_vec(),
            withholds: withholds.to_vec(),
            ..SystemPart::new(kind, "name", reach)
        }
    }

    #[test]
    fn parts_conflict_where_they_meet() {
        let need = [Need::InputCourse];
        let inputs = |list: &[usize]| Scope::Inputs(list.to_vec());
        let count = |reach: Scope| {
            let model = part(PartKind::InterfaceModel, &[], &need, reach);
            let alone = part(PartKind::Correction, &[Need::LastValues], &[], inputs(&[2]));
            let parts = [
                part(PartKind::Correction, &need, &[], inputs(&[2, 3])),
                model,
                alone,
            ];
            conflicts_over(Need::InputCourse, &parts).len()
        };
        assert_eq!(count(inputs(&[1, 2, 3])), 1);
        assert_eq!(count(inputs(&[1, 4])), 0);
        assert_eq!(count(Scope::Component(2)), 0);
        assert_eq!(count(Scope::Everywhere), 1);
    }
}
