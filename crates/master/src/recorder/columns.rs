//! The columns of the rows that a run records, and the parameters beside them.

use gyrator_record::{Cell, Column, ColumnType};
use gyrator_system::{OuterEnd, OuterSignal};
use std::collections::BTreeMap;
use wildmatch::WildMatch;

use super::names::Names;
use super::{Selection, UnknownVariable};
use crate::bond_values::{BOND_VALUES, BondValue};
use crate::graph::{Graph, RecordedVariable};
use crate::observer::{View, Watch};
use crate::unit::{Causality, Value, VariableType};

/// The columns of a row, as places in a view.
#[derive(Default)]
pub(super) struct Selected {
    reals: Vec<usize>,
    signals: Vec<usize>,
    bonds: Vec<(usize, BondValue)>,
    /// Places among the values of the step control.
    control: Vec<usize>,
    /// Signals of the system itself, by the places of their outputs.
    outer: Vec<(usize, OuterEnd)>,
    /// Names of inputs and local variables, which the run is asked for.
    watches: Vec<String>,
    /// One of them is an input: its value is known when the next step is made.
    pub(super) has_inputs: bool,
}

/// The values of one communication point.
#[derive(Default)]
pub(super) struct RecordedRow {
    pub(super) time: f64,
    pub(super) reals: Vec<f64>,
    /// Outputs that are not real, then inputs and local variables.
    pub(super) others: Vec<Value>,
    /// It holds a communication point.
    pub(super) is_filled: bool,
    /// The interval of rows asks for it; the last row is written in any case.
    pub(super) is_due: bool,
    pub(super) is_written: bool,
}

/// The columns in the order of the cells of a row, and parameters.
#[derive(Default)]
pub(super) struct Columns {
    pub(super) selected: Selected,
    pub(super) list: Vec<Column>,
    /// Parameters, which are recorded once: by the name that is shown and their own.
    pub(super) parameters: ParameterNames,
    /// Columns that have a longer name than usual, as that is the name of another column.
    pub(super) renamed: Vec<String>,
}

type ParameterNames = Vec<(String, String)>;

impl Columns {
    /// Chooses the columns of a run of a system, in the order of the rows' cells. `control` are the names of the signals
    /// of its step control.
    pub(super) fn of(
        selection: &Selection,
        graph: &Graph,
        control: &[&str],
    ) -> Result<Self, UnknownVariable> {
        let mut choice = Choice::new(selection, graph, control);
        let mut columns = Self::default();
        let selected = &mut columns.selected;
        for (place, variable) in graph.real_outputs().into_iter().enumerate() {
            if choice.selects(&variable.name, VariableType::Real, variable.unit) {
                selected.reals.push(place);
            }
        }
        for (bond, name) in graph.bond_names().enumerate() {
            for value in BOND_VALUES {
                let name = value.of_bond(name);
                let is_offered = value.is_recorded || choice.is_named(&name);
                let unit = Some(value.unit.to_owned());
                if is_offered && choice.selects_of_coupling(&name, unit) {
                    selected.bonds.push((bond, *value));
                }
            }
        }
        for (place, name) in control.iter().enumerate() {
            let unit = (*name == "step_size").then(|| "s".to_owned());
            if choice.selects_of_coupling(name, unit) {
                selected.control.push(place);
            }
        }
        let reals = graph.real_outputs();
        for (signal, end, place) in shown_outside(graph, &reals) {
            if choice.selects(&signal.name.value, VariableType::Real, signal.unit.clone()) {
                selected.outer.push((place, end.clone()));
            }
        }
        let others = graph.signals();
        for (place, variable) in others.iter().enumerate() {
            if choice.selects(&variable.name, variable.kind, variable.unit.clone()) {
                selected.signals.push(place);
            }
        }
        for (signal, _, place) in shown_outside(graph, &others) {
            if choice.selects(&signal.name.value, others[place].kind, signal.unit.clone()) {
                selected.signals.push(place);
            }
        }
        columns.parameters = columns.selected.choose_others(graph, &mut choice);
        columns.renamed = std::mem::take(&mut choice.renamed);
        columns.list = choice.columns()?;
        Ok(columns)
    }

    /// The variables that are read for the columns: inputs and local variables at each point, parameters once.
    pub(super) fn watches(&self) -> Vec<Watch> {
        let each = self.selected.watches.iter().map(Watch::each);
        let once = self.parameters.iter().map(|(_, name)| Watch::once(name));
        each.chain(once).collect()
    }
}

impl Selected {
    /// Takes the values of a communication point.
    pub(super) fn fill(&self, row: &mut RecordedRow, view: &View<'_>) {
        row.time = view.time;
        row.is_filled = true;
        row.reals.clear();
        let chosen = self.reals.iter().map(|place| view.reals[*place]);
        row.reals.extend(chosen);
        let bonds = self.bonds.iter();
        row.reals
            .extend(bonds.map(|(bond, value)| (value.get)(view, *bond)));
        let control = self.control.iter().map(|place| view.control[*place].1);
        row.reals.extend(control);
        let outer = self.outer.iter();
        row.reals
            .extend(outer.map(|(place, end)| end.convert(view.reals[*place])));
        let signals = self.signals.iter().map(|place| &view.signals[*place]);
        let watched = &view.watched[..self.watches.len()];
        let watched = watched.iter().map(|watched| &watched.value);
        let count = self.signals.len() + self.watches.len();
        row.others.resize(count, Value::Boolean(false));
        for (kept, value) in row.others.iter_mut().zip(signals.chain(watched)) {
            kept.clone_from(value);
        }
    }

    /// The variables that are watched at each communication point.
    pub(super) fn watched(&self) -> usize {
        self.watches.len()
    }

    /// Puts the values that inputs had in the step since the row into it.
    pub(super) fn complete(&self, row: &mut RecordedRow, view: &View<'_>) {
        let watched = row.others[self.signals.len()..].iter_mut();
        for (kept, watched) in watched.zip(view.watched) {
            if let Some(applied) = &watched.applied {
                kept.clone_from(applied);
            }
        }
    }

    /// Puts known values of inputs into a row.
    pub(super) fn set_inputs(
        &self,
        row: &mut RecordedRow,
        values: impl Fn(&str, f64) -> Option<Value>,
    ) {
        let watched = row.others[self.signals.len()..].iter_mut();
        for (kept, name) in watched.zip(&self.watches) {
            if let Some(value) = values(name, row.time) {
                *kept = value;
            }
        }
    }

    /// Chooses variables that are recorded only if a pattern asks for them.
    fn choose_others(&mut self, graph: &Graph, choice: &mut Choice) -> ParameterNames {
        let mut parameters = Vec::new();
        if choice.patterns.is_empty() {
            return parameters;
        }
        for variable in graph.variables() {
            let described = variable.described;
            let name = format!("{}.{}", variable.component, described.name);
            match described.causality {
                Causality::Output => {}
                Causality::Parameter | Causality::TunableParameter => {
                    let shown = choice.names.give(&name);
                    if choice.meets(&name, &shown) {
                        parameters.push((shown, name));
                    }
                }
                Causality::Input | Causality::Local => {
                    let unit = described.unit.as_ref().map(|unit| unit.name.clone());
                    if choice.selects(&name, described.kind, unit) {
                        self.has_inputs |= described.causality == Causality::Input;
                        self.watches.push(name);
                    }
                }
            }
        }
        parameters
    }
}

/// Signals of the system itself that show one of these outputs, with its place among them.
fn shown_outside<'g>(
    graph: &'g Graph,
    outputs: &[RecordedVariable],
) -> Vec<(&'g OuterSignal, &'g OuterEnd, usize)> {
    let places = outputs.iter().map(|output| output.name.as_str()).zip(0..);
    let places: BTreeMap<&str, usize> = places.collect();
    let mut shown = Vec::new();
    for signal in graph.outer_signals.iter().filter(|s| !s.is_input) {
        for end in &signal.ends {
            let place = places.get(&*end.port.to_string());
            shown.extend(place.map(|place| (signal, end, *place)));
        }
    }
    shown
}

/// The columns chosen so far, and which patterns have not met any.
struct Choice {
    patterns: Vec<(WildMatch, bool)>,
    names: Names,
    reals_only: bool,
    columns: Vec<Column>,
    /// The columns that have a longer name than usual.
    renamed: Vec<String>,
}

impl Choice {
    fn new(selection: &Selection, graph: &Graph, control: &[&str]) -> Self {
        let patterns = selection.variables.iter();
        Self {
            patterns: patterns
                .map(|pattern| (WildMatch::new(pattern), false))
                .collect(),
            names: Names::new(selection.single.as_deref(), graph, control),
            reals_only: selection.reals_only,
            columns: Vec::new(),
            renamed: Vec::new(),
        }
    }

    /// Whether a value of a bond or of the step control is recorded.
    fn selects_of_coupling(&mut self, name: &str, unit: Option<String>) -> bool {
        self.names.given.insert(name.to_owned());
        // A pattern that fits it is not a mistake.
        let taken = self.meets(name, name) && !self.reals_only;
        if taken {
            self.push(name.to_owned(), VariableType::Real, unit);
        }
        taken
    }

    fn selects(&mut self, name: &str, kind: VariableType, unit: Option<String>) -> bool {
        let shown = self.names.give(name);
        let is_of_kind = kind == VariableType::Real || !self.reals_only;
        let taken = self.meets(name, &shown) && is_of_kind;
        if taken {
            if shown != self.names.bare(name) {
                self.renamed.push(shown.clone());
            }
            self.push(shown, kind, unit);
        }
        taken
    }

    fn push(&mut self, name: String, kind: VariableType, unit: Option<String>) {
        let mut column = Column::new(name, recorded_kind(kind));
        column.unit = unit;
        self.columns.push(column);
    }

    /// Whether a pattern is this name.
    fn is_named(&self, name: &str) -> bool {
        let mut patterns = self.patterns.iter();
        patterns.any(|(pattern, _)| pattern.pattern() == name)
    }

    /// Whether a pattern fits, or there are none.
    fn meets(&mut self, name: &str, shown: &str) -> bool {
        let bare = self.names.bare(name);
        let mut taken = self.patterns.is_empty();
        for (pattern, met) in &mut self.patterns {
            if pattern.matches(bare) || pattern.matches(shown) {
                (taken, *met) = (true, true);
            }
        }
        taken
    }

    /// The columns; the first pattern that met none is an error.
    fn columns(self) -> Result<Vec<Column>, UnknownVariable> {
        let Some((pattern, _)) = self.patterns.iter().find(|(_, met)| !met) else {
            return Ok(self.columns);
        };
        let pattern = pattern.to_string();
        let names = self.names.given.iter().map(String::as_str);
        let closest = gyrator_system::closest(&pattern, names).map(str::to_owned);
        Err(UnknownVariable { pattern, closest })
    }
}

/// A value as a cell of a row.
pub(super) fn cell(value: &Value) -> Cell<'_> {
    match value {
        Value::Real(value) => Cell::Real(*value),
        Value::Integer(value) => Cell::Integer(i64::from(*value)),
        Value::Boolean(value) => Cell::Boolean(*value),
        Value::String(value) => Cell::String(value),
    }
}

fn recorded_kind(kind: VariableType) -> ColumnType {
    match kind {
        VariableType::Real => ColumnType::Real,
        VariableType::Integer => ColumnType::Integer,
        VariableType::Enumeration => ColumnType::Enumeration,
        VariableType::Boolean => ColumnType::Boolean,
        VariableType::String => ColumnType::String,
    }
}
