//! Runs an FMU and records variables at every communication point.

use gyrator_fmu::{
    BaseType, Causality, Fmu, Instance, InstanceOptions, ScalarVariable, StepOutcome, Variability,
};
use gyrator_record::{Series, Table, Values, is_same_time};
use serde::{Deserialize, Serialize};

use super::Experiment;
use crate::trial::Stop;

/// Values over time, to be sent from a worker.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Recording {
    pub(crate) names: Vec<String>,
    /// A time, s, and a value for each name, as bits: JSON has no NaN.
    rows: Vec<(u64, Vec<u64>)>,
}

impl Recording {
    fn push(&mut self, time: f64, values: Vec<f64>) {
        let values = values.into_iter().map(f64::to_bits).collect();
        self.rows.push((time.to_bits(), values));
    }
}

impl From<Recording> for Table {
    fn from(recording: Recording) -> Self {
        let rows = &recording.rows;
        let column = |place: usize| {
            let values = rows.iter().map(|(_, row)| f64::from_bits(row[place]));
            values.collect()
        };
        let series = recording
            .names
            .iter()
            .enumerate()
            .map(|(place, name)| Series {
                name: name.clone(),
                unit: None,
                values: Values::Numbers(column(place)),
            });
        Self {
            series: series.collect(),
            time: rows.iter().map(|(time, _)| f64::from_bits(*time)).collect(),
        }
    }
}

/// Runs the FMU with these inputs and records the variables of these names that it has; strings
/// are left out. A run that the FMU ends by itself does not count as an error.
pub(crate) fn run(
    fmu: &Fmu,
    experiment: &Experiment,
    input: Option<&Table>,
    names: &[String],
    end: f64,
) -> Result<Recording, Stop> {
    let model = fmu.description();
    let (start, stop, step) = experiment.complete(model, end);
    let recorded: Vec<&ScalarVariable> = names
        .iter()
        .filter_map(|name| model.variable(name))
        .filter(|variable| variable.kind.base_type() != BaseType::String)
        .collect();
    let inputs = Inputs::new(model, input);
    let mut instance = fmu.instantiate("reference", &InstanceOptions::default())?;
    let tolerance = experiment
        .relative_tolerance
        .or(model.default_experiment.tolerance);
    instance.setup_experiment(tolerance, start, Some(stop))?;
    instance.enter_initialization_mode()?;
    inputs.set(&mut instance, start)?;
    instance.exit_initialization_mode()?;
    let mut recording = Recording {
        names: recorded
            .iter()
            .map(|variable| variable.name.clone())
            .collect(),
        rows: Vec::new(),
    };
    recording.push(start, read(&mut instance, &recorded)?);
    let steps = ((stop - start) / step - 1e-9).ceil().max(0.0) as u64;
    for number in 0..steps {
        let time = start + number as f64 * step;
        let next = (start + (number + 1) as f64 * step).min(stop);
        inputs.set(&mut instance, time)?;
        match instance.do_step(time, next - time, true)? {
            StepOutcome::Done => {}
            StepOutcome::Discarded {
                terminated: true,
                last_successful_time,
            } => {
                // The FMU has got this far before it ended the run.
                if let Some(end) = last_successful_time.filter(|end| *end > time) {
                    recording.push(end.min(next), read(&mut instance, &recorded)?);
                }
                return Ok(recording);
            }
            StepOutcome::Discarded { .. } => return Err(Stop::Discarded(time)),
        }
        recording.push(next, read(&mut instance, &recorded)?);
    }
    instance.terminate()?;
    Ok(recording)
}

fn read(instance: &mut Instance, variables: &[&ScalarVariable]) -> Result<Vec<f64>, Stop> {
    let mut row = Vec::with_capacity(variables.len());
    for variable in variables {
        let reference = [variable.value_reference];
        row.push(match variable.kind.base_type() {
            BaseType::Real => {
                let mut value = [0.0];
                instance.get_real(&reference, &mut value)?;
                value[0]
            }
            BaseType::Integer => {
                let mut value = [0];
                instance.get_integer(&reference, &mut value)?;
                f64::from(value[0])
            }
            BaseType::Boolean => {
                let mut value = [false];
                instance.get_boolean(&reference, &mut value)?;
                f64::from(u8::from(value[0]))
            }
            BaseType::String => f64::NAN,
        });
    }
    Ok(row)
}

/// The columns of a table that feed inputs.
struct Inputs<'t> {
    time: &'t [f64],
    columns: Vec<(ScalarVariable, &'t [f64])>,
}

impl<'t> Inputs<'t> {
    fn new(model: &gyrator_fmu::ModelDescription, table: Option<&'t Table>) -> Self {
        let Some(table) = table else {
            return Self {
                time: &[],
                columns: Vec::new(),
            };
        };
        let column = |series: &'t Series| {
            let variable = model.variable(&series.name)?;
            let is_input = variable.causality == Causality::Input;
            Some((variable.clone(), series.numbers()?)).filter(|_| is_input)
        };
        Self {
            time: &table.time,
            columns: table.series.iter().filter_map(column).collect(),
        }
    }

    /// Sets the inputs to their values at a time: continuous ones on the straight line between
    /// rows, others as in the row before; after the event if two rows have the time.
    fn set(&self, instance: &mut Instance, now: f64) -> Result<(), Stop> {
        for (variable, values) in &self.columns {
            let reference = [variable.value_reference];
            let is_continuous = variable.variability == Variability::Continuous;
            let value = self.value(values, now, is_continuous);
            match variable.kind.base_type() {
                BaseType::Real => instance.set_real(&reference, &[value])?,
                BaseType::Integer => instance.set_integer(&reference, &[value as i32])?,
                BaseType::Boolean => instance.set_boolean(&reference, &[value != 0.0])?,
                BaseType::String => {}
            }
        }
        Ok(())
    }

    fn value(&self, values: &[f64], now: f64, is_continuous: bool) -> f64 {
        let passed = |until: f64| self.time.partition_point(|time| *time <= until);
        let mut next = passed(now);
        // A time that misses a row by rounding is taken as the row's.
        if let (Some(row), Some(end)) = (next.checked_sub(1), self.time.get(next))
            && is_same_time(now, *end, end - self.time[row])
        {
            next = passed(*end);
        }
        let Some(row) = next.checked_sub(1) else {
            return values[0];
        };
        match (self.time.get(next), values.get(next)) {
            (Some(end), Some(later)) if is_continuous => {
                let fraction = ((now - self.time[row]) / (end - self.time[row])).max(0.0);
                values[row] + fraction * (later - values[row])
            }
            _ => values[row],
        }
    }
}
