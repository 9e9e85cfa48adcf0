//! Sensitivities of metrics to parameters, from the table of a study whose points were made for them.

use std::path::Path;

use gyrator_record::{ReadTableError, Values, read_columns};

use crate::cases::Cases;
use crate::cell::Cell;
use crate::sampling::{Groups, places};
use crate::study_file::{Design, StudyFile};
use crate::tally::{STOP_REASON, is_success};

/// The sensitivities of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Sensitivities {
    /// The column of the metric.
    pub metric: String,
    /// The variant of the rows, if the study has some.
    pub variant: Option<String>,
    /// Names of the figures, from [`Sampling`](crate::Sampling)'s analysis.
    pub figures: &'static [&'static str],
    /// The figures of each parameter, in the order of the study file. NaN if the metric is the same at all points.
    pub parameters: Vec<(String, Vec<f64>)>,
    /// Groups of points (base points, trajectories) that the figures come from.
    pub groups: usize,
    /// Groups that were left out, because a run failed or the metric has no finite value.
    pub left_out: usize,
}

/// Why sensitivities cannot be given.
#[derive(Debug, thiserror::Error)]
pub enum NoSensitivity {
    /// The study has no points for them.
    #[error("the study has no block with a sampling for sensitivities")]
    NoDesign,
    /// The table cannot be read.
    #[error(transparent)]
    Table(#[from] ReadTableError),
    /// The table does not belong to the study.
    #[error("{0}")]
    OtherTable(String),
    /// No metric of this name.
    #[error("the table has no metric `{0}` of numbers")]
    NoMetric(String),
    /// Too many failures.
    #[error(
        "`{metric}`: only {groups} of {all} groups of points are complete, and two are needed at least"
    )]
    TooFew {
        /// The metric.
        metric: String,
        /// Complete groups.
        groups: usize,
        /// All groups.
        all: usize,
    },
}

impl Sensitivities {
    /// The sensitivities of `metrics` (columns of the table), for each variant. Rows are expected in the order of the cases, as a
    /// study writes them.
    ///
    /// # Errors
    ///
    /// [`NoSensitivity`], in particular if the table was made by another study file.
    pub fn of_table(
        study: &StudyFile,
        path: &Path,
        metrics: &[String],
    ) -> Result<Vec<Self>, NoSensitivity> {
        let design = study.design.as_ref().ok_or(NoSensitivity::NoDesign)?;
        let table = StudyTable::read(path)?;
        let cases = Cases::new(study);
        table.check(&cases, path)?;
        let variants = study.variants.len().max(1);
        let mut found = Vec::new();
        for metric in metrics {
            let values = table.metric(metric)?;
            for variant in 0..variants {
                let of_variant: Vec<f64> = values
                    .iter()
                    .skip(variant)
                    .step_by(variants)
                    .copied()
                    .collect();
                let mut sensitivities = design.analyse(metric, &of_variant)?;
                sensitivities.variant = study.variants.get(variant).map(|v| v.name.clone());
                found.push(sensitivities);
            }
        }
        Ok(found)
    }
}

impl Design {
    /// The sensitivities of a metric with these values at the points; NaN for a missing value.
    fn analyse(&self, metric: &str, values: &[f64]) -> Result<Sensitivities, NoSensitivity> {
        let analysis = self.sampling.analysis.ok_or(NoSensitivity::NoDesign)?;
        let parameters = self.keys.len();
        let size = (analysis.group)(parameters);
        let all_places = places(self.sampling, self.count, parameters, self.seed);
        let (mut kept, mut kept_places) = (Vec::new(), Vec::new());
        for (values, places) in values.chunks_exact(size).zip(all_places.chunks_exact(size)) {
            if values.iter().all(|value| value.is_finite()) {
                kept.extend_from_slice(values);
                kept_places.extend_from_slice(places);
            }
        }
        let (groups, all) = (kept.len() / size, all_places.len() / size);
        if groups < 2 {
            return Err(NoSensitivity::TooFew {
                metric: metric.to_owned(),
                groups,
                all,
            });
        }
        let figures = (analysis.figures_of)(&Groups {
            parameters,
            values: &kept,
            places: &kept_places,
            seed: self.seed,
        });
        Ok(Sensitivities {
            metric: metric.to_owned(),
            variant: None,
            figures: analysis.figures,
            parameters: self.keys.iter().cloned().zip(figures).collect(),
            groups,
            left_out: all - groups,
        })
    }
}

/// The columns of the table of a study.
struct StudyTable(Vec<gyrator_record::Series>);

impl StudyTable {
    fn read(path: &Path) -> Result<Self, NoSensitivity> {
        Ok(Self(read_columns(path)?))
    }

    fn column(&self, name: &str) -> Option<&Values> {
        let found = self.0.iter().find(|series| series.name == name);
        found.map(|series| &series.values)
    }

    /// Compares the cells of the cases with the study's.
    fn check(&self, cases: &Cases, path: &Path) -> Result<(), NoSensitivity> {
        let other = |text: String| {
            let path = path.display();
            NoSensitivity::OtherTable(format!(
                "{path}: {text}; the table is that of another study, or of a part of this one"
            ))
        };
        let names: Vec<String> = cases.columns().into_iter().map(|c| c.name).collect();
        let mut columns = Vec::new();
        for name in &names {
            let values = self
                .column(name)
                .ok_or_else(|| other(format!("there is no column `{name}`")))?;
            let count = values.len();
            if count != cases.len() {
                let rows = cases.len();
                return Err(other(format!("{count} rows in place of {rows}")));
            }
            columns.push(values);
        }
        for row in 0..cases.len() {
            let cells = cases.cells(row);
            let mut pairs = columns.iter().zip(&cells);
            if let Some(index) = pairs.position(|(values, cell)| !is_cell(values, row, cell)) {
                let (name, row) = (&names[index], row + 1);
                return Err(other(format!("`{name}` has another value in row {row}")));
            }
        }
        Ok(())
    }

    /// The values of a metric; NaN if a run did not come to its end.
    fn metric(&self, name: &str) -> Result<Vec<f64>, NoSensitivity> {
        let values = self.column(name);
        let mut values = match values {
            Some(Values::Numbers(numbers)) => numbers.clone(),
            // A column with empty cells.
            Some(Values::Text(texts)) if texts.iter().all(|text| is_number(text)) => texts
                .iter()
                .map(|text| text.parse().unwrap_or(f64::NAN))
                .collect(),
            _ => return Err(NoSensitivity::NoMetric(name.to_owned())),
        };
        if let Some(Values::Text(reasons)) = self.column(STOP_REASON) {
            for (value, reason) in values.iter_mut().zip(reasons) {
                if !is_success(reason) {
                    *value = f64::NAN;
                }
            }
        }
        Ok(values)
    }
}

fn is_number(text: &str) -> bool {
    text.is_empty() || text.parse::<f64>().is_ok()
}

fn is_cell(values: &Values, row: usize, cell: &Cell) -> bool {
    match (values, cell) {
        (Values::Numbers(numbers), Cell::Real(number)) => {
            numbers[row].to_bits() == number.to_bits() || numbers[row] == *number
        }
        (Values::Numbers(numbers), Cell::Integer(number)) => numbers[row] == *number as f64,
        (Values::Numbers(numbers), Cell::Empty) => numbers[row].is_nan(),
        (Values::Text(texts), Cell::Text(text)) => texts[row] == *text,
        (Values::Text(texts), Cell::Empty) => texts[row].is_empty(),
        (Values::Text(texts), Cell::Real(number)) => texts[row].parse() == Ok(*number),
        // Texts that read as numbers, such as a choice among "1" and "2", and booleans as 0 and 1.
        (Values::Numbers(numbers), Cell::Text(text)) => match text.as_str() {
            "true" => numbers[row] == 1.0,
            "false" => numbers[row] == 0.0,
            text => text.parse() == Ok(numbers[row]),
        },
        (Values::Text(texts), Cell::Integer(number)) => texts[row].parse() == Ok(*number),
    }
}
