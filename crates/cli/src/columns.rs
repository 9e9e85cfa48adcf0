//! The columns of the rows that a run records, and the parameters beside them.

use gyrator::{BOND_VALUES, BondValue, Causality, Graph, Run, RunError, Value, VariableType, View};
use gyrator_record::Column;
use wildmatch::WildMatch;

use crate::aligned::{Align, Aligned};
use crate::failure::Failure;
use crate::numbers::short;

/// Selection of the recorded columns and rows.
#[derive(Debug, Clone)]
pub(crate) struct Recording {
    /// Simulated time between rows, s; every communication point where `None`.
    pub(crate) interval: Option<f64>,
    /// Patterns of columns to record; all where empty.
    pub(crate) variables: Vec<String>,
    /// The only component, whose name is left out of the columns.
    pub(crate) single: Option<String>,
    /// Real variables of components only: nothing of bonds, of the step control or of other types.
    pub(crate) is_of_reals: bool,
}

/// The columns of a row, as places in a view.
#[derive(Default)]
pub(crate) struct Selected {
    reals: Vec<usize>,
    signals: Vec<usize>,
    bonds: Vec<(usize, BondValue)>,
    /// Places among the values of the step control.
    control: Vec<usize>,
    /// Names of inputs and local variables, which the run is asked for.
    pub(crate) watches: Vec<String>,
    /// One of them is an input: its value is known when the next step is made.
    pub(crate) has_inputs: bool,
}

/// The values of one communication point.
#[derive(Default)]
pub(crate) struct RecordedRow {
    pub(crate) time: f64,
    pub(crate) reals: Vec<f64>,
    /// Outputs that are not real, then inputs and local variables.
    pub(crate) others: Vec<Value>,
    /// It holds a communication point.
    pub(crate) is_filled: bool,
    /// The interval of rows asks for it; the last row is written in any case.
    pub(crate) is_due: bool,
    pub(crate) is_written: bool,
}

/// The columns in the order of the cells of a row, and parameters.
pub(crate) struct Columns {
    pub(crate) selected: Selected,
    pub(crate) list: Vec<Column>,
    /// Parameters with their values, which are recorded once.
    pub(crate) parameters: Vec<(String, Value)>,
}

/// Parameters by the name that is shown and their own.
type ParameterNames = Vec<(String, String)>;

impl Columns {
    /// Chooses the columns of a run that has been initialised.
    pub(crate) fn of(recording: &Recording, run: &mut Run) -> Result<Self, Failure> {
        let mut selected = Selected::default();
        let (list, names) = selected.choose(run, recording)?;
        let mut parameters = Vec::new();
        for (shown, name) in names {
            let value = run.read(&name).map_err(Failure::from)?;
            parameters.push((shown, value));
        }
        Ok(Self {
            selected,
            list,
            parameters,
        })
    }
}

impl Selected {
    /// Takes the values of a communication point.
    pub(crate) fn fill(&self, row: &mut RecordedRow, view: &View<'_>) {
        row.time = view.time;
        row.is_filled = true;
        row.reals.clear();
        row.reals
            .extend(self.reals.iter().map(|place| view.reals[*place]));
        let bonds = self.bonds.iter();
        row.reals
            .extend(bonds.map(|(bond, value)| (value.get)(view, *bond)));
        let control = self.control.iter().map(|place| view.control[*place].1);
        row.reals.extend(control);
        let signals = self.signals.iter().map(|place| &view.signals[*place]);
        let watched = view.watched.iter().map(|watched| &watched.value);
        let count = self.signals.len() + view.watched.len();
        row.others.resize(count, Value::Boolean(false));
        for (kept, value) in row.others.iter_mut().zip(signals.chain(watched)) {
            kept.clone_from(value);
        }
    }

    /// Puts the values that inputs had in the step since the row into it.
    pub(crate) fn complete(&self, row: &mut RecordedRow, view: &View<'_>) {
        let watched = row.others[self.signals.len()..].iter_mut();
        for (kept, watched) in watched.zip(view.watched) {
            if let Some(applied) = &watched.applied {
                kept.clone_from(applied);
            }
        }
    }

    /// Chooses what the patterns of `recording` name: the columns in the order of the rows' cells, and
    /// parameters by the name that is shown and their own.
    fn choose(
        &mut self,
        run: &Run,
        recording: &Recording,
    ) -> Result<(Vec<Column>, ParameterNames), Failure> {
        let graph = run.graph();
        let mut choice = Choice::new(recording);
        for (place, variable) in graph.real_outputs().into_iter().enumerate() {
            if choice.selects(&variable.name, VariableType::Real, variable.unit) {
                self.reals.push(place);
            }
        }
        for (bond, name) in graph.bond_names().enumerate() {
            for value in BOND_VALUES {
                let name = format!("bond.{name}.{}", value.name);
                if choice.selects_of_coupling(&name, Some(value.unit.to_owned())) {
                    self.bonds.push((bond, *value));
                }
            }
        }
        for (place, (name, _)) in run.control_signals().iter().enumerate() {
            let unit = (*name == "step_size").then(|| "s".to_owned());
            if choice.selects_of_coupling(name, unit) {
                self.control.push(place);
            }
        }
        for (place, variable) in graph.signals().into_iter().enumerate() {
            if choice.selects(&variable.name, variable.kind, variable.unit) {
                self.signals.push(place);
            }
        }
        let parameters = self.choose_others(graph, &mut choice);
        Ok((choice.columns()?, parameters))
    }

    /// Chooses variables that are recorded only where a pattern asks for them.
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
                    if choice.meets(&name) {
                        parameters.push((choice.shown(&name).to_owned(), name));
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

/// The columns chosen so far, and which patterns have not met any.
struct Choice {
    patterns: Vec<(WildMatch, bool)>,
    prefix: Option<String>,
    is_of_reals: bool,
    columns: Vec<Column>,
    names: Vec<String>,
}

impl Choice {
    fn new(recording: &Recording) -> Self {
        let patterns = recording.variables.iter();
        Self {
            patterns: patterns
                .map(|pattern| (WildMatch::new(pattern), false))
                .collect(),
            prefix: recording.single.as_ref().map(|single| format!("{single}.")),
            is_of_reals: recording.is_of_reals,
            columns: Vec::new(),
            names: Vec::new(),
        }
    }

    /// Whether a value of a bond or of the step control is recorded.
    fn selects_of_coupling(&mut self, name: &str, unit: Option<String>) -> bool {
        if self.is_of_reals {
            // A pattern that fits it is no mistake.
            self.meets(name);
            return false;
        }
        self.selects(name, VariableType::Real, unit)
    }

    fn selects(&mut self, name: &str, kind: VariableType, unit: Option<String>) -> bool {
        let is_of_kind = kind == VariableType::Real || !self.is_of_reals;
        let taken = self.meets(name) && is_of_kind;
        if taken {
            let mut column = Column::new(self.shown(name), recorded_kind(kind));
            column.unit = unit;
            self.columns.push(column);
        }
        taken
    }

    /// Whether a pattern fits, or there are none.
    fn meets(&mut self, name: &str) -> bool {
        let name = self.shown(name).to_owned();
        let mut taken = self.patterns.is_empty();
        for (pattern, met) in &mut self.patterns {
            if pattern.matches(&name) {
                (taken, *met) = (true, true);
            }
        }
        self.names.push(name);
        taken
    }

    fn shown<'n>(&self, name: &'n str) -> &'n str {
        let prefix = self.prefix.as_deref();
        prefix
            .and_then(|prefix| name.strip_prefix(prefix))
            .unwrap_or(name)
    }

    /// The columns, or what the first pattern that met none should be.
    fn columns(self) -> Result<Vec<Column>, Failure> {
        let Some((pattern, _)) = self.patterns.iter().find(|(_, met)| !met) else {
            return Ok(self.columns);
        };
        let pattern = pattern.to_string();
        let names = self.names.iter().map(String::as_str);
        let advice = match gyrator_system::closest(&pattern, names) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "variables of the FMUs and `bond.…` can be recorded; `gyrator inspect` lists the variables of an FMU"
                .to_owned(),
        };
        Err(Failure::usage(format!(
            "--output-variable {pattern}: there is no such variable"
        ))
        .help(advice))
    }
}

/// A table of the variables at the present communication point: of inputs and outputs, or of those
/// that the patterns of `recording` name.
///
/// # Errors
/// A unit that refuses to give one.
pub(crate) fn initial_values(recording: &Recording, run: &mut Run) -> Result<String, RunError> {
    let mut choice = Choice::new(recording);
    let mut asked = Vec::new();
    for variable in run.graph().variables() {
        let described = variable.described;
        let name = format!("{}.{}", variable.component, described.name);
        let is_usual = matches!(described.causality, Causality::Input | Causality::Output);
        if choice.meets(&name) && (is_usual || !choice.patterns.is_empty()) {
            let unit = described.unit.as_ref().map(|unit| unit.name.clone());
            let role = match described.causality {
                Causality::Parameter | Causality::TunableParameter => "parameter",
                Causality::Input => "input",
                Causality::Output => "output",
                Causality::Local => "local",
            };
            asked.push((
                choice.shown(&name).to_owned(),
                name,
                role,
                unit.unwrap_or_default(),
            ));
        }
    }
    let mut table = Aligned::new(&[
        ("variable", Align::Left),
        ("value", Align::Right),
        ("unit", Align::Left),
        ("causality", Align::Left),
    ]);
    for (shown, name, role, unit) in asked {
        let value = json(&run.read(&name)?).to_string();
        table.row([shown, value, unit, role.to_owned()]);
    }
    Ok(format!(
        "values at t = {} s\n{}\n",
        short(run.time()),
        table.render()
    ))
}

/// A value as JSON writes it.
pub(crate) fn json(value: &Value) -> serde_json::Value {
    match value {
        Value::Real(value) => (*value).into(),
        Value::Integer(value) => (*value).into(),
        Value::Boolean(value) => (*value).into(),
        Value::String(value) => value.as_str().into(),
    }
}

fn recorded_kind(kind: VariableType) -> gyrator_record::ColumnType {
    match kind {
        VariableType::Real => gyrator_record::ColumnType::Real,
        VariableType::Integer => gyrator_record::ColumnType::Integer,
        VariableType::Enumeration => gyrator_record::ColumnType::Enumeration,
        VariableType::Boolean => gyrator_record::ColumnType::Boolean,
        VariableType::String => gyrator_record::ColumnType::String,
    }
}
