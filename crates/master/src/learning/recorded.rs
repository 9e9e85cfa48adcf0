//! Units that answer as in a recorded run, so that learning has its errors from there: of hardware on a test bench, for example.
//!
//! All inputs of a system follow from its outputs. Units that give the recorded ones make the engine feed the inputs as in
//! that run, to the last bit if the recording has all digits: no FMU is loaded, and nothing is simulated.

use std::collections::BTreeMap;
use std::sync::Arc;

use gyrator_record::{Series, Table, Values, is_same_time};

use crate::graph::Graph;
use crate::start_error::LoadError;
use crate::unit::{
    Handle, SavedState, StepOutcome, Unit, UnitDescription, UnitMaker, UnitOrder, UnitResult, Value,
};

/// Makes units that answer as in a recorded run: [`Learning::recorded`](super::Learning::recorded).
#[derive(Debug, Clone)]
pub struct Recorded {
    table: Arc<Table>,
    /// Macro-step, s.
    macro_step: f64,
}

impl Recorded {
    /// From the recording of a run of this many macro-steps; or why it is not enough.
    pub(super) fn new(table: Table, graph: &Graph, steps: usize) -> Result<Self, String> {
        let missing = graph.real_connections().find_map(|(from, _)| {
            let column = table.series.iter().find(|column| column.name == from);
            let is_there = column.is_some_and(|column| column.numbers().is_some());
            (!is_there).then_some(from)
        });
        if let Some(name) = missing {
            return Err(format!("it has no column of numbers `{name}`"));
        }
        let macro_step = graph.macro_step;
        let recorded = Self {
            table: Arc::new(table),
            macro_step,
        };
        let start = graph.clock.start();
        for step in 0..=steps {
            let time = start + step as f64 * macro_step;
            let row = recorded.row(time);
            let found = row.map(|row| recorded.table.time[row]);
            if !found.is_some_and(|found| is_same_time(found, time, macro_step)) {
                return Err(format!(
                    "it has no row at {time} s, and one is needed every {macro_step} s from {start} s on"
                ));
            }
        }
        Ok(recorded)
    }

    /// The last row that is not later than `time`.
    fn row(&self, time: f64) -> Option<usize> {
        let rows = &self.table.time;
        let is_past = |known: &f64| *known <= time || is_same_time(*known, time, self.macro_step);
        rows.partition_point(is_past).checked_sub(1)
    }
}

impl UnitMaker for Recorded {
    fn make(&mut self, order: &UnitOrder<'_>) -> Result<Option<Box<dyn Unit>>, LoadError> {
        let description = order.description.clone();
        let columns = description.variables.iter().map(|variable| {
            let name = format!("{}.{}", order.name(), variable.name);
            let mut series = self.table.series.iter();
            let place = series.position(|series| series.name == name)?;
            Some((variable.handle, place))
        });
        let columns = columns.collect();
        Ok(Some(Box::new(RecordedUnit {
            columns,
            description,
            reals: BTreeMap::new(),
            others: Vec::new(),
            row: 0,
            recorded: self.clone(),
        })))
    }
}

/// A unit whose outputs were recorded. It keeps the values that it is given, as parameters, and takes no notice of them.
struct RecordedUnit {
    description: UnitDescription,
    recorded: Recorded,
    /// By variable: its handle and its column, if it has one.
    columns: Vec<Option<(Handle, usize)>>,
    reals: BTreeMap<Handle, f64>,
    others: Vec<(Handle, Value)>,
    row: usize,
}

impl RecordedUnit {
    fn series(&self, handle: Handle, is_real: bool) -> Option<&Series> {
        let variables = self.description.variables.iter().zip(&self.columns);
        let mut columns = variables.filter_map(|(variable, column)| {
            let is_of_kind = (variable.kind == crate::unit::VariableType::Real) == is_real;
            column.filter(|_| is_of_kind)
        });
        let (_, place) = columns.find(|(known, _)| *known == handle)?;
        Some(&self.recorded.table.series[place])
    }

    fn number(&self, handle: Handle, is_real: bool) -> Option<f64> {
        let numbers = self.series(handle, is_real)?.numbers()?;
        numbers.get(self.row).copied()
    }
}

/// Whether two values are of one kind: handles are unique within a kind only.
fn is_alike(one: &Value, other: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

impl Unit for RecordedUnit {
    fn description(&self) -> &UnitDescription {
        &self.description
    }

    fn set_reals(&mut self, handles: &[Handle], values: &[f64]) -> UnitResult {
        let values = handles.iter().copied().zip(values.iter().copied());
        self.reals.extend(values);
        Ok(())
    }

    fn set_value(&mut self, handle: Handle, value: &Value) -> UnitResult {
        self.others
            .retain(|(known, other)| *known != handle || !is_alike(other, value));
        self.others.push((handle, value.clone()));
        Ok(())
    }

    fn set_input_derivatives(
        &mut self,
        _handles: &[Handle],
        _orders: &[i32],
        _values: &[f64],
    ) -> UnitResult {
        Ok(())
    }

    /// Outputs that feed nothing need not be recorded: they are 0.
    fn get_reals(&mut self, handles: &[Handle], values: &mut [f64]) -> UnitResult {
        for (handle, value) in handles.iter().zip(values) {
            let kept = || self.reals.get(handle).copied();
            *value = self.number(*handle, true).or_else(kept).unwrap_or(0.0);
        }
        Ok(())
    }

    fn get_value(&mut self, handle: Handle, value: &mut Value) -> UnitResult {
        let mut others = self.others.iter();
        let kept = others.find(|(known, other)| *known == handle && is_alike(other, value));
        if let Some((_, kept)) = kept {
            value.clone_from(kept);
            return Ok(());
        }
        match value {
            Value::Real(value) => self.get_reals(&[handle], std::slice::from_mut(value))?,
            Value::Integer(value) => {
                *value = self.number(handle, false).unwrap_or(0.0) as i32;
            }
            Value::Boolean(value) => *value = self.number(handle, false).unwrap_or(0.0) != 0.0,
            Value::String(text) => {
                let series = self.series(handle, false);
                let found = series.and_then(|series| match &series.values {
                    Values::Text(texts) => texts.get(self.row),
                    Values::Numbers(_) => None,
                });
                found.map_or("", String::as_str).clone_into(text);
            }
        }
        Ok(())
    }

    fn step(&mut self, time: f64, step: f64) -> UnitResult<StepOutcome> {
        self.row = self.recorded.row(time + step).unwrap_or(self.row);
        Ok(StepOutcome::Done)
    }

    /// Its outputs do not follow its inputs.
    fn directional_derivative(
        &mut self,
        _unknowns: &[Handle],
        _knowns: &[Handle],
        _seed: &[f64],
        sensitivity: &mut [f64],
    ) -> UnitResult {
        sensitivity.fill(0.0);
        Ok(())
    }

    fn save(&mut self, _previous: Option<SavedState>) -> UnitResult<SavedState> {
        Ok(Box::new(self.row))
    }

    fn restore(&mut self, state: &SavedState) -> UnitResult {
        self.row = state.downcast_ref().copied().unwrap_or(self.row);
        Ok(())
    }
}
