//! Time series that feed inputs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gyrator::graph::{Graph, GraphVariable};
use gyrator::unit::{Causality, VariableType};
use gyrator::{Recorder, Run, RunError, System, Value};
use gyrator::{names_of_items, numbered_items};
use gyrator_record::{
    Interpolation, Series, Table, Values, is_heading, number_of_cell, place_of_cell,
    read_table_with,
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
        let mut fed: BTreeMap<String, String> = BTreeMap::new();
        let is_held = |series: &Series| {
            let unit = series.unit.as_deref();
            let mut held = options.hold.iter();
            held.any(|held| is_heading(held, &series.name, unit))
        };
        let columns = table
            .series
            .into_iter()
            .map(|series| (is_held(&series), series));
        let columns = of_components(columns, graph);
        let columns = columns.map_err(|(misfit, column)| misfit.failure((path, options), &column));
        for (is_held, column, mut series) in columns? {
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
            let mut input = Input::new(variable, series)
                .map_err(|misfit| misfit.failure((path, options), &column))?;
            input.is_continuous &= !is_held;
            let name = shown(variable);
            if let Some(other) = fed.insert(name.clone(), column.clone()) {
                let reason =
                    format!("column {other} feeds the input `{name}`, too; leave one of them out");
                return Err(Misfit::column(reason).failure((path, options), &column));
            }
            inputs.push(input);
        }
        let time = table.time;
        Ok(InputFile { time, inputs })
    }
}

impl InputFile {
    /// Gives the inputs start values for time `start`, unless the system has them already.
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

    /// A recorder that knows the values of a file, if there is one.
    pub(crate) fn recorded(file: Option<&Arc<Self>>, recorder: Recorder) -> Recorder {
        let Some(file) = file.map(Arc::clone) else {
            return recorder;
        };
        let inputs = file.inputs.iter().enumerate();
        let name = |(place, input): (usize, &Input)| {
            (format!("{}.{}", input.component, input.variable), place)
        };
        let places: BTreeMap<String, usize> = inputs.map(name).collect();
        recorder.inputs(move |name, time| {
            let input = &file.inputs[*places.get(name)?];
            Some(input.value(&file.time, time))
        })
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

/// A column that feeds an input of a component: whether it is held, and its name in the file.
type Feeding = (bool, String, Series);

/// Columns of the inputs of the system itself as columns of the inputs of components that they lead to.
///
/// # Errors
/// A column in another unit than the input has, with its name.
fn of_components(
    columns: impl Iterator<Item = (bool, Series)>,
    graph: &Graph,
) -> Result<Vec<Feeding>, (Misfit, String)> {
    let mut found = Vec::new();
    for (is_held, column) in columns {
        let unit = column.unit.as_deref();
        let mut exact = outer_inputs(graph).filter(|one| one.name.value == column.name);
        // An index in brackets may look like a unit.
        let is_heading = |one: &&OuterSignal| is_heading(&one.name.value, &column.name, unit);
        let by_name = exact.next();
        let signal = by_name.or_else(|| outer_inputs(graph).find(is_heading));
        let Some(signal) = signal else {
            found.push((is_held, column.name.clone(), column));
            continue;
        };
        if by_name.is_some() {
            let checked = check_unit(unit, signal.unit.as_deref());
            checked.map_err(|misfit| (misfit, column.name.clone()))?;
        }
        for end in &signal.ends {
            let mut values = column.values.clone();
            if let Values::Text(texts) = &values
                && (end.factor, end.offset) != (1.0, 0.0)
            {
                let numbers = numbers(texts, &[]);
                values = numbers.map_err(|misfit| (misfit, column.name.clone()))?;
            }
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
            found.push((is_held, column.name.clone(), series));
        }
    }
    Ok(found)
}

/// Compares the unit of a column with the input's.
fn check_unit(given: Option<&str>, wanted: Option<&str>) -> Result<(), Misfit> {
    match (given, wanted) {
        (Some(given), Some(wanted)) if !is_same_unit(given, wanted) => Err(Misfit::column(
            format!("the values are in {given}, the input is in {wanted}; write them in {wanted}"),
        )),
        _ => Ok(()),
    }
}

fn invalid(text: String) -> Failure {
    Failure::new(Exit::InvalidInput, Message::error(text))
}

/// Why a column cannot feed an input.
struct Misfit {
    reason: String,
    /// The first row that does not fit, from 0; `None` if it is the whole column.
    row: Option<usize>,
}

impl Misfit {
    fn column(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            row: None,
        }
    }

    /// With the place of the cell, if the file is text that can be read again.
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
        check_unit(series.unit.as_deref(), wanted)?;
        let values = match series.values {
            Values::Text(texts) if kind != VariableType::String => {
                numbers(&texts, &described.items)?
            }
            values => values,
        };
        if let Values::Numbers(numbers) = &values {
            if kind == VariableType::String {
                let reason = "the input is text: quote every cell of the column, and no time";
                return Err(Misfit::column(reason));
            }
            let is_item = |number: f64| {
                let mut items = described.items.iter();
                described.items.is_empty() || items.any(|(item, _)| f64::from(*item) == number)
            };
            let misfit = |number: &f64| !fits(kind, *number) || !is_item(*number);
            if let Some(row) = numbers.iter().position(misfit) {
                let items = match described.items.is_empty() {
                    true => String::new(),
                    false => format!("; it is one of {}", numbered_items(&described.items)),
                };
                return Err(Misfit {
                    reason: format!("the input cannot be {}{items}", numbers[row]),
                    row: Some(row),
                });
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

/// The numbers that texts are: names of items, or cells that need no quotes.
fn numbers(texts: &[String], items: &[(i32, String)]) -> Result<Values, Misfit> {
    let number = |(row, text): (usize, &String)| {
        let found = items.iter().find(|(_, name)| name == text);
        let number = found.map(|(number, _)| f64::from(*number));
        number.or_else(|| number_of_cell(text)).ok_or_else(|| {
            let help = match items.is_empty() {
                true => "it is a number".to_owned(),
                false => format!("it is one of {}", names_of_items(items)),
            };
            Misfit {
                reason: format!("the input cannot be `{text}`; {help}"),
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
