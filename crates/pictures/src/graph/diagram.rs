//! The contents of a picture, by name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use gyrator_system::{Choice, Component, Connection, Experiment, Port, SystemFile, TypeConversion};

/// A system as a picture shows it. Serde writes it, and reads it again if every component that it names is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Diagram {
    pub(crate) title: String,
    /// The settings that all components share.
    pub(crate) settings: String,
    #[serde(rename = "components")]
    pub(crate) parts: Vec<Part>,
    pub(crate) signals: Vec<Signal>,
    pub(crate) bonds: Vec<Bond>,
    /// Sentences below the picture.
    pub(crate) remarks: Vec<String>,
}

/// A diagram that may name components that it does not have.
#[derive(Deserialize)]
struct Unchecked {
    title: String,
    settings: String,
    components: Vec<Part>,
    signals: Vec<Signal>,
    bonds: Vec<Bond>,
    remarks: Vec<String>,
}

/// A component.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// The FMU's file or the block's word.
    pub(crate) model: String,
    /// Communication step, s.
    pub(crate) step_size: Option<f64>,
    pub(crate) exchange: String,
}

/// A variable of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Place of the component.
    #[serde(rename = "component")]
    pub(crate) part: usize,
    pub(crate) variable: String,
}

/// A connection that belongs to no bond.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Signal {
    pub(crate) from: End,
    pub(crate) to: End,
    /// Gain, offset and conversion, if there are some.
    pub(crate) change: String,
}

/// A power bond. The effort goes from a to b, the flow from b to a.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Bond {
    pub(crate) name: String,
    pub(crate) a: usize,
    pub(crate) b: usize,
    /// Sense, correction and number of axes, if they are unusual.
    pub(crate) facts: String,
    /// Effort and flow as the variables at either end.
    pub(crate) at_a: String,
    pub(crate) at_b: String,
}

impl Diagram {
    /// The diagram of a system, as its file says it. Connections and bonds of components that the file does not have are
    /// left out.
    #[must_use]
    pub fn of(system: &SystemFile) -> Self {
        let places: BTreeMap<&str, usize> = (system.components.iter().enumerate())
            .map(|(place, component)| (&*component.name.value, place))
            .collect();
        let signal = |connection: &Connection| {
            Some(Signal {
                from: end(&connection.from.value, &places)?,
                to: end(&connection.to.value, &places)?,
                change: change(connection),
            })
        };
        let bond = |bond: &gyrator_system::Bond| of_bond(bond, &places);
        Self {
            title: system.source.path.display().to_string(),
            settings: settings(system),
            parts: (system.components.iter())
                .map(|component| part(component, system))
                .collect(),
            signals: system.connections.iter().filter_map(signal).collect(),
            bonds: system.bonds.iter().filter_map(bond).collect(),
            remarks: system.interface_models.iter().map(remark).collect(),
        }
    }

    /// The number of components.
    #[must_use]
    pub fn components(&self) -> usize {
        self.parts.len()
    }

    /// The heading: the path of the system file.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Says how a run has exchanged the outputs of a component with direct feed-through, such as `fresh`; nothing if no
    /// component has this name.
    pub fn set_exchange(&mut self, component: &str, mode: &str) {
        for part in &mut self.parts {
            if part.name == component {
                mode.clone_into(&mut part.exchange);
            }
        }
    }
}

impl TryFrom<Unchecked> for Diagram {
    type Error = String;

    fn try_from(read: Unchecked) -> Result<Self, String> {
        let signals = read.signals.iter();
        let of_signals = signals.flat_map(|signal| [signal.from.part, signal.to.part]);
        let of_bonds = read.bonds.iter().flat_map(|bond| [bond.a, bond.b]);
        if let Some(place) = of_signals.chain(of_bonds).max()
            && place >= read.components.len()
        {
            return Err(format!("there is no component {place}"));
        }
        Ok(Self {
            title: read.title,
            settings: read.settings,
            parts: read.components,
            signals: read.signals,
            bonds: read.bonds,
            remarks: read.remarks,
        })
    }
}

fn part(component: &Component, system: &SystemFile) -> Part {
    let experiment = &system.experiment;
    let model = match &component.block {
        Some(block) => format!("block {}", block.name.value),
        None => {
            let name = component.fmu.value.file_name();
            name.map_or(String::new(), |name| name.to_string_lossy().into_owned())
        }
    };
    let own = component.step_size.as_ref();
    let exchange = component.exchange.as_ref().or(experiment.exchange.as_ref());
    Part {
        name: component.name.value.clone(),
        model,
        step_size: own.or(experiment.step_size.as_ref()).map(|step| step.value),
        exchange: exchange.map_or_else(
            || Experiment::EXCHANGE.to_owned(),
            |mode| mode.value.clone(),
        ),
    }
}

fn end(port: &Port, places: &BTreeMap<&str, usize>) -> Option<End> {
    Some(End {
        part: *places.get(port.component.as_str())?,
        variable: port.variable.clone(),
    })
}

fn change(connection: &Connection) -> String {
    let mut words = Vec::new();
    if let Some(gain) = connection.gain.as_ref().filter(|gain| gain.value != 1.0) {
        words.push(format!("× {}", gain.value));
    }
    if let Some(offset) = connection.offset.as_ref().filter(|o| o.value != 0.0) {
        let sign = if offset.value < 0.0 { '−' } else { '+' };
        words.push(format!("{sign} {}", offset.value.abs()));
    }
    words.extend(
        connection
            .convert
            .as_ref()
            .map(|convert| match &convert.value {
                TypeConversion::Table(_) => "by a table".to_owned(),
                TypeConversion::Number(number) => {
                    let mut words = gyrator_system::NumberConversion::WORDS.iter();
                    let word = words.find(|(_, other)| other == number);
                    word.map_or(String::new(), |(word, _)| (*word).to_owned())
                }
            }),
    );
    words.join(" ")
}

/// One end of a connection.
type EndOf = fn(&Connection) -> &Port;

fn of_bond(bond: &gyrator_system::Bond, places: &BTreeMap<&str, usize>) -> Option<Bond> {
    let (effort, flow) = (bond.effort.first()?, bond.flow.first()?);
    let place = |port: &Port| places.get(port.component.as_str()).copied();
    let mut facts = Vec::new();
    if bond.effort.len() > 1 {
        facts.push(format!("{} axes", bond.effort.len()));
    }
    if bond.sense.value < 0.0 {
        facts.push("sense −1".to_owned());
    }
    facts.extend(bond.correction.as_ref().map(word));
    let variables = |effort: EndOf, flow: EndOf| {
        let list = |connections: &[Connection], end: EndOf| {
            let all = connections
                .iter()
                .map(|connection| &*end(connection).variable);
            several(&all.collect::<Vec<_>>())
        };
        format!(
            "{} · {}",
            list(&bond.effort, effort),
            list(&bond.flow, flow)
        )
    };
    let (from, to): (EndOf, EndOf) = (|c| &c.from.value, |c| &c.to.value);
    Some(Bond {
        name: bond.name.value.clone(),
        a: place(&effort.from.value)?,
        b: place(&flow.from.value)?,
        facts: facts.join(", "),
        at_a: variables(from, to),
        at_b: variables(to, from),
    })
}

/// The first and the last of several names, or their only one.
fn several(names: &[&str]) -> String {
    match names {
        [first, .., last] if names.iter().any(|name| name != first) => format!("{first}…{last}"),
        _ => names
            .first()
            .map_or(String::new(), |name| (*name).to_owned()),
    }
}

fn word(choice: &Choice) -> String {
    choice.name.value.clone()
}

fn settings(system: &SystemFile) -> String {
    let experiment = &system.experiment;
    let or = |choice: Option<&Choice>, default: &str| choice.map_or(default.to_owned(), word);
    let step = experiment.step_size.as_ref();
    let step = step.map(|step| format!("macro-step {} s", step.value));
    let method = format!(
        "method {}",
        or(experiment.method.as_ref(), Experiment::METHOD)
    );
    let control = experiment.step_control.as_ref();
    let control = control.map(|control| format!("step control {}", word(control)));
    let curve = format!(
        "extrapolation {}",
        or(experiment.extrapolation.as_ref(), Experiment::EXTRAPOLATION)
    );
    let all = [step, Some(method), control, Some(curve)];
    all.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

fn remark(model: &gyrator_system::InterfaceModel) -> String {
    let bonds: Vec<&str> = model.bonds.iter().map(|bond| &*bond.value).collect();
    format!(
        "interface model {}: {} on {}, every {} s",
        model.name.value,
        model.component.value,
        bonds.join(", "),
        model.exchange_step.value
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn written() -> Value {
        let part = |name: &str| json!({ "name": name, "model": "m.fmu", "step_size": 0.1, "exchange": "auto" });
        let end = |component: usize| json!({ "component": component, "variable": "y" });
        json!({
            "title": "system.toml", "settings": "", "components": [part("a"), part("b")], "remarks": [],
            "signals": [{ "from": end(0), "to": end(1), "change": "" }],
            "bonds": [{ "name": "k", "a": 1, "b": 0, "facts": "", "at_a": "f · v", "at_b": "f · v" }],
        })
    }

    #[test]
    fn a_diagram_is_read_as_it_was_written() {
        let diagram = Diagram::deserialize(&written()).unwrap();
        assert_eq!(serde_json::to_value(&diagram).unwrap(), written());
    }

    #[test]
    fn a_component_that_is_not_there_is_refused() {
        for pointer in [
            "/signals/0/from/component",
            "/signals/0/to/component",
            "/bonds/0/a",
            "/bonds/0/b",
        ] {
            let mut wrong = written();
            *wrong.pointer_mut(pointer).unwrap() = json!(2);
            let error = Diagram::deserialize(&wrong).unwrap_err();
            assert!(
                error.to_string().contains("no component 2"),
                "{pointer}: {error}"
            );
        }
    }
}
