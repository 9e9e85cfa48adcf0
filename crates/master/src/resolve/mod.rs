//! From names to indices: a described system and the descriptions of its units become a [`Graph`].

mod aliases;
mod interface_models;
mod numbering;
mod wires;

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use gyrator_system::{
    self as file, Choice, Experiment, MissingTime, Problem, Spanned, SystemFile, did_you_mean,
};

use numbering::{bonds, generalised_bonds, number_inputs, number_outputs, signal_wires};

use crate::correction::Correction;
use crate::exchange::EXCHANGE_MODES;
use crate::exchange_mode::Exchange;
use crate::extrapolation::Extrapolation;
use crate::graph::{Component, Graph};
use crate::registries::Registries;
use crate::registry::{Chosen, EntryKind, Registry, look_up};
use crate::time::{Clock, Rate};
use crate::unit::{UnitDescription, Value, VariableType};
use crate::value_conversion::start_value;

/// Resolves `file`, whose components are described by `descriptions`, in the order of the file.
/// The second result maps each component of the graph to its place in the file.
///
/// # Errors
/// All problems at once, warnings included.
pub(crate) fn resolve(
    file: &SystemFile,
    descriptions: &[Arc<UnitDescription>],
    registries: &Registries,
    problems: &mut Vec<Problem>,
) -> Option<(Graph, Vec<usize>)> {
    let mut places: Vec<usize> = (0..file.components.len()).collect();
    places.sort_by(|a, b| {
        file.components[*a]
            .name
            .value
            .cmp(&file.components[*b].name.value)
    });
    let by_name: BTreeMap<&str, usize> = places
        .iter()
        .zip(0..)
        .map(|(place, i)| (file.components[*place].name.value.as_str(), i))
        .collect();
    let mut resolver = Resolver {
        file,
        registries,
        by_name,
        components: Vec::new(),
        problems,
    };
    let macro_step = resolver.macro_step()?;
    for &place in &places {
        resolver.component(&file.components[place], &descriptions[place], macro_step);
    }
    let graph = resolver.graph(macro_step);
    graph.map(|graph| (graph, places))
}

struct Resolver<'a> {
    file: &'a SystemFile,
    registries: &'a Registries,
    by_name: BTreeMap<&'a str, usize>,
    components: Vec<Component>,
    problems: &'a mut Vec<Problem>,
}

impl Resolver<'_> {
    fn macro_step(&mut self) -> Option<f64> {
        let step = self.file.experiment.step_size.as_ref();
        match step {
            Some(step) if step.value > 0.0 && step.value.is_finite() => Some(step.value),
            Some(step) => {
                self.problems.push(
                    Problem::error(
                        "bad-step",
                        format!("the macro-step is {} s; it must be positive", step.value),
                    )
                    .at(&step.span),
                );
                None
            }
            None => {
                self.problems.push(
                    Problem::error("no-step", "no macro-step is given")
                        .help(self.file.advice_on_missing(MissingTime::StepSize)),
                );
                None
            }
        }
    }

    fn component(
        &mut self,
        component: &file::Component,
        description: &Arc<UnitDescription>,
        macro_step: f64,
    ) {
        let rate = self.rate(component, macro_step);
        let requested = component
            .exchange
            .as_ref()
            .or(self.file.experiment.exchange.as_ref());
        let exchange = self.exchange(requested);
        let start_values = self.start_values(component, description);
        self.components.push(Component {
            name: component.name.value.clone(),
            description: Arc::clone(description),
            rate,
            exchange,
            inputs: 0..0,
            outputs: 0..0,
            start_values,
            propagate_initial_inputs: component.propagate_initial_inputs,
            tolerance: match &self.file.experiment.tolerance {
                Some(asked) => asked.value.relative(),
                None => description.default_tolerance,
            },
        });
    }

    fn rate(&mut self, component: &file::Component, macro_step: f64) -> Rate {
        let exchange_step = || interface_models::exchange_step(self.file, &component.name.value);
        let Some(step) = component.step_size.as_ref().or_else(exchange_step) else {
            return Rate::Divides(1);
        };
        Rate::new(step.value, macro_step).unwrap_or_else(|[below, above]| {
            self.problems.push(
                Problem::error(
                    "step-does-not-divide",
                    format!(
                        "the communication step {} s of `{}` neither divides the macro-step {macro_step} s nor is a multiple of it",
                        step.value, component.name.value
                    ),
                )
                .at(&step.span)
                .help(format!("the nearest steps that do are {below} s and {above} s")),
            );
            Rate::Divides(1)
        })
    }

    fn exchange(&mut self, requested: Option<&Spanned<String>>) -> Exchange {
        let Some(word) = requested else {
            return Exchange::AUTO;
        };
        let choice = Choice {
            name: word.clone(),
            parameters: Vec::new(),
        };
        match look_up(EXCHANGE_MODES, &choice) {
            Ok(mode) => mode.build(),
            Err(problems) => {
                self.report_once(problems);
                Exchange::AUTO
            }
        }
    }

    fn start_values(
        &mut self,
        component: &file::Component,
        description: &UnitDescription,
    ) -> Vec<(usize, Value)> {
        let mut values = Vec::new();
        for (name, value) in &component.start_values {
            let Some(index) =
                self.variable_index(&component.name.value, description, &name.value, &name.span)
            else {
                continue;
            };
            let variable = &description.variables[index];
            if !variable.has_start {
                self.problems.push(
                    Problem::error(
                        "start-value-refused",
                        format!(
                            "`{}.{}` is computed by the unit and takes no start value",
                            component.name.value, name.value
                        ),
                    )
                    .at(&name.span)
                    .help("set a parameter or an input instead; `gyrator inspect` lists them"),
                );
                continue;
            }
            match start_value(variable.kind, &variable.items, &value.value) {
                Ok(value) => values.push((index, value)),
                Err(expected) => {
                    let message = format!(
                        "the start value of `{}.{}` must be {expected}",
                        component.name.value, name.value
                    );
                    let problem = Problem::error("start-value-type", message).at(&value.span);
                    self.problems.push(match variable.kind {
                        VariableType::String => problem.help(
                            "a shell takes quotes away: `--start-value 'NAME=\"1\"'` passes them on",
                        ),
                        _ => problem,
                    });
                }
            }
        }
        values
    }

    fn variable_index(
        &mut self,
        component: &str,
        description: &UnitDescription,
        name: &str,
        span: &Range<usize>,
    ) -> Option<usize> {
        let found = description.index(name);
        if found.is_none() {
            let problem = Problem::error(
                "unknown-variable",
                format!("`{component}` has no variable `{name}`"),
            )
            .at(span);
            /// More are not read at a glance.
            const LISTED: usize = 5;
            let names = description.variables.iter();
            let names: Vec<&str> = names.map(|variable| variable.name.as_str()).collect();
            let help = match did_you_mean(name, names.iter().copied()) {
                Some(help) => help,
                None if names.len() <= LISTED => format!("it has `{}`", names.join("`, `")),
                None => "`gyrator inspect` lists the variables of an FMU".to_owned(),
            };
            self.problems.push(problem.help(help));
        }
        found
    }

    fn graph(mut self, macro_step: f64) -> Option<Graph> {
        let wires = self.wires();
        self.problems
            .extend(aliases::fed_twice(&self.components, &wires));
        let extrapolations = self.extrapolations();
        let corrections = self.corrections();
        let experiment = &self.file.experiment;
        let start = experiment.start();
        let substeps = self
            .components
            .iter()
            .map(|component| component.rate.substeps());
        let Some(clock) = Clock::new(start, macro_step, substeps) else {
            self.problems.push(
                Problem::error(
                    "steps-without-common-divisor",
                    "the communication steps have no practicable common divisor",
                )
                .help("choose steps that divide the macro-step into fewer different parts"),
            );
            return None;
        };
        if self.problems.iter().any(Problem::is_error) {
            return None;
        }
        let (outputs, signals) = number_outputs(&mut self.components);
        let inputs = number_inputs(&mut self.components, &wires, &outputs, &extrapolations);
        let signal_wires = signal_wires(wires, &outputs, &signals);
        let mut graph = Graph {
            components: self.components,
            inputs,
            outputs,
            signals,
            signal_wires,
            bonds: Vec::new(),
            interface_models: Vec::new(),
            has_energy_limits: self
                .file
                .bonds
                .iter()
                .any(|bond| bond.max_residual_energy.is_some()),
            clock,
            macro_step,
            decisions: Vec::new(),
            outer_signals: self.file.outer_signals.clone(),
        };
        graph.bonds = bonds(self.file, &self.by_name, &graph, corrections);
        self.problems.extend(generalised_bonds(self.file, &graph));
        graph.find_facts();
        let orders = &self.registries.interface_orders;
        graph.interface_models = interface_models::interface_models(
            (self.file, &self.by_name),
            orders,
            &graph,
            self.problems,
        );
        Some(graph)
    }

    fn extrapolations(&mut self) -> BTreeMap<String, Chosen<dyn Extrapolation>> {
        let named = self.file.experiment.extrapolation.clone();
        let default = named.unwrap_or_else(|| Choice::new(Experiment::EXTRAPOLATION));
        let mut chosen = BTreeMap::new();
        for component in &self.file.components {
            let choice = component.extrapolation.as_ref().unwrap_or(&default);
            if let Some(entry) = self.choose(&self.registries.extrapolations, choice) {
                chosen.insert(component.name.value.clone(), entry);
            }
        }
        chosen
    }

    fn corrections(&mut self) -> Vec<Option<Chosen<dyn Correction>>> {
        let file = self.file;
        let one = |bond: &file::Bond| match &bond.correction {
            Some(choice) if choice.name.value == "off" => None,
            Some(choice) => self.choose(&self.registries.corrections, choice),
            None => None,
        };
        file.bonds.iter().map(one).collect()
    }

    fn choose<K: EntryKind + ?Sized>(
        &mut self,
        registry: &Registry<K>,
        choice: &Choice,
    ) -> Option<Chosen<K>> {
        match registry.look_up(choice) {
            Ok(found) => Some(found),
            Err(problems) => {
                self.report_once(problems);
                None
            }
        }
    }

    /// Problems of a word that may stand for many components.
    fn report_once(&mut self, problems: Vec<Problem>) {
        for problem in problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }
}
