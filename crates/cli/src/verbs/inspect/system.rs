//! Contents of a system file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use gyrator::System;
use gyrator::system::{suggested_bonds, unused_inputs};
use gyrator_fmu::Fmu;
use gyrator_ssp::PowerPort;
use gyrator_system::{
    Bond, Choice, Component, Connection, Experiment, InterfaceModel, OuterSignal, Port, Problem,
    Problems, Severity, Spanned, SystemFile, Value,
};
use serde::Serialize;

use super::suggestions::Suggestion;
use crate::aligned::{Align, Aligned};
use crate::failure::Failure;
use crate::numbers::{count, short};

/// All that is shown.
#[derive(Serialize)]
pub(super) struct Facts {
    path: PathBuf,
    start_time: f64,
    stop_time: Option<f64>,
    step_size: Option<f64>,
    method: String,
    step_control: String,
    components: Vec<ComponentFacts>,
    connections: Vec<ConnectionFacts>,
    /// Signals of the system itself.
    outer_signals: Vec<ConnectionFacts>,
    bonds: Vec<BondFacts>,
    interface_models: Vec<InterfaceModelFacts>,
    /// Inputs that have neither connection nor start value, nor an action of the scenario.
    unfed_inputs: Vec<String>,
    /// Start values of connected inputs, which have no effect.
    replaced_start_values: Vec<String>,
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) suggested_bonds: Option<Vec<Suggestion>>,
}

#[derive(Serialize)]
struct ComponentFacts {
    name: String,
    fmu: PathBuf,
    /// Word of the block that the component is.
    block: Option<String>,
    /// `None` if the FMU cannot be read.
    model: Option<String>,
    step_size: Option<f64>,
    exchange: String,
    extrapolation: String,
    start_values: usize,
    /// Address of the machine that runs it; `None` for this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
}

#[derive(Serialize)]
struct ConnectionFacts {
    from: String,
    to: String,
    gain: f64,
    offset: f64,
}

#[derive(Serialize)]
pub(super) struct BondFacts {
    name: String,
    effort: Vec<ConnectionFacts>,
    flow: Vec<ConnectionFacts>,
    sense: f64,
    correction: String,
}

#[derive(Serialize)]
struct InterfaceModelFacts {
    name: String,
    component: String,
    bonds: Vec<String>,
    exchange_step: f64,
    /// `None` if it follows from the options.
    order: Option<String>,
    options: BTreeMap<String, String>,
}

impl Facts {
    /// The facts of a system and, if it cannot be run, why; with the bonds that it suggests if the ports of its
    /// FMUs are given.
    pub(super) fn new(
        file: SystemFile,
        mut warnings: Vec<Problem>,
        ports: Option<&[PowerPort]>,
    ) -> (Self, Option<Failure>) {
        let mut facts = Self::of(&file);
        let source = Arc::clone(&file.source);
        let failure = match System::from_file(file.clone()) {
            Ok(system) => {
                let suggested = ports.map(|ports| suggested_bonds(&system, ports));
                facts.suggested_bonds =
                    suggested.map(|bonds| bonds.iter().map(Suggestion::new).collect());
                warnings.extend(system.check());
                if warnings.iter().any(Problem::is_error) {
                    let list = warnings.clone();
                    Some(Problems { source, list }.into())
                } else {
                    match unused_inputs(&system) {
                        Ok(unused) => {
                            let names =
                                |ports: Vec<Port>| ports.iter().map(Port::to_string).collect();
                            facts.unfed_inputs = names(unused.unfed);
                            facts.replaced_start_values = names(unused.replaced);
                            None
                        }
                        Err(error) => Some(Failure::not_started(error, &file)),
                    }
                }
            }
            Err(error) => Some(Failure::not_started(error, &file)),
        };
        let warnings = warnings
            .iter()
            .filter(|problem| problem.severity == Severity::Warning);
        facts.warnings = warnings.map(|problem| problem.message.clone()).collect();
        (facts, failure)
    }

    fn of(file: &SystemFile) -> Self {
        let experiment = &file.experiment;
        let component = |component: &Component| ComponentFacts {
            name: component.name.value.clone(),
            fmu: component.fmu.value.clone(),
            block: component
                .block
                .as_ref()
                .map(|block| block.name.value.clone()),
            model: None,
            step_size: component
                .step_size
                .as_ref()
                .or(experiment.step_size.as_ref())
                .map(|step| step.value),
            exchange: component
                .exchange
                .as_ref()
                .or(experiment.exchange.as_ref())
                .map_or(Experiment::EXCHANGE, |exchange| &exchange.value)
                .to_owned(),
            extrapolation: word(
                component
                    .extrapolation
                    .as_ref()
                    .or(experiment.extrapolation.as_ref()),
                Experiment::EXTRAPOLATION,
            ),
            start_values: component.start_values.len(),
            host: file.host_of(component).map(|host| host.url.value),
        };
        let mut facts = Self {
            path: file.source.path.clone(),
            start_time: experiment.start(),
            stop_time: experiment.stop_time.as_ref().map(|time| time.value),
            step_size: experiment.step_size.as_ref().map(|step| step.value),
            method: word(experiment.method.as_ref(), Experiment::METHOD),
            step_control: word(experiment.step_control.as_ref(), Experiment::STEP_CONTROL),
            components: file.components.iter().map(component).collect(),
            connections: file.connections.iter().map(connection).collect(),
            outer_signals: file.outer_signals.iter().flat_map(outer_signal).collect(),
            bonds: file.bonds.iter().map(bond).collect(),
            interface_models: file.interface_models.iter().map(interface_model).collect(),
            unfed_inputs: Vec::new(),
            replaced_start_values: Vec::new(),
            warnings: Vec::new(),
            suggested_bonds: None,
        };
        facts.name_models();
        facts
    }

    /// Reads each FMU's description once.
    fn name_models(&mut self) {
        let mut models: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
        let with_fmu = |component: &&mut ComponentFacts| component.block.is_none();
        for component in self.components.iter_mut().filter(with_fmu) {
            let model = models.entry(component.fmu.clone()).or_insert_with(|| {
                Fmu::peek(&component.fmu)
                    .ok()
                    .map(|peek| peek.description.model_name.clone())
            });
            component.model = model.clone();
        }
    }

    /// The facts for people.
    pub(super) fn render(&self) -> String {
        let mut text = self.head();
        let _ = write!(text, "\n{}", self.component_table());
        if !self.connections.is_empty() {
            let _ = write!(text, "\nconnections ({})\n", self.connections.len());
        }
        for connection in &self.connections {
            let _ = writeln!(text, "  {}", connection.render());
        }
        if !self.outer_signals.is_empty() {
            text.push_str("\nsignals of the system\n");
        }
        for signal in &self.outer_signals {
            let _ = writeln!(text, "  {}", signal.render());
        }
        for bond in &self.bonds {
            let _ = write!(text, "\n{}", bond.render());
        }
        if !self.interface_models.is_empty() {
            text.push('\n');
        }
        for model in &self.interface_models {
            let _ = writeln!(text, "{}", model.render());
        }
        let lists = [
            ("inputs that nothing feeds", &self.unfed_inputs),
            (
                "start values of connected inputs, without effect",
                &self.replaced_start_values,
            ),
        ];
        for (what, names) in lists {
            if !names.is_empty() {
                let _ = write!(text, "\n{what} ({})\n", names.len());
            }
            for name in names {
                let _ = writeln!(text, "  {name}");
            }
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
        let number = |number: usize, noun: &str| count(number as u64, noun);
        let mut text = format!(
            "{}: {}, {}, {}\n\n",
            self.path.display(),
            number(self.components.len(), "component"),
            number(self.connections.len(), "connection"),
            number(self.bonds.len(), "power bond"),
        );
        let or_missing = |value: Option<f64>| {
            value.map_or("not given".to_owned(), |value| {
                format!("{} s", short(value))
            })
        };
        let _ = writeln!(
            text,
            "  time        {} s to {}",
            short(self.start_time),
            or_missing(self.stop_time)
        );
        let _ = writeln!(
            text,
            "  macro-step  {}, {}",
            or_missing(self.step_size),
            self.step_control
        );
        let _ = writeln!(text, "  method      {}", self.method);
        text
    }

    fn component_table(&self) -> String {
        let mut table = Aligned::new(&[
            ("component", Align::Left),
            ("model", Align::Left),
            ("step, s", Align::Right),
            ("exchange", Align::Left),
            ("extrapolation", Align::Left),
            ("start values", Align::Right),
            ("host", Align::Left),
        ]);
        for component in &self.components {
            table.row([
                component.name.clone(),
                component
                    .model
                    .clone()
                    .or_else(|| {
                        component
                            .block
                            .as_ref()
                            .map(|block| format!("block {block}"))
                    })
                    .unwrap_or_else(|| format!("? ({})", component.fmu.display())),
                component.step_size.map(short).unwrap_or_default(),
                component.exchange.clone(),
                component.extrapolation.clone(),
                component.start_values.to_string(),
                component.host.clone().unwrap_or_default(),
            ]);
        }
        table.render()
    }
}

fn word(choice: Option<&Choice>, default: &str) -> String {
    choice
        .map_or(default, |choice| &choice.name.value)
        .to_owned()
}

fn connection(connection: &Connection) -> ConnectionFacts {
    let port = |port: &gyrator_system::Port| format!("{}.{}", port.component, port.variable);
    ConnectionFacts {
        from: port(&connection.from.value),
        to: port(&connection.to.value),
        gain: connection.gain.as_ref().map_or(1.0, |gain| gain.value),
        offset: connection
            .offset
            .as_ref()
            .map_or(0.0, |offset| offset.value),
    }
}

fn outer_signal(signal: &OuterSignal) -> impl Iterator<Item = ConnectionFacts> {
    signal.ends.iter().map(|end| {
        let (name, port) = (signal.name.value.clone(), end.port.to_string());
        let (from, to) = match signal.is_input {
            true => (name, port),
            false => (port, name),
        };
        ConnectionFacts {
            from,
            to,
            gain: end.factor,
            offset: end.offset,
        }
    })
}

pub(super) fn bond(bond: &Bond) -> BondFacts {
    BondFacts {
        name: bond.name.value.clone(),
        effort: bond.effort.iter().map(connection).collect(),
        flow: bond.flow.iter().map(connection).collect(),
        sense: bond.sense.value,
        correction: word(bond.correction.as_ref(), "off"),
    }
}

fn interface_model(model: &InterfaceModel) -> InterfaceModelFacts {
    let bonds = model.bonds.iter().map(|bond| bond.value.clone());
    let option = |(name, value): &(Spanned<String>, Spanned<Value>)| {
        let value = match &value.value {
            Value::Real(number) => short(*number),
            Value::Integer(number) => number.to_string(),
            Value::Boolean(flag) => flag.to_string(),
            Value::String(word) => word.clone(),
        };
        (name.value.clone(), value)
    };
    InterfaceModelFacts {
        name: model.name.value.clone(),
        component: model.component.value.clone(),
        bonds: bonds.collect(),
        exchange_step: model.exchange_step.value,
        order: model.order.as_ref().map(|order| order.value.clone()),
        options: model.options.iter().map(option).collect(),
    }
}

impl InterfaceModelFacts {
    fn render(&self) -> String {
        let mut text = format!(
            "interface model {}: {} on {}, every {} s",
            self.name,
            self.component,
            self.bonds.join(", "),
            short(self.exchange_step)
        );
        if let Some(order) = &self.order {
            let _ = write!(text, ", {order}");
        }
        for (name, value) in &self.options {
            let _ = write!(text, ", {} {value}", name.replace('_', " "));
        }
        text
    }
}

impl ConnectionFacts {
    fn render(&self) -> String {
        let gain = if self.gain == 1.0 {
            String::new()
        } else {
            format!(" × {}", short(self.gain))
        };
        let offset = if self.offset == 0.0 {
            String::new()
        } else {
            let sign = if self.offset < 0.0 { '−' } else { '+' };
            format!(" {sign} {}", short(self.offset.abs()))
        };
        format!("{} → {}{gain}{offset}", self.from, self.to)
    }
}

impl BondFacts {
    fn render(&self) -> String {
        let sense = if self.sense < 0.0 { ", sense −1" } else { "" };
        let mut text = format!(
            "bond {}: correction {}{sense}\n",
            self.name, self.correction
        );
        for (effort, flow) in self.effort.iter().zip(&self.flow) {
            let _ = writeln!(text, "  effort  {}", effort.render());
            let _ = writeln!(text, "  flow    {}", flow.render());
        }
        text
    }
}
