//! How the runs of a study ended: counts over its rows.

use std::collections::BTreeMap;

use gyrator::Verdict;

use crate::cell::Column;
use crate::journal::RowText;

/// Name of the column of stop reasons; its messages, end and verdict follow it.
pub(crate) const STOP_REASON: &str = "stop_reason";
/// The stop reason of a run that could not begin, for what its files say.
pub(crate) const INVALID: &str = "invalid";
/// The stop reason of a run that could not begin, because an FMU could not be loaded.
pub(crate) const NOT_LOADED: &str = "not-loaded";
/// Of a run whose host is lost, which makes no row.
pub(crate) const HOST_LOST: &str = "host-lost";
/// Name of the column of messages.
pub(crate) const MESSAGE: &str = "message";
/// Name of the column of verdicts.
pub(crate) const VERDICT: &str = "verdict";

/// Counts over rows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tally {
    /// Rows whose run failed, by stop reason, with the message of the first one.
    pub failures: BTreeMap<String, Group>,
    /// Rows whose run was judged, by verdict; the message of the first one is advice if it diverges.
    pub verdicts: BTreeMap<Verdict, Group>,
}

/// Rows that have something in common.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Group {
    /// How many there are.
    pub rows: usize,
    /// Place of the first one in the table, from 0.
    pub first: usize,
    /// Its message.
    pub message: String,
}

impl Tally {
    /// Counts rows of a table with these columns.
    #[must_use]
    pub fn of(columns: &[Column], rows: &BTreeMap<usize, RowText>) -> Self {
        let place = |name: &str| columns.iter().position(|column| column.name == name);
        let places = [STOP_REASON, MESSAGE, VERDICT].map(place);
        let mut tally = Self::default();
        // One reader for all: it takes longer to make one than to read a row.
        let lines: Vec<&str> = rows.values().map(String::as_str).collect();
        let text = lines.join("\n");
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        for (row, record) in rows.keys().zip(reader.records()) {
            let Ok(record) = record else {
                continue;
            };
            let cell = |place: Option<usize>| place.and_then(|place| record.get(place));
            let [stop_reason, message, verdict] = places.map(|place| cell(place).unwrap_or(""));
            tally.add(*row, stop_reason, message, Verdict::from_word(verdict));
        }
        tally
    }

    /// Adds a row.
    pub(crate) fn add(
        &mut self,
        row: usize,
        stop_reason: &str,
        message: &str,
        verdict: Option<Verdict>,
    ) {
        if !is_success(stop_reason) {
            add(&mut self.failures, stop_reason.to_owned(), row, message);
        }
        if let Some(verdict) = verdict {
            add(&mut self.verdicts, verdict, row, message);
        }
    }

    /// Rows whose run could not begin, for what its files say.
    #[must_use]
    pub fn invalid(&self) -> Option<&Group> {
        self.failures.get(INVALID)
    }

    /// Rows whose run could not begin, because an FMU could not be loaded.
    #[must_use]
    pub fn not_loaded(&self) -> Option<&Group> {
        self.failures.get(NOT_LOADED)
    }

    /// Number of rows whose run failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.failures.values().map(|group| group.rows).sum()
    }
}

/// Whether a run with this stop reason came to an end that was planned.
pub(crate) fn is_success(stop_reason: &str) -> bool {
    matches!(stop_reason, "stop-time" | "terminated")
}

/// Adds a row to its group. The first row of the table speaks for a group, whichever was made first.
fn add<K: Ord>(groups: &mut BTreeMap<K, Group>, key: K, row: usize, message: &str) {
    let group = groups.entry(key).or_insert_with(|| Group {
        rows: 0,
        first: usize::MAX,
        message: String::new(),
    });
    group.rows += 1;
    if row < group.first {
        group.first = row;
        message.clone_into(&mut group.message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::ColumnKind;

    #[test]
    fn the_first_row_of_the_table_speaks_for_its_group() {
        let names = ["case", STOP_REASON, MESSAGE, "steps", VERDICT];
        let columns = names.map(|name| Column::new(name, ColumnKind::Text));
        let rows = [
            (7, "8,stop-time,\"half, or less\",3,diverging"),
            (2, "3,stop-time,\"try fresh, or half\",9,diverging"),
            (0, "1,stop-time,,9,small"),
            (3, "4,failed,not finite,2,dominating"),
            (4, "5,invalid,no step,,"),
        ];
        let read = rows.map(|(row, text)| (row, text.to_owned())).into();
        let tally = Tally::of(&columns, &read);
        let group = |rows, first, message: &str| Group {
            rows,
            first,
            message: message.to_owned(),
        };
        let diverging = group(2, 2, "try fresh, or half");
        assert_eq!(tally.verdicts[&Verdict::Diverging], diverging);
        assert_eq!(tally.verdicts[&Verdict::Small], group(1, 0, ""));
        assert_eq!(tally.verdicts.len(), 3);
        assert_eq!(tally.failures["failed"], group(1, 3, "not finite"));
        assert_eq!(tally.failed(), 2);
        // The order in which rows are made does not count.
        let mut made = Tally::default();
        for (row, stop_reason, message, verdict) in [
            (7, "stop-time", "half, or less", "diverging"),
            (4, "invalid", "no step", ""),
            (3, "failed", "not finite", "dominating"),
            (2, "stop-time", "try fresh, or half", "diverging"),
            (0, "stop-time", "", "small"),
        ] {
            made.add(row, stop_reason, message, Verdict::from_word(verdict));
        }
        assert_eq!(made, tally);
    }
}
