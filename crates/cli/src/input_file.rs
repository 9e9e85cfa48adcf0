//! Time series that feed inputs.

use std::collections::BTreeMap;
use std::path::Path;

use gyrator::graph::{Graph, GraphVariable};
use gyrator::unit::{Causality, VariableType};
use gyrator::{Run, RunError, System, Value};
use gyrator_record::{
    Interpolation, Series, Table, Values, is_heading, place_of_cell, read_table_with,
};
use gyrator_system::{OuterSignal, did_you_mean};

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::input_kind::{self, Wanted};
use crate::table_options::{InputOptions, not_read};

/// A file that was read, before it is known what it feeds.
#[derive(Debug)]
pub(crate) struct InputTable<'a> {
    path: &'a Path,
    table: Table,
    options: &'a InputOptions,
}

/// The columns of a file that feed inputs. Before its first row and after its last one, an input
/// has the value of that row.
#[derive(Debug)]
pub(crate) struct InputFile {
    time: Vec<f64>,
    inputs: Vec<Input>,
}

#[derive(Debug)]
struct Input {
    component: String,
    variable: String,
    kind: VariableType,
    /// Between rows: on the straight line, or the value of the row before.
    is_continuous: bool,
    values: Values,
}

impl<'a> InputTable<'a> {
    /// Reads a CSV, Parquet or Arrow file, if the options name one.
    pub(crate) fn read(options: &'a InputOptions) -> Result<Option<Self>, Failure> {
        let Some(path) = options.input_file.as_deref() else {
            return Ok(None);
        };
        input_kind::expect(path, Wanted::Inputs)?;
        let table = read_table_with(path, options.time_column.as_deref());
        let table = table.map_err(|error| not_read(&error, path))?;
        for name in &options.hold {
            let is_held = |series: &Series| is_heading(name, &series.name, series.unit.as_deref());
            if !table.series.iter().any(is_held) {
                let known = table.series.iter().map(|series| series.name.as_str());
                let text = format!("--hold {name}: {} has no such column", path.display());
                return Err(Failure::usage(text).advised(did_you_mean(name, known)));
            }
        }
        Ok(Some(Self {
            path,
            table,
            options,
        }))
    }

    /// The columns as inputs of a system: `component.variable`, or inputs of the only component.
    pub(crate) fn feeding(self, graph: &Graph, single: Option<&str>) -> Result<InputFile, Failure> {
        let Self {
            path,
            table,
            options,
        } = self;
        if table.time.is_empty() {
            return Err(invalid(format!("{}: there are no rows", path.display())));
        }
        let is_input = |variable: &GraphVariable<'_>| {
            let is_asked = single.is_none_or(|single| single == variable.component);
            is_asked && variable.described.causality == Causality::Input
        };
        let shown = |variable: &GraphVariable<'_>| match single {
            Some(_) => variable.described.name.clone(),
            None => format!("{}.{}", variable.component, variable.described.name),
        };
        let inputs = graph.variables().filter(is_input);
        let known: BTreeMap<String, _> = inputs
            .map(|variable| (shown(&variable), variable))
            .collect();
        let mut inputs = Vec::new();
        let is_held = |series: &Series| {
            let unit = series.unit.as_deref();
            let mut held = options.hold.iter();
            held.any(|held| is_heading(held, &series.name, unit))
        };
        let columns = table
            .series
            .into_iter()
            .map(|series| (is_held(&series), series));
        for (is_held, mut series) in of_components(columns, graph) {
            let exact = known.get(&series.name);
            // An index in brackets may look like a unit.
            let by_heading = || {
                let unit = series.unit.as_deref();
                let mut names = known.iter();
                names.find(|(name, _)| is_heading(name, &series.name, unit))
            };
            let variable = exact.or_else(|| by_heading().map(|(_, variable)| variable));
            let Some(variable) = variable else {
                let outer = outer_inputs(graph).map(|signal| signal.name.value.as_str());
                let names: Vec<&str> = outer.chain(known.keys().map(String::as_str)).collect();
                return Err(no_such_input(path, &series.name, &names, single.is_some()));
            };
            if exact.is_none() {
                series.unit = None;
            }
            let name = series.name.clone();
            let mut input = Input::new(variable, series)
                .map_err(|misfit| misfit.failure((path, options), &name))?;
            input.is_continuous &= !is_held;
            inputs.push(input);
        }
        let time = table.time;
        Ok(InputFile { time, inputs })
    }
}

impl InputFile {
    /// Gives the inputs start values for time `start`, except where the system has them already.
    pub(crate) fn set_start_values(&self, system: &mut System, start: f64) {
        for input in &self.inputs {
            let components = &system.description().components;
            let component = components.iter().find(|c| c.name.value == input.component);
            let mut values = component.into_iter().flat_map(|c| &c.start_values);
            if values.any(|(name, _)| name.value == input.variable) {
                continue;
            }
            if let Some(component) = system.component(&input.component) {
                component.start(&input.variable, input.value(&self.time, start));
            }
        }
    }

    /// Sets the inputs for the step from the present time on.
    pub(crate) fn feed(&self, run: &mut Run) -> Result<(), RunError> {
        let time = run.time();
        for input in &self.inputs {
            let name = format!("{}.{}", input.component, input.variable);
            run.write(&name, &input.value(&self.time, time))?;
        }
        Ok(())
    }
}

/// Inputs of the system itself.
fn outer_inputs(graph: &Graph) -> impl Iterator<Item = &OuterSignal> {
    let signals = graph.outer_signals.iter();
    signals.filter(|signal| signal.is_input)
}

/// Columns of the inputs of the system itself as columns of the inputs of components that they lead to; each with whether it is held.
fn of_components(
    columns: impl Iterator<Item = (bool, Series)>,
    graph: &Graph,
) -> Vec<(bool, Series)> {
    let mut found = Vec::new();
    for (is_held, column) in columns {
        let unit = column.unit.as_deref();
        let mut outer = outer_inputs(graph);
        let Some(signal) = outer.find(|one| is_heading(&one.name.value, &column.name, unit)) else {
            found.push((is_held, column));
            continue;
        };
        found.extend(signal.ends.iter().map(|end| {
            let mut values = column.values.clone();
            if let Values::Numbers(numbers) = &mut values {
                numbers
                    .iter_mut()
                    .for_each(|number| *number = end.convert(*number));
            }
            let series = Series {
                name: end.port.to_string(),
                unit: None,
                values,
            };
            (is_held, series)
        }));
    }
    found
}

fn invalid(text: String) -> Failure {
    Failure::new(Exit::InvalidInput, Message::error(text))
}

/// Why a column cannot feed an input.
struct Misfit {
    reason: String,
    /// The first row that does not fit, from 0; `None` where it is the whole column.
    row: Option<usize>,
}

impl Misfit {
    fn column(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            row: None,
        }
    }

    /// With the place of the cell, where the file is text that can be read again.
    fn failure(self, (path, options): (&Path, &InputOptions), column: &str) -> Failure {
        let time_column = options.time_column.as_deref();
        let place = self.row;
        let place = place.and_then(|row| place_of_cell(path, time_column, column, row));
        let place = match (place, self.row) {
            (Some((line, character)), _) => format!(":{line}:{character}"),
            (None, Some(row)) => format!(": row {}", row + 1),
            (None, None) => String::new(),
        };
        let name = path.display();
        invalid(format!("{name}{place}: column {column}: {}", self.reason))
    }
}

fn no_such_input(path: &Path, name: &str, known: &[&str], is_single: bool) -> Failure {
    const LISTED: usize = 10;
    let whole = if is_single { "FMU" } else { "system" };
    let help = match did_you_mean(name, known.iter().copied()) {
        Some(help) => help,
        None if known.is_empty() => format!("the {whole} has no inputs"),
        None if known.len() > LISTED => "`gyrator inspect` lists the inputs of an FMU".to_owned(),
        None => format!("the inputs are {}", known.join(", ")),
    };
    invalid(format!(
        "{}: the {whole} has no input `{name}`",
        path.display()
    ))
    .help(help)
}

impl Input {
    fn new(variable: &GraphVariable<'_>, series: Series) -> Result<Self, Misfit> {
        if variable.is_fed {
            return Err(Misfit::column("a connection feeds the input already"));
        }
        let described = variable.described;
        let kind = described.kind.carrier();
        let wanted = described.unit.as_ref().map(|unit| unit.name.as_str());
        if let (Some(given), Some(wanted)) = (&series.unit, wanted)
            && !is_same_unit(given, wanted)
        {
            return Err(Misfit::column(format!(
                "the values are in {given}, the input is in {wanted}; write them in {wanted}"
            )));
        }
        let values = match series.values {
            Values::Text(texts) if described.kind == VariableType::Enumeration => {
                items(&described.items, &texts)?
            }
            values => values,
        };
        match (&values, kind) {
            (Values::Text(_), VariableType::String) => {}
            (Values::Text(_), _) => {
                return Err(Misfit::column("the input is a number, the column is text"));
            }
            (Values::Numbers(_), VariableType::String) => {
                let reason = "the input is text: quote every cell of the column";
                return Err(Misfit::column(reason));
            }
            (Values::Numbers(numbers), _) => {
                if let Some(row) = numbers.iter().position(|number| !fits(kind, *number)) {
                    return Err(Misfit {
                        reason: format!("the input cannot be {}", numbers[row]),
                        row: Some(row),
                    });
                }
            }
        }
        Ok(Self {
            component: variable.component.to_owned(),
            variable: variable.described.name.clone(),
            kind,
            is_continuous: kind == VariableType::Real && !variable.described.is_discrete,
            values,
        })
    }

    fn value(&self, time: &[f64], now: f64) -> Value {
        let numbers = match &self.values {
            Values::Text(texts) => {
                let (row, _) = gyrator_record::row_at(time, now);
                return Value::String(texts[row].clone());
            }
            Values::Numbers(numbers) => numbers,
        };
        let interpolation = if self.is_continuous {
            Interpolation::Linear
        } else {
            Interpolation::Hold
        };
        let number = interpolation.value(time, numbers, now);
        match self.kind {
            VariableType::Boolean => Value::Boolean(number != 0.0),
            VariableType::Integer => Value::Integer(number as i32),
            _ => Value::Real(number),
        }
    }
}

/// Numbers of the items that cells name.
fn items(items: &[(i32, String)], texts: &[String]) -> Result<Values, Misfit> {
    let number = |(row, text): (usize, &String)| {
        let found = items.iter().find(|(_, name)| name == text);
        let number = found.map(|(number, _)| f64::from(*number));
        number.or_else(|| text.parse().ok()).ok_or_else(|| {
            let names: Vec<&str> = items.iter().map(|(_, name)| name.as_str()).collect();
            Misfit {
                reason: format!(
                    "the input cannot be `{text}`; it is one of {}",
                    names.join(", ")
                ),
                row: Some(row),
            }
        })
    };
    let numbers = texts.iter().enumerate().map(number);
    Ok(Values::Numbers(numbers.collect::<Result<_, _>>()?))
}

/// Whether two texts name one unit: `N.m`, `Nm` and `N*m` do. A dash, a 1 or nothing says nothing.
pub(crate) fn is_same_unit(given: &str, wanted: &str) -> bool {
    let says_nothing = |unit: &str| matches!(unit, "" | "-" | "1");
    let letters = |unit: &str| unit.replace(['.', '*', '^', '\u{b7}', ' '], "");
    says_nothing(given) || says_nothing(wanted) || letters(given) == letters(wanted)
}

fn fits(kind: VariableType, number: f64) -> bool {
    match kind {
        VariableType::Real => number.is_finite(),
        VariableType::Integer | VariableType::Enumeration => {
            number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
        }
        VariableType::Boolean => number == 0.0 || number == 1.0,
        VariableType::String => false,
    }
}
