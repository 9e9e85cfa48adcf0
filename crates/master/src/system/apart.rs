//! Components that change what the whole process has: they are made apart from the others.
//!
//! A change of the locale, the environment or the working directory reaches all components. It is put back after the call
//! that made it, so that the others do not see it; but the FMU that made it may depend on it. So such a component gets a
//! process of its own, and the system is started once more. Changes of a step come too late for that: they are put back
//! after each step.

use std::collections::BTreeMap;

use crate::unit::{ProcessChange, UnitMaker};

/// What was found out by starting a system.
#[derive(Default)]
pub(super) struct Apart {
    /// Components that are wanted apart, with the reason.
    wanted: BTreeMap<String, String>,
    /// Components that cannot be apart.
    refused: Vec<String>,
}

impl Apart {
    /// Asks for the components that are wanted apart.
    pub(super) fn ask(&mut self, maker: &mut dyn UnitMaker) {
        for (component, why) in &self.wanted {
            if !maker.set_apart(component, why) {
                self.refused.push(component.clone());
            }
        }
        self.wanted
            .retain(|component, _| !self.refused.contains(component));
    }

    /// Whether the system has to be started once more.
    pub(super) fn is_found(&mut self, changed: Vec<(String, Vec<ProcessChange>)>) -> bool {
        let before = self.wanted.len();
        for (component, changes) in changed {
            let change = changes.iter().find(|change| change.is_own_affair);
            if let Some(change) = change.filter(|_| !self.refused.contains(&component)) {
                let why = format!("{} changes {} for all components", change.call, change.what);
                self.wanted.insert(component, why);
            }
        }
        self.wanted.len() > before
    }
}
