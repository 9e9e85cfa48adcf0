//! Groups of runs that are measured against the same reference.

use std::collections::{BTreeMap, BTreeSet};

use gyrator_system::toml_file::Setting;

use crate::cases::Cases;
use crate::crashed_run::FailedRun;
use crate::journal::Journal;
use crate::options::Options;

/// Rows that are measured against the same run; rows are named by their places.
#[derive(Default)]
pub(crate) struct Group {
    /// Settings of that run; `None` without such a run.
    pub(crate) reference: Option<Vec<Setting>>,
    /// Why that run cannot be made.
    pub(crate) lost: Option<String>,
    /// Rows that are the reference itself.
    pub(crate) own: Vec<usize>,
    pub(crate) others: Vec<usize>,
}

impl Group {
    /// Settings of its runs.
    pub(crate) fn runs(&self, cases: &Cases) -> impl Iterator<Item = Vec<Setting>> {
        let others = self.others.iter().map(|row| cases.settings_of(*row));
        self.reference.iter().cloned().chain(others)
    }
}

/// The open rows of a part in groups, and the number of all its rows. `reference` is the variant
/// that the others are measured against.
pub(crate) fn of_part(
    cases: &Cases,
    reference: Option<usize>,
    options: &Options<'_>,
    journal: &Journal,
) -> (Vec<Group>, usize) {
    let (mut lost_rows, mut lost_references) = (BTreeSet::new(), BTreeMap::new());
    for FailedRun { trial, message } in options.lost {
        if trial.is_reference {
            let settings = cases.settings(cases.place(trial.row).number, reference);
            lost_references.insert(settings, message);
        } else {
            lost_rows.insert(trial.row);
        }
    }
    let mut places: BTreeMap<Vec<Setting>, usize> = BTreeMap::new();
    let (mut groups, mut total) = (Vec::new(), 0);
    for row in 0..cases.len() {
        let place = cases.place(row);
        if !options.part.contains(place.number) {
            continue;
        }
        total += 1;
        let is_wanted = options.only.is_none_or(|only| only == row);
        if !is_wanted || journal.done().contains_key(&row) || lost_rows.contains(&row) {
            continue;
        }
        let Some(variant) = reference else {
            groups.push(Group {
                others: vec![row],
                ..Group::default()
            });
            continue;
        };
        let settings = cases.settings(place.number, Some(variant));
        let group = *places.entry(settings).or_insert_with_key(|settings| {
            groups.push(Group {
                lost: lost_references.get(settings).map(ToString::to_string),
                reference: Some(settings.clone()),
                ..Group::default()
            });
            groups.len() - 1
        });
        match place.variant == Some(variant) {
            true => groups[group].own.push(row),
            false => groups[group].others.push(row),
        }
    }
    (groups, total)
}
