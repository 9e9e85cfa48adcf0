//! Judges the rows of a run that is over.

use std::borrow::Cow;
use std::sync::Arc;

use gyrator::record::{BondValue, ColumnValues, Recorded};
use gyrator_system::{Problem, Problems};
use wildmatch::WildMatch;

use super::case::{Case, Known};
use super::finding::with_unlike_names;
use super::place::{shown, unknown};
use super::{BondEnd, Check, Checks, Finding, Quantity, RunEnd};

/// The rows of a result.
#[derive(Debug, Clone, Default)]
pub struct Rows<'a> {
    time: &'a [f64],
    columns: Vec<(&'a str, Option<Values<'a>>)>,
}

/// The numbers of a column.
type Values<'a> = Cow<'a, [f64]>;

impl<'a> Rows<'a> {
    /// Rows at these times, s, which rise.
    pub fn new(time: &'a [f64]) -> Self {
        let columns = Vec::new();
        Self { time, columns }
    }

    /// Adds a column with a value for each row; `None` if they are texts.
    pub fn push(&mut self, name: &'a str, values: Option<Cow<'a, [f64]>>) {
        self.columns.push((name, values));
    }

    fn column(&self, name: &str) -> Option<&Values<'a>> {
        let found = self.columns.iter().find(|(column, _)| *column == name);
        found?.1.as_ref()
    }

    /// The least distance of two rows, s.
    fn step(&self) -> f64 {
        let steps = self.time.windows(2).map(|pair| pair[1] - pair[0]);
        let least = steps
            .filter(|step| *step > 0.0)
            .fold(f64::INFINITY, f64::min);
        if least.is_finite() { least } else { 0.0 }
    }
}

impl<'a> From<&'a Recorded> for Rows<'a> {
    fn from(recorded: &'a Recorded) -> Self {
        let mut rows = Self::new(&recorded.time);
        for column in &recorded.columns {
            let values = match &column.values {
                ColumnValues::Real(values) => Some(Cow::Borrowed(values.as_slice())),
                ColumnValues::Integer(values) => {
                    Some(values.iter().map(|value| f64::from(*value)).collect())
                }
                ColumnValues::Boolean(values) => {
                    let bits = values.iter().map(|value| f64::from(u8::from(*value)));
                    Some(bits.collect())
                }
                ColumnValues::String(_) => None,
            };
            rows.push(&column.column.name, values);
        }
        rows
    }
}

impl Checks {
    /// Judges a run that is over, or was ended by its own program, by its rows and its end: signals at the times of the rows, as the
    /// columns have them. Energies are judged by the columns of the bonds; over the whole run, the energy of `energy_error_below` is
    /// known at each communication point without a column.
    ///
    /// # Errors
    /// All names and patterns that the result does not have, and checks that a result says too little for.
    pub fn judge(&self, rows: &Rows<'_>, run: &RunEnd) -> Result<Vec<Finding>, Problems> {
        let last = rows.time.last().copied().or(run.stop_time);
        let end = Known {
            run,
            until: last.unwrap_or(f64::NEG_INFINITY),
            interruption: run.interruption().filter(|_| !run.is_by_wish()),
        };
        let (mut findings, mut list) = (Vec::new(), Vec::new());
        let step = rows.step();
        for check in &self.list {
            match series(check, rows, run) {
                Ok(found) => findings.extend(found.into_iter().map(|series| {
                    let mut case = Case::new(check, series.subject, series.bond, step);
                    for (time, value) in series.points {
                        case.see(time, || value);
                    }
                    case.conclude(&end)
                })),
                Err(problem) => {
                    let subject = check.subject.as_ref().map(|name| &name.span);
                    list.push(problem.at(subject.unwrap_or(&check.span)));
                }
            }
        }
        if list.is_empty() {
            return Ok(with_unlike_names(findings));
        }
        let source = Arc::clone(&self.source);
        Err(Problems { source, list })
    }
}

/// The values of one signal, bond or run.
struct Series<'r> {
    subject: String,
    bond: Option<usize>,
    points: Box<dyn Iterator<Item = (f64, f64)> + 'r>,
}

fn series<'r>(check: &Check, rows: &'r Rows<'_>, run: &RunEnd) -> Result<Vec<Series<'r>>, Problem> {
    let name = check.subject.as_ref().map(|name| name.value.as_str());
    match (check.kind.quantity, name) {
        (Quantity::Signal, name) => of_signals(name.unwrap_or_default(), rows),
        (Quantity::OfBonds(value), Some(name)) => {
            let bonds = bonds(run, name)?.into_iter();
            let series = bonds.map(|bond| of_bonds(check, value, Some(bond), rows, run));
            series.collect()
        }
        (Quantity::OfBonds(value), None) => Ok(vec![of_bonds(check, value, None, rows, run)?]),
        (Quantity::Report, name) => {
            let bonds = match name {
                Some(name) => bonds(run, name)?.into_iter().map(Some).collect(),
                None => vec![None],
            };
            let series = bonds.into_iter().map(|bond| Series {
                subject: shown(check, bond.map(|bond| &*run.bonds[bond].name)),
                bond,
                points: Box::new(std::iter::empty()),
            });
            Ok(series.collect())
        }
        (Quantity::OfComponent(_), _) => {
            let word = check.kind.word;
            let message = format!("a result does not have the energies that `{word}` looks at");
            let problem = Problem::error("not-in-the-result", message);
            Err(problem.help("check it while the run goes on: with a file of checks"))
        }
    }
}

fn of_signals<'r>(pattern: &str, rows: &'r Rows<'_>) -> Result<Vec<Series<'r>>, Problem> {
    let matcher = WildMatch::new(pattern);
    let has_exact = rows.columns.iter().any(|(name, _)| *name == pattern);
    let met = rows
        .columns
        .iter()
        .filter(|(name, values)| match has_exact {
            true => *name == pattern,
            false => values.is_some() && matcher.matches(name),
        });
    let mut series = Vec::new();
    for (name, values) in met {
        let Some(values) = values else {
            let message = format!("`{name}` is a text, which has no bounds");
            return Err(Problem::error("no-number", message));
        };
        series.push(Series {
            subject: (*name).to_owned(),
            bond: None,
            points: Box::new(rows.time.iter().copied().zip(values.iter().copied())),
        });
    }
    if series.is_empty() {
        let message = format!("the result has no column `{pattern}`");
        let names = rows.columns.iter().map(|(name, _)| *name);
        return Err(unknown("unknown-variable", message, pattern, names));
    }
    Ok(series)
}

fn bonds(run: &RunEnd, pattern: &str) -> Result<Vec<usize>, Problem> {
    let matcher = WildMatch::new(pattern);
    let names = || run.bonds.iter().map(|bond| &*bond.name);
    let met = |name: &str| name == pattern || matcher.matches(name);
    let found: Vec<usize> = (0..)
        .zip(names())
        .filter(|(_, name)| met(name))
        .map(|(bond, _)| bond)
        .collect();
    if found.is_empty() {
        let message = format!("the system has no bond `{pattern}`");
        return Err(unknown("unknown-bond", message, pattern, names()));
    }
    Ok(found)
}

/// A value of a bond, or its sum over all power bonds.
fn of_bonds<'r>(
    check: &Check,
    value: BondValue,
    bond: Option<usize>,
    rows: &'r Rows<'_>,
    run: &RunEnd,
) -> Result<Series<'r>, Problem> {
    let power = || run.bonds.iter().filter(|bond| bond.is_power);
    let bonds: Vec<&BondEnd> = match bond {
        Some(bond) => vec![&run.bonds[bond]],
        None => power().collect(),
    };
    if bonds.is_empty() {
        let message = "the system has no power bonds, whose energies could be checked";
        return Err(Problem::error("nothing-to-check", message));
    }
    let names = bonds
        .iter()
        .map(|bond| format!("bond.{}.{}", bond.name, value.name));
    let names: Vec<String> = names.collect();
    let series = |points: Box<dyn Iterator<Item = (f64, f64)> + 'r>| Series {
        subject: shown(check, bond.map(|bond| &*run.bonds[bond].name)),
        bond,
        points,
    };
    let columns = names.iter().map(|name| rows.column(name));
    if let Some(columns) = columns.collect::<Option<Vec<_>>>() {
        let sum = move |row: usize| columns.iter().map(|column| column[row]).sum();
        let times = rows.time.iter().enumerate();
        let points = times.map(move |(row, time)| (*time, sum(row)));
        return Ok(series(Box::new(points)));
    }
    let window = check.window();
    let is_whole = window.from.is_none() && window.until.is_none();
    if is_whole && value.name == BondValue::RESIDUAL_ENERGY_INTEGRATED.name {
        let (time, peak) = match bond {
            Some(bond) => run.bonds[bond].peak(),
            None => run.peak(),
        };
        return Ok(series(Box::new(std::iter::once((time, peak)))));
    }
    let missing = names.iter().find(|name| rows.column(name).is_none());
    let name = missing.map_or("", String::as_str);
    let word = check.kind.word;
    let message = format!("`{word}` needs the column `{name}`, which the result does not have");
    let help = "name it among the recorded variables, or check it while the run goes on: with a file of checks";
    Err(Problem::error("not-in-the-result", message).help(help))
}
