//! The headings of a table: names, units in brackets, and the column of the times.

use std::collections::BTreeMap;

#[cfg(feature = "parquet")]
use crate::sink::{Column, ColumnType};

/// Units of time, with the factor and the divisor that make seconds of them: a division by a thousand can be exact
/// when a product with 0.001 is not.
const UNITS_OF_TIME: &[(&[&str], f64, f64)] = &[
    (&["s", "sec", "second", "seconds"], 1.0, 1.0),
    (&["ms"], 1.0, 1e3),
    (&["us", "\u{b5}s", "\u{3bc}s"], 1.0, 1e6),
    (&["ns"], 1.0, 1e9),
    (&["min"], 60.0, 1.0),
    (&["h"], 3600.0, 1.0),
    (&["d"], 86400.0, 1.0),
];

/// Begins messages about a column that is not there.
pub(crate) const NO_COLUMN: &str = "there is no column `";

/// Begins messages about a column that is there more than once.
pub(crate) const MANY_COLUMNS: &str = "more than one column is called `";

/// Column names that a message lists.
const LISTED: usize = 12;

/// The column of the times, and how they become seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TimeColumn {
    pub(crate) place: usize,
    factor: f64,
    divisor: f64,
}

impl TimeColumn {
    /// A column of times in seconds.
    pub(crate) fn at(place: usize) -> Self {
        Self {
            place,
            factor: 1.0,
            divisor: 1.0,
        }
    }

    /// The time in seconds.
    pub(crate) fn seconds(&self, time: f64) -> f64 {
        time * self.factor / self.divisor
    }
}

/// A heading and its unit: `x [m/s]`, `x[m/s]`. Brackets right after the name that hold digits are an index.
pub(crate) fn split_unit(heading: &str) -> (&str, Option<&str>) {
    let split = || {
        let (name, unit) = heading.strip_suffix(']')?.rsplit_once('[')?;
        let is_index = |c: char| c.is_ascii_digit() || matches!(c, ',' | ':' | ' ');
        let bare = name.trim_end();
        let is_unit = bare != name || !unit.chars().all(is_index);
        (is_unit && !bare.is_empty()).then_some((bare, Some(unit.trim())))
    };
    split().unwrap_or((heading, None))
}

/// A heading of comma-separated values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) text: String,
    /// A name without a unit, though it ends in brackets: it stands in quotes that it does not need, and others do not.
    pub(crate) is_name: bool,
    pub(crate) is_quoted: bool,
}

impl AsRef<str> for Heading {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

/// Whether a name would be read as one with a unit.
pub(crate) fn seems_to_have_unit(name: &str) -> bool {
    split_unit(name).1.is_some()
}

/// Whether a column of this name and unit is meant by a text: its name, or its heading with the unit in brackets.
#[must_use]
pub fn is_heading(text: &str, name: &str, unit: Option<&str>) -> bool {
    text == name || unit.is_some() && split_unit(text) == (name, unit)
}

/// Names without units, and the units, of headings; some of these are known to be names. Headings that would have one name then keep theirs.
pub(crate) fn names_and_units<'a>(
    headings: impl Iterator<Item = (&'a str, bool)>,
) -> Vec<(String, Option<String>)> {
    let split = headings.map(|(heading, is_name)| match is_name {
        true => (heading, (heading, None)),
        false => (heading, split_unit(heading)),
    });
    let split: Vec<(&str, (&str, Option<&str>))> = split.collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, (name, _)) in &split {
        *counts.entry(name).or_default() += 1;
    }
    let named = split.iter().map(|(heading, (name, unit))| match unit {
        Some(unit) if counts[name] == 1 => ((*name).to_owned(), Some((*unit).to_owned())),
        _ => ((*heading).to_owned(), None),
    });
    named.collect()
}

/// Finds the column of the times: the one that is asked for, or `time`, or `Time`, or `t`, with a unit of time in
/// brackets or without.
///
/// # Errors
/// Why there is none, with the names of the columns.
pub(crate) fn place_of_time<S: AsRef<str>>(
    headings: &[S],
    asked: Option<&str>,
) -> Result<TimeColumn, String> {
    let known = || headings.iter().map(AsRef::as_ref).enumerate();
    if let Some(asked) = asked {
        let found = known().find(|(_, heading)| *heading == asked);
        let found = found.or_else(|| known().find(|(_, heading)| split_unit(heading).0 == asked));
        let (place, heading) =
            found.ok_or_else(|| format!("{NO_COLUMN}{asked}`{}", listed(headings)))?;
        return time_column(place, heading).ok_or_else(|| {
            format!("the unit of the times in `{heading}` is none of s, ms, us, ns, min, h, d")
        });
    }
    if let Some((place, _)) = known().find(|(_, heading)| *heading == "time") {
        return Ok(TimeColumn::at(place));
    }
    for name in ["time", "t"] {
        let is_named = |heading: &str| {
            let bare = split_unit(heading).0;
            let bare = bare
                .split_once('(')
                .map_or(bare, |(bare, _)| bare.trim_end());
            bare.eq_ignore_ascii_case(name)
        };
        let mut found = known()
            .filter(|(_, heading)| is_named(heading))
            .filter_map(|(place, heading)| time_column(place, heading));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => {
                return Err(format!("{MANY_COLUMNS}{name}`{}", listed(headings)));
            }
            (Some(found), None) => return Ok(found),
            _ => {}
        }
    }
    Err(format!("{NO_COLUMN}time` or `t`{}", listed(headings)))
}

/// As [`place_of_time`], among columns; columns of texts hold no times.
#[cfg(feature = "parquet")]
pub(crate) fn time_of_columns(
    columns: &[Column],
    asked: Option<&str>,
) -> Result<TimeColumn, String> {
    let numbers = columns.iter().enumerate();
    let numbers = numbers.filter(|(_, column)| column.kind != ColumnType::String);
    let (places, names): (Vec<usize>, Vec<&str>) = numbers
        .map(|(place, column)| (place, column.name.as_str()))
        .unzip();
    let found = place_of_time(&names, asked)
        .map_err(|message| message.replacen("the columns are", "the columns of numbers are", 1))?;
    Ok(TimeColumn {
        place: places[found.place],
        ..found
    })
}

/// Takes the units from the names of columns, if the file has no other place for them.
#[cfg(feature = "parquet")]
pub(crate) fn take_units(columns: &mut [Column]) {
    let named = names_and_units(columns.iter().map(|column| (column.name.as_str(), false)));
    for (column, (name, unit)) in columns.iter_mut().zip(named) {
        (column.name, column.unit) = (name, unit);
    }
}

/// `None` if the unit of the heading is not a unit of time.
fn time_column(place: usize, heading: &str) -> Option<TimeColumn> {
    let in_round = heading
        .strip_suffix(')')
        .and_then(|text| text.rsplit_once('('));
    let unit = split_unit(heading)
        .1
        .or(in_round.map(|(_, unit)| unit.trim()));
    let Some(unit) = unit else {
        return Some(TimeColumn::at(place));
    };
    let (_, factor, divisor) = UNITS_OF_TIME
        .iter()
        .find(|(names, ..)| names.contains(&unit))?;
    Some(TimeColumn {
        place,
        factor: *factor,
        divisor: *divisor,
    })
}

fn listed<S: AsRef<str>>(headings: &[S]) -> String {
    let shown = headings.iter().take(LISTED);
    let shown: Vec<String> = shown.map(|name| format!("`{}`", name.as_ref())).collect();
    let more = match headings.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; the columns are {}{more}", shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_no_part_of_names() {
        for (heading, expected) in [
            ("x [-]", ("x", Some("-"))),
            ("Motor.V[mV]", ("Motor.V", Some("mV"))),
            ("a[1,2]", ("a[1,2]", None)),
            ("a[1] [N.m]", ("a[1]", Some("N.m"))),
            ("n [1]", ("n", Some("1"))),
            ("[-]", ("[-]", None)),
        ] {
            assert_eq!(split_unit(heading), expected, "{heading}");
        }
        let names = names_and_units(
            ["x [m]", "x [mm]", "v [m/s]"]
                .map(|x| (x, false))
                .into_iter(),
        );
        let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["x [m]", "x [mm]", "v"]);
    }

    #[test]
    fn only_time_is_time() {
        let seconds = |headings: &[&str], asked| {
            place_of_time(headings, asked).map(|time| (time.place, time.seconds(1500.0)))
        };
        for (headings, asked, expected) in [
            (&["x", "time"][..], None, (1, 1500.0)),
            (&["t", "time"], None, (1, 1500.0)),
            (&["T [K]", "t"], None, (1, 1500.0)),
            (&["x", "TIME [ms]"], None, (1, 1.5)),
            (&["Time (s)", "t"], None, (0, 1500.0)),
            (&["T[us]", "y"], None, (0, 1.5e-3)),
            (&["time", "clock [min]"], Some("clock"), (1, 90000.0)),
        ] {
            assert_eq!(seconds(headings, asked), Ok(expected), "{headings:?}");
        }
        for (headings, asked) in [
            (&["Motor.V", "x"][..], None),
            (&["T [K]", "x"], None),
            (&["Time", "TIME"], None),
            (&["times", "x"], Some("time")),
            (&["x [V]", "time"], Some("x")),
        ] {
            let error = place_of_time(headings, asked).unwrap_err();
            assert!(error.contains(headings[0]), "{error}");
        }
    }
}
