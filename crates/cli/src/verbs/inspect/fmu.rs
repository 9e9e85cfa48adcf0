//! Contents of an FMU.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use gyrator_fmu::{
    Causality, CoSimulation, Dependencies, ModelDescription, Peek, ScalarVariable, Sharing,
    TypeAttributes, Variability,
};
use serde::Serialize;

use super::needs::NeedsFacts;
use crate::aligned::{Align, Aligned};
use crate::numbers::short;

/// Inputs that an output is shown to depend on; more are counted.
const DEPENDENCIES_SHOWN: usize = 4;

/// All that is shown.
#[derive(Serialize)]
pub(super) struct Facts {
    path: PathBuf,
    fmi_version: String,
    model_name: String,
    description: Option<String>,
    guid: String,
    version: Option<String>,
    author: Option<String>,
    license: Option<String>,
    generation_tool: Option<String>,
    generation_date_and_time: Option<String>,
    co_simulation: bool,
    model_exchange: bool,
    platforms: Vec<String>,
    runs_here: bool,
    #[serde(skip)]
    has_own_platform: bool,
    abilities: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<SharingFacts>,
    default_experiment: Experiment,
    log_categories: Vec<String>,
    variables: Vec<Variable>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: Option<NeedsFacts>,
}

/// What copies of the library do not keep apart.
#[derive(Serialize)]
struct SharingFacts {
    unique_symbols: usize,
    thread_local: Vec<String>,
    c_functions: Vec<&'static str>,
    shared_c_functions: Vec<&'static str>,
    companions: Vec<String>,
}

impl SharingFacts {
    fn new(sharing: Sharing) -> Self {
        Self {
            unique_symbols: sharing.unique_symbols,
            thread_local: sharing.thread_local,
            c_functions: sharing.c_functions,
            shared_c_functions: sharing.shared_c_functions,
            companions: sharing.companions,
        }
    }

    /// In words, with what is done about it.
    fn render(&self) -> String {
        let mut parts = Vec::new();
        if self.unique_symbols > 0 {
            let count = self.unique_symbols;
            parts.push(format!("{count} unique symbols (made local)"));
        }
        let (kept_apart, others): (Vec<_>, Vec<_>) =
            self.c_functions.iter().partition(|name| **name != "strtok");
        for (names, kind) in [
            (kept_apart, "each instance its own; one thread"),
            (others, "one thread"),
        ] {
            if !names.is_empty() {
                let names: Vec<&str> = names.into_iter().copied().collect();
                parts.push(format!("{} ({kind})", names.join(", ")));
            }
        }
        if !self.thread_local.is_empty() {
            parts.push("thread-local variables (one thread)".to_owned());
        }
        let alone = self.companions.iter().map(String::as_str);
        let alone: Vec<&str> = alone
            .chain(self.shared_c_functions.iter().copied())
            .collect();
        if !alone.is_empty() {
            let names = alone.join(", ");
            parts.push(format!(
                "{names} (a process of its own from the second component on)"
            ));
        }
        parts.join("; ")
    }
}

#[derive(Serialize)]
struct Experiment {
    start_time: Option<f64>,
    stop_time: Option<f64>,
    step_size: Option<f64>,
    tolerance: Option<f64>,
}

#[derive(Serialize)]
struct Variable {
    name: String,
    causality: &'static str,
    variability: &'static str,
    #[serde(rename = "type")]
    kind: &'static str,
    unit: Option<String>,
    start: serde_json::Value,
    /// Items of an enumeration.
    items: Vec<String>,
    /// Inputs on which an output directly depends.
    #[serde(skip_serializing_if = "Option::is_none")]
    direct_feedthrough: Option<Names>,
    description: Option<String>,
}

/// Names that many variables may share: outputs without declared dependencies depend on all
/// inputs.
#[derive(Clone)]
struct Names(Rc<[String]>);

impl Serialize for Names {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter())
    }
}

/// The inputs of a model, by index, and their names in alphabetical order.
struct Inputs {
    indices: BTreeSet<usize>,
    all: Names,
}

impl Inputs {
    fn of(model: &ModelDescription) -> Self {
        let variables = model.variables.iter().enumerate();
        let inputs = variables.filter(|(_, variable)| variable.causality == Causality::Input);
        let (indices, mut names): (BTreeSet<usize>, Vec<String>) = inputs
            .map(|(index, variable)| (index, variable.name.clone()))
            .unzip();
        names.sort();
        Self {
            indices,
            all: Names(names.into()),
        }
    }
}

impl Facts {
    /// The facts of an FMU.
    pub(super) fn new(
        path: &Path,
        peek: &Peek,
        needs: Option<NeedsFacts>,
        sharing: Option<Sharing>,
    ) -> Self {
        let model = &*peek.description;
        let default = model.default_experiment;
        let has_own_platform = peek.own_platform().is_some();
        let inputs = Inputs::of(model);
        Self {
            path: path.to_owned(),
            fmi_version: model.fmi_version.clone(),
            model_name: model.model_name.clone(),
            description: model.description.clone(),
            guid: model.guid.clone(),
            version: model.version.clone(),
            author: model.author.clone(),
            license: model.license.clone(),
            generation_tool: model.generation_tool.clone(),
            generation_date_and_time: model.generation_date_and_time.clone(),
            co_simulation: model.co_simulation.is_some(),
            model_exchange: model.model_exchange.is_some(),
            platforms: peek.platforms.clone(),
            runs_here: has_own_platform && model.co_simulation.is_some(),
            has_own_platform,
            abilities: model
                .co_simulation
                .as_ref()
                .map(abilities)
                .unwrap_or_default(),
            shares: sharing.map(SharingFacts::new),
            default_experiment: Experiment {
                start_time: default.start_time,
                stop_time: default.stop_time,
                step_size: default.step_size,
                tolerance: default.tolerance,
            },
            log_categories: model
                .log_categories
                .iter()
                .map(|category| category.name.clone())
                .collect(),
            variables: (0..model.variables.len())
                .map(|index| variable(model, index, &inputs))
                .collect(),
            warnings: peek.warnings.iter().map(ToString::to_string).collect(),
            needs,
        }
    }

    /// The facts for people.
    pub(super) fn render(&self, all: bool) -> String {
        let mut text = self.head();
        let mut hidden = 0;
        for (causality, heading) in [
            ("input", "inputs"),
            ("output", "outputs"),
            ("parameter", "parameters"),
            ("calculatedParameter", "calculated parameters"),
            ("local", "local variables"),
        ] {
            let variables: Vec<_> = self
                .variables
                .iter()
                .filter(|variable| variable.causality == causality)
                .collect();
            let is_inner = matches!(causality, "calculatedParameter" | "local");
            if is_inner && !all {
                hidden += variables.len();
            } else if !variables.is_empty() {
                let _ = write!(
                    text,
                    "\n{heading} ({})\n{}",
                    variables.len(),
                    table(&variables)
                );
            }
        }
        if hidden > 0 {
            let _ = writeln!(text, "\n{hidden} inner variables; --all lists them");
        }
        if let Some(needs) = &self.needs {
            text += &needs.render();
        }
        if !self.warnings.is_empty() {
            text.push('\n');
        }
        for warning in &self.warnings {
            let _ = writeln!(text, "warning: {warning}");
        }
        text
    }

    fn head(&self) -> String {
        let kinds = match (self.co_simulation, self.model_exchange) {
            (true, true) => "co-simulation and model exchange",
            (true, false) => "co-simulation",
            _ => "model exchange only: gyrator cannot run it",
        };
        let mut text = format!("{}: FMI {}, {kinds}\n", self.model_name, self.fmi_version);
        if let Some(description) = &self.description {
            let _ = writeln!(text, "{description}");
        }
        text.push('\n');
        let mut line = |key: &str, value: Option<String>| {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                let _ = writeln!(text, "  {key:14}{value}");
            }
        };
        line("made with", self.generation_tool.clone());
        line("made on", self.generation_date_and_time.clone());
        line("author", self.author.clone());
        line("version", self.version.clone());
        line("licence", self.license.clone());
        line("GUID", Some(self.guid.clone()));
        line("platforms", Some(self.platform_line()));
        line("experiment", Some(self.default_experiment.render()));
        line("capabilities", Some(self.abilities.join(", ")));
        line("shares", self.shares.as_ref().map(SharingFacts::render));
        text
    }

    fn platform_line(&self) -> String {
        let names = if self.platforms.is_empty() {
            "none".to_owned()
        } else {
            self.platforms.join(", ")
        };
        let remark = match self.has_own_platform {
            true => "",
            false => " (none for this machine)",
        };
        names + remark
    }
}

impl Experiment {
    fn render(&self) -> String {
        let part = |key: &str, value: Option<f64>, unit: &str| {
            value.map(|value| format!("{key} {}{unit}", short(value)))
        };
        let parts = [
            part("start", self.start_time, " s"),
            part("stop", self.stop_time, " s"),
            part("step", self.step_size, " s"),
            part("tolerance", self.tolerance, ""),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn abilities(claims: &CoSimulation) -> Vec<&'static str> {
    let all = [
        (
            claims.can_handle_variable_communication_step_size,
            "variable step size",
        ),
        (claims.can_interpolate_inputs, "input derivatives"),
        (claims.max_output_derivative_order > 0, "output derivatives"),
        (
            claims.provides_directional_derivative,
            "directional derivatives",
        ),
        (claims.can_get_and_set_fmu_state, "saves its state"),
        (claims.can_serialize_fmu_state, "serialises its state"),
        (
            claims.can_be_instantiated_only_once_per_process,
            "once per process only",
        ),
        (
            claims.needs_execution_tool,
            "needs the tool it was made with",
        ),
    ];
    all.into_iter()
        .filter(|(can, _)| *can)
        .map(|(_, name)| name)
        .collect()
}

fn variable(model: &ModelDescription, index: usize, inputs: &Inputs) -> Variable {
    let described = &model.variables[index];
    let is_output = described.causality == Causality::Output;
    let items = model.enumeration_items(described);
    Variable {
        name: described.name.clone(),
        causality: described.causality.name(),
        variability: described.variability.name(),
        kind: described.kind.name(),
        unit: described.real().and_then(|real| real.unit.clone()),
        start: start(model, described),
        items: items.iter().map(|item| item.name.clone()).collect(),
        direct_feedthrough: is_output.then(|| feedthrough(model, index, inputs)),
        description: described.description.clone(),
    }
}

fn start(model: &ModelDescription, variable: &ScalarVariable) -> serde_json::Value {
    match &variable.kind {
        TypeAttributes::Real(real) => real.start.into(),
        TypeAttributes::Integer { start, .. } => (*start).into(),
        TypeAttributes::Boolean { start } => (*start).into(),
        TypeAttributes::String { start } => start.clone().into(),
        TypeAttributes::Enumeration { start, .. } => {
            let items = model.enumeration_items(variable);
            let item = items.iter().find(|item| Some(item.value) == *start);
            item.map_or_else(|| (*start).into(), |item| item.name.clone().into())
        }
    }
}

/// Inputs on which an output directly depends; all of them if the FMU does not say.
fn feedthrough(model: &ModelDescription, index: usize, inputs: &Inputs) -> Names {
    let Dependencies::Listed(dependencies) = model.output_dependencies(index) else {
        return inputs.all.clone();
    };
    let known: BTreeSet<usize> = dependencies.iter().map(|(index, _)| *index).collect();
    let known = known.intersection(&inputs.indices);
    let names = known.map(|input| model.variables[*input].name.clone());
    Names(names.collect())
}

fn table(variables: &[&Variable]) -> String {
    let mut table = Aligned::new(&[
        ("name", Align::Left),
        ("type", Align::Left),
        ("unit", Align::Left),
        ("start", Align::Right),
        ("depends on", Align::Left),
        ("description", Align::Left),
    ]);
    for variable in variables {
        table.row([
            variable.name.clone(),
            variable.type_name(),
            variable.unit.clone().unwrap_or_default(),
            variable.start_text(),
            variable.dependency_text(),
            variable.description_text(),
        ]);
    }
    table.render()
}

impl Variable {
    fn type_name(&self) -> String {
        let discrete = Variability::Discrete.name();
        let is_discrete_real = self.kind == "Real" && self.variability == discrete;
        match (is_discrete_real, self.variability) {
            (true, _) => "Real, discrete".to_owned(),
            (false, "tunable") => format!("{}, tunable", self.kind),
            _ => self.kind.to_owned(),
        }
    }

    fn start_text(&self) -> String {
        match &self.start {
            serde_json::Value::Null => String::new(),
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Number(number) if self.kind == "Real" => {
                number.as_f64().map_or_else(|| number.to_string(), short)
            }
            other => other.to_string(),
        }
    }

    /// The description, with the items of an enumeration.
    fn description_text(&self) -> String {
        let description = self.description.clone().unwrap_or_default();
        let items = self.items.join(" | ");
        match (description.is_empty(), items.is_empty()) {
            (_, true) => description,
            (true, false) => items,
            (false, false) => format!("{description}: {items}"),
        }
    }

    fn dependency_text(&self) -> String {
        let names = self.direct_feedthrough.as_ref();
        let names = names.map_or(&[][..], |names| &names.0);
        match names.len().checked_sub(DEPENDENCIES_SHOWN + 1) {
            None => names.join(", "),
            Some(more) => {
                format!(
                    "{} and {} more",
                    names[..DEPENDENCIES_SHOWN].join(", "),
                    more + 1
                )
            }
        }
    }
}
