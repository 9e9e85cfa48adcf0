//! The cases of a study: one list, the same on every machine.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use gyrator_system::toml_file::{Setting, segments};

use crate::cell::{Cell, Column, ColumnKind};
use crate::literal::Literal;
use crate::study_file::{Point, StudyFile, Variant};

/// All cases: the points of the blocks, crossed and filtered, each with every variant. A row of the
/// table is a case with a variant.
#[derive(Debug, Clone)]
pub struct Cases {
    blocks: Vec<Vec<Point>>,
    /// Keys that vary, in the order of the file, and whether all of their values are numbers.
    keys: Vec<(String, bool)>,
    /// Numbers of the points that meet the requirements, among all combinations.
    points: Vec<usize>,
    variants: Vec<Variant>,
    /// Settings of all runs.
    of_all: Vec<Setting>,
}

/// Which case a row belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Number of the case, from 1; its variants share it.
    pub number: usize,
    /// Index of the variant.
    pub variant: Option<usize>,
}

impl Cases {
    /// The list of a study.
    #[must_use]
    pub fn new(study: &StudyFile) -> Self {
        let mut cases = Self {
            keys: keys(&study.blocks),
            blocks: study.blocks.clone(),
            points: Vec::new(),
            variants: study.variants.clone(),
            of_all: study.settings.clone(),
        };
        let all = cases.blocks.iter().map(Vec::len).product();
        let is_wanted = |number: &usize| {
            let point = cases.point(*number);
            let value = |key: &str| {
                let found = point.iter().find(|(name, _)| name == key);
                found.map_or(Cell::Empty, |(_, literal)| literal.cell.clone())
            };
            study
                .requirements
                .iter()
                .all(|requirement| requirement.holds(&value))
        };
        cases.points = match study.requirements.is_empty() {
            true => (0..all).collect(),
            false => (0..all).filter(is_wanted).collect(),
        };
        cases
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len() * self.per_point()
    }

    /// Whether it has no cases.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// The keys that any case or variant sets.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        let of_variants = self.variants.iter().flat_map(|variant| &variant.settings);
        let of_points = self.keys.iter().map(|(key, _)| key.as_str());
        of_points.chain(of_variants.map(|setting| setting.key.as_str()))
    }

    /// Rows of one case: one a variant.
    pub(crate) fn per_point(&self) -> usize {
        self.variants.len().max(1)
    }

    /// The values of a combination; the last block varies fastest.
    fn point(&self, mut number: usize) -> Vec<&(String, Literal)> {
        let mut chosen = Vec::new();
        for block in self.blocks.iter().rev() {
            chosen.push(&block[number % block.len()]);
            number /= block.len();
        }
        chosen.into_iter().rev().flatten().collect()
    }

    /// The case of a row; rows count from 0.
    #[must_use]
    pub fn place(&self, row: usize) -> Place {
        Place {
            number: row / self.per_point() + 1,
            variant: (!self.variants.is_empty()).then(|| row % self.per_point()),
        }
    }

    /// Settings of the system file for a case with a variant, one after the other.
    ///
    /// # Panics
    ///
    /// If the case or variant does not exist.
    #[must_use]
    pub fn settings(&self, number: usize, variant: Option<usize>) -> Vec<Setting> {
        let of_point = self.point(self.points[number - 1]).into_iter();
        let of_point = of_point.map(|(key, literal)| Setting {
            key: key.clone(),
            value: literal.toml.clone(),
        });
        let of_all = self.of_all.iter().cloned();
        let last = variant.map_or(&[][..], |variant| &self.variants[variant].settings);
        let mut settings: Vec<Setting> = of_all
            .chain(of_point)
            .filter(|setting| !last.iter().any(|later| covers(&later.key, &setting.key)))
            .collect();
        let mut last = last.to_vec();
        // A word comes before its parameters.
        settings.sort_by_key(depth);
        last.sort_by_key(depth);
        settings.append(&mut last);
        settings
    }

    /// As [`settings`](Self::settings), of a row.
    ///
    /// # Panics
    ///
    /// If the row does not exist.
    #[must_use]
    pub fn settings_of(&self, row: usize) -> Vec<Setting> {
        let Place { number, variant } = self.place(row);
        self.settings(number, variant)
    }

    /// The columns that identify the cases.
    #[must_use]
    pub fn columns(&self) -> Vec<Column> {
        let mut columns = vec![Column::new("case", ColumnKind::Integer)];
        for (key, is_number) in &self.keys {
            let kind = if *is_number {
                ColumnKind::Real
            } else {
                ColumnKind::Text
            };
            columns.push(Column::new(key, kind));
        }
        if !self.variants.is_empty() {
            columns.push(Column::new("variant", ColumnKind::Text));
        }
        columns
    }

    /// The cells of [`columns`](Self::columns) of a row. They hold the values of the case, including
    /// values that its variant replaces.
    ///
    /// # Panics
    ///
    /// If the row does not exist.
    #[must_use]
    pub fn cells(&self, row: usize) -> Vec<Cell> {
        let Place { number, variant } = self.place(row);
        let point = self.point(self.points[number - 1]);
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let mut cells = vec![Cell::Integer(number)];
        for (key, is_number) in &self.keys {
            let value = point.iter().find(|(name, _)| name == key);
            cells.push(match value {
                None => Cell::Empty,
                Some((
                    _,
                    Literal {
                        toml,
                        cell: Cell::Real(_),
                    },
                )) if !is_number => Cell::Text(toml.clone()),
                Some((_, literal)) => literal.cell.clone(),
            });
        }
        if let Some(variant) = variant {
            cells.push(Cell::Text(self.variants[variant].name.clone()));
        }
        cells
    }
}

fn keys(blocks: &[Vec<Point>]) -> Vec<(String, bool)> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut keys: Vec<(String, bool)> = Vec::new();
    for (key, literal) in blocks.iter().flatten().flatten() {
        let place = *places.entry(key).or_insert_with(|| {
            keys.push((key.clone(), true));
            keys.len() - 1
        });
        keys[place].1 &= matches!(literal.cell, Cell::Real(_));
    }
    keys
}

fn depth(setting: &Setting) -> usize {
    segments(&setting.key).map_or(0, |segments| segments.len())
}

/// Whether setting `later` leaves nothing of what `earlier` set.
fn covers(later: &str, earlier: &str) -> bool {
    let rest = earlier.strip_prefix(later);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A part of the list of cases. Part i of n contains every n-th case, with all of its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Shard {
    /// Number of this part, from 1.
    pub index: usize,
    /// Number of parts.
    pub count: usize,
}

impl Shard {
    /// The whole list.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Whether the case of this number, from 1, belongs to this part.
    #[must_use]
    pub fn contains(self, number: usize) -> bool {
        number.wrapping_sub(1) % self.count == self.index - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// A text that names no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write i/n with 1 ≤ i ≤ n, such as 3/8")]
pub struct ShardError;

impl FromStr for Shard {
    type Err = ShardError;

    fn from_str(text: &str) -> Result<Self, ShardError> {
        let (index, count) = text.split_once('/').ok_or(ShardError)?;
        let index = index.trim().parse().map_err(|_| ShardError)?;
        let count = count.trim().parse().map_err(|_| ShardError)?;
        if (1..=count).contains(&index) {
            Ok(Self { index, count })
        } else {
            Err(ShardError)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(text: &str) -> Cases {
        let text = format!("system = \"s.toml\"\n{text}");
        Cases::new(&crate::parse(text, "study.toml").unwrap())
    }

    fn settings(cases: &Cases, row: usize) -> Vec<(String, String)> {
        let settings = cases.settings_of(row).into_iter();
        settings
            .map(|setting| (setting.key, setting.value))
            .collect()
    }

    #[test]
    fn blocks_are_crossed_and_variants_come_last() {
        let cases = cases(
            "[[vary]]\ngrid = { a.x = [1, 2] }\n[[vary]]\nzip = { a.y = [3, 4], a.z = [5, 6] }\n\
             [variants]\nfirst = {}\nother = { a.y = 7 }",
        );
        assert_eq!(cases.len(), 8);
        let of = |row: usize| -> Vec<String> {
            let settings = settings(&cases, row).into_iter();
            settings
                .map(|(key, value)| format!("{key}={value}"))
                .collect()
        };
        assert_eq!(of(0), ["a.x=1", "a.y=3", "a.z=5"]);
        assert_eq!(of(1), ["a.x=1", "a.z=5", "a.y=7"]);
        assert_eq!(of(6), ["a.x=2", "a.y=4", "a.z=6"]);
        assert_eq!(
            cases.place(6),
            Place {
                number: 4,
                variant: Some(0)
            }
        );
    }

    #[test]
    fn a_word_comes_before_its_parameters_and_a_variant_replaces_both() {
        let cases = cases(
            "[[vary]]\ngrid = { 'bonds.b.correction.mu' = [0.5], 'bonds.b.correction' = [\"nepce\"] }\n\
             [variants]\nfirst = {}\nother = { bonds.b.correction = \"off\" }",
        );
        let (word, mu) = ("bonds.b.correction", "bonds.b.correction.mu");
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(
            settings(&cases, 0),
            [pair(word, "\"nepce\""), pair(mu, "0.5")]
        );
        assert_eq!(settings(&cases, 1), [pair(word, "\"off\"")]);
    }

    #[test]
    fn parts_share_the_cases_out() {
        let parts: Vec<Shard> = (1..=3).map(|i| format!("{i}/3").parse().unwrap()).collect();
        for number in 1..=10 {
            let owners = parts.iter().filter(|part| part.contains(number)).count();
            assert_eq!(owners, 1, "case {number}");
        }
        for text in ["0/3", "4/3", "1/0", "3", "a/b", "-1/2"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_example_is_a_study() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../examples/double-oscillator-study.toml");
        assert_eq!(Cases::new(&crate::read(&path).unwrap()).len(), 24);
    }
}
