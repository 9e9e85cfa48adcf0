//! The names of the columns, of which no two are equal.

use std::collections::BTreeSet;

use crate::bond_values::BOND_VALUES;
use crate::graph::Graph;

/// Before the name of a signal: the name of its error bar.
const ERROR: &str = "error.";
/// Stands before the name of a variable that would be the name of another column.
const VARIABLE: &str = "variable.";

/// Names columns one after the other. Columns of gyrator keep their names: the time, signals of the step control,
/// values of bonds, and error bars, whether they are recorded or not. A variable that would have such a name, or the
/// name of a variable before it, gets its component in front (if that was left out), else `variable.`.
pub(super) struct Names {
    /// `component.`, if the name of the only component is left out.
    prefix: Option<String>,
    /// Columns of gyrator but the error bars.
    own: BTreeSet<String>,
    /// All variables and signals of the system, as they are called if no other column has that name.
    wished: BTreeSet<String>,
    /// All that are given.
    pub(super) given: BTreeSet<String>,
}

impl Names {
    pub(super) fn new(single: Option<&str>, graph: &Graph, control: &[&str]) -> Self {
        let mut own: BTreeSet<String> = control.iter().map(|name| (*name).to_owned()).collect();
        own.insert("time".to_owned());
        for bond in graph.bond_names() {
            own.extend(BOND_VALUES.iter().map(|value| value.of_bond(bond)));
        }
        let outer = graph.outer_signals.iter();
        let outer = outer.map(|signal| signal.name.value.clone());
        let variables = graph.variables();
        let variables =
            variables.map(|variable| format!("{}.{}", variable.component, variable.described.name));
        let mut names = Self {
            prefix: single.map(|single| format!("{single}.")),
            own,
            wished: BTreeSet::new(),
            given: BTreeSet::new(),
        };
        let bare = |name: String| names.bare(&name).to_owned();
        names.wished = variables.chain(outer).map(bare).collect();
        names
    }

    /// A name without the only component.
    pub(super) fn bare<'n>(&self, name: &'n str) -> &'n str {
        let prefix = self.prefix.as_deref();
        let bare = prefix.and_then(|prefix| name.strip_prefix(prefix));
        bare.unwrap_or(name)
    }

    /// Whether a column of gyrator has this name.
    pub(super) fn is_own(&self, name: &str) -> bool {
        let is_bar = |signal| self.own.contains(signal) || self.wished.contains(signal);
        self.own.contains(name) || name.strip_prefix(ERROR).is_some_and(is_bar)
    }

    /// The name of the column of a variable, `component.variable`, or of a signal of the system.
    pub(super) fn give(&mut self, name: &str) -> String {
        let bare = self.bare(name).to_owned();
        let mut shown = bare.clone();
        if self.is_own(&bare) || self.given.contains(&bare) {
            name.clone_into(&mut shown);
            while !self.is_free(&shown) {
                shown.insert_str(0, VARIABLE);
            }
        }
        self.given.insert(shown.clone());
        shown
    }

    /// Whether no other column has the name or the name of its error bar.
    fn is_free(&self, name: &str) -> bool {
        let is_used = |name: &str| self.wished.contains(name) || self.given.contains(name);
        let bar = format!("{ERROR}{name}");
        let is_bar = name
            .strip_prefix(ERROR)
            .is_some_and(|signal| self.given.contains(signal));
        !self.is_own(name) && !is_used(name) && !is_used(&bar) && !is_bar
    }
}
