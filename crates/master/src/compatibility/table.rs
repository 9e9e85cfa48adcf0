//! The table of needs: the parts that have them and the parts that withhold them.

use super::parts::{
    ACCELERATIONS_NEED, FEED_FORWARD_NEEDS, HALVING_NEEDS, MODEL_NEEDS, MODEL_WITHHOLDS,
};
use crate::need::{Facts, Need};
use crate::registries::Registries;
use crate::registry::{Entry, EntryKind, Registry};

/// A need, with all that need it and all that withhold it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claims {
    /// The need.
    pub need: Need,
    /// Parts that need it, in words: entries of registries, with the parameter that makes them need
    /// it if the defaults do not, and parts without an entry.
    pub needed_by: Vec<String>,
    /// Parts that withhold it from others, likewise.
    pub withheld_by: Vec<String>,
}

/// The table of needs for the words of `registries`.
pub fn claims(registries: &Registries) -> Vec<Claims> {
    let mut table: Vec<Claims> = Need::ALL.map(empty).into();
    add_entries(&mut table, &registries.methods);
    add_entries(&mut table, &registries.extrapolations);
    add_entries(&mut table, &registries.corrections);
    add_entries(&mut table, &registries.step_controls);
    add_entries(&mut table, &registries.interface_orders);
    for (part, needs, withholds) in OTHERS {
        add(&mut table, part, needs, withholds);
    }
    table
}

/// Parts without an entry in a registry: the needs that they have and withhold.
const OTHERS: &[(&str, &[Need], &[Need])] = &[
    ("interface models", &MODEL_NEEDS, &MODEL_WITHHOLDS),
    (
        "`accelerations` of interface models",
        &ACCELERATIONS_NEED,
        &[],
    ),
    (
        "interface models without `positions`",
        &[],
        &[Need::Positions],
    ),
    (
        "interface models without `stiffness` and `force_rates`",
        &[],
        &[Need::ForceRates],
    ),
    ("learned feed-forward", &FEED_FORWARD_NEEDS, &[]),
    ("`step_halvings`", &HALVING_NEEDS, &[]),
    (
        "units without canHandleVariableCommunicationStepSize",
        &[],
        &[Need::AnyStepSize],
    ),
    (
        "units without canGetAndSetFMUstate",
        &[],
        &[Need::SavedStates],
    ),
    (
        "units without providesDirectionalDerivative whose outputs may not be read again",
        &[],
        &[Need::Derivatives],
    ),
    (
        "units with a communication step of several macro-steps",
        &[],
        &[Need::EveryMacroStep],
    ),
    ("systems without power bonds", &[], &[Need::PowerBonds]),
];

fn empty(need: Need) -> Claims {
    Claims {
        need,
        needed_by: Vec::new(),
        withheld_by: Vec::new(),
    }
}

fn add(table: &mut [Claims], part: &str, needs: &[Need], withholds: &[Need]) {
    for claims in table {
        if needs.contains(&claims.need) {
            claims.needed_by.push(part.to_owned());
        }
        if withholds.contains(&claims.need) {
            claims.withheld_by.push(part.to_owned());
        }
    }
}

fn add_entries<K: EntryKind + ?Sized>(table: &mut [Claims], registry: &Registry<K>) {
    for entry in registry.entries() {
        for claims in &mut *table {
            let need = claims.need;
            let needed = label(entry, |facts| facts.needs().contains(&need));
            claims.needed_by.extend(needed);
            let withheld = label(entry, |facts| facts.withholds().contains(&need));
            claims.withheld_by.extend(withheld);
        }
    }
}

/// The entry in words if its facts pass `test`: with its defaults, or with some parameters.
fn label<K: EntryKind + ?Sized>(
    entry: &Entry<K>,
    test: impl Fn(&K::Facts) -> bool,
) -> Option<String> {
    let variants = entry.variants();
    let mut passing = variants
        .iter()
        .filter(|(_, chosen)| test(&chosen.usual_facts()))
        .map(|(choice, _)| choice.parameters.first());
    let parameter = passing.next()?;
    let parameter = parameter.map_or(String::new(), |(key, _)| format!(" with `{}`", key.value));
    Some(format!("{} `{}`{parameter}", K::NAME, entry.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENTATION: &str = include_str!("../../../../docs/coupling.md");

    fn row(cells: [&str; 3]) -> String {
        format!("| {} |", cells.join(" | "))
    }

    #[test]
    fn the_documentation_has_the_table() {
        let mut table = vec![
            row(["need", "needed by", "withheld by"]),
            "|---|---|---|".to_owned(),
        ];
        table.extend(claims(&Registries::default()).iter().map(|claims| {
            let (needed, withheld) = (claims.needed_by.join(", "), claims.withheld_by.join(", "));
            row([claims.need.words(), &needed, &withheld])
        }));
        let table = table.join("\n");
        assert!(
            DOCUMENTATION.contains(&table),
            "docs/coupling.md lacks this table:\n{table}"
        );
    }

    #[test]
    fn every_need_has_both_sides() {
        for claims in claims(&Registries::default()) {
            assert!(!claims.needed_by.is_empty(), "{claims:?}");
            assert!(!claims.withheld_by.is_empty(), "{claims:?}");
        }
    }
}
