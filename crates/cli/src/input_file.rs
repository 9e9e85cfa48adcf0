//! Time series that feed the inputs of an FMU.

use std::path::Path;

use gyrator::{Run, RunError, Value};
use gyrator_fmu::{BaseType, Causality, ModelDescription, ScalarVariable, Variability};
use gyrator_record::{Values, is_same_time, read_table};
use gyrator_system::{Component, Value as FileValue, closest};

use crate::exit::Exit;
use crate::failure::{Failure, Message};

/// The columns of a file that feed inputs. Before its first row and after its last one, an input
/// has the value of that row.
#[derive(Debug)]
pub(crate) struct InputFile {
    time: Vec<f64>,
    inputs: Vec<Input>,
}

#[derive(Debug)]
struct Input {
    name: String,
    base_type: BaseType,
    /// Between rows: on the straight line, or the value of the row before.
    is_continuous: bool,
    values: Values,
}

impl InputFile {
    /// Reads the columns of a CSV or Parquet file as inputs of `model`.
    pub(crate) fn read(path: &Path, model: &ModelDescription) -> Result<Self, Failure> {
        let table = read_table(path).map_err(|error| invalid(error.to_string()))?;
        if table.time.is_empty() {
            return Err(invalid(format!("{}: there are no rows", path.display())));
        }
        let mut inputs = Vec::new();
        for series in table.series {
            let variable = find(model, &series.name, path)?;
            let input = Input::new(variable, series.values).map_err(|reason| {
                invalid(format!(
                    "{}: column {}: {reason}",
                    path.display(),
                    series.name
                ))
            })?;
            inputs.push(input);
        }
        Ok(Self {
            time: table.time,
            inputs,
        })
    }

    /// Gives the component start values for time `start`, except where it has them already.
    pub(crate) fn set_start_values(&self, component: &mut Component, start: f64) {
        for input in &self.inputs {
            let is_set = component
                .start_values
                .iter()
                .any(|(name, _)| name.value == input.name);
            if !is_set {
                let value = match input.value(&self.time, start) {
                    Value::Real(value) => FileValue::Real(value),
                    Value::Integer(value) => FileValue::Integer(i64::from(value)),
                    Value::Boolean(value) => FileValue::Boolean(value),
                    Value::String(value) => FileValue::String(value),
                };
                component.set_start_value(&input.name, value);
            }
        }
    }

    /// Sets the inputs of `component` for the step from the present time on.
    pub(crate) fn feed(&self, run: &mut Run, component: &str) -> Result<(), RunError> {
        let time = run.time();
        for input in &self.inputs {
            run.write(
                &format!("{component}.{}", input.name),
                &input.value(&self.time, time),
            )?;
        }
        Ok(())
    }
}

fn invalid(text: String) -> Failure {
    Failure::new(Exit::InvalidInput, Message::error(text))
}

fn find<'m>(
    model: &'m ModelDescription,
    name: &str,
    path: &Path,
) -> Result<&'m ScalarVariable, Failure> {
    let inputs = || {
        model
            .variables
            .iter()
            .filter(|v| v.causality == Causality::Input)
    };
    if let Some(variable) = inputs().find(|variable| variable.name == name) {
        return Ok(variable);
    }
    let names: Vec<&str> = inputs().map(|variable| variable.name.as_str()).collect();
    let help = match closest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "the FMU has no inputs".to_owned(),
        None => format!("the inputs are {}", names.join(", ")),
    };
    Err(invalid(format!("{}: the FMU has no input `{name}`", path.display())).help(help))
}

impl Input {
    fn new(variable: &ScalarVariable, values: Values) -> Result<Self, String> {
        let base_type = variable.kind.base_type();
        match (&values, base_type) {
            (Values::Text(_), BaseType::String) => {}
            (Values::Text(_), _) => {
                return Err("the input is a number, the column is text".to_owned());
            }
            (Values::Numbers(_), BaseType::String) => {
                return Err("the input is text: quote every cell of the column".to_owned());
            }
            (Values::Numbers(numbers), _) => {
                if let Some(wrong) = numbers.iter().find(|number| !fits(base_type, **number)) {
                    return Err(format!("the input cannot be {wrong}"));
                }
            }
        }
        let is_continuous =
            base_type == BaseType::Real && variable.variability == Variability::Continuous;
        Ok(Self {
            name: variable.name.clone(),
            base_type,
            is_continuous,
            values,
        })
    }

    fn value(&self, time: &[f64], now: f64) -> Value {
        let (row, fraction) = place(time, now);
        match &self.values {
            Values::Text(texts) => Value::String(texts[row].clone()),
            Values::Numbers(numbers) => {
                let here = numbers[row];
                match self.base_type {
                    BaseType::Boolean => Value::Boolean(here != 0.0),
                    BaseType::Integer => Value::Integer(here as i32),
                    _ if self.is_continuous && fraction > 0.0 => {
                        Value::Real(here + fraction * (numbers[row + 1] - here))
                    }
                    _ => Value::Real(here),
                }
            }
        }
    }
}

fn fits(base_type: BaseType, number: f64) -> bool {
    match base_type {
        BaseType::Real => number.is_finite(),
        BaseType::Integer => {
            number.fract() == 0.0 && (f64::from(i32::MIN)..=f64::from(i32::MAX)).contains(&number)
        }
        BaseType::Boolean => number == 0.0 || number == 1.0,
        BaseType::String => false,
    }
}

/// The row at or before `now`, and how far it is to the next one. Of rows with the same time, the
/// last one counts. A time that misses a row by rounding is taken as the row's.
fn place(time: &[f64], now: f64) -> (usize, f64) {
    let next = time.partition_point(|row| *row <= now);
    let Some(row) = next.checked_sub(1) else {
        return (0, 0.0);
    };
    let Some(end) = time.get(next) else {
        return (row, 0.0);
    };
    let step = end - time[row];
    if is_same_time(now, *end, step) {
        let last = time.partition_point(|row| row <= end) - 1;
        return (last, 0.0);
    }
    (row, (now - time[row]) / step)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(is_continuous: bool) -> Input {
        Input {
            name: "u".to_owned(),
            base_type: BaseType::Real,
            is_continuous,
            values: Values::Numbers(vec![0.0, 2.0, 5.0, 6.0]),
        }
    }

    const TIME: [f64; 4] = [1.0, 2.0, 2.0, 4.0];

    #[test]
    fn continuous_inputs_follow_the_straight_line() {
        let at = |now| input(true).value(&TIME, now);
        assert_eq!(at(0.0), Value::Real(0.0));
        assert_eq!(at(1.5), Value::Real(1.0));
        assert_eq!(at(2.0), Value::Real(5.0));
        assert_eq!(at(2.0 - 1e-12), Value::Real(5.0));
        assert_eq!(at(3.0), Value::Real(5.5));
        assert_eq!(at(9.0), Value::Real(6.0));
    }

    #[test]
    fn discrete_inputs_keep_the_previous_value() {
        let at = |now| input(false).value(&TIME, now);
        assert_eq!(at(1.9), Value::Real(0.0));
        assert_eq!(at(2.0), Value::Real(5.0));
        assert_eq!(at(3.9), Value::Real(5.0));
    }
}
