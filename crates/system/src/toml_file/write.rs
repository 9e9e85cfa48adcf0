//! Writing a system in the native format.

use std::fmt::Write;
use std::path::{MAIN_SEPARATOR, Path};

use toml_writer::{ToTomlKey, ToTomlValue, TomlStringBuilder};

use crate::problem::Spanned;
use crate::system_file::{
    Bond, Choice, Component, Connection, Experiment, InterfaceModel, LibraryUse, NumberConversion,
    SystemFile, Tolerance, TypeConversion, Value,
};

/// The system as the text of a system file, which [`parse`](super::parse) reads back as the same
/// system but for the places in the text.
///
/// FMUs in or under the folder of [`Source::path`](crate::Source::path) get a relative path. A
/// path that is not Unicode, and a variable whose `component.variable` is a longer component's
/// as well, cannot be distinguished in the format.
pub fn to_toml(system: &SystemFile) -> String {
    let mut text = Text(String::new());
    let folder = system.source.path.parent().unwrap_or(Path::new(""));
    text.experiment(&system.experiment);
    for component in &system.components {
        text.component(component, folder);
    }
    for host in &system.hosts {
        text.header(&format!("[hosts.{}]", host.name.value.to_toml_key()));
        for (key, value) in super::hosts::keys_of(host, folder) {
            text.entry(key, value);
        }
    }
    for connection in &system.connections {
        text.header("[[connections]]");
        for (key, value) in keys_of(connection) {
            text.entry(key, value);
        }
    }
    for bond in &system.bonds {
        text.bond(bond);
    }
    for model in &system.interface_models {
        text.interface_model(model);
    }
    text.0
}

/// A bond as it stands in a system file.
pub fn bond_to_toml(bond: &Bond) -> String {
    let mut text = Text(String::new());
    text.bond(bond);
    text.0
}

/// A system file in the making.
struct Text(String);

impl Text {
    fn header(&mut self, header: &str) {
        let gap = if self.0.is_empty() { "" } else { "\n" };
        self.line(format_args!("{gap}{header}"));
    }

    fn entry(&mut self, key: &str, value: impl std::fmt::Display) {
        self.line(format_args!("{key} = {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn optional<T>(&mut self, key: &str, value: Option<&Spanned<T>>, show: impl Fn(&T) -> String) {
        if let Some(value) = value {
            self.entry(key, show(&value.value));
        }
    }

    fn choice(&mut self, key: &str, value: Option<&Choice>) {
        if let Some(value) = value {
            self.entry(key, choice(value));
        }
    }

    fn experiment(&mut self, experiment: &Experiment) {
        self.header("[experiment]");
        let number = |value: &f64| real(*value);
        self.optional("start_time", experiment.start_time.as_ref(), number);
        self.optional("stop_time", experiment.stop_time.as_ref(), number);
        self.optional("step_size", experiment.step_size.as_ref(), number);
        self.optional("tolerance", experiment.tolerance.as_ref(), |tolerance| {
            let none = || string(Tolerance::NONE);
            tolerance.relative().map_or_else(none, real)
        });
        self.choice("method", experiment.method.as_ref());
        self.optional("exchange", experiment.exchange.as_ref(), |word| {
            string(word)
        });
        self.choice("step_control", experiment.step_control.as_ref());
        self.choice("extrapolation", experiment.extrapolation.as_ref());
        self.optional("scenario", experiment.scenario.as_ref(), |file| {
            path(file, Path::new(""))
        });
    }

    fn component(&mut self, component: &Component, folder: &Path) {
        self.header(&format!(
            "[components.{}]",
            component.name.value.to_toml_key()
        ));
        self.choice("block", component.block.as_ref());
        // Parts of a system that stand in a file of another format name no FMUs.
        if component.block.is_none() && !component.fmu.value.as_os_str().is_empty() {
            self.entry("fmu", path(&component.fmu.value, folder));
        }
        self.optional("step_size", component.step_size.as_ref(), |step| {
            real(*step)
        });
        self.choice("extrapolation", component.extrapolation.as_ref());
        self.optional("exchange", component.exchange.as_ref(), |word| string(word));
        if !component.preload.is_empty() {
            let paths: Vec<_> = component
                .preload
                .iter()
                .map(|path| string(&path.value))
                .collect();
            self.entry("preload", format_args!("[{}]", paths.join(", ")));
        }
        if !component.library_path.is_empty() {
            let directories: Vec<_> = component
                .library_path
                .iter()
                .map(|directory| path(&directory.value, folder))
                .collect();
            self.entry("library_path", format_args!("[{}]", directories.join(", ")));
        }
        self.optional(
            "step_halvings",
            component.step_halvings.as_ref(),
            u32::to_string,
        );
        self.optional("library", component.library.as_ref(), |library| {
            let mut words = LibraryUse::WORDS.iter();
            let word = words.find(|(_, known)| known == library);
            string(word.map_or("auto", |(word, _)| word))
        });
        self.optional("isolate", component.isolate.as_ref(), bool::to_string);
        self.optional("host", component.host.as_ref(), |host| string(host));
        self.optional("restart", component.restart.as_ref(), |restart| {
            format!("{{ times = {}, every = {} }}", restart.times, restart.every)
        });
        if !component.propagate_initial_inputs {
            self.entry("propagate_initial_inputs", false);
        }
        if !component.start_values.is_empty() {
            self.line(format_args!(
                "start_values = {{ {} }}",
                pairs(&component.start_values)
            ));
        }
    }

    fn bond(&mut self, bond: &Bond) {
        self.header("[[bonds]]");
        self.entry("name", string(&bond.name.value));
        self.entry("effort", connections(&bond.effort));
        self.entry("flow", connections(&bond.flow));
        if bond.sense.value != 1.0 {
            self.entry("sense", real(bond.sense.value));
        }
        self.choice("correction", bond.correction.as_ref());
        for (key, number) in [
            ("max_residual_energy", &bond.max_residual_energy),
            ("energy_tolerance", &bond.energy_tolerance),
            ("energy_scale", &bond.energy_scale),
        ] {
            self.optional(key, number.as_ref(), |number| real(*number));
        }
    }

    fn interface_model(&mut self, model: &InterfaceModel) {
        self.header("[[interface_models]]");
        self.entry("name", string(&model.name.value));
        self.entry("component", string(&model.component.value));
        self.list("bonds", &model.bonds);
        self.entry("exchange_step", real(model.exchange_step.value));
        self.optional("order", model.order.as_ref(), |word| string(word));
        for (key, list) in [
            ("positions", &model.positions),
            ("inverse_mass", &model.inverse_mass),
            ("free_acceleration", &model.free_acceleration),
            ("accelerations", &model.accelerations),
        ] {
            if !list.is_empty() {
                self.list(key, list);
            }
        }
        for (key, list) in [
            ("forces", &model.forces),
            ("stiffness", &model.stiffness),
            ("force_rates", &model.force_rates),
        ] {
            if !list.is_empty() {
                self.list(key, list);
            }
        }
        for (name, value) in &model.options {
            self.entry(&name.value, literal(&value.value));
        }
    }

    fn list<T: ToString>(&mut self, key: &str, list: &[Spanned<T>]) {
        let items: Vec<_> = list
            .iter()
            .map(|item| string(&item.value.to_string()))
            .collect();
        self.entry(key, format_args!("[{}]", items.join(", ")));
    }
}

fn connections(list: &[Connection]) -> String {
    let tables: Vec<_> = list.iter().map(connection).collect();
    format!("[{}]", tables.join(", "))
}

fn connection(connection: &Connection) -> String {
    let keys = keys_of(connection).into_iter();
    let keys: Vec<_> = keys
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    format!("{{ {} }}", keys.join(", "))
}

/// The keys of a connection with their values.
fn keys_of(connection: &Connection) -> Vec<(&'static str, String)> {
    let number = |number: &Option<Spanned<f64>>| number.as_ref().map(|number| real(number.value));
    let convert = connection.convert.as_ref();
    let derivative = connection.derivative.as_ref();
    let optional = [
        ("gain", number(&connection.gain)),
        ("offset", number(&connection.offset)),
        ("convert", convert.map(|convert| conversion(&convert.value))),
        (
            "unit_conversion",
            (!connection.unit_conversion).then(|| "false".to_owned()),
        ),
        ("derivative", derivative.map(|name| string(&name.value))),
    ];
    let mut keys = vec![
        ("from", string(&connection.from.value.to_string())),
        ("to", string(&connection.to.value.to_string())),
    ];
    keys.extend(
        optional
            .into_iter()
            .filter_map(|(key, value)| Some((key, value?))),
    );
    keys
}

fn conversion(conversion: &TypeConversion) -> String {
    match conversion {
        TypeConversion::Number(number) => {
            let mut words = NumberConversion::WORDS.iter();
            let word = words.find(|(_, conversion)| conversion == number);
            string(word.map_or("", |(word, _)| word))
        }
        TypeConversion::Table(values) => format!("{{ {} }}", pairs(values)),
    }
}

fn choice(choice: &Choice) -> String {
    let name = string(&choice.name.value);
    if choice.parameters.is_empty() {
        return name;
    }
    format!("{{ name = {name}, {} }}", pairs(&choice.parameters))
}

fn pairs(list: &[(Spanned<String>, Spanned<Value>)]) -> String {
    let pair = |(name, value): &(Spanned<String>, Spanned<Value>)| {
        format!("{} = {}", name.value.to_toml_key(), literal(&value.value))
    };
    list.iter().map(pair).collect::<Vec<_>>().join(", ")
}

/// A value as TOML writes it.
pub fn literal(value: &Value) -> String {
    match value {
        Value::Real(number) => real(*number),
        Value::Integer(number) => number.to_string(),
        Value::Boolean(boolean) => boolean.to_string(),
        Value::String(text) => string(text),
    }
}

/// A double as TOML writes it: the fewest digits that read back as the same double.
pub(super) fn real(number: f64) -> String {
    if number.is_nan() {
        "nan".to_owned()
    } else {
        format!("{number:?}")
    }
}

/// A path as it stands in a file in `folder`.
pub(super) fn path(path: &Path, folder: &Path) -> String {
    let path = path.strip_prefix(folder).unwrap_or(path);
    // Slashes are understood on every platform.
    string(&path.to_string_lossy().replace(MAIN_SEPARATOR, "/"))
}

pub(super) fn string(text: &str) -> String {
    TomlStringBuilder::new(text).as_basic().to_toml_value()
}
