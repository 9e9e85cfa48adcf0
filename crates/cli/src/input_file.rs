//! Time series that feed inputs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gyrator::graph::{Graph, GraphVariable};
use gyrator::unit::{Causality, VariableType};
use gyrator::{Run, RunError, System, Value};
use gyrator_record::{Interpolation, Series, Table, Values, place_of_cell, read_table};
use gyrator_system::{OuterSignal, did_you_mean};

use crate::exit::Exit;
use crate::failure::{Failure, Message};
use crate::input_kind::{self, Wanted};

/// A file that was read, before it is known what it feeds.
#[derive(Debug)]
pub(crate) struct InputTable {
    path: PathBuf,
    table: Table,
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

impl InputTable {
    /// Reads a CSV, Parquet or Arrow file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        input_kind::expect(path, Wanted::Inputs)?;
        let table = read_table(path).map_err(|error| invalid(error.to_string()))?;
        let path = path.to_owned();
        Ok(Self { path, table })
    }

    /// The columns as inputs of a system: `component.variable`, or inputs of the only component.
    pub(crate) fn feeding(self, graph: &Graph, single: Option<&str>) -> Result<InputFile, Failure> {
        let Self { path, table } = self;
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
        let known: Vec<_> = inputs
            .map(|variable| (shown(&variable), variable))
            .collect();
        let mut inputs = Vec::new();
        for series in of_components(table.series, graph) {
            let found = known.iter().find(|(name, _)| *name == series.name);
            let Some((_, variable)) = found else {
                let outer = outer_inputs(graph).map(|signal| signal.name.value.as_str());
                let names = known.iter().map(|(name, _)| name.as_str());
                let names: Vec<&str> = outer.chain(names).collect();
                return Err(no_such_input(&path, &series.name, &names, single.is_some()));
            };
            let input = Input::new(variable, series.values)
                .map_err(|misfit| misfit.failure(&path, &series.name))?;
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

/// Columns of the inputs of the system itself as columns of the inputs of components that they lead to.
fn of_components(columns: Vec<Series>, graph: &Graph) -> Vec<Series> {
    let outer = outer_inputs(graph).map(|signal| (signal.name.value.as_str(), signal));
    let outer: BTreeMap<_, _> = outer.collect();
    let mut found = Vec::new();
    for column in columns {
        let Some(signal) = outer.get(&*column.name) else {
            found.push(column);
            continue;
        };
        found.extend(signal.ends.iter().map(|end| {
            let mut values = column.values.clone();
            if let Values::Numbers(numbers) = &mut values {
                numbers
                    .iter_mut()
                    .for_each(|number| *number = end.convert(*number));
            }
            Series {
                name: end.port.to_string(),
                values,
            }
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
    fn column(reason: &str) -> Self {
        Self {
            reason: reason.to_owned(),
            row: None,
        }
    }

    /// With the place of the cell, where the file is text that can be read again.
    fn failure(self, path: &Path, column: &str) -> Failure {
        let place = self.row.and_then(|row| place_of_cell(path, column, row));
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
    fn new(variable: &GraphVariable<'_>, values: Values) -> Result<Self, Misfit> {
        if variable.is_fed {
            return Err(Misfit::column("a connection feeds the input already"));
        }
        let kind = variable.described.kind.carrier();
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
