//! Building and changing a system in code.

use std::any::Any;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::problem::{Problem, Problems, Source, Spanned, did_you_mean};
use crate::system_file::{
    Bond, Choice, Component, Connection, Experiment, InterfaceModel, Port, SystemFile, Unpacked,
    Value,
};

/// A time that a system needs to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MissingTime {
    /// Macro-step.
    StepSize,
    /// Stop time.
    StopTime,
}

impl SystemFile {
    /// These problems, with the text of the file.
    #[must_use]
    pub fn problems(&self, list: Vec<Problem>) -> Problems {
        let source = Arc::clone(&self.source);
        Problems { source, list }
    }

    /// A system without components. `path` is the file in which it would be stored: written paths are
    /// relative to its folder, and problems name it.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            source: Arc::new(Source::new(path, "")),
            experiment: Experiment::default(),
            components: Vec::new(),
            connections: Vec::new(),
            bonds: Vec::new(),
            interface_models: Vec::new(),
            hosts: Vec::new(),
            outer_signals: Vec::new(),
            unpacked: Unpacked::default(),
        }
    }

    /// How to give the macro-step or the stop time, of a system that has none, in the format of its file.
    pub fn advice_on_missing(&self, missing: MissingTime) -> String {
        let ending = self.source.path.extension().unwrap_or_default();
        let is = |other: &str| ending.eq_ignore_ascii_case(other);
        let (key, option) = match missing {
            MissingTime::StepSize => ("step_size", "--step-size"),
            MissingTime::StopTime => ("stop_time", "--stop-time"),
        };
        let place = match missing {
            MissingTime::StepSize if is("ssd") => {
                "annotate the step as libcosim or OMSimulator do".to_owned()
            }
            MissingTime::StopTime if is("ssd") => {
                "give the `DefaultExperiment` a `stopTime`".to_owned()
            }
            MissingTime::StepSize if is("xml") => "add `BaseStepSize`".to_owned(),
            MissingTime::StopTime if is("xml") => "add `EndTime`".to_owned(),
            MissingTime::StepSize if is("json") => {
                "give the file with `algorithm`: --coe".to_owned()
            }
            MissingTime::StopTime if is("json") => "give the file with `endTime`: --coe".to_owned(),
            _ => format!("add `{key} = …` to [experiment]"),
        };
        format!("{place}, or pass {option}")
    }

    /// The path of its scenario file: relative to the folder of the file that names it, or to the root of the
    /// archive of the system. A path without a place is relative to the working directory.
    pub fn scenario_path(&self) -> Option<PathBuf> {
        let path = self.experiment.scenario.as_ref()?;
        if path.span.is_empty() {
            return Some(path.value.clone());
        }
        let named_in = || self.source.folder_at(path.span.start);
        let folder = self.unpacked.folder().unwrap_or_else(named_in);
        Some(folder.join(&path.value))
    }

    /// Appends a component and gives it out for further settings.
    pub fn add_component(
        &mut self,
        name: impl Into<String>,
        fmu: impl Into<PathBuf>,
    ) -> &mut Component {
        self.components.push_mut(Component::new(name, fmu))
    }

    /// Appends a connection outside of bonds and gives it out for further settings.
    pub fn connect(&mut self, from: Port, to: Port) -> &mut Connection {
        self.connections.push_mut(Connection::new(from, to))
    }

    /// Appends a bond without axes and gives it out; see [`Bond::axis`].
    pub fn add_bond(&mut self, name: impl Into<String>) -> &mut Bond {
        self.bonds.push_mut(Bond::new(name))
    }

    /// Appends an interface model of `component` that exchanges values every `exchange_step` s, and
    /// gives it out for its bonds and variables.
    pub fn add_interface_model(
        &mut self,
        name: impl Into<String>,
        component: impl Into<String>,
        exchange_step: f64,
    ) -> &mut InterfaceModel {
        self.interface_models
            .push_mut(InterfaceModel::new(name, component, exchange_step))
    }

    /// The component of this name.
    pub fn component(&self, name: &str) -> Option<&Component> {
        self.components
            .iter()
            .find(|component| component.name.value == name)
    }

    /// The component of this name, to be changed.
    pub fn component_mut(&mut self, name: &str) -> Option<&mut Component> {
        self.components
            .iter_mut()
            .find(|component| component.name.value == name)
    }

    /// All connections: those outside of bonds, then each bond's efforts and flows.
    pub fn all_connections(&self) -> impl Iterator<Item = &Connection> {
        let of_bonds = self
            .bonds
            .iter()
            .flat_map(|bond| bond.effort.iter().chain(&bond.flow));
        self.connections.iter().chain(of_bonds)
    }

    /// Splits `component.variable` at the dot that ends the longest known component name.
    ///
    /// # Errors
    ///
    /// A [`Problem`] without a place if the text has no dot or the component does not exist.
    pub fn port(&self, text: &str) -> Result<Port, Problem> {
        let is_component = |name: &str| self.component(name).is_some();
        let port = Port::split(text, is_component).ok_or_else(|| not_a_port(text))?;
        if is_component(&port.component) {
            Ok(port)
        } else {
            Err(self.unknown_component(&port.component))
        }
    }

    /// Sets the start value of `component.variable`, as a command line gives it: see
    /// [`Value::from_text`]. An earlier start value of the same variable is replaced.
    ///
    /// # Errors
    ///
    /// As [`SystemFile::port`]. Whether the variable exists is not known here.
    pub fn set_start_value(&mut self, port: &str, text: &str) -> Result<(), Problem> {
        let value = Value::from_text(text);
        let mut outer = self.outer_signals.iter();
        if let Some(signal) = outer.find(|signal| signal.is_input && signal.name.value == port) {
            for end in signal.ends.clone() {
                let value = match value {
                    Value::Real(number) => Value::Real(end.convert(number)),
                    Value::Integer(number) if (end.factor, end.offset) != (1.0, 0.0) => {
                        Value::Real(end.convert(number as f64))
                    }
                    ref other => other.clone(),
                };
                if let Some(component) = self.component_mut(&end.port.component) {
                    component.set_start_value(end.port.variable, value);
                }
            }
            return Ok(());
        }
        let Port {
            component,
            variable,
        } = self.port(port)?;
        if let Some(component) = self.component_mut(&component) {
            component.set_start_value(variable, value);
        }
        Ok(())
    }

    /// The problem of a name that does not belong to a component.
    pub(crate) fn unknown_component(&self, name: &str) -> Problem {
        /// A large system with many such problems is not searched for each of them.
        const SEARCHED: usize = 1000;
        const LISTED: usize = 10;
        let names = || {
            self.components
                .iter()
                .map(|component| component.name.value.as_str())
        };
        let problem = Problem::error("unknown-component", format!("unknown component `{name}`"));
        if let Some(help) = did_you_mean(name, names().take(SEARCHED)) {
            return problem.help(help);
        }
        match self.components.len() {
            0 => problem.help("the system has no components"),
            1..=LISTED => {
                let list: Vec<_> = names().collect();
                problem.help(format!("the components are `{}`", list.join("`, `")))
            }
            _ => problem,
        }
    }
}

/// The problem of a text that has no `component.variable` form.
pub(crate) fn not_a_port(text: &str) -> Problem {
    Problem::error(
        "invalid-port",
        format!("`{text}` names no variable of a component"),
    )
    .help("write `component.variable`")
}

impl Unpacked {
    /// Keeps `files` in `folder`, which removes them when it is dropped.
    pub fn new(folder: impl Into<PathBuf>, files: impl Any + Send + Sync) -> Self {
        Self(Some((folder.into(), Arc::new(files))))
    }

    /// The folder of the files, if there are any.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.0.as_ref().map(|(folder, _)| &**folder)
    }
}

/// All are equal: a system says the same wherever its files lie.
impl PartialEq for Unpacked {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Unpacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Unpacked").field(&self.0.is_some()).finish()
    }
}

impl Component {
    /// A component with defaults; `fmu` is used as it is.
    pub fn new(name: impl Into<String>, fmu: impl Into<PathBuf>) -> Self {
        Self {
            name: Spanned::unplaced(name.into()),
            fmu: Spanned::unplaced(fmu.into()),
            block: None,
            step_size: None,
            extrapolation: None,
            exchange: None,
            start_values: Vec::new(),
            preload: Vec::new(),
            library_path: Vec::new(),
            step_halvings: None,
            library: None,
            isolate: None,
            host: None,
            restart: None,
            propagate_initial_inputs: true,
        }
    }

    /// A component that is a block: a source or a function.
    pub fn of_block(name: impl Into<String>, block: Choice) -> Self {
        Self {
            block: Some(block),
            ..Self::new(name, PathBuf::new())
        }
    }

    /// Whether the component asks for a process of its own.
    #[must_use]
    pub fn is_isolated(&self) -> bool {
        let isolate = self.isolate.as_ref().map(|isolate| isolate.value);
        isolate.unwrap_or(self.restart.is_some() && self.host.is_none())
    }

    /// Sets a start value, or replaces the one that is there.
    pub fn set_start_value(&mut self, variable: impl Into<String>, value: Value) -> &mut Self {
        let variable = variable.into();
        let value = Spanned::unplaced(value);
        match self
            .start_values
            .iter_mut()
            .find(|(name, _)| name.value == variable)
        {
            Some((_, old)) => *old = value,
            None => self.start_values.push((Spanned::unplaced(variable), value)),
        }
        self
    }
}

impl Connection {
    /// A connection that passes values on in the unit of the input.
    pub fn new(from: Port, to: Port) -> Self {
        Self {
            from: Spanned::unplaced(from),
            to: Spanned::unplaced(to),
            gain: None,
            offset: None,
            convert: None,
            unit_conversion: true,
            derivative: None,
        }
    }

    /// Whether the input receives the output in its own unit, and nothing else was asked for.
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let is = |number: &Option<Spanned<f64>>, neutral| {
            number.as_ref().is_none_or(|number| number.value == neutral)
        };
        is(&self.gain, 1.0)
            && is(&self.offset, 0.0)
            && self.convert.is_none()
            && self.unit_conversion
    }
}

impl Bond {
    /// A bond without axes, of sense 1 and without correction.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: Spanned::unplaced(name.into()),
            effort: Vec::new(),
            flow: Vec::new(),
            sense: Spanned::unplaced(1.0),
            correction: None,
            max_residual_energy: None,
            energy_tolerance: None,
            energy_scale: None,
        }
    }

    /// Appends an axis: the effort goes from end a to end b, the flow from end b to end a.
    pub fn axis(&mut self, effort: Connection, flow: Connection) -> &mut Self {
        self.effort.push(effort);
        self.flow.push(flow);
        self
    }
}

impl InterfaceModel {
    /// An interface model without bonds and variables.
    pub fn new(name: impl Into<String>, component: impl Into<String>, exchange_step: f64) -> Self {
        Self {
            name: Spanned::unplaced(name.into()),
            component: Spanned::unplaced(component.into()),
            bonds: Vec::new(),
            exchange_step: Spanned::unplaced(exchange_step),
            order: None,
            positions: Vec::new(),
            inverse_mass: Vec::new(),
            free_acceleration: Vec::new(),
            accelerations: Vec::new(),
            forces: Vec::new(),
            stiffness: Vec::new(),
            force_rates: Vec::new(),
            options: Vec::new(),
        }
    }

    /// Sets an option, or replaces the one that is there.
    pub fn set_option(&mut self, name: impl Into<String>, value: Value) -> &mut Self {
        let (name, value) = (name.into(), Spanned::unplaced(value));
        match self
            .options
            .iter_mut()
            .find(|(known, _)| known.value == name)
        {
            Some((_, old)) => *old = value,
            None => self.options.push((Spanned::unplaced(name), value)),
        }
        self
    }
}

impl Choice {
    /// A word without parameters.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: Spanned::unplaced(name.into()),
            parameters: Vec::new(),
        }
    }

    /// The same choice with one more parameter.
    #[must_use]
    pub fn with(mut self, parameter: impl Into<String>, value: Value) -> Self {
        self.parameters.push((
            Spanned::unplaced(parameter.into()),
            Spanned::unplaced(value),
        ));
        self
    }
}

impl From<&str> for Choice {
    fn from(word: &str) -> Self {
        Self::new(word)
    }
}

impl Port {
    /// The variable of a component.
    pub fn new(component: impl Into<String>, variable: impl Into<String>) -> Self {
        Self {
            component: component.into(),
            variable: variable.into(),
        }
    }

    /// Splits `component.variable` at the last dot that has a component's name before it; at the
    /// first dot without such a name, so that the unknown name can be reported. `None` without a
    /// dot, or with nothing before or after it.
    pub fn split(text: &str, is_component: impl Fn(&str) -> bool) -> Option<Self> {
        let mut dots = text.rmatch_indices('.').map(|(dot, _)| dot);
        let known = dots.find(|dot| is_component(&text[..*dot]));
        let dot = known.or_else(|| text.find('.'))?;
        let (component, variable) = (&text[..dot], &text[dot + 1..]);
        let complete = !component.is_empty() && !variable.is_empty();
        complete.then(|| Self::new(component, variable))
    }
}

impl fmt::Display for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.component, self.variable)
    }
}

impl Value {
    /// The value that a text without types means: `true` or `false`, a whole number, a number, or
    /// else the text itself. A text in double quotes is always a string: `"1"`. `nan` is a text: an
    /// enumeration may have an item of that name, and a start value is never not a number.
    pub fn from_text(text: &str) -> Self {
        let quoted = text
            .strip_prefix('"')
            .and_then(|rest| rest.strip_suffix('"'));
        if let Some(inner) = quoted {
            return Self::String(inner.to_owned());
        }
        if let Ok(boolean) = text.parse() {
            return Self::Boolean(boolean);
        }
        if let Ok(integer) = text.parse() {
            return Self::Integer(integer);
        }
        match text.parse::<f64>() {
            Ok(real) if !real.is_nan() => Self::Real(real),
            _ => Self::String(text.to_owned()),
        }
    }
}
