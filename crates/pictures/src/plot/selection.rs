//! Which columns of a result are drawn.

use std::collections::{BTreeMap, BTreeSet};

use gyrator_record::{Column, ColumnType, is_heading};
use wildmatch::WildMatch;

/// Columns of error bars are this and the name of a signal.
pub(crate) const ERROR: &str = "error.";
/// Columns of bonds are this, the name of the bond, and one of these.
pub(crate) const BOND: &str = "bond.";
const OF_BONDS: [&str; 2] = [".residual_power", ".residual_energy"];

/// A pattern that no column has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no column of numbers is called `{pattern}`")]
pub struct UnknownName {
    /// The pattern.
    pub pattern: String,
    /// The names of all columns of numbers.
    pub known: Vec<String>,
}

/// Columns that may be drawn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Places among the columns, and the places of their error bars after them.
    pub columns: Vec<usize>,
    /// Whether they were named: all of them are drawn then, in this order.
    pub is_named: bool,
}

/// Chooses columns by names, in which `*` and `?` stand for any text and any character, in the order of the names. Without
/// names: all signals, and power and energy of the residuals of bonds, of which those are drawn that move.
///
/// # Errors
///
/// [`UnknownName`] for a pattern that fits no column of numbers.
pub fn choose(columns: &[Column], patterns: &[String]) -> Result<Choice, UnknownName> {
    let is_number = |column: &Column| column.kind != ColumnType::String;
    let known = names(columns);
    let mut chosen: Vec<usize> = Vec::new();
    for pattern in patterns {
        let matcher = WildMatch::new(pattern);
        let fits = |column: &Column| {
            // A column may have a name with a star in it, or be called as in the file, with its unit.
            is_number(column)
                && (matcher.matches(&column.name)
                    || is_heading(pattern, &column.name, column.unit.as_deref()))
        };
        let means_errors = pattern.starts_with(ERROR);
        let found = columns
            .iter()
            .enumerate()
            .filter(|(_, column)| fits(column));
        let found = found.filter(|(_, column)| means_errors || !is_error(&known, &column.name));
        let found: Vec<usize> = found.map(|(place, _)| place).collect();
        if found.is_empty() {
            let known = columns.iter().filter(|column| is_number(column));
            return Err(UnknownName {
                pattern: pattern.clone(),
                known: known.map(|column| column.name.clone()).collect(),
            });
        }
        chosen.extend(found);
    }
    if patterns.is_empty() {
        let places = |is_wanted: fn(&str) -> bool| {
            let found = columns.iter().enumerate();
            let found =
                found.filter(move |(_, column)| is_number(column) && is_wanted(&column.name));
            found.map(|(place, _)| place)
        };
        let signals = places(|name| !name.starts_with(BOND));
        let signals = signals.filter(|place| !is_error(&known, &columns[*place].name));
        chosen.extend(signals);
        chosen.extend(places(is_of_bond));
    }
    let mut seen = BTreeSet::new();
    chosen.retain(|place| seen.insert(*place));
    let errors = chosen.iter().filter_map(|place| {
        let name = format!("{ERROR}{}", columns[*place].name);
        known.get(&*name).copied()
    });
    let errors: Vec<usize> = errors.filter(|place| seen.insert(*place)).collect();
    chosen.extend(errors);
    Ok(Choice {
        columns: chosen,
        is_named: !patterns.is_empty(),
    })
}

/// The places of columns by their names.
pub(crate) fn names(columns: &[Column]) -> BTreeMap<&str, usize> {
    let places = columns.iter().enumerate().rev();
    places
        .map(|(place, column)| (column.name.as_str(), place))
        .collect()
}

/// Whether a column is the error bar of another one.
pub(crate) fn is_error(known: &BTreeMap<&str, usize>, name: &str) -> bool {
    let signal = name.strip_prefix(ERROR);
    signal.is_some_and(|signal| known.contains_key(signal))
}

fn is_of_bond(name: &str) -> bool {
    name.starts_with(BOND) && OF_BONDS.iter().any(|quantity| name.ends_with(quantity))
}

/// The unit of a bond's column, which has one also if the form of the result keeps none.
pub(crate) fn unit_of_bond(name: &str) -> Option<&'static str> {
    let quantity = name.strip_prefix(BOND)?.rsplit_once('.')?.1;
    match quantity {
        "residual_power" | "correction_power" => Some("W"),
        _ if quantity.contains("energy") => Some("J"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns() -> Vec<Column> {
        let names = [
            "left.x",
            "left.v",
            "right.x",
            "left.text",
            "bond.b.residual_power",
            "bond.b.transferred_energy",
            "bond.b.residual_energy",
            "error.left.x",
            "error.count",
        ];
        let kind = |name: &str| {
            if name == "left.text" {
                ColumnType::String
            } else {
                ColumnType::Real
            }
        };
        names.map(|name| Column::new(name, kind(name))).to_vec()
    }

    fn chosen(patterns: &[&str]) -> Vec<String> {
        let columns = columns();
        let patterns: Vec<String> = patterns.iter().map(|text| (*text).to_owned()).collect();
        let places = choose(&columns, &patterns).unwrap().columns;
        places
            .iter()
            .map(|place| columns[*place].name.clone())
            .collect()
    }

    #[test]
    fn signals_come_first_then_bonds_then_error_bars() {
        let expected = [
            "left.x",
            "left.v",
            "right.x",
            "error.count",
            "bond.b.residual_power",
            "bond.b.residual_energy",
            "error.left.x",
        ];
        assert_eq!(chosen(&[]), expected);
    }

    #[test]
    fn names_and_patterns_choose_in_their_order_and_once() {
        assert_eq!(
            chosen(&["right.x", "*.x"]),
            ["right.x", "left.x", "error.left.x"]
        );
        assert_eq!(chosen(&["error.*"]), ["error.left.x", "error.count"]);
        assert_eq!(chosen(&["left.?"]), ["left.x", "left.v", "error.left.x"]);
        let unknown = choose(&columns(), &["left.text".to_owned()]).unwrap_err();
        assert_eq!(
            (unknown.pattern.as_str(), unknown.known.len()),
            ("left.text", 8)
        );
    }

    #[test]
    fn columns_of_bonds_have_units() {
        assert_eq!(unit_of_bond("bond.a.b.residual_power"), Some("W"));
        assert_eq!(unit_of_bond("bond.a.net_energy_error"), Some("J"));
        assert_eq!(
            (
                unit_of_bond("bond.a.alarm"),
                unit_of_bond("left.residual_power")
            ),
            (None, None)
        );
    }
}
