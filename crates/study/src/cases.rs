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
}

/// One run.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Place of its row in the table, from 0.
    pub row: usize,
    /// Number of the case, from 1; variants of a case share it.
    pub number: usize,
    /// Index of the variant.
    pub variant: Option<usize>,
    /// What is set on the system file, in this order.
    pub settings: Vec<Setting>,
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
        cases.points = (0..all).filter(is_wanted).collect();
        cases
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len() * self.per_point()
    }

    /// Whether there is no case at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Rows of one case: one a variant.
    fn per_point(&self) -> usize {
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

    /// What is run for a row.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    #[must_use]
    pub fn case(&self, row: usize) -> Case {
        let index = row / self.per_point();
        let variant = (!self.variants.is_empty()).then(|| row % self.per_point());
        Case {
            row,
            number: index + 1,
            variant,
            settings: self.settings(index, variant),
        }
    }

    /// The same case with another variant.
    pub(crate) fn settings(&self, index: usize, variant: Option<usize>) -> Vec<Setting> {
        let of_point = self.point(self.points[index]).into_iter();
        let of_point = of_point.map(|(key, literal)| Setting {
            key: key.clone(),
            value: literal.toml.clone(),
        });
        let last = variant.map_or(&[][..], |variant| &self.variants[variant].settings);
        let mut settings: Vec<Setting> = of_point
            .filter(|setting| !last.iter().any(|later| covers(&later.key, &setting.key)))
            .collect();
        let mut last = last.to_vec();
        // A word comes before its parameters.
        settings.sort_by_key(depth);
        last.sort_by_key(depth);
        settings.append(&mut last);
        settings
    }

    /// The columns that tell the cases apart.
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

    /// The cells of [`columns`](Self::columns). They tell the values of the case, also those that
    /// its variant replaces.
    #[must_use]
    pub fn cells(&self, case: &Case) -> Vec<Cell> {
        let point = self.point(self.points[case.number - 1]);
        let mut cells = vec![Cell::Integer(
            i64::try_from(case.number).unwrap_or(i64::MAX),
        )];
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
        if let Some(variant) = case.variant {
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

/// A part of the list of cases. Part i of n takes every n-th case, with all of its variants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Part {
    /// Number of this part, from 1.
    pub index: usize,
    /// Number of parts.
    pub count: usize,
}

impl Part {
    /// The whole list.
    pub const WHOLE: Self = Self { index: 1, count: 1 };

    /// Whether a case belongs to this part.
    #[must_use]
    pub fn contains(self, case: &Case) -> bool {
        (case.number - 1) % self.count == self.index - 1
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

/// A text that names no part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write i/n with 1 ≤ i ≤ n, such as 3/8")]
pub struct PartError;

impl FromStr for Part {
    type Err = PartError;

    fn from_str(text: &str) -> Result<Self, PartError> {
        let (index, count) = text.split_once('/').ok_or(PartError)?;
        let index = index.trim().parse().map_err(|_| PartError)?;
        let count = count.trim().parse().map_err(|_| PartError)?;
        if (1..=count).contains(&index) {
            Ok(Self { index, count })
        } else {
            Err(PartError)
        }
    }
}
