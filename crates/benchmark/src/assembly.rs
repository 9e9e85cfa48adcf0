//! A coupled system of the FMUs that play the roles of a benchmark.

use std::collections::BTreeMap;

use gyrator_system::{Choice, Connection, Port, Spanned, SystemFile, Value};

use crate::role::{Role, RoleAssignment, RoleError};

/// How a run couples its units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Configuration {
    /// Name in the table.
    pub(crate) name: &'static str,
    /// Exchange of outputs with direct feed-through.
    pub(crate) exchange: &'static str,
    /// Parameters of the correction by residual power; `None` without correction.
    pub(crate) correction: Option<&'static [(&'static str, f64)]>,
}

impl Configuration {
    /// Without correction.
    pub(crate) const fn plain(name: &'static str, exchange: &'static str) -> Self {
        Self {
            name,
            exchange,
            correction: None,
        }
    }

    /// Stale outputs and the correction of Rodríguez et al. (2022).
    pub(crate) const fn corrected(
        name: &'static str,
        parameters: &'static [(&'static str, f64)],
    ) -> Self {
        Self {
            name,
            exchange: "stale",
            correction: Some(parameters),
        }
    }
}

pub(crate) const STALE: Configuration = Configuration::plain("stale", "stale");
pub(crate) const COMPENSATED: Configuration = Configuration::plain("compensated", "compensated");
pub(crate) const FRESH: Configuration = Configuration::plain("fresh", "fresh");

/// Steps of the refined runs that other people's FMUs are judged by, relative to the case's own.
pub(crate) const REFINEMENT: f64 = 10.0;

/// Name of the refined run in the table.
pub(crate) const REFINED: Configuration = Configuration::plain("stale, H/10", "stale");

/// Where a component stands in a system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) name: &'a str,
    pub(crate) role: &'static Role,
    /// Communication step, s.
    pub(crate) step: f64,
    /// Inner step of our FMU, s.
    pub(crate) inner_step: f64,
    pub(crate) extrapolation: &'a str,
    pub(crate) exchange: &'a str,
}

/// Builds a system file by our names of ports and parameters.
pub(crate) struct Assembly<'a> {
    roles: &'a RoleAssignment,
    /// Role of each component, by its name.
    role_of: BTreeMap<String, &'static Role>,
    file: SystemFile,
}

impl<'a> Assembly<'a> {
    /// An empty system of units in parallel, with macro-step `step` and stop time `stop`, s.
    pub(crate) fn new(roles: &'a RoleAssignment, step: f64, stop: f64) -> Self {
        let mut file = SystemFile::new("<benchmark>");
        file.experiment.step_size = Some(Spanned::unplaced(step));
        file.experiment.stop_time = Some(Spanned::unplaced(stop));
        file.experiment.method = Some(Choice::new("jacobi"));
        Self {
            roles,
            role_of: BTreeMap::new(),
            file,
        }
    }

    /// Adds a component. Parameters that a substitute lacks are left out.
    pub(crate) fn add(
        &mut self,
        place: Place<'_>,
        parameters: &[(&str, Value)],
    ) -> Result<(), RoleError> {
        let Place {
            name, role, step, ..
        } = place;
        let fmu = self.roles.fmu(role)?;
        let component = self.file.add_component(name, fmu);
        component.step_size = Some(Spanned::unplaced(step));
        component.extrapolation = Some(extrapolation(place.extrapolation));
        component.exchange = Some(Spanned::unplaced(place.exchange.to_owned()));
        for (parameter, value) in parameters {
            if let Some(theirs) = self.roles.name(role, parameter) {
                component.set_start_value(theirs, value.clone());
            }
        }
        // Models with `micro_steps` have those instead.
        let divides_evenly = role.parameters.contains(&"micro_steps");
        if !divides_evenly && !self.roles.is_foreign(std::slice::from_ref(role)) {
            component.set_start_value("step_size", Value::Real(place.inner_step));
        }
        if self.roles.is_isolated(role) {
            component.isolate = Some(Spanned::unplaced(true));
        }
        self.role_of.insert(name.to_owned(), role);
        Ok(())
    }

    /// The recorded name of `component.port`, as the FMU in its role calls the port.
    pub(crate) fn variable(&self, port: &str) -> String {
        let Port {
            component,
            variable,
        } = self.port(port);
        format!("{component}.{variable}")
    }

    /// A port, as the FMU in its role calls it.
    pub(crate) fn port(&self, port: &str) -> Port {
        let (component, variable) = port.split_once('.').unwrap_or((port, ""));
        let role = self.role_of.get(component);
        let theirs = role.and_then(|role| self.roles.name(role, variable));
        Port::new(component, theirs.unwrap_or(variable))
    }

    /// Connects two ports, both `component.port`.
    pub(crate) fn connect(&mut self, from: &str, to: &str) {
        let (from, to) = (self.port(from), self.port(to));
        self.file.connect(from, to);
    }

    /// Adds a bond whose axes are pairs of effort and flow, each from an output to an input.
    pub(crate) fn bond(
        &mut self,
        name: &str,
        axes: &[[(&str, &str); 2]],
        configuration: &Configuration,
    ) {
        let pair = |(from, to): (&str, &str)| Connection::new(self.port(from), self.port(to));
        let axes: Vec<[Connection; 2]> = axes.iter().map(|axis| axis.map(pair)).collect();
        let bond = self.file.add_bond(name);
        for [effort, flow] in axes {
            bond.axis(effort, flow);
        }
        bond.correction = configuration.correction.map(|parameters| {
            let choice = Choice::new("residual-power");
            let real = |number: f64| Value::Real(number);
            parameters.iter().fold(choice, |choice, (name, number)| {
                choice.with(*name, real(*number))
            })
        });
    }

    /// Adds a bond without correction whose axes have weights: the pairs' gains.
    pub(crate) fn weighted_bond(&mut self, name: &str, axes: &[([(&str, &str); 2], f64)]) {
        let pair = |(from, to): (&str, &str)| Connection::new(self.port(from), self.port(to));
        let axes: Vec<_> = axes.iter().map(|(axis, w)| (axis.map(pair), *w)).collect();
        let bond = self.file.add_bond(name);
        for ([mut effort, flow], weight) in axes {
            effort.gain = Some(Spanned::unplaced(weight));
            bond.axis(effort, flow);
        }
    }

    /// The system.
    pub(crate) fn into_file(self) -> SystemFile {
        self.file
    }
}

/// An extrapolation by its word. The figures of polynomials in the data files are those with a past that ends at jumps.
fn extrapolation(word: &str) -> Choice {
    let choice = Choice::new(word);
    match word {
        "linear" | "quadratic" => choice.with("on_jump", Value::String("forget".to_owned())),
        _ => choice,
    }
}
