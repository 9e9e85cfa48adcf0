//! Components that change what the whole process has, again and again: they are made apart from the others.
//!
//! A change of the locale, the environment or the working directory reaches all components. It is put back after the call
//! that made it. An FMU that makes it again depends on it, or would disturb the others in between: it gets a process of
//! its own. Whether it does so in its first step shows in a trial: the system is started, steps once, and is started again.

use std::collections::BTreeMap;

use crate::run::Run;
use crate::unit::{ProcessChange, UnitMaker};

/// What was found out by starting a system.
#[derive(Default)]
pub(super) struct Apart {
    /// Components that are wanted apart, with the reason.
    wanted: BTreeMap<String, String>,
    /// Components that cannot be apart.
    refused: BTreeMap<String, String>,
    has_tried_a_step: bool,
}

impl Apart {
    /// Asks for the components that are wanted apart.
    pub(super) fn ask(&mut self, maker: &mut dyn UnitMaker) {
        for (component, why) in std::mem::take(&mut self.wanted) {
            match maker.set_apart(&component, &why) {
                true => self.wanted.insert(component, why),
                false => self.refused.insert(component, why),
            };
        }
    }

    /// Whether the system has to be started once more. Otherwise the changes are noted in the run.
    pub(super) fn is_found(&mut self, run: &mut Run, can_start_again: impl Fn() -> bool) -> bool {
        let changes = run.process_changes();
        if changes.is_empty() {
            return false;
        }
        let can_try =
            !self.has_tried_a_step && changes.iter().any(|(_, changes)| is_put_back(changes));
        let mut is_found = self.look(&changes, &can_start_again);
        if !is_found && can_try && can_start_again() {
            self.has_tried_a_step = true;
            // What goes wrong goes wrong again.
            let _ = run.step();
            self.look(&run.process_changes(), &can_start_again);
            is_found = true;
        }
        if !is_found {
            for (component, changes) in &changes {
                run.note(note(component, changes));
            }
        }
        is_found
    }

    /// Looks for components that have made changes in two phases of the run.
    fn look(
        &mut self,
        changes: &[(String, Vec<ProcessChange>)],
        can_start_again: impl Fn() -> bool,
    ) -> bool {
        let again = changes.iter().filter(|(component, changes)| {
            let is_known =
                self.wanted.contains_key(component) || self.refused.contains_key(component);
            !is_known && is_put_back(changes) && phases(changes) > 1
        });
        let again: Vec<_> = again.collect();
        if again.is_empty() || !can_start_again() {
            return false;
        }
        for (component, changes) in again {
            let last = &changes[changes.len() - 1];
            let why = format!(
                "it changes {} for all components, again in {}",
                last.what, last.call
            );
            self.wanted.insert(component.clone(), why);
        }
        true
    }
}

fn is_put_back(changes: &[ProcessChange]) -> bool {
    changes.iter().any(|change| change.is_put_back)
}

/// Instantiation, initialisation and the first step: in how many of them there are changes.
fn phases(changes: &[ProcessChange]) -> usize {
    let phase = |change: &ProcessChange| match change.call {
        "fmi2Instantiate" => 0,
        "fmi2DoStep" => 2,
        _ => 1,
    };
    let mut phases: Vec<usize> = changes.iter().map(phase).collect();
    phases.dedup();
    phases.len()
}

fn note(component: &str, changes: &[ProcessChange]) -> String {
    let one = |change: &ProcessChange| {
        let end = match change.is_put_back {
            true => ", which was put back",
            false => "",
        };
        format!("{} has changed {}{end}", change.call, change.what)
    };
    let list: Vec<String> = changes.iter().map(one).collect();
    format!(
        "`{component}`: {}: all components of a process share it",
        list.join("; ")
    )
}
