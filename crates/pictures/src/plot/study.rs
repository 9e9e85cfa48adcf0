//! The table of a study: metrics over one parameter, or one metric over two.

use std::path::Path;

use crate::chart::{Curve, Field, Figure, Panel};
use gyrator_record::{ReadTableError, Values, read_columns};

/// The columns that every table of a study has (docs/studies.md).
const CASE: &str = "case";
const VARIANT: &str = "variant";
const STOP_REASON: &str = "stop_reason";
/// Columns beside the stop reason that are not metrics.
const FACTS: [&str; 5] = ["message", "stop_time", "steps", "verdict", "wall_time"];
/// Runs with other stop reasons have failed.
const ENDED: [&str; 2] = ["stop-time", "terminated"];
/// Metrics that are drawn over one parameter, unless they are named.
const METRICS: usize = 4;
/// Curves of a panel.
const CURVES: usize = 6;

/// Why nothing is drawn.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StudyPlotError {
    /// The table does not come from a study.
    #[error("this is not the table of a study: it has no column `{STOP_REASON}`")]
    NoStudy,
    /// The table has no rows.
    #[error("the table has no rows{0}")]
    NoRows(String),
    /// A name that is not a parameter of numbers.
    #[error(
        "`{name}` is not a parameter that varies over numbers; {}",
        listed(known)
    )]
    NoParameter {
        /// The name.
        name: String,
        /// Those that are.
        known: Vec<String>,
    },
    /// A name that is not a metric.
    #[error("`{name}` is not a metric of numbers; {}", listed(known))]
    NoMetric {
        /// The name, or the pattern.
        name: String,
        /// Those that are.
        known: Vec<String>,
    },
    /// A condition on something else.
    #[error("`{name}` is neither a parameter nor `variant`; {}", listed(known))]
    NoCondition {
        /// The name.
        name: String,
        /// The parameters.
        known: Vec<String>,
    },
    /// Too many axes.
    #[error("a picture has one or two parameters, and {0} are given")]
    TooManyParameters(usize),
    /// More than one metric over two parameters.
    #[error("a picture over two parameters shows one metric, and `{0}` are several: {1}")]
    SeveralMetrics(String, String),
}

fn listed(names: &[String]) -> String {
    match names {
        [] => "there is none".to_owned(),
        names => format!("there are {}", names.join(", ")),
    }
}

/// The rows of a study, as text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StudyRows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells by row; an empty one has no value.
    pub rows: Vec<Vec<String>>,
}

/// The figures of a study.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StudyView {
    /// Metrics, by names or patterns; the first ones if there is none.
    pub metrics: Vec<String>,
    /// One or two parameters; the first ones that vary over numbers if there is none.
    pub over: Vec<String>,
    /// Rows in which these columns have these values.
    pub conditions: Vec<(String, String)>,
}

/// A picture of a study.
#[derive(Debug, Clone, PartialEq)]
pub enum StudyPicture {
    /// Over one parameter.
    Curves(Figure),
    /// Over two.
    Field(Field),
}

impl StudyRows {
    /// Reads the table of a study, CSV or Parquet.
    ///
    /// # Errors
    ///
    /// [`ReadTableError`].
    pub fn read(path: &Path) -> Result<Self, ReadTableError> {
        let series = read_columns(path)?;
        let columns = series.iter().map(|series| series.name.clone()).collect();
        let texts = series.into_iter().map(|series| match series.values {
            Values::Text(texts) => texts,
            Values::Numbers(numbers) => numbers.iter().map(ToString::to_string).collect(),
        });
        let texts: Vec<Vec<String>> = texts.collect();
        let count = texts.iter().map(Vec::len).min().unwrap_or(0);
        let row = |row: usize| texts.iter().map(|column| column[row].clone()).collect();
        Ok(Self {
            columns,
            rows: (0..count).map(row).collect(),
        })
    }

    /// The picture.
    ///
    /// # Errors
    ///
    /// [`StudyPlotError`].
    pub fn picture(&self, name: &str, view: &StudyView) -> Result<StudyPicture, StudyPlotError> {
        let table = Table::new(self)?;
        let mut rows: Vec<usize> = (0..self.rows.len()).collect();
        for (column, value) in &view.conditions {
            let place = table.condition(column)?;
            rows.retain(|row| is_equal(self.cell(*row, place), value));
        }
        if rows.is_empty() {
            let conditions = if view.conditions.is_empty() {
                ""
            } else {
                " that meet the conditions"
            };
            return Err(StudyPlotError::NoRows(conditions.to_owned()));
        }
        let over = table.over(view, &rows)?;
        let metrics = table.metrics(view, over.len())?;
        Ok(match over.as_slice() {
            [x] => StudyPicture::Curves(table.curves(name, rows, *x, &metrics)),
            [x, y, ..] => StudyPicture::Field(table.field(name, rows, (*x, *y), metrics[0])),
            [] => return Err(StudyPlotError::NoRows(String::new())),
        })
    }

    fn cell(&self, row: usize, column: usize) -> &str {
        self.rows[row].get(column).map_or("", String::as_str)
    }

    fn number(&self, row: usize, column: usize) -> f64 {
        let number = self.cell(row, column).parse().ok();
        number
            .filter(|number: &f64| number.is_finite())
            .unwrap_or(f64::NAN)
    }
}

fn is_equal(cell: &str, value: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    cell == value || number(cell).is_some_and(|cell| number(value) == Some(cell))
}

/// The columns of a table by their meaning.
struct Table<'a> {
    rows: &'a StudyRows,
    parameters: Vec<usize>,
    variant: Option<usize>,
    stop_reason: usize,
    metrics: Vec<usize>,
}

impl<'a> Table<'a> {
    fn new(rows: &'a StudyRows) -> Result<Self, StudyPlotError> {
        let place = |name: &str| rows.columns.iter().position(|column| column == name);
        let stop_reason = place(STOP_REASON).ok_or(StudyPlotError::NoStudy)?;
        let variant = place(VARIANT).filter(|variant| *variant < stop_reason);
        let is_parameter =
            |column: &usize| rows.columns[*column] != CASE && Some(*column) != variant;
        let is_metric = |column: &usize| !FACTS.contains(&rows.columns[*column].as_str());
        let metrics = (stop_reason + 1..rows.columns.len()).filter(is_metric);
        let has_numbers =
            |column: &usize| (0..rows.rows.len()).any(|row| rows.number(row, *column).is_finite());
        Ok(Self {
            rows,
            parameters: (0..stop_reason).filter(is_parameter).collect(),
            variant,
            stop_reason,
            metrics: metrics.filter(has_numbers).collect(),
        })
    }

    fn name(&self, column: usize) -> &str {
        &self.rows.columns[column]
    }

    fn names(&self, columns: &[usize]) -> Vec<String> {
        columns
            .iter()
            .map(|column| self.name(*column).to_owned())
            .collect()
    }

    fn condition(&self, name: &str) -> Result<usize, StudyPlotError> {
        let mut columns = self.parameters.iter().chain(&self.variant);
        let found = columns.find(|column| self.name(**column) == name);
        found.copied().ok_or_else(|| StudyPlotError::NoCondition {
            name: name.to_owned(),
            known: self.names(&self.parameters),
        })
    }

    /// Columns of parameters, which have different numbers.
    fn over(&self, view: &StudyView, rows: &[usize]) -> Result<Vec<usize>, StudyPlotError> {
        let varies = |column: &&usize| {
            let numbers = || rows.iter().map(|row| self.rows.number(*row, **column));
            numbers().any(|number| {
                number.is_finite() && numbers().any(|other| other.is_finite() && other != number)
            })
        };
        let known: Vec<usize> = self.parameters.iter().filter(varies).copied().collect();
        let unknown = |name: &str| StudyPlotError::NoParameter {
            name: name.to_owned(),
            known: self.names(&known),
        };
        match view.over.len() {
            0 if known.is_empty() => Err(unknown("")),
            0 => Ok(known.into_iter().take(2).collect()),
            1 | 2 => {
                let place = |name: &String| {
                    let found = known.iter().find(|column| self.name(**column) == name);
                    found.copied().ok_or_else(|| unknown(name))
                };
                view.over.iter().map(place).collect()
            }
            count => Err(StudyPlotError::TooManyParameters(count)),
        }
    }

    fn metrics(&self, view: &StudyView, axes: usize) -> Result<Vec<usize>, StudyPlotError> {
        let unknown = |name: &str| StudyPlotError::NoMetric {
            name: name.to_owned(),
            known: self.names(&self.metrics),
        };
        let mut found: Vec<usize> = Vec::new();
        for pattern in &view.metrics {
            let matcher = wildmatch::WildMatch::new(pattern);
            let fits = |column: &&usize| matcher.matches(self.name(**column));
            let before = found.len();
            found.extend(self.metrics.iter().filter(fits));
            if found.len() == before {
                return Err(unknown(pattern));
            }
        }
        if view.metrics.is_empty() {
            let most = if axes == 1 { METRICS } else { 1 };
            found.extend(self.metrics.iter().take(most));
        }
        match found.len() {
            0 => Err(unknown("")),
            1 => Ok(found),
            _ if axes == 1 => Ok(found),
            _ => Err(StudyPlotError::SeveralMetrics(
                view.metrics.join(" "),
                self.names(&found).join(", "),
            )),
        }
    }

    fn has_failed(&self, row: usize) -> bool {
        !ENDED.contains(&self.rows.cell(row, self.stop_reason))
    }

    fn curves(&self, name: &str, rows: Vec<usize>, x: usize, metrics: &[usize]) -> Figure {
        let others: Vec<usize> = self
            .parameters
            .iter()
            .copied()
            .filter(|column| *column != x)
            .collect();
        let others: Vec<usize> = self.variant.into_iter().chain(others).collect();
        let mut groups = self.groups(&rows, &others);
        let is_scattered = groups.len() > 1 && 2 * groups.len() > rows.len();
        if is_scattered {
            let variant: Vec<usize> = self.variant.into_iter().collect();
            groups = self.groups(&rows, &variant);
        }
        let mut notes = Vec::new();
        if groups.len() > CURVES {
            let more = groups.len() - CURVES;
            notes.push(format!("not drawn: {more} more of the curves"));
            groups.truncate(CURVES);
        }
        let panels = metrics
            .iter()
            .map(|metric| self.panel(&groups, x, *metric, is_scattered));
        let xs: Vec<f64> = distinct(rows.iter().map(|row| self.rows.number(*row, x)));
        Figure {
            title: format!(
                "{name}: {} over {}",
                self.names(metrics).join(", "),
                self.name(x)
            ),
            x: self.name(x).to_owned(),
            panels: panels.collect(),
            has_decades: is_geometric(&xs),
            notes,
        }
    }

    /// Rows with the same values in these columns, and those values in words.
    fn groups(&self, rows: &[usize], columns: &[usize]) -> Vec<(String, Vec<usize>)> {
        let differs = |column: &&usize| {
            let first = self.rows.cell(rows[0], **column);
            rows.iter()
                .any(|row| self.rows.cell(*row, **column) != first)
        };
        let columns: Vec<usize> = columns.iter().filter(differs).copied().collect();
        let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
        for row in rows {
            let words = columns.iter().map(|column| {
                let (name, cell) = (self.name(*column), self.rows.cell(*row, *column));
                if Some(*column) == self.variant {
                    cell.to_owned()
                } else {
                    format!("{name} = {}", short(cell))
                }
            });
            let words = words.collect::<Vec<_>>().join(", ");
            match groups.iter_mut().find(|(known, _)| *known == words) {
                Some((_, rows)) => rows.push(*row),
                None => groups.push((words, vec![*row])),
            }
        }
        groups
    }

    fn panel(
        &self,
        groups: &[(String, Vec<usize>)],
        x: usize,
        metric: usize,
        is_scattered: bool,
    ) -> Panel {
        let (mut curves, mut failed) = (Vec::new(), Vec::new());
        for (words, rows) in groups {
            let is_known =
                |row: &usize| self.has_failed(*row) || !self.rows.number(*row, metric).is_nan();
            // The reference has no errors.
            if !rows.iter().any(is_known) {
                continue;
            }
            let mut points: Vec<(f64, f64)> = Vec::new();
            for row in rows {
                let (at, value) = (self.rows.number(*row, x), self.rows.number(*row, metric));
                if self.has_failed(*row) || value.is_nan() {
                    failed.push(at);
                }
                if !self.has_failed(*row) {
                    points.push((at, value));
                }
            }
            points.retain(|(at, _)| at.is_finite());
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let name = self.name(metric);
            curves.push(Curve {
                label: if words.is_empty() {
                    name.to_owned()
                } else {
                    words.clone()
                },
                points,
                is_marked: true,
                is_scattered,
                ..Curve::default()
            });
        }
        let values = curves.iter().flat_map(|curve: &Curve| &curve.points);
        let has_decades = spans_decades(values.map(|(_, value)| *value));
        Panel {
            y: self.name(metric).to_owned(),
            curves,
            missing: (
                distinct(failed.into_iter()),
                "failed, or no value".to_owned(),
            ),
            has_decades,
        }
    }

    fn field(
        &self,
        name: &str,
        mut rows: Vec<usize>,
        (x, y): (usize, usize),
        metric: usize,
    ) -> Field {
        let others: Vec<usize> = self
            .variant
            .into_iter()
            .chain(self.parameters.iter().copied())
            .filter(|column| *column != x && *column != y)
            .collect();
        let mut title = format!("{name}: {}", self.name(metric));
        let grid = |rows: &[usize]| {
            let places = |column| distinct(rows.iter().map(|row| self.rows.number(*row, column)));
            (places(x), places(y))
        };
        let groups = self.groups(&rows, &others);
        // Parameters that are drawn at random have one row for each of their values.
        let is_random = 2 * groups.len() > rows.len();
        let shown = match is_random {
            true => self.groups(&rows, &self.variant.into_iter().collect::<Vec<_>>()),
            false => groups,
        };
        if shown.len() > 1 {
            title.push_str(&format!(" · {} (the first of {})", shown[0].0, shown.len()));
            rows.clone_from(&shown[0].1);
        }
        let (xs, ys) = grid(&rows);
        let value = |row: usize| match self.has_failed(row) {
            true => f64::NAN,
            false => self.rows.number(row, metric),
        };
        let place = |row: usize| (self.rows.number(row, x), self.rows.number(row, y));
        let is_logarithmic = spans_decades(rows.iter().map(|row| value(*row)));
        let missing = rows
            .iter()
            .copied()
            .filter(|row| value(*row).is_nan())
            .map(place);
        let missing: Vec<(f64, f64)> = missing
            .filter(|(x, y)| x.is_finite() && y.is_finite())
            .collect();
        let mut field = Field {
            title,
            x: self.name(x).to_owned(),
            y: self.name(y).to_owned(),
            value: self.name(metric).to_owned(),
            has_decades: (is_geometric(&xs), is_geometric(&ys)),
            is_logarithmic,
            missing: (missing, "failed, or no value".to_owned()),
            ..Field::default()
        };
        if xs.len() * ys.len() > 2 * rows.len() {
            let dots = rows.iter().filter(|row| value(**row).is_finite());
            let dots = dots.map(|row| (place(*row).0, place(*row).1, value(*row)));
            field.dots = dots.collect();
            return field;
        }
        let mut cells = vec![vec![f64::NAN; xs.len()]; ys.len()];
        for row in &rows {
            let (at_x, at_y) = place(*row);
            let column = xs.iter().position(|known| *known == at_x);
            let line = ys.iter().position(|known| *known == at_y);
            if let (Some(column), Some(line)) = (column, line) {
                cells[line][column] = value(*row);
            }
        }
        (field.xs, field.ys, field.cells) = (xs, ys, cells);
        field
    }
}

/// Each finite number once, in increasing order.
fn distinct(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let numbers = numbers.filter(|number| number.is_finite());
    // −0 and 0 are one place.
    let mut all: Vec<f64> = numbers.map(|number| number + 0.0).collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Whether places are spread over decades, and more evenly so than over their range.
fn is_geometric(places: &[f64]) -> bool {
    let (Some(first), Some(last)) = (places.first(), places.last()) else {
        return false;
    };
    let unevenness = |scaled: fn(f64) -> f64| {
        let steps = places
            .windows(2)
            .map(|pair| scaled(pair[1]) - scaled(pair[0]));
        let range = steps.fold((f64::INFINITY, 0.0_f64), |(least, most), step| {
            (least.min(step), most.max(step))
        });
        range.1 / range.0
    };
    let is_wide = places.len() > 2 && *first > 0.0 && last / first >= 8.0;
    is_wide && unevenness(f64::ln) < unevenness(|place| place)
}

/// Whether numbers are positive and span two decades and more.
fn spans_decades(values: impl Iterator<Item = f64>) -> bool {
    let values = values.filter(|value| value.is_finite());
    let range = values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| {
        (least.min(value), most.max(value))
    });
    range.0 > 0.0 && range.1 > 100.0 * range.0
}

/// A cell with at most six digits.
fn short(cell: &str) -> String {
    match cell.parse::<f64>() {
        Ok(number) if cell.len() > 8 && number.is_finite() => {
            let rounded: f64 = format!("{number:.5e}").parse().unwrap_or(number);
            let plain = rounded.to_string();
            if plain.len() > 10 {
                format!("{rounded:e}")
            } else {
                plain
            }
        }
        _ => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> StudyRows {
        let mut lines = text
            .lines()
            .map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        StudyRows {
            columns: lines.next().unwrap(),
            rows: lines.collect(),
        }
    }

    fn one() -> StudyRows {
        table(
            "case,h,variant,stop_reason,message,stop_time,steps,verdict,nrms,energy\n\
               1,0.001,a,stop-time,,1,9,small,0.01,5\n1,0.001,b,stop-time,,1,9,small,0.02,5\n\
               2,0.01,a,stop-time,,1,9,small,0.1,5\n2,0.01,b,failed,no,1,9,,,\n\
               3,0.1,a,crashed,no,1,9,,,\n3,0.1,b,stop-time,,1,9,small,3,5\n",
        )
    }

    #[test]
    fn metrics_over_one_parameter_have_a_curve_for_each_variant() {
        let view = StudyView {
            metrics: vec!["nr*".to_owned()],
            ..StudyView::default()
        };
        let StudyPicture::Curves(figure) = one().picture("t.csv", &view).unwrap() else {
            panic!("a field");
        };
        assert_eq!(figure.panels.len(), 1);
        let panel = &figure.panels[0];
        let labels: Vec<&str> = panel
            .curves
            .iter()
            .map(|curve| curve.label.as_str())
            .collect();
        assert_eq!(labels, ["a", "b"]);
        assert_eq!(panel.curves[0].points, [(0.001, 0.01), (0.01, 0.1)]);
        assert_eq!(panel.missing.0, [0.01, 0.1]);
        assert!(figure.has_decades && panel.has_decades);
        let view = StudyView {
            conditions: vec![("variant".to_owned(), "b".to_owned())],
            ..view
        };
        let StudyPicture::Curves(figure) = one().picture("t.csv", &view).unwrap() else {
            panic!("a field");
        };
        assert_eq!(
            figure.panels[0].curves[0].points,
            [(0.001, 0.02), (0.1, 3.0)]
        );
    }

    #[test]
    fn a_metric_over_two_parameters_is_a_field() {
        let mut text = "case,a,b,stop_reason,message,stop_time,steps,verdict,m\n".to_owned();
        for (a, b) in [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (3, 2)] {
            let reason = if (a, b) == (2, 2) {
                "failed"
            } else {
                "stop-time"
            };
            text.push_str(&format!("1,{a},{b},{reason},,1,1,small,{}\n", a * b));
        }
        let StudyPicture::Field(field) = table(&text).picture("t", &StudyView::default()).unwrap()
        else {
            panic!("curves");
        };
        assert_eq!(
            (&field.xs[..], &field.ys[..]),
            (&[1.0, 2.0, 3.0][..], &[1.0, 2.0][..])
        );
        assert_eq!(field.cells[1][2], 6.0);
        assert!(field.cells[1][1].is_nan());
        assert_eq!(field.missing.0, [(2.0, 2.0)]);
        let view = StudyView {
            over: vec!["b".to_owned()],
            ..StudyView::default()
        };
        let StudyPicture::Curves(figure) = table(&text).picture("t", &view).unwrap() else {
            panic!("a field");
        };
        assert_eq!(figure.panels[0].curves[2].label, "a = 3");
    }

    #[test]
    fn random_points_are_dots() {
        let mut text = "case,a,b,c,stop_reason,m\n".to_owned();
        for row in 0..10 {
            text.push_str(&format!(
                "{row},{row}.5,{},{},stop-time,1\n",
                row * row,
                row * 3 % 7
            ));
        }
        let StudyPicture::Field(field) = table(&text).picture("t", &StudyView::default()).unwrap()
        else {
            panic!("curves");
        };
        assert_eq!((field.dots.len(), field.cells.len()), (10, 0));
    }

    #[test]
    fn mistakes_are_named() {
        let error = |view: StudyView| one().picture("t", &view).unwrap_err().to_string();
        let list = |name: &str| vec![name.to_owned()];
        assert_eq!(
            error(StudyView {
                over: list("k"),
                ..StudyView::default()
            }),
            "`k` is not a parameter that varies over numbers; there are h"
        );
        assert_eq!(
            error(StudyView {
                metrics: list("k"),
                ..StudyView::default()
            }),
            "`k` is not a metric of numbers; there are nrms, energy"
        );
        let conditions = vec![("variant".to_owned(), "c".to_owned())];
        assert_eq!(
            error(StudyView {
                conditions,
                ..StudyView::default()
            }),
            "the table has no rows that meet the conditions"
        );
        assert_eq!(
            table("time,x\n0,1\n").picture("t", &StudyView::default()),
            Err(StudyPlotError::NoStudy)
        );
        let empty = table("case,h,stop_reason,m\n");
        assert!(matches!(
            empty.picture("t", &StudyView::default()),
            Err(StudyPlotError::NoRows(_))
        ));
    }
}
