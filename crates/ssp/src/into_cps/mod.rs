//! Multi-models of INTO-CPS and its engine Maestro (<https://github.com/INTO-CPS-Association/maestro>): a JSON file with
//! FMUs, connections and parameters, and one with times and algorithm, often called `mm.json` and `coe.json`. Keys are
//! those of Maestro's `MultiModel.java` and `MaestroV1SimulationConfiguration.java`, and of the INTO-CPS application.

mod algorithm;
mod instances;
mod json;
mod logged;

use std::path::Path;

use gyrator_fmu::Limits;
use gyrator_system::{Connection, Problem, Spanned, SystemFile, Value};

use crate::models::Models;
use crate::package::{Package, Reference};
use crate::read::{ReadError, finish};
use crate::tree::Reader;
use instances::Instances;
use json::{Json, Object};

/// Keys that are read.
const READ: [&str; 16] = [
    "fmus",
    "connections",
    "parameters",
    "algorithm",
    "startTime",
    "endTime",
    "end_time",
    "livestream",
    "logVariables",
    "graphs",
    "stabalizationEnabled",
    "global_absolute_tolerance",
    "global_relative_tolerance",
    "simulationProgramDelay",
    "modelSwaps",
    "faultInjectInstances",
];

/// Keys that change no value of a result: logs, windows, threads, names of other files.
const WITHOUT_EFFECT: [&str; 20] = [
    "parallelSimulation",
    "loggingOn",
    "visible",
    "overrideLogLevel",
    "logLevels",
    "enableAllLogCategoriesPerInstance",
    "reportProgress",
    "liveLogInterval",
    "livestreamInterval",
    "liveGraphColumns",
    "liveGraphVisibleRowCount",
    "multimodel_path",
    "multimodel_crc",
    "masterModel",
    "convergenceAttempts",
    "faultInjectConfigurationPath",
    "id",
    "name",
    "description",
    "version",
];

/// Keys of what gyrator does not do, and what to do instead.
const NOT_DONE: [(&str, &str); 5] = [
    (
        "environmentParameters",
        "give their values with --start-value",
    ),
    ("hasExternalSignals", "feed inputs with --input-file"),
    ("externalSpecs", "describe the run in the multi-model"),
    ("modelTransfers", "run the whole time at once"),
    ("postProcessingScript", "call the script after the run"),
];

/// Whether a path may be a multi-model, by its file extension.
#[must_use]
pub fn is_into_cps(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| ending.eq_ignore_ascii_case("json"))
}

/// Reads a multi-model, and the file with its times and algorithm, whose keys take the place of those of the
/// multi-model. Warnings come with the system.
///
/// Instances become components of their names; of two FMUs' instances of one name, the FMU's key comes before it.
///
/// # Errors
///
/// All problems of both files, if one of them is an error.
pub fn read_into_cps(
    path: &Path,
    coe: Option<&Path>,
    limits: Limits,
) -> Result<(SystemFile, Vec<Problem>), ReadError> {
    let package = Package::of_file(path, "");
    let mut reader = Reader::new(&package, limits);
    let mut files = vec![package.description()];
    files.extend(coe.map(|path| Reference {
        path: path.to_owned(),
        shown: path.to_owned(),
    }));
    let opened = files.iter().map(|file| reader.open(file, &(0..0)));
    let texts: Vec<(String, usize)> = opened.collect::<Vec<_>>().into_iter().flatten().collect();
    let mut documents = Vec::new();
    let known: Vec<&str> = known_keys().collect();
    for (text, start) in &texts {
        if let Some(json) = json::parse(text, *start, &mut reader) {
            documents.push(Object::new("the file", json, &known, &mut reader));
        }
    }
    let is_complete = documents.len() == files.len();
    let system = if is_complete {
        system(&Documents(documents), &mut reader)
    } else {
        SystemFile::new("")
    };
    finish(system, Some(&[]), reader)
}

fn known_keys() -> impl Iterator<Item = &'static str> {
    let others = NOT_DONE.iter().map(|(key, _)| *key);
    READ.into_iter().chain(WITHOUT_EFFECT).chain(others)
}

/// The files, the one that counts last.
struct Documents<'t>(Vec<Object<'t>>);

impl<'t> Documents<'t> {
    fn get(&self, key: &str) -> Option<Json<'t>> {
        self.of(key).next()
    }

    /// The last file first.
    fn of(&self, key: &str) -> impl Iterator<Item = Json<'t>> {
        self.0.iter().rev().filter_map(move |file| file.get(key))
    }

    fn number(&self, key: &str, reader: &mut Reader<'_>) -> Option<Spanned<f64>> {
        let file = self.0.iter().rev().find(|file| file.get(key).is_some())?;
        file.number(key, reader)
    }

    /// Whether something is on.
    fn flag(&self, key: &str, reader: &mut Reader<'_>) -> bool {
        let Some(value) = self.get(key) else {
            return false;
        };
        let flag = value.boolean();
        if flag.is_none() {
            value.wrong(key, "`true` or `false`", reader);
        }
        flag.unwrap_or(false)
    }

    /// The members of the objects of this key, in the order of the files.
    fn members(&self, key: &str, reader: &mut Reader<'_>) -> Vec<json::Member<'t>> {
        let mut found = Vec::new();
        for json in self.0.iter().filter_map(|file| file.get(key)) {
            match json.members() {
                Some(members) => found.extend(members),
                None => json.wrong(key, "an object in braces", reader),
            }
        }
        found
    }
}

fn system(files: &Documents<'_>, reader: &mut Reader<'_>) -> SystemFile {
    let mut system = SystemFile::new("");
    if files.get("fmus").is_none() {
        let message = "there are no `fmus`: this is no multi-model";
        let problem = Problem::error("missing-key", message);
        let help = "name the multi-model, and give the file with times and algorithm with --coe";
        reader.problems.push(problem.help(help));
        return system;
    }
    let mut models = Models::new(reader.limits);
    let mut instances = Instances::new(files.members("fmus", reader), reader);
    let logged = logged::Logged::new(files, &mut instances, reader);
    let connections = connections(files, &mut instances, reader);
    let parameters = parameters(files, &mut instances, reader);
    system.components = instances.components(reader);
    for (port, name, value) in parameters {
        if let Some(component) = system.components.get_mut(port) {
            // The last value counts.
            component
                .start_values
                .retain(|(known, _)| known.value != name.value);
            component.start_values.push((name, value));
        }
    }
    for (from, to) in connections {
        let (from, to) = (from.port(&system.components), to.port(&system.components));
        let mut connection = Connection::new(from.value.clone(), to.value.clone());
        let ends = [&from.value, &to.value];
        connection.unit_conversion = models.have_one_unit(ends, &system.components);
        (connection.from, connection.to) = (from, to);
        system.connections.push(connection);
    }
    for component in &mut system.components {
        component.propagate_initial_inputs = instances::declares_initial(component, &mut models);
    }
    system.experiment = algorithm::experiment(files, &instances, &system.components, reader);
    logged.report(&system.components, &mut models, reader);
    report_not_done(files, reader);
    system
}

fn connections(
    files: &Documents<'_>,
    instances: &mut Instances,
    reader: &mut Reader<'_>,
) -> Vec<(instances::Signal, instances::Signal)> {
    let mut found = Vec::new();
    for (output, inputs) in files.members("connections", reader) {
        let Some(items) = inputs.items() else {
            inputs.wrong(&output.value, "a list of inputs", reader);
            continue;
        };
        let from = instances.signal(&output, reader);
        for input in items {
            let Some(text) = input.text() else {
                input.wrong(&output.value, "a list of inputs in quotes", reader);
                continue;
            };
            let to = instances.signal(&text, reader);
            found.extend(from.clone().zip(to));
        }
    }
    found
}

type StartValue = (usize, Spanned<String>, Spanned<Value>);

fn parameters(
    files: &Documents<'_>,
    instances: &mut Instances,
    reader: &mut Reader<'_>,
) -> Vec<StartValue> {
    let mut found = Vec::new();
    for (name, json) in files.members("parameters", reader) {
        let Some(signal) = instances.signal(&name, reader) else {
            continue;
        };
        let value = json.boolean().map(Value::Boolean);
        let value = value.or_else(|| json.integer().map(Value::Integer));
        let value = value.or_else(|| json.number().map(Value::Real));
        let value = value.or_else(|| json.text().map(|text| Value::String(text.value)));
        match value {
            Some(value) => {
                let variable = Spanned::new(signal.variable, name.span);
                found.push((signal.instance, variable, Spanned::new(value, json.span())));
            }
            None => json.wrong(&name.value, "a number, a truth value or a text", reader),
        }
    }
    found
}

fn report_not_done(files: &Documents<'_>, reader: &mut Reader<'_>) {
    let mut warn = |key: &str, help: &str, value: Json<'_>| {
        let message = format!("`{key}` is not supported and ignored");
        let problem = Problem::warning("not-supported", message).at(&value.span());
        reader.problems.push(problem.help(help));
    };
    let faults = (
        "faultInjectInstances",
        "write the faults as a scenario: --scenario FILE",
    );
    let delay = (
        "simulationProgramDelay",
        "keep step with the clock: --real-time",
    );
    for (key, help) in NOT_DONE.into_iter().chain([faults, delay]) {
        if let Some(value) = files.get(key).filter(|value| !value.is_nothing()) {
            warn(key, help, value);
        }
    }
    if let Some(swaps) = files.get("modelSwaps").filter(|value| !value.is_nothing()) {
        let message = "`modelSwaps` is not supported: no component takes the place of another one during a run";
        let problem = Problem::error("not-supported", message).at(&swaps.span());
        reader
            .problems
            .push(problem.help("take it out to run the system as it starts"));
    }
}
